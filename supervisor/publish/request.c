/* `wpool request`: a message and its reply, by direct reply-to; with --lines many of them, one
 * after the other on one connection. */
#include "base/utf8.h"
#include "broker/envelope.h"
#include "commands.h"
#include "config/config_throttle.h"
#include "config/dead_letter.h"
#include "config/value/quantity.h"
#include "publish/broker_client.h"
#include "publish/input.h"
#include "publish/request_line.h"
#include "tty/cli_options.h"
#include "tty/console.h"

#include "amqp/channel.h"
#include "amqp/table.h"
#include "core/tasks/output.h"
#include "message/names.h"
#include "os/loop.h"
#include "os/random_id.h"
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#define COMMAND      "request"
#define WAIT_DEFAULT (10 * MTIME_SECOND)
#define REPLY_QUEUE  "amq.rabbitmq.reply-to"
#define BODY_LIMIT   (512u * 1024 * 1024)
#define PIECE        (64 * 1024)

static const char help[] =
	"usage: wpool request --queue NAME [OPTION]... BODY\n"
	"       wpool request --lines [OPTION]...\n"
	"\n"
	"Publish BODY to a queue, wait for the reply and print its body. BODY - is standard\n"
	"input. On a terminal, control characters of the reply are shown as escapes (\\x1b).\n"
	"\n"
	"  --queue NAME        the queue, through the default exchange\n"
	"  --wait DURATION     how long to wait for the reply, connecting included; default 10s\n"
	"  --header KEY=VALUE  a header, as text; may be repeated, each with another KEY\n"
	"  --raw               the reply's bytes as they came, even to a terminal\n"
	"  --lines             a request for each line of standard input, one after the other\n"
	"                      on one connection: a JSON object with body, and queue and\n"
	"                      headers if they differ from the options: its queue and each of\n"
	"                      its headers replace those of the options. Each is answered by a\n"
	"                      line with queue and body (body_base64 if it is not UTF-8), or\n"
	"                      error\n"
	"  --broker URL        amqp:// or amqps:// address; several, separated by commas\n"
	"  --help              this text\n"
	"\n"
	"Without --broker the address comes from AMQP_URL, or RABBITMQ_HOSTNAME and the others.\n"
	"With WPOOL_PASSWORD_FILE the password is in that file.\n"
	"The reply comes by direct reply-to, so no queue is declared for it.\n"
	"Exit status: 0 the reply was printed, 64 usage, 65 a wrong line, 69 no broker or no\n"
	"queue, 74 input or output failed, 75 no reply in time, connection lost or refused by a\n"
	"throttle, 77 login refused. With --lines that of the first request without a reply.\n";

enum flag { BROKER = 256, QUEUE, HEADER, WAIT, RAW, LINES, HELP };

static const struct option options[] = {
	{"broker", required_argument, NULL, BROKER},
	{"queue", required_argument, NULL, QUEUE},
	{"header", required_argument, NULL, HEADER},
	{"wait", required_argument, NULL, WAIT},
	{"raw", no_argument, NULL, RAW},
	{"lines", no_argument, NULL, LINES},
	{"help", no_argument, NULL, HELP},
	{NULL, 0, NULL, 0},
};

struct request {
	struct broker_client client;
	struct envelope options;  /* queue and headers of the options */
	struct envelope envelope; /* of this request */
	struct buf input;         /* the body, where standard input gives it */
	struct text body;
	const char *broker;
	mtime wait;
	char id[RANDOM_ID_SIZE];
	ev_timer limit;
	bool is_raw, is_lines;
	bool is_ready;   /* the channel can get replies */
	bool is_pending; /* there is a request, and no reply yet */
	bool is_published;
	struct input lines;
	struct request_line line;
	int failure;   /* of the first line without a reply; else 0 */
	int exit_code; /* -1: it has not ended */
};

static void request_finish(struct request *r, int exit_code)
{
	r->exit_code = exit_code;
	r->is_pending = false;
	broker_client_close(&r->client);
}

static void write_line(struct request *r, const struct buf *line)
{
	struct text text = buf_text(line);
	if (!line->failed && fwrite(text.ptr, 1, text.len, stdout) == text.len &&
		fflush(stdout) == 0)
		return;
	console_problem(COMMAND, "cannot write the reply: %s", strerror(errno));
	request_finish(r, EX_IOERR);
}

