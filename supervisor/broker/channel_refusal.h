/* Why the broker refused what a pool asked for, in a text for operators: the operation, the right
 * that is missing or who has the queue, and what to do. Layer: broker, pure. RabbitMQ before 4
 * does not name the right, so it follows from the operation where the reply text does not name it.
 */
#ifndef BROKER_CHANNEL_REFUSAL_H
#define BROKER_CHANNEL_REFUSAL_H

#include "base/text.h"

enum refused_operation {
	REFUSED_CHECK,         /* a passive declare */
	REFUSED_DECLARE,       /* of a queue that is missing */
	REFUSED_DECLARE_RETRY, /* the same with a dead-letter exchange, which needs two more rights
				*/
	REFUSED_CONSUME,
	REFUSED_PUBLISH, /* queue: the pool's */
};

#define CHANNEL_REFUSAL_SIZE 768

struct channel_refusal {
	const char
		*kind; /* static, without names and the broker's text; NULL: nothing is refused */
	char text[CHANNEL_REFUSAL_SIZE];
};

void channel_refusal_clear(struct channel_refusal *);
/* True: it is another one than before, and to be logged. */
bool channel_refusal_set(struct channel_refusal *, enum refused_operation, struct text queue,
	uint16_t code, struct text reason);
/* The same for what was found out in another way. */
bool channel_refusal_set_text(struct channel_refusal *, const char *kind, const char *text);

#endif
