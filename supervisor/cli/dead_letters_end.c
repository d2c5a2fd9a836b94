#include "cli/dead_letters_end.h"

#include "cli/usage.h"

#include <inttypes.h>
#include <stdio.h>

#define RETURNS_MANY 10
#define SAY(...)     fprintf(stderr, "wpool " DEAD_LETTERS_COMMAND ": " __VA_ARGS__)

void reader_say_end(const struct reader *r)
{
	matches_say_unseen(&r->what->matches, r->looked > 0 ? r->seen : UINT32_MAX);
	if (r->short_of)
		SAY("looked at %" PRIu64 " of the %" PRIu64 " messages in %.*s: %s\n", r->looked,
			r->count, TEXT_ARGS(r->what->queue), r->short_of);
	if (r->returns >= RETURNS_MANY && r->what->is_foreign)
		SAY("a message was handed back %" PRIu64 " times so far; if %.*s has a delivery "
		    "limit (those that wpool declared have none), the broker drops it there\n",
			r->returns, TEXT_ARGS(r->what->queue));
}

uint64_t reader_left(const struct reader *r)
{
	return r->count - r->acked;
}

bool reader_is_certain(const struct reader *r)
{
	return r->is_synced || r->acked == 0;
}

void reader_print_left(const struct reader *r)
{
	char left[32];
	printf("; %s%s left in %.*s%s\n", reader_is_certain(r) ? "" : "at least ",
		usage_number(reader_left(r), left), TEXT_ARGS(r->what->queue),
		reader_is_certain(r) ? "" : ", the broker not having said what it took off");
}
