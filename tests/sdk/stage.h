/* Plays the supervisor for one worker process, without any of the supervisor's code, because a
 * worker must follow the protocol, not our reading of it. Every wait has a limit, at which the
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
	int life;    /* hangs up when the worker ends; valgrind has no pidfd */
	int to;      /* the data pipe; the same as from if it is a socket */
	int from;
	char folder[64];
	char address[96];
	int listener;
};

/* Start the program with the address and accept its connection. No name stays in the file system.
 */
void stage_open(struct stage *, enum stage_form, const char *const *argv);
/* Start it, send the address of FIFOs, and close all before they are opened. */
void stage_abandon(struct stage *, const char *const *argv);
/* Start it and send nothing. */
void stage_start(struct stage *, const char *const *argv);
/* Start it and send nothing: it must exit by itself, while its standard input is open. What it
 * wrote to standard error becomes ret_text. Return its exit status. */
int stage_refuse(const char *const *argv, char *ret_text, size_t size);
void stage_write_control(struct stage *, const char *line);
/* One task; headers is "name=value;name=value" or ""; the first one, if it is "session", is the key
 * of the task's session. A body that is not UTF-8 goes as bin. */
void stage_send(struct stage *, const char *body, size_t len, const char *headers);
void stage_send_text(struct stage *, const char *body, const char *headers);
/* One task with an id, and without headers. */
void stage_send_id(struct stage *, unsigned long long id, const char *body);
/* Send a control line that names a task, such as "__cancel__". */
void stage_request(struct stage *, const char *word, unsigned long long id);
void stage_write(struct stage *, const void *bytes, size_t len);
/* The next output as text: "201 'body' to queue a=1 b=2 #7", headers sorted by name, the id of the
 * task where the output has it. Valid until the next call. */
const char *stage_read(struct stage *);
struct stage_exchange {
	const char *body;
	const char *headers;
	const char *output;
};

/* Send the tasks one by one; each must be answered with its output. */
void stage_exchange(struct stage *, const struct stage_exchange *, size_t count);
/* End the direction to the worker, and go on to read. */
void stage_end_data(struct stage *);
void stage_close_data(struct stage *);
void stage_close_control(struct stage *);
/* The exit status, or -1 when a signal ended it. */
int stage_wait(struct stage *);
/* Send __quit__; the worker must exit with 0. */
void stage_quit(struct stage *);

#endif
