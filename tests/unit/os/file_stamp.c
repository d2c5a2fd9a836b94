/* A stamp holds while the file is the same, and never for a file that had just changed. */
#include "os/file_stamp.h"
#include "unit/unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

static char path[] = "/tmp/wpool-unit-XXXXXX", other[] = "/tmp/wpool-unit-XXXXXX";

static void set_up(void)
{
	close(mkstemp(path));
	close(mkstemp(other));
}

static void tear_down(void)
{
	unlink(path);
	unlink(other);
}

/* As if it had been taken when the file was no longer fresh. */
static struct file_stamp old_stamp(void)
{
	struct file_stamp stamp = file_stamp_take(path);
	ck_assert(stamp.is_fresh);
	stamp.is_fresh = false;
	return stamp;
}

START_TEST(changes_are_seen)
{
	struct file_stamp stamp = old_stamp();
	ck_assert(file_stamp_holds(&stamp, path));
	ck_assert(!file_stamp_holds(&stamp, other));
	int fd = open(path, O_WRONLY);
	ck_assert_int_eq(write(fd, "x", 1), 1);
	close(fd);
	ck_assert(!file_stamp_holds(&stamp, path));
	stamp = old_stamp();
	const struct timespec times[2] = {{1, 0}, {1, 0}};
	ck_assert_int_eq(utimensat(AT_FDCWD, path, times, 0), 0);
	ck_assert(!file_stamp_holds(&stamp, path));
	stamp = old_stamp();
	ck_assert_int_eq(rename(other, path), 0);
	ck_assert(!file_stamp_holds(&stamp, path));
	ck_assert_int_eq(unlink(path), 0);
	ck_assert(!file_stamp_holds(&stamp, path));
}
END_TEST

START_TEST(a_fresh_file_never_holds)
{
	struct file_stamp stamp = file_stamp_take(path);
	ck_assert(!file_stamp_holds(&stamp, path));
	stamp = file_stamp_take("/usr"); /* older than this test */
	ck_assert(file_stamp_holds(&stamp, "/usr"));
}
END_TEST

START_TEST(a_missing_file_is_missing_still)
{
	struct file_stamp stamp = file_stamp_take("/no/such/file");
	ck_assert(file_stamp_holds(&stamp, "/no/such/file"));
	ck_assert(!file_stamp_holds(&stamp, path));
	stamp = file_stamp_take(NULL);
	ck_assert(file_stamp_holds(&stamp, NULL));
}
END_TEST

static Suite *suite(void)
{
	Suite *suite = suite_create("os/file_stamp");
	TCase *tcase = tcase_create("stamp");
	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_test(tcase, changes_are_seen);
	tcase_add_test(tcase, a_fresh_file_never_holds);
	tcase_add_test(tcase, a_missing_file_is_missing_still);
	suite_add_tcase(suite, tcase);
	return suite;
}

UNIT_MAIN(suite)
