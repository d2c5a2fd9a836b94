#include "broker/consumer_state.h"

/* A subscription counts as live when it is asked for; the first is one when it is granted. */
bool consumer_is_consuming(const struct consumer *consumer)
{
	unsigned asked = consumer->state == STARTING ? 1 : 0;

	return consumer->told_up && !consumer->lost && consumer->wish == SOURCE_CONSUME &&
	       consumer->subscriptions.count > asked;
}
