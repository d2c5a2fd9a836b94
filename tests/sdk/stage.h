/* Plays the supervisor for one worker process, without any of the supervisor's code: what a worker
 * must live up to is the protocol, not our reading of it. Every wait has a limit, at which the
 * check fails. */
#ifndef SDK_STAGE_H
#define SDK_STAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum stage_form { STAGE_PATH, STAGE_FIFO, STAGE_COREFX, STAGE_FORMS };

struct stage {
	pid_t pid;
	int control; /* the worker's standard input */
	int life;    /* hangs up when it ends: valgrind knows of no descriptor for a process */
	int to;      /* the data pipe; both the same where it is a socket */
	int from;
	char folder[64];
	char address[96];
	int listener;
};

/* Start the program with the address and accept its connection. No name stays in the file system.
 */
void stage_open(struct stage *, enum stage_form, const char *const *argv);
/* Starts it and is gone between the address, of FIFOs, and its own open of the first of them. */
void stage_abandon(struct stage *, const char *const *argv);
/* Start it and send nothing. */
void stage_start(struct stage *, const char *const *argv);
void stage_write_control(struct stage *, const char *line);
/* One task; headers is "name=value;name=value" or "". A body that is not UTF-8 goes as bin. */
void stage_send(struct stage *, const char *body, size_t len, const char *headers);
void stage_send_text(struct stage *, const char *body, const char *headers);
void stage_write(struct stage *, const void *bytes, size_t len);
/* The next output as text: "201 'body' to queue a=1 b=2", headers sorted by name. Valid until the
 * next call. */
const char *stage_read(struct stage *);
struct stage_exchange {
	const char *body;
	const char *headers;
	const char *output;
};

/* Task by task, each must be answered with its output. */
void stage_exchange(struct stage *, const struct stage_exchange *, size_t count);
void stage_close_data(struct stage *);
void stage_close_control(struct stage *);
/* The exit status, or -1 when a signal ended it. */
int stage_wait(struct stage *);
/* __quit__, which must end the worker with 0. */
void stage_quit(struct stage *);

#endif
