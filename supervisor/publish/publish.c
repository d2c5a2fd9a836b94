/* `wpool publish`: messages from files or lines to one queue, each confirmed. */
#include "commands.h"
#include "publish/sender.h"
#include "publish/session_keys.h"
#include "tty/cli_options.h"
#include "tty/console.h"

#include "os/clock.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#define COMMAND       "publish"
#define WAIT_DEFAULT  (10 * MTIME_SECOND)
#define DRAW_INTERVAL 0.1 /* seconds */

static const char help[] =
	"usage: wpool publish --queue NAME [OPTION]... [FILE]...\n"
	"       wpool publish --exchange NAME [--routing-key KEY] [OPTION]... [FILE]...\n"
	"       wpool publish --sessions POOL --where EXPR [OPTION]... [FILE]...\n"
	"\n"
	"Publish each FILE as one message, persistent and mandatory, and wait until the broker has\n"
	"confirmed them all. Without FILE, or for -, read standard input.\n"
	"\n"
	"  --queue NAME         the queue, through the default exchange\n"
	"  --exchange NAME      the exchange, in place of --queue\n"
	"  --routing-key KEY    the routing key for the exchange; default empty\n"
	"  --lines              one message for each line instead of each file\n"
	"  --header KEY=VALUE   a header, as text; may be repeated, each with another KEY\n"
	"  --reply-to QUEUE     the queue for a reply\n"
	"  --correlation-id ID  identifies the reply\n"
	"  --message-id ID      the id of the message, of which there is only one; default: each has\n"
	"                       an id of its own\n"
	"  --type TYPE          the type of the message\n"
	"  --content-type TYPE  the type of the body, such as application/json\n"
	"  --priority N         0 to 255; quorum queues have two: 5 and above goes first\n"
	"  --expiration DURATION\n"
	"                       the broker drops the message if it has waited so long in a queue\n"
	"  --delay DURATION     no worker of a wpool serve begins it before so long after it was\n"
	"                       published, up to 365d: the header NotBefore\n"
	"  --rate N             at most N messages a second\n"
	"  --session KEY        the session: messages with the same key run one at a time, in order\n"
	"  --session-key PLACE  where the key goes, as in the pool's session.key: header:NAME or\n"
	"                       property:NAME; default header:session\n"
	"  --sessions POOL      each message to each session of this pool of a running wpool serve\n"
	"                       that matches --where; queue and place of the key are the pool's\n"
	"  --where EXPR         as in wpool sessions: state=idle key^=acme-\n"
	"  --socket PATH        the supervisor's control socket, for --sessions; without it\n"
	"                       WPOOL_CONTROL_SOCKET, else the default paths\n"
	"  --high               before the other messages of its session: priority 5\n"
	"  --broker URL         amqp:// or amqps:// address; several, separated by commas\n"
	"  --wait DURATION      give up after so long without the broker; default 10s\n"
	"  --json               print the counts at the end as a JSON object\n"
	"  --help               this text\n"
	"\n"
	"Without --broker the address comes from AMQP_URL, or RABBITMQ_HOSTNAME and the others.\n"
	"With WPOOL_PASSWORD_FILE the password is in that file.\n"
	"Messages that were unconfirmed when a connection broke are published again, with the\n"
	"same message_id.\n"
	"Exit status: 0 all confirmed, 64 usage, 65 no such pool or session, 66 no such file,\n"
	"69 no broker, queue or supervisor, 74 input or output failed, 75 refused or interrupted,\n"
	"77 login refused.\n";

enum flag {
	BROKER = 256,
	QUEUE,
	HEADER,
	REPLY_TO,
	CORRELATION_ID,
	EXCHANGE,
	ROUTING_KEY,
	MESSAGE_ID,
	TYPE,
	CONTENT_TYPE,
	PRIORITY,
	EXPIRATION,
	DELAY,
	RATE,
	SESSION,
	SESSION_KEY,
	SESSIONS,
	WHERE,
	SOCKET,
	HIGH,
	LINES,
	WAIT,
	JSON,
	HELP
};

