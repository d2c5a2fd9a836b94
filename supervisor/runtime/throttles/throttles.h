/* The throttles of a supervisor, by their names. Layer: runtime. Owns them. Pools that name the
 * same one share it; it exists as long as a pool uses it. The figures in force are those of the
 * configuration, until an operator sets others, and then until the configuration names others. */
#ifndef RUNTIME_THROTTLES_H
#define RUNTIME_THROTTLES_H

#include "broker/channel_log.h"
#include "config/config.h"
#include "core/notice.h"
#include "core/pool_config.h"
#include "message/key_source.h"

/* How long a process that starts begins no task of a throttle, at most, because others may have
 * begun some until now. The starts of a longer period are recorded (throttle_log.h), so that a
 * process knows those of the one before. */
#define THROTTLES_WAIT (10 * MTIME_SECOND)

/* Open for reading. */
struct named_throttle {
	char *name, *key;          /* owned; key: NULL: one limit for all */
	struct throttle *throttle; /* owned; it has the figures in force */
	struct throttle_log *log;  /* owned; NULL: its starts are not recorded */
	/* Of a throttle that supervisors share, else NULL: */
	struct member *member;            /* owned */
	struct throttle_channel *channel; /* owned */
	uint16_t channel_number;          /* 0: it has none */
	bool is_blocked;                  /* the broker takes no requests */
	bool has_led;                     /* and that was logged */
	mtime leader_logged_until;        /* no change of that is logged before */
	uint64_t memory;   /* that its starts may take, but those of one key may in any case */
	uint32_t keys_led; /* as logged */
	struct channel_log channel_log;
	struct throttle_figures configured;
	struct throttle_figures wanted; /* those in force, or that are about to be */
	enum config_throttle_scope scope;
	enum config_when_exceeded when_exceeded;
	uint32_t pools; /* that use it */
	uint64_t postponed, refused;
};

/* Who grants the starts of a shared throttle. The texts are an interface (docs/control.md). */
#define THROTTLE_LEADERS(X)                                                                        \
	X(THROTTLE_LEADER_UNKNOWN, "unknown") /* none has been asked yet */                        \
	X(THROTTLE_LEADER_HERE, "here")                                                            \
	X(THROTTLE_LEADER_ELSEWHERE, "elsewhere")                                                  \
	X(THROTTLE_LEADER_NONE, "none") /* none answers, so no task starts */
enum throttle_leader {
#define X(leader, text) leader,
	THROTTLE_LEADERS(X)
#undef X
};

/* Zeroed: empty. */
struct throttles {
	struct named_throttle **list; /* owned; of two with one name the last counts */
	size_t count;
	const struct config *config;     /* borrowed; in force, or being applied */
	struct throttles_folder *folder; /* owned; for the records; NULL: not needed yet */
};

/* The time of all throttles: that of the machine (clock_boot), from an origin long before its boot,
 * so that the starts of before have times, too. */
mtime throttles_now(void);

/* From now on pools find their throttles in this configuration, which is borrowed until the next
 * call; those that its pools name and that do not exist are made. Figures of others do not change.
 * False: out of memory. */
bool throttles_define(struct throttles *, const struct config *) MUST_CHECK;
/* Free those that no pool uses. */
void throttles_drop_unused(struct throttles *);
/* Apply the figures of the configuration: each that it had named otherwise before. */
void throttles_configure(struct throttles *);
void throttles_release(struct throttles *);

/* Set the throttles of a pool in its configuration: those that names has, which are defined; NULL:
 * none. They are shared until throttles_let_go. */
void throttles_hold(struct throttles *, char *const *names, struct pool_config *);
/* The keys of a message for the throttles of a pool's configuration; they are borrowed as long as
 * that. */
struct throttle_keys throttles_keys(const struct throttles *, const struct pool_config *);
/* The configuration of a pool is not used any more. What no other pool uses is freed. */
void throttles_let_go(struct throttles *, const struct pool_config *);

/* Record what was charged in this turn; before it is written to workers. */
void throttles_save(struct throttles *, mtime now);
/* What was written in this turn counts as late as now. */
void throttles_end_turn(struct throttles *, mtime now);
/* Count what happened to a task. */
void throttles_count(struct throttles *, const struct notice *);

/* Of a shared one: take over the figures that all members agree on, and log who leads. If the limit
 * does not fit here, it holds for fewer keys while this one leads. */
void throttles_follow(struct throttles *, struct named_throttle *, mtime now);

enum throttle_leader throttles_leader(const struct named_throttle *);
const char *throttle_leader_name(enum throttle_leader);
/* The first throttle of the pool that has no leader; NULL: none is without. */
const char *throttles_without_leader(const struct throttles *, const struct pool_config *);

/* The throttle has the name that a pool got from here, is shared, and refuses tasks because its
 * leader is new. */
bool throttles_is_silent(const struct throttles *, const char *name);

/* The one that pools would use now; NULL: there is none. */
struct named_throttle *throttles_find(const struct throttles *, struct text name);
/* True: it is the one that throttles_find finds by its name. */
bool throttles_is_latest(const struct throttles *, const struct named_throttle *);
/* Use other figures from now on; 0: as it is. Return why not, a static text; NULL: they hold. */
const char *throttles_set(
	struct throttles *, struct named_throttle *, uint32_t limit, mtime period);

#endif
