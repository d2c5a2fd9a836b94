/* `wpool dead-letters drop`: takes off what matches, after asking. */
#include "cli/dead_letters.h"
#include "cli/dead_letters_end.h"
#include "cli/dead_letters_reader.h"

#include "base/json.h"
#include "cli/usage.h"

#include <inttypes.h>
#include <stdio.h>
#include <sysexits.h>
#include <unistd.h>

static enum reader_fate on_counted(void *ctx, const struct dead_letter *letter)
{
	(void)ctx, (void)letter;
	return READER_STAYS;
}

static enum reader_fate on_dropped(void *ctx, const struct dead_letter *letter)
{
	(void)ctx, (void)letter;
	return READER_GOES;
}

static bool is_yes(void)
{
	char answer[16];
	return fgets(answer, sizeof answer, stdin) && (*answer == 'y' || *answer == 'Y');
}

/* Counts what would go, without a connection open while the operator thinks. *ret_limit: no more
 * than was agreed to. EX_OK: go on. */
static int ask(const struct dead_letters *what, uint64_t *ret_limit)
{
	static const struct reader_handler counting = {.on_letter = on_counted};
	struct reader reader;
	char matched[32], count[32];
	int exit_code = reader_run(&reader, what, &counting, NULL);
	*ret_limit = reader.matched;
	if (exit_code != EX_OK || reader.matched == 0)
		return exit_code;
	fprintf(stderr, "Drop %s of the %s messages in %.*s? They are gone then. [y/N] ",
		usage_number(reader.matched, matched), usage_number(reader.count, count),
		TEXT_ARGS(what->queue));
	fflush(stderr);
	if (is_yes())
		return EX_OK;
	fputs("wpool " DEAD_LETTERS_COMMAND ": nothing was dropped\n", stderr);
	return EX_TEMPFAIL;
}

static bool print(const struct dead_letters *what, const struct reader *r)
{
	char dropped[32];
	struct buf name;
	if (!what->json) {
		printf("%s dropped", usage_number(r->acked, dropped));
		reader_print_left(r);
	} else {
		buf_init(&name, SIZE_MAX);
		json_append_string(&name, what->queue);
		printf("{\"queue\":%.*s,\"certain\":%s,\"matched\":%" PRIu64 ",\"dropped\":%" PRIu64
		       ",\"left\":%" PRIu64 "}\n",
			TEXT_ARGS(buf_text(&name)), reader_is_certain(r) ? "true" : "false",
			r->matched, r->acked, reader_left(r));
		buf_release(&name);
	}
	return dead_letters_flush();
}

int dead_letters_drop(const struct dead_letters *what)
{
	static const struct reader_handler dropping = {.on_letter = on_dropped};
	struct dead_letters agreed = *what;
	struct reader reader;
	int exit_code = EX_OK;
	if (!what->yes)
		exit_code = ask(what, &agreed.limit);
	if (exit_code != EX_OK)
		return exit_code;
	exit_code = reader_run(&reader, &agreed, &dropping, NULL);
	if ((exit_code == EX_OK || reader.count > 0) && !print(what, &reader))
		return EX_IOERR;
	return exit_code == EX_OK && reader.short_of ? EX_TEMPFAIL : exit_code;
}
