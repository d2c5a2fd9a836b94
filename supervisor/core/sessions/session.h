/* One session: its lanes, its front task and its state. Layer: core, plain data; sessions.h has
 * their meaning. Written by the files of this folder only. */
#ifndef CORE_SESSIONS_SESSION_H
#define CORE_SESSIONS_SESSION_H

#include "core/session_handover.h"
#include "core/sessions/session_kinds.h"
#include "core/tasks/delivery.h"
#include "core/timers.h"

/* A place in the ring and what was used of its quantum. */
struct turn {
	struct link place;
	uint64_t used; /* tasks, or the time of workers */
};

struct lane {
	struct link waiting;       /* QUEUED deliveries, oldest first, without the front task */
	struct link open;          /* all deliveries that are not RELEASED, in the broker's order */
	struct delivery *detached; /* the first of them that is detached, and so are all behind it;
				      NULL: none */
};

enum { LANE_HIGH, LANE_NORMAL, LANE_COUNT };

/* By command, a running task that is not done is not tried again. */
enum session_rest { REST_IS_RETRIED, REST_IS_DEAD_LETTER, REST_IS_DISCARDED, REST_IS_KEPT };

/* The past of a message that has not come back yet. */
struct inherited {
	struct inherited *next;
	struct output *rest; /* owned, or NULL */
	struct message_past past;
};

/* What each message touches stands first, so that it is in few lines of the processor's cache. */
struct session {
	uint64_t hash;          /* of its key */
	struct turn turn;       /* READY: in the ring; IDLE, WAITING, HELD: in a list of these */
	struct delivery *front; /* the task that has begun and is not settled, or NULL */
	uint32_t waiting;       /* QUEUED deliveries of both lanes, the front task included */
	uint32_t unacked;       /* deliveries that belong to it, until they are acked or freed */
	uint32_t number;        /* its index in sessions->all */
	uint8_t state;          /* enum session_state */
	uint8_t reason;         /* enum reason: why the front task failed last */
	uint8_t ending;         /* enum session_end: why it ends, if is_ending or is_over */
	uint8_t rest_goes; /* enum session_rest: where its running task goes if it is not done */
	bool has_place;    /* it has begun: it counts for max_active */
	bool is_paused, is_blocked;
	bool is_unnamed; /* HELD: only until the token names its next task */
	/* by command: after so many tasks this life of the session ends, and what waits then begins
	 * the next one; meanwhile it keeps its turn */
	bool is_ending;
	bool is_over; /* idle for long enough: it ends with its last ack */
	uint8_t key_size;
	bool is_due;                  /* in a group: it is its turn to be asked about */
	struct throttle_group *group; /* that it waits in for a throttle (throttled.h), or NULL */
	struct link in_group;
	struct delivery *throttled; /* its next task, which was refused */
	struct lane lanes[LANE_COUNT];
	struct timer
		timer; /* PARKED: the next attempt; RUNNING and aborted: the end of its worker */
	mtime since;   /* it is in this state */
	struct inherited *inherited; /* owned; NULL: nothing */
	uint64_t life;               /* unique: another session with this key has another one */
	uint32_t ends_after;
	char key[];
};

static inline struct text session_key(const struct session *session)
{
	return text_of(session->key, session->key_size);
}

static inline struct lane *session_lane(struct session *session, bool is_high)
{
	return &session->lanes[is_high ? LANE_HIGH : LANE_NORMAL];
}

static inline struct lane *lane_of(const struct delivery *delivery)
{
	return session_lane(delivery->session, delivery->is_high);
}

/* Its front task has failed, and that was an attempt: it was neither throttled nor postponed. */
static inline bool session_had_attempt(const struct session *session)
{
	return !session->front->invalid && session->reason != REASON_THROTTLED &&
	       session->reason != REASON_POSTPONED;
}

/* The same, and its attempt does not count that. */
static inline bool session_has_uncounted(const struct session *session)
{
	return session->is_blocked && session_had_attempt(session);
}

/* If the channel is lost now, it comes back before all others of its lane. */
static inline bool lane_has_first(const struct delivery *delivery)
{
	return list_first(&lane_of(delivery)->open) == &delivery->in_lane;
}

#endif
