/* `wpool dead-letters`: list, show, replay or drop the tasks that a pool has given up. */
#include "dead_letters/dead_letters.h"

#include "api/fingerprint.h"
#include "commands.h"
#include "config/dead_letter.h"
#include "config/value/quantity.h"
#include "dead_letters/find_broker.h"
#include "tty/cli_options.h"
#include "tty/console.h"

#include <stdio.h>
#include <string.h>
#include <sysexits.h>

#define COMMAND          DEAD_LETTERS_COMMAND
#define WAIT_DEFAULT     (10 * MTIME_SECOND)
#define SHORT_STRING_MAX 255
#define BROKER_LINE_MAX  (64 * 1024)

static const char help[] =
	"usage: wpool dead-letters list|show|replay|drop --queue NAME [OPTION]...\n"
	"\n"
	"The tasks that the pool of a queue has given up, in NAME.dead.\n"
	"  list     one line for each message; all stay in the queue\n"
	"  show     each in full: properties, headers, body; all stay in the queue\n"
	"  replay   publish each to the queue NAME, with no attempts counted, and remove it from\n"
	"           the dead letters when the broker has confirmed it; one that names another\n"
	"           queue (by x-wpool-queue, or else the latest x-death) stays; without\n"
	"           --match and --limit it asks first on a terminal\n"
	"  drop     remove them for good; asks first\n"
	"\n"
	"  --queue NAME           the pool's queue\n"
	"  --dead-letters NAME    the queue of its dead letters, if not NAME.dead\n"
	"  --match HEADER=VALUE   only those where a header (such as x-wpool-reason) has this text;\n"
	"                         message_id and correlation_id count as headers; may be\n"
	"                         repeated: all must match\n"
	"  --column HEADER        list: a column with this header of the messages, too\n"
	"  --fingerprint HEX      only the message that list --json shows with this fingerprint\n"
	"  --limit N              at most N that match, oldest first\n"
	"  --skip N               list, show: leave out the first N that match\n"
	"  --to QUEUE             replay: publish all to this queue instead\n"
	"  --by-header            replay: publish each to the queue that it names; any\n"
	"                         publisher may have written that name\n"
	"  --yes                  replay, drop: do not ask; drop requires it without a terminal\n"
	"  --json                 one JSON object\n"
	"  --broker URL           amqp:// or amqps:// address; several, separated by commas;\n"
	"                         -: the first line of standard input\n"
	"  --config FILE          the broker of this configuration, as wpool serve has it\n"
	"  --wait DURATION        give up after so long without the broker, or without a message\n"
	"                         that the queue should have; default 10s\n"
	"  --help                 this text\n"
	"\n"
	"Without --broker and --config the address comes from AMQP_URL, or RABBITMQ_HOSTNAME and\n"
	"the others; without these from the configuration of the supervisor that wpool status\n"
	"shows, if it has a file. With WPOOL_PASSWORD_FILE the password is in that file. A\n"
	"configuration also says where the pool's dead letters are.\n"
	"An interrupted replay loses nothing: run it again. At worst a message is in its queue\n"
	"twice. Reading hands every message back, which a quorum queue counts: a dead-letter queue\n"
	"of your own should have no delivery limit.\n"
	"Exit status: 0 done, 64 usage, or a message names another queue or with --by-header none,\n"
	"69 no broker or no queue, 74 output failed, 75 interrupted, connection lost, or not all done,\n"
	"77 refused, 78 the configuration or the environment's broker address is wrong.\n";

enum flag {
	BROKER = 256,
	CONFIG,
	QUEUE,
	DEAD_LETTERS,
	MATCH,
	COLUMN,
	FINGERPRINT,
	LIMIT,
	SKIP,
	TO,
	BY_HEADER,
	YES,
	JSON,
	WAIT,
	HELP
};