static const struct option options[] = {
	{"broker", required_argument, NULL, BROKER},
	{"queue", required_argument, NULL, QUEUE},
	{"header", required_argument, NULL, HEADER},
	{"reply-to", required_argument, NULL, REPLY_TO},
	{"correlation-id", required_argument, NULL, CORRELATION_ID},
	{"exchange", required_argument, NULL, EXCHANGE},
	{"routing-key", required_argument, NULL, ROUTING_KEY},
	{"message-id", required_argument, NULL, MESSAGE_ID},
	{"type", required_argument, NULL, TYPE},
	{"content-type", required_argument, NULL, CONTENT_TYPE},
	{"priority", required_argument, NULL, PRIORITY},
	{"expiration", required_argument, NULL, EXPIRATION},
	{"delay", required_argument, NULL, DELAY},
	{"rate", required_argument, NULL, RATE},
	{"session", required_argument, NULL, SESSION},
	{"session-key", required_argument, NULL, SESSION_KEY},
	{"sessions", required_argument, NULL, SESSIONS},
	{"where", required_argument, NULL, WHERE},
	{"socket", required_argument, NULL, SOCKET},
	{"high", no_argument, NULL, HIGH},
	{"lines", no_argument, NULL, LINES},
	{"wait", required_argument, NULL, WAIT},
	{"json", no_argument, NULL, JSON},
	{"help", no_argument, NULL, HELP},
	{NULL, 0, NULL, 0},
};

struct publish {
	struct sender sender;
	const char *broker;
	char *session; /* NULL: none */
	const char *pool, *where, *socket;
	bool has_session_key;
	struct session_keys keys; /* of pool */
	mtime wait;
	bool lines, json;
	ev_timer draw;
};

static void on_draw(struct ev_loop *loop, ev_timer *watcher, int events)
{
	(void)loop, (void)events;
	struct publish *p = watcher->data;
	const struct sender *s = &p->sender;
	publish_summary_draw(&s->summary, s->input.taken, s->input.total, clock_now());
}

static int set_field(struct publish *p, enum envelope_field field, const char *option)
{
	const char *problem = envelope_set(&p->sender.envelope, field, text_from(optarg));
	return problem ? cli_bad_value(COMMAND, option, optarg, problem) : -1;
}

static int set_expiration(struct publish *p)
{
	mtime span;
	int exit_code = cli_read_duration(COMMAND, "--expiration", &span);
	if (exit_code >= 0)
		return exit_code;
	const char *problem = envelope_set_expiration(&p->sender.envelope, span / MTIME_MS);
	return problem ? cli_bad_value(COMMAND, "--expiration", optarg, problem) : -1;
}

static int set_delay(struct publish *p)
{
	mtime span;
	int exit_code = cli_read_duration(COMMAND, "--delay", &span);
	if (exit_code >= 0)
		return exit_code;
	const char *problem = envelope_set_delay(&p->sender.envelope, span / MTIME_MS);
	return problem ? cli_bad_value(COMMAND, "--delay", optarg, problem) : -1;
}

static int set_rate(struct publish *p)
{
	uint64_t rate;
	if (!text_read_decimal(text_from(optarg), RATE_MAX, &rate) || rate == 0)
		return cli_bad_value(
			COMMAND, "--rate", optarg, "is no number of messages a second, from 1 on");
	sender_limit_rate(&p->sender, (int64_t)rate);
	return -1;
}

