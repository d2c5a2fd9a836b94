/* Everything that a pool can do to the outside. Layer: core. Passed to pool_new, called only from
 * within pool_step. An effect never calls back into the pool and never blocks. Except for send, ask
 * and allow_slots, none can fail: trouble comes as an event of a later step. These return a result:
 * a task that cannot be encoded must be settled before the next one is sent behind it, a request
 * that the worker does not read is repeated, and a command is refused as a whole; waited and
 * wall_ms return figures that are rarely needed. */
#ifndef CORE_EFFECTS_H
#define CORE_EFFECTS_H

#include "core/event.h"
#include "core/notice.h"
#include "core/session_handover.h"

enum send_result {
	SEND_OK,
	SEND_TOO_LARGE, /* its frame would be larger than max_frame: the task is invalid */
	SEND_NO_MEMORY, /* nothing was written; retried in a later turn */
};

enum reject {
	REJECT_DEAD_LETTER, /* basic.reject, requeue off: the queue's own policy decides */
	REJECT_REQUEUE,     /* basic.nack, requeue on: back to the queue; we count no attempt */
};

enum source_request {
	SOURCE_CONSUME,   /* with this window (prefetch); also on every later channel */
	SOURCE_REST,      /* cancel the consumer, keep the channel; answered by SOURCE_RESTED */
	SOURCE_LEAVE,     /* with sessions, in place of REST: barrier without a cancel, then close
			     the channel; answered by SOURCE_DOWN. The next CONSUME opens another */
	SOURCE_CLOSE,     /* barrier, then close the channel for good; answered by SOURCE_DOWN */
	SOURCE_UNDECIDED, /* never an effect: the value before the first request */
};

enum slot_request {
	SLOT_SPAWN, /* start a process with the life that is passed */
	SLOT_QUIT,  /* "__quit__", then close both our sending sides */
	SLOT_TERM,  /* SIGTERM to the process group */
	SLOT_KILL,  /* SIGKILL to the process group */
};

/* What a worker is asked to do with one of its open tasks. */
enum task_request {
	TASK_CONTEXT_SWITCH, /* "__context_switch__": save its state and answer it soon */
	TASK_CANCEL,         /* "__cancel__": give it up, and answer it */
};

struct effects {
	enum send_result (*send)(void *io, uint16_t slot, struct delivery *, uint16_t attempt);
	void (*ack)(void *io, uint64_t tag, bool multiple);
	void (*reject)(void *io, uint64_t tag, enum reject);
	void (*publish)(void *io, const struct parcel *); /* parcel->seq has its number */
	void (*source)(void *io, enum source_request, uint32_t window);
	void (*slot)(void *io, uint16_t slot, uint32_t life, enum slot_request);
	/* Ask the worker of this life for something about a task that it has open. False: it does
	 * not read what it is asked. */
	bool (*ask)(void *io, uint16_t slot, uint32_t life, enum task_request, uint64_t task_id);
	/* True: both are the same message: body, properties and headers are equal, apart from what
	 * the broker counts (x-delivery-count). */
	bool (*is_same)(void *io, const struct delivery *, const struct delivery *);
	/* True: there may be this many slots. Called before a new one is used. */
	bool (*allow_slots)(void *io, uint16_t slots);
	/* How long the process of this life waited for a processor since its start. */
	mtime (*waited)(void *io, uint16_t slot, uint32_t life);
	/* The wall clock, in milliseconds since 1970. Asked only about a message that has a time of
	 * its own, so that it is exact when that is judged and costs the others nothing. */
	int64_t (*wall_ms)(void *io);
	void (*emit)(void *io, const struct notice *);
	/* Name in the token the message that is sent next; answered by TOKEN_NAMED. NULL: name none
	 * from now on, without an answer. Borrowed for the call. */
	void (*name)(void *io, const struct session_handover *);
	/* Name this window in the token, as the largest of which messages may come back; answered
	 * by TOKEN_WINDOW. */
	void (*window)(void *io, uint32_t window);
	/* A drained pool with sessions is about to close its channel; called for each session that
	 * the next holder of the token must know of. Borrowed for the call. */
	void (*hand_over)(void *io, const struct session_handover *);
	/* Set throttle_keys for the throttles that were configured last: the delivery came before.
	 */
	void (*find_throttle_keys)(void *io, struct delivery *);
};

#endif
