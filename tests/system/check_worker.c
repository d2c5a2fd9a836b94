/* wpool check-worker: it names the fault of each wrong worker, passes each right one, and ends in
 * bounded time whatever the command is. */
#include "harness/command.h"
#include "harness/deadline.h"
#include "harness/terminal.h"
#include "system/system.h"

#include <fcntl.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PYTHON    "/usr/bin/python3"
#define FAULTY    "tests/workers/faulty.py"
#define NODE      "/usr/bin/node"
#define ARGUMENTS 14
#define AT_ONCE   4     /* workers that are checked at once: some wait, some need a processor */
#define SHORT     "5s"  /* the wait for what does not come */
#define LONG      "30s" /* the wait for what comes, late on a busy machine */
#define COUNT(a)  ((int)(sizeof(a) / sizeof *(a)))

/* ---------- wrong workers ---------- */

/* What must be wrong, and nothing else: "check:fault", in the order of the checks. */
static const struct {
	const char *fault; /* of faulty.py */
	int concurrency;
	const char *found;
	const char *cause; /* a part of the first one */
} wrong[] = {
	{"always-id-one", 100, "start-late:id-of-another-worker", "names the same id for ever"},
	{"another-session", 1, "start:wrong-session", "session of its own"},
	{"answers-cancelled-twice", 100, "cancel:answered-twice", "only one of them may"},
	{"answers-ids-twice", 100, "body-sizes:answered-twice", "answers a task twice"},
	{"answers-last-first", 1, "frame-in-parts:no-answer order:wrong-order", "Answer and flush"},
	{"answers-twice", 1,
		"one-answer:answer-without-task context-switch:answer-without-task cancel:answer-without-task",
		"answers a task twice"},
	{"answers-without-end", 1, "quit-idle:sends-without-end large-at-end:does-not-read",
		"sends in a loop"},
	{"bare-value", 1, "task:bad-output", "must be a map"},
	{"batches", 1, "frame-in-parts:no-answer", "Answer and flush before the next read"},
	{"blocks", 100, "at-once:no-answer answers-by-id:no-answer large-among-small:no-answer",
		"holds the loop or a lock"},
	{"cancels-all", 100, "cancel:cancels-others", "cancels every open task"},
	{"counts-characters", 1, "body-text:bad-output", "count bytes, not characters"},
	{"counts-length-itself", 1, "task:half-frame", "counts its own 4 bytes"},
	{"dies-of-errors", 1,
		"body-empty:exited body-text:exited body-binary:exited body-sizes:exited body-large:exited error:exited reject:exited large-at-end:exited",
		"does not catch"},
	{"does-not-wait", 1, "start-late:exited", "does not wait for its first line"},
	{"drops-cancelled", 100, "cancel:lost-task", "drops a task that is cancelled"},
	{"drops-open-tasks-at-end", 100, "quit-busy:exited end-of-data-busy:exited",
		"a task that is open"},
	{"drops-open-tasks-at-quit", 100, "quit-busy:exited", "exits at __quit__"},
	{"drops-task-at-quit", 1, "quit-busy:exited", "without the answer to a task"},
	{"drops-what-is-behind", 1,
		"frames-together:no-answer frame-in-parts:no-answer two-in-the-pipe:no-answer order:no-answer",
		"drops what one read returned behind the first frame"},
	{"ends-with-one", 1,
		"quit-at-once:exit-status quit-idle:exit-status quit-busy:exit-status end-of-data:exit-status",
		"handled as an error"},
	{"exits-before-it-is-sent", 1, "large-at-end:unsent-answer", "end the socket, then exit"},
	{"first-id-for-all", 100, "body-sizes:answered-twice", "id of its first task"},
	{"forgets-empty-bodies", 1, "body-empty:no-answer error:no-answer reject:no-answer",
		"takes an empty body for no task"},
	{"gives-up-all", 100, "cancel:cancels-others", "cancels every open task"},
	{"greets", 1,
		"quit-at-once:answer-without-task one-answer:answer-without-task end-in-frame:answer-without-task context-switch:answer-without-task cancel:answer-without-task",
		"before it has a task"},
	{"hard-limit-in-words", 1, "task:bad-hard-limit", "the unit is milliseconds"},
	{"id-as-float", 100, "task:bad-output", "as the integer that it was"},
	{"id-as-text", 100, "task:bad-output", "as the integer that it was"},
	{"id-negative", 100, "task:bad-output", "as the integer that it was"},
	{"id-of-32-bits", 100, "id-echo:unknown-id", "all bytes of an id"},
	{"id-zero", 100, "task:bad-output", "as the integer that it was"},
	{"ignores-term", 1, "term:does-not-exit", "ignores SIGTERM"},
	{"json-in-frames", 1, "task:bad-output", "it writes JSON"},
	{"keys-in-words", 1, "task:bad-output", "key \"1\""},
	{"knows-no-session", 1, "session:exited", "refuses the key \"4\""},
	{"knows-no-switch-with-id", 100, "context-switch:exited", "fails at the id"},
	{"knows-only-open-ids", 100, "cancel:exited", "an id that it does not have open"},
	{"knows-only-short-texts", 1, "body-sizes:exited error:exited", "every form of str"},
	{"leaves-a-child", 1, "processes:leaves-processes", "does not end them"},
	{"little-endian", 1, "task:bad-length", "big-endian"},
	{"loops-at-the-end", 1, "end-in-frame:does-not-exit", "does not end at end of file"},
	{"loses-one", 100, "at-once:lost-task answers-by-id:lost-task large-among-small:no-answer",
		"share a variable"},
	{"missing-id", 100, "task:missing-id", "every output has the key"},
	{"mixes-answers", 100, "answers-by-id:mixed-answers", "share a variable"},
	{"mixes-frames", 100,
		"at-once:bad-output answers-by-id:bad-output large-among-small:bad-output",
		"two outputs are mixed"},
	{"never-exits", 1, "quit-at-once:does-not-exit", "does not leave its loop"},
	{"next-id", 100, "task:unknown-id", "is \"7\" of its task"},
	{"one-read-address", 1, "first-line:exited", "ends at the first newline"},
	{"one-too-many", 100, "at-once:unknown-id", "one output too many"},
	{"only-progress", 1, "task:only-progress", "still needs an answer"},
	{"prints-frames", 1, "stdout:no-text-on-stdout", "belong on the data pipe"},
	{"progress-behind-answer", 100, "at-once:progress-after-answer",
		"progress behind the answer"},
	{"progress-of-none", 100, "at-once:unknown-id", "makes one of its own"},
	{"progress-without-id", 100, "at-once:missing-id", "progress too"},
	{"quits-at-cancel", 100, "cancel:exited", "__cancel__ ends it"},
	{"quits-at-context-switch", 1, "context-switch:exited", "for __quit__"},
	{"quits-at-every-line", 1,
		"first-line:exited unknown-lines:exited context-switch:exited cancel:exited",
		"first newline"},
	{"reads-once", 1,
		"body-large:exited bytes-one-by-one:exited frame-in-parts:exited large-at-end:exited",
		"read until L bytes have come"},
	{"refuses-unknown-keys", 1, "unknown-keys:exited", "must skip them"},
	{"sizes-in-characters", 1, "body-text:bad-output", "longer than its size"},
	{"status-as-text", 1, "task:bad-output", "pack an integer"},
	{"takes-bodies-for-text", 1,
		"body-binary:exited body-sizes:exited error:exited reject:exited", "str or bin"},
	{"waits-for-all", 100, "task:no-answer", "waits for more than was sent"},
	{"without-length", 1, "task:bad-length", "without its 4 bytes of length"},
	{"without-status", 1, "task:bad-output", "key \"1\""},
	{"writes-json", 1, "task:bad-length", "such as JSON"},
	{"writes-once", 1, "body-large:half-frame large-at-end:half-frame", "was not repeated"},
	{"writes-text", 1, "task:bad-length", "it writes text"},
};

