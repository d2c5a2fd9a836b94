/* The command line, and what it shows to others. Layer: cli. */
#ifndef CLI_ARGV_H
#define CLI_ARGV_H

/* A copy of the command line, in one block for free(); what looks like a password in the original
 * is overwritten, so that /proc/PID/cmdline does not tell it. NULL: out of memory, and nothing is
 * changed. */
char **argv_take(int argc, char **argv);

#endif
