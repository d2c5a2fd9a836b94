/* `wpool dead-letters replay`: publish each message, and remove it from the dead letters when the
 * broker has confirmed it and not returned it. If killed in between, a message may be there twice.
 */
#include "base/utf8.h"
#include "dead_letters/dead_letters.h"
#include "dead_letters/reader.h"

#include "amqp/channel.h"
#include "os/clock.h"
#include "publish/publish_summary.h"
#include "publish/unconfirmed.h"
#include "tty/cli_options.h"
#include "tty/console.h"
#include "tty/json_print.h"

#include <inttypes.h>
#include <stdio.h>
#include <sysexits.h>
#include <unistd.h>

#define DRAW_INTERVAL (MTIME_SECOND / 10)
#define LINES_MAX     10 /* messages that are named; the rest is only counted */

struct replay {
	const struct dead_letters *what;
	struct reader reader;
	struct unconfirmed unconfirmed;
	struct publish_summary summary; /* for its bar */
	struct buf scratch;
	uint64_t replayed, returned, refused;
	uint64_t elsewhere;   /* they name another queue than --queue */
	uint64_t unaddressed; /* they name no queue, with --by-header */
	uint64_t invalid;     /* cannot be sent as they are */
	uint64_t postponed;   /* the broker is slower to confirm than to deliver */
	unsigned lines;
	bool is_drawing;
	mtime drawn;
};

static void print_problem(struct replay *p, const struct dead_letter *letter, const char *what)
{
	struct buf name;
	if (p->lines++ >= LINES_MAX)
		return;
	buf_init(&name, SIZE_MAX);
	dead_letter_name(letter, &name);
	console_problem(DEAD_LETTERS_COMMAND, "%.*s %s", TEXT_ARGS(buf_text(&name)), what);
	buf_release(&name);
}

static void draw_progress(struct replay *p)
{
	mtime now = clock_now();
	if (!p->is_drawing || now - p->drawn < DRAW_INTERVAL)
		return;
	p->drawn = now;
	p->summary.confirmed = p->replayed;
	publish_summary_draw(
		&p->summary, p->reader.acked + p->reader.looked, 2 * p->reader.count, now);
}

static enum reader_fate publish(
	struct replay *p, const struct dead_letter *letter, struct text target)
{
	struct connection *connection = p->reader.client.connection;
	enum rc rc = replay_write(&letter->properties, letter->headers, p->unconfirmed.next,
		connection_frame_max(connection), &p->scratch);
	if (rc == RC_LIMIT) {
		p->invalid++;
		print_problem(
			p, letter, "has headers that do not fit into one frame of this broker");
		return READER_STAYS;
	}
	if (rc != RC_OK) {
		reader_stop(&p->reader, EX_OSERR, "out of memory");
		return READER_STAYS;
	}
	unconfirmed_add(&p->unconfirmed, (union unconfirmed_item){.delivery_tag = letter->tag});
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
	struct text target;
	enum replay_route route = replay_route(&p->what->replay, letter->headers, &target);
	draw_progress(p);
	if (letter->is_unreadable) {
		p->invalid++;
		print_problem(p, letter, "has headers that cannot be read");
		return READER_STAYS;
	}
	if (route == REPLAY_ELSEWHERE) {
		p->elsewhere++;
		buf_clear(&p->scratch);
		buf_printf(&p->scratch, "names the queue %s; it stays: use --to or --by-header%c",
			utf8_shown(target).text, 0);
		print_problem(p, letter,
			p->scratch.failed ? "names another queue" : buf_text(&p->scratch).ptr);
		return READER_STAYS;
	}
	if (route == REPLAY_UNADDRESSED) {
		p->unaddressed++;
		print_problem(p, letter, "has no x-wpool-queue; use --to QUEUE");
		return READER_STAYS;
	}
	if (unconfirmed_is_full(&p->unconfirmed) ||
		buf_len(connection_output(p->reader.client.connection)) > DEAD_LETTERS_BYTES_MAX) {
		p->postponed++;
		return READER_STAYS;
	}
	return publish(p, letter, target);
}

static void on_confirm(struct replay *p, const struct publish_answer *answer)
{
	union unconfirmed_item item;
	enum publish_answer_kind kind;
	while ((kind = unconfirmed_take(&p->unconfirmed, answer, &item)) != PUBLISH_NOT_ANSWERED) {
		if (kind == PUBLISH_CONFIRMED)
			p->replayed++;
		else if (kind == PUBLISH_RETURNED)
			p->returned++;
		else
			p->refused++;
		reader_settle(&p->reader, item.delivery_tag, kind == PUBLISH_CONFIRMED);
	}
	draw_progress(p);
}

