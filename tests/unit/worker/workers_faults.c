/* Workers that break the protocol, die, or leave others behind; and memory that is short. Each in
 * every form of pipe: the kernel tells them apart. */
#include "unit/support/process/child.h"
#include "unit/support/worker/workers_rig.h"

#include <errno.h>

static const enum pipe_form forms[] = {PIPE_PATH, PIPE_FIFO, PIPE_COREFX};
#define FORMS (int)(sizeof forms / sizeof *forms)

/* How many of the next large requests for memory fail. AddressSanitizer wants malloc for itself. */
#ifndef __SANITIZE_ADDRESS__
static int no_memory;
extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);

static bool is_refused(size_t size)
{
	if (no_memory == 0 || size < 4096)
		return false;
	no_memory--;
	errno = ENOMEM;
	return true;
}

void *malloc(size_t size)
{
	return is_refused(size) ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
	return is_refused(count * size) ? NULL : __libc_calloc(count, size);
}

void *realloc(void *old, size_t size)
{
	return is_refused(size) ? NULL : __libc_realloc(old, size);
}
#endif

static void start(
	struct workers_rig *rig, enum pipe_form form, const char *behaviour, uint16_t workers)
{
	workers_rig_open(rig, form, behaviour, workers);
	for (uint16_t i = 0; i < workers; i++)
		workers_request(rig->workers, i, 1, SLOT_SPAWN);
}

/* ---------- protocol errors ---------- */

static const struct {
	const char *behaviour;
	int answers; /* good ones before it */
	const char *what;
	uint64_t task_id;
	const char *detail; /* its beginning */
} broken[] = {
	{"half", 0, "closed its pipe in the middle of a frame", 0,
		"5 of the 10 bytes of a frame came: 00 00 00 06 81"},
	{"closes", 0, "closed its pipe", 0, ""},
	{"huge", 0, "a frame over max_frame", 0, "7f ff ff ff is 2147483647, max_frame is "},
	{"zero", 0, "a frame of no length", 0, "00 00 00 00"},
	{"garbage", 1, NULL /* the decoder's words */, 0, "2 bytes: 81 c1"},
	{"blames", 1, "an unknown status", 5, "199"},
};
#define BROKEN (int)(sizeof broken / sizeof *broken)

static void expect_detail(const struct workers_rig *rig, const char *detail)
{
	const char *came = rig->pool->detail;
	ck_assert_msg(strncmp(came, detail, strlen(detail)) == 0, "%s", came);
	ck_assert_int_eq(*came == 0, *detail == 0);
}

static void expect_broken(
	struct workers_rig *rig, const char *what, uint64_t task_id, const char *detail)
{
	const struct event *event = workers_rig_expect(rig, SLOT_BROKEN);
	ck_assert_ptr_nonnull(event->slot.what);
	if (what)
		ck_assert_str_eq(event->slot.what, what);
	ck_assert_uint_eq(event->slot.task_id, task_id);
	expect_detail(rig, detail);
}

static void expect_end_by_kill(struct workers_rig *rig)
{
	workers_request(rig->workers, 0, 1, SLOT_KILL);
	workers_rig_expect_gone(rig, EXIT_SIGNAL, SIGKILL);
	workers_rig_close(rig);
}

/* A closed pipe: no task is given to it any more, before anybody knows whether it lives. */
static void skip_no_space(struct workers_rig *rig)
{
	size_t at = workers_rig_next(rig);
	if (rig->pool->events[at].kind == SLOT_WRITABLE)
		ck_assert(!rig->pool->events[at].slot.is_writable);
	else
		rig->pool->seen--;
}

/* The next event, if it is of this kind. */
static void skip(struct workers_rig *rig, enum event_kind kind)
{
	size_t at = workers_rig_next(rig);
	if (rig->pool->events[at].kind != kind)
		rig->pool->seen--;
}

