/* How files and standard input become messages; and what the command line shows. */
#include "unit/unit.h"

#include "publish/input.h"
#include "tty/cli_options.h"
#include <stdio.h>
#include <unistd.h>

/* All messages of the input, each between brackets. */
static enum input_result read_all(
	struct ev_loop *loop, char *const *files, bool lines, char *ret_messages, size_t size)
{
	struct input input;
	struct text body;
	enum input_result result;
	size_t len = 0;

	input_init(&input, loop, files, lines);
	while ((result = input_next(&input, &body)) <= INPUT_WAIT) {
		if (result == INPUT_WAIT)
			ev_run(loop, EVRUN_ONCE);
		else
			len += (size_t)snprintf(
				ret_messages + len, size - len, "[%.*s]", TEXT_ARGS(body));
	}
	input_release(&input);
	return result;
}

static char *write_file(const char *content)
{
	static char path[32];
	snprintf(path, sizeof path, "/tmp/wpool-test-XXXXXX");
	int fd = mkstemp(path);
	ck_assert_int_eq(write(fd, content, strlen(content)), (ssize_t)strlen(content));
	close(fd);
	return path;
}

static const struct {
	const char *content;
	const char *as_file, *as_lines;
} contents[] = {
	{"", "[]", ""},
	{"one", "[one]", "[one]"},
	{"one\n", "[one\n]", "[one]"},
	{"one\n\ntwo", "[one\n\ntwo]", "[one][][two]"},
	{"\n", "[\n]", "[]"},
	{"a\r\nb\n", "[a\r\nb\n]", "[a\r][b]"},
};

START_TEST(a_file_is_a_message_or_its_lines_are)
{
	struct ev_loop *loop = ev_loop_new(EVFLAG_AUTO);
	char *files[] = {write_file(contents[_i].content), NULL};
	char messages[256] = "";
	ck_assert_int_eq(read_all(loop, files, false, messages, sizeof messages), INPUT_END);
	ck_assert_str_eq(messages, contents[_i].as_file);
	messages[0] = '\0';
	ck_assert_int_eq(read_all(loop, files, true, messages, sizeof messages), INPUT_END);
	ck_assert_str_eq(messages, contents[_i].as_lines);
	unlink(files[0]);
	ev_loop_destroy(loop);
}
END_TEST

/* A pipe that is fed piece by piece: no message comes too early, and no read waits. */
START_TEST(a_slow_pipe_does_not_block_the_loop)
{
	struct ev_loop *loop = ev_loop_new(EVFLAG_AUTO);
	char *files[] = {NULL};
	struct input input;
	struct text body;
	int ends[2];

	ck_assert_int_eq(pipe(ends), 0);
	dup2(ends[0], STDIN_FILENO);
	input_init(&input, loop, files, true);
	ck_assert_int_eq(input_next(&input, &body), INPUT_WAIT);
	ck_assert_int_eq(write(ends[1], "ab", 2), 2);
	ev_run(loop, EVRUN_ONCE);
	ck_assert_int_eq(input_next(&input, &body), INPUT_WAIT);
	ck_assert_int_eq(write(ends[1], "c\nd", 3), 3);
	ev_run(loop, EVRUN_ONCE);
	ck_assert_int_eq(input_next(&input, &body), INPUT_MESSAGE);
	ck_assert(text_is(body, TEXT("abc")));
	close(ends[1]);
	ck_assert_int_eq(input_next(&input, &body), INPUT_WAIT);
	ev_run(loop, EVRUN_ONCE);
	ck_assert_int_eq(input_next(&input, &body), INPUT_MESSAGE);
	ck_assert(text_is(body, TEXT("d")));
	ck_assert_int_eq(input_next(&input, &body), INPUT_END);
	input_release(&input);
	ev_loop_destroy(loop);
	close(ends[0]);
}
END_TEST

START_TEST(an_unreadable_file_is_reported)
{
	struct ev_loop *loop = ev_loop_new(EVFLAG_AUTO);
	char messages[16] = "";
	char directory[] = "/tmp", missing[] = "/nonexistent/file";
	ck_assert_int_eq(
		read_all(loop, (char *[]){directory, NULL}, true, messages, sizeof messages),
		INPUT_FAILED);
	ck_assert_int_eq(read_all(loop, (char *[]){missing, NULL}, true, messages, sizeof messages),
		INPUT_FAILED);
	ck_assert_str_eq(input_unreadable((char *[]){directory, missing, NULL}), missing);
	ck_assert_ptr_null(input_unreadable((char *[]){directory, NULL}));
	ev_loop_destroy(loop);
}
END_TEST

static const struct {
	const char *arg, *shown;
} args[] = {
	{"amqp://user:secret@host:5672/v", "amqp://user:******@host:5672/v"},
	{"amqp://user:se@c:r:et@host", "amqp://user:*********@host"},
	{"amqp://u:a://b@host", "amqp://u:*****@host"},
	{"amqp://user@host:5672", "amqp://user@host:5672"},
	{"amqp://host:5672", "amqp://host:5672"},
	{"amqp://a:x@b,amqp://c:y@d", "amqp://a:**************@d"},
	{"user:secret@host", "user:******@host"},
	{"u:p@h,amqp://c:y@d", "u:**************@d"},
	{"--broker=amqp://u:p@h", "--broker=amqp://u:*@h"},
	{"amqp://user:@host", "amqp://user:@host"},
	{"@", "@"},
	{":@", ":@"},
	{"", ""},
};

START_TEST(a_password_is_overwritten_in_place)
{
	char first[64], last[] = "wpool", *argv[] = {last, first, NULL};
	snprintf(first, sizeof first, "%s", args[_i].arg);
	char **copy = cli_take_arguments(2, argv);
	ck_assert_str_eq(first, args[_i].shown);
	ck_assert_str_eq(copy[0], "wpool");
	ck_assert_str_eq(copy[1], args[_i].arg);
	ck_assert_ptr_null(copy[2]);
	free(copy);
}
END_TEST

START_TEST(numbers_are_grouped)
{
	static const struct {
		uint64_t number;
		const char *shown;
	} cases[] = {{0, "0"}, {999, "999"}, {1000, "1,000"}, {1234567, "1,234,567"},
		{UINT64_MAX, "18,446,744,073,709,551,615"}};
	char buffer[27];
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		ck_assert_str_eq(cli_number(cases[i].number, buffer), cases[i].shown);
}
END_TEST

static Suite *input_suite(void)
{
	Suite *suite = suite_create("publish/input");
	TCase *tcase = tcase_create("input");
	tcase_add_loop_test(
		tcase, a_file_is_a_message_or_its_lines_are, 0, sizeof contents / sizeof *contents);
	tcase_add_test(tcase, a_slow_pipe_does_not_block_the_loop);
	tcase_add_test(tcase, an_unreadable_file_is_reported);
	tcase_add_loop_test(
		tcase, a_password_is_overwritten_in_place, 0, sizeof args / sizeof *args);
	tcase_add_test(tcase, numbers_are_grouped);
	suite_add_tcase(suite, tcase);
	return suite;
}

UNIT_MAIN(input_suite)