static void on_answer(
	void *ctx, const struct publish_answer *answer, const struct amqp_event *event)
{
	struct replay *p = ctx;
	if (answer->kind != PUBLISH_RETURNED) {
		on_confirm(p, answer);
		return;
	}
	if (!unconfirmed_return(&p->unconfirmed, answer->number) || p->lines++ >= LINES_MAX)
		return;
	console_problem(DEAD_LETTERS_COMMAND, "no queue %s takes it: %u %s",
		utf8_shown(event->routing_key).text, (unsigned)event->code,
		utf8_shown(event->text).text);
}

static const struct reader_handler handler = {.on_letter = on_letter, .on_answer = on_answer};

static void print_count(uint64_t count, const char *what)
{
	char number[32];
	if (count > 0)
		printf(", %s %s", cli_number(count, number), what);
}

static void print_text(const struct replay *p)
{
	char matched[32], replayed[32];
	printf("%s matched, %s replayed, ", cli_number(p->reader.matched, matched),
		cli_number(p->replayed, replayed));
	printf("%s returned, ", cli_number(p->returned, matched));
	printf("%s refused", cli_number(p->refused, matched));
	print_count(p->elsewhere, "left that name another queue");
	print_count(p->unaddressed, "without a queue to go to");
	print_count(p->invalid, "that cannot be sent");
	print_count(p->postponed, "not sent, because the broker is slow; run it again");
	print_count(p->reader.waiting, "without an answer, and perhaps in their queue twice");
	reader_print_left(&p->reader);
}

static int replay_verdict(struct replay *p, int exit_code)
{
	bool is_printed = true;
	if (p->what->json)
		is_printed = json_print(json_pack(
			"{s:o, s:b, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "queue",
			json_text(p->what->queue), "certain", reader_is_certain(&p->reader),
			"matched", (json_int_t)p->reader.matched, "replayed",
			(json_int_t)p->replayed, "returned", (json_int_t)p->returned, "refused",
			(json_int_t)p->refused, "elsewhere", (json_int_t)p->elsewhere,
			"unaddressed", (json_int_t)p->unaddressed, "invalid",
			(json_int_t)p->invalid, "postponed", (json_int_t)p->postponed, "unanswered",
			(json_int_t)p->reader.waiting, "left",
			(json_int_t)reader_left(&p->reader)));
	else
		print_text(p);
	if (!console_flush(DEAD_LETTERS_COMMAND) || !is_printed)
		return EX_IOERR;
	if (exit_code != EX_OK)
		return exit_code;
	if (p->elsewhere > 0 || p->unaddressed > 0)
		return EX_USAGE;
	if (p->returned > 0)
		return EX_UNAVAILABLE;
	return p->replayed < p->reader.matched || p->reader.short_of ? EX_TEMPFAIL : EX_OK;
}

static enum reader_fate on_seen(void *ctx, const struct dead_letter *letter)
{
	(void)ctx, (void)letter;
	return READER_STAYS;
}

/* Ask on a terminal before everything is replayed. One message is read, and the queue counts it as
 * handed back. */
static int confirm_replay(const struct dead_letters *what)
{
	static const struct reader_handler looking = {.on_letter = on_seen};
	struct dead_letters first = *what;
	struct reader reader;
	char count[32];
	int exit_code;
	if (what->yes || matches_are_any(&what->matches) || what->limit < UINT64_MAX ||
		!console_can_ask())
		return EX_OK;
	first.limit = 1;
	exit_code = reader_run(&reader, &first, &looking, NULL);
	if (exit_code != EX_OK || reader.count == 0 ||
		console_ask("Replay all %s messages in %.*s?", cli_number(reader.count, count),
			TEXT_ARGS(what->queue)))
		return exit_code;
	fputs("wpool " DEAD_LETTERS_COMMAND ": nothing was replayed\n", stderr);
	return EX_TEMPFAIL;
}

int dead_letters_replay(const struct dead_letters *what)
{
	struct replay p = {.what = what, .is_drawing = isatty(STDERR_FILENO)};
	int exit_code = confirm_replay(what);
	if (exit_code != EX_OK)
		return exit_code;
	if (unconfirmed_init(&p.unconfirmed) != RC_OK) {
		fputs("wpool " DEAD_LETTERS_COMMAND ": out of memory\n", stderr);
		return EX_OSERR;
	}
	p.summary.started = clock_now();
	buf_init(&p.scratch, SIZE_MAX);
	exit_code = reader_run(&p.reader, what, &handler, &p);
	if (p.is_drawing)
		publish_summary_erase();
	if (exit_code == EX_OK || p.reader.count > 0)
		exit_code = replay_verdict(&p, exit_code);
	buf_release(&p.scratch);
	unconfirmed_release(&p.unconfirmed);
	return exit_code;
}