static const struct option options[] = {
	{"broker", required_argument, NULL, BROKER},
	{"config", required_argument, NULL, CONFIG},
	{"queue", required_argument, NULL, QUEUE},
	{"dead-letters", required_argument, NULL, DEAD_LETTERS},
	{"match", required_argument, NULL, MATCH},
	{"column", required_argument, NULL, COLUMN},
	{"fingerprint", required_argument, NULL, FINGERPRINT},
	{"limit", required_argument, NULL, LIMIT},
	{"skip", required_argument, NULL, SKIP},
	{"to", required_argument, NULL, TO},
	{"by-header", no_argument, NULL, BY_HEADER},
	{"yes", no_argument, NULL, YES},
	{"json", no_argument, NULL, JSON},
	{"wait", required_argument, NULL, WAIT},
	{"help", no_argument, NULL, HELP},
	{NULL, 0, NULL, 0},
};

static const struct verb {
	const char *name;
	int (*run)(const struct dead_letters *);
} verbs[] = {
	{"list", dead_letters_list},
	{"show", dead_letters_show},
	{"replay", dead_letters_replay},
	{"drop", dead_letters_drop},
};

struct command {
	struct dead_letters what;
	const struct verb *verb;
	const char *queue, *dead, *config; /* the options */
	struct found_broker found;
	char name[SHORT_STRING_MAX + 1];
};

/* An address on the command line is in the process list until it is overwritten; standard input
 * never is. */
static int read_broker(struct command *c)
{
	static char line[BROKER_LINE_MAX];

	if (!fgets(line, sizeof line, stdin) || !strchr(line, '\n'))
		return cli_problem(
			COMMAND, "--broker -: standard input has no line with an address");
	*strchr(line, '\n') = '\0';
	c->what.broker = line;
	return -1;
}

static int read_count(const char *option, int64_t min, uint64_t *ret)
{
	int64_t number;

	if (!quantity_read_integer(text_from(optarg), &number) || number < min)
		return cli_bad_value(COMMAND, option, optarg,
			min ? "is not a number from 1" : "is not a number from 0");
	*ret = (uint64_t)number;
	return -1;
}

/* -1: continue; else the exit code. */
static int handle_option(struct command *c, int option)
{
	const char *problem;
	switch (option) {
	case BROKER:
		c->what.broker = optarg;
		return strcmp(optarg, "-") == 0 ? read_broker(c) : -1;
	case CONFIG:
		c->config = optarg;
		return -1;
	case QUEUE:
		c->queue = optarg;
		return -1;
	case DEAD_LETTERS:
		c->dead = optarg;
		return -1;
	case MATCH:
		problem = matches_add(&c->what.matches, optarg);
		return problem ? cli_bad_value(COMMAND, "--match", optarg, problem) : -1;
	case COLUMN:
		c->what.column = optarg;
		return -1;
	case LIMIT:
		return read_count("--limit", 1, &c->what.limit);
	case SKIP:
		return read_count("--skip", 0, &c->what.skip);
	case FINGERPRINT:
		c->what.matches.fingerprint = text_from(optarg);
		return fingerprint_is_valid(c->what.matches.fingerprint)
			       ? -1
			       : cli_bad_value(COMMAND, "--fingerprint", optarg, FINGERPRINT_RULE);
	case TO:
		c->what.replay.to = text_from(optarg);
		return -1;
	case BY_HEADER:
		c->what.replay.by_header = true;
		return -1;
	case YES:
		c->what.yes = true;
		return -1;
	case JSON:
		c->what.json = true;
		return -1;
	case WAIT:
		return cli_read_duration(COMMAND, "--wait", &c->what.wait);
	case HELP:
		fputs(help, stdout);
		return EX_OK;
	default:
		return EX_USAGE;
	}
}

static int find_verb(struct command *c, int argc, char **argv)
{
	if (argc == optind)
		return cli_problem(COMMAND, "one of list, show, replay, drop is needed");
	for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++) {
		if (strcmp(argv[optind], verbs[i].name) == 0)
			c->verb = &verbs[i];
	}
	if (!c->verb)
		return cli_bad_value(
			COMMAND, "word", argv[optind], "is none of list, show, replay, drop");
	if (argc - optind > 1)
		return cli_problem(COMMAND, "unexpected \"%s\"%s%s%s", argv[optind + 1],
			c->queue ? "" : "; did you mean --queue ", c->queue ? "" : argv[optind + 1],
			c->queue ? "" : "?");
	return -1;
}