/* The request of a line has its answer, and the next line follows. */
static void end_line(struct request *r, struct text reply, struct text error)
{
	struct buf line;
	r->is_pending = r->is_published = false;
	ev_timer_stop(r->client.loop, &r->limit);
	buf_init(&line, SIZE_MAX);
	if (error.len > 0)
		request_line_append_error(&line, r->envelope.field[ENVELOPE_QUEUE], error);
	else
		request_line_append_reply(&line, r->envelope.field[ENVELOPE_QUEUE], reply);
	write_line(r, &line);
	buf_release(&line);
	request_line_release(&r->line);
}

/* This request has no reply: print why, and finish unless there are more. */
static void request_fail(struct request *r, int exit_code, const char *format, ...)
	PRINTF_LIKE(3, 4);
static void request_fail(struct request *r, int exit_code, const char *format, ...)
{
	struct buf text;
	va_list args;
	buf_init(&text, SIZE_MAX);
	va_start(args, format);
	buf_vprintf(&text, format, args);
	va_end(args);
	if (r->is_lines) {
		if (!r->failure)
			r->failure = exit_code;
		end_line(r, TEXT_NONE, buf_text(&text));
	} else {
		request_finish(r, exit_code);
		console_problem(COMMAND, "%.*s", TEXT_ARGS(buf_text(&text)));
	}
	buf_release(&text);
}

static void request_publish(struct request *r)
{
	struct connection *connection = r->client.connection;
	enum rc rc = envelope_check(&r->envelope, connection);
	if (rc == RC_LIMIT)
		request_fail(r, EX_DATAERR, "the headers do not fit into one frame of this broker");
	else if (rc == RC_OK && envelope_publish(&r->envelope, connection, BROKER_CLIENT_CHANNEL,
					text_from(r->id), 0, r->body))
		r->is_published = true;
	else
		request_fail(r, EX_OSERR, "out of memory");
}

static bool is_of_request(
	const struct request *r, const struct amqp_event *event, struct properties *ret_properties)
{
	return properties_parse(event->content.properties, ret_properties) == RC_OK &&
	       text_is(ret_properties->value[PROPERTY_CORRELATION_ID], text_from(r->id));
}

static bool find_number(struct text headers, struct text key, int64_t *ret)
{
	struct table_field field;
	return table_find(headers, key, &field) && table_field_integer(&field, ret);
}

/* True: it is no answer of a worker, because a throttle let none have the task. Anybody may send
 * such headers, but a throttle lets none wait for longer than a period. */
static bool is_refusal(const struct properties *properties, int64_t *ret_wait_ms)
{
	struct text headers = properties->value[PROPERTY_HEADERS];
	int64_t status;
	return find_number(headers, HEADER_REFUSAL_STATUS, &status) && status == STATUS_THROTTLED &&
	       find_number(headers, HEADER_RETRY_AFTER, ret_wait_ms) && *ret_wait_ms >= 0 &&
	       *ret_wait_ms <= CONFIG_PERIOD_MAX / MTIME_MS;
}

static void refuse(struct request *r, mtime wait)
{
	struct buf span;

	buf_init(&span, 64);
	quantity_append_duration(&span, (wait + MTIME_SECOND - 1) / MTIME_SECOND * MTIME_SECOND);
	request_fail(r, EX_TEMPFAIL, "refused by a throttle of its pool: try again in %.*s",
		TEXT_ARGS(buf_text(&span)));
	buf_release(&span);
}

static void request_print(struct request *r, const struct properties *properties, struct text body)
{
	int64_t wait_ms;

	if (is_refusal(properties, &wait_ms)) {
		refuse(r, wait_ms * MTIME_MS);
		return;
	}
	if (r->is_lines) {
		end_line(r, body, TEXT_NONE);
		return;
	}
	if (isatty(STDOUT_FILENO) && !r->is_raw)
		console_print_lines(stdout, body.len > 0 ? body : TEXT("\n"));
	else if (body.len > 0)
		fwrite(body.ptr, 1, body.len, stdout);
	if (fflush(stdout) != 0 || ferror(stdout))
		request_fail(r, EX_IOERR, "cannot write the reply: %s", strerror(errno));
	else
		request_finish(r, EX_OK);
}

/* A request that closes the channel has no reply; the others get a new channel. */
static void on_channel_closed(struct request *r, const struct amqp_event *event)
{
	bool was_ready = r->is_ready;
	r->is_ready = false;
	if (r->is_pending)
		request_fail(r, EX_TEMPFAIL, "refused by the broker: %u %s", (unsigned)event->code,
			utf8_shown(event->text).text);
	if (r->is_lines && was_ready && r->exit_code < 0)
		channel_open(r->client.connection, BROKER_CLIENT_CHANNEL);
	else if (r->is_lines && r->exit_code < 0)
		request_finish(r, EX_TEMPFAIL);
}

