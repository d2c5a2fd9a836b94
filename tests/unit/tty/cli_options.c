/* What is printed about the command line: mistakes in one line with a hint, the option that was
 * meant, and colour only where it is wanted. */
#include "unit/unit.h"

#include "config/problems.h"
#include "tty/cli_options.h"
#include "tty/console.h"
#include <pty.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sysexits.h>
#include <unistd.h>

#define TELLS_MORE "; see wpool test --help\n"

static int kept = -1, printed = -1;

static void listen_to_stderr(void)
{
	kept = dup(STDERR_FILENO);
	printed = memfd_create("stderr", MFD_CLOEXEC);
	ck_assert_int_eq(dup2(printed, STDERR_FILENO), STDERR_FILENO);
}

static void expect_printed(const char *expected)
{
	char buffer[1000];
	ssize_t len = pread(printed, buffer, sizeof buffer - 1, 0);
	dup2(kept, STDERR_FILENO);
	close(kept);
	close(printed);
	buffer[len > 0 ? len : 0] = '\0';
	ck_assert_str_eq(buffer, expected);
}

static const struct option options[] = {
	{"queue", required_argument, NULL, 'q'},
	{"header", required_argument, NULL, 'k'},
	{"lines", no_argument, NULL, 'l'},
	{"limit", required_argument, NULL, 'm'},
	{"help", no_argument, NULL, 'h'},
	{NULL, 0, NULL, 0},
};

static const struct {
	const char *arguments[5];
	const char *answers; /* what cli_next_option returns, one after the other, -1 left out */
	const char *value;   /* of the last good option; NULL: none */
	const char *text;
} mistakes[] = {
	{{"--lines", "--queue", "q"}, "lq", "q", ""},
	{{"--queue", "q"}, "q", "q", ""},
	{{"--que=q"}, "q", "q", ""},
	{{"--queue", "-"}, "q", "-", ""},
	{{"--queue", "-q"}, "q", "-q", ""},
	{{"--queue", ""}, "q", "", ""},
	{{"--queue=--lines"}, "q", "--lines", ""},
	{{"--queue=--"}, "q", "--", ""},
	{{"--queue", "--", "worker"}, "?", NULL, "option '--queue' needs a value" TELLS_MORE},
	{{"--queue", "--lines"}, "?", NULL, "option '--queue' needs a value" TELLS_MORE},
	{{"--queue", "--header=amqp://u:secret@h"}, "?", NULL,
		"option '--queue' needs a value" TELLS_MORE},
	{{"--queue"}, "?", NULL, "option '--queue' needs a value" TELLS_MORE},
	{{"--quue", "q"}, "?", NULL, "unknown option '--quue' (did you mean --queue?)" TELLS_MORE},
	{{"--headre=amqp://u:secret@h"}, "?", NULL,
		"unknown option '--headre' (did you mean --header?)" TELLS_MORE},
	{{"--li"}, "?", NULL, "unknown option '--li'" TELLS_MORE},
	{{"--workers", "4"}, "?", NULL, "unknown option '--workers'" TELLS_MORE},
	{{"--=x"}, "?", NULL, "unknown option '--'" TELLS_MORE},
	{{"-q"}, "?", NULL, "unknown option '-q'" TELLS_MORE},
	{{"--lines=secret"}, "?", NULL, "no value is taken by option '--lines'" TELLS_MORE},
};

START_TEST(options_are_read_and_mistakes_reported)
{
	char *argv[7] = {(char *)"test"}, answers[5] = "", expected[200] = "";
	const char *value = NULL;
	int argc = 1, option;
	for (; mistakes[_i].arguments[argc - 1]; argc++)
		argv[argc] = (char *)mistakes[_i].arguments[argc - 1];
	listen_to_stderr();
	optind = 0;
	while ((option = cli_next_option("test", ":", argc, argv, options)) != -1) {
		answers[strlen(answers)] = (char)option;
		if (option == CLI_BAD_OPTION)
			break;
		value = optarg;
	}
	if (*mistakes[_i].text)
		snprintf(expected, sizeof expected, "wpool test: %s", mistakes[_i].text);
	expect_printed(expected);
	ck_assert_str_eq(answers, mistakes[_i].answers);
	ck_assert_pstr_eq(value, mistakes[_i].value);
}
END_TEST

