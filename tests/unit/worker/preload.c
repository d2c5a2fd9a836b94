/* Workers that a preloaded process forks: alike to executed ones, in every form of pipe; and
 * preloaded processes that break what worker-sdk/PROTOCOL.md, section 17, asks of them. */
#include "unit/support/process/child.h"
#include "unit/support/worker/workers_rig.h"

#include "process/reaper.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---------- the preloaded process: this program again ---------- */

static const char *const names[] = {
	"WPOOL_SLOT", "WPOOL_WORKERS", "WPOOL_WORKER", "WPOOL_LAST_EXIT"};

/* Receive a request: its lines, which become variables, and three descriptors. False: end of file.
 */
static bool receive(int streams[3])
{
	char lines[500], *rest = lines, *line;
	union {
		char bytes[CMSG_SPACE(3 * sizeof(int))];
		struct cmsghdr aligned;
	} control;
	struct iovec part = {lines, sizeof lines - 1};
	struct msghdr message = {.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof control.bytes};
	ssize_t n = recvmsg(0, &message, 0);
	if (n <= 0)
		return false;
	lines[n] = '\0';
	for (int i = 0; (line = strsep(&rest, "\n")) && *line; i++) {
		size_t len = strcspn(line, "=");
		if (i > 3 || strlen(names[i]) != len || strncmp(line, names[i], len) != 0)
			exit(91);
		line[len] = '\0';
		setenv(line, line + len + 1, 1);
	}
	memcpy(streams, CMSG_DATA(CMSG_FIRSTHDR(&message)), 3 * sizeof(int));
	return true;
}

/* Its pid is told by itself, so that it leads its session by then. */
static _Noreturn void be_worker(const char *form, const int streams[3], bool leads, int up)
{
	pid_t pid = getpid();
	if (leads)
		setsid();
	if (write(up, &pid, sizeof pid) != sizeof pid)
		exit(95);
	while (!leads)
		pause(); /* whatever happens to its streams */
	for (int i = 0; i < 3; i++) {
		dup2(streams[i], i);
		close(streams[i]);
	}
	unsetenv("WPOOL_PRELOAD");
	const char *last_exit = getenv(names[3]);
	fprintf(stderr, "slot %s of %s, before %s\n", getenv(names[0]), getenv(names[1]),
		last_exit ? last_exit : "none");
	exit(child_run(form, "echo"));
}

static pid_t fork_twice(const char *form, const int streams[3], bool leads)
{
	int ends[2];
	pid_t pid = 0;
	if (pipe(ends) < 0)
		exit(92);
	pid_t middle = fork();
	if (middle == 0) {
		if (fork() == 0)
			be_worker(form, streams, leads, ends[1]);
		_exit(0);
	}
	if (read(ends[0], &pid, sizeof pid) != sizeof pid)
		exit(93);
	waitpid(middle, NULL, 0);
	close(ends[0]);
	close(ends[1]);
	return pid;
}

static void send_text(const char *text)
{
	if (send(0, text, strlen(text), MSG_NOSIGNAL) < 0)
		exit(94);
}

static void send_pid(pid_t pid)
{
	char digits[16];
	snprintf(digits, sizeof digits, "%d", (int)pid);
	send_text(digits);
}

static pid_t pid_of_ended_process(void)
{
	pid_t pid = fork();
	if (pid == 0)
		_exit(0);
	waitpid(pid, NULL, 0);
	return pid;
}

/* Have the supervisor look at its orphans, and wait for SIGUSR1. */
static void be_looked_at(pid_t worker)
{
	sigset_t signals;
	int number;
	sigemptyset(&signals);
	sigaddset(&signals, SIGUSR1);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	pid_t middle = fork();
	if (middle == 0)
		_exit(fork() < 0);
	waitpid(middle, NULL, 0);
	fprintf(stderr, "forked %d\n", (int)worker);
	sigwait(&signals, &number);
}

/* More than one read of the supervisor. */
static void write_last_words(void)
{
	for (int i = 0; i < 300; i++)
		fprintf(stdout, "%080d\n", i), fprintf(stderr, "%080d\n", i);
	fflush(stdout);
	fprintf(stderr, "no model\n");
}

