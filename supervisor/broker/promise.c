#include "broker/promise.h"

static bool is_left_to_queue(const struct promise *promise)
{
	return promise->dead_letter.len == 0;
}

static bool is_all_made(const struct promise *promise)
{
	return promise->is_queue_made && promise->retry_queues == 0 &&
	       (promise->is_dead_letter_made || is_left_to_queue(promise));
}

static void add_name(struct buf *out, const char **between, struct text name)
{
	buf_printf(out, "%s\"%.*s\"", *between, TEXT_ARGS(name));
	*between = ", ";
}

static void add_what_was_there(const struct promise *promise, struct buf *out)
{
	const char *between = "queues that were there already: ";

	if (!promise->is_queue_made)
		add_name(out, &between, promise->queue);
	if (!promise->is_dead_letter_made && !is_left_to_queue(promise))
		add_name(out, &between, promise->dead_letter);
	if (promise->retry_queues > 0)
		buf_printf(out, "%s%u for retries", between, promise->retry_queues);
	buf_append_text(out,
		TEXT("; their type and policies are unknown to a client (what keeps everything: "
		     "docs/reliability.md)"));
}

/* Known to be so at its declaration; a policy may have healed it, which nobody tells. */
static enum log_level add_loss(const struct promise *promise, struct buf *out)
{
	buf_printf(out,
		"queue \"%.*s\" was declared without a dead-letter exchange, and given-up tasks are "
		"left to it (dead_letter: broker): the broker discards them, unless a policy names "
		"one (docs/retries.md, By hand)",
		TEXT_ARGS(promise->queue));
	return LOG_WARN;
}

/* No warning: every supervisor that is started again finds its queues there. */
enum log_level promise_add_words(const struct promise *promise, struct buf *out)
{
	if (promise->is_queue_made && is_left_to_queue(promise))
		return add_loss(promise, out);
	if (is_all_made(promise))
		return LOG_DEBUG;
	add_what_was_there(promise, out);
	if (is_left_to_queue(promise))
		buf_append_text(out,
			TEXT("; given-up tasks are left to the queue (dead_letter: broker) and "
			     "discarded if it has no dead-letter exchange"));
	return LOG_INFO;
}
