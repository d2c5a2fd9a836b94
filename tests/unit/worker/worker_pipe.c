/* The data pipe by itself: who may come, what lies in the file system, and what is left of it. */
#include "worker/worker_pipe.h"
#include "unit/support/process/child.h"
#include "unit/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static struct rundir *rundir;
static struct worker_pipe line;

static void open_line(enum pipe_form form)
{
	ck_assert_int_eq(rundir_new(false, &rundir), RC_OK);
	worker_pipe_init(&line, form, rundir, NULL);
	ck_assert_int_eq(worker_pipe_open(&line), RC_OK);
}

static void close_line(void)
{
	worker_pipe_close(&line);
	ck_assert_int_eq(rmdir(rundir_path(rundir)), 0); /* nothing was left in it */
	rundir_free(rundir);
}

/* A process that connects, in its own session or in ours; it leaves when its connection ends. */
static pid_t start_peer(const char *path, bool own_session)
{
	pid_t pid = fork();
	if (pid == 0) {
		char byte;
		if (own_session)
			setsid();
		int fd = child_connect(path);
		_exit(fd < 0 ? 1 : (int)read(fd, &byte, 1));
	}
	return pid;
}

static enum rc meet(pid_t session, pid_t *ret_peer)
{
	struct pollfd poller = {line.waiting, POLLIN, 0};
	ck_assert_int_eq(poll(&poller, 1, 20000), 1);
	return worker_pipe_connect(&line, session, 1000000, ret_peer);
}

static void expect_end(pid_t pid)
{
	int status;
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
}

/* `sh -c worker` is of the child's session; another program of the same user is not. */
START_TEST(a_peer_of_another_session_is_refused)
{
	pid_t peer = 0;
	open_line(_i ? PIPE_COREFX : PIPE_PATH);
	pid_t stranger = start_peer(line.path, true);
	ck_assert_int_eq(meet(getsid(0), &peer), RC_REFUSED);
	ck_assert_int_eq(peer, stranger);
	expect_end(stranger);
	ck_assert_int_eq(worker_pipe_connect(&line, getsid(0), 1, &peer), RC_NOT_FOUND);
	char path[RUNDIR_PATH_BYTES];
	strcpy(path, line.path);
	pid_t worker = start_peer(path, false);
	ck_assert_int_eq(meet(getsid(0), &peer), RC_OK);
	ck_assert_int_lt(access(path, F_OK), 0); /* nobody else finds it */
	ck_assert_int_ge(line.input, 0);
	worker_pipe_shut(&line);
	expect_end(worker);
	close_line();
}
END_TEST

START_TEST(only_the_owner_may_open_the_socket)
{
	struct stat status;
	umask(0);
	open_line(_i ? PIPE_COREFX : PIPE_PATH);
	ck_assert_int_eq(stat(line.path, &status), 0);
	ck_assert(S_ISSOCK(status.st_mode));
	ck_assert_int_eq(status.st_mode & 0777, 0600);
	close_line();
}
END_TEST

START_TEST(a_corefx_pipe_is_in_tmp_with_a_random_name)
{
	open_line(PIPE_COREFX);
	const char *name = worker_pipe_address(&line);
	ck_assert_ptr_null(strchr(name, '/'));
	ck_assert_uint_eq(strlen(name), 32);
	ck_assert_int_eq(strncmp(line.path, "/tmp/CoreFxPipe_", 16), 0);
	ck_assert_str_eq(line.path + 16, name);
	/* Should we be killed now, whoever removes the run directory removes it too. */
	char path[RUNDIR_PATH_BYTES];
	strcpy(path, line.path);
	rundir_remove(rundir_path(rundir));
	ck_assert_int_lt(access(path, F_OK), 0);
	worker_pipe_close(&line);
	rundir_free(rundir);
}
END_TEST

/* The recipe: no end of file before the worker is there, and no waiting for it. */
START_TEST(fifos_connect_when_the_worker_opens_them)
{
	struct stat status;
	char in[RUNDIR_PATH_BYTES + 8], out[RUNDIR_PATH_BYTES + 8];
	pid_t peer;
	open_line(PIPE_FIFO);
	snprintf(in, sizeof in, "%s.in", worker_pipe_address(&line));
	snprintf(out, sizeof out, "%s.out", worker_pipe_address(&line));
	ck_assert_int_eq(stat(in, &status), 0);
	ck_assert(S_ISFIFO(status.st_mode) && (status.st_mode & 0777) == 0600);
	struct pollfd poller = {line.input, POLLIN, 0};
	ck_assert_int_eq(poll(&poller, 1, 0), 0);
	ck_assert_int_eq(worker_pipe_connect(&line, 1, 1, &peer), RC_NOT_FOUND);
	int worker_in = open(in, O_RDONLY | O_NONBLOCK);
	ck_assert_int_eq(worker_pipe_connect(&line, 1, 1, &peer), RC_OK);
	ck_assert_int_eq(poll(&poller, 1, 0), 0);
	int worker_out = open(out, O_WRONLY); /* still there: it is opened second */
	ck_assert_int_ge(worker_out, 0);
	ck_assert_int_eq(worker_pipe_write(&line,
				 &(struct iovec){.iov_base = (char[]){"x"}, .iov_len = 1}, 1),
		1);
	worker_pipe_shut(&line);
	char bytes[2];
	ck_assert_int_eq(read(worker_in, bytes, 2), 1);
	ck_assert_int_eq(read(worker_in, bytes, 2), 0);
	close(worker_out);
	ck_assert_int_eq(poll(&poller, 1, 0), 1);
	ck_assert_int_eq(read(line.input, bytes, 1), 0);
	close(worker_in);
	close_line();
}
END_TEST

/* Whatever step of opening fails, nothing is left. */
START_TEST(a_failed_open_leaves_nothing)
{
	static const enum pipe_form forms[] = {PIPE_PATH, PIPE_FIFO, PIPE_COREFX};
	for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
		ck_assert_int_eq(rundir_new(false, &rundir), RC_OK);
		worker_pipe_init(&line, forms[i], rundir, NULL);
		rundir_remove(rundir_path(rundir));
		ck_assert_int_eq(worker_pipe_open(&line), RC_SYSTEM);
		ck_assert_int_eq(errno, ENOENT);
		ck_assert_int_eq(line.waiting, -1);
		ck_assert_int_eq(line.input, -1);
		worker_pipe_close(&line);
		rundir_free(rundir);
	}
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("worker/worker_pipe");
	TCase *sockets = tcase_create("sockets");
	tcase_add_loop_test(sockets, a_peer_of_another_session_is_refused, 0, 2);
	tcase_add_loop_test(sockets, only_the_owner_may_open_the_socket, 0, 2);
	suite_add_tcase(s, sockets);
	UNIT_CASE(s, "forms", a_corefx_pipe_is_in_tmp_with_a_random_name,
		fifos_connect_when_the_worker_opens_them, a_failed_open_leaves_nothing);
	return s;
}

UNIT_MAIN(suite)
