/* `wpool pause`, `resume`, `restart`, `scale`: what operators ask of pools. */
#include "cli/commands.h"
#include "cli/figures.h"
#include "cli/inquiry.h"
#include "cli/usage.h"

#include "config/config.h"
#include "config/quantity.h"

#include <stdio.h>
#include <string.h>
#include <sysexits.h>

#define PATH_ROOM 96
#define EXITS     "Exit status: 0 done, 64 usage, 75 refused, " INQUIRY_EXITS_POOL "\n"

static const char pause_help[] =
	"usage: wpool pause [OPTION]... [POOL]\n"
	"\n"
	"A pool, or all: takes no message and begins no task until it is resumed; what workers\n"
	"have is finished, what waits goes back to the broker after a minute.\n"
	"\n" INQUIRY_OPTIONS "\n" EXITS;

static const char resume_help[] = "usage: wpool resume [OPTION]... [POOL]\n"
				  "\n"
				  "The end of a pause.\n"
				  "\n" INQUIRY_OPTIONS "\n" EXITS;

static const char restart_help[] =
	"usage: wpool restart [OPTION]... [POOL]\n"
	"\n"
	"Replaces the workers of a pool, or of all, one by one: a new one is ready before an old\n"
	"one leaves, and no task is interrupted. Where new ones come to nothing, the old ones\n"
	"stay, and the log says so. Returns when it has begun.\n"
	"\n" INQUIRY_OPTIONS "\n" EXITS;

static const char scale_help[] =
	"usage: wpool scale [OPTION]... POOL N|MIN..MAX|auto\n"
	"\n"
	"So many workers from now on, whatever there is to do; or as many as are needed, from MIN\n"
	"to MAX; or, with auto, as configured. Holds until another number is configured, or the\n"
	"supervisor ends. Those that are too many leave when they have nothing in hand.\n"
	"\n" INQUIRY_OPTIONS "\n" EXITS;

struct verb {
	const char *name, *help, *done;
	bool is_of_one; /* a pool must be named, and a number behind it */
};

static const struct verb verbs[] = {
	{"pause", pause_help, "paused", false},
	{"resume", resume_help, "resumed", false},
	{"restart", restart_help, "restarting, one by one", false},
	{"scale", scale_help, "workers wanted", true},
};

/* -1: go on; else the exit code. */
static int make_path(const struct verb *verb, const struct inquiry *q, char path[PATH_ROOM])
{
	int64_t least, most;

	if (!verb->is_of_one) {
		snprintf(path, PATH_ROOM, q->pool ? "/v1/pools/*/%s" : "/v1/%s", verb->name);
		return -1;
	}
	if (!q->pool || !q->number)
		return usage_problem(verb->name, "POOL and N are needed");
	if (strcmp(q->number, "auto") != 0 &&
		(!quantity_read_range(text_from(q->number), &least, &most) || least < 1 ||
			most > CONFIG_WORKERS_MAX))
		return usage_problem(verb->name,
			"'%s' is no number from 1 to %d, no MIN..MAX, and not auto", q->number,
			CONFIG_WORKERS_MAX);
	snprintf(path, PATH_ROOM, "/v1/pools/*/%s?workers=%s", verb->name, q->number);
	return -1;
}

static void print_one(const struct verb *verb, const json_t *pool)
{
	char wanted[FIGURE_ROOM];

	printf("%.*s: ", TEXT_ARGS(figure_text(pool, "name")));
	if (verb->is_of_one)
		printf("%.*s ", TEXT_ARGS(figure_number(pool, "workers.wanted", wanted)));
	puts(verb->done);
}

static int print(const struct verb *verb, const struct inquiry *q, const char *path)
{
	json_t *answer, *pool;
	size_t i;
	int exit_code = inquiry_ask_json(q, path, &answer);

	if (exit_code != EX_OK)
		return exit_code;
	json_array_foreach(json_object_get(answer, "pools"), i, pool) print_one(verb, pool);
	json_decref(answer);
	return inquiry_flush(q);
}

int steer_main(int argc, char **argv)
{
	const struct verb *verb = verbs;
	struct inquiry q = {.method = "POST", .takes_pool = true};
	char path[PATH_ROOM];
	int exit_code;

	while (strcmp(verb->name, argv[0]) != 0) /* main.c knows the same names */
		verb++;
	q.command = verb->name;
	q.help = verb->help;
	q.takes_number = verb->is_of_one;
	exit_code = inquiry_read_options(&q, argc, argv);
	if (exit_code < 0)
		exit_code = make_path(verb, &q, path);
	if (exit_code >= 0)
		return exit_code;
	return q.json ? inquiry_print(&q, path) : print(verb, &q, path);
}
