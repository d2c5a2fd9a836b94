#include "broker/publisher_state.h"

bool publisher_is_publishing(const struct publisher *publisher)
{
	return pool_is_publishing(publisher->pool);
}

enum outbox_loss publisher_loss(bool by_error, size_t publishing)
{
	if (!by_error || publishing == 0)
		return LOSS_CONNECTION;
	return publishing == 1 ? LOSS_CLOSED : LOSS_SHARED;
}

void publisher_replan(struct publisher *publisher)
{
	waits_forget(&publisher->waits);
}

void publisher_close(struct publisher *publisher)
{
	publisher->state = ENDED;
	publisher->retry_at = MTIME_NEVER;
	if (publisher->connection)
		channel_close(publisher->connection, publisher->config->channel);
}

bool publisher_has_ended(const struct publisher *publisher)
{
	return publisher->state == ENDED &&
	       (!publisher->connection ||
		       channel_is_closed(publisher->connection, publisher->config->channel));
}
