/* The streams of a child: which way they go, and who owns them. */
#include "process/child_pipes.h"
#include "unit/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

static void expect_way(int from, int to)
{
	char byte = 0;
	ck_assert_int_eq(write(from, "x", 1), 1);
	ck_assert_int_eq(read(to, &byte, 1), 1);
	ck_assert_int_eq(byte, 'x');
}

START_TEST(they_connect_the_child_with_us)
{
	bool has_socket = _i;
	struct child_pipes pipes;
	ck_assert(child_pipes_open(&pipes, has_socket));
	for (int i = 0; i < CHILD_STREAMS; i++) {
		ck_assert(fcntl(pipes.ours[i], F_GETFL) & O_NONBLOCK);
		ck_assert(!(fcntl(pipes.theirs[i], F_GETFL) & O_NONBLOCK));
		ck_assert(fcntl(pipes.ours[i], F_GETFD) & FD_CLOEXEC);
		ck_assert(fcntl(pipes.theirs[i], F_GETFD) & FD_CLOEXEC);
	}
	expect_way(pipes.ours[CHILD_INPUT], pipes.theirs[CHILD_INPUT]);
	expect_way(pipes.theirs[CHILD_OUTPUT], pipes.ours[CHILD_OUTPUT]);
	expect_way(pipes.theirs[CHILD_ERROR], pipes.ours[CHILD_ERROR]);
	if (has_socket)
		expect_way(pipes.theirs[CHILD_INPUT], pipes.ours[CHILD_INPUT]);
	else
		ck_assert_int_lt(write(pipes.theirs[CHILD_INPUT], "x", 1), 0);
	child_pipes_close(&pipes);
}
END_TEST

/* A packet is read as it was sent. */
START_TEST(the_socket_keeps_packets_apart)
{
	struct child_pipes pipes;
	char bytes[8];
	ck_assert(child_pipes_open(&pipes, true));
	ck_assert_int_eq(send(pipes.theirs[CHILD_INPUT], "12", 2, 0), 2);
	ck_assert_int_eq(send(pipes.theirs[CHILD_INPUT], "3", 1, 0), 1);
	ck_assert_int_eq(recv(pipes.ours[CHILD_INPUT], bytes, sizeof bytes, 0), 2);
	ck_assert_int_eq(recv(pipes.ours[CHILD_INPUT], bytes, sizeof bytes, 0), 1);
	child_pipes_close(&pipes);
}
END_TEST

START_TEST(what_was_taken_is_not_closed)
{
	struct child_pipes pipes;
	child_pipes_init(&pipes);
	child_pipes_close(&pipes);
	ck_assert(child_pipes_open(&pipes, false));
	int ours = child_pipes_take(&pipes, CHILD_OUTPUT), theirs = pipes.theirs[CHILD_OUTPUT];
	errno = EPROTO;
	child_pipes_close(&pipes);
	child_pipes_close(&pipes);
	ck_assert_int_eq(errno, EPROTO);
	ck_assert_int_lt(fcntl(theirs, F_GETFD), 0);
	ck_assert_int_ge(fcntl(ours, F_GETFD), 0);
	close(ours);
}
END_TEST

/* At each number of descriptors that is too small. */
START_TEST(nothing_is_left_of_a_failure)
{
	struct child_pipes pipes;
	struct rlimit before, limit;
	int first = open("/dev/null", O_RDONLY);
	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &before), 0);
	for (int missing = 1; missing <= 2 * CHILD_STREAMS; missing++) {
		limit = before;
		limit.rlim_cur = (rlim_t)(first + 1 + 2 * CHILD_STREAMS - missing);
		ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
		ck_assert(!child_pipes_open(&pipes, missing % 2));
		ck_assert_int_eq(errno, EMFILE);
		ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &before), 0);
		int next = open("/dev/null", O_RDONLY);
		ck_assert_int_eq(next, first + 1);
		close(next);
	}
	close(first);
}
END_TEST

START_TEST(another_user_may_own_its_ends)
{
	struct child_pipes pipes;
	struct stat status;
	ck_assert(child_pipes_open(&pipes, false));
	uid_t user = geteuid() == 0 ? 65534 : geteuid();
	ck_assert(child_pipes_give(&pipes, user, getegid()));
	for (int i = 0; i < CHILD_STREAMS; i++) {
		ck_assert_int_eq(fstat(pipes.theirs[i], &status), 0);
		ck_assert_uint_eq(status.st_uid, user);
	}
	child_pipes_close(&pipes);
	ck_assert(!child_pipes_give(&pipes, user, getegid()));
	ck_assert_int_eq(errno, EBADF);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("process/child_pipes");
	TCase *loops = tcase_create("loops");
	tcase_add_loop_test(loops, they_connect_the_child_with_us, 0, 2);
	suite_add_tcase(s, loops);
	UNIT_CASE(s, "one", the_socket_keeps_packets_apart, what_was_taken_is_not_closed,
		nothing_is_left_of_a_failure, another_user_may_own_its_ends);
	return s;
}

UNIT_MAIN(suite)