static json_t *results_of(struct proc *proc, int code)
{
	json_error_t error;
	int got = proc_wait(proc);
	char *printed = proc_stdout(proc), *said = proc_stderr(proc);
	ck_assert_msg(got == code, "ended with %d, not %d: %.400s%.400s", got, code, said, printed);
	json_t *document = json_loads(printed, 0, &error);
	ck_assert_msg(document != NULL, "%s: %.400s", error.text, printed);
	free(printed);
	free(said);
	return document;
}

static const char *text_in(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));
	return text ? text : "";
}

/* "check:fault check:fault"; the cause of the first goes to *ret_cause. Moves out. */
static char *found_in(const json_t *document, const char **ret_cause)
{
	char *found = scratch_text("%s", "");
	const json_t *check;
	size_t i;
	*ret_cause = "";
	json_array_foreach(json_object_get(document, "checks"), i, check)
	{
		if (strcmp(text_in(check, "result"), "wrong") != 0)
			continue;
		char *longer = scratch_text("%s%s%s:%s", found, *found ? " " : "",
			text_in(check, "check"), text_in(check, "fault"));
		if (!*found)
			*ret_cause = text_in(check, "cause");
		free(found);
		found = longer;
	}
	return found;
}

static const json_t *check_named(const json_t *document, const char *name)
{
	const json_t *check;
	size_t i;
	json_array_foreach(json_object_get(document, "checks"), i, check)
	{
		if (strcmp(text_in(check, "check"), name) == 0)
			return check;
	}
	return NULL;
}

