/* Log lines to a terminal, a file, a slow reader and a full disk. */
#include "base/log_ring.h"
#include "unit/support/base/written.h"
#include "unit/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <pty.h>
#include <stdio.h>
#include <unistd.h>

START_TEST(a_text_line_has_level_and_origin)
{
	int fd = written_open(LOG_TEXT, false);
	log_info("started %d workers", 4);
	ck_assert_str_eq(written_after_time(written_taken(fd)), "info  started 4 workers\n");
	log_line(LOG_WARN, (struct log_origin){.pool = "fibonacci", .slot = 3, .pid = 4711},
		"exit status 1");
	ck_assert_str_eq(
		written_after_time(written_taken(fd)), "warn  fibonacci/3[4711] exit status 1\n");
	log_line(LOG_ERROR, (struct log_origin){.pool = "fibonacci", .slot = -1}, "no queue");
	ck_assert_str_eq(written_after_time(written_taken(fd)), "error fibonacci no queue\n");
	written_tell(written_worker, TEXT("hello\tworld"));
	ck_assert_str_eq(written_after_time(written_taken(fd)),
		"info  fibonacci/3[4711] stderr: hello\tworld\n");
}
END_TEST

START_TEST(control_bytes_are_escaped_in_text)
{
	int fd = written_open(LOG_TEXT, false);
	written_tell(LOG_ORIGIN_NONE, TEXT("\x1b[2J a\nb\rc\0d\x7f \xc2\x9b \xc3\xa9 \xff"));
	ck_assert_str_eq(written_after_time(written_taken(fd)),
		"info  \\x1b[2J a\\nb\\rc\\x00d\\x7f \\x9b \xc3\xa9 \xef\xbf\xbd\n");
}
END_TEST

START_TEST(the_level_has_a_colour)
{
	int fd = written_open(LOG_TEXT, true);
	log_error("no");
	ck_assert_str_eq(written_after_time(written_taken(fd)), "\033[31merror\033[0m no\n");
}
END_TEST

START_TEST(a_json_line_has_level_and_origin)
{
	int fd = written_open(LOG_JSON, true);
	written_tell(written_worker, TEXT("a \"line\"\x1b \xff"));
	char *line = written_taken(fd);
	ck_assert(strncmp(line, "{\"ts\":\"20", 9) == 0);
	ck_assert_int_eq(line[17], 'T');
	ck_assert_str_eq(strchr(line, 'Z'),
		"Z\",\"level\":\"info\",\"pool\":\"fibonacci\",\"slot\":3,\"pid\":4711,"
		"\"stream\":\"stderr\",\"msg\":\"a \\\"line\\\"\\u001b \xef\xbf\xbd\"}\n");
	log_info("x");
	ck_assert_str_eq(strchr(written_taken(fd), 'Z'), "Z\",\"level\":\"info\",\"msg\":\"x\"}\n");
}
END_TEST

/* The facts about a task are fields, which a program can find. */
START_TEST(a_task_has_its_own_fields_in_json)
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
		int fd = written_open(LOG_JSON, false);
		snprintf(expected, sizeof expected,
			"Z\",\"level\":\"info\",\"pool\":\"p\",%s,\"msg\":\"x\"}\n",
			tasks[i].expected);
		log_line(LOG_INFO,
			(struct log_origin){.pool = "p", .slot = -1, .task = &tasks[i].task}, "x");
		ck_assert_str_eq(strchr(written_taken(fd), 'Z'), expected);
	}
}
END_TEST

START_TEST(lines_below_the_level_are_hidden)
{
	int fd = written_open(LOG_TEXT, false);
	log_debug("hidden");
	ck_assert(!log_is_on(LOG_DEBUG, NULL) && log_is_on(LOG_INFO, "a"));
	ck_assert_str_eq(written_taken(fd), "");
	ck_assert_str_eq(log_level_name(LOG_DEBUG), "debug");
	ck_assert_str_eq(log_level_name(LOG_ERROR), "error");
}
END_TEST

