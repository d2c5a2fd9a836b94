#include "check_worker/subject_internal.h"

#include "base/utf8.h"
#include "os/clock.h"
#include "os/descriptors.h"
#include "os/proc_stat.h"
#include "process/descendants.h"
#include "process/spawn.h"
#include "runtime/report/texts.h"

#include <linux/sockios.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* A worker may wait for several bytes before it reads one. */
#define BYTE_MOMENT (20 * MTIME_MS)
#define READ_MOMENT (200 * MTIME_MS)

/* How long a worker that does not send all has for its exit. */
#define LATE_MOMENT (500 * MTIME_MS)

/* Half of what a FIFO holds; a socket holds more. */
#define FULL_BYTES (32 * 1024)

/* Bytes of a long frame that are sent one at a time; the rest goes together. */
#define SLOW_BYTES 256

/* So many outputs without a task are no mistake in one place. */
#define ENDLESS 1000

/* How long a worker may take to name another task, which decides only what is likely. */
#define HEARING MTIME_SECOND

/* What a worker started may end by itself when the worker has gone. */
#define STRAYS_MOMENT MTIME_SECOND

/* ---------- steps ---------- */

static bool never(struct subject *subject)
{
	(void)subject;
	return false;
}

bool subject_pause(struct subject *subject, mtime span)
{
	(void)subject_wait_until(subject, never, span, span);
	return subject->fault.kind == FAULT_NONE;
}

bool subject_write_line(struct subject *subject, const char *line)
{
	char bytes[64];
	int len = snprintf(bytes, sizeof bytes, "%s\n", line);
	ssize_t n = write(subject->control, bytes, (size_t)len);
	(void)n; /* a worker that has gone is noticed by its exit */
	return true;
}

/* Bytes that the worker has not read; an approximation above 0. */
static int unread(const struct subject *subject)
{
	int bytes = 0;
	if (subject->pipe.output < 0)
		return 0;
	if (ioctl(subject->pipe.output, subject->pipe.form == PIPE_FIFO ? FIONREAD : SIOCOUTQ,
		    &bytes) < 0)
		return 0;
	return bytes;
}

static bool is_sent_and_read(struct subject *subject)
{
	return subject->is_unheard || (subject->allowed == 0 && unread(subject) == 0);
}

static bool has_read_all(struct subject *subject)
{
	if (subject->exchange.concurrency == 1 && subject_first_frame(subject).len > 0)
		return true;
	return is_sent_and_read(subject);
}

bool subject_wait_read(struct subject *subject)
{
	if (subject_wait_until(subject, has_read_all, subject->setup->wait, LOOK_AGAIN))
		return true;
	return fault_set(&subject->fault, FAULT_NOT_READ, TEXT_NONE,
		"what was sent is not read within %.1f s", subject_seconds(subject->setup->wait));
}

void subject_give_time(struct subject *subject)
{
	(void)subject_wait_until(subject, is_sent_and_read, READ_MOMENT, LOOK_AGAIN / 10);
}

bool subject_send_slowly(struct subject *subject)
{
	for (int sent = 0; sent < SLOW_BYTES && buf_len(&subject->unsent) > 0; sent++) {
		subject_send(subject, 1);
		if (!subject_wait_until(subject, is_sent_and_read, BYTE_MOMENT, LOOK_AGAIN / 10) &&
			(subject->fault.kind != FAULT_NONE || subject->has_exited))
			break;
	}
	subject_send(subject, buf_len(&subject->unsent) - subject->allowed);
	return subject->fault.kind == FAULT_NONE;
}

void subject_stop_reading(struct subject *subject)
{
	ev_io_stop(subject_loop(subject), &subject->readable);
}

static bool is_full(struct subject *subject)
{
	return descriptor_waiting(subject->pipe.input) >= FULL_BYTES;
}

bool subject_wait_full(struct subject *subject)
{
	return subject_wait_until(subject, is_full, subject->setup->wait, LOOK_AGAIN);
}

static bool is_gone(struct subject *subject)
{
	return subject->has_exited;
}

void subject_read_late(struct subject *subject)
{
	(void)subject_wait_until(subject, is_gone, LATE_MOMENT, LATE_MOMENT);
	subject_read_on(subject);
}

static bool has_answers(struct subject *subject)
{
	while (subject->exchange.answered < subject->wanted && subject_take_output(subject))
		;
	return subject->exchange.answered >= subject->wanted;
}

/* has_before: other tasks that were sent together are answered. */
static bool fail_by_silence(struct subject *subject, bool has_before)
{
	const struct exchange *exchange = &subject->exchange;
	double span = subject_seconds(subject->setup->wait);
	size_t open = exchange_open(exchange);
	if (open <= 1 && !has_before)
		return fault_set(&subject->fault, FAULT_NO_ANSWER, TEXT_NONE,
			"no answer within %.1f s", span);
	return fault_set(&subject->fault, has_before ? FAULT_LOST : FAULT_NO_ANSWER, TEXT_NONE,
		"no answer to %zu task%s within %.1f s, the oldest is %llu", open,
		open == 1 ? "" : "s", span,
		(unsigned long long)exchange->tasks[exchange->oldest].id);
}

static bool wait_for_answer(struct subject *subject, bool has_before)
{
	double span = subject_seconds(subject->setup->wait);
	uint64_t progress = subject->exchange.progress;
	subject->wanted = subject->exchange.answered + 1;
	if (subject_wait_until(subject, has_answers, subject->setup->wait, subject->setup->wait))
		return true;
	if (buf_len(&subject->received) > 0)
		return subject_fail_by_half_frame(subject, "no more within",
			span_text(subject->setup->wait, (char[SPAN_TEXT_SIZE]){0}));
	if (subject->allowed > 0)
		return fault_set(&subject->fault, FAULT_NOT_READ, TEXT_NONE,
			"no answer within %.1f s, and %zu bytes of the task are not read", span,
			subject->allowed);
	progress = subject->exchange.progress - progress;
	if (progress > 0)
		return fault_set(&subject->fault, FAULT_ONLY_PROGRESS, TEXT_NONE,
			"%llu times progress and no answer within %.1f s",
			(unsigned long long)progress, span);
	return fail_by_silence(subject, has_before);
}