static void on_event(void *ctx, const struct amqp_event *event)
{
	struct request *r = ctx;
	struct properties properties;
	if (r->exit_code >= 0)
		return;
	switch (event->kind) {
	case AMQP_CHANNEL_OPENED:
		channel_consume(r->client.connection, BROKER_CLIENT_CHANNEL, TEXT(REPLY_QUEUE),
			TEXT("reply"), true);
		break;
	case AMQP_CONSUME_OK:
		r->is_ready = true;
		if (r->is_pending)
			request_publish(r);
		break;
	case AMQP_DELIVERY: /* also late, after its limit, or a second one */
		if (r->is_pending && is_of_request(r, event, &properties))
			request_print(r, &properties, event->content.body);
		break;
	case AMQP_RETURN:
		if (r->is_pending && is_of_request(r, event, &properties))
			request_fail(r, EX_UNAVAILABLE,
				"no queue takes it: %u %s (does the queue %.*s exist?)",
				(unsigned)event->code, utf8_shown(event->text).text,
				TEXT_ARGS(r->envelope.field[ENVELOPE_QUEUE]));
		break;
	case AMQP_CHANNEL_CLOSED:
		on_channel_closed(r, event);
		break;
	default:
		break;
	}
}

static void on_up(void *ctx, struct connection *connection)
{
	(void)ctx;
	channel_open(connection, BROKER_CLIENT_CHANNEL);
}

/* The reply queue ends with its channel. Sending the request again might do the work twice. */
static void on_down(void *ctx, bool by_error)
{
	(void)by_error;
	struct request *r = ctx;
	r->is_ready = false;
	if (r->is_published && r->is_pending)
		request_fail(r, EX_TEMPFAIL, "the connection was lost while waiting for the reply");
}

static void on_interrupt(void *ctx)
{
	struct request *r = ctx;
	if (r->exit_code >= 0)
		return;
	if (r->is_pending)
		request_fail(r, EX_TEMPFAIL, "interrupted");
	if (r->exit_code < 0)
		request_finish(r, EX_TEMPFAIL);
}

/* ---------- lines ---------- */

/* The envelope of the next request, as the options have it. */
static void request_prepare(struct request *r)
{
	envelope_release(&r->envelope);
	envelope_init(&r->envelope);
	r->envelope.field[ENVELOPE_QUEUE] = r->options.field[ENVELOPE_QUEUE];
	buf_append_text(&r->envelope.headers, buf_text(&r->options.headers));
}

/* A request begins; it is published as soon as there is a channel. */
static void request_begin(struct request *r)
{
	random_id_make(r->id);
	r->envelope.field[ENVELOPE_REPLY_TO] = TEXT(REPLY_QUEUE);
	r->envelope.field[ENVELOPE_CORRELATION_ID] = text_from(r->id);
	r->is_pending = true;
	loop_start_timer(r->client.loop, &r->limit, r->wait);
	if (r->is_ready)
		request_publish(r);
}

static void begin_line(struct request *r, struct text line)
{
	request_prepare(r);
	const char *problem = request_line_read(line, &r->envelope, &r->line);
	r->body = r->line.body;
	if (problem)
		request_fail(r, EX_DATAERR, "%s", problem);
	else
		request_begin(r);
}

/* Take lines until one has to wait for its reply. */
static bool on_turn(void *ctx)
{
	struct request *r = ctx;
	struct text line;
	while (r->is_lines && !r->is_pending && r->exit_code < 0) {
		switch (input_next(&r->lines, &line)) {
		case INPUT_MESSAGE:
			begin_line(r, line);
			break;
		case INPUT_WAIT:
			return false;
		case INPUT_END:
			request_finish(r, r->failure);
			break;
		case INPUT_FAILED:
			console_problem(COMMAND, "cannot read %s", r->lines.problem);
			request_finish(r, EX_IOERR);
			break;
		}
	}
	return false;
}

static const struct broker_client_handler handler = {
	.on_up = on_up,
	.on_down = on_down,
	.on_event = on_event,
	.on_turn = on_turn,
	.on_interrupt = on_interrupt,
};

