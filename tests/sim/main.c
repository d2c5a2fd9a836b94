/* The simulator: `sim --seeds N [--seed FIRST] [--trace]`. A seed that fails is printed with the
 * command that replays it. */
#include "sim/fail.h"
#include "sim/world.h"

#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static uint64_t seed;
static struct settings settings = {0, UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX};
static bool is_traced;

void sim_fail(const char *format, ...)
{
	va_list arguments;

	fflush(stdout);
	fprintf(stderr, "seed %llu: ", (unsigned long long)seed);
	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fprintf(stderr, "\nreplay: make sim SEED=%llu\n", (unsigned long long)seed);
	abort();
}

void sim_trace(const char *format, ...)
{
	va_list arguments;

	if (!is_traced)
		return;
	va_start(arguments, format);
	vprintf(format, arguments);
	va_end(arguments);
	putchar('\n');
}

static void on_abort_hint(void)
{
	if (seed)
		fprintf(stderr, "replay: make sim SEED=%llu\n", (unsigned long long)seed);
}

int main(int argc, char **argv)
{
	static const struct option options[] = {{"seeds", required_argument, NULL, 'n'},
		{"seed", required_argument, NULL, 's'}, {"trace", no_argument, NULL, 't'},
		{NULL, 0, NULL, 0}};
	unsigned long long count = 1, first = 1;
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option == 'n')
			count = strtoull(optarg, NULL, 10);
		else if (option == 's')
			first = strtoull(optarg, NULL, 10);
		else if (option == 't')
			is_traced = true;
		else
			return 64;
	}
	atexit(on_abort_hint);
	for (seed = first; seed < first + count; seed++) {
		if (count > 1 && isatty(STDERR_FILENO) && seed % 100 == 0)
			fprintf(stderr, "\rsimulator: %llu of %llu seeds",
				(unsigned long long)(seed - first), count);
		world_run(seed, &settings);
	}
	seed = 0;
	printf("simulator: %llu passed, 0 failed\n", count);
	return 0;
}