START_TEST(a_protocol_error_is_reported)
{
	struct workers_rig rig;
	int at = _i / FORMS;
	start(&rig, forms[_i % FORMS], broken[at].behaviour, 1);
	workers_rig_expect(&rig, SLOT_READY);
	for (int i = 0; i < broken[at].answers; i++)
		workers_rig_expect_status(&rig, STATUS_DONE);
	skip_no_space(&rig);
	expect_broken(&rig, broken[at].what, broken[at].task_id, broken[at].detail);
	ck_assert_int_eq(workers_rig_send(&rig, 0, 100), SEND_OK); /* to nobody */
	expect_end_by_kill(&rig);
}
END_TEST

/* It reads no more: known by the next task, but only after all that it said was read. */
START_TEST(answers_are_read_before_a_closed_pipe_is_reported)
{
	struct workers_rig rig;
	start(&rig, forms[_i], "deaf", 1);
	workers_rig_expect(&rig, SLOT_READY);
	ck_assert_int_eq(workers_rig_send(&rig, 0, 100), SEND_OK);
	workers_rig_expect_status(&rig, STATUS_DONE);
	ck_assert_int_eq(workers_rig_send(&rig, 0, 100), SEND_OK);
	skip_no_space(&rig);
	expect_broken(&rig, "closed its pipe", 0, "");
	expect_end_by_kill(&rig);
}
END_TEST

/* ---------- floods ---------- */

static int lines_in(const char *log)
{
	int lines = 0;
	while ((log = strchr(log, '\n'))) {
		lines++;
		log++;
	}
	return lines;
}

/* Some microseconds a line: a turn's worth of them is a few milliseconds. */
START_TEST(a_worker_that_logs_much_does_not_block_the_loop)
{
	struct workers_rig rig;
	int before = 0, max = 0;
	start(&rig, PIPE_PATH, "babbles", 1);
	workers_rig_expect(&rig, SLOT_READY);
	ck_assert_int_eq(workers_rig_send(&rig, 0, 1), SEND_OK);
	while (!strstr(workers_rig_log(&rig), "enough")) {
		workers_rig_turn(&rig);
		int now = lines_in(workers_rig_log(&rig));
		max = now - before > max ? now - before : max;
		before = now;
	}
	ck_assert_int_ge(before, 8000);
	ck_assert_int_le(max, 2000);
	workers_rig_close(&rig);
}
END_TEST

/* ---------- deaths ---------- */

/* What it answered stands, and no closed pipe is told where there was a death. */
START_TEST(answers_before_an_exit_count)
{
	struct workers_rig rig;
	start(&rig, forms[_i], "answers", 1);
	workers_rig_expect(&rig, SLOT_READY);
	ck_assert_int_eq(workers_rig_send(&rig, 0, 10), SEND_OK);
	workers_rig_expect_status(&rig, STATUS_DONE);
	workers_rig_expect_status(&rig, STATUS_DONE);
	workers_rig_expect_status(&rig, STATUS_DONE);
	skip_no_space(&rig);
	workers_rig_expect_gone(&rig, EXIT_STATUS, 7);
	ck_assert_ptr_nonnull(strstr(workers_rig_log(&rig), "last words"));
	workers_rig_close(&rig);
}
END_TEST

START_TEST(an_exit_in_the_middle_of_a_frame_is_no_protocol_error)
{
	struct workers_rig rig;
	start(&rig, forms[_i], "half-exit", 1);
	workers_rig_expect(&rig, SLOT_READY);
	ck_assert_int_eq(workers_rig_send(&rig, 0, 10), SEND_OK);
	workers_rig_expect_status(&rig, STATUS_DONE);
	skip_no_space(&rig);
	workers_rig_expect_gone(&rig, EXIT_STATUS, 5);
	expect_detail(&rig, "5 of the 10 bytes of a frame came: 00 00 00 06 81");
	workers_rig_close(&rig);
}
END_TEST

/* Children of it hold pipe and logs open and write for ever: one of its group, which is killed, one
 * that got away, whose words are not waited for. */