/* Options whose values become a part of each message. -1: continue; else the exit code. */
static int handle_envelope_option(struct publish *p, int option)
{
	const char *problem;
	switch (option) {
	case QUEUE:
		return set_field(p, ENVELOPE_QUEUE, "--queue");
	case EXCHANGE:
		return set_field(p, ENVELOPE_EXCHANGE, "--exchange");
	case ROUTING_KEY:
		return set_field(p, ENVELOPE_ROUTING_KEY, "--routing-key");
	case REPLY_TO:
		return set_field(p, ENVELOPE_REPLY_TO, "--reply-to");
	case CORRELATION_ID:
		return set_field(p, ENVELOPE_CORRELATION_ID, "--correlation-id");
	case MESSAGE_ID:
		return set_field(p, ENVELOPE_MESSAGE_ID, "--message-id");
	case TYPE:
		return set_field(p, ENVELOPE_TYPE, "--type");
	case CONTENT_TYPE:
		return set_field(p, ENVELOPE_CONTENT_TYPE, "--content-type");
	case PRIORITY:
		problem = envelope_set_priority(&p->sender.envelope, text_from(optarg));
		return problem ? cli_bad_value(COMMAND, "--priority", optarg, problem) : -1;
	case EXPIRATION:
		return set_expiration(p);
	case DELAY:
		return set_delay(p);
	case HEADER:
		problem = envelope_add_header(&p->sender.envelope, text_from(optarg));
		return problem ? cli_bad_value(COMMAND, "--header", optarg, problem) : -1;
	default:
		return EX_USAGE;
	}
}

/* -1: continue; else the exit code. */
static int handle_option(struct publish *p, int option)
{
	const char *problem;
	switch (option) {
	case BROKER:
		p->broker = optarg;
		return -1;
	case RATE:
		return set_rate(p);
	case SESSION:
		p->session = optarg;
		return -1;
	case SESSION_KEY:
		p->has_session_key = true;
		problem = envelope_set_session_key(&p->sender.envelope, optarg);
		return problem ? cli_bad_value(COMMAND, "--session-key", optarg, problem) : -1;
	case SESSIONS:
		p->pool = optarg;
		return -1;
	case WHERE:
		p->where = optarg;
		return -1;
	case SOCKET:
		p->socket = optarg;
		return *optarg ? -1 : cli_problem(COMMAND, "--socket is empty");
	case HIGH:
		p->sender.envelope.is_high = true;
		return -1;
	case LINES:
		p->lines = true;
		return -1;
	case WAIT:
		return cli_read_duration(COMMAND, "--wait", &p->wait);
	case JSON:
		p->json = true;
		return -1;
	case HELP:
		fputs(help, stdout);
		return EX_OK;
	default:
		return handle_envelope_option(p, option);
	}
}

/* -1: continue; else the exit code. */
static int set_session(struct publish *p)
{
	if (!p->session && p->has_session_key)
		return cli_problem(COMMAND, "--session-key is the place for the KEY of --session");
	if (!p->session)
		return -1;
	const char *problem = envelope_set_session(&p->sender.envelope, text_from(p->session));
	return problem ? cli_bad_value(COMMAND, "--session", p->session, problem) : -1;
}

/* Ask the supervisor where messages to these sessions go. -1: continue; else the exit code. */
static int find_sessions(struct publish *p)
{
	struct envelope *envelope = &p->sender.envelope;
	const char *problem;
	int exit_code;
	if (!p->pool != !p->where)
		return cli_problem(COMMAND, "--sessions and --where need each other");
	if (!p->pool)
		return -1;
	if (p->session || envelope->field[ENVELOPE_QUEUE].ptr ||
		envelope->field[ENVELOPE_EXCHANGE].ptr)
		return cli_problem(
			COMMAND, "--sessions takes the place of --session, --queue and --exchange");
	exit_code = session_keys_read(&p->keys, COMMAND, p->socket, p->pool, p->where);
	if (exit_code != EX_OK)
		return exit_code;
	envelope->field[ENVELOPE_QUEUE] = text_from(p->keys.queue);
	envelope->session = p->keys.longest; /* for the check of the properties' size */
	p->sender.sessions = p->keys.list;
	p->sender.session_count = p->keys.count;
	problem = envelope_set_session_key(envelope, p->keys.place);
	return problem ? cli_problem(COMMAND, "session.key of %s, %s, %s", p->pool, p->keys.place,
				 problem)
		       : -1;
}