/* One finding is enough: the other checks do not wait as long for an exit, and name the first. */
static void expect_named_once(const json_t *document)
{
	const json_t *first = check_named(document, "quit-at-once"),
		     *next = check_named(document, "quit-idle");
	ck_assert_str_eq(text_in(first, "came"), "it still runs after 5.0 s");
	ck_assert_str_eq(text_in(next, "result"), "not shown");
	ck_assert_str_eq(text_in(next, "came"), "see quit-at-once: it still runs after 1.0 s");
}

static void expect_found(const json_t *document, int i)
{
	const char *cause;
	char *found = found_in(document, &cause);
	ck_assert_msg(strcmp(found, wrong[i].found) == 0, "%s: found %s, not %s", wrong[i].fault,
		found, wrong[i].found);
	ck_assert_msg(strstr(cause, wrong[i].cause) != NULL, "%s: the cause is: %s", wrong[i].fault,
		cause);
	ck_assert(json_is_false(json_object_get(document, "right")));
	free(found);
}

/* Run start(0), start(1), ... of count, AT_ONCE of them at a time, and give each that has ended to
 * judge. */
static void check_all(
	int count, struct proc *(*start)(int row), void (*judge)(struct proc *, int row))
{
	struct proc *procs[AT_ONCE];
	int rows[AT_ONCE], running = 0, next = 0;
	for (;;) {
		while (running < AT_ONCE && next < count) {
			rows[running] = next;
			procs[running++] = start(next++);
		}
		if (running == 0)
			return;
		int ended = proc_wait_any(procs, running);
		judge(procs[ended], rows[ended]);
		procs[ended] = procs[--running];
		rows[ended] = rows[running];
	}
}

/* Only the end of the wait shows that something does not come. */
static bool is_found_by_waiting(const char *found)
{
	static const char *const faults[] = {":no-answer", ":only-progress", ":half-frame",
		":does-not-read", ":does-not-exit", ":lost-task"};
	for (int i = 0; i < COUNT(faults); i++)
		if (strstr(found, faults[i]))
			return true;
	return false;
}

static struct proc *check_wrong(int i)
{
	const char *wait = is_found_by_waiting(wrong[i].found) ? SHORT : LONG;
	char number[16];
	snprintf(number, sizeof number, "%d", wrong[i].concurrency);
	return fixture_wpool((const char *const[]){"check-worker", "--json", "--wait", wait,
		"--concurrency", number, "--", PYTHON, FAULTY, wrong[i].fault, NULL});
}

static void judge_wrong(struct proc *proc, int i)
{
	fprintf(stderr, "%s\n", wrong[i].fault); /* shown if the test fails */
	json_t *document = results_of(proc, 76);
	expect_found(document, i);
	if (strcmp(wrong[i].fault, "never-exits") == 0)
		expect_named_once(document);
	json_decref(document);
	fixture_free_program(proc);
}

