/* The end of the process that listens at a Unix socket, and of one behind a proxy. */
#include "os/peer_process.h"
#include "unit/unit.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

static char folder[64];
static struct sockaddr_un name;
static pid_t listener;
static struct peer_process peer;

/* What the other process does with the connection that it has accepted. */
static void listen_and(void (*serve)(int fd))
{
	int ready[2], fd;
	char byte;

	ck_assert_int_eq(pipe(ready), 0);
	listener = fork();
	ck_assert_int_ge(listener, 0);
	if (listener == 0) {
		fd = socket(AF_UNIX, SOCK_STREAM, 0);
		if (bind(fd, (const struct sockaddr *)&name, sizeof name) != 0 ||
			listen(fd, 1) != 0 || write(ready[1], "", 1) != 1)
			_exit(1);
		serve(accept(fd, NULL, NULL));
		_exit(0);
	}
	ck_assert_int_eq(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	close(ready[1]);
}

static void hold(void)
{
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	ck_assert_int_eq(connect(fd, (const struct sockaddr *)&name, sizeof name), 0);
	peer_process_hold(&peer, fd);
	close(fd);
}

static void set_up(void)
{
	strcpy(folder, "/tmp/wpool-unit-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(folder));
	name.sun_family = AF_UNIX;
	snprintf(name.sun_path, sizeof name.sun_path, "%s/socket", folder);
	peer = PEER_PROCESS_NONE;
}

static void tear_down(void)
{
	peer_process_release(&peer);
	kill(listener, SIGKILL);
	waitpid(listener, NULL, 0);
	unlink(name.sun_path);
	rmdir(folder);
}

static void wait_for_release(int fd)
{
	char byte;

	if (write(fd, "last words", 10) != 10 || read(fd, &byte, 1) != 0)
		_exit(1);
}

/* Its last words need not be read. */
START_TEST(a_process_that_ends_is_noticed)
{
	siginfo_t end = {0};

	listen_and(wait_for_release);
	hold();
	ck_assert_int_ge(peer.pidfd, 0);
	ck_assert_int_eq(shutdown(peer.connection, SHUT_WR), 0);
	ck_assert(peer_process_await_end(&peer, 60000));
	ck_assert_int_eq(waitid(P_PID, (id_t)listener, &end, WEXITED | WNOHANG | WNOWAIT), 0);
	ck_assert_int_eq(end.si_pid, listener);
	ck_assert_int_eq(end.si_status, 0);
}
END_TEST

static void close_and_stay(int fd)
{
	close(fd);
	pause();
}

START_TEST(a_proxy_may_live_on)
{
	listen_and(close_and_stay);
	hold();
	ck_assert(!peer_process_await_end(&peer, 1));
}
END_TEST

static void keep_and_stay(int fd)
{
	(void)fd;
	pause();
}

START_TEST(a_proxy_may_keep_the_connection)
{
	listen_and(keep_and_stay);
	hold();
	ck_assert(!peer_process_await_end(&peer, 1));
}
END_TEST

START_TEST(without_a_pidfd_the_connection_counts)
{
	listen_and(close_and_stay);
	hold();
	close(peer.pidfd);
	peer.pidfd = -1;
	ck_assert(peer_process_await_end(&peer, 60000));
}
END_TEST

static Suite *peer_process_suite(void)
{
	Suite *suite = suite_create("peer_process");
	TCase *tests = tcase_create("ends");

	tcase_add_checked_fixture(tests, set_up, tear_down);
	tcase_add_test(tests, a_process_that_ends_is_noticed);
	tcase_add_test(tests, a_proxy_may_live_on);
	tcase_add_test(tests, a_proxy_may_keep_the_connection);
	tcase_add_test(tests, without_a_pidfd_the_connection_counts);
	suite_add_tcase(suite, tests);
	return suite;
}

UNIT_MAIN(peer_process_suite)
