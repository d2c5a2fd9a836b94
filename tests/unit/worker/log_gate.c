/* What is too much is dropped, counted and told, in time. */
#include "worker/log_gate.h"
#include "base/log_ring.h"
#include "os/clock.h"
#include "os/loop.h"
#include "unit/unit.h"

#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct log_origin worker = {.pool = "p", .slot = 1, .pid = 7, .stream = "stdout"};

static void tell(struct log_gate *gate, int count)
{
	struct log_worker_line line = log_worker_line(TEXT("x"), false);
	for (int i = 0; i < count; i++)
		log_gate_log(gate, worker, &line);
}

/* Of the lines that were kept: those of workers, and what those that are ours say was dropped. */
static void count_kept(uint64_t *ret_lines, uint64_t *ret_dropped)
{
	struct log_cursor at = log_ring_begin(log_kept_lines());
	struct log_record record;
	uint64_t missed = 0;
	*ret_lines = *ret_dropped = 0;
	while (log_ring_next(log_kept_lines(), &at, &record, &missed)) {
		char words[300];
		unsigned long long dropped;
		snprintf(words, sizeof words, "%.*s", TEXT_ARGS(record.line));
		const char *msg = strstr(words, "\"msg\":\"");
		if (sscanf(msg, "\"msg\":\"%llu lines of workers were dropped", &dropped) == 1)
			*ret_dropped += dropped;
		else
			++*ret_lines;
	}
	ck_assert_uint_eq(missed, 0);
}

static void on_end(struct ev_loop *loop, struct ev_timer *timer, int events)
{
	(void)timer;
	(void)events;
	ev_break(loop, EVBREAK_ALL);
}

START_TEST(lines_over_the_rate_are_dropped_and_counted)
{
	struct ev_loop *loop = loop_default();
	struct log_gate gate;
	struct log_rate rate = {.lines = 100, .bytes = RATE_MAX};
	uint64_t lines, dropped;
	log_setup(-1, LOG_INFO, LOG_JSON, false);
	ck_assert(log_keep_lines(1024 * 1024));
	log_gate_init(&gate, loop, "p", &rate);
	tell(&gate, 1000);
	ck_assert_uint_eq(gate.passed + gate.dropped, 1000);
	ck_assert_uint_ge(gate.passed, 100);
	count_kept(&lines, &dropped);
	ck_assert_uint_eq(lines, gate.passed);
	ck_assert_uint_eq(dropped, 0); /* not at once: there may be more */
	struct ev_timer end;
	ev_timer_init(&end, on_end, 1.5, 0);
	ev_timer_start(loop, &end);
	ev_run(loop, 0);
	count_kept(&lines, &dropped);
	ck_assert_uint_eq(dropped, gate.dropped);
	tell(&gate, 1000);
	log_gate_release(&gate);
	count_kept(&lines, &dropped);
	ck_assert_uint_eq(lines, gate.passed);
	ck_assert_uint_eq(dropped, gate.dropped);
	ck_assert_uint_eq(lines + dropped, 2000);
	log_keep_lines(0);
}
END_TEST

#define LARGE 15900 /* bytes of ESC: six times as many in JSON */

/* Lines count with their size in the log, in either format: with the size of a second in the bucket
 * no more than that and one line is written at once. */
START_TEST(bytes_over_the_rate_are_dropped_and_counted)
{
	static char escapes[LARGE];
	static const enum log_format formats[] = {LOG_JSON, LOG_TEXT};
	const struct log_rate rate = {.lines = RATE_MAX, .bytes = 1 << 20};
	struct log_gate gate;
	struct stat st;
	mtime begin = clock_now(), span;
	int fd = memfd_create("log", MFD_CLOEXEC);
	memset(escapes, '\x1b', sizeof escapes);
	struct log_worker_line line = log_worker_line(text_of(escapes, sizeof escapes), false);
	log_setup(fd, LOG_INFO, formats[_i], false);
	log_gate_init(&gate, loop_default(), "p", &rate);
	for (int i = 0; i < 200; i++)
		log_gate_log(&gate, worker, &line);
	ck_assert_uint_eq(gate.passed + gate.dropped, 200);
	ck_assert_uint_gt(gate.passed, 0);
	ck_assert_int_eq(fstat(fd, &st), 0);
	ck_assert_uint_eq(gate.passed_bytes, (uint64_t)st.st_size);
	span = clock_now() - begin; /* as long as it took: usually far less than a second */
	ck_assert_uint_le(gate.passed_bytes,
		(uint64_t)(rate.bytes + span * rate.bytes / MTIME_SECOND) + LOG_LINE_MAX);
	log_gate_release(&gate);
	close(fd);
}
END_TEST

/* What the level hides is no loss. */
START_TEST(lines_below_the_log_level_are_not_counted)
{
	struct log_gate gate;
	struct log_rate rate = {.lines = 1, .bytes = RATE_MAX};
	log_setup(-1, LOG_WARN, LOG_JSON, false);
	log_gate_init(&gate, loop_default(), "p", &rate);
	tell(&gate, 1000);
	ck_assert_uint_eq(gate.passed + gate.dropped, 0);
	log_gate_release(&gate);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("worker/log_gate");
	TCase *bytes = tcase_create("bytes");
	tcase_add_loop_test(bytes, bytes_over_the_rate_are_dropped_and_counted, 0, 2);
	suite_add_tcase(s, bytes);
	UNIT_CASE(s, "gate", lines_over_the_rate_are_dropped_and_counted,
		lines_below_the_log_level_are_not_counted);
	return s;
}

UNIT_MAIN(suite)
