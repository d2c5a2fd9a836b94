/* Sends the messages of an input to one queue until each has its answer. Layer: cli.
 * The machine of `wpool publish`: confirm mode, a bounded window, what is unconfirmed sent again on
 * the next connection; and when a message costs the channel, one at a time until it is found. */
#ifndef CLI_SENDER_H
#define CLI_SENDER_H

#include "cli/client.h"
#include "cli/envelope.h"
#include "cli/input.h"
#include "cli/tally.h"
#include "cli/window.h"

struct sender {
	struct client client;
	struct envelope envelope; /* filled by the caller */
	struct input input;
	struct window window;
	struct tally tally;
	bool is_confirming; /* the channel is open and in confirm mode */
	bool is_blocked;    /* by an alarm of the broker */
	bool is_closing;
	uint64_t last_tag;
	size_t careful;    /* so many more are sent one at a time */
	int trouble;       /* an exit code, once something went wrong */
	char refusal[300]; /* the broker's words for the first message that it did not take */
	char nonce[17];    /* makes message ids unique */
};

/* Allocates nothing; the envelope may be filled afterwards. */
void sender_init(struct sender *);
void sender_release(struct sender *);
/* files, lines: as input_init has them. As client_init otherwise. */
int sender_open(struct sender *, const char *command, const char *broker, mtime wait,
	char *const *files, bool lines);
/* Until all is answered, or it cannot be. */
void sender_run(struct sender *);

#endif