START_TEST(descendants_do_not_delay_the_end_of_a_worker)
{
	struct workers_rig rig;
	start(&rig, forms[_i], "brood", 1);
	workers_rig_expect(&rig, SLOT_READY);
	ck_assert_int_eq(workers_rig_send(&rig, 0, 10), SEND_OK);
	workers_rig_expect_status(&rig, STATUS_DONE);
	skip_no_space(&rig);
	workers_rig_expect_gone(&rig, EXIT_STATUS, 0);
	workers_rig_close(&rig);
}
END_TEST

START_TEST(a_worker_may_be_killed_at_any_moment)
{
	struct workers_rig rig;
	start(&rig, forms[_i % FORMS], "echo", 1);
	for (uint32_t life = 1; life < 20; life++) {
		if (life % 2)
			workers_rig_expect(&rig, SLOT_READY);
		workers_request(rig.workers, 0, life, SLOT_KILL);
		skip(&rig, SLOT_READY); /* it came just before */
		skip_no_space(&rig);
		workers_rig_expect_gone(&rig, EXIT_SIGNAL, SIGKILL);
		workers_request(rig.workers, 0, life + 1, SLOT_SPAWN);
	}
	workers_rig_close(&rig);
}
END_TEST

/* ---------- memory ---------- */
#ifndef __SANITIZE_ADDRESS__

/* Frames that were read already wait where they are, and other workers wait with them. */
START_TEST(frames_wait_while_memory_is_short)
{
	enum { WORKERS = 3 };
	struct workers_rig rig;
	int notes[WORKERS] = {0}, told = 0;
	start(&rig, forms[_i], "large", WORKERS);
	workers_rig_expect(&rig, SLOT_READY);
	no_memory = 20;
	while (told < WORKERS) {
		const struct event *event = &rig.pool->events[workers_rig_next(&rig)];
		if (event->kind == SLOT_READY)
			continue;
		ck_assert_int_eq(event->kind, SLOT_OUTPUT);
		notes[event->slot.slot]++;
		told++;
	}
	ck_assert_int_eq(no_memory, 0);
	for (int i = 0; i < WORKERS; i++)
		ck_assert_int_eq(notes[i], 1);
	workers_rig_close(&rig);
}
END_TEST

START_TEST(a_task_without_memory_can_be_sent_again)
{
	struct workers_rig rig;
	start(&rig, forms[_i], "echo", 1);
	workers_rig_expect(&rig, SLOT_READY);
	struct delivery *delivery = workers_rig_delivery(10000);
	no_memory = 1;
	ck_assert_int_eq(workers_send(rig.workers, 0, delivery, 1), SEND_NO_MEMORY);
	ck_assert_int_eq(workers_send(rig.workers, 0, delivery, 1), SEND_OK);
	delivery_free(delivery);
	workers_rig_expect_status(&rig, STATUS_DONE);
	workers_rig_close(&rig);
}
END_TEST
#endif

static Suite *suite(void)
{
	Suite *s = suite_create("worker/workers_faults");
	TCase *each = tcase_create("each form");
	tcase_add_loop_test(each, a_protocol_error_is_reported, 0, BROKEN * FORMS);
	tcase_add_loop_test(each, answers_are_read_before_a_closed_pipe_is_reported, 0, FORMS);
	tcase_add_loop_test(each, answers_before_an_exit_count, 0, FORMS);
	tcase_add_loop_test(each, an_exit_in_the_middle_of_a_frame_is_no_protocol_error, 0, FORMS);
	tcase_add_loop_test(each, descendants_do_not_delay_the_end_of_a_worker, 0, FORMS);
	tcase_add_loop_test(each, a_worker_may_be_killed_at_any_moment, 0, FORMS);
#ifndef __SANITIZE_ADDRESS__
	tcase_add_loop_test(each, frames_wait_while_memory_is_short, 0, FORMS);
	tcase_add_loop_test(each, a_task_without_memory_can_be_sent_again, 0, FORMS);
#endif
	suite_add_tcase(s, each);
	UNIT_CASE(s, "floods", a_worker_that_logs_much_does_not_block_the_loop);
	return s;
}

CHILD_MAIN(suite)
