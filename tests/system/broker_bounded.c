/* A broker takes no more memory than the settings allow: if it ignores the prefetch, its channel is
 * closed with 406, and the pool consumes again; if it asks without end and does not read the
 * answers, its connection ends. Both are logged. */
#include "harness/command.h"
#include "harness/rude_broker.h"
#include "system/system.h"

#include <stdio.h>
#include <string.h>

#define KIB 1024

/* What the broker sends, what is configured, and what is said of it. Without a limit it would send
 * so many MiB to each consumer. */
#define FLOOD_MIB 400
/* The supervisor itself, and in each row 19 messages or 18 MiB, with those on their way. */
#define PEAK_MAX_MIB 80
static const struct {
	int size;
	const char *prefetch, *memory, *log, *code;
} rows[] = {
	{1000000, "2", "64MiB", "the broker delivered more than it was asked for of queue ",
		"channel closed: 406 PRECONDITION_FAILED - 19 messages of "},
	{10, "2", "64MiB", "the broker delivered more than it was asked for of queue ",
		"channel closed: 406 PRECONDITION_FAILED - 19 messages of "},
	/* by its bytes, or by their number if the pool has asked for less meanwhile */
	{1000000, "1000", "1MiB", "; its channel is closed with 406, and the pool consumes again",
		"channel closed: 406 PRECONDITION_FAILED - 1"},
};

/* The largest resident size that the process ever had (VmHWM of proc(5)), in KiB. */
static long peak_memory(pid_t pid)
{
	char path[64], line[256];
	long peak = -1;
	snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
	FILE *file = fopen(path, "r");
	ck_assert_ptr_nonnull(file);
	while (peak < 0 && fgets(line, sizeof line, file))
		sscanf(line, "VmHWM: %ld kB", &peak);
	fclose(file);
	ck_assert_int_gt(peak, 0);
	return peak;
}

static struct proc *start_rogue(int size, char *url, size_t url_size)
{
	char size_text[16], total[16];
	int port;
	snprintf(size_text, sizeof size_text, "%d", size);
	snprintf(total, sizeof total, "%d", FLOOD_MIB * KIB * KIB);
	struct proc *rogue = proc_start(fixture.folder,
		(const char *const[]){"/usr/bin/python3", "tests/harness/rogue_broker.py",
			size_text, total, NULL},
		NULL);
	proc_expect(rogue, "port ");
	char *said = proc_stderr(rogue);
	ck_assert_int_eq(sscanf(said, "port %d;", &port), 1);
	free(said);
	snprintf(url, url_size, "amqp://guest:guest@127.0.0.1:%d/", port);
	return rogue;
}

START_TEST(broker_that_ignores_prefetch_is_bounded)
{
	char url[64];
	struct proc *rogue = start_rogue(rows[_i].size, url, sizeof url);
	char *path = scratch_path(fixture.folder, "rogue.yaml");
	char *text = scratch_text("broker: {url: \"%s\"}\npools:\n"
				  "- {queue: q, command: [\"%s\"], workers: 1, pipeline: 1, "
				  "prefetch: %s, memory: %s}\n",
		url, fixture_built("workers/echo"), rows[_i].prefetch, rows[_i].memory);
	scratch_write(path, text);
	struct proc *serve = fixture_wpool(
		(const char *const[]){"serve", "--config", path, "--log-format", "text", NULL});
	proc_expect(serve, rows[_i].log);
	proc_expect(rogue, rows[_i].code);
	proc_expect(rogue, "consumer "); /* and again */
	proc_expect(rogue, "channel closed: 406");
	proc_expect(rogue, "consumer ");
	long peak = peak_memory(proc_pid(serve));
	ck_assert_msg(peak < PEAK_MAX_MIB * KIB, "%ld KiB", peak);
	ck_assert(proc_is_alive(serve));
	proc_free(rogue);
	free(text);
	free(path);
}
END_TEST

START_TEST(broker_that_asks_without_end_is_bounded)
{
	static const char said[] = "the peer does not read the answers to its requests, 4096 are "
				   "unsent";
	struct rude_broker *rude = rude_broker_start(RUDE_ASKS, "", 0);
	const char *const options[] = {"--broker", rude_broker_url(rude), "--workers", "1", NULL};
	struct proc *serve =
		fixture_serve(options, (const char *const[]){fixture_built("workers/echo"), NULL});
	proc_expect(serve, said);
	long peak = peak_memory(proc_pid(serve));
	ck_assert_msg(peak < PEAK_MAX_MIB * KIB, "%ld KiB", peak);
	fixture_stop(serve);
	rude_broker_free(rude);
}
END_TEST

int main(void)
{
	return SYSTEM_RUN("broker bounded",
		{broker_that_ignores_prefetch_is_bounded, sizeof rows / sizeof *rows},
		{broker_that_asks_without_end_is_bounded, 1});
}
