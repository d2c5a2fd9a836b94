/* Mistakes on the command line, each one line with a hint, and values in words. Layer: cli. */
#ifndef CLI_USAGE_H
#define CLI_USAGE_H

#include "base/rc.h"
#include <getopt.h>
#include <stdint.h>

/* No option of any command has this value. */
enum { USAGE_BAD_OPTION = '?' };

/* "wpool COMMAND: what; wpool COMMAND --help tells more" on stderr. Returns EX_USAGE. */
int usage_problem(const char *command, const char *format, ...) PRINTF_LIKE(2, 3);
/* "--option 'value' what", and the hint; a password in the value is hidden, in place. Returns
 * EX_USAGE. */
int usage_bad_value(const char *command, const char *option, char *value, const char *what);
/* As getopt_long; letters is its option string and has the colon that makes it silent, for the
 * mistakes are said here, and the option that was probably meant: USAGE_BAD_OPTION, and the exit
 * code is EX_USAGE. A value that begins with "--" in a word of its own is one that was forgotten.
 */
int usage_next_option(const char *command, const char *letters, int argc, char **argv,
	const struct option *options);

/* 1234567 as "1,234,567". Returns buffer (at least 27 bytes). */
const char *usage_number(uint64_t number, char *buffer);

#endif