static int preloaded_run(const char *form, const char *mode)
{
	int streams[3];
	const char *mark = getenv(names[2]);
	bool is_loud = strcmp(mode, "dies") == 0;
	if (!mark || strcmp(mark + strlen(mark) - 2, "/0") != 0)
		return 96; /* of one life only: what its workers start would end with it */
	if (strcmp(mode, "exits") == 0)
		return 7;
	if (strcmp(mode, "closes") == 0)
		close(0);
	while (strcmp(mode, "unasked") == 0)
		send_pid(getpid());
	if (strcmp(mode, "closes") == 0 || strcmp(mode, "silent") == 0)
		pause();
	while (receive(streams)) {
		if (is_loud) {
			write_last_words();
			return 3;
		}
		if (strcmp(mode, "refuses") == 0)
			send_text("the model is gone");
		else if (strcmp(mode, "self") == 0)
			send_pid(getpid());
		else if (strcmp(mode, "parent") == 0)
			send_pid(getppid());
		else if (strcmp(mode, "gone") == 0)
			send_pid(pid_of_ended_process());
		else if (strcmp(mode, "digits") == 0)
			send_text("12x");
		else if (strcmp(mode, "large") == 0)
			send_text("99999999999999999999");
		else if (strcmp(mode, "hangs") == 0 && strcmp(getenv(names[0]), "0") != 0)
			pause();
		else {
			pid_t worker = fork_twice(form, streams, strcmp(mode, "sessionless") != 0);
			if (strcmp(mode, "late") == 0)
				be_looked_at(worker);
			send_pid(worker);
		}
		for (int i = 0; i < 3; i++)
			close(streams[i]);
		if (strcmp(mode, "once") == 0)
			return 5;
	}
	return 0;
}

/* ---------- the tests ---------- */

static const enum pipe_form forms[] = {PIPE_PATH, PIPE_FIFO, PIPE_COREFX};

static void open_rig(
	struct workers_rig *rig, enum pipe_form form, const char *mode, uint16_t workers)
{
	workers_rig_open(rig, form, mode, workers);
	rig->config.is_preloaded = true;
	rig->config.boot_limit = 15 * MTIME_SECOND;
}

static void start(struct workers_rig *rig, const char *mode, uint16_t workers)
{
	open_rig(rig, PIPE_PATH, mode, workers);
	for (uint16_t slot = 0; slot < workers; slot++)
		workers_request(rig->workers, slot, 1, SLOT_SPAWN);
}

static void expect_logged(struct workers_rig *rig, const char *text)
{
	ck_assert_msg(strstr(workers_rig_log(rig), text) != NULL, "'%s' is not in:\n%s", text,
		workers_rig_log(rig));
}

static size_t count_logged(struct workers_rig *rig, const char *text)
{
	size_t count = 0;
	for (const char *at = workers_rig_log(rig); (at = strstr(at, text)); at++)
		count++;
	return count;
}

static void await_logged(struct workers_rig *rig, const char *text)
{
	while (!strstr(workers_rig_log(rig), text))
		workers_rig_turn(rig);
}

static pid_t number_behind(struct workers_rig *rig, const char *text)
{
	expect_logged(rig, text);
	return (pid_t)atol(strstr(workers_rig_log(rig), text) + strlen(text));
}

static pid_t last_number_behind(struct workers_rig *rig, const char *text)
{
	pid_t number = 0;
	for (const char *at = workers_rig_log(rig); (at = strstr(at, text)); at += strlen(text))
		number = (pid_t)atol(at + strlen(text));
	return number;
}

static size_t count_descriptors(void)
{
	size_t count = 0;
	for (int fd = 0; fd < 1000; fd++)
		count += fcntl(fd, F_GETFD) >= 0;
	return count;
}

