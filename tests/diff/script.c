#include "diff/script.h"

#include <stdio.h>
#include <string.h>

static const char *const op_names[] = {
#define X(op) #op,
	OPS(X)
#undef X
};

static const char *const trait_names[] = {"mandatory", "no-exchange", "cc", "bcc", "cc-string",
	"death", "count", "expiration", "expiration-word", "user", "user-other", "reply-to",
	"headers", "transient", "rejected"};

static void append_word(char *ret, size_t size, const char *text)
{
	size_t len = strlen(ret);

	snprintf(ret + len, size - len, " %s", text);
}

void script_describe(const struct command *c, char *ret, size_t size)
{
	snprintf(ret, size, "%s%s %u.%u queue %u second %u prefetch %u m%u", c->joined ? "+" : "",
		op_names[c->op] + 3, c->connection, c->channel, c->queue, c->second, c->prefetch,
		c->message);
	for (size_t i = 0; i < sizeof trait_names / sizeof *trait_names; i++)
		if (c->traits & 1u << i)
			append_word(ret, size, trait_names[i]);
	if (c->no_ack)
		append_word(ret, size, "no-ack");
	if (c->multiple)
		append_word(ret, size, "multiple");
	if (c->requeue)
		append_word(ret, size, "requeue");
	if (c->unknown)
		append_word(ret, size, "unknown-tag");
}

void script_describe_queue(const struct queue_shape *q, char *ret, size_t size)
{
	snprintf(ret, size, "%s", q->quorum ? "quorum" : "classic");
	if (q->dead_letters)
		append_word(
			ret, size, q->dead_exchange ? "dead-letters" : "dead-letters-to-nowhere");
	if (q->dead_letters && q->target != KEY_NONE) {
		size_t len = strlen(ret);

		snprintf(ret + len, size - len, " target %u", q->target);
	}
	if (q->at_least_once)
		append_word(ret, size, "at-least-once");
	if (q->ttl_ms != NUMBER_NONE)
		append_word(ret, size, "ttl");
	if (q->single)
		append_word(ret, size, "single");
	if (q->limit != NUMBER_NONE) {
		size_t len = strlen(ret);

		snprintf(ret + len, size - len, " limit %d", q->limit);
	}
}
