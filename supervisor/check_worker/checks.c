#include "check_worker/checks.h"

#include "os/clock.h"

#include <signal.h>
#include <stdio.h>

/* Longer than any program needs to find out that its input has nothing yet. */
#define LATE (500 * MTIME_MS)

/* Bytes of an answer. The kernel holds 64 KiB for a FIFO, and about 200 KiB for a socket. */
#define LARGER_THAN_THE_PIPE (512 * 1024)

/* A task that is answered faster is too short to time, and so is a gain below the other. */
#define TASK_MEASURABLE (5 * MTIME_MS)
#define GAIN_MEASURABLE (200 * MTIME_MS)

/* ---------- start ---------- */

static bool start_worker(struct play *play)
{
	return play_start(play);
}

static bool start_late(struct play *play)
{
	struct subject *subject = &play->subject;
	return subject_start(subject) && subject_pause(subject, LATE) &&
	       subject_give_address(subject, "") && play_ask(play, TASK_PLAIN);
}

static bool first_line(struct play *play)
{
	return subject_start(&play->subject) &&
	       subject_give_address(&play->subject, "__later__ 1\n") && play_ask(play, TASK_PLAIN);
}

/* ---------- tasks ---------- */

/* The tasks of the check, one by one. */
static bool ask_each(struct play *play)
{
	const enum task_kind *task = play->check->tasks;
	bool is_right = play_start(play);
	for (; *task != TASK_NONE && is_right; task++)
		is_right = play_ask(play, *task);
	return is_right;
}

static bool ask_files(struct play *play)
{
	return play_start(play) && play_ask_files(play);
}

static bool send_slowly(struct play *play)
{
	return play_start(play) && play_add(play, TASK_PLAIN) &&
	       subject_send_slowly(&play->subject) && subject_wait_answer(&play->subject);
}

static bool send_together(struct play *play)
{
	bool is_piped = play_count(play, 2) == 1;
	size_t count = is_piped ? 3 : play_count(play, 3);
	if (!play_start(play) || !play_add_several(play, count) || !play_send(play))
		return false;
	for (size_t i = 0; i < count; i++)
		if (!subject_wait_answer(&play->subject))
			return false;
	return true;
}

static bool send_in_parts(struct play *play)
{
	struct subject *subject = &play->subject;
	if (!play_start(play) || !play_add_several(play, 2) || !play_send_part(play) ||
		!subject_wait_read(subject) || !subject_wait_answer(subject))
		return false;
	subject_give_time(subject);
	return play_send(play) && subject_wait_answer(subject);
}

static bool send_ahead(struct play *play)
{
	struct subject *subject = &play->subject;
	return play_start(play) && play_add(play, TASK_PLAIN) && play_send(play) &&
	       play_add(play, TASK_SECOND) && play_send(play) && subject_wait_answer(subject) &&
	       subject_wait_answer(subject) && play_ask(play, TASK_PLAIN);
}

static bool write_unknown_lines(struct play *play)
{
	struct subject *subject = &play->subject;
	return play_start(play) && subject_write_line(subject, "__later__ 7") &&
	       subject_write_line(subject, "") && play_ask(play, TASK_PLAIN) &&
	       subject_write_line(subject, "__later__ 8") && play_ask(play, TASK_PLAIN);
}

/* ---------- which answer belongs to which task ---------- */

/* Ask two tasks alone, the first again. Only a worker that answers the same task alike, and the two
 * differently, shows which task an answer is for. */
static bool learn_answers(struct play *play)
{
	const struct sent_task *tasks = play->subject.exchange.tasks;
	if (!play_start(play) || !play_ask(play, TASK_PLAIN) || !play_ask(play, TASK_SECOND) ||
		!play_ask(play, TASK_PLAIN))
		return false;
	if (tasks[0].digest != tasks[2].digest || tasks[0].digest == tasks[1].digest)
		play->hidden = "answers that do not show which task they are for";
	return true;
}

/* Each answer behind the learnt ones is that of its own task. */
static bool expect_own_answers(struct play *play, enum fault_kind kind, const char *what)
{
	const struct exchange *exchange = &play->subject.exchange;
	const struct sent_task *tasks = exchange->tasks;
	for (size_t i = 3; i < exchange->count && !play->hidden; i++) {
		size_t own = tasks[i].kind == TASK_SECOND;
		if (tasks[i].digest == tasks[!own].digest)
			return fault_set(&play->subject.fault, kind,
				text_of(tasks[i].frame.head, tasks[i].frame.shown), "%s", what);
		if (tasks[i].digest != tasks[own].digest)
			play->hidden = "answers to the same task that differ";
	}
	return true;
}

