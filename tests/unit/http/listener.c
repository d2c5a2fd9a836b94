/* A listening socket's path: private, never taken from another process, removed at the end. */
#include "http/listener.h"
#include "http/control_path.h"
#include "unit/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>

static char folder[] = "/tmp/wpool-listener-XXXXXX";
static char path[LISTENER_PATH_BYTES], lock_path[LISTENER_PATH_BYTES];

static void set_up(void)
{
	ck_assert_ptr_nonnull(mkdtemp(folder));
	snprintf(path, sizeof path, "%s/socket", folder);
	snprintf(lock_path, sizeof lock_path, "%s/socket.lock", folder);
}

static void tear_down(void)
{
	unlink(path);
	rmdir(folder);
}

static bool is_there(void)
{
	return access(path, F_OK) == 0;
}

START_TEST(only_our_user_may_connect)
{
	struct listener listener, other;
	struct stat status;
	ck_assert_int_eq(listener_open_path(path, LISTENER_NO_GROUP, &listener), RC_OK);
	ck_assert_int_eq(stat(path, &status), 0);
	ck_assert_int_eq(status.st_mode & 07777, 0600);
	ck_assert_uint_eq(listener_port(&listener), 0);
	ck_assert_int_eq(listener_open_path(path, LISTENER_NO_GROUP, &other), RC_REFUSED);
	ck_assert(is_there());
	listener_close(&listener);
	ck_assert(!is_there());
	ck_assert_int_eq(listener.fd, -1);
	listener_close(&listener);
}
END_TEST

START_TEST(a_socket_without_a_listener_is_replaced)
{
	struct listener listener, next;
	ck_assert_int_eq(listener_open_path(path, LISTENER_NO_GROUP, &listener), RC_OK);
	close(listener.fd); /* as by SIGKILL */
	ck_assert(is_there());
	ck_assert_int_eq(listener_open_path(path, LISTENER_NO_GROUP, &next), RC_OK);
	listener_close(&next);
	ck_assert(!is_there());
}
END_TEST

/* Our socket was removed, and another process made its own. */
START_TEST(closing_leaves_a_socket_that_replaced_ours)
{
	struct listener listener, next;
	ck_assert_int_eq(listener_open_path(path, LISTENER_NO_GROUP, &listener), RC_OK);
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_int_eq(listener_open_path(path, LISTENER_NO_GROUP, &next), RC_OK);
	listener_close(&listener);
	ck_assert(is_there());
	listener_close(&next);
	ck_assert(!is_there());
}
END_TEST

/* Its backlog is full. */
START_TEST(a_busy_listener_is_not_replaced)
{
	struct listener listener, other;
	enum { MANY = 300 };
	static int fds[MANY];
	struct sockaddr_un name = {.sun_family = AF_UNIX};
	strcpy(name.sun_path, path);
	ck_assert_int_eq(listener_open_path(path, LISTENER_NO_GROUP, &listener), RC_OK);
	bool is_full = false;
	for (int i = 0; i < MANY; i++) {
		fds[i] = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
		is_full |= connect(fds[i], (struct sockaddr *)&name, sizeof name) != 0 &&
			   errno == EAGAIN;
	}
	ck_assert(is_full);
	ck_assert_int_eq(listener_open_path(path, LISTENER_NO_GROUP, &other), RC_REFUSED);
	for (int i = 0; i < MANY; i++)
		close(fds[i]);
	listener_close(&listener);
}
END_TEST

/* Who may open the folder may lock it, so such a lock means nothing. */
START_TEST(a_locked_folder_is_no_obstacle)
{
	struct listener listener;
	int lock = open(folder, O_RDONLY | O_DIRECTORY);
	ck_assert_int_eq(flock(lock, LOCK_EX), 0);
	ck_assert_int_eq(listener_open_path(path, LISTENER_NO_GROUP, &listener), RC_OK);
	listener_close(&listener);
	close(lock);
}
END_TEST