static const struct {
	enum rc rc;
	struct {
		struct place place;
		const char *text;
	} list[2];
	const char *text;
	int exit_code;
} problems[] = {
	{RC_REFUSED, {{{.name = "--workers"}, "what"}}, "wpool test: --workers: what" TELLS_MORE,
		EX_USAGE},
	{RC_REFUSED, {{{.name = NULL}, "one"}, {{.name = NULL}, "two"}},
		"wpool test: one\nwpool test: two" TELLS_MORE, EX_USAGE},
	{RC_MALFORMED, {{{.name = "PREFETCH"}, "what"}}, "wpool test: PREFETCH: what\n", EX_CONFIG},
	{RC_MALFORMED,
		{{{.name = "a.yaml", .line = 3, .is_in_file = true}, "what"},
			{{.name = "PREFETCH"}, "what"}},
		"a.yaml:3: what\nwpool test: PREFETCH: what\n", EX_CONFIG},
	{RC_NOT_FOUND, {{{.name = "a.yaml", .is_in_file = true}, "no"}}, "a.yaml: no\n", EX_CONFIG},
	{RC_MEMORY, {{{.name = NULL}, NULL}}, "wpool test: out of memory\n", EX_SOFTWARE},
};

START_TEST(problems_of_a_configuration_are_printed)
{
	struct problems found = {0};
	for (size_t i = 0; i < 2 && problems[_i].list[i].text; i++)
		problems_add(&found, problems[_i].list[i].place, "%s", problems[_i].list[i].text);
	listen_to_stderr();
	int exit_code = console_problems("test", problems[_i].rc, &found);
	expect_printed(problems[_i].text);
	ck_assert_int_eq(exit_code, problems[_i].exit_code);
	problems_release(&found);
}
END_TEST

START_TEST(colour_is_for_terminals_that_want_it)
{
	static const struct {
		const char *no_color;
		bool is_coloured;
	} cases[] = {{NULL, true}, {"", true}, {"1", false}, {"0", false}};
	int terminal, other, saved = dup(STDERR_FILENO);
	bool is_coloured[4], on_a_file;
	ck_assert_int_eq(openpty(&terminal, &other, NULL, NULL, NULL), 0);
	dup2(other, STDERR_FILENO);
	for (size_t i = 0; i < 4; i++) {
		unsetenv("NO_COLOR");
		if (cases[i].no_color)
			setenv("NO_COLOR", cases[i].no_color, 1);
		is_coloured[i] = console_has_colour(STDERR_FILENO);
	}
	unsetenv("NO_COLOR");
	dup2(saved, STDERR_FILENO);
	listen_to_stderr();
	on_a_file = console_has_colour(STDERR_FILENO);
	expect_printed("");
	ck_assert(!on_a_file);
	for (size_t i = 0; i < 4; i++)
		ck_assert(is_coloured[i] == cases[i].is_coloured);
	close(saved);
	close(terminal);
	close(other);
}
END_TEST

static Suite *usage_suite(void)
{
	Suite *suite = suite_create("tty/cli_options");
	TCase *tcase = tcase_create("usage");
	tcase_add_loop_test(tcase, options_are_read_and_mistakes_reported, 0,
		sizeof mistakes / sizeof *mistakes);
	tcase_add_loop_test(tcase, problems_of_a_configuration_are_printed, 0,
		sizeof problems / sizeof *problems);
	tcase_add_test(tcase, colour_is_for_terminals_that_want_it);
	suite_add_tcase(suite, tcase);
	return suite;
}

UNIT_MAIN(usage_suite)
