/* Tables that count the events, transitions and faults of a run of many seeds, to find what never
 * happened. The counts are in shared memory: the processes of a run count, the process that started
 * them reports. */
#ifndef SIM_COVER_H
#define SIM_COVER_H

#include "sim/cover_tasks.h"
#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#define COVER_ROWS    64
#define COVER_COLUMNS 16

#define COVER_TABLES(X)                                                                            \
	X(COVER_EVENT, "event, in the pool's phase")                                               \
	X(COVER_SOURCE, "source: event, in its state")                                             \
	X(COVER_SOURCE_MOVE, "source: from state, to state")                                       \
	X(COVER_OUTBOX, "outbox: event, in its state")                                             \
	X(COVER_OUTBOX_MOVE, "outbox: from state, to state")                                       \
	X(COVER_LOSS, "outbox: loss, with what was sent")                                          \
	X(COVER_PARCEL, "parcel: kind, what became of it")                                         \
	X(COVER_SLOT, "slot: event, in its state")                                                 \
	X(COVER_LIFE, "slot: state, fact")                                                         \
	X(COVER_SETTLE, "settle: outcome, decision")                                               \
	X(COVER_REASON, "settle: reason, decision")                                                \
	X(COVER_DELIVERY, "delivery: state, how it left it")                                       \
	X(COVER_ARRIVAL, "delivery: as it arrives")                                                \
	X(COVER_NOTICE, "notice")                                                                  \
	X(COVER_EFFECT, "effect")                                                                  \
	X(COVER_AMQP, "AMQP event, on which connection")                                           \
	X(COVER_CODE, "reply code, of what was closed")                                            \
	X(COVER_WIRE, "wire, of which connection")                                                 \
	X(COVER_TROUBLE, "trouble")                                                                \
	X(COVER_OPERATOR, "operator, and the supervisor's state")                                  \
	X(COVER_COMMAND, "command, to a pool that")                                                \
	X(COVER_TEMPER, "task's temper, how it ended")                                             \
	X(COVER_ENDED, "worker with concurrency: how it ended, open tasks")                        \
	X(COVER_ID, "output: the id that it names, concurrency")                                   \
	X(COVER_LIMIT, "hard limit that a worker sets, concurrency")                               \
	X(COVER_SUSPECT, "concurrency: a task, a suspect or not")                                  \
	X(COVER_TAKEOVER, "token: what happened to it and with it")                                \
	X(COVER_THROTTLE, "throttle: its answer, about which task")

enum cover_table {
#define X(table, name) table,
	COVER_TABLES(X)
#undef X
		COVER_TABLE_COUNT
};

enum cover_source { COVER_OLDER = 4 /* behind the states */ };
enum cover_outbox {
	COVER_OUTBOX_DOWN,
	COVER_OUTBOX_IDLE,
	COVER_OUTBOX_SENDING,
	COVER_OUTBOX_PROBING
};
enum cover_fate {
	FATE_PUBLISHED,
	FATE_PUBLISHED_AGAIN, /* after a refusal, or after it was a probe */
	FATE_CONFIRMED,
	FATE_CONFIRMED_MULTIPLE,
	FATE_CONFIRMED_BEFORE, /* one that was published earlier */
	FATE_RETURNED,
	FATE_NACKED,
	FATE_NACKED_MULTIPLE,
	FATE_ORPHANED, /* its input's channel was lost before its confirm */
	FATE_LOST,     /* with its channel or connection; from here on one for each loss */
	FATE_COUNT = FATE_LOST + 4,
};
enum cover_left { LEFT_RELEASED, LEFT_REJECTED, LEFT_FORGOTTEN, LEFT_REQUEUED, LEFT_TAKEN };
enum cover_wire {
	WIRE_CUT_BETWEEN,   /* between frames, both ways */
	WIRE_CUT_OUTWARD,   /* in a frame to the broker */
	WIRE_CUT_INWARD,    /* with bytes of the broker unread */
	WIRE_CUT_HANDSHAKE, /* before it was open */
	WIRE_UNREAD,        /* during an alarm the broker does not read */
	WIRE_GOODBYE,       /* closed in order by us */
	WIRE_UNANSWERED,    /* closed by us; the broker did not answer */
	WIRE_COUNT
};
enum cover_operator {
	OPERATOR_START,
	OPERATOR_KILL,
	OPERATOR_DRAIN,
	OPERATOR_FORCE,
	OPERATOR_FREEZE,
	OPERATOR_LEFT,
	OPERATOR_COUNT
};
enum cover_effect {
	EFFECT_SEND, /* one for each send_result; others too have one for each kind */
	EFFECT_ACK = 3,
	EFFECT_REJECT = 5,
	EFFECT_PUBLISH = 7,
	EFFECT_SOURCE = 8,
	EFFECT_SLOT = 12,
	EFFECT_ASK = 16,
	EFFECT_ALLOW_SLOTS = 18,
	EFFECT_COUNT = 20,
};
enum cover_id {
	ID_RIGHT,
	ID_MISSING,
	ID_ANSWERED, /* of the task that it answered before */
	ID_FOREIGN,  /* of another worker's task */
	ID_UNKNOWN,
	ID_COUNT
};
enum cover_temper {
	END_DONE,
	END_REPLIED,
	END_DEAD,
	END_DROPPED,
	END_TWICE,
	END_LOST,
	END_REFUSED
};

struct cover {
	uint64_t cells[COVER_TABLE_COUNT][COVER_ROWS][COVER_COLUMNS];
};

extern struct cover *cover_here; /* the counts of this process */

static inline void cover_mark(enum cover_table table, unsigned row, unsigned column)
{
	assert(row < COVER_ROWS && column < COVER_COLUMNS);
	cover_here->cells[table][row][column]++;
}

/* The reply code of a close; of a channel, or of a connection. */
void cover_code(unsigned code, bool of_channel);
void cover_add(struct cover *sum, const struct cover *);
/* Print one line: how many of the expected cells were seen. whole: also all tables; is_listed: also
 * each cell that is not as expected. Return the number of these. */
unsigned cover_report(const struct cover *, bool whole, bool is_listed);

#endif