/* Another supervisor is between its check and its bind. */
START_TEST(a_locked_path_is_refused)
{
	struct listener listener;
	struct stat status;
	int lock = open(lock_path, O_RDWR | O_CREAT, 0666);
	ck_assert_int_eq(flock(lock, LOCK_EX), 0);
	ck_assert_int_eq(listener_open_path(path, LISTENER_NO_GROUP, &listener), RC_REFUSED);
	ck_assert(!is_there());
	ck_assert_int_eq(fstat(lock, &status), 0);
	ck_assert_int_eq(status.st_mode & 07777, 0600); /* also where an older one was open */
	close(lock);
	ck_assert_int_eq(listener_open_path(path, LISTENER_NO_GROUP, &listener), RC_OK);
	ck_assert_int_ne(access(lock_path, F_OK), 0);
	listener_close(&listener);
}
END_TEST

START_TEST(a_lock_that_is_not_ours_is_refused)
{
	struct listener listener;
	struct stat status;
	ck_assert_int_eq(symlink("/dev/null", lock_path), 0);
	ck_assert_int_eq(listener_open_path(path, LISTENER_NO_GROUP, &listener), RC_SYSTEM);
	ck_assert_int_eq(errno, ELOOP);
	ck_assert_int_eq(unlink(lock_path), 0);
	ck_assert_int_eq(mkfifo(lock_path, 0600), 0);
	ck_assert_int_eq(listener_open_path(path, LISTENER_NO_GROUP, &listener), RC_SYSTEM);
	ck_assert_int_eq(errno, EPERM);
	ck_assert_int_eq(unlink(lock_path), 0);
	close(open(path, O_CREAT | O_WRONLY, 0644)); /* another user's link to a file of ours */
	ck_assert_int_eq(link(path, lock_path), 0);
	ck_assert_int_eq(listener_open_path(path, LISTENER_NO_GROUP, &listener), RC_SYSTEM);
	ck_assert_int_eq(errno, EPERM);
	ck_assert_int_eq(stat(path, &status), 0);
	ck_assert_int_eq(status.st_mode & 0777, 0644);
	ck_assert_int_eq(unlink(lock_path), 0);
	ck_assert_int_eq(unlink(path), 0);
	if (geteuid() == 0) { /* only root can make a file of another user */
		close(open(lock_path, O_CREAT | O_WRONLY, 0600));
		ck_assert_int_eq(chown(lock_path, 1, 1), 0);
		ck_assert_int_eq(listener_open_path(path, LISTENER_NO_GROUP, &listener), RC_SYSTEM);
		ck_assert_int_eq(errno, EPERM);
		ck_assert_int_eq(unlink(lock_path), 0);
	}
	ck_assert(!is_there());
}
END_TEST

START_TEST(a_group_may_connect)
{
	struct listener listener;
	struct stat status;
	ck_assert_int_eq(listener_open_path(path, getegid(), &listener), RC_OK);
	ck_assert_int_eq(stat(path, &status), 0);
	ck_assert_int_eq(status.st_mode & 07777, 0660);
	ck_assert_uint_eq(status.st_gid, getegid());
	listener_close(&listener);
	if (geteuid() == 0) {
		ck_assert_int_eq(listener_open_path(path, 1, &listener), RC_OK);
		ck_assert_int_eq(stat(path, &status), 0);
		ck_assert_uint_eq(status.st_gid, 1);
		listener_close(&listener);
	}
}
END_TEST

START_TEST(a_file_that_is_no_socket_stays)
{
	struct listener listener;
	close(open(path, O_CREAT | O_WRONLY, 0600));
	ck_assert_int_eq(listener_open_path(path, LISTENER_NO_GROUP, &listener), RC_MALFORMED);
	ck_assert(is_there());
}
END_TEST

START_TEST(bad_paths_are_reported)
{
	struct listener listener;
	char longer[2 * LISTENER_PATH_BYTES];
	memset(longer, 'x', sizeof longer);
	longer[sizeof longer - 1] = '\0';
	ck_assert_int_eq(listener_open_path(longer, LISTENER_NO_GROUP, &listener), RC_LIMIT);
	ck_assert_int_eq(listener_open_path("", LISTENER_NO_GROUP, &listener), RC_LIMIT);
	ck_assert_int_eq(
		listener_open_path("/nowhere/at/all", LISTENER_NO_GROUP, &listener), RC_SYSTEM);
	ck_assert_int_eq(errno, ENOENT);
}
END_TEST

