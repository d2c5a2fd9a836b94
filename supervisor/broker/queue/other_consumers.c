#include "broker/queue/other_consumers.h"

/* Between two looks at the consumers of a queue whose former channel the broker has not noticed to
 * end: 2 to 270 ms on a busy machine. */
#define ALONE_FIRST (5 * MTIME_MS)
#define ALONE_LAST  (250 * MTIME_MS)
#define ALONE_LOG   (10 * MTIME_SECOND) /* then it is another client's */

void other_consumers_init(struct other_consumers *others, uint32_t seed)
{
	*others = (struct other_consumers){.looking_since = MTIME_NEVER};
	backoff_init(&others->looks, ALONE_FIRST, ALONE_LAST, seed);
}

void other_consumers_look(struct other_consumers *others, mtime now)
{
	if (others->looking_since == MTIME_NEVER)
		others->looking_since = now;
}

static void log_them(
	uint32_t count, enum queue_order order, struct text queue, const struct channel_log *log)
{
	if (order == QUEUE_ORDER_SINGLE) {
		channel_log_line(log, LOG_WARN,
			"queue \"%.*s\" has a consumer that knows no token: another program, a "
			"wpool before sessions, a pool with takeover_delay none, or one whose loss "
			"the broker has not noticed; waiting until it is gone",
			TEXT_ARGS(queue));
		return;
	}
	channel_log_line(log, LOG_WARN,
		"queue \"%.*s\" has %u other consumer%s, and no single active consumer; waiting "
		"until it has none, because two would break the order of sessions",
		TEXT_ARGS(queue), count, count == 1 ? "" : "s");
}

mtime other_consumers_found(struct other_consumers *others, uint32_t count, enum queue_order order,
	struct text queue, const struct channel_log *log, mtime now)
{
	mtime next = mtime_after(now, backoff_next(&others->looks));

	if (now - others->looking_since >= ALONE_LOG && !others->is_logged) {
		others->is_logged = true;
		log_them(count, order, queue, log);
	}
	return next;
}

void other_consumers_gone(struct other_consumers *others)
{
	others->is_logged = false;
	others->looking_since = MTIME_NEVER;
	backoff_reset(&others->looks);
}

void other_consumers_stop(struct other_consumers *others)
{
	others->looking_since = MTIME_NEVER;
}

bool other_consumers_are_looked_for(const struct other_consumers *others)
{
	return others->looking_since != MTIME_NEVER;
}