static bool answer_in_order(struct play *play)
{
	return learn_answers(play) && play_add_several(play, 2) && play_send(play) &&
	       subject_wait_answers(&play->subject) &&
	       expect_own_answers(
		       play, FAULT_ORDER, "the answer to the second task before that to the first");
}

static bool answer_by_id(struct play *play)
{
	return learn_answers(play) && play_add_several(play, play_count(play, PLAY_MANY)) &&
	       play_send(play) && subject_wait_answers(&play->subject) &&
	       expect_own_answers(play, FAULT_MIXED, "the answer to another task");
}

/* Ids that need 1, 2, 4 and 8 bytes. What is left of one with fewer bytes is no id of the run, and
 * the tasks behind this check have short ones again. */
static bool echo_ids(struct play *play)
{
	static const uint64_t ids[] = {1, 0x81, 0x1234, 0x12345678, UINT64_C(0x59abcdef0)};
	uint64_t next = play->run->next_id;
	bool is_right = play_start(play);
	for (size_t i = 0; i < sizeof ids / sizeof *ids && is_right; i++) {
		if (play->run->next_id < ids[i])
			play->run->next_id = ids[i];
		is_right = play_ask(play, TASK_PLAIN);
	}
	play->run->next_id = next + sizeof ids / sizeof *ids;
	if (play->subject.exchange.named == 0)
		play->hidden = "no output that names its task";
	return is_right;
}

/* ---------- several tasks at once ---------- */

/* The rule: a worker that has one task at a time takes the sum of their times, one that has all at
 * once the longest of them. If count tasks took longer than the middle of the two, about half the
 * sum, the worker seems to be the former. Below GAIN_MEASURABLE between the two a busy machine
 * could make the difference, and a task below TASK_MEASURABLE is mostly the way there and back, so
 * nothing is concluded. Never a fault: a worker may have one at a time. */
static void judge_gain(struct play *play, size_t count, mtime first, mtime second, mtime took)
{
	mtime longest = first > second ? first : second;
	mtime sum = (mtime)((count + 1) / 2) * first + (mtime)(count / 2) * second;
	if (longest < TASK_MEASURABLE || sum - longest < GAIN_MEASURABLE ||
		took <= (sum + longest) / 2)
		return;
	snprintf(play->slow, sizeof play->slow,
		"%zu tasks took %.3g s, one alone %.2g s: it seems to work on one at a time", count,
		(double)took / MTIME_SECOND, (double)longest / MTIME_SECOND);
	play->hidden = play->slow;
}

/* Before, each alone is timed; the very first may load what the others use, so it is not. */
static bool send_many(struct play *play)
{
	size_t count = play_count(play, PLAY_MANY);
	mtime first, second;
	if (!play_start(play) || !play_ask(play, TASK_PLAIN) ||
		!play_time(play, TASK_SECOND, &second) || !play_time(play, TASK_PLAIN, &first))
		return false;
	mtime begin = clock_now();
	if (!play_add_several(play, count) || !play_send(play) ||
		!subject_wait_answers(&play->subject))
		return false;
	judge_gain(play, count, first, second, clock_now() - begin);
	return play_quit_quietly(play);
}

/* A task of 16 MiB among small ones: as soon as one is answered, the next is sent. */
static bool send_large_among_small(struct play *play)
{
	const struct exchange *exchange = &play->subject.exchange;
	size_t places = play_count(play, PLAY_MANY), all = places + 20;
	if (!play_start(play))
		return false;
	while (exchange->answered < all) {
		while (exchange->count < all && exchange_open(exchange) < places)
			if (!play_add(
				    play, exchange->count == places / 2 ? TASK_LARGE : TASK_PLAIN))
				return false;
		if (!play_send(play) || !subject_wait_answer(&play->subject))
			return false;
	}
	return true;
}

static bool report_progress_of_several(struct play *play)
{
	return play_start(play) && play_add_several(play, play_count(play, PLAY_SEVERAL)) &&
	       play_send(play) && subject_wait_answers(&play->subject);
}

