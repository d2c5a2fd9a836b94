/* wpool check-worker: it names the fault of each wrong worker, passes each right one, and ends in
 * bounded time whatever the command is. */
#include "harness/command.h"
#include "harness/deadline.h"
#include "system/system.h"

#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#define PYTHON    "/usr/bin/python3"
#define FAULTY    "tests/workers/faulty.py"
#define ARGUMENTS 12
#define GROUP     11 /* workers that are checked at once: most of the time they wait */
#define COUNT(a)  ((int)(sizeof(a) / sizeof *(a)))

/* ---------- wrong workers ---------- */

/* What must be wrong, and nothing else: "check:fault", in the order of the checks. */
static const struct {
	const char *fault; /* of faulty.py */
	const char *found;
	const char *cause; /* a part of the first one */
} wrong[] = {
	{"another-session", "start:wrong-session", "session of its own"},
	{"answers-last-first", "frame-in-parts:no-answer order:wrong-order", "Answer and flush"},
	{"answers-twice", "one-answer:answer-without-task context-switch:answer-without-task",
		"answers a task twice"},
	{"bare-value", "task:bad-output", "must be a map"},
	{"batches", "frame-in-parts:no-answer", "Answer and flush before the next read"},
	{"counts-characters", "body-text:bad-output", "count bytes, not characters"},
	{"counts-length-itself", "task:half-frame", "counts its own 4 bytes"},
	{"dies-of-errors",
		"body-empty:exited body-text:exited body-binary:exited body-sizes:exited "
		"body-large:exited "
		"error:exited reject:exited",
		"does not catch"},
	{"does-not-wait", "start-late:exited", "does not wait for its first line"},
	{"drops-task-at-quit", "quit-busy:exited", "without the answer to its current task"},
	{"drops-what-is-behind",
		"frames-together:no-answer frame-in-parts:no-answer two-in-the-pipe:no-answer "
		"order:no-answer",
		"drops what one read returned behind the first frame"},
	{"ends-with-one",
		"quit-at-once:exit-status quit-idle:exit-status quit-busy:exit-status "
		"end-of-data:exit-status",
		"handled as an error"},
	{"forgets-empty-bodies", "body-empty:no-answer error:no-answer reject:no-answer",
		"takes an empty body for no task"},
	{"greets",
		"one-answer:answer-without-task quit-at-once:answer-without-task "
		"end-in-frame:answer-without-task context-switch:answer-without-task",
		"answers a task twice"},
	{"ignores-term", "term:does-not-exit", "ignores SIGTERM"},
	{"json-in-frames", "task:bad-output", "it writes JSON"},
	{"keys-in-words", "task:bad-output", "key \"1\""},
	{"knows-only-short-texts", "body-sizes:exited error:exited", "every form of str"},
	{"leaves-a-child", "processes:leaves-processes", "does not end them"},
	{"little-endian", "task:bad-length", "big-endian"},
	{"loops-at-the-end", "end-in-frame:does-not-exit", "does not end at end of file"},
	{"one-read-address", "first-line:exited", "ends at the first newline"},
	{"only-progress", "task:only-progress", "still needs an answer"},
	{"prints-frames", "stdout:no-text-on-stdout", "belong on the data pipe"},
	{"quits-at-context-switch", "context-switch:exited", "for __quit__"},
	{"quits-at-every-line", "first-line:exited unknown-lines:exited context-switch:exited",
		"first newline"},
	{"reads-once", "body-large:exited bytes-one-by-one:exited frame-in-parts:exited",
		"read until L bytes have come"},
	{"refuses-unknown-keys", "unknown-keys:exited", "must skip them"},
	{"sizes-in-characters", "body-text:bad-output", "longer than its size"},
	{"status-as-text", "task:bad-output", "pack an integer"},
	{"takes-bodies-for-text", "body-binary:exited body-sizes:exited error:exited reject:exited",
		"str or bin"},
	{"without-length", "task:bad-length", "without its 4 bytes of length"},
	{"without-status", "task:bad-output", "key \"1\""},
	{"writes-json", "task:bad-length", "such as JSON"},
	{"writes-once", "body-large:half-frame", "was not repeated"},
	{"writes-text", "task:bad-length", "it writes text"},
};

#define GROUPS ((COUNT(wrong) + GROUP - 1) / GROUP)

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

