/* Log lines as a terminal, a file, a slow reader and a full disk see them. */
#include "base/log.h"
#include "unit/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <stdio.h>
#include <unistd.h>

/* What was written to a pipe since the last look, NUL-terminated. */
static char *taken(int fd)
{
	static char bytes[256 * 1024];
	size_t len = 0;
	struct pollfd readable = {.fd = fd, .events = POLLIN};
	while (len < sizeof bytes - 1 && poll(&readable, 1, 0) == 1 &&
		(readable.revents & POLLIN)) {
		ssize_t count = read(fd, bytes + len, sizeof bytes - 1 - len);
		ck_assert_int_gt(count, 0);
		len += (size_t)count;
	}
	bytes[len] = '\0';
	return bytes;
}

static int set_up(enum log_format format, bool colour)
{
	int ends[2];
	ck_assert_int_eq(pipe(ends), 0);
	log_setup(ends[1], LOG_INFO, format, colour);
	return ends[0];
}

/* Text lines begin with "hh:mm:ss.mmm ". */
static const char *after_time(const char *line)
{
	ck_assert_uint_ge(strlen(line), 13);
	for (int i = 0; i < 12; i++)
		ck_assert(i == 2 || i == 5 ? line[i] == ':'
			  : i == 8         ? line[i] == '.'
					   : line[i] >= '0' && line[i] <= '9');
	return line + 13;
}

static const struct log_origin worker = {
	.pool = "fibonacci", .slot = 3, .pid = 4711, .stream = "stderr"};

START_TEST(test_text)
{
	int fd = set_up(LOG_TEXT, false);
	log_info("started %d workers", 4);
	ck_assert_str_eq(after_time(taken(fd)), "info  started 4 workers\n");
	log_line(LOG_WARN, (struct log_origin){.pool = "fibonacci", .slot = 3, .pid = 4711},
		"exit status 1");
	ck_assert_str_eq(after_time(taken(fd)), "warn  fibonacci/3[4711] exit status 1\n");
	log_line(LOG_ERROR, (struct log_origin){.pool = "fibonacci", .slot = -1}, "no queue");
	ck_assert_str_eq(after_time(taken(fd)), "error fibonacci no queue\n");
	log_worker_line(worker, TEXT("hello\tworld"));
	ck_assert_str_eq(after_time(taken(fd)), "info  fibonacci/3[4711] stderr: hello\tworld\n");
}
END_TEST

START_TEST(test_text_is_harmless)
{
	int fd = set_up(LOG_TEXT, false);
	log_worker_line(LOG_ORIGIN_NONE, TEXT("\x1b[2J a\nb\rc\0d\x7f \xc2\x9b \xc3\xa9 \xff"));
	ck_assert_str_eq(after_time(taken(fd)),
		"info  \\x1b[2J a\\nb\\rc\\x00d\\x7f \\x9b \xc3\xa9 \xef\xbf\xbd\n");
}
END_TEST

START_TEST(test_colour)
{
	int fd = set_up(LOG_TEXT, true);
	log_error("no");
	ck_assert_str_eq(after_time(taken(fd)), "\033[31merror\033[0m no\n");
}
END_TEST

START_TEST(test_json)
{
	int fd = set_up(LOG_JSON, true);
	log_worker_line(worker, TEXT("a \"line\"\x1b \xff"));
	char *line = taken(fd);
	ck_assert(strncmp(line, "{\"ts\":\"20", 9) == 0);
	ck_assert_int_eq(line[17], 'T');
	ck_assert_str_eq(strchr(line, 'Z'),
		"Z\",\"level\":\"info\",\"pool\":\"fibonacci\",\"slot\":3,\"pid\":4711,"
		"\"stream\":\"stderr\",\"msg\":\"a \\\"line\\\"\\u001b \xef\xbf\xbd\"}\n");
	log_info("x");
	ck_assert_str_eq(strchr(taken(fd), 'Z'), "Z\",\"level\":\"info\",\"msg\":\"x\"}\n");
}
END_TEST

/* What a line says of a task stands in fields that a program can look for. */
START_TEST(test_json_task)
{
	static const struct {
		struct log_task task;
		const char *expected;
	} tasks[] = {
		{{TEXT("4711"), 2, "failed", 503, TEXT_NONE},
			"\"task\":\"4711\",\"attempt\":2,\"reason\":\"failed\",\"status\":503"},
		{{TEXT("a \"b\"\n"), 0, "", 0, TEXT_NONE}, "\"task\":\"a \\\"b\\\"\\n\""},
		{{TEXT("#7"), 1, NULL, -1, TEXT_NONE},
			"\"task\":\"#7\",\"attempt\":1,\"status\":-1"},
		{{TEXT("#7"), 1, NULL, 0, TEXT("4bf9")},
			"\"task\":\"#7\",\"trace_id\":\"4bf9\",\"attempt\":1"},
	};
	for (size_t i = 0; i < sizeof tasks / sizeof *tasks; i++) {
		char expected[200];
		int fd = set_up(LOG_JSON, false);
		snprintf(expected, sizeof expected,
			"Z\",\"level\":\"info\",\"pool\":\"p\",%s,\"msg\":\"x\"}\n",
			tasks[i].expected);
		log_line(LOG_INFO,
			(struct log_origin){.pool = "p", .slot = -1, .task = &tasks[i].task}, "x");
		ck_assert_str_eq(strchr(taken(fd), 'Z'), expected);
	}
}
END_TEST

