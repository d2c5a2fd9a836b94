/* What stderr is told about a configuration, and whether in colour. Layer: cli. */
#ifndef CLI_CONSOLE_H
#define CLI_CONSOLE_H

#include "base/rc.h"
#include "base/text.h"

struct config;

/* fd is a terminal, and NO_COLOR is not set or empty (https://no-color.org). */
bool console_has_colour(int fd);
/* Characters of a line on the terminal that stdout is; 0: it is none. */
size_t console_width(void);
/* The log goes to stderr, in the form and from the level that is configured. */
void console_set_up_log(const struct config *);
/* Logs each line of what was odd about a configuration. */
void console_warn(struct text lines);
/* The lines of what was wrong with it. A file's begin as compilers' do, with the file; others with
 * the command, and mistakes on the command line end as usage_problem's. rc: what config_load or
 * config_load_broker returned, not RC_OK. Returns EX_USAGE, EX_CONFIG or, out of memory,
 * EX_SOFTWARE. */
int console_problems(const char *command, const char *file, enum rc, struct text lines);

#endif
