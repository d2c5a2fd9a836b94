/* A program under test: started in a process group of its own with a clean environment, its stdout
 * and stderr kept in files (so that it never blocks on a reader), its lines waited for by inotify.
 * It dies with the test. Everything here fails the test, and shows what the program printed, rather
 * than returning an error. */
#ifndef HARNESS_PROC_H
#define HARNESS_PROC_H

#include <stdbool.h>
#include <sys/types.h>

struct proc;

/* argv: NULL-terminated; argv[0] is a path or is looked up in PATH. environment: NAME=value on top
 * of PATH, HOME and LC_ALL, NULL-terminated, or NULL. folder: where its output is kept, borrowed
 * until proc_free. */
struct proc *proc_start(
	const char *folder, const char *const argv[], const char *const environment[]);
/* Kills what is left of its group, and waits for it. NULL is legal. */
void proc_free(struct proc *);

pid_t proc_pid(const struct proc *);
void proc_signal(struct proc *, int signal);

/* Waits until a line of stderr holds needle, after the line of the last such match. */
void proc_expect(struct proc *, const char *needle);
/* Whether any line of stderr, old or new, holds needle, now. */
bool proc_has_said(struct proc *, const char *needle);
/* How many lines of stderr hold needle, now. */
int proc_count_said(struct proc *, const char *needle);

/* Waits for its end: the exit code, or 128 + signal. */
int proc_wait(struct proc *);
bool proc_is_alive(struct proc *);
/* Waits until a process that is nobody's child here has ended, a zombie being one that has. */
void proc_expect_gone(pid_t pid);

/* What it has written so far: owned by the caller. */
char *proc_stdout(struct proc *);
char *proc_stderr(struct proc *);

#endif