START_TEST(test_levels)
{
	int fd = set_up(LOG_TEXT, false);
	log_debug("hidden");
	ck_assert(!log_is_on(LOG_DEBUG) && log_is_on(LOG_INFO));
	ck_assert_str_eq(taken(fd), "");
	ck_assert_str_eq(log_level_name(LOG_DEBUG), "debug");
	ck_assert_str_eq(log_level_name(LOG_ERROR), "error");
}
END_TEST

/* One that just fits stays whole, one byte more is cut at a character and says so. */
START_TEST(test_long_lines)
{
	static char message[4 * LOG_MESSAGE_MAX];
	int fd = set_up(LOG_TEXT, false);
	memset(message, 'x', sizeof message);
	log_worker_line(LOG_ORIGIN_NONE, text_of(message, LOG_MESSAGE_MAX));
	ck_assert_uint_eq(strlen(after_time(taken(fd))), 6 + LOG_MESSAGE_MAX + 1);
	log_worker_line(LOG_ORIGIN_NONE, text_of(message, LOG_MESSAGE_MAX + 1));
	const char *line = after_time(taken(fd));
	ck_assert_uint_eq(strlen(line), 6 + LOG_MESSAGE_MAX + 1);
	ck_assert_str_eq(line + strlen(line) - 7, " [cut]\n");
	for (size_t i = 0; i + 2 <= sizeof message; i += 2)
		memcpy(message + i, "\xc3\xa9", 2);
	log_info("y%.*s", (int)sizeof message, message);
	line = after_time(taken(fd));
	ck_assert_ptr_null(strstr(line, "\xef\xbf\xbd"));
	ck_assert_str_eq(line + strlen(line) - 7, " [cut]\n");
	ck_assert_uint_eq(log_lost(), 0);
}
END_TEST

/* The reader sleeps: no call waits, what is lost is counted, and the next line is whole again. */
START_TEST(test_full_pipe)
{
	static char message[8000];
	int fd = set_up(LOG_TEXT, false);
	memset(message, 'x', sizeof message);
	for (int i = 0; i < 100; i++)
		log_worker_line(LOG_ORIGIN_NONE, text_of(message, sizeof message));
	uint64_t lost = log_lost();
	ck_assert_uint_gt(lost, 80);
	ck_assert_uint_lt(lost, 100);
	taken(fd);
	log_info("back");
	char *line = taken(fd);
	ck_assert_str_eq(after_time(line[0] == '\n' ? line + 1 : line), "info  back\n");
	ck_assert_uint_eq(log_lost(), lost);
}
END_TEST

/* A terminal that nobody reads any more: a stopped window, a connection that hangs. poll calls it
 * writable while it has room for one byte. */
START_TEST(test_full_terminal)
{
	static char message[3000];
	int master, terminal;
	ck_assert_int_eq(openpty(&master, &terminal, NULL, NULL, NULL), 0);
	log_setup(terminal, LOG_INFO, LOG_TEXT, false);
	memset(message, 'x', sizeof message);
	for (int i = 0; i < 1000; i++)
		log_worker_line(LOG_ORIGIN_NONE, text_of(message, sizeof message));
	ck_assert_uint_gt(log_lost(), 500);
	ck_assert_int_eq(fcntl(terminal, F_GETFL) & O_NONBLOCK, 0);
	log_setup(STDERR_FILENO, LOG_INFO, LOG_TEXT, false);
	close(terminal);
	close(master);
}
END_TEST

START_TEST(test_full_disk_and_closed_reader)
{
	int full = open("/dev/full", O_WRONLY);
	ck_assert_int_ge(full, 0);
	log_setup(full, LOG_INFO, LOG_JSON, false);
	errno = EEXIST;
	log_info("lost");
	ck_assert_int_eq(errno, EEXIST);
	ck_assert_uint_eq(log_lost(), 1);
	log_setup(-1, LOG_INFO, LOG_JSON, false);
	log_info("lost");
	ck_assert_uint_eq(log_lost(), 2);
	close(full);
}
END_TEST

START_TEST(test_file)
{
	char name[] = "/tmp/wpool-log-XXXXXX";
	int fd = mkstemp(name);
	ck_assert_int_ge(fd, 0);
	log_setup(fd, LOG_INFO, LOG_TEXT, false);
	log_info("one");
	log_info("two %m");
	ck_assert_int_eq(unlink(name), 0);
	ck_assert_int_gt(lseek(fd, 0, SEEK_CUR), 30);
	ck_assert_uint_eq(log_lost(), 0);
	close(fd);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("base/log");
	UNIT_CASE(s, "lines", test_text, test_text_is_harmless, test_colour, test_json,
		test_json_task, test_levels, test_long_lines);
	UNIT_CASE(s, "trouble", test_full_pipe, test_full_terminal,
		test_full_disk_and_closed_reader, test_file);
	return s;
}

UNIT_MAIN(suite)