/* Those that were not cancelled are answered as one of their kind is alone: .tasks begins with one
 * of each. Only a worker that answers the same task alike, at the begin and at the end, shows it.
 */
static bool expect_others_unaffected(struct play *play, size_t cancelled)
{
	const struct exchange *exchange = &play->subject.exchange;
	const struct sent_task *tasks = exchange->tasks;
	if (tasks[exchange->count - 1].status != tasks[0].status) {
		play->hidden = "answers to the same task that differ";
		return true;
	}
	for (size_t i = 2; i < exchange->count; i++) {
		int alone = tasks[tasks[i].kind == TASK_SECOND].status;
		if (i != cancelled && tasks[i].status != alone)
			return fault_set(&play->subject.fault, FAULT_OTHERS,
				text_of(tasks[i].frame.head, tasks[i].frame.shown),
				"the others were given up, too: %d for task %llu when task %llu was cancelled, alone %d",
				(int)tasks[i].status, (unsigned long long)tasks[i].id,
				(unsigned long long)tasks[cancelled].id, alone);
	}
	return true;
}

static bool cancel(struct play *play)
{
	struct subject *subject = &play->subject;
	const struct sent_task *tasks = subject->exchange.tasks;
	size_t count = play_count(play, PLAY_SEVERAL), cancelled = 2 + count / 2;
	return play_start(play) && play_ask(play, TASK_PLAIN) && play_ask(play, TASK_SECOND) &&
	       play_cancel(play, play_unused_id(play)) && play_add_several(play, count) &&
	       play_send(play) && subject_wait_read(subject) &&
	       play_cancel(play, tasks[cancelled].id) && subject_wait_answers(subject) &&
	       play_cancel(play, tasks[cancelled].id) && play_ask(play, TASK_PLAIN) &&
	       expect_others_unaffected(play, cancelled) && play_quit_quietly(play);
}

static bool switch_context(struct play *play)
{
	struct subject *subject = &play->subject;
	const struct sent_task *tasks = subject->exchange.tasks;
	size_t count = play_count(play, PLAY_SEVERAL);
	return play_start(play) && play_switch(play, play_unused_id(play)) &&
	       play_add_several(play, count) && play_send(play) &&
	       play_switch(play, tasks[count / 2].id) && subject_wait_answers(subject) &&
	       play_switch(play, tasks[count / 2].id) && play_ask(play, TASK_PLAIN) &&
	       play_quit_quietly(play);
}

/* ---------- the end ---------- */

static bool quit_after(struct play *play)
{
	return ask_each(play) && play_quit(play) && subject_wait_exit(&play->subject);
}

static bool quit_after_quietly(struct play *play)
{
	return ask_each(play) && play_quit_quietly(play);
}

static bool quit_at_once(struct play *play)
{
	return ask_each(play) && play_quit(play) && play_exit_zero(play) &&
	       subject_expect_no_more(&play->subject);
}

static bool quit_idle(struct play *play)
{
	return ask_each(play) && play_quit(play) && play_exit_zero(play);
}

static bool quit_busy(struct play *play)
{
	struct subject *subject = &play->subject;
	return play_start(play) && play_add_several(play, play_count(play, PLAY_SEVERAL)) &&
	       play_send(play) && subject_wait_read(subject) && play_quit(play) &&
	       subject_wait_answers(subject) && play_exit_zero(play);
}

static bool end_data(struct play *play)
{
	return ask_each(play) && subject_shut(&play->subject) && play_exit_zero(play);
}

static bool end_data_busy(struct play *play)
{
	struct subject *subject = &play->subject;
	return play_start(play) && play_add_several(play, play_count(play, PLAY_SEVERAL)) &&
	       play_send(play) && subject_wait_read(subject) && subject_shut(subject) &&
	       subject_wait_answers(subject) && play_exit_zero(play);
}

