#include "broker/queue/return_limit.h"

/* A queue that drops a message at its first return has no smaller number. */
uint32_t return_limit_max(const struct queue_probe *probe)
{
	int64_t limit = queue_probe_limit(probe);

	if (limit < 0 || limit > UINT32_MAX)
		return 0;
	return limit > 0 ? (uint32_t)limit : 1;
}

bool return_limit_loses(struct return_limit *returns, const struct queue_probe *probe,
	struct text queue, const struct channel_log *log)
{
	int64_t limit = queue_probe_limit(probe);
	bool is_lost = limit >= 0 && limit < INT32_MAX;

	if (is_lost && !returns->is_limit_logged)
		channel_log_line(log, LOG_ERROR,
			"queue \"%.*s\" has x-delivery-limit %lld, but session.delivery_limit is "
			"none; not consuming, checking again (declare the queue without a limit, or "
			"remove the setting)",
			TEXT_ARGS(queue), (long long)limit);
	returns->is_limit_logged = is_lost;
	return is_lost;
}

/* Only a policy can make the operator's setting true. A client cannot see one. */
void return_limit_warn_of_default(struct return_limit *returns, const struct queue_probe *probe,
	enum queue_order order, struct text broker_version, struct text queue,
	const struct channel_log *log)
{
	if (returns->is_default_logged || order == QUEUE_ORDER_HIDDEN ||
		queue_probe_has_limit(probe) || !queue_probe_has_default_limit(broker_version))
		return;
	returns->is_default_logged = true;
	channel_log_line(log, LOG_WARN,
		"queue \"%.*s\" has no x-delivery-limit, and session.delivery_limit is none: "
		"RabbitMQ drops or dead-letters a message at its 21st return, unless a policy sets "
		"delivery-limit to -1 (wpool declare shows it)",
		TEXT_ARGS(queue));
}