static void log_to_all(enum log_level level)
{
	log_line(level, LOG_ORIGIN_NONE, "none");
	log_line(level, (struct log_origin){.pool = "a", .slot = -1}, "a");
	log_line(level, (struct log_origin){.pool = "b", .slot = -1}, "b");
}

START_TEST(a_pool_has_its_own_level)
{
	int fd = written_open(LOG_TEXT, false);
	ck_assert(log_set_level(LOG_DEBUG, "a") && log_set_level(LOG_ERROR, "b"));
	log_to_all(LOG_DEBUG);
	ck_assert_str_eq(written_after_time(written_taken(fd)), "debug a a\n");
	log_to_all(LOG_WARN);
	char *lines = written_taken(fd);
	ck_assert_ptr_nonnull(strstr(lines, "warn  none\n"));
	ck_assert_ptr_nonnull(strstr(lines, "warn  a a\n"));
	ck_assert_ptr_null(strstr(lines, "warn  b b\n"));
	ck_assert_int_eq(log_level_of("a"), LOG_DEBUG);
	ck_assert_int_eq(log_level_of("c"), LOG_INFO);
	ck_assert_str_eq(log_level_pool(1), "b");
	ck_assert_ptr_null(log_level_pool(2));
	ck_assert(log_set_level(LOG_WARN, NULL));
	ck_assert_ptr_null(log_level_pool(0));
	log_to_all(LOG_INFO);
	ck_assert_str_eq(written_taken(fd), "");
	enum log_level level;
	ck_assert(log_level_find("warn", &level) && level == LOG_WARN);
	ck_assert(!log_level_find("warning", &level) && !log_level_find("", &level));
}
END_TEST

static unsigned lines_seen;

static void count_line(void *ctx)
{
	ck_assert_ptr_eq(ctx, &lines_seen);
	lines_seen++;
}

/* Kept lines are JSON in each log format, also if they cannot be written. */
START_TEST(kept_lines_are_json_and_complete)
{
	struct log_record record;
	struct log_cursor at;
	uint64_t missed = 0;
	log_setup(-1, LOG_INFO, LOG_TEXT, false);
	ck_assert_ptr_null(log_kept_lines());
	ck_assert(log_keep_lines(4096));
	log_watch(count_line, &lines_seen);
	log_info("one");
	log_debug("hidden");
	written_tell(written_worker, TEXT("{\"level\":\"warn\",\"n\":1}"));
	ck_assert_uint_eq(lines_seen, 2);
	at = log_ring_begin(log_kept_lines());
	ck_assert(log_ring_next(log_kept_lines(), &at, &record, &missed));
	ck_assert_int_eq(record.level, LOG_INFO);
	ck_assert_int_eq(record.slot, -1);
	ck_assert_uint_eq(record.pool.len, 0);
	ck_assert(text_ends(record.line, TEXT("\"level\":\"info\",\"msg\":\"one\"}")));
	ck_assert(log_ring_next(log_kept_lines(), &at, &record, &missed));
	ck_assert_int_eq(record.level, LOG_WARN);
	ck_assert_int_eq(record.slot, 3);
	ck_assert(text_is(record.pool, TEXT("fibonacci")));
	ck_assert(text_ends(record.line, TEXT("\"stream\":\"stderr\",\"n\":1}")));
	ck_assert(!log_ring_next(log_kept_lines(), &at, &record, &missed));
	log_watch(NULL, NULL);
	log_keep_lines(0);
}
END_TEST

