/* The command line, and what other users see of it. Layer: tty. */
#ifndef TTY_ARGV_H
#define TTY_ARGV_H

/* Return a copy of the command line, in one block for free(), and overwrite passwords in the
 * original, so that /proc/PID/cmdline does not show them. NULL: out of memory; nothing changed. */
char **argv_take(int argc, char **argv);

#endif
