/* The simulator: `sim [--seeds N] [--seed FIRST] [--step N] [--jobs N] [--cover] [--trace]
 * [--without a,b]
 * [--messages N] [--rounds N] [--supervisors N] [--pools N] [--workers N]`. A run that fails is
 * printed with the smallest one that still fails in the same way and the command that replays it.
 */
#include "sim/batch.h"
#include "sim/fail.h"
#include "sim/shrink.h"
#include "sim/world.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WRONG_USAGE     64
#define SEEDS_FOR_COVER 10000 /* in so many all is seen, or it is a failure */

struct options {
	struct batch batch;
	bool trace, cover;
};

static const struct option long_options[] = {{"seeds", required_argument, NULL, 'n'},
	{"seed", required_argument, NULL, 's'}, {"step", required_argument, NULL, 'e'},
	{"jobs", required_argument, NULL, 'j'}, {"without", required_argument, NULL, 'w'},
	{"messages", required_argument, NULL, 'm'}, {"rounds", required_argument, NULL, 'r'},
	{"supervisors", required_argument, NULL, 'S'}, {"pools", required_argument, NULL, 'P'},
	{"workers", required_argument, NULL, 'W'}, {"cover", no_argument, NULL, 'c'},
	{"trace", no_argument, NULL, 't'}, {NULL, 0, NULL, 0}};

static bool add_without(struct settings *settings, char *list)
{
	static const char *const names[] = {
#define X(trouble, name) name,
		TROUBLES(X)
#undef X
	};

	for (char *name = strtok(list, ","); name; name = strtok(NULL, ",")) {
		unsigned i = 0;

		while (i < TROUBLE_COUNT && strcmp(names[i], name) != 0)
			i++;
		if (i == TROUBLE_COUNT) {
			fprintf(stderr, "simulator: no trouble is called \"%s\"\n", name);
			return false;
		}
		settings->without |= UINT64_C(1) << i;
	}
	return true;
}

static uint32_t at_least_one(const char *digits)
{
	uint32_t number = (uint32_t)strtoul(digits, NULL, 10);

	return number ? number : 1;
}

static bool take_option(struct options *options, int option)
{
	struct settings *settings = &options->batch.settings;

	switch (option) {
	case 'n':
		options->batch.count = strtoull(optarg, NULL, 10);
		return true;
	case 's':
		options->batch.first = strtoull(optarg, NULL, 10);
		return true;
	case 'e':
		options->batch.step = at_least_one(optarg);
		return true;
	case 'j':
		options->batch.jobs = at_least_one(optarg);
		return true;
	case 'w':
		return add_without(settings, optarg);
	case 'm':
		settings->messages = at_least_one(optarg);
		return true;
	case 'r':
		settings->rounds = at_least_one(optarg);
		return true;
	case 'S':
		settings->supervisors = at_least_one(optarg);
		return true;
	case 'P':
		settings->pools = at_least_one(optarg);
		return true;
	case 'W':
		settings->workers = at_least_one(optarg);
		return true;
	case 'c':
		return options->cover = true;
	case 't':
		return options->trace = true;
	default:
		return false;
	}
}

static void print_failure(const struct failure *failure)
{
	struct failure smallest;

	printf("simulator: seed %llu failed: %s\nreplay: ", (unsigned long long)failure->seed,
		failure->words);
	shrink_print_command(failure);
	fflush(stdout);
	smallest = shrink_failure(failure);
	printf("\nThe smallest run that still fails: %s\n", smallest.words);
	batch_print_trace(&smallest);
	printf("replay: ");
	shrink_print_command(&smallest);
}

static int run_batch(const struct options *options)
{
	static struct cover cover;
	struct failure failure = {0};
	bool counts = options->batch.count >= SEEDS_FOR_COVER && options->batch.step == 1;
	unsigned wrong;

	if (!batch_run(&options->batch, &cover, &failure)) {
		print_failure(&failure);
		return EXIT_FAILURE;
	}
	wrong = cover_report(&cover, options->cover, counts || options->cover);
	printf("simulator: %llu passed, 0 failed\n", (unsigned long long)options->batch.count);
	return wrong && counts ? EXIT_FAILURE : EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
	long cores = sysconf(_SC_NPROCESSORS_ONLN);
	struct options options = {.batch = {.first = 1,
					  .count = 1,
					  .step = 1,
					  .jobs = cores > 0 ? (unsigned)cores : 1,
					  .settings = {0, UINT32_MAX, UINT32_MAX, UINT32_MAX,
						  UINT32_MAX, UINT32_MAX}}};
	int option;

	while ((option = getopt_long(argc, argv, "", long_options, NULL)) != -1)
		if (!take_option(&options, option))
			return WRONG_USAGE;
	if (!options.trace)
		return run_batch(&options);
	sim_is_traced = true;
	world_run(options.batch.first, &options.batch.settings);
	printf("simulator: 1 passed, 0 failed\n");
	return EXIT_SUCCESS;
}
