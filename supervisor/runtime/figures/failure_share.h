/* Whether most of a pool's latest attempts failed. Layer: runtime, pure. A pool is ready while its
 * workers are, whatever they answer, so this is a warning. It counts attempts, not time: a pool
 * with a task an hour is judged like one with a thousand a second. */
#ifndef RUNTIME_FAILURE_SHARE_H
#define RUNTIME_FAILURE_SHARE_H

#include <stdbool.h>
#include <stdint.h>

#define FAILURE_SHARE_LATEST 50 /* attempts that are looked at */
#define FAILURE_SHARE_MIN    10 /* fewer are not judged: one poison message is no pattern */

/* Zeroed at the start. */
struct failure_share {
	uint64_t failures; /* bit n: the attempt n before the latest one failed */
	uint8_t attempts;  /* at most FAILURE_SHARE_LATEST */
	bool is_high;      /* from half of them on, until at most a quarter */
};

/* Add an attempt. True: is_high has changed. */
bool failure_share_add(struct failure_share *, bool has_failed);
/* How many of the attempts failed. */
unsigned failure_share_failed(const struct failure_share *);

#endif