START_TEST(wrong_workers_are_named)
{
	check_all(COUNT(wrong), check_wrong, judge_wrong);
}
END_TEST

/* Every fault of the script has its row above. */
START_TEST(no_fault_is_left_out)
{
	struct proc *proc = proc_start(
		fixture.folder, (const char *const[]){PYTHON, FAULTY, "--list", NULL}, NULL);
	ck_assert_int_eq(proc_wait(proc), 0);
	char *list = proc_stdout(proc), *rest = NULL;
	int rows = 0;
	for (char *name = strtok_r(list, "\n", &rest); name; name = strtok_r(NULL, "\n", &rest)) {
		int i = 0;
		while (i < COUNT(wrong) && strcmp(wrong[i].fault, name) != 0)
			i++;
		ck_assert_msg(i < COUNT(wrong) || strcmp(name, "none") == 0 ||
				      strcmp(name, "loop") == 0 || strcmp(name, "threads") == 0 ||
				      strcmp(name, "one-by-one") == 0 ||
				      strcmp(name, "accepts") == 0 ||
				      strcmp(name, "ends-with-its-answer") == 0,
			"%s", name);
		rows += i < COUNT(wrong);
	}
	ck_assert_int_eq(rows, COUNT(wrong));
	free(list);
	proc_free(proc);
}
END_TEST

/* ---------- right workers ---------- */

static const struct {
	const char *pipe, *concurrency;
	const char *built, *program; /* one of them, the other NULL */
	const char *arguments[3];
} right[] = {
	{"path", "1", "samples/fibonacci", NULL, {NULL}},
	{"fifo", "1", "samples/fibonacci", NULL, {NULL}},
	{"corefx", "1", "samples/fibonacci", NULL, {NULL}},
	{"path", "1", "samples/word_count", NULL, {NULL}},
	{"path", "1", NULL, PYTHON, {"samples/python/fibonacci.py"}},
	{"fifo", "1", NULL, PYTHON, {"samples/python/word_count.py"}},
	{"path", "1", NULL, "perl", {"samples/perl/fibonacci.pl"}},
	{"path", "1", NULL, PYTHON, {FAULTY, "none"}},
	{"path", "1", NULL, PYTHON, {FAULTY, "accepts"}},
	{"path", "1", "workers/echo", NULL, {NULL}},
	{"path", "1", "workers/evil", NULL, {"byte-by-byte"}},
	{"corefx", "1", "workers/legacy_dotnet", NULL, {NULL}},
	{"path", "1", NULL, PYTHON, {FAULTY, "loop"}},
	{"path", "2", NULL, PYTHON, {FAULTY, "loop"}},
	{"path", "100", NULL, PYTHON, {FAULTY, "loop"}},
	{"path", "1", NULL, PYTHON, {FAULTY, "threads"}},
	{"path", "100", NULL, PYTHON, {FAULTY, "threads"}},
	{"path", "1", NULL, NODE, {"samples/javascript/shout.js"}},
	{"path", "100", NULL, NODE, {"samples/javascript/shout.js"}},
	{"path", "100", "sdk/probe_many", NULL, {"threads"}}, /* of the C SDK */
	{"path", "100", "sdk/probe_many", NULL, {"poll"}},
	{"path", "100", "sdk/probe_many", NULL, {"epoll"}},
	{"path", "100", "samples/fetch", NULL, {NULL}},                  /* libcurl's event loop */
	{"path", "100", NULL, PYTHON, {"samples/python/word_count.py"}}, /* threads in Python */
	{"path", "100", NULL, PYTHON, {"samples/python/fetch.py"}},      /* asyncio */
};

static struct proc *check_right(int i)
{
	const char *arguments[ARGUMENTS] = {"check-worker", "--json", "--wait", LONG, "--pipe",
		right[i].pipe, "--concurrency", right[i].concurrency, "--",
		right[i].program ? right[i].program : fixture_built(right[i].built)};
	for (int j = 0; j < COUNT(right[i].arguments); j++)
		arguments[10 + j] = right[i].arguments[j];
	return fixture_wpool(arguments);
}

static void judge_right(struct proc *proc, int i)
{
	json_t *document = results_of(proc, 0);
	ck_assert_msg(json_is_true(json_object_get(document, "right")), "row %d", i);
	json_decref(document);
	fixture_free_program(proc);
}

