/* stdout and stderr, which may be a terminal, and messages about a configuration. Layer: tty. */
#ifndef TTY_CONSOLE_H
#define TTY_CONSOLE_H

#include "base/rc.h"
#include "base/text.h"

#include <stdio.h>

struct config;
struct problems;
struct text_table;

/* True: fd is a terminal, and NO_COLOR is unset or empty (https://no-color.org). */
bool console_has_colour(int fd);
/* The width of a line in characters if stdout is a terminal, else 0. */
size_t console_width(void);
/* Print a part of a line as printf does, but escaped (utf8_append_escaped): a newline in it ends no
 * line. */
void console_print(FILE *, const char *format, ...) PRINTF_LIKE(2, 3);
/* Print "wpool COMMAND: ", this text, and the end of the line on stderr, likewise. */
void console_problem(const char *command, const char *format, ...) PRINTF_LIKE(2, 3);
/* True: a person can be asked: stdin and stderr are terminals. */
bool console_can_ask(void);
/* Print a question on stderr, escaped likewise, and read a line. True: yes. */
bool console_ask(const char *question, ...) PRINTF_LIKE(1, 2) MUST_CHECK;
/* Print lines of text likewise, but with their ends; the last one gets an end if it has none. */
void console_print_lines(FILE *, struct text lines);
/* Flush stdout. False: it could not be written, and the problem was printed. */
bool console_flush(const char *command) MUST_CHECK;
/* Print a table on stdout, as wide as it is. Returns EX_OK, or EX_SOFTWARE out of memory, which was
 * printed. */
int console_print_table(const char *command, const struct text_table *);
/* Log to stderr, in the configured format and from the configured level. */
void console_set_up_log(const struct config *);
/* Log the warnings of a configuration. */
void console_warn(const struct problems *warnings);
/* Print the problems of a configuration. Those in a file begin with its name, as with compilers;
 * others with the command; if all are on the command line, the last one ends like cli_problem's.
 * rc: what config_load or config_load_broker returned, not RC_OK. Returns EX_USAGE, EX_CONFIG or,
 * out of memory, EX_SOFTWARE. */
int console_problems(const char *command, enum rc, const struct problems *);

#endif
