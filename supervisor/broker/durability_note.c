#include "broker/durability_note.h"

static bool is_left_to_queue(const struct durability_note *note)
{
	return note->dead_letter.len == 0;
}

static bool is_all_made(const struct durability_note *note)
{
	return note->is_queue_made && note->retry_queues == 0 &&
	       (note->is_dead_letter_made || is_left_to_queue(note));
}

static void append_name(struct buf *out, const char **between, struct text name)
{
	buf_printf(out, "%s\"%.*s\"", *between, TEXT_ARGS(name));
	*between = ", ";
}

static void append_existing(const struct durability_note *note, struct buf *out)
{
	const char *between = "queues that were there already: ";

	if (!note->is_queue_made)
		append_name(out, &between, note->queue);
	if (!note->is_dead_letter_made && !is_left_to_queue(note))
		append_name(out, &between, note->dead_letter);
	if (note->retry_queues > 0)
		buf_printf(out, "%s%u for retries", between, note->retry_queues);
	buf_append_text(out,
		TEXT("; their type and policies are unknown to a client (what keeps everything: "
		     "docs/reliability.md)"));
}

/* True when it was declared; a policy may have changed it, which a client cannot see. */
static enum log_level append_loss(const struct durability_note *note, struct buf *out)
{
	buf_printf(out,
		"queue \"%.*s\" was declared without a dead-letter exchange, and given-up tasks are "
		"left to it (dead_letter: broker): the broker discards them, unless a policy names "
		"one (docs/retries.md, By hand)",
		TEXT_ARGS(note->queue));
	return LOG_WARN;
}

/* Every supervisor that is started again finds its queues: that is no news. But it is whether
 * given-up tasks may be lost. */
enum log_level durability_note_append(const struct durability_note *note, struct buf *out)
{
	if (note->is_queue_made && is_left_to_queue(note))
		return append_loss(note, out);
	if (is_all_made(note))
		return LOG_DEBUG;
	append_existing(note, out);
	if (!is_left_to_queue(note))
		return LOG_DEBUG;
	buf_append_text(
		out, TEXT("; given-up tasks are left to the queue (dead_letter: broker) and "
			  "discarded if it has no dead-letter exchange"));
	return LOG_INFO;
}