static void on_limit(struct ev_loop *loop, ev_timer *watcher, int events)
{
	(void)loop, (void)events;
	struct request *r = watcher->data;
	double seconds = (double)r->wait / MTIME_SECOND;
	const char *why = broker_link_failure(r->client.broker_link);
	if (*r->client.failure || !r->is_pending)
		return;
	if (r->client.is_blocked)
		request_fail(r, EX_UNAVAILABLE,
			"the broker accepts no messages (%s), and has not read this one within "
			"%.3g s",
			r->client.blocked, seconds);
	else if (r->is_published)
		request_fail(r, EX_TEMPFAIL,
			"no reply within %.3g s: no worker serves the queue, its pool is paused "
			"(see wpool pools), the task is still running, or it was given up "
			"(see \"%.*s" DEAD_LETTER_SUFFIX "\")",
			seconds, TEXT_ARGS(r->envelope.field[ENVELOPE_QUEUE]));
	else if (r->client.connection)
		request_fail(r, EX_UNAVAILABLE, "no answer from the broker within %.3g s", seconds);
	else
		request_fail(r, EX_UNAVAILABLE, "no connection to the broker within %.3g s%s%s",
			seconds, *why ? ": " : "", why);
}

/* Before there is a connection, so it may block. */
static int request_read_body(struct request *r)
{
	ssize_t got = -1;
	do {
		uint8_t *space = buf_reserve(&r->input, PIECE);
		errno = EFBIG;
		got = space ? read(STDIN_FILENO, space, PIECE) : -1;
		if (got > 0)
			buf_commit(&r->input, (size_t)got);
	} while (got > 0 || (got < 0 && errno == EINTR));
	if (got < 0) {
		console_problem(COMMAND, "cannot read standard input: %s", strerror(errno));
		return EX_IOERR;
	}
	r->body = buf_len(&r->input) > 0 ? buf_text(&r->input) : TEXT("");
	return -1;
}

/* -1: continue; else the exit code. */
static int handle_option(struct request *r, int option)
{
	const char *problem;
	switch (option) {
	case BROKER:
		r->broker = optarg;
		return -1;
	case QUEUE:
		problem = envelope_set(&r->options, ENVELOPE_QUEUE, text_from(optarg));
		return problem ? cli_bad_value(COMMAND, "--queue", optarg, problem) : -1;
	case HEADER:
		problem = envelope_add_header(&r->options, text_from(optarg));
		return problem ? cli_bad_value(COMMAND, "--header", optarg, problem) : -1;
	case WAIT:
		return cli_read_duration(COMMAND, "--wait", &r->wait);
	case RAW:
		r->is_raw = true;
		return -1;
	case LINES:
		r->is_lines = true;
		return -1;
	case HELP:
		fputs(help, stdout);
		return EX_OK;
	default:
		return EX_USAGE;
	}
}

static int read_options(struct request *r, int argc, char **argv)
{
	int option, exit_code = -1;
	while (exit_code < 0 && (option = cli_next_option(COMMAND, ":", argc, argv, options)) != -1)
		exit_code = handle_option(r, option);
	if (exit_code >= 0)
		return exit_code;
	if (r->is_lines)
		return argc == optind
			       ? -1
			       : cli_problem(COMMAND, "--lines takes no BODY: it is in the lines");
	if (!r->options.field[ENVELOPE_QUEUE].ptr)
		return cli_problem(COMMAND, "--queue NAME is missing");
	if (argc - optind != 1)
		return cli_problem(COMMAND, "one BODY is needed, %d are given", argc - optind);
	r->body = text_from(argv[optind]);
	return strcmp(argv[optind], "-") == 0 ? request_read_body(r) : -1;
}

static int request_run(struct request *r)
{
	static char *const standard_input[] = {NULL};
	/* The limit of the request comes first, and has its own message. Lines wait for the broker
	 * for ever. */
	mtime wait = r->is_lines ? 0 : mtime_after(r->wait, MTIME_SECOND);
	int exit_code = broker_client_init(&r->client, COMMAND, r->broker, wait, &handler, r);
	if (exit_code != EX_OK)
		return exit_code;
	r->exit_code = -1;
	ev_init(&r->limit, on_limit);
	r->limit.data = r;
	if (r->is_lines) {
		input_init(&r->lines, r->client.loop, standard_input, true);
	} else {
		request_prepare(r);
		request_begin(r);
	}
	broker_client_run(&r->client);
	exit_code = broker_client_verdict(&r->client, COMMAND);
	if (exit_code != EX_OK)
		return exit_code;
	return r->exit_code >= 0 ? r->exit_code : EX_TEMPFAIL;
}

int request_main(int argc, char **argv)
{
	struct request r = {.wait = WAIT_DEFAULT};
	envelope_init(&r.options);
	envelope_init(&r.envelope);
	buf_init(&r.input, BODY_LIMIT);
	int exit_code = read_options(&r, argc, argv);
	if (exit_code < 0)
		exit_code = request_run(&r);
	input_release(&r.lines);
	broker_client_release(&r.client);
	request_line_release(&r.line);
	envelope_release(&r.options);
	envelope_release(&r.envelope);
	buf_release(&r.input);
	return exit_code;
}
