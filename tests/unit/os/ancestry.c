/* What this process has started is told from what it has not. */
#include "os/ancestry.h"
#include "unit/unit.h"

#include <errno.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

START_TEST(own_process_is_ours)
{
	ck_assert(ancestry_may_be_ours(getpid(), getuid(), false));
}
END_TEST

START_TEST(parents_and_outsiders_are_foreign)
{
	ck_assert(!ancestry_may_be_ours(getppid(), getuid(), false));
	ck_assert(!ancestry_may_be_ours(1, 0, false));
	ck_assert(!ancestry_may_be_ours(0, getuid(), false));
}
END_TEST

/* Write the pid of a process that has left its parent and its session, and wait to be killed. */
_Noreturn static void leave(int out)
{
	pid_t pid;
	if (fork() > 0)
		_exit(0);
	setsid();
	if (fork() > 0)
		_exit(0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	pid = getpid();
	if (write(out, &pid, sizeof pid) != sizeof pid)
		_exit(1);
	pause();
	_exit(0);
}

START_TEST(daemons_of_children_are_ours)
{
	pid_t child, daemon;
	int out[2];
	ck_assert_int_eq(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
	ck_assert_int_eq(pipe(out), 0);
	child = fork();
	ck_assert_int_ge(child, 0);
	if (child == 0)
		leave(out[1]);
	ck_assert_int_eq(read(out[0], &daemon, sizeof daemon), sizeof daemon);
	ck_assert(ancestry_may_be_ours(daemon, getuid(), false));
	kill(daemon, SIGKILL);
	while (waitpid(-1, NULL, 0) > 0)
		;
	/* It has ended, so that nothing is known of it but its user. */
	ck_assert(ancestry_may_be_ours(daemon, getuid(), false));
	ck_assert(!ancestry_may_be_ours(daemon, getuid() + 1, false));
	ck_assert(ancestry_may_be_ours(daemon, getuid() + 1, true));
	ck_assert(getuid() == 0 || !ancestry_may_be_ours(daemon, 0, true));
	close(out[0]);
	close(out[1]);
}
END_TEST

/* The child is asked about its sibling. */
START_TEST(siblings_are_foreign)
{
	int status;
	pid_t sibling = fork(), child;
	ck_assert_int_ge(sibling, 0);
	if (sibling == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		pause();
		_exit(0);
	}
	child = fork();
	ck_assert_int_ge(child, 0);
	if (child == 0)
		_exit(ancestry_may_be_ours(sibling, getuid(), false));
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
	kill(sibling, SIGKILL);
	waitpid(sibling, NULL, 0);
}
END_TEST

/* Fork with this number, which is free. 0: without the rights to choose it. */
static pid_t fork_as(pid_t number)
{
	struct clone_args arguments = {
		.exit_signal = SIGCHLD, .set_tid = (uintptr_t)&number, .set_tid_size = 1};
	long pid = syscall(SYS_clone3, &arguments, sizeof arguments);
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		pause();
		_exit(0);
	}
	ck_assert(pid == number || (pid < 0 && errno == EPERM));
	return pid < 0 ? 0 : (pid_t)pid;
}

/* A connection that a process has made and left to its parent. */
static int connect_and_end(int *ret_connected, pid_t *ret_pid)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX};
	socklen_t len = sizeof name;
	int listener = socket(AF_UNIX, SOCK_STREAM, 0), peer, status;
	*ret_connected = socket(AF_UNIX, SOCK_STREAM, 0);
	ck_assert_int_eq(bind(listener, (struct sockaddr *)&name, sizeof name.sun_family), 0);
	ck_assert_int_eq(listen(listener, 1), 0);
	ck_assert_int_eq(getsockname(listener, (struct sockaddr *)&name, &len), 0);
	*ret_pid = fork();
	ck_assert_int_ge(*ret_pid, 0);
	if (*ret_pid == 0)
		_exit(connect(*ret_connected, (struct sockaddr *)&name, len) != 0);
	ck_assert_int_eq(waitpid(*ret_pid, &status, 0), *ret_pid);
	ck_assert_int_eq(status, 0);
	peer = accept(listener, NULL, NULL);
	ck_assert_int_ge(peer, 0);
	close(listener);
	return peer;
}

/* A worker lets its child connect and end, and starts processes until a stranger gets the child's
 * number. The next child is asked, to which that process is a stranger. */
START_TEST(peer_that_ended_may_be_ours)
{
	int connected, status, peer;
	pid_t ended, stranger, child;
	peer = connect_and_end(&connected, &ended);
	ck_assert(ancestry_peer_may_be_ours(peer, false));
	stranger = fork_as(ended);
	if (stranger > 0) {
		child = fork();
		ck_assert_int_ge(child, 0);
		if (child == 0)
			_exit(!ancestry_peer_may_be_ours(peer, false));
		ck_assert_int_eq(waitpid(child, &status, 0), child);
		ck_assert_int_eq(status, 0);
		kill(stranger, SIGKILL);
		waitpid(stranger, NULL, 0);
	}
	close(connected);
	close(peer);
}
END_TEST

static void do_nothing(int number)
{
	(void)number;
}

/* True: the peer was never taken for ours. */
static bool stays_foreign(int peer)
{
	enum { QUESTIONS = 5000 };
	struct itimerval storm = {{0, 100}, {0, 100}}; /* every 0.1 ms */
	int wrong = 0;
	signal(SIGALRM, do_nothing);
	setitimer(ITIMER_REAL, &storm, NULL);
	for (int i = 0; i < QUESTIONS; i++)
		wrong += ancestry_peer_may_be_ours(peer, false);
	return wrong == 0;
}

/* A signal comes in the middle of the question: of an operator, who is this process; the child is
 * asked. */
START_TEST(signals_make_no_peer_ours)
{
	int peers[2], status;
	pid_t child;
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, peers), 0);
	child = fork();
	ck_assert_int_ge(child, 0);
	if (child == 0)
		_exit(!stays_foreign(peers[0]));
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
	close(peers[0]);
	close(peers[1]);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("os/ancestry");
	TCase *tcase = tcase_create("ancestry");
	tcase_add_test(tcase, own_process_is_ours);
	tcase_add_test(tcase, parents_and_outsiders_are_foreign);
	tcase_add_test(tcase, daemons_of_children_are_ours);
	tcase_add_test(tcase, siblings_are_foreign);
	tcase_add_test(tcase, peer_that_ended_may_be_ours);
	tcase_add_test(tcase, signals_make_no_peer_ours);
	suite_add_tcase(s, tcase);
	return s;
}

UNIT_MAIN(suite)