static void expect_not_forked(struct workers_rig *rig, int error)
{
	const struct event *gone = workers_rig_expect(rig, SLOT_GONE);
	ck_assert_int_eq(gone->slot.exit.kind, EXIT_NOT_STARTED);
	ck_assert_str_eq(gone->slot.exit.stage, "preload");
	ck_assert_int_eq(gone->slot.exit.number, error);
}

START_TEST(forked_workers_work_and_quit)
{
	enum { COUNT = 5 };
	struct workers_rig rig;
	open_rig(&rig, forms[_i], "good", COUNT);
	for (uint16_t slot = 0; slot < COUNT; slot++)
		workers_request(rig.workers, slot, 1, SLOT_SPAWN);
	for (int i = 0; i < COUNT; i++) {
		uint16_t slot = workers_rig_expect(&rig, SLOT_READY)->slot.slot;
		pid_t pid = workers_pid(rig.workers, slot, 1);
		ck_assert_int_eq(getsid(pid), pid);
	}
	for (uint16_t slot = 0; slot < COUNT; slot++) {
		ck_assert_int_eq(workers_rig_send(&rig, slot, 1000), SEND_OK);
		workers_rig_expect_status(&rig, STATUS_DONE);
	}
	for (uint16_t slot = 0; slot < COUNT; slot++) {
		workers_request(rig.workers, slot, 1, SLOT_QUIT);
		workers_rig_expect_gone(&rig, EXIT_STATUS, 0);
	}
	expect_logged(&rig, "slot 0 of 5, before none");
	expect_logged(&rig, "slot 4 of 5, before none");
	ck_assert_uint_eq(count_logged(&rig, "the preloaded process was started"), 1);
	ck_assert_uint_eq(count_logged(&rig, "forked its first worker"), 1);
	workers_rig_close(&rig);
}
END_TEST

/* A crash of a worker costs a fork. */
START_TEST(a_killed_worker_is_forked_again)
{
	struct workers_rig rig;
	start(&rig, "good", 1);
	workers_rig_expect(&rig, SLOT_READY);
	char wanted[64];
	snprintf(wanted, sizeof wanted, "slot 0 of 1, before %d signal 9",
		(int)workers_pid(rig.workers, 0, 1));
	workers_request(rig.workers, 0, 1, SLOT_KILL);
	const struct event *event;
	do
		event = &rig.pool->events[workers_rig_next(&rig)];
	while (event->kind == SLOT_WRITABLE); /* its pipe may end before it */
	ck_assert_int_eq(event->kind, SLOT_GONE);
	ck_assert_int_eq(event->slot.exit.number, SIGKILL);
	workers_request(rig.workers, 0, 2, SLOT_SPAWN);
	ck_assert_uint_eq(workers_rig_expect(&rig, SLOT_READY)->slot.life, 2);
	await_logged(&rig, wanted);
	ck_assert_uint_eq(count_logged(&rig, "the preloaded process was started"), 1);
	workers_rig_close(&rig);
}
END_TEST

/* Each start fails with the reason, and none hangs. */
START_TEST(bad_answers_fail_the_start)
{
	static const struct {
		const char *mode;
		int error;
		const char *log, *words;
	} cases[] = {
		{"dies", ESRCH, "ended with exit status 3: it forked no worker", "no model"},
		{"exits", ESRCH, "ended with exit status 7: it forked no worker", ""},
		{"closes", ESRCH, "ended with signal 9", ""},
		{"unasked", ESRCH, NULL, ""},
		{"refuses", ECANCELED, "the preloaded process cannot fork: the model is gone", ""},
		{"digits", ECANCELED, "the preloaded process cannot fork: 12x", ""},
		{"large", ECANCELED, "cannot fork: 99999999999999999999", ""},
		{"self", EPROTO, "which is no worker: wpool knows it already", ""},
		{"parent", EPROTO, "it is no child of wpool", ""},
		{"gone", ECHILD, "which is no worker: it has ended", ""},
		{"sessionless", EPROTO, "it does not lead a session", ""},
	};
	struct workers_rig rig;
	start(&rig, cases[_i].mode, 1);
	for (uint32_t life = 1; life <= 3; life++) {
		if (strcmp(cases[_i].mode, "unasked") == 0)
			ck_assert_int_eq(workers_rig_expect(&rig, SLOT_GONE)->slot.exit.kind,
				EXIT_NOT_STARTED);
		else
			expect_not_forked(&rig, cases[_i].error);
		ck_assert_str_eq(rig.pool->words, cases[_i].words);
		workers_request(rig.workers, 0, life + 1, SLOT_SPAWN);
	}
	if (cases[_i].log)
		expect_logged(&rig, cases[_i].log);
	size_t started = count_logged(&rig, "the preloaded process was started");
	ck_assert_uint_ge(started, 1);
	ck_assert_uint_le(started, 4); /* it is not started for nothing */
	ck_assert_uint_le(count_logged(&rig, "answered without a request"), started);
	workers_rig_close(&rig);
}
END_TEST