/* files: their number. -1: continue; else the exit code. */
static int check_envelope(const struct publish *p, int files)
{
	const struct envelope *e = &p->sender.envelope;
	if (!e->field[ENVELOPE_QUEUE].ptr && !e->field[ENVELOPE_EXCHANGE].ptr)
		return cli_problem(COMMAND, "--queue NAME or --exchange NAME is missing");
	if (e->field[ENVELOPE_MESSAGE_ID].ptr && (p->lines || p->pool || files > 1))
		return cli_problem(COMMAND,
			"--message-id is for one message: of one file, without --lines and "
			"--sessions");
	const char *problem = envelope_problem(e);
	return problem ? cli_problem(COMMAND, "%s", problem) : -1;
}

static int read_options(struct publish *p, int argc, char **argv)
{
	int option, exit_code = -1;
	while (exit_code < 0 && (option = cli_next_option(COMMAND, ":", argc, argv, options)) != -1)
		exit_code = handle_option(p, option);
	if (exit_code < 0)
		exit_code = set_session(p);
	if (exit_code < 0)
		exit_code = find_sessions(p);
	if (exit_code >= 0)
		return exit_code;
	exit_code = check_envelope(p, argc - optind);
	if (exit_code >= 0)
		return exit_code;
	char *file = input_unreadable(argv + optind);
	if (!file)
		return -1;
	const char *why = strerror(errno);
	broker_url_hide_password(file); /* --broker may have been forgotten before it */
	console_problem(COMMAND, "cannot read %s: %s", file, why);
	return EX_NOINPUT;
}

/* What to look at after a return. */
static void print_route(const struct envelope *e)
{
	if (e->field[ENVELOPE_QUEUE].ptr)
		console_print(stderr, " (does the queue %.*s exist?)",
			TEXT_ARGS(e->field[ENVELOPE_QUEUE]));
	else
		console_print(stderr, " (no queue is bound to the exchange %.*s for this message)",
			TEXT_ARGS(e->field[ENVELOPE_EXCHANGE]));
}

static int publish_verdict(const struct publish *p)
{
	const struct sender *s = &p->sender;
	const struct publish_summary *t = &s->summary;
	int exit_code = broker_client_verdict(&s->client, COMMAND);

	if (*s->refusal && !publish_summary_is_clean(t)) {
		console_print(
			stderr, "wpool " COMMAND ": the broker refused a message: %s", s->refusal);
		if (t->returned > 0)
			print_route(&s->envelope);
		fputc('\n', stderr);
	}
	if (!publish_summary_print(t, p->json, clock_now()))
		return EX_IOERR;
	if (exit_code != EX_OK)
		return exit_code;
	if (s->exit_code)
		return s->exit_code;
	if (publish_summary_is_clean(t))
		return EX_OK;
	return t->returned > 0 ? EX_UNAVAILABLE : EX_TEMPFAIL;
}

static int publish_run(struct publish *p, char *const *files)
{
	struct sender *s = &p->sender;
	bool is_drawing = isatty(STDERR_FILENO);
	int exit_code = sender_open(s, COMMAND, p->broker, p->wait, files, p->lines);

	if (exit_code != EX_OK)
		return exit_code;
	ev_timer_init(&p->draw, on_draw, DRAW_INTERVAL, DRAW_INTERVAL);
	p->draw.data = p;
	if (is_drawing)
		ev_timer_start(s->client.loop, &p->draw);
	broker_client_run(&s->client);
	if (is_drawing)
		publish_summary_erase();
	return publish_verdict(p);
}

int publish_main(int argc, char **argv)
{
	struct publish p = {.wait = WAIT_DEFAULT};
	sender_init(&p.sender);
	int exit_code = read_options(&p, argc, argv);
	if (exit_code < 0)
		exit_code = publish_run(&p, argv + optind);
	sender_release(&p.sender);
	session_keys_release(&p.keys);
	return exit_code;
}