START_TEST(right_workers_pass)
{
	check_all(COUNT(right), check_right, judge_right);
}
END_TEST

/* What only a worker with several tasks can show, this one shows. */
START_TEST(javascript_shows_what_it_can)
{
	static const struct {
		const char *check, *came;
	} shown[] = {
		{"at-once", "103 times 201, exit status 0"},
		{"answers-by-id", "103 times 201"},
		{"large-among-small", "1 times -1, 120 times 201"},
		{"progress", "10 times 201"},
		{"quit-busy", "10 times 201, exit status 0"},
		{"large-at-end", "2 times -1, 201, 201, 201, exit status 0"},
		{"id-echo", "5 times 201"},
	};
	json_t *document = results_of(
		fixture_wpool((const char *const[]){"check-worker", "--json", "--concurrency",
			"100", "--", NODE, "samples/javascript/shout.js", NULL}),
		0);
	for (int i = 0; i < COUNT(shown); i++) {
		const json_t *check = check_named(document, shown[i].check);
		ck_assert_str_eq(text_in(check, "result"), "ok");
		ck_assert_str_eq(text_in(check, "came"), shown[i].came);
	}
	json_decref(document);
}
END_TEST

/* To accept a task is not to report progress. */
START_TEST(accepted_tasks_are_shown)
{
	json_t *document = results_of(fixture_wpool((const char *const[]){"check-worker", "--json",
					      "--", PYTHON, FAULTY, "accepts", NULL}),
		0);
	const json_t *progress = check_named(document, "progress");
	ck_assert_str_eq(text_in(progress, "result"), "not shown");
	ck_assert_str_eq(text_in(progress, "came"), "no output with status -1");
	ck_assert_str_eq(
		text_in(check_named(document, "order"), "came"), "5 times -2, 5 times 201");
	json_decref(document);
}
END_TEST

/* The supervisor would start another one. What needs two tasks, or the end, is not shown. */
START_TEST(a_worker_may_end_with_its_answer)
{
	static const struct {
		const char *check, *result, *came;
	} shown[] = {
		{"start", "ok", "a connection"},
		{"task", "ok", "205"},
		{"body-large", "not shown",
			"status 205 ended the worker before the check was over"},
		{"quit-idle", "not shown", "status 205 ended the worker before the check was over"},
		{"quit-at-once", "ok", "exit status 0"},
	};
	json_t *document = results_of(fixture_wpool((const char *const[]){"check-worker", "--json",
					      "--", PYTHON, FAULTY, "ends-with-its-answer", NULL}),
		0);
	for (int i = 0; i < COUNT(shown); i++) {
		const json_t *check = check_named(document, shown[i].check);
		ck_assert_str_eq(text_in(check, "result"), shown[i].result);
		ck_assert_msg(
			strncmp(text_in(check, "came"), shown[i].came, strlen(shown[i].came)) == 0,
			"%s: %s", shown[i].check, text_in(check, "came"));
	}
	json_decref(document);
}
END_TEST

/* That is no fault, but concurrency gains nothing. */
START_TEST(one_task_at_a_time_is_shown)
{
	json_t *document = results_of(
		fixture_wpool((const char *const[]){"check-worker", "--json", "--only", "at-once",
			"--concurrency", "100", "--", PYTHON, FAULTY, "one-by-one", NULL}),
		0);
	const json_t *check = check_named(document, "at-once");
	const char *came = text_in(check, "came");
	ck_assert_str_eq(text_in(check, "result"), "not shown");
	ck_assert_msg(strncmp(came, "100 tasks took ", 15) == 0 &&
			      strstr(came, ": it seems to work on one at a time") != NULL,
		"%s", came);
	json_decref(document);
}
END_TEST

/* Its tasks take long, so that the line finds the task open: it alone is given up. */
START_TEST(javascript_gives_up_a_task)
{
	setenv("SERVICE_MS", "3000", 1);
	json_t *document = results_of(
		fixture_wpool((const char *const[]){"check-worker", "--json", "--only", "cancel",
			"--concurrency", "100", "--", NODE, "samples/javascript/shout.js", NULL}),
		0);
	ck_assert_str_eq(text_in(check_named(document, "cancel"), "came"),
		"7 times 201, 500, 5 times 201, exit status 0");
	json_decref(document);
}
END_TEST