/* It would wait for ever, because no part of wpool knows it. */
START_TEST(a_process_that_is_no_worker_is_killed)
{
	struct workers_rig rig;
	start(&rig, "sessionless", 1);
	expect_not_forked(&rig, EPROTO);
	pid_t pid = number_behind(&rig, "the preloaded process answered ");
	while (kill(pid, 0) == 0)
		workers_rig_turn(&rig);
	workers_rig_close(&rig);
}
END_TEST

START_TEST(a_missing_program_fails_all)
{
	struct workers_rig rig;
	open_rig(&rig, PIPE_PATH, "good", 3);
	rig.command[0] = (char *)"/nowhere/at/all";
	for (uint16_t slot = 0; slot < 3; slot++)
		workers_request(rig.workers, slot, 1, SLOT_SPAWN);
	for (int i = 0; i < 3; i++) {
		const struct event *gone = workers_rig_expect(&rig, SLOT_GONE);
		ck_assert_str_eq(gone->slot.exit.stage, "exec");
		ck_assert_int_eq(gone->slot.exit.number, ENOENT);
	}
	workers_rig_close(&rig);
}
END_TEST

/* It is started again for those that wait; the one that was with it fails. */
START_TEST(one_that_ends_after_a_fork_is_replaced)
{
	struct workers_rig rig;
	unsigned ready = 0, gone = 0;
	start(&rig, "once", 4);
	while (ready + gone < 4) {
		const struct event *event = &rig.pool->events[workers_rig_next(&rig)];
		ready += event->kind == SLOT_READY;
		gone += event->kind == SLOT_GONE;
	}
	ck_assert_uint_ge(ready, 2);
	ck_assert_uint_ge(count_logged(&rig, "the preloaded process was started"), 2);
	expect_logged(&rig, "ended with exit status 5: it is started again");
	workers_rig_close(&rig);
}
END_TEST

