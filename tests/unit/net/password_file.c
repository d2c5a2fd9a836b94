/* A password in a file: what is taken, and what is refused with the file's name. */
#include "net/password_file.h"
#include "unit/unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static char path[] = "/tmp/wpool-unit-XXXXXX";

static void set_up(void)
{
	close(mkstemp(path));
}

static void tear_down(void)
{
	unlink(path);
}

static void put(const void *bytes, size_t len)
{
	int fd = open(path, O_WRONLY | O_TRUNC);
	ck_assert_int_eq(write(fd, bytes, len), (ssize_t)len);
	close(fd);
}

static void expect_problem(const char *file, const char *why)
{
	char password[PASSWORD_SIZE] = "kept";
	const char *problem;
	ck_assert(!password_file_read(file, password, &problem));
	ck_assert_str_eq(problem, why);
	ck_assert_str_eq(password, "kept");
}

START_TEST(the_only_line_is_the_password)
{
	static const char *const cases[][2] = {
		{"x", "x"}, {"x\n", "x"}, {"x\r\n", "x"}, {" a b %40 \n", " a b %40 "}};
	char password[PASSWORD_SIZE];
	const char *problem;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		put(cases[i][0], strlen(cases[i][0]));
		ck_assert(password_file_read(path, password, &problem));
		ck_assert_str_eq(password, cases[i][1]);
	}
}
END_TEST

START_TEST(the_longest_password_fits)
{
	char bytes[1027], password[PASSWORD_SIZE];
	const char *problem;
	memset(bytes, 'x', sizeof bytes);
	memcpy(bytes + 1024, "\r\n", 2);
	put(bytes, 1026);
	ck_assert(password_file_read(path, password, &problem));
	ck_assert_uint_eq(strlen(password), 1024);
	memcpy(bytes + 1024, "x\n", 2);
	put(bytes, 1026);
	expect_problem(path, "it is longer than 1024 bytes");
	memset(bytes, 'x', sizeof bytes);
	put(bytes, sizeof bytes);
	expect_problem(path, "it is longer than 1024 bytes");
}
END_TEST

START_TEST(other_files_are_refused)
{
	expect_problem("/no/such/file", "No such file or directory");
	expect_problem("/tmp", "it is not a regular file");
	expect_problem("/dev/zero", "it is not a regular file");
	expect_problem(path, "it is empty");
	put("\n", 1);
	expect_problem(path, "it is empty");
	put("a\nb\n", 4);
	expect_problem(path, "it is not a single line");
	put("a\0b", 3);
	expect_problem(path, "it is not a single line");
}
END_TEST

/* Opening it must not wait for a writer. */
START_TEST(fifo_does_not_block)
{
	unlink(path);
	ck_assert_int_eq(mkfifo(path, 0600), 0);
	expect_problem(path, "it is not a regular file");
}
END_TEST

static Suite *suite(void)
{
	Suite *suite = suite_create("net/password_file");
	TCase *tcase = tcase_create("read");
	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_test(tcase, the_only_line_is_the_password);
	tcase_add_test(tcase, the_longest_password_fits);
	tcase_add_test(tcase, other_files_are_refused);
	tcase_add_test(tcase, fifo_does_not_block);
	suite_add_tcase(suite, tcase);
	return suite;
}

UNIT_MAIN(suite)