static void expect_found(json_t *document, int i)
{
	const char *cause;
	char *found = found_in(document, &cause);
	ck_assert_msg(strcmp(found, wrong[i].found) == 0, "%s: found %s, not %s", wrong[i].fault,
		found, wrong[i].found);
	ck_assert_msg(strstr(cause, wrong[i].cause) != NULL, "%s: the cause is: %s", wrong[i].fault,
		cause);
	ck_assert(json_is_false(json_object_get(document, "right")));
	free(found);
	json_decref(document);
}

START_TEST(wrong_workers_are_named)
{
	struct proc *procs[GROUP] = {NULL};
	int first = _i * GROUP;
	for (int i = first; i < first + GROUP && i < COUNT(wrong); i++)
		procs[i - first] = fixture_wpool((const char *const[]){"check-worker", "--json",
			"--wait", "5s", "--", PYTHON, FAULTY, wrong[i].fault, NULL});
	for (int i = first; i < first + GROUP && i < COUNT(wrong); i++)
		expect_found(results_of(procs[i - first], 76), i);
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
		ck_assert_msg(i < COUNT(wrong) || strcmp(name, "none") == 0, "%s", name);
		rows += i < COUNT(wrong);
	}
	ck_assert_int_eq(rows, COUNT(wrong));
	free(list);
	proc_free(proc);
}
END_TEST

/* ---------- right workers ---------- */

static const struct {
	const char *pipe;
	const char *built, *program; /* one of them, the other NULL */
	const char *arguments[3];
} right[] = {
	{"path", "samples/fibonacci", NULL, {NULL}},
	{"fifo", "samples/fibonacci", NULL, {NULL}},
	{"corefx", "samples/fibonacci", NULL, {NULL}},
	{"path", "samples/word_count", NULL, {NULL}},
	{"path", NULL, PYTHON, {"samples/python/fibonacci.py"}},
	{"fifo", NULL, PYTHON, {"samples/python/word_count.py"}},
	{"path", NULL, "perl", {"samples/perl/fibonacci.pl"}},
	{"path", NULL, PYTHON, {FAULTY, "none"}},
	{"path", "workers/echo", NULL, {NULL}},
	{"path", "workers/evil", NULL, {"byte-by-byte"}},
	{"corefx", "workers/legacy_dotnet", NULL, {NULL}},
};

START_TEST(right_workers_pass)
{
	const char *arguments[ARGUMENTS] = {"check-worker", "--json", "--pipe", right[_i].pipe,
		"--", right[_i].program ? right[_i].program : fixture_built(right[_i].built)};
	for (int i = 0; i < COUNT(right[_i].arguments); i++)
		arguments[6 + i] = right[_i].arguments[i];
	json_t *document = results_of(fixture_wpool(arguments), 0);
	ck_assert(json_is_true(json_object_get(document, "right")));
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

START_TEST(the_page_has_every_check)
{
	char *page = scratch_read("docs/workers.md", NULL);
	json_t *document = results_of(fixture_wpool((const char *const[]){"check-worker", "--json",
					      "--", "/no/such/program", NULL}),
		76);
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

/* Also a daemon in a session of its own. */
static const char lingering[] = "setsid sh -c 'echo $$ >\"$1\"; exec sleep 1000' sh \"$0\" & "
				"exec sleep 1000";

START_TEST(nothing_is_left_running)
{
	char *path = scratch_path(fixture.folder, "pid");
	json_decref(
		results_of(fixture_wpool((const char *const[]){"check-worker", "--json", "--wait",
				   "2s", "--", "/bin/sh", "-c", lingering, path, NULL}),
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
		const char *arguments[6];
		int code;
		const char *part;
	} mistakes[] = {
		{{NULL}, 64, "no command of a worker"},
		{{"--pipe", "socket", "--", "true"}, 64, "is not path, fifo or corefx"},
		{{"--body", "text", "--", "true"}, 64, "is not auto, bin or str"},
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
	return SYSTEM_RUN("check_worker", {wrong_workers_are_named, GROUPS},
		{no_fault_is_left_out, 1}, {right_workers_pass, COUNT(right)},
		{bodies_are_given, 1}, {a_fault_is_explained, 1}, {the_last_lines_are_shown, 1},
		{the_page_has_every_check, 1}, {no_workers_get_a_verdict, COUNT(commands)},
		{nothing_is_left_running, 1}, {nothing_is_left_when_it_is_killed, 2},
		{mistakes_are_named, 1});
}