/* A line of the maximum length stays whole; a longer one is cut and marked. */
START_TEST(long_lines_are_cut_at_a_character)
{
	static char message[4 * LOG_MESSAGE_MAX];
	int fd = written_open(LOG_TEXT, false);
	memset(message, 'x', sizeof message);
	written_tell(LOG_ORIGIN_NONE, text_of(message, LOG_MESSAGE_MAX));
	ck_assert_uint_eq(strlen(written_after_time(written_taken(fd))), 6 + LOG_MESSAGE_MAX + 1);
	written_tell(LOG_ORIGIN_NONE, text_of(message, LOG_MESSAGE_MAX + 1));
	const char *line = written_after_time(written_taken(fd));
	ck_assert_uint_eq(strlen(line), 6 + LOG_MESSAGE_MAX + 1);
	ck_assert_str_eq(line + strlen(line) - 7, " [cut]\n");
	for (size_t i = 0; i + 2 <= sizeof message; i += 2)
		memcpy(message + i, "\xc3\xa9", 2);
	log_info("y%.*s", (int)sizeof message, message);
	line = written_after_time(written_taken(fd));
	ck_assert_ptr_null(strstr(line, "\xef\xbf\xbd"));
	ck_assert_str_eq(line + strlen(line) - 7, " [cut]\n");
	ck_assert_uint_eq(log_lost(), 0);
}
END_TEST

/* The reader sleeps: no call waits, lost lines are counted, and the next line is whole. */
START_TEST(a_full_pipe_loses_and_counts_lines)
{
	static char message[8000];
	int fd = written_open(LOG_TEXT, false);
	memset(message, 'x', sizeof message);
	for (int i = 0; i < 100; i++)
		written_tell(LOG_ORIGIN_NONE, text_of(message, sizeof message));
	uint64_t lost = log_lost();
	ck_assert_uint_gt(lost, 80);
	ck_assert_uint_lt(lost, 100);
	written_taken(fd);
	log_info("back");
	char *line = written_taken(fd), words[100];
	line += line[0] == '\n';
	snprintf(words, sizeof words,
		"warn  %d log lines were lost here: stderr could not be written\n", (int)lost);
	ck_assert_int_eq(strncmp(written_after_time(line), words, strlen(words)), 0);
	ck_assert_str_eq(written_after_time(strchr(line, '\n') + 1), "info  back\n");
	ck_assert_uint_eq(log_lost(), lost);
	log_info("once");
	ck_assert_str_eq(written_after_time(written_taken(fd)), "info  once\n");
}
END_TEST

/* A terminal without a reader: a stopped window, a connection that hangs. For poll it is writable
 * while one byte fits. */
START_TEST(a_full_terminal_loses_and_counts_lines)
{
	static char message[3000];
	int master, terminal;
	ck_assert_int_eq(openpty(&master, &terminal, NULL, NULL, NULL), 0);
	log_setup(terminal, LOG_INFO, LOG_TEXT, false);
	memset(message, 'x', sizeof message);
	for (int i = 0; i < 1000; i++)
		written_tell(LOG_ORIGIN_NONE, text_of(message, sizeof message));
	ck_assert_uint_gt(log_lost(), 500);
	ck_assert_int_eq(fcntl(terminal, F_GETFL) & O_NONBLOCK, 0);
	log_setup(STDERR_FILENO, LOG_INFO, LOG_TEXT, false);
	close(terminal);
	close(master);
}
END_TEST

START_TEST(a_full_disk_loses_and_counts_lines)
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

START_TEST(lines_are_appended_to_a_file)
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
	UNIT_CASE(s, "lines", a_text_line_has_level_and_origin, control_bytes_are_escaped_in_text,
		the_level_has_a_colour, a_json_line_has_level_and_origin,
		a_task_has_its_own_fields_in_json, lines_below_the_level_are_hidden,
		a_pool_has_its_own_level, kept_lines_are_json_and_complete,
		long_lines_are_cut_at_a_character);
	UNIT_CASE(s, "trouble", a_full_pipe_loses_and_counts_lines,
		a_full_terminal_loses_and_counts_lines, a_full_disk_loses_and_counts_lines,
		lines_are_appended_to_a_file);
	return s;
}

UNIT_MAIN(suite)