START_TEST(a_path_may_be_relative)
{
	struct listener listener;
	ck_assert_int_eq(chdir(folder), 0);
	ck_assert_int_eq(listener_open_path("socket", LISTENER_NO_GROUP, &listener), RC_OK);
	ck_assert(is_there());
	listener_close(&listener);
	ck_assert(!is_there());
}
END_TEST

START_TEST(addresses_open_ports)
{
	struct listener listener, other;
	char same[32];
	ck_assert_int_eq(listener_open_address("127.0.0.1:0", &listener), RC_OK);
	ck_assert_uint_gt(listener_port(&listener), 0);
	snprintf(same, sizeof same, "127.0.0.1:%u", listener_port(&listener));
	ck_assert_int_eq(listener_open_address(same, &other), RC_REFUSED);
	listener_close(&listener);
	ck_assert_uint_eq(listener_port(&listener), 0);
	ck_assert_int_eq(listener_open_address("nonsense", &other), RC_MALFORMED);
	ck_assert_int_eq(listener_open_address("192.0.2.1:80", &other), RC_SYSTEM);
	ck_assert_int_eq(errno, EADDRNOTAVAIL);
}
END_TEST

START_TEST(default_paths_follow_the_user)
{
	setenv("XDG_RUNTIME_DIR", folder, 1);
	struct control_paths paths = control_paths_of("auto");
	char expected[LISTENER_PATH_BYTES];
	snprintf(expected, sizeof expected, "%s/wpool/control.sock", folder);
	ck_assert_uint_eq(paths.count, 3);
	ck_assert_str_eq(paths.list[0], expected);
	ck_assert_str_eq(paths.list[1], "/run/wpool/control.sock");
	ck_assert_int_eq(control_path_prepare(paths.list[0], LISTENER_NO_GROUP), RC_OK);
	ck_assert_int_eq(control_path_prepare(paths.list[0], LISTENER_NO_GROUP), RC_OK);
	struct listener listener;
	ck_assert_int_eq(listener_open_path(paths.list[0], LISTENER_NO_GROUP, &listener), RC_OK);
	listener_close(&listener);
	snprintf(expected, sizeof expected, "%s/wpool", folder);
	ck_assert_int_eq(rmdir(expected), 0);
	setenv("XDG_RUNTIME_DIR", "relative", 1);
	ck_assert_uint_eq(control_paths_of("auto").count, 2);
	unsetenv("XDG_RUNTIME_DIR");
	ck_assert_uint_eq(control_paths_of("auto").count, 2);
	ck_assert_uint_eq(control_paths_of("off").count, 0);
	ck_assert_str_eq(control_paths_of("/x").list[0], "/x");
	ck_assert_int_eq(control_path_prepare("/nowhere/at/all", LISTENER_NO_GROUP), RC_SYSTEM);
}
END_TEST

/* A user that no other run of this test has. */
static uid_t any_uid(void)
{
	return 100000000 + (uid_t)getpid();
}

/* Become a user without a folder in /run, as `docker run --user` makes one. Return its path in
 * /tmp. */
static const char *path_of_any_user(struct control_paths *paths, char ret_folder[64])
{
	unsetenv("XDG_RUNTIME_DIR");
	snprintf(ret_folder, 64, "/tmp/wpool-%u", any_uid());
	ck_assert_int_eq(setegid(any_uid()), 0);
	ck_assert_int_eq(seteuid(any_uid()), 0);
	*paths = control_paths_of("auto");
	ck_assert_uint_eq(paths->count, 2);
	ck_assert_int_eq(strncmp(paths->list[1], ret_folder, strlen(ret_folder)), 0);
	ck_assert_str_eq(paths->list[1] + strlen(ret_folder), "/control.sock");
	return paths->list[1];
}

