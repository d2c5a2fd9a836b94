/* Messages of a shared throttle with the smallest values, ordinary ones, and the largest. The
 * structs are too large for variables of a function. Each program has its own. */
#ifndef UNIT_THROTTLE_MESSAGES_H
#define UNIT_THROTTLE_MESSAGES_H

#include "broker/throttle/throttle_message.h"

/* What is written, and what is read. */
extern struct throttle_request request, request_again;
extern struct throttle_answer answer, answer_again;
extern struct throttle_handover handover, handover_again;
extern uint64_t id_again;

/* number: 0 for the smallest value of each member, 1 for an ordinary one, 2 for the largest.
 * fill_answer fills the request, too. */
void fill_request(uint32_t keys, int number);
void fill_answer(uint32_t keys, int number);
void fill_handover(uint32_t starts, int number);

struct filling {
	uint32_t keys;
	int number;
};
#define FILLINGS 9
extern const struct filling fillings[FILLINGS];

/* Write the struct of this kind; who leaves and who takes is 4711. */
enum rc write_kind(size_t kind, struct buf *scratch, struct amqp_publish *ret);

#endif
