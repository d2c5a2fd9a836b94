#include "tty/cli_options.h"

#include "config/url/url.h"
#include "config/value/nearest.h"
#include "config/value/quantity.h"
#include "tty/console.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

char **cli_take_arguments(int argc, char **argv)
{
	size_t list = ((size_t)argc + 1) * sizeof *argv, size = list;
	for (int i = 0; i < argc; i++)
		size += strlen(argv[i]) + 1;
	char **copy = malloc(size);
	if (!copy)
		return NULL;
	char *at = (char *)copy + list;
	for (int i = 0; i < argc; i++) {
		copy[i] = at;
		at = stpcpy(at, argv[i]) + 1;
		broker_url_hide_password(argv[i]);
	}
	copy[argc] = NULL;
	return copy;
}

int cli_problem(const char *command, const char *format, ...)
{
	struct buf text;
	va_list args;
	buf_init(&text, SIZE_MAX);
	va_start(args, format);
	buf_vprintf(&text, format, args);
	va_end(args);
	console_problem(command, "%.*s; see wpool %s --help", TEXT_ARGS(buf_text(&text)), command);
	buf_release(&text);
	return EX_USAGE;
}

int cli_bad_value(const char *command, const char *option, char *value, const char *what)
{
	broker_url_hide_password(value);
	return cli_problem(command, "%s '%s' %s", option, value, what);
}

int cli_read_duration(const char *command, const char *option, mtime *ret)
{
	if (quantity_read_duration(text_from(optarg), ret) && *ret > 0)
		return -1;
	return cli_bad_value(command, option, optarg, "is no duration such as 10s");
}

enum { OPTIONS_MAX = 32 };

/* optopt is 0 for a long name that is unknown or ambiguous; then the word itself is the last one
 * that was looked at. Values are not printed: one may be a password. */
static void print_unknown(const char *command, char **argv, const struct option *options)
{
	const char *word = argv[optind - 1];
	int len = (int)strcspn(word, "=");
	if (optopt && word[0] == '-' && word[1] != '-') {
		cli_problem(command, "unknown option '-%c'", optopt);
		return;
	}
	if (optopt) {
		cli_problem(command, "no value is taken by option '%.*s'", len, word);
		return;
	}
	const char *names[OPTIONS_MAX + 1] = {0}, *nearest;
	for (size_t i = 0; options[i].name && i < OPTIONS_MAX; i++)
		names[i] = options[i].name;
	nearest = nearest_name(text_of(word + 2, (size_t)len - 2), names);
	if (nearest)
		cli_problem(
			command, "unknown option '%.*s' (did you mean --%s?)", len, word, nearest);
	else
		cli_problem(command, "unknown option '%.*s'", len, word);
}

int cli_next_option(const char *command, const char *letters, int argc, char **argv,
	const struct option *options)
{
	int option = getopt_long(argc, argv, letters, options, NULL);
	if (option == -1)
		return -1;
	if (option == '?')
		print_unknown(command, argv, options);
	else if (option == ':')
		cli_problem(command, "option '%s' needs a value", argv[optind - 1]);
	else if (optarg && optarg == argv[optind - 1] && strncmp(optarg, "--", 2) == 0)
		cli_problem(command, "option '%s' needs a value", argv[optind - 2]);
	else
		return option;
	return CLI_BAD_OPTION;
}

const char *cli_number(uint64_t number, char *buffer)
{
	char digits[21];
	int len = snprintf(digits, sizeof digits, "%llu", (unsigned long long)number);
	char *out = buffer;
	for (int i = 0; i < len; i++) {
		if (i > 0 && (len - i) % 3 == 0)
			*out++ = ',';
		*out++ = digits[i];
	}
	*out = '\0';
	return buffer;
}
