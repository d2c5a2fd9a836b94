/* `wpool dead-letters list` and `show`: read the messages and leave them in the queue. Nothing is
 * printed before the broker has its messages back: a pager that waits must not hold them. */
#include "dead_letters/dead_letters.h"
#include "dead_letters/json.h"
#include "dead_letters/reader.h"
#include "dead_letters/show.h"
#include "tty/console.h"
#include "tty/text_table.h"

#include "amqp/table.h"
#include "base/json.h"
#include "message/field_text.h"
#include "message/names.h"
#include "message/replay.h"
#include "tty/cli_options.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sysexits.h>

static const struct text_table_column columns[] = {
	{.title = "FIRST FAILED", .is_whole = true},
	{.title = "REASON", .is_whole = true},
	{.title = "ATTEMPTS", .is_right = true, .is_whole = true},
	{.title = "ACCEPTED"},
	{.title = "EXIT"},
	{.title = "QUEUE"},
	{.title = "MESSAGE ID"},
	{.title = "CORRELATION ID"},
	{.title = "BYTES", .is_right = true, .is_whole = true},
};

#define COLUMNS (sizeof columns / sizeof *columns)

struct listing {
	const struct dead_letters *what;
	struct reader reader;
	struct text_table table; /* of list, for people */
	struct buf out;          /* of everything else */
	struct buf one;          /* a letter before it is added; or a cell */
	bool with_body;
	bool has_failed; /* memory */
	uint64_t shown;
};

static struct text cell(struct listing *l)
{
	l->has_failed |= l->one.failed;
	return buf_text(&l->one);
}

/* Add the text in l->one as the next cell, and clear it. */
static void add_cell(struct listing *l)
{
	text_table_add(&l->table, cell(l));
	buf_clear(&l->one);
}

static bool is_accepted(const struct dead_letter *letter)
{
	struct table_field field;
	return table_find(letter->headers, HEADER_ACCEPTED, &field) && field.type == 't' &&
	       field.value.ptr[0] != 0;
}

/* EXIT is how the last worker ended, or what it answered. A message that the queue's own policy
 * dead-lettered has the broker's reason. ACCEPTED is not shown where none is. */
static void add_row(struct listing *l, const struct dead_letter *letter)
{
	struct table_field field;
	int64_t seconds;
	char number[32];
	buf_clear(&l->one);
	if (table_find(letter->headers, HEADER_FIRST_FAILED, &field) &&
		table_field_integer(&field, &seconds))
		append_time(&l->one, seconds);
	add_cell(l);
	if (!dead_letter_header(letter, HEADER_REASON, &l->one) &&
		replay_last_death(letter->headers, TEXT("reason"), &field))
		field_append_text(&l->one, &field);
	add_cell(l);
	(void)dead_letter_header(letter, HEADER_ATTEMPT, &l->one);
	add_cell(l);
	text_table_add(&l->table, is_accepted(letter) ? TEXT("yes") : TEXT_NONE);
	if (!dead_letter_header(letter, HEADER_EXIT, &l->one)) {
		buf_append_text(&l->one, TEXT("status "));
		if (!dead_letter_header(letter, HEADER_STATUS, &l->one))
			buf_clear(&l->one);
	}
	add_cell(l);
	text_table_add(&l->table, replay_named_queue(letter->headers));
	text_table_add(&l->table, letter->properties.value[PROPERTY_MESSAGE_ID]);
	text_table_add(&l->table, letter->properties.value[PROPERTY_CORRELATION_ID]);
	text_table_add(&l->table, text_from(cli_number(letter->body.len, number)));
	if (l->what->column) {
		(void)dead_letter_header(letter, text_from(l->what->column), &l->one);
		add_cell(l);
	}
	l->shown++;
}

static void write_one(struct listing *l, const struct dead_letter *letter)
{
	bool is_first = buf_len(&l->out) == 0;
	buf_clear(&l->one);
	if (!is_first)
		buf_append_text(&l->one, l->what->json ? TEXT(",\n") : TEXT("\n"));
	if (l->what->json)
		dead_letter_write_json(&l->one, letter, l->with_body);
	else
		dead_letter_write_text(&l->one, letter);
	if (!is_first && buf_len(&l->out) + buf_len(&l->one) > DEAD_LETTERS_BYTES_MAX) {
		reader_stop(&l->reader, EX_OK, "the rest does not fit into 256 MiB of memory");
		return;
	}
	buf_append_text(&l->out, cell(l));
	l->has_failed |= l->out.failed;
	l->shown++;
}

static enum reader_fate on_letter(void *ctx, const struct dead_letter *letter)
{
	struct listing *l = ctx;
	if (l->reader.matched <= l->what->skip)
		return READER_STAYS;
	if (l->what->json || l->with_body)
		write_one(l, letter);
	else
		add_row(l, letter);
	if (l->has_failed)
		reader_stop(&l->reader, EX_OSERR, "out of memory");
	return READER_STAYS;
}

static const struct reader_handler handler = {.on_letter = on_letter};

static int print_listing(struct listing *l, int exit_code)
{
	const struct reader *r = &l->reader;
	char shown[32], count[32];
	if (!l->what->json && !l->with_body)
		text_table_write(&l->table, console_width(), &l->out);
	if (l->has_failed || l->out.failed)
		return EX_OSERR;
	if (l->what->json) {
		buf_clear(&l->one);
		json_append_string(&l->one, l->what->queue);
		printf("{\"queue\":%.*s,\"count\":%" PRIu64 ",\"looked_at\":%" PRIu64
		       ",\"complete\":%s,\"messages\":[\n",
			TEXT_ARGS(buf_text(&l->one)), r->count, r->looked,
			r->short_of ? "false" : "true");
	}
	if (buf_len(&l->out) > 0)
		fwrite(buf_text(&l->out).ptr, 1, buf_len(&l->out), stdout);
	if (l->what->json)
		puts("]}");
	else {
		fputs(l->shown > 0 ? "\n" : "", stdout);
		console_print(stdout, "%s of %s message%s in %.*s", cli_number(l->shown, shown),
			cli_number(r->count, count), r->count == 1 ? "" : "s",
			TEXT_ARGS(l->what->queue));
		putchar('\n');
	}
	return console_flush(DEAD_LETTERS_COMMAND) ? exit_code : EX_IOERR;
}

static int listing_run(const struct dead_letters *what, bool with_body)
{
	struct listing l = {.what = what, .with_body = with_body};
	struct text_table_column all[COLUMNS + 1] = {[COLUMNS] = {.title = what->column}};
	memcpy(all, columns, sizeof columns);
	text_table_init(&l.table, all, what->column ? COLUMNS + 1 : COLUMNS);
	buf_init(&l.out, SIZE_MAX);
	buf_init(&l.one, SIZE_MAX);
	int exit_code = reader_run(&l.reader, what, &handler, &l);
	if (exit_code == EX_OK || l.reader.looked > 0)
		exit_code = print_listing(&l, exit_code);
	buf_release(&l.one);
	buf_release(&l.out);
	text_table_release(&l.table);
	return exit_code;
}

int dead_letters_list(const struct dead_letters *what)
{
	return listing_run(what, false);
}

int dead_letters_show(const struct dead_letters *what)
{
	return listing_run(what, true);
}
