/* `wpool dead-letters replay`: each is published, and only when the broker has confirmed it and a
 * queue has taken it, taken off the dead letters. Killed in between, one is there twice. */
#include "cli/dead_letters.h"
#include "cli/dead_letters_end.h"
#include "cli/dead_letters_ledger.h"
#include "cli/dead_letters_reader.h"

#include "amqp/channel.h"
#include "base/json.h"
#include "base/utf8.h"
#include "cli/tally.h"
#include "cli/usage.h"
#include "io/clock.h"
#include "message/copy.h"
#include "message/replay.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sysexits.h>
#include <unistd.h>

#define DRAW_INTERVAL (MTIME_SECOND / 10)
#define LINES_MAX     10 /* messages named one by one; the count at the end has the others */

struct replay {
	const struct dead_letters *what;
	struct reader reader;
	struct ledger ledger;
	struct tally tally; /* for its bar */
	struct buf scratch;
	uint64_t replayed, returned, refused;
	uint64_t unaddressed; /* there is nowhere to send them */
	uint64_t unfit;       /* cannot be sent as they are */
	uint64_t postponed;   /* the broker takes them more slowly than it gives them */
	unsigned lines;
	bool is_drawing;
	mtime drawn;
};

static void complain(struct replay *p, const struct dead_letter *letter, const char *what)
{
	struct buf name;
	if (p->lines++ >= LINES_MAX)
		return;
	buf_init(&name, SIZE_MAX);
	dead_letter_name(letter, &name);
	fprintf(stderr, "wpool " DEAD_LETTERS_COMMAND ": %.*s %s\n", TEXT_ARGS(buf_text(&name)),
		what);
	buf_release(&name);
}

static void draw(struct replay *p)
{
	mtime now = clock_now();
	if (!p->is_drawing || now - p->drawn < DRAW_INTERVAL)
		return;
	p->drawn = now;
	p->tally.confirmed = p->replayed;
	tally_draw(&p->tally, p->reader.acked + p->reader.looked, 2 * p->reader.count, now);
}

static enum reader_fate publish(
	struct replay *p, const struct dead_letter *letter, struct text target)
{
	struct connection *connection = p->reader.client.connection;
	enum rc rc = replay_write(&letter->properties, letter->headers, p->ledger.next,
		connection_frame_max(connection), &p->scratch);
	if (rc == RC_LIMIT) {
		p->unfit++;
		complain(p, letter, "has headers that do not fit into one frame of this broker");
		return READER_STAYS;
	}
	if (rc != RC_OK) {
		reader_stop(&p->reader, EX_OSERR, "out of memory");
		return READER_STAYS;
	}
	ledger_put(&p->ledger, letter->tag);
	channel_publish(connection, READER_CHANNEL,
		&(struct amqp_publish){
			.routing_key = target,
			.mandatory = true,
			.properties = buf_text(&p->scratch),
			.body = letter->body,
		});
	return READER_WAITS;
}

static enum reader_fate on_letter(void *ctx, const struct dead_letter *letter)
{
	struct replay *p = ctx;
	struct text target = p->what->to.len > 0 ? p->what->to : replay_target(letter->headers);
	draw(p);
	if (letter->is_unreadable) {
		p->unfit++;
		complain(p, letter, "has headers that cannot be read");
		return READER_STAYS;
	}
	if (target.len == 0) {
		p->unaddressed++;
		complain(p, letter, "has no x-wpool-queue; --to QUEUE says where to");
		return READER_STAYS;
	}
	if (ledger_is_full(&p->ledger) ||
		buf_len(connection_output(p->reader.client.connection)) > DEAD_LETTERS_BYTES_MAX) {
		p->postponed++;
		return READER_STAYS;
	}
	return publish(p, letter, target);
}

static void settle(struct replay *p, const struct amqp_event *confirm)
{
	struct ledger_entry entry;
	while (ledger_take(&p->ledger, confirm->tag, confirm->multiple, &entry)) {
		bool goes = confirm->positive && !entry.was_returned;
		if (goes)
			p->replayed++;
		else if (entry.was_returned)
			p->returned++;
		else
			p->refused++;
		reader_settle(&p->reader, entry.delivery, goes);
	}
	draw(p);
}