/* ---------- bodies of the operator ---------- */

START_TEST(bodies_are_given)
{
	char *first = scratch_path(fixture.folder, "first"),
	     *second = scratch_path(fixture.folder, "second"),
	     *bad = scratch_path(fixture.folder, "bad");
	const char *worker = fixture_built("samples/fibonacci");
	scratch_write(first, "{\"Value\": 10}");
	scratch_write(second, "{\"Value\": 11}");
	scratch_write(bad, "{\"Value\": 99}");
	json_t *document = results_of(
		fixture_wpool((const char *const[]){"check-worker", "--json", "--task", first,
			"--task", second, "--only", "task-files", "--", worker, NULL}),
		0);
	const json_t *check = json_array_get(json_object_get(document, "checks"), 0);
	ck_assert_str_eq(text_in(check, "result"), "ok");
	ck_assert_str_eq(text_in(check, "came"), "201, 201");
	json_decref(document);
	/* With two bodies the order of their answers shows. */
	document =
		results_of(fixture_wpool((const char *const[]){"check-worker", "--json", "--task",
				   first, "--task", second, "--only", "order", "--", worker, NULL}),
			0);
	check = json_array_get(json_object_get(document, "checks"), 0);
	ck_assert_str_eq(text_in(check, "result"), "ok");
	json_decref(document);
	document = results_of(fixture_wpool((const char *const[]){"check-worker", "--json",
				      "--task", bad, "--only", "task-files", "--", worker, NULL}),
		76);
	check = json_array_get(json_object_get(document, "checks"), 0);
	ck_assert_str_eq(text_in(check, "fault"), "failed-task");
	ck_assert_str_eq(text_in(check, "came"), "422 for body 1 of --task");
	json_decref(document);
}
END_TEST

/* ---------- what is shown ---------- */

START_TEST(a_fault_is_explained)
{
	char *printed =
		RUN(76, "check-worker", "--only", "task", "--", PYTHON, FAULTY, "status-as-text");
	static const char *const parts[] = {"CHECK", "task: wrong (bad-output)", "sent ",
		"expected ", "came       a bad output: a status that is no integer",
		"its bytes  00 00 00", "likely     the status is packed as text",
		"0 of 1 checks right, 1 wrong"};
	for (int i = 0; i < COUNT(parts); i++)
		ck_assert_msg(strstr(printed, parts[i]) != NULL, "%s: %.2000s", parts[i], printed);
	free(printed);
}
END_TEST

/* Not what it wrote first, however much that was. */
START_TEST(the_last_lines_are_shown)
{
	json_t *document = results_of(
		fixture_wpool((const char *const[]){"check-worker", "--json", "--only", "start",
			"--", "/bin/sh", "-c", "seq 20000 >&2; echo >&2; echo why >&2", NULL}),
		76);
	const json_t *check = json_array_get(json_object_get(document, "checks"), 0);
	const json_t *lines = json_object_get(check, "stderr");
	ck_assert_uint_eq(json_array_size(lines), 12);
	ck_assert_str_eq(json_string_value(json_array_get(lines, 0)), "19990");
	ck_assert_str_eq(json_string_value(json_array_get(lines, 10)), "20000");
	ck_assert_str_eq(json_string_value(json_array_get(lines, 11)), "why");
	json_decref(document);
}
END_TEST

/* While it runs and at the end it counts the checks that this concurrency has. */
START_TEST(progress_counts_what_is_run)
{
	char *gate = scratch_path(fixture.folder, "gate");
	ck_assert_int_eq(mkfifo(gate, 0600), 0);
	struct terminal *terminal = terminal_start(100, 50,
		(const char *const[]){fixture_built("wpool"), "check-worker", "--wait", LONG, "--",
			"/bin/sh", "-c", "cat \"$0\"; exit 3", gate, NULL});
	const char *progress = strstr(terminal_expect(terminal, "checking start"), "(1 of ");
	ck_assert_ptr_nonnull(progress);
	int count = atoi(progress + strlen("(1 of "));
	char *sum = scratch_text("0 of %d checks right, 1 wrong, %d not run", count, count - 1);
	ck_assert_int_gt(count, 30);
	int opened = open(gate, O_WRONLY | O_CLOEXEC); /* the worker ends */
	ck_assert_int_ge(opened, 0);
	close(opened);
	terminal_expect(terminal, sum);
	ck_assert_int_eq(terminal_wait(terminal), 76);
	terminal_free(terminal);
	free(sum);
}
END_TEST

