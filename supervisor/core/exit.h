/* How a worker process ended. Layer: core, plain data; filled by io. */
#ifndef CORE_EXIT_H
#define CORE_EXIT_H

#include <stdint.h>

enum exit_kind {
	EXIT_NONE,        /* it did not end */
	EXIT_STATUS,      /* number: exit status */
	EXIT_SIGNAL,      /* number: signal */
	EXIT_NOT_STARTED, /* number: errno; stage: the step of the start that failed */
};

struct exit_info {
	enum exit_kind kind;
	int32_t number;
	/* Static text. EXIT_NOT_STARTED: the step, "exec", "fork", "pipe", ...; EXIT_SIGNAL: why
	 * the kernel sent it, or NULL; else NULL. */
	const char *stage;
};

#endif