/* An answer that is larger than the data pipe is still being written when the end comes. */
static bool read_late(struct play *play)
{
	struct subject *subject = &play->subject;
	const struct sent_task *first = subject->exchange.tasks;
	/* The second task finds a second answer to the first one, which would fill the pipe. */
	if (!play_start(play) || !play_ask(play, TASK_MIB) || !play_ask(play, TASK_PLAIN))
		return false;
	if (first->frame.len < LARGER_THAN_THE_PIPE) {
		play->hidden = "an answer that is too small to fill the data pipe";
		return true;
	}
	subject_stop_reading(subject);
	if (!play_add(play, TASK_MIB) || !play_send(play))
		return false;
	if (!subject_wait_full(subject)) {
		play->hidden = "answers to the same task that differ";
		subject_read_late(subject);
		return subject_wait_answers(subject);
	}
	if (!play_quit(play))
		return false;
	subject_read_late(subject);
	if (subject_wait_answers(subject))
		return subject_wait_exit(subject);
	if (subject->fault.kind == FAULT_HALF_FRAME || subject->fault.kind == FAULT_EXITED)
		subject->fault.kind = FAULT_UNSENT;
	return false;
}

static bool end_in_frame(struct play *play)
{
	struct subject *subject = &play->subject;
	return play_start(play) && play_add_unfinished(play, TASK_PLAIN) && play_send_part(play) &&
	       subject_wait_read(subject) && subject_shut(subject) && subject_wait_exit(subject) &&
	       subject_expect_no_more(subject);
}

static bool lose_supervisor(struct play *play)
{
	if (!ask_each(play))
		return false;
	subject_close_control(&play->subject);
	subject_close_pipe(&play->subject);
	return subject_wait_exit(&play->subject);
}

static bool fail_write(struct play *play)
{
	struct subject *subject = &play->subject;
	if (!play_start(play) || !play_add(play, TASK_PLAIN) || !play_send(play) ||
		!subject_wait_read(subject))
		return false;
	subject_close_pipe(subject);
	return subject_wait_exit(subject);
}

static bool terminate(struct play *play)
{
	if (!ask_each(play))
		return false;
	subject_signal(&play->subject, SIGTERM);
	return subject_wait_exit(&play->subject);
}

static bool leave_none(struct play *play)
{
	return quit_after(play) && subject_leaves_none(&play->subject);
}

/* ---------- the table ---------- */

/* For the causes of a check. */
#define IF(kind) FAULT_BIT(FAULT_##kind)

