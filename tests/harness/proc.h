/* A program under test, in a process group of its own, with a clean environment. Its stdout and
 * stderr go to files, so that it never blocks on a reader; waits for its lines use inotify. It
 * dies with the test. Errors fail the test and show what the program printed. */
#ifndef HARNESS_PROC_H
#define HARNESS_PROC_H

#include <stdbool.h>
#include <sys/types.h>

struct proc;

/* argv: NULL-terminated; argv[0] is a path or is looked up in PATH. environment: NAME=value in
 * addition to PATH, HOME and LC_ALL, NULL-terminated, or NULL. folder: for its output, borrowed
 * until proc_free. */
struct proc *proc_start(
	const char *folder, const char *const argv[], const char *const environment[]);
/* Kill what is left of its group and wait for it. NULL is allowed. */
void proc_free(struct proc *);

pid_t proc_pid(const struct proc *);
/* Its only child, as of `unshare --fork`. */
pid_t proc_only_child(const struct proc *);
void proc_signal(struct proc *, int signal);
/* Send SIGSTOP, and wait until it is stopped. */
void proc_suspend(struct proc *);

/* Wait until a line of stderr contains needle, after the line of the last match. */
void proc_expect(struct proc *, const char *needle);
/* Wait until so many lines of stderr, in any order with others, contain needle. */
void proc_await_logged(struct proc *, const char *needle, int count);
/* True if any line of stderr contains needle now. */
bool proc_has_logged(struct proc *, const char *needle);
/* The number of lines of stderr that contain needle now. */
int proc_count_logged(struct proc *, const char *needle);

/* Wait for its end; return the exit code, or 128 + signal. */
int proc_wait(struct proc *);
/* Wait until one of them, 1 to PROC_WAIT_MAX, has ended; return its index. */
#define PROC_WAIT_MAX 16
int proc_wait_any(struct proc *const procs[], int count);
bool proc_is_alive(struct proc *);
/* Wait until a process that is not our child has ended; a zombie has. */
void proc_expect_gone(pid_t pid);

/* The environment of a process, any of ours: it has a variable that begins with entry (NAME=value),
 * or has none. */
void proc_expect_variable(pid_t pid, const char *entry, bool is_there);

/* What it has written so far; moves out. */
char *proc_stdout(struct proc *);
char *proc_stderr(struct proc *);

#endif
