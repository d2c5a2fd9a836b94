/* What a worker inherits, though the supervisor itself was started with signals ignored and
 * blocked, with stray descriptors and a limit of its own: nothing of that. A worker tells by its
 * reply what its process is like; one that is no more than cat, before any library of ours has
 * touched them, what its signals are. */
#include "fault/account.h"
#include "fault/fault.h"
#include "fault/watch.h"

#include <stdio.h>
#include <string.h>

#define OPEN_FILES 777

/* The shell opens the descriptors and sets the limit, env spoils the signals. */
static struct proc *serve(const char *pools)
{
	static const char *const starter[] = {"/bin/sh", "-c",
		"ulimit -Sn 777; exec 7</dev/null 9</dev/null; "
		"exec env --ignore-signal --block-signal \"$@\"",
		"sh", NULL};
	return fixture_serve_under(starter, pools);
}

static void expect_in(const char *text, const char *wanted)
{
	ck_assert_msg(strstr(text, wanted) != NULL, "no %s in %s", wanted, text);
}

/* The SDK keeps its control line elsewhere and opens /dev/null for 0; its threads have an eventfd,
 * the worker has its witness, and its form of the pipe needs one or two. Nothing else. */
static void expect_descriptors(const char *report, const char *form)
{
	const char *at = strstr(report, "\"descriptors\": {");
	const char *end = at ? strchr(at, '}') : NULL;
	ck_assert_ptr_nonnull(end);
	char *list = strndup(at, (size_t)(end - at));
	int count = 0;
	for (const char *one = list; (one = strstr(one, "\": \"")); one++)
		count++;
	ck_assert_msg(count == (strcmp(form, "fifo") == 0 ? 8 : 7), "%s: %s", form, list);
	expect_in(list, fixture.witness);
	free(list);
}

static void expect_number(const char *report, const char *name, long wanted)
{
	char *pair = scratch_text("\"%s\": %ld,", name, wanted);
	expect_in(report, pair);
	free(pair);
}

static void expect_report(const char *report, const char *form, pid_t supervisor)
{
	const char *pid = strstr(report, "\"pid\": ");
	ck_assert_ptr_nonnull(pid);
	long number = atol(pid + strlen("\"pid\": "));
	expect_number(report, "pgid", number);
	expect_number(report, "ppid", supervisor);
	expect_in(report, "\"parent_death_signal\": 9");
	expect_number(report, "open_files", OPEN_FILES);
	char *session = scratch_text("\"sid\": %ld", number);
	expect_in(report, session);
	free(session);
	expect_in(report, "\"SigBlk\": \"0000000000000000\"");
	expect_in(report, "\"WPOOL_WORKER\": \"");
	expect_descriptors(report, form);
}

static void look(const char *form, struct tally *tally, long calls)
{
	char *pool = scratch_text("- {queue: %s, command: [\"%s\"], workers: 3, pipeline: 1,\n"
				  "   pipe: %s, retry: {delay: [100ms]}}\n",
		fixture.queue, fixture_built("workers/echo"), form);
	struct proc *proc = serve(pool);
	client_expect_consumers(fixture.client, fixture.queue, 1);
	for (long i = 0; i < calls && fault_next(tally); i++) {
		struct message *reply = client_call(fixture.client, fixture.queue,
			&(struct letter){.body = "",
				.correlation_id = "0",
				.headers = {{"X-Status", "201"}, {"X-Report", "process"}}});
		expect_report(reply->body, form, proc_pid(proc));
		message_free(reply);
		tally->asked++;
		tally->done++;
	}
	fixture_stop(proc);
	watch_note_turns(proc, tally);
	fixture_free_program(proc);
	free(pool);
}

/* Not a worker: its standard output is read from the log. */
static char *output_of(const char *command, struct tally *tally)
{
	char *pool =
		scratch_text("- {queue: %s, command: [%s], workers: 1}\n", fixture.queue, command);
	struct proc *proc = serve(pool);
	proc_expect(proc, "worker died: ");
	char *said = proc_stderr(proc);
	fixture_stop(proc);
	watch_note_turns(proc, tally);
	fixture_free_program(proc);
	free(pool);
	return said;
}

static void look_at_signals(struct tally *tally)
{
	static const char *const masks[] = {"SigPnd:", "SigBlk:", "SigIgn:", "SigCgt:"};
	char *said = output_of("/bin/cat, /proc/self/status", tally);
	for (size_t i = 0; i < sizeof masks / sizeof *masks; i++) {
		const char *at = strstr(said, masks[i]), *end = at ? strchr(at, '\n') : NULL;
		ck_assert_ptr_nonnull(end);
		ck_assert_msg(strncmp(end - 16, "0000000000000000", 16) == 0, "%.40s", at);
	}
	free(said);
}

/* 0 to 2, all of them pipes, and the folder that ls itself reads. */
static void look_at_descriptors(struct tally *tally)
{
	char *said = output_of("/bin/ls, -l, /proc/self/fd", tally);
	int count = 0;
	expect_in(said, " 0 -> pipe:[");
	expect_in(said, " 1 -> pipe:[");
	expect_in(said, " 2 -> pipe:[");
	expect_in(said, " 3 -> /proc/");
	for (const char *at = said; (at = strstr(at, " -> ")); at++)
		count++;
	ck_assert_msg(count == 4, "%s", said);
	free(said);
}

static void run(struct tally *tally)
{
	static const char *const forms[] = {"path", "fifo", "corefx"};
	long each = fault_trials() / 3;
	tally->unit = "reports";
	for (int i = 0; i < 3; i++)
		look(forms[i], tally, i == 2 ? fault_trials() : each);
	look_at_signals(tally);
	look_at_descriptors(tally);
	snprintf(tally->note, sizeof tally->note,
		"all three pipe forms; signals ignored and blocked, descriptors and limit around wpool "
		"do not reach a worker");
}

int main(void)
{
	return fault_main(&(struct fault){
		.row = 19, .name = "inheritance", .few = 9, .full = 300, .run = run});
}
