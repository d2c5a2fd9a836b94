/* Bytes of a log stream become lines, however they are cut on the way. */
#include "worker/lines.h"
#include "unit/unit.h"

#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

static struct lines lines;
static struct log_gate gate;
static const struct log_rate no_limit = {RATE_MAX, RATE_MAX};
static int fd;

static void open_log(void)
{
	fd = memfd_create("log", MFD_CLOEXEC);
	log_setup(fd, LOG_DEBUG, LOG_JSON, false);
	log_gate_init(&gate, ev_default_loop(0), "unit", &no_limit);
	lines_init(&lines,
		(struct log_origin){.pool = "unit", .slot = 3, .pid = 77, .stream = "stdout"},
		&gate, true);
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
	log_gate_release(&gate);
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

START_TEST(lines_are_found_in_pieces_of_any_length)
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

/* Of a line that is too long as much is told as fits, once and with a mark, and no character is
 * cut; what follows it is a line of its own. */
START_TEST(a_long_line_is_cut_between_characters)
{
	const char *character = characters[_i];
	size_t width = strlen(character);
	static const size_t cuts[] = {1000, 16383, 16384, 16385, 65536};
	enum { TOTAL = 60001 /* a multiple of each width, and the newline */ };
	static char bytes[TOTAL + 6];
	for (size_t i = 0; i + width < TOTAL; i += width)
		memcpy(bytes + i, character, width);
	memcpy(bytes + TOTAL - 1, "\nnext\n", 6);
	for (size_t c = 0; c < sizeof cuts / sizeof *cuts; c++) {
		open_log();
		for (size_t at = 0; at < TOTAL + 5; at += cuts[c]) {
			size_t len = TOTAL + 5 - at < cuts[c] ? TOTAL + 5 - at : cuts[c];
			lines_add(&lines, text_of(bytes + at, len));
		}
		const char *text = logged();
		size_t whole = 0;
		for (; strncmp(text, character, width) == 0; text += width)
			whole++;
		ck_assert_uint_eq(whole, (LOG_MESSAGE_MAX - 6) / width);
		ck_assert_str_eq(text, " [cut]|next|");
		ck_assert_uint_eq(lines.count, 2);
		close_log();
	}
}
END_TEST

START_TEST(a_line_of_the_maximum_is_not_cut)
{
	static char bytes[LOG_MESSAGE_MAX + 1];
	memset(bytes, 'x', LOG_MESSAGE_MAX);
	bytes[LOG_MESSAGE_MAX] = '\n';
	open_log();
	for (size_t at = 0; at < sizeof bytes; at += 1024)
		lines_add(&lines,
			text_of(bytes + at, sizeof bytes - at < 1024 ? sizeof bytes - at : 1024));
	ck_assert_uint_eq(strlen(logged()), LOG_MESSAGE_MAX + 1);
	close_log();
}
END_TEST

/* It is told when it is too long, not when it ends, which may be never; and is not told again. */
START_TEST(an_endless_line_is_logged_once)
{
	static char bytes[LOG_MESSAGE_MAX + 1];
	memset(bytes, 'x', sizeof bytes);
	open_log();
	lines_add(&lines, text_of(bytes, sizeof bytes));
	ck_assert_uint_eq(lines.count, 1);
	for (int i = 0; i < 100; i++)
		lines_add(&lines, text_of(bytes, sizeof bytes));
	lines_end(&lines);
	ck_assert_uint_eq(lines.count, 1);
	lines_add(&lines, TEXT("new\n"));
	ck_assert_uint_eq(lines.count, 2);
	close_log();
}
END_TEST

START_TEST(a_line_may_have_any_bytes)
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

START_TEST(the_last_line_that_is_not_blank_is_kept)
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
START_TEST(a_long_last_line_is_cut_between_characters)
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
	Suite *s = suite_create("worker/lines");
	TCase *cut = tcase_create("cut");
	tcase_add_loop_test(
		cut, lines_are_found_in_pieces_of_any_length, 0, sizeof cases / sizeof *cases);
	suite_add_tcase(s, cut);
	tcase_add_loop_test(cut, a_long_line_is_cut_between_characters, 0,
		sizeof characters / sizeof *characters);
	tcase_add_loop_test(cut, the_last_line_that_is_not_blank_is_kept, 0,
		sizeof last_cases / sizeof *last_cases);
	UNIT_CASE(s, "odd", a_line_of_the_maximum_is_not_cut, an_endless_line_is_logged_once,
		a_line_may_have_any_bytes, a_long_last_line_is_cut_between_characters);
	return s;
}

UNIT_MAIN(suite)
