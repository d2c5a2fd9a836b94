/* The command line: arguments, options, and messages about mistakes: one line each, with a hint.
 * Layer: tty. */
#ifndef TTY_CLI_OPTIONS_H
#define TTY_CLI_OPTIONS_H

#include "base/mtime.h"
#include "base/rc.h"
#include <getopt.h>
#include <stdint.h>

/* No option of any command has this value. */
enum { CLI_BAD_OPTION = '?' };

/* Return a copy of the command line, in one block for free(), and overwrite passwords in the
 * original, so that /proc/PID/cmdline does not show them. NULL: out of memory; nothing changed. */
char **cli_take_arguments(int argc, char **argv);
/* "wpool COMMAND: what; see wpool COMMAND --help" on stderr. Returns EX_USAGE. */
int cli_problem(const char *command, const char *format, ...) PRINTF_LIKE(2, 3);
/* "--option 'value' what", and the hint; a password in the value is hidden, in place. Returns
 * EX_USAGE. */
int cli_bad_value(const char *command, const char *option, char *value, const char *what);
/* Read a duration above 0, such as "10s", from optarg. Returns -1; or EX_USAGE, and the problem was
 * printed. */
int cli_read_duration(const char *command, const char *option, mtime *ret);
/* Like getopt_long; letters is its option string, with the colon that makes it silent. After a
 * mistake, print it with the option that was probably meant, and return CLI_BAD_OPTION; the command
 * exits with EX_USAGE. If the next argument begins with "--", the value is missing. */
int cli_next_option(const char *command, const char *letters, int argc, char **argv,
	const struct option *options);

/* 1234567 as "1,234,567". Returns buffer (at least 27 bytes). */
const char *cli_number(uint64_t number, char *buffer);

#endif