static void note_return(struct replay *p, const struct amqp_event *event)
{
	if (!ledger_return(&p->ledger, copy_returned_seq(event->content.properties)))
		return;
	if (p->lines++ >= LINES_MAX)
		return;
	buf_clear(&p->scratch); /* the name is whatever a header said */
	utf8_append_harmless(&p->scratch, event->routing_key);
	fprintf(stderr, "wpool " DEAD_LETTERS_COMMAND ": no queue %.*s takes it: %u %.*s\n",
		TEXT_ARGS(buf_text(&p->scratch)), (unsigned)event->code, TEXT_ARGS(event->text));
}

static void on_event(void *ctx, const struct amqp_event *event)
{
	struct replay *p = ctx;
	if (event->kind == AMQP_CONFIRM)
		settle(p, event);
	else
		note_return(p, event);
}

static const struct reader_handler handler = {.on_letter = on_letter, .on_event = on_event};

static void print_json(struct replay *p)
{
	buf_clear(&p->scratch);
	json_append_string(&p->scratch, p->what->queue);
	printf("{\"queue\":%.*s,\"certain\":%s,\"matched\":%" PRIu64 ",\"replayed\":%" PRIu64
	       ",\"returned\":%" PRIu64 ",\"refused\":%" PRIu64 ",\"unaddressed\":%" PRIu64
	       ",\"unfit\":%" PRIu64 ",\"postponed\":%" PRIu64 ",\"unanswered\":%" PRIu64
	       ",\"left\":%" PRIu64 "}\n",
		TEXT_ARGS(buf_text(&p->scratch)), reader_is_certain(&p->reader) ? "true" : "false",
		p->reader.matched, p->replayed, p->returned, p->refused, p->unaddressed, p->unfit,
		p->postponed, p->reader.waiting, reader_left(&p->reader));
}

static void print_count(uint64_t count, const char *words)
{
	char number[32];
	if (count > 0)
		printf(", %s %s", usage_number(count, number), words);
}

static void print_words(const struct replay *p)
{
	char matched[32], replayed[32];
	printf("%s matched, %s replayed, ", usage_number(p->reader.matched, matched),
		usage_number(p->replayed, replayed));
	printf("%s returned, ", usage_number(p->returned, matched));
	printf("%s refused", usage_number(p->refused, matched));
	print_count(p->unaddressed, "without a queue to go to");
	print_count(p->unfit, "that cannot be sent");
	print_count(p->postponed, "not yet sent, the broker being slow; run it again");
	print_count(p->reader.waiting, "without an answer, and perhaps there twice");
	reader_print_left(&p->reader);
}

static int replay_verdict(struct replay *p, int exit_code)
{
	if (p->what->json)
		print_json(p);
	else
		print_words(p);
	if (!dead_letters_flush())
		return EX_IOERR;
	if (exit_code != EX_OK)
		return exit_code;
	if (p->unaddressed > 0)
		return EX_USAGE;
	if (p->returned > 0)
		return EX_UNAVAILABLE;
	return p->replayed < p->reader.matched || p->reader.short_of ? EX_TEMPFAIL : EX_OK;
}

int dead_letters_replay(const struct dead_letters *what)
{
	struct replay *p = calloc(1, sizeof *p);
	if (!p) {
		fputs("wpool " DEAD_LETTERS_COMMAND ": out of memory\n", stderr);
		return EX_OSERR;
	}
	p->what = what;
	p->is_drawing = isatty(STDERR_FILENO);
	p->tally.started = clock_now();
	ledger_init(&p->ledger);
	buf_init(&p->scratch, SIZE_MAX);
	int exit_code = reader_run(&p->reader, what, &handler, p);
	if (p->is_drawing)
		tally_erase();
	if (exit_code == EX_OK || p->reader.count > 0)
		exit_code = replay_verdict(p, exit_code);
	buf_release(&p->scratch);
	free(p);
	return exit_code;
}
