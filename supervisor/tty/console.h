/* stdout and stderr, which may be a terminal, and messages about a configuration. Layer: tty. */
#ifndef TTY_CONSOLE_H
#define TTY_CONSOLE_H

#include "base/rc.h"
#include "base/text.h"

struct config;
struct text_table;

/* True: fd is a terminal, and NO_COLOR is unset or empty (https://no-color.org). */
bool console_has_colour(int fd);
/* The width of a line in characters if stdout is a terminal, else 0. */
size_t console_width(void);
/* Flush stdout. False: it could not be written, and the problem was printed. */
bool console_flush(const char *command) MUST_CHECK;
/* Print a table on stdout, as wide as it is. Returns EX_OK, or EX_SOFTWARE out of memory, which was
 * printed. */
int console_print_table(const char *command, const struct text_table *);
/* Log to stderr, in the configured format and from the configured level. */
void console_set_up_log(const struct config *);
/* Log each line of a configuration's warnings. */
void console_warn(struct text lines);
/* Print the problems of a configuration. Those in a file begin with its name, as with compilers;
 * others with the command; those on the command line end like cli_problem's. rc: what config_load
 * or config_load_broker returned, not RC_OK. Returns EX_USAGE, EX_CONFIG or, out of memory,
 * EX_SOFTWARE. */
int console_problems(const char *command, const char *file, enum rc, struct text lines);

#endif