bool subject_wait_answer(struct subject *subject)
{
	return wait_for_answer(subject, false);
}

bool subject_wait_answers(struct subject *subject)
{
	const struct exchange *exchange = &subject->exchange;
	size_t before = exchange->answered;
	while (exchange_open(exchange) > 0)
		if (!wait_for_answer(
			    subject, exchange->concurrency > 1 && exchange->answered > before))
			return false;
	return true;
}

bool subject_names_another(struct subject *subject)
{
	size_t before = subject->exchange.answered;
	struct fault first = subject->fault;
	mtime end = clock_now() + HEARING;
	do {
		subject->fault.kind = FAULT_NONE;
		subject->wanted = before + 1;
		(void)subject_wait_until(subject, has_answers, end - clock_now(), HEARING);
	} while (subject->fault.kind == FAULT_TWICE && clock_now() < end);
	subject->fault = first;
	return subject->exchange.answered > before;
}

static bool is_written(struct subject *subject)
{
	return subject->allowed == 0 || subject->is_unheard;
}

bool subject_shut(struct subject *subject)
{
	double span = subject_seconds(subject->setup->wait);
	if (!subject_wait_until(subject, is_written, subject->setup->wait, subject->setup->wait))
		return fault_set(&subject->fault, FAULT_NOT_READ, TEXT_NONE,
			"%zu bytes of the task are not read within %.1f s", subject->allowed, span);
	ev_io_stop(subject_loop(subject), &subject->writable);
	worker_pipe_shut(&subject->pipe);
	return true;
}

void subject_close_pipe(struct subject *subject)
{
	if (subject->is_connected) {
		ev_io_stop(subject_loop(subject), &subject->readable);
		ev_io_stop(subject_loop(subject), &subject->writable);
	}
	worker_pipe_close(&subject->pipe);
	subject->has_ended = true;
}

void subject_close_control(struct subject *subject)
{
	descriptor_close(&subject->control);
}

void subject_signal(struct subject *subject, int number)
{
	if (subject->is_started && !subject->has_exited)
		spawn_signal(subject->pid, number);
}

static bool has_exited(struct subject *subject)
{
	const struct exchange *exchange = &subject->exchange;
	while (subject_take_output(subject))
		;
	if (exchange->surplus > ENDLESS)
		fault_set(&subject->fault, FAULT_ENDLESS,
			text_of(exchange->surplus_frame.head, exchange->surplus_frame.shown),
			"%llu answers to no open task", (unsigned long long)exchange->surplus);
	subject->noticed_at = 0; /* to close the pipe is right now */
	return subject->has_exited;
}

bool subject_wait_exit(struct subject *subject)
{
	uint64_t progress = subject->exchange.progress;
	mtime span = subject->exit_wait;
	if (subject_wait_until(subject, has_exited, span, span))
		return true;
	progress = subject->exchange.progress - progress;
	if (progress > ENDLESS)
		return fault_set(&subject->fault, FAULT_ENDLESS, TEXT_NONE,
			"it still runs after %.1f s, and sent %llu times progress",
			subject_seconds(span), (unsigned long long)progress);
	if (subject->exchange.surplus > 0)
		return subject_expect_no_more(subject);
	return fault_set(&subject->fault, FAULT_STAYS, TEXT_NONE, "it still runs after %.1f s",
		subject_seconds(span));
}

bool subject_expect_no_more(struct subject *subject)
{
	const struct exchange *exchange = &subject->exchange;
	if (exchange->surplus == 0)
		return true;
	return fault_set(&subject->fault, FAULT_NO_TASK,
		text_of(exchange->surplus_frame.head, exchange->surplus_frame.shown),
		"%llu answer%s to no open task", (unsigned long long)exchange->surplus,
		exchange->surplus == 1 ? "" : "s");
}

/* ---------- what is left ---------- */

/* The first process that is left, and how many there are. */
static size_t count_left(const struct subject *subject, pid_t *ret_first)
{
	struct descendants *below = subject->setup->tools.descendants;
	size_t count, left = 0;
	descendants_look(below);
	count = descendants_count(below);
	for (size_t i = 0; i < count; i++) {
		struct proc_stat stat;
		pid_t pid = descendants_pid(below, i);
		if (!proc_stat_read(pid, &stat) || stat.state == 'Z')
			continue;
		if (left++ == 0)
			*ret_first = pid;
	}
	return left;
}

static void read_program(pid_t pid, char ret[32])
{
	char name[32];
	(void)proc_stat_text(pid, "comm", name, sizeof name);
	name[strcspn(name, "\n")] = '\0';
	utf8_copy_escaped(ret, 32, text_from(name));
}

bool subject_leaves_none(struct subject *subject)
{
	mtime end = clock_now() + STRAYS_MOMENT;
	pid_t first = 0;
	size_t left;
	while ((left = count_left(subject, &first)) > 0 && clock_now() < end)
		subject_run_once(subject, 10 * LOOK_AGAIN);
	if (left == 0)
		return true;
	char program[32];
	read_program(first, program);
	return fault_set(&subject->fault, FAULT_STRAYS, TEXT_NONE,
		"%zu process%s left behind, the first is %d (%s)", left, left == 1 ? "" : "es",
		(int)first, program);
}
