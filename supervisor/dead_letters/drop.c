/* `wpool dead-letters drop`: remove what matches, after a question. */
#include "dead_letters/dead_letters.h"
#include "dead_letters/reader.h"

#include "tty/cli_options.h"
#include "tty/console.h"
#include "tty/json_print.h"

#include <stdio.h>
#include <sysexits.h>

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

/* Count what would be dropped, and ask. No connection is open while we wait for the operator.
 * *ret_limit: the count that the operator agreed to. EX_OK: continue. */
static int confirm_drop(const struct dead_letters *what, uint64_t *ret_limit)
{
	static const struct reader_handler counting = {.on_letter = on_counted};
	struct reader reader;
	char matched[32], count[32];
	int exit_code = reader_run(&reader, what, &counting, NULL);
	*ret_limit = reader.matched;
	if (exit_code != EX_OK || reader.matched == 0)
		return exit_code;
	if (console_ask("Drop %s of the %s messages in %.*s? This cannot be undone.",
		    cli_number(reader.matched, matched), cli_number(reader.count, count),
		    TEXT_ARGS(what->queue)))
		return EX_OK;
	fputs("wpool " DEAD_LETTERS_COMMAND ": nothing was dropped\n", stderr);
	return EX_TEMPFAIL;
}

int dead_letters_drop(const struct dead_letters *what)
{
	static const struct reader_handler dropping = {.on_letter = on_dropped};
	struct dead_letters agreed = *what;
	struct reader reader;
	char dropped[32];
	bool is_printed = true;
	int exit_code = EX_OK;
	if (!what->yes)
		exit_code = confirm_drop(what, &agreed.limit);
	if (exit_code != EX_OK)
		return exit_code;
	exit_code = reader_run(&reader, &agreed, &dropping, NULL);
	if (exit_code != EX_OK && reader.count == 0)
		return exit_code;
	if (what->json) {
		is_printed = json_print(json_pack("{s:o, s:b, s:I, s:I, s:I}", "queue",
			json_text(what->queue), "certain", reader_is_certain(&reader), "matched",
			(json_int_t)reader.matched, "dropped", (json_int_t)reader.acked, "left",
			(json_int_t)reader_left(&reader)));
	} else {
		printf("%s dropped", cli_number(reader.acked, dropped));
		reader_print_left(&reader);
	}
	if (!console_flush(DEAD_LETTERS_COMMAND) || !is_printed)
		return EX_IOERR;
	return exit_code == EX_OK && reader.short_of ? EX_TEMPFAIL : exit_code;
}
