/* Where what outlives a supervisor goes: by the service manager, or by the user's folders. */
#include "runtime/throttles/state_folder.h"
#include "unit/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static char base[PATH_MAX];
static char found[PATH_MAX];

static const char *below(const char *path)
{
	static char whole[4][PATH_MAX];
	static int next;
	char *here = whole[next++ % 4];
	ck_assert_int_lt(snprintf(here, PATH_MAX, "%s%s", base, path), PATH_MAX);
	return here;
}

/* As a user without a folder of the system's. */
static void set_up(void)
{
	strcpy(base, "/tmp/wpool-unit-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(base));
	ck_assert_int_eq(chmod(base, 0777), 0);
	if (geteuid() == 0)
		ck_assert_int_eq(seteuid(65534), 0);
	unsetenv("STATE_DIRECTORY");
	unsetenv("XDG_STATE_HOME");
	setenv("HOME", below("/home"), 1);
}

static void tear_down(void)
{
	static const char *const made[] = {"/home/.local/state/wpool", "/home/.local/state",
		"/home/.local", "/home", "/state/wpool", "/state", "/first/of", "/first", "/file"};
	ck_assert_int_eq(seteuid(getuid()), 0);
	for (size_t i = 0; i < sizeof made / sizeof *made; i++)
		(void)remove(below(made[i]));
	ck_assert_int_eq(rmdir(base), 0);
}

static void expect(const char *path)
{
	struct stat status;
	int fd = -1;
	ck_assert_int_eq(state_folder_open(&fd, found), RC_OK);
	ck_assert_str_eq(found, path);
	ck_assert_int_eq(fstat(fd, &status), 0);
	ck_assert(S_ISDIR(status.st_mode));
	ck_assert_uint_eq(status.st_mode & 0777, 0700);
	ck_assert_int_eq(fcntl(fd, F_GETFD), FD_CLOEXEC);
	close(fd);
}

static void expect_error(int error)
{
	int fd = -7;
	ck_assert_int_eq(state_folder_open(&fd, found), RC_SYSTEM);
	ck_assert_int_eq(errno, error);
	ck_assert_int_eq(fd, -7);
}

START_TEST(it_is_of_the_service_manager_or_the_user)
{
	expect(below("/home/.local/state/wpool"));
	expect(below("/home/.local/state/wpool")); /* it is there */
	setenv("XDG_STATE_HOME", below("/state"), 1);
	expect(below("/state/wpool"));
	char list[PATH_MAX];
	snprintf(list, sizeof list, "%s:/another", below("/first/of"));
	setenv("STATE_DIRECTORY", list, 1);
	expect(below("/first/of"));
}
END_TEST

START_TEST(it_is_found_only_if_it_is_there)
{
	int fd = -7;
	ck_assert_int_eq(state_folder_find(&fd, found), RC_NOT_FOUND);
	ck_assert_int_eq(fd, -7);
	ck_assert_int_ne(access(below("/home"), F_OK), 0);
	expect(below("/home/.local/state/wpool"));
	ck_assert_int_eq(state_folder_find(&fd, found), RC_OK);
	ck_assert_str_eq(found, below("/home/.local/state/wpool"));
	close(fd);
}
END_TEST

START_TEST(without_one_the_reason_is_known)
{
	unsetenv("HOME");
	expect_error(ENOENT);
	ck_assert_str_eq(found, "");
	setenv("XDG_STATE_HOME", "relative", 1);
	expect_error(ENOENT);
	close(open(below("/file"), O_CREAT | O_WRONLY, 0600));
	setenv("STATE_DIRECTORY", below("/file"), 1);
	expect_error(ENOTDIR);
	ck_assert_str_eq(found, below("/file"));
	setenv("STATE_DIRECTORY", below("/file/below"), 1);
	expect_error(ENOTDIR);
	setenv("STATE_DIRECTORY", "/usr", 1);
	expect_error(EACCES);
	setenv("STATE_DIRECTORY", "/nowhere/of/it", 1);
	expect_error(EACCES);
}
END_TEST

static Suite *state_folder_suite(void)
{
	Suite *suite = suite_create("runtime/state_folder");
	TCase *tcase = tcase_create("choice");
	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_test(tcase, it_is_of_the_service_manager_or_the_user);
	tcase_add_test(tcase, it_is_found_only_if_it_is_there);
	tcase_add_test(tcase, without_one_the_reason_is_known);
	suite_add_tcase(suite, tcase);
	return suite;
}

UNIT_MAIN(state_folder_suite)
