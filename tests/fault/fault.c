#include "fault/fault.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

/* What a test of check may take, less what the row itself does not count (fixture_exit_passed). */
#define CHECK_MAX_S 2000
/* wpool waits only when it has tried all of them. */
#define PROXY_HOSTS 64

static const struct fault *fault; /* the program's one row */
static uint64_t seed, random_state;
static int64_t end_of_time; /* 0: none */
static int64_t whole_ms;    /* from the start to it */

static long number_of(const char *name, long fallback)
{
	const char *value = getenv(name);
	return value && *value ? atol(value) : fallback;
}

static const char *text_of(const char *name)
{
	const char *value = getenv(name);
	return value ? value : "";
}

static bool is_full(void)
{
	return *text_of("FULL") != 0;
}

struct proc *fault_serve(const char *format, ...)
{
	char *settings = NULL;
	va_list arguments;
	va_start(arguments, format);
	ck_assert_int_ge(vasprintf(&settings, format, arguments), 0);
	va_end(arguments);
	char *pool = scratch_text("- {queue: %s, command: [\"%s\"], %s}\n", fixture.queue,
		fixture_built("workers/echo"), settings);
	struct proc *proc = fixture_serve_pools(pool);
	client_expect_consumers(fixture.client, fixture.queue, 1);
	free(pool);
	free(settings);
	return proc;
}

struct proc *fault_serve_pool_by_proxy(int port, const char *query, const char *pool)
{
	char *urls = strdup(""), *path = scratch_path(fixture.folder, "proxied.yaml");
	for (int i = 0; i < PROXY_HOSTS; i++) {
		char *more = scratch_text("%s%s\"amqp://guest:guest@127.0.0.1:%d/%%2f%s\"", urls,
			i ? ", " : "", port, query);
		free(urls);
		urls = more;
	}
	char *config = scratch_text("broker: {url: [%s]}\npools:\n%s", urls, pool);
	scratch_write(path, config);
	const char *const arguments[] = {"serve", "--config", path, "--log-format", "text", NULL};
	struct proc *proc = fixture_wpool(arguments);
	free(urls);
	free(config);
	free(path);
	return proc;
}

struct proc *fault_serve_by_proxy(int port, const char *query, const char *settings)
{
	char *pool = scratch_text("- {queue: %s, command: [\"%s\"], %s}\n", fixture.queue,
		fixture_built("workers/echo"), settings);
	struct proc *proc = fault_serve_pool_by_proxy(port, query, pool);
	free(pool);
	return proc;
}

/* Of several programs that share the trials (tests/fault/run), the first ones have one more. */
long fault_trials(void)
{
	long all = number_of("N", is_full() ? fault->full : fault->few);
	long parts = number_of("PARTS", 1), part = number_of("PART", 1);
	return all / parts + (part <= all % parts);
}

bool fault_next(struct tally *tally)
{
	if (tally->trials >= fault_trials())
		return false;
	if (end_of_time && tally->trials > 0 && deadline_left(end_of_time) == 0)
		return false;
	tally->trials++;
	return true;
}

int fault_take(struct tally *tally, long max)
{
	int part = 0;
	while (part < max && fault_next(tally))
		part++;
	return part;
}

double fault_share(const struct tally *tally)
{
	double trials = (double)tally->trials / (double)fault_trials();
	double time = end_of_time ? 1 - (double)deadline_left(end_of_time) / (double)whole_ms : 0;
	return trials > time ? trials : time;
}

/* xorshift64*, Vigna 2016. */
uint32_t fault_random(void)
{
	random_state ^= random_state >> 12;
	random_state ^= random_state << 25;
	random_state ^= random_state >> 27;
	return (uint32_t)((random_state * 0x2545F4914F6CDD1DU) >> 32);
}

long fault_random_below(long bound)
{
	ck_assert_int_gt(bound, 0);
	return (long)(fault_random() % (uint64_t)bound);
}

/* ---------- results ---------- */

static void print_line(const struct tally *tally)
{
	FILE *table = fopen(text_of("WPOOL_FAULT_TABLE"), "a");
	if (!table)
		return; /* started by hand: the summary on stdout is enough */
	fprintf(table, "%3d  %-34s %7ld %-9s %8ld %8ld %7ld %4ld %6.1f/%-5.1f %+6ld KiB  %s\n",
		fault->row, fault->name, tally->trials, tally->unit, tally->asked, tally->done,
		tally->repeats, tally->lost, tally->longest_ms, tally->computing_ms,
		tally->drift_kib, tally->note);
	fclose(table);
}

static char *broker_version(void)
{
	char *answer = broker_eval(fixture.broker, "rabbit_misc:version()");
	char *text = strchr(answer, '"');
	char *version = strndup(text ? text + 1 : "", text ? strcspn(text + 1, "\"") : 0);
	free(answer);
	return version;
}

/* One line of JSON for the kept results. Names and notes are ours: nothing in them needs quoting.
 */
static void keep(const struct tally *tally, double seconds)
{
	const char *path = text_of("WPOOL_FAULT_RESULTS");
	FILE *file = *path ? fopen(path, "a") : NULL;
	char *version = broker_version(), when[32];
	struct utsname machine;
	time_t now = time(NULL);
	if (!file) {
		free(version);
		return;
	}
	uname(&machine);
	strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%SZ", gmtime(&now));
	fprintf(file,
		"{\"row\":%d,\"fault\":\"%s\",\"broker\":\"%s\",\"trials\":%ld,\"unit\":\"%s\","
		"\"asked\":%ld,\"done\":%ld,\"repeats\":%ld,\"lost\":%ld,\"longest_turn_ms\":%.1f,"
		"\"of_it_computing_ms\":%.1f,\"memory_drift_kib\":%ld,\"note\":\"%s\",\"full\":%s,"
		"\"seed\":%llu,\"seconds\":%.0f,\"date\":\"%s\",\"commit\":\"%s\",\"machine\":"
		"\"%s %s, %ld CPUs\"}\n",
		fault->row, fault->name, version, tally->trials, tally->unit, tally->asked,
		tally->done, tally->repeats, tally->lost, tally->longest_ms, tally->computing_ms,
		tally->drift_kib, tally->note, is_full() ? "true" : "false",
		(unsigned long long)seed, seconds, when, text_of("WPOOL_FAULT_COMMIT"),
		machine.sysname, machine.machine, sysconf(_SC_NPROCESSORS_ONLN));
	fclose(file);
	free(version);
}

/* ---------- the run ---------- */

static void start_time_and_chance(void)
{
	long seconds = number_of("T", 0);
	whole_ms = seconds * 1000;
	end_of_time = seconds ? deadline_in((int)whole_ms) : 0;
	seed = (uint64_t)number_of("SEED", (long)time(NULL));
	random_state = seed * 0x9E3779B97F4A7C15U + 1;
}

START_TEST(the_row_is_clean)
{
	struct tally tally = {.unit = "trials"};
	int64_t begun = deadline_now_ms();
	start_time_and_chance();
	fprintf(stderr, "SEED=%llu\n", (unsigned long long)seed);
	fault->run(&tally);
	double seconds = (double)(deadline_now_ms() - begun) / 1000;
	ck_assert_int_eq(tally.lost, 0);
	ck_assert_int_eq(tally.done, tally.asked);
	print_line(&tally);
	keep(&tally, seconds);
	if (seconds > CHECK_MAX_S)
		fixture_exit_passed();
}
END_TEST

int fault_main(const struct fault *row)
{
	fault = row;
	return fixture_run_suite(
		row->name, (const struct fixture_test[]){{the_row_is_clean, 1}, {NULL, 0}});
}