START_TEST(any_user_has_a_default_path)
{
	struct control_paths paths;
	struct listener listener;
	struct stat status;
	char own[64];
	if (geteuid() != 0)
		return;
	const char *in_tmp = path_of_any_user(&paths, own);
	control_paths_drop_foreign(&paths);
	ck_assert_uint_eq(paths.count, 1); /* a client: nobody listens there */
	ck_assert_int_eq(control_path_prepare(in_tmp, LISTENER_NO_GROUP), RC_OK);
	ck_assert_int_eq(stat(own, &status), 0);
	ck_assert_uint_eq(status.st_mode & 07777, 0700);
	ck_assert_int_eq(listener_open_path(in_tmp, LISTENER_NO_GROUP, &listener), RC_OK);
	paths = control_paths_of("auto");
	control_paths_drop_foreign(&paths);
	ck_assert_uint_eq(paths.count, 2);
	listener_close(&listener);
	ck_assert_int_eq(seteuid(0), 0);
	ck_assert_int_eq(rmdir(own), 0);
}
END_TEST

/* What another user has put into /tmp is neither used by a supervisor nor asked by a client. */
START_TEST(folder_of_another_user_is_not_used)
{
	struct control_paths paths;
	char own[64];
	if (geteuid() != 0)
		return;
	for (int kind = 0; kind < 4; kind++) {
		const char *in_tmp = path_of_any_user(&paths, own);
		ck_assert_int_eq(seteuid(0), 0);
		if (kind == 1)
			ck_assert_int_eq(symlink(folder, own), 0);
		else
			ck_assert_int_eq(mkdir(own, 0777), 0);
		if (kind == 2) /* ours, but others may write */
			ck_assert(chown(own, any_uid(), any_uid()) == 0 && chmod(own, 0770) == 0);
		if (kind == 3)
			ck_assert_int_eq(chmod(own, 0777), 0);
		ck_assert_int_eq(seteuid(any_uid()), 0);
		ck_assert_int_eq(control_path_prepare(in_tmp, LISTENER_NO_GROUP), RC_SYSTEM);
		ck_assert_int_eq(errno, EPERM);
		control_paths_drop_foreign(&paths);
		ck_assert_uint_eq(paths.count, 1);
		ck_assert_int_eq(seteuid(0), 0);
		ck_assert_int_eq(kind == 1 ? unlink(own) : rmdir(own), 0);
	}
}
END_TEST

/* The folder for all of a user's programs is in /tmp where no service manager makes one. */
START_TEST(client_asks_only_our_own_folders_in_tmp)
{
	static const struct {
		uid_t owner;
		mode_t mode;
		bool is_asked;
	} cases[] = {{0, 0700, true}, {1, 0755, false}, {0, 0770, false}, {0, 0702, false}};
	char own[64];
	if (geteuid() != 0)
		return;
	setenv("XDG_RUNTIME_DIR", folder, 1);
	snprintf(own, sizeof own, "%s/wpool", folder);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct control_paths paths = control_paths_of("auto");
		ck_assert_int_eq(mkdir(own, 0700), 0);
		ck_assert_int_eq(chown(own, cases[i].owner, 0), 0);
		ck_assert_int_eq(chmod(own, cases[i].mode), 0);
		control_paths_drop_foreign(&paths);
		ck_assert_int_eq(strncmp(paths.list[0], own, strlen(own)) == 0, cases[i].is_asked);
		ck_assert_int_eq(rmdir(own), 0);
	}
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("http/listener");
	TCase *tcase = tcase_create("listener");
	static const TTest *const *const tests[] = {&only_our_user_may_connect,
		&a_socket_without_a_listener_is_replaced,
		&closing_leaves_a_socket_that_replaced_ours, &a_busy_listener_is_not_replaced,
		&a_locked_folder_is_no_obstacle, &a_locked_path_is_refused,
		&a_lock_that_is_not_ours_is_refused, &a_group_may_connect,
		&a_file_that_is_no_socket_stays, &bad_paths_are_reported, &a_path_may_be_relative,
		&addresses_open_ports, &default_paths_follow_the_user, &any_user_has_a_default_path,
		&folder_of_another_user_is_not_used, &client_asks_only_our_own_folders_in_tmp};
	tcase_add_checked_fixture(tcase, set_up, tear_down);
	for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
		tcase_add_test(tcase, *tests[i]);
	suite_add_tcase(s, tcase);
	return s;
}

UNIT_MAIN(suite)