/* A worker that cannot start has no other fault; one that can is judged by the check alone. */
START_TEST(a_check_alone_has_its_base)
{
	json_t *document =
		results_of(fixture_wpool((const char *const[]){"check-worker", "--json", "--only",
				   "quit-idle", "--", "/bin/sh", "-c", "exit 3", NULL}),
			76);
	ck_assert_uint_eq(json_array_size(json_object_get(document, "checks")), 2);
	ck_assert_str_eq(text_in(check_named(document, "start"), "fault"), "exited");
	ck_assert_str_eq(text_in(check_named(document, "quit-idle"), "result"), "not run");
	json_decref(document);
	document = results_of(fixture_wpool((const char *const[]){"check-worker", "--json",
				      "--only", "quit-idle", "--", PYTHON, FAULTY, "none", NULL}),
		0);
	ck_assert_uint_eq(json_array_size(json_object_get(document, "checks")), 1);
	ck_assert_str_eq(text_in(check_named(document, "quit-idle"), "result"), "ok");
	json_decref(document);
}
END_TEST

/* Those of concurrency 1, and those above it. */
START_TEST(the_page_has_every_check)
{
	static const struct {
		const char *concurrency, *own, *other;
	} runs[] = {{"1", "order", "at-once"}, {"2", "at-once", "order"}};
	char *page = scratch_read("docs/workers.md", NULL);
	json_t *document = results_of(
		fixture_wpool((const char *const[]){"check-worker", "--json", "--concurrency",
			runs[_i].concurrency, "--", "/no/such/program", NULL}),
		76);
	ck_assert_ptr_nonnull(check_named(document, runs[_i].own));
	ck_assert_ptr_null(check_named(document, runs[_i].other));
	const json_t *check;
	size_t i;
	json_array_foreach(json_object_get(document, "checks"), i, check)
	{
		char *row = scratch_text("| `%s` | %s | %s |\n", text_in(check, "check"),
			text_in(check, "sent"), text_in(check, "expected"));
		ck_assert_msg(strstr(page, row) != NULL, "docs/workers.md lacks: %s", row);
		free(row);
	}
	ck_assert_uint_gt(i, 30);
	json_decref(document);
	free(page);
}
END_TEST

/* ---------- commands that are no workers ---------- */

static const struct {
	const char *script;
	const char *fault;
} commands[] = {
	{"exit 3", "start:exited"},
	{"exec /no/such/program", "start:exited"},
	{"read address; exec sleep 1000", "start:not-connected"},
	{"exec sleep 1000", "start:not-connected"},
	{"exec yes", "start:prints-without-end"},
	{"exec yes >&2", "start:prints-without-end"},
	{"exec <&- >&- 2>&-; sleep 1000", "start:not-connected"},
	{"trap '' TERM HUP INT; sleep 1000 & sleep 1000", "start:not-connected"},
};

START_TEST(no_workers_get_a_verdict)
{
	const char *cause;
	json_t *document =
		results_of(fixture_wpool((const char *const[]){"check-worker", "--json", "--wait",
				   "1s", "--", "/bin/sh", "-c", commands[_i].script, NULL}),
			76);
	char *found = found_in(document, &cause);
	ck_assert_str_eq(found, commands[_i].fault);
	free(found);
	json_decref(document);
}
END_TEST

/* The process whose pid the script wrote. */
static pid_t pid_in(const char *path)
{
	for (int64_t deadline = deadline_in(DEADLINE_DEFAULT_MS);;) {
		char *text = scratch_read(path, NULL);
		pid_t pid = text && strchr(text, '\n') ? (pid_t)atol(text) : 0;
		free(text);
		if (pid > 0)
			return pid;
		fixture_poll(deadline, 10, "the script has written its pid");
	}
}

