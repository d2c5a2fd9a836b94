/* `wpool dead-letters`: list, show, replay, drop what a pool has given up. */
#include "cli/dead_letters.h"

#include "cli/commands.h"
#include "cli/usage.h"
#include "config/quantity.h"

#include <stdio.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#define COMMAND          DEAD_LETTERS_COMMAND
#define WAIT_DEFAULT     (10 * MTIME_SECOND)
#define SHORT_STRING_MAX 255
#define SUFFIX           ".dead"

static const char help[] =
	"usage: wpool dead-letters list|show|replay|drop --queue NAME [OPTION]...\n"
	"\n"
	"What the pool of a queue has given up, in NAME.dead.\n"
	"  list     one line for each message; all stay in place\n"
	"  show     each in full: properties, headers, body; all stay in place\n"
	"  replay   sends each back to the queue where it was given up (x-wpool-queue, or else the\n"
	"           latest x-death of the broker), its attempts begun anew,\n"
	"           and takes it off the dead letters when the broker has confirmed it\n"
	"  drop     takes them off for good; asks first\n"
	"\n"
	"  --queue NAME           the pool's queue\n"
	"  --dead-letters NAME    where its dead letters are, if not in NAME.dead\n"
	"  --match HEADER=VALUE   only those where a header (x-wpool-reason, say) has this text;\n"
	"                         message_id and correlation_id count as headers; may be "
	"repeated:\n"
	"                         all must hold\n"
	"  --limit N              at most N that match, the oldest first\n"
	"  --to QUEUE             replay: to this queue instead\n"
	"  --yes                  drop: do not ask; without a terminal it is needed\n"
	"  --json                 one JSON object\n"
	"  --broker URL           amqp:// or amqps:// address; several, separated by commas\n"
	"  --wait DURATION        how long to be without the broker, or without a message it says\n"
	"                         it has, before giving up; default 10s\n"
	"  --help                 this text\n"
	"\n"
	"Without --broker the environment tells: AMQP_URL, or RABBITMQ_HOSTNAME and its like.\n"
	"Interrupting a replay loses nothing: run again it goes on; at worst a message is there\n"
	"twice. Reading hands every message back, which a quorum queue counts: a dead-letter queue\n"
	"of your own should have no delivery limit.\n"
	"Exit status: 0 done, 64 usage, or a message that says no queue to go to, 69 broker or\n"
	"queue not there, 74 output failed, 75 interrupted, connection lost, or not all done,\n"
	"77 refused, 78 the environment's broker address is wrong.\n";

enum flag { BROKER = 256, QUEUE, DEAD_LETTERS, MATCH, LIMIT, TO, YES, JSON, WAIT, HELP };

static const struct option options[] = {
	{"broker", required_argument, NULL, BROKER},
	{"queue", required_argument, NULL, QUEUE},
	{"dead-letters", required_argument, NULL, DEAD_LETTERS},
	{"match", required_argument, NULL, MATCH},
	{"limit", required_argument, NULL, LIMIT},
	{"to", required_argument, NULL, TO},
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
	const char *queue, *dead; /* the options */
	char name[SHORT_STRING_MAX + 1];
};

static int take_match(struct command *c)
{
	const char *problem = matches_add(&c->what.matches, optarg);
	return problem ? usage_bad_value(COMMAND, "--match", optarg, problem) : -1;
}

static int take_limit(struct command *c)
{
	int64_t number;
	if (!quantity_read_integer(text_from(optarg), &number) || number < 1)
		return usage_bad_value(COMMAND, "--limit", optarg, "is no number from 1");
	c->what.limit = (uint64_t)number;
	return -1;
}

/* -1: go on; else the exit code. */
static int take_option(struct command *c, int option)
{
	switch (option) {
	case BROKER:
		c->what.broker = optarg;
		return -1;
	case QUEUE:
		c->queue = optarg;
		return -1;
	case DEAD_LETTERS:
		c->dead = optarg;
		return -1;
	case MATCH:
		return take_match(c);
	case LIMIT:
		return take_limit(c);
	case TO:
		c->what.to = text_from(optarg);
		return -1;
	case YES:
		c->what.yes = true;
		return -1;
	case JSON:
		c->what.json = true;
		return -1;
	case WAIT:
		if (quantity_read_duration(text_from(optarg), &c->what.wait) && c->what.wait > 0)
			return -1;
		return usage_bad_value(COMMAND, "--wait", optarg, "is no duration such as 10s");
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
		return usage_problem(COMMAND, "one of list, show, replay, drop is needed");
	for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++) {
		if (strcmp(argv[optind], verbs[i].name) == 0)
			c->verb = &verbs[i];
	}
	if (!c->verb)
		return usage_bad_value(
			COMMAND, "word", argv[optind], "is none of list, show, replay, drop");
	if (argc - optind > 1)
		return usage_problem(COMMAND, "unexpected \"%s\"%s%s%s", argv[optind + 1],
			c->queue ? "" : "; did you mean --queue ", c->queue ? "" : argv[optind + 1],
			c->queue ? "" : "?");
	return -1;
}

static int find_queue(struct command *c)
{
	int len = 0;
	if (!c->queue && !c->dead)
		return usage_problem(COMMAND, "--queue NAME is missing");
	len = c->dead ? snprintf(c->name, sizeof c->name, "%s", c->dead)
		      : snprintf(c->name, sizeof c->name, "%s" SUFFIX, c->queue);
	if (len > SHORT_STRING_MAX)
		return usage_problem(COMMAND, "the dead letters' queue has over 255 bytes");
	if (len == 0 || (c->queue && !*c->queue))
		return usage_problem(COMMAND, "the queue's name is empty");
	c->what.queue = text_of(c->name, (size_t)len);
	c->what.is_foreign = c->dead != NULL;
	return -1;
}

static int check(const struct command *c)
{
	if (c->what.to.ptr && c->verb->run != dead_letters_replay)
		return usage_problem(COMMAND, "--to goes with replay");
	if (c->what.to.ptr && c->what.to.len == 0)
		return usage_problem(COMMAND, "--to is empty");
	if (c->what.to.len > SHORT_STRING_MAX)
		return usage_problem(COMMAND, "--to is over 255 bytes");
	if (c->what.yes && c->verb->run != dead_letters_drop)
		return usage_problem(COMMAND, "--yes goes with drop");
	if (c->verb->run == dead_letters_drop && !c->what.yes &&
		!(isatty(STDIN_FILENO) && isatty(STDERR_FILENO)))
		return usage_problem(COMMAND, "there is no terminal to ask on: --yes is needed");
	return -1;
}

bool dead_letters_flush(void)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return true;
	perror("wpool " COMMAND ": standard output");
	return false;
}

int dead_letters_main(int argc, char **argv)
{
	struct command c = {.what = {.limit = UINT64_MAX, .wait = WAIT_DEFAULT}};
	int option, exit_code = -1;
	while (exit_code < 0 &&
		(option = usage_next_option(COMMAND, ":", argc, argv, options)) != -1)
		exit_code = take_option(&c, option);
	if (exit_code < 0)
		exit_code = find_verb(&c, argc, argv);
	if (exit_code < 0)
		exit_code = find_queue(&c);
	if (exit_code < 0)
		exit_code = check(&c);
	return exit_code < 0 ? c.verb->run(&c.what) : exit_code;
}