const struct check checks[] = {
	{.name = "start",
		.sent = "the address of the data pipe as the first line",
		.expected = "a connection",
		.run = start_worker,
		.is_base = true},
	{.name = "task",
		.sent = "one task",
		.expected = "one answer: a map with a status",
		.run = ask_each,
		.tasks = {TASK_PLAIN},
		.is_base = true},
	{.name = "start-late",
		.sent = "the address half a second after the start, then a task",
		.expected = "an answer",
		.run = start_late,
		.causes = {{IF(EXITED) | IF(NOT_CONNECTED),
			"it does not wait for its first line: it reads standard input without blocking"}}},
	{.name = "first-line",
		.sent = "the address and a control line in one write, then a task",
		.expected = "a connection, the other line ignored, an answer",
		.run = first_line,
		.causes = {{IF(EXITED) | IF(NOT_CONNECTED),
			"it takes all that one read returns as the address; the address ends at the first newline"}}},
	{.name = "body-empty",
		.sent = "a task with an empty body",
		.expected = "an answer",
		.run = ask_each,
		.tasks = {TASK_EMPTY},
		.causes = {{IF(EXITED),
				   "its code does not catch what an empty body does; answer 4xx or 5xx"},
			{IF(NO_ANSWER),
				"it takes an empty body for no task, or an error leaves the task without an answer"}}},
	{.name = "body-text",
		.sent = "a task with a body of UTF-8 characters of 1 to 4 bytes",
		.expected = "an answer",
		.run = ask_each,
		.tasks = {TASK_TEXT},
		.causes = {{IF(EXITED),
			"its output or its log cannot hold characters outside ASCII; answer 4xx or 5xx to what it cannot do"}}},
	{.name = "body-binary",
		.sent = "a task with a body that is not UTF-8",
		.expected = "an answer",
		.run = ask_each,
		.tasks = {TASK_BINARY},
		.causes = {{IF(EXITED),
				   "it takes the body for text; a body is str or bin, and any bytes may come. Answer 4xx to what it cannot do"},
			{IF(NO_ANSWER),
				"it takes the body for text; a body is str or bin, and any bytes may come"}}},
	{.name = "body-sizes",
		.sent = "tasks with bodies of 200 and 1,000 bytes of text, and of 1,000 that are not UTF-8",
		.expected = "an answer to each",
		.run = ask_each,
		.tasks = {TASK_STR_8, TASK_STR_16, TASK_BIN_16},
		.causes = {{IF(EXITED) | IF(NO_ANSWER) | IF(CLOSED),
			"its decoder does not know every form of str and bin (PROTOCOL.md, section 12), or it takes the body for text"}}},
	{.name = "body-large",
		.sent = "a task with a body of 16 MiB, then another one",
		.expected = "two answers",
		.run = ask_each,
		.tasks = {TASK_LARGE, TASK_PLAIN},
		.causes = {{IF(EXITED),
				   "one read does not return a whole large frame: read until L bytes have come; or its buffer or its parser is too small"},
			{IF(NO_ANSWER),
				"one read does not return a whole large frame: read until L bytes have come"},
			{IF(CLOSED), "it has a limit below 16 MiB for a frame"}}},
	{.name = "bytes-one-by-one",
		.sent = "a task, one byte at a time",
		.expected = "an answer",
		.run = send_slowly,
		.causes = {{IF(EXITED) | IF(NO_ANSWER) | IF(CLOSED),
			"one read may return fewer bytes than asked for: repeat it until 4 and then L bytes have come"}},
		.not_corefx = true},
	{.name = "frames-together",
		.sent = "three tasks in one write, or as many as may be open",
		.expected = "an answer to each",
		.run = send_together,
		.causes = {{IF(NO_ANSWER),
				   "it drops what one read returned behind the first frame: keep it for the next task"},
			{IF(EXITED),
				"it takes all that one read returns as one frame: read exactly 4 bytes, then exactly L"}},
		.not_corefx = true},
	{.name = "frame-in-parts",
		.sent = "a task and the beginning of the next one, then its end",
		.expected = "an answer before the end is sent, another one behind it",
		.run = send_in_parts,
		.causes = {{IF(NO_ANSWER),
				   "it collects: it reads on, or keeps its answer, while a whole task is there. Answer and flush before the next read"},
			{IF(EXITED),
				"one read may return fewer bytes than asked for: repeat it until 4 and then L bytes have come"}},
		.not_corefx = true},
	{.name = "two-in-the-pipe",
		.sent = "a second task before the first is answered, a third later",
		.expected = "three answers, one by one",
		.run = send_ahead,
		.causes = {{IF(NO_ANSWER),
			"it drops what comes while it works: leave it in the pipe until the answer is written"}},
		.concurrency = CHECK_FOR_ONE,
		.not_corefx = true},
	{.name = "order",
		.sent = "two tasks alone, the first again, then both in one write",
		.expected = "the same answers, in the order of the tasks",
		.run = answer_in_order,
		.concurrency = CHECK_FOR_ONE,
		.not_corefx = true},
	{.name = "at-once",
		.sent = "two tasks alone, the first again, then as many as may be open, at most 100, in one write; then the end",
		.expected = "one answer to each, in any order, and nothing more",
		.run = send_many,
		.causes = {{IF(NO_ANSWER) | IF(NOT_READ),
			"it blocks when it has several tasks: a handler holds the loop or a lock, or waits for another task"}},
		.concurrency = CHECK_FOR_MORE},
	{.name = "answers-by-id",
		.sent = "two tasks alone, the first again, then both many times at once",
		.expected = "the same answers, each with the id of its own task",
		.run = answer_by_id,
		.concurrency = CHECK_FOR_MORE},
	{.name = "large-among-small",
		.sent = "a task of 16 MiB among small ones; the next one as soon as one is answered",
		.expected = "one answer to each",
		.run = send_large_among_small,
		.causes = {{IF(BAD_OUTPUT) | IF(BAD_LENGTH) | IF(HALF_FRAME),
			"two outputs are mixed: a large one takes several writes, and only a lock or a queue keeps others out of them"}},
		.concurrency = CHECK_FOR_MORE},
	{.name = "unknown-keys",
		.sent = "a task with keys of a later version, of every MessagePack type",
		.expected = "an answer",
		.run = ask_each,
		.tasks = {TASK_UNKNOWN_KEYS},
		.causes = {{IF(EXITED) | IF(NO_ANSWER) | IF(CLOSED),
			"its decoder refuses keys or types that it does not know; it must skip them"}}},
	{.name = "session",
		.sent = "a task with the key of a session",
		.expected = "an answer",
		.run = ask_each,
		.tasks = {TASK_SESSION},
		.causes = {{IF(EXITED) | IF(NO_ANSWER) | IF(CLOSED),
			"its decoder refuses the key \"4\"; it must skip it"}}},
	{.name = "unknown-lines",
		.sent = "control lines that this version does not have, and a task",
		.expected = "an answer",
		.run = write_unknown_lines,
		.causes = {{IF(EXITED) | IF(NO_ANSWER),
			"it takes any control line for __quit__, or an unknown one for an error; it must ignore it"}}},
	{.name = "headers-text",
		.sent = "a task with headers of every AMQP type, as text",
		.expected = "an answer",
		.run = ask_each,
		.tasks = {TASK_HEADERS},
		.causes = {{IF(EXITED) | IF(NO_ANSWER), "it expects certain headers, or none"}}},
	{.name = "headers-typed",
		.sent = "the same with their types, and properties",
		.expected = "an answer",
		.run = ask_each,
		.tasks = {TASK_TYPED_HEADERS},
		.causes = {{IF(EXITED) | IF(NO_ANSWER),
			"it expects the values of headers to be text"}},
		.not_corefx = true,
		.only_for = "pools with headers: typed or properties: true"},
	{.name = "task-files",
		.sent = "each body of --task",
		.expected = "200 or 201 for each",
		.run = ask_files,
		.needs_files = true},
	{.name = "progress",
		.sent = "a task, or several at once",
		.expected =
			"any number of outputs with status -1 before the answer, each for an open task",
		.run = report_progress_of_several,
		.causes =
			{{IF(ID_MISSING),
				 "\"7\" is missing in its reports of progress; they name their task as answers do"},
				{IF(ID_UNKNOWN) | IF(ID_EARLIER),
					"its reports of progress have another id than their task"}},
		.shows = SHOWS_PROGRESS},
	{.name = "error",
		.sent = "bodies that many workers cannot work on, then a task",
		.expected = "an answer to each; 500 to 599 for an error",
		.run = ask_each,
		.tasks = {TASK_EMPTY, TASK_BINARY, TASK_NO_JSON, TASK_NULL, TASK_NUMBER,
			TASK_NESTED, TASK_PLAIN},
		.causes = {{IF(EXITED),
				   "an error in one task ends the program; catch it around the handling of a task and answer 500"},
			{IF(NO_ANSWER),
				"an error in one task leaves it without an answer; catch it and answer 500"},
			{IF(CLOSED),
				"an error in one task closes the data pipe; catch it and answer 500"}},
		.shows = SHOWS_FAILED},
	{.name = "reject",
		.sent = "bodies that are no valid request",
		.expected = "an answer to each; 400 to 499 for what can never succeed",
		.run = ask_each,
		.tasks = {TASK_EMPTY, TASK_BINARY, TASK_NO_JSON},
		.causes = {{IF(EXITED),
			"an error in one task ends the program; catch it around the handling of a task and answer 4xx"}},
		.shows = SHOWS_REJECTED},
	{.name = "quit-at-once",
		.sent = "__quit__ and the end of the data pipe, without a task",
		.expected = "no output, exit status 0",
		.run = quit_at_once,
		.causes = {{IF(NO_TASK),
			"it sends an output before it has a task, or takes the end of file for a task"}}},
	{.name = "quit-idle",
		.sent = "a task; after its answer __quit__ and the end of the data pipe",
		.expected = "exit status 0",
		.run = quit_idle,
		.tasks = {TASK_PLAIN}},
	{.name = "quit-busy",
		.sent = "a task, or several at once; when they are read, __quit__ and the end of the data pipe",
		.expected = "all their answers, exit status 0",
		.run = quit_busy,
		.causes =
			{{IF(EXITED) | IF(CLOSED),
				 "it exits at __quit__ without the answer to a task that is open"},
				{IF(NO_ANSWER) | IF(LOST),
					"it drops a task that is open at __quit__"}},
		.not_corefx = true},
	{.name = "end-of-data",
		.sent = "a task; after its answer the end of the data pipe, without __quit__",
		.expected = "exit status 0",
		.run = end_data,
		.tasks = {TASK_PLAIN},
		.causes = {{IF(STATUS),
			"it takes the end of file between two frames for an error"}},
		.not_corefx = true},
	{.name = "end-of-data-busy",
		.sent = "several tasks; when they are read, the end of the data pipe, without __quit__",
		.expected = "all their answers, exit status 0",
		.run = end_data_busy,
		.causes = {{IF(EXITED) | IF(NO_ANSWER) | IF(LOST) | IF(CLOSED),
			"it ends at the end of the data pipe with tasks open: count them, and exit behind the last answer"}},
		.concurrency = CHECK_FOR_MORE},
	{.name = "large-at-end",
		.sent = "a task of 1 MiB and another one, then it again; when its answer fills the data pipe, __quit__ and the end of the pipe",
		.expected = "the whole answer, though it is read late; exit",
		.run = read_late,
		.not_corefx = true},
	{.name = "one-answer",
		.sent = "two tasks one after the other, then the end",
		.expected = "two answers and nothing more",
		.run = quit_after_quietly,
		.tasks = {TASK_PLAIN, TASK_PLAIN},
		.causes = {{IF(NO_TASK), "it answers a task twice"}}},
	{.name = "end-in-frame",
		.sent = "a task without its last bytes, then the end of the data pipe",
		.expected = "no output, exit",
		.run = end_in_frame,
		.causes = {{IF(STAYS),
				   "its loop that reads exactly L bytes does not end at end of file"},
			{IF(NO_TASK),
				"it works on half a frame: check that all L bytes have come"}},
		.not_corefx = true},
	{.name = "supervisor-gone",
		.sent = "a task; after its answer the end of the data pipe and of standard input",
		.expected = "exit",
		.run = lose_supervisor,
		.tasks = {TASK_PLAIN},
		.not_corefx = true},
	{.name = "write-fails",
		.sent = "a task, and when it is read the data pipe is closed",
		.expected = "exit",
		.run = fail_write,
		.causes = {{IF(STAYS), "it ignores an error of its write (EPIPE)"}},
		.not_corefx = true},
	{.name = "term",
		.sent = "a task; after its answer SIGTERM",
		.expected = "exit",
		.run = terminate,
		.tasks = {TASK_PLAIN},
		.causes = {{IF(STAYS), "it ignores SIGTERM, or its handler does not end it"}}},
	{.name = "context-switch",
		.sent = "__context_switch__ without a task, and while a task is open; above concurrency 1 with its id",
		.expected = "one answer to each task",
		.run = switch_context,
		.causes =
			{{IF(EXITED),
				 "it takes __context_switch__ for __quit__, or fails at the id behind it"},
				{IF(NO_TASK) | IF(TWICE),
					"it answers at __context_switch__ although no task is open, or answers every task twice"},
				{IF(NO_ANSWER) | IF(LOST),
					"it drops a task at __context_switch__; it is answered as any other"}}},
	{.name = "cancel",
		.sent = "two tasks alone, then __cancel__ with the id of an open one among others, of one that is answered, and of none",
		.expected = "one answer to each task, whatever its status; to the others as alone",
		.run = cancel,
		.causes =
			{{IF(EXITED),
				 "__cancel__ ends it: it takes the line for __quit__, or fails at an id that it does not have open; ignore that"},
				{IF(NO_ANSWER) | IF(LOST),
					"it drops a task that is cancelled; answer it, with 500 if there is nothing better"},
				{IF(TWICE) | IF(NO_TASK),
					"__cancel__ answers, and its handler answers too: only one of them may"}},
		.not_corefx = true},
	{.name = "id-echo",
		.sent = "tasks whose ids need 1, 2, 4 and 8 bytes",
		.expected = "answers with the same ids, if with any; above concurrency 1 always",
		.run = echo_ids,
		.causes = {{IF(ID_UNKNOWN) | IF(ID_EARLIER) | IF(TWICE),
			"it does not keep all bytes of an id: an id has up to 8"}},
		.not_corefx = true},
	{.name = "processes",
		.sent = "a task, then the end",
		.expected = "exit, and no process that it started is left",
		.run = leave_none,
		.tasks = {TASK_PLAIN}},
	{.name = "stdout",
		.sent = "a task, then the end",
		.expected = "only lines of text on standard output, if any",
		.run = quit_after,
		.tasks = {TASK_PLAIN},
		.shows = SHOWS_STDOUT},
};

const size_t check_count = sizeof checks / sizeof *checks;

const struct check *check_find(const char *name)
{
	for (size_t i = 0; i < check_count; i++)
		if (strcmp(checks[i].name, name) == 0)
			return &checks[i];
	return NULL;
}