/* Also a daemon in a session of its own. The script ends when that is there, or not. */
static const char leaving[] = "setsid sh -c 'echo $$ >\"$1\"; exec sleep 1000' sh \"$0\" & "
			      "until [ -s \"$0\" ]; do sleep 0.01; done";
static const char lingering[] = "setsid sh -c 'echo $$ >\"$1\"; exec sleep 1000' sh \"$0\" & "
				"exec sleep 1000";

START_TEST(nothing_is_left_running)
{
	char *path = scratch_path(fixture.folder, "pid");
	json_decref(results_of(fixture_wpool((const char *const[]){"check-worker", "--json",
				       "--wait", LONG, "--", "/bin/sh", "-c", leaving, path, NULL}),
		76));
	proc_expect_gone(pid_in(path));
	free(path);
}
END_TEST

START_TEST(nothing_is_left_when_it_is_killed)
{
	char *path = scratch_path(fixture.folder, "pid");
	struct proc *proc = fixture_wpool((const char *const[]){
		"check-worker", "--wait", "1min", "--", "/bin/sh", "-c", lingering, path, NULL});
	pid_t pid = pid_in(path);
	proc_signal(proc, _i ? SIGINT : SIGKILL);
	ck_assert_int_eq(proc_wait(proc), 128 + (_i ? SIGINT : SIGKILL));
	proc_expect_gone(pid);
	free(path);
}
END_TEST

START_TEST(mistakes_are_named)
{
	static const struct {
		const char *arguments[8];
		int code;
		const char *part;
	} mistakes[] = {
		{{NULL}, 64, "no command of a worker"},
		{{"--pipe", "socket", "--", "true"}, 64, "is not path, fifo or corefx"},
		{{"--body", "text", "--", "true"}, 64, "is not auto, bin or str"},
		{{"--body", "bin", "--pipe", "corefx", "--", "true"}, 64, "bodies of type str"},
		{{"--concurrency", "0", "--", "true"}, 64, "no number from 1 to 10000"},
		{{"--concurrency", "10001", "--", "true"}, 64, "no number from 1 to 10000"},
		{{"--concurrency", "2", "--pipe", "corefx", "--", "true"}, 64, "has no ids"},
		{{"--concurrency", "2", "--only", "order", "--", "true"}, 64,
			"is for --concurrency 1"},
		{{"--only", "at-once", "--", "true"}, 64, "is for --concurrency above 1"},
		{{"--wait", "long", "--", "true"}, 64, "is no duration"},
		{{"--only", "quit-idel", "--", "true"}, 64, "did you mean quit-idle?"},
		{{"--only", "task-files", "--", "true"}, 64, "needs --task"},
		{{"--task", "/no/such/file", "--", "true"}, 66, "cannot read /no/such/file"},
	};
	for (int i = 0; i < COUNT(mistakes); i++) {
		const char *arguments[ARGUMENTS] = {"check-worker"};
		memcpy(arguments + 1, mistakes[i].arguments, sizeof mistakes[i].arguments);
		command_expect_text(command_run(mistakes[i].code, arguments), mistakes[i].part);
	}
}
END_TEST

int main(void)
{
	return SYSTEM_RUN("check_worker", {wrong_workers_are_named, 1}, {no_fault_is_left_out, 1},
		{right_workers_pass, 1}, {bodies_are_given, 1}, {a_fault_is_explained, 1},
		{the_last_lines_are_shown, 1}, {javascript_shows_what_it_can, 1},
		{javascript_gives_up_a_task, 1}, {accepted_tasks_are_shown, 1},
		{a_worker_may_end_with_its_answer, 1}, {one_task_at_a_time_is_shown, 1},
		{progress_counts_what_is_run, 1}, {a_check_alone_has_its_base, 1},
		{the_page_has_every_check, 2}, {no_workers_get_a_verdict, COUNT(commands)},
		{nothing_is_left_running, 1}, {nothing_is_left_when_it_is_killed, 2},
		{mistakes_are_named, 1});
}
