/* Bytes of a log stream become lines, however they are cut on the way. */
#include "io/lines.h"
#include "unit/unit.h"

#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

static struct lines lines;
static int fd;

static void open_log(void)
{
	fd = memfd_create("log", MFD_CLOEXEC);
	log_setup(fd, LOG_DEBUG, LOG_JSON, false);
	lines_init(&lines,
		(struct log_origin){.pool = "unit", .slot = 3, .pid = 77, .stream = "stdout"},
		true);
}

/* The logged lines' texts, each followed by "|". */
static const char *logged(void)
{
	static char text[262144], found[262144];
	ssize_t n = pread(fd, text, sizeof text - 1, 0);
	size_t len = 0;
	text[n > 0 ? n : 0] = '\0';
	for (char *at = text; (at = strstr(at, "\"msg\":\""));) {
		at += 7;
		char *end = strstr(at, "\"}\n");
		ck_assert_ptr_nonnull(end);
		memcpy(found + len, at, (size_t)(end - at));
		len += (size_t)(end - at);
		found[len++] = '|';
		at = end;
	}
	found[len] = '\0';
	return found;
}

static void close_log(void)
{
	lines_release(&lines);
	close(fd);
}

static const struct {
	const char *bytes, *lines, *at_end;
} cases[] = {
	{"", "", ""},
	{"one\n", "one|", "one|"},
	{"one\ntwo\n", "one|two|", "one|two|"},
	{"one\ntwo", "one|", "one|two|"},
	{"\n\nx\n", "||x|", "||x|"},
	{"no end", "", "no end|"},
};

START_TEST(test_lines)
{
	for (size_t cut = 1; cut < 12; cut++) { /* fed in pieces of every length */
		struct text bytes = text_from(cases[_i].bytes);
		open_log();
		for (size_t at = 0; at < bytes.len; at += cut) {
			size_t len = bytes.len - at < cut ? bytes.len - at : cut;
			lines_add(&lines, text_of(bytes.ptr + at, len));
		}
		ck_assert_str_eq(logged(), cases[_i].lines);
		lines_end(&lines);
		ck_assert_str_eq(logged(), cases[_i].at_end);
		close_log();
	}
}
END_TEST

static const char *const characters[] = {"x", "\xc3\xa4", "\xe2\x82\xac", "\xf0\x9f\x90\x87"};

/* A line without end is told in pieces of 8 KiB, no byte lost, no character cut. */
START_TEST(test_endless_line)
{
	const char *character = characters[_i];
	size_t width = strlen(character);
	static const size_t cuts[] = {1000, 8191, 8192, 8193, 65536};
	enum { TOTAL = 60001 /* a multiple of each width, and the newline */ };
	static char bytes[TOTAL + 1];
	for (size_t i = 0; i + width < TOTAL; i += width)
		memcpy(bytes + i, character, width);
	bytes[TOTAL - 1] = '\n';
	for (size_t c = 0; c < sizeof cuts / sizeof *cuts; c++) {
		open_log();
		for (size_t at = 0; at < TOTAL; at += cuts[c]) {
			size_t len = TOTAL - at < cuts[c] ? TOTAL - at : cuts[c];
			lines_add(&lines, text_of(bytes + at, len));
		}
		const char *text = logged();
		size_t whole = 0, pieces = 0;
		for (; *text; text++) {
			whole += strncmp(text, character, width) == 0;
			pieces += *text == '|';
		}
		ck_assert_uint_eq(whole, (TOTAL - 1) / width);
		ck_assert_uint_eq(pieces, 8);
		close_log();
	}
}
END_TEST

START_TEST(test_any_bytes)
{
	open_log();
	char bytes[257];
	for (int i = 0; i < 256; i++)
		bytes[i] = (char)(i == '\n' ? 0 : i);
	bytes[256] = '\n';
	lines_add(&lines, text_of(bytes, sizeof bytes));
	ck_assert_uint_gt(strlen(logged()), 256);
	close_log();
}
END_TEST

static const struct {
	const char *bytes, *last;
} last_cases[] = {
	{"", ""},
	{"one\n", "one"},
	{"one\ntwo\n", "two"},
	{"one\ntwo", "two"},
	{"one\n\n \t\r\n", "one"},
	{"one  \r\n", "one"},
	{"\n", ""},
};

START_TEST(test_last_line)
{
	open_log();
	lines_add(&lines, text_from(last_cases[_i].bytes));
	lines_end(&lines);
	ck_assert(text_is(lines_last(&lines), text_from(last_cases[_i].last)));
	close_log();

	open_log();
	lines.keeps_last = false;
	lines_add(&lines, text_from(last_cases[_i].bytes));
	lines_end(&lines);
	ck_assert_uint_eq(lines_last(&lines).len, 0);
	close_log();
}
END_TEST

/* Its start counts, and no half of a character. */
START_TEST(test_long_last_line)
{
	char bytes[2 * LINES_LAST_MAX];
	for (size_t shift = 0; shift < 2; shift++) {
		memset(bytes, 'x', sizeof bytes);
		for (size_t i = shift; i + 1 < sizeof bytes; i += 2)
			memcpy(bytes + i, "\xc3\xa9", 2);
		open_log();
		lines_add(&lines, text_of(bytes, sizeof bytes));
		lines_add(&lines, TEXT("\n"));
		ck_assert_uint_eq(lines_last(&lines).len, LINES_LAST_MAX - shift);
		ck_assert_int_eq(memcmp(lines_last(&lines).ptr, bytes, LINES_LAST_MAX - shift), 0);
		close_log();
	}
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("io_lines");
	TCase *cut = tcase_create("cut");
	tcase_add_loop_test(cut, test_lines, 0, sizeof cases / sizeof *cases);
	suite_add_tcase(s, cut);
	tcase_add_loop_test(cut, test_endless_line, 0, sizeof characters / sizeof *characters);
	tcase_add_loop_test(cut, test_last_line, 0, sizeof last_cases / sizeof *last_cases);
	UNIT_CASE(s, "odd", test_any_bytes, test_long_last_line);
	return s;
}

UNIT_MAIN(suite)
