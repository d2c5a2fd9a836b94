/* tmux, a terminal emulator of others, with a program in it: what it shows of the program's output,
 * and whether the program made it do anything. It runs with the test's folder alone, and dies with
 * the test. Errors fail the test. */
#ifndef HARNESS_TMUX_H
#define HARNESS_TMUX_H

#include <stdbool.h>

/* The terminal after a command. All of it lives until the test's end. */
struct tmux_screen {
	char *text; /* its lines, without blanks at their ends; a long line that was wrapped is one
		     */
	/* Whether the terminal was changed: its title or name, colours or styles, another screen,
	 * hidden cursor, a bell, and other modes. */
	bool is_changed;
	char *changes; /* the state, for messages */
	int status;    /* the command's exit status */
};
/* Run a command to its end, with the control socket of the fixture and without colours of its own.
 * argv: NULL-terminated; argv[0] is a path or in PATH. */
struct tmux_screen tmux_run(const char *const argv[]);

#define TMUX_RUN(...) tmux_run((const char *const[]){__VA_ARGS__, NULL})

#endif
