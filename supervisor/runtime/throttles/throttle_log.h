/* The starts of a throttle on a disk, so that they count after this process has been killed. Layer:
 * runtime. Two files (throttle_file.h), one of which is appended to. When no start of the other one
 * can be in a window any more, that is emptied and the next to be appended to, so that nothing is
 * ever copied. What a turn starts is written before it starts. Nothing is synced: after a power cut
 * the last seconds may be missing. A failure is logged here; it does not stop the work. */
#ifndef RUNTIME_THROTTLE_LOG_H
#define RUNTIME_THROTTLE_LOG_H

#include "base/mtime.h"
#include "core/throttle/throttle.h"

struct throttle_log;

struct throttle_log_place {
	int folder;       /* borrowed until throttle_log_close */
	const char *path; /* of the folder, for messages; the same */
	const char *name; /* of the throttle; the same */
	const char *key;  /* as configured, or NULL: the starts by another key are in other files */
	mtime boot_began; /* the throttles' time of it */
};

/* What is known of the time before. */
enum throttle_past {
	THROTTLE_PAST_UNKNOWN, /* there is no file, or it cannot be used now */
	THROTTLE_PAST_KNOWN,
	THROTTLE_PAST_DAMAGED /* the file was renamed, and that was logged */
};

/* Remove the files of a throttle's name, by whatever key, of which no log is open here or in
 * another process: what is started from now on is not in them. */
void throttle_log_forget(int folder, const char *path, const char *name);
/* Read the files of a throttle, and lock them. NULL: out of memory. */
struct throttle_log *throttle_log_open(
	const struct throttle_log_place *, mtime now, enum throttle_past *ret_past);
/* THROTTLE_PAST_KNOWN: the seed that the throttle needs. */
uint64_t throttle_log_seed(const struct throttle_log *);
/* THROTTLE_PAST_KNOWN: put the starts into a new throttle, and record those that follow. */
void throttle_log_restore(struct throttle_log *, struct throttle *, mtime now);
/* Otherwise: record the starts that follow. before: there may have been any up to then. */
void throttle_log_begin(struct throttle_log *, const struct throttle *, mtime before, mtime now);
/* In each turn, before the tasks that it has charged are written to workers. */
void throttle_log_save(struct throttle_log *, const struct throttle *, mtime now);
/* In each turn, after that. */
void throttle_log_end_turn(struct throttle_log *, mtime now);
/* Write what is left, and free it. NULL is legal. */
void throttle_log_close(struct throttle_log *);
/* The same, and remove the files. */
void throttle_log_remove(struct throttle_log *);

#endif