/* The exit may be seen before the answer. */
START_TEST(the_answer_before_its_end_counts)
{
	struct workers_rig rig;
	siginfo_t info;
	start(&rig, "once", 1);
	pid_t pid = number_behind(&rig, "\"pid\":");
	ck_assert_int_eq(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
	workers_rig_expect(&rig, SLOT_READY);
	workers_rig_close(&rig);
}
END_TEST

/* Until the answer it is an orphan that nobody knows. */
START_TEST(a_worker_is_adopted_from_the_strays)
{
	struct workers_rig rig;
	start(&rig, "late", 1);
	await_logged(&rig, "forked ");
	pid_t preload = number_behind(&rig, "\"pid\":"), worker = number_behind(&rig, "forked ");
	while (!reaper_knows(rig.reaper, worker))
		workers_rig_turn(&rig);
	kill(preload, SIGUSR1);
	workers_rig_expect(&rig, SLOT_READY);
	ck_assert_int_eq(workers_pid(rig.workers, 0, 1), worker);
	workers_request(rig.workers, 0, 1, SLOT_QUIT);
	workers_rig_expect_gone(&rig, EXIT_STATUS, 0);
	workers_rig_close(&rig);
}
END_TEST

/* One that does not answer in time is killed, though its worker is not wanted any more. */
START_TEST(one_that_hangs_is_killed_and_replaced)
{
	struct workers_rig rig;
	open_rig(&rig, PIPE_PATH, "hangs", 2);
	workers_request(rig.workers, 0, 1, SLOT_SPAWN);
	ck_assert_uint_eq(workers_rig_expect(&rig, SLOT_READY)->slot.slot, 0);
	rig.config.boot_limit = 50 * MTIME_MS;
	workers_request(rig.workers, 1, 1, SLOT_SPAWN);
	if (_i == 0)
		workers_request(rig.workers, 1, 1, SLOT_KILL);
	expect_not_forked(&rig, _i == 0 ? ECANCELED : ESRCH);
	rig.config.boot_limit = 15 * MTIME_SECOND;
	await_logged(&rig, "ended with signal 9: it is started again");
	expect_logged(&rig, "forked no worker in time");
	workers_request(rig.workers, 0, 1, SLOT_QUIT);
	workers_rig_expect_gone(&rig, EXIT_STATUS, 0);
	workers_request(rig.workers, 0, 2, SLOT_SPAWN);
	workers_rig_expect(&rig, SLOT_READY);
	workers_rig_close(&rig);
}
END_TEST

/* Before it was forked at all, or while it is. What comes of it is killed, no later worker gets its
 * pipe, and the process need not load again. */
START_TEST(a_worker_may_leave_before_it_is_forked)
{
	static const enum slot_request requests[] = {SLOT_QUIT, SLOT_KILL};
	struct workers_rig rig;
	open_rig(&rig, PIPE_PATH, "good", 2);
	for (int slot = 1; slot >= 0; slot--)
		workers_request(rig.workers, (uint16_t)slot, 1, SLOT_SPAWN);
	size_t before = count_descriptors();
	workers_request(rig.workers, 0, 1, requests[_i]);
	workers_request(rig.workers, 1, 1, requests[_i]);
	expect_not_forked(&rig, ECANCELED);
	expect_not_forked(&rig, ECANCELED);
	ck_assert_uint_le(count_descriptors() + 2 * 6, before);
	workers_request(rig.workers, 1, 2, SLOT_SPAWN);
	ck_assert_uint_eq(workers_rig_expect(&rig, SLOT_READY)->slot.slot, 1);
	ck_assert_uint_eq(count_logged(&rig, "the preloaded process was started"), 1);
	workers_rig_close(&rig);
}
END_TEST

/* ---------- restarts ---------- */

static void expect_ends(struct workers_rig *rig, pid_t pid)
{
	while (kill(pid, 0) == 0)
		workers_rig_turn(rig);
}

/* One worker of two is ready, and a restart has begun, with a program of this mode. Return the pid
 * of the process that is to be replaced. */
static pid_t begin_restart(struct workers_rig *rig, const char *mode)
{
	open_rig(rig, PIPE_PATH, "good", 2);
	workers_request(rig->workers, 0, 1, SLOT_SPAWN);
	workers_rig_expect(rig, SLOT_READY);
	rig->command[2] = (char *)mode;
	workers_renew_preload(rig->workers);
	return number_behind(rig, "\"pid\":");
}

static void expect_ready_again(struct workers_rig *rig, uint16_t slot, uint32_t life)
{
	workers_request(rig->workers, slot, life, SLOT_QUIT);
	workers_rig_expect_gone(rig, EXIT_STATUS, 0);
	workers_request(rig->workers, slot, life + 1, SLOT_SPAWN);
	workers_rig_expect(rig, SLOT_READY);
}

START_TEST(the_former_process_ends_when_all_workers_are_new)
{
	struct workers_rig rig;
	pid_t former = begin_restart(&rig, "good");
	workers_request(rig.workers, 1, 1, SLOT_SPAWN);
	workers_rig_expect(&rig, SLOT_READY);
	ck_assert_uint_eq(count_logged(&rig, "the preloaded process was started"), 2);
	ck_assert_int_eq(kill(former, 0), 0);
	workers_settle_preload(rig.workers, true);
	expect_ends(&rig, former);
	expect_ready_again(&rig, 0, 1);
	ck_assert_uint_eq(count_logged(&rig, "the preloaded process was started"), 2);
	workers_rig_close(&rig);
}
END_TEST

/* Whatever is wrong with the new one, the former one forks the next worker. */
START_TEST(the_former_process_forks_again_when_a_restart_is_given_up)
{
	static const struct {
		const char *mode, *words;
		int error;
	} cases[] = {{"dies", "no model", ESRCH}, {"exits", "", ESRCH}, {"refuses", "", ECANCELED}};
	struct workers_rig rig;
	pid_t former = begin_restart(&rig, cases[_i].mode);
	for (uint32_t life = 1; life <= 3; life++) {
		workers_request(rig.workers, 1, life, SLOT_SPAWN);
		expect_not_forked(&rig, cases[_i].error);
		ck_assert_str_eq(rig.pool->words, cases[_i].words);
	}
	ck_assert_int_eq(kill(former, 0), 0);
	size_t started = count_logged(&rig, "the preloaded process was started");
	workers_settle_preload(rig.workers, false);
	workers_request(rig.workers, 1, 4, SLOT_SPAWN);
	workers_rig_expect(&rig, SLOT_READY);
	expect_ready_again(&rig, 0, 1);
	ck_assert_uint_eq(count_logged(&rig, "the preloaded process was started"), started);
	ck_assert_int_eq(kill(former, 0), 0);
	/* Held no more: it is started again, now with the other program. */
	kill(former, SIGKILL);
	await_logged(&rig, "ended with signal 9: it is started again");
	workers_rig_close(&rig);
}
END_TEST

/* The request that it has fails with it. */
START_TEST(a_silent_process_ends_when_the_restart_is_given_up)
{
	struct workers_rig rig;
	begin_restart(&rig, "silent");
	workers_request(rig.workers, 1, 1, SLOT_SPAWN);
	ck_assert_uint_eq(count_logged(&rig, "the preloaded process was started"), 2);
	pid_t silent = last_number_behind(&rig, "\"pid\":");
	ck_assert_int_eq(kill(silent, 0), 0);
	workers_settle_preload(rig.workers, false);
	expect_not_forked(&rig, ECANCELED);
	expect_ends(&rig, silent);
	workers_request(rig.workers, 1, 2, SLOT_SPAWN);
	workers_rig_expect(&rig, SLOT_READY);
	workers_rig_close(&rig);
}
END_TEST

/* A second restart replaces the process of the first. */
START_TEST(a_second_restart_keeps_the_former_process)
{
	struct workers_rig rig;
	pid_t former = begin_restart(&rig, "exits");
	workers_request(rig.workers, 1, 1, SLOT_SPAWN);
	expect_not_forked(&rig, ESRCH);
	rig.command[2] = (char *)"good";
	workers_renew_preload(rig.workers);
	workers_request(rig.workers, 1, 2, SLOT_SPAWN);
	workers_rig_expect(&rig, SLOT_READY);
	ck_assert_uint_eq(count_logged(&rig, "the preloaded process was started"), 3);
	ck_assert_int_eq(kill(former, 0), 0);
	workers_settle_preload(rig.workers, true);
	expect_ends(&rig, former);
	workers_settle_preload(rig.workers, true); /* there is nothing to do */
	expect_ready_again(&rig, 1, 2);
	ck_assert_uint_eq(count_logged(&rig, "the preloaded process was started"), 3);
	workers_rig_close(&rig);
}
END_TEST

/* It would load what the restart is about. */
START_TEST(a_former_process_that_ends_is_not_started_again)
{
	struct workers_rig rig;
	pid_t former = begin_restart(&rig, "good");
	kill(former, SIGKILL);
	await_logged(&rig, "ended with signal 9: the restart goes on without it");
	workers_request(rig.workers, 1, 1, SLOT_SPAWN);
	workers_rig_expect(&rig, SLOT_READY);
	ck_assert_uint_eq(count_logged(&rig, "the preloaded process was started"), 2);
	workers_settle_preload(rig.workers, false);
	expect_logged(&rig, "the former preloaded process has ended, too");
	expect_ready_again(&rig, 1, 1);
	ck_assert_uint_eq(count_logged(&rig, "the preloaded process was started"), 3);
	workers_rig_close(&rig);
}
END_TEST

/* The one that came after it has forked a worker, and so is kept in the next restart. */
START_TEST(the_next_restart_keeps_the_process_of_one_without_a_former_one)
{
	struct workers_rig rig;
	pid_t former = begin_restart(&rig, "good");
	kill(former, SIGKILL);
	await_logged(&rig, "ended with signal 9: the restart goes on without it");
	workers_request(rig.workers, 1, 1, SLOT_SPAWN);
	workers_rig_expect(&rig, SLOT_READY);
	rig.command[2] = (char *)"exits";
	workers_renew_preload(rig.workers);
	workers_request(rig.workers, 0, 1, SLOT_QUIT);
	workers_rig_expect_gone(&rig, EXIT_STATUS, 0);
	workers_request(rig.workers, 0, 2, SLOT_SPAWN);
	expect_not_forked(&rig, ESRCH);
	workers_settle_preload(rig.workers, false);
	expect_logged(&rig, "the former preloaded process goes on forking workers");
	expect_ready_again(&rig, 1, 1);
	ck_assert_uint_eq(count_logged(&rig, "the preloaded process was started"), 3);
	workers_rig_close(&rig);
}
END_TEST

/* Workers of another user cannot be forked by it. */
START_TEST(a_process_of_another_user_is_not_kept)
{
	static const struct rights other = {.is_other = true, .uid = 65533, .gid = 65533};
	struct workers_rig rig;
	pid_t former = begin_restart(&rig, "good");
	workers_settle_preload(rig.workers, false);
	rig.config.rights = &other;
	workers_renew_preload(rig.workers);
	expect_ends(&rig, former);
	rig.config.rights = NULL;
	workers_request(rig.workers, 1, 1, SLOT_SPAWN);
	workers_rig_expect(&rig, SLOT_READY);
	workers_rig_close(&rig);
}
END_TEST

/* The program never loaded: there is nothing to keep. */
START_TEST(a_process_that_forked_no_worker_is_not_kept)
{
	struct workers_rig rig;
	start(&rig, "silent", 2);
	pid_t silent = number_behind(&rig, "\"pid\":");
	rig.command[2] = (char *)"good";
	workers_renew_preload(rig.workers);
	/* The request that it had fails, and the other one goes on; in either order. */
	enum event_kind kinds[] = {rig.pool->events[workers_rig_next(&rig)].kind,
		rig.pool->events[workers_rig_next(&rig)].kind};
	ck_assert((kinds[0] == SLOT_GONE && kinds[1] == SLOT_READY) ||
		  (kinds[0] == SLOT_READY && kinds[1] == SLOT_GONE));
	expect_ends(&rig, silent);
	ck_assert_uint_eq(count_logged(&rig, "the preloaded process was started"), 2);
	workers_rig_close(&rig);
}
END_TEST

/* Workers that it has forked live on. */
START_TEST(renewal_replaces_the_process_only)
{
	struct workers_rig rig;
	start(&rig, "good", 2);
	workers_rig_expect(&rig, SLOT_READY);
	workers_rig_expect(&rig, SLOT_READY);
	workers_renew_preload(rig.workers);
	ck_assert_int_eq(workers_rig_send(&rig, 0, 10), SEND_OK);
	workers_rig_expect_status(&rig, STATUS_DONE);
	workers_request(rig.workers, 1, 1, SLOT_QUIT);
	workers_rig_expect_gone(&rig, EXIT_STATUS, 0);
	workers_request(rig.workers, 1, 2, SLOT_SPAWN);
	workers_renew_preload(rig.workers); /* the request that it has fails */
	expect_not_forked(&rig, ECANCELED);
	workers_request(rig.workers, 1, 3, SLOT_SPAWN);
	workers_rig_expect(&rig, SLOT_READY);
	ck_assert_uint_eq(count_logged(&rig, "the preloaded process was started"), 3);
	workers_rig_close(&rig);
}
END_TEST

/* As after a reload. */
START_TEST(a_pool_may_change_to_a_command_and_back)
{
	struct workers_rig rig;
	start(&rig, "good", 1);
	workers_rig_expect(&rig, SLOT_READY);
	for (uint32_t life = 2; life <= 5; life++) {
		rig.config.is_preloaded = !rig.config.is_preloaded;
		rig.command[2] = (char *)(rig.config.is_preloaded ? "good" : "echo");
		workers_renew_preload(rig.workers);
		workers_request(rig.workers, 0, life - 1, SLOT_QUIT);
		workers_rig_expect_gone(&rig, EXIT_STATUS, 0);
		workers_request(rig.workers, 0, life, SLOT_SPAWN);
		workers_rig_expect(&rig, SLOT_READY);
	}
	ck_assert_uint_eq(count_logged(&rig, "the preloaded process was started"), 3);
	workers_rig_close(&rig);
}
END_TEST

/* The new command is not started as a preloaded process for those that wait. */
START_TEST(those_that_wait_fail_when_a_command_comes)
{
	struct workers_rig rig;
	start(&rig, "silent", 3);
	rig.config.is_preloaded = false;
	rig.command[2] = (char *)"echo";
	workers_renew_preload(rig.workers);
	for (int i = 0; i < 3; i++)
		expect_not_forked(&rig, ECANCELED);
	ck_assert_uint_eq(count_logged(&rig, "the preloaded process was started"), 1);
	workers_request(rig.workers, 2, 2, SLOT_SPAWN);
	workers_rig_expect(&rig, SLOT_READY);
	workers_rig_close(&rig);
}
END_TEST

/* A later failure has other reasons. */
START_TEST(the_last_line_is_of_the_process_that_failed)
{
	struct workers_rig rig;
	start(&rig, "dies", 1);
	expect_not_forked(&rig, ESRCH);
	ck_assert_str_eq(rig.pool->words, "no model");
	rig.command[2] = (char *)"refuses";
	workers_request(rig.workers, 0, 2, SLOT_SPAWN);
	expect_not_forked(&rig, ECANCELED);
	ck_assert_str_eq(rig.pool->words, "");
	workers_rig_close(&rig);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("worker/preload");
	TCase *loops = tcase_create("loops");
	tcase_add_loop_test(loops, forked_workers_work_and_quit, 0, 3);
	tcase_add_loop_test(loops, bad_answers_fail_the_start, 0, 11);
	tcase_add_loop_test(loops, one_that_hangs_is_killed_and_replaced, 0, 2);
	tcase_add_loop_test(loops, a_worker_may_leave_before_it_is_forked, 0, 2);
	tcase_add_loop_test(loops, the_former_process_forks_again_when_a_restart_is_given_up, 0, 3);
	suite_add_tcase(s, loops);
	UNIT_CASE(s, "one", a_killed_worker_is_forked_again, a_missing_program_fails_all,
		one_that_ends_after_a_fork_is_replaced, the_answer_before_its_end_counts,
		a_process_that_is_no_worker_is_killed, a_worker_is_adopted_from_the_strays,
		renewal_replaces_the_process_only, a_pool_may_change_to_a_command_and_back,
		those_that_wait_fail_when_a_command_comes,
		the_former_process_ends_when_all_workers_are_new,
		a_silent_process_ends_when_the_restart_is_given_up,
		a_second_restart_keeps_the_former_process,
		a_former_process_that_ends_is_not_started_again,
		the_next_restart_keeps_the_process_of_one_without_a_former_one,
		a_process_of_another_user_is_not_kept, a_process_that_forked_no_worker_is_not_kept,
		the_last_line_is_of_the_process_that_failed);
	return s;
}

int main(int argc, char **argv)
{
	if (argc == 3 && getenv("WPOOL_PRELOAD"))
		return preloaded_run(argv[1], argv[2]);
	if (argc == 3)
		return child_run(argv[1], argv[2]);
	setenv("CK_DEFAULT_TIMEOUT", "60", 0);
	return unit_run(suite());
}
