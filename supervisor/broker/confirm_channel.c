#include "broker/confirm_channel.h"

#include "message/copy.h"

void confirm_channel_open(
	struct confirm_channel *c, struct connection *connection, uint16_t channel)
{
	*c = (struct confirm_channel){connection, channel, CONFIRM_CHANNEL_OPENING};
	channel_open(connection, channel);
}

void confirm_channel_select(
	struct confirm_channel *c, struct connection *connection, uint16_t channel)
{
	*c = (struct confirm_channel){connection, channel, CONFIRM_CHANNEL_SELECTING};
	channel_confirm_select(connection, channel);
}

void confirm_channel_down(struct confirm_channel *c)
{
	c->state = CONFIRM_CHANNEL_DOWN;
}

struct publish_answer confirm_channel_on_event(
	struct confirm_channel *c, const struct amqp_event *event)
{
	struct publish_answer answer = {.kind = PUBLISH_NOT_ANSWERED};

	switch (event->kind) {
	case AMQP_CHANNEL_OPENED:
		if (c->state == CONFIRM_CHANNEL_OPENING)
			confirm_channel_select(c, c->connection, c->channel);
		break;
	case AMQP_CHANNEL_CLOSE_OK: /* the number was still in use when it was opened */
		if (c->state == CONFIRM_CHANNEL_OPENING)
			channel_open(c->connection, c->channel);
		break;
	case AMQP_CONFIRM_SELECTED:
		c->state = CONFIRM_CHANNEL_UP;
		answer.kind = PUBLISH_READY;
		break;
	case AMQP_CONFIRM:
		if (!confirm_channel_is_up(c))
			break;
		answer.kind = event->positive ? PUBLISH_CONFIRMED : PUBLISH_REFUSED;
		answer.number = event->tag;
		answer.multiple = event->multiple;
		break;
	case AMQP_RETURN:
		answer.kind = PUBLISH_RETURNED;
		answer.number = copy_returned_number(event->content.properties);
		break;
	default:
		break;
	}
	return answer;
}