static int find_queue(struct command *c)
{
	int len = 0;
	if (!c->queue && !c->dead)
		return cli_problem(COMMAND, "--queue NAME is missing");
	len = c->dead ? snprintf(c->name, sizeof c->name, "%s", c->dead)
		      : snprintf(c->name, sizeof c->name, "%s" DEAD_LETTER_SUFFIX, c->queue);
	if (len > SHORT_STRING_MAX)
		return cli_problem(COMMAND, "the dead letters' queue has over 255 bytes");
	if (len == 0 || (c->queue && !*c->queue))
		return cli_problem(COMMAND, "the queue's name is empty");
	c->what.queue = text_of(c->name, (size_t)len);
	c->what.is_foreign = c->dead != NULL;
	c->what.replay.queue = text_from(c->queue);
	return -1;
}

static int check_options(const struct command *c)
{
	const struct replay_request *replay = &c->what.replay;
	bool is_replay = c->verb->run == dead_letters_replay;
	if (c->what.broker && c->config)
		return cli_problem(COMMAND, "--broker and --config exclude each other");
	if (replay->to.ptr && !is_replay)
		return cli_problem(COMMAND, "--to goes with replay");
	if (replay->by_header && !is_replay)
		return cli_problem(COMMAND, "--by-header goes with replay");
	if (replay->to.ptr && replay->by_header)
		return cli_problem(COMMAND, "--to and --by-header exclude each other");
	if (replay->to.ptr && replay->to.len == 0)
		return cli_problem(COMMAND, "--to is empty");
	if (replay->to.len > SHORT_STRING_MAX)
		return cli_problem(COMMAND, "--to is over 255 bytes");
	if (replay->queue.len > SHORT_STRING_MAX)
		return cli_problem(COMMAND, "the queue's name is over 255 bytes");
	if (is_replay && !c->queue && !replay->to.ptr && !replay->by_header)
		return cli_problem(COMMAND, "replay needs --queue NAME, --to QUEUE or --by-header");
	if (c->what.skip > 0 && c->verb->run != dead_letters_list &&
		c->verb->run != dead_letters_show)
		return cli_problem(COMMAND, "--skip goes with list and show");
	if (c->what.column && (c->verb->run != dead_letters_list || c->what.json))
		return cli_problem(COMMAND, "--column goes with list, without --json");
	if (c->what.yes && !is_replay && c->verb->run != dead_letters_drop)
		return cli_problem(COMMAND, "--yes goes with replay and drop");
	if (c->verb->run == dead_letters_drop && !c->what.yes && !console_can_ask())
		return cli_problem(COMMAND, "there is no terminal to ask on: --yes is needed");
	return -1;
}

static int run_verb(struct command *c)
{
	int exit_code;
	if (c->what.broker)
		return c->verb->run(&c->what);
	exit_code = find_broker(c->config, c->queue, &c->found);
	if (buf_len(&c->found.addresses) > 0)
		c->what.broker = buf_text(&c->found.addresses).ptr;
	if (exit_code < 0 && !c->dead && c->found.dead_letters) {
		c->dead = c->found.dead_letters;
		exit_code = find_queue(c);
	}
	if (exit_code < 0)
		exit_code = c->verb->run(&c->what);
	found_broker_release(&c->found);
	return exit_code;
}

int dead_letters_main(int argc, char **argv)
{
	struct command c = {.what = {.limit = UINT64_MAX, .wait = WAIT_DEFAULT}};
	int option, exit_code = -1;
	while (exit_code < 0 && (option = cli_next_option(COMMAND, ":", argc, argv, options)) != -1)
		exit_code = handle_option(&c, option);
	if (exit_code < 0)
		exit_code = find_verb(&c, argc, argv);
	if (exit_code < 0)
		exit_code = find_queue(&c);
	if (exit_code < 0)
		exit_code = check_options(&c);
	if (c.what.limit <= UINT64_MAX - c.what.skip)
		c.what.limit += c.what.skip;
	return exit_code < 0 ? run_verb(&c) : exit_code;
}
