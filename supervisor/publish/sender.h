/* Publish the messages of an input to one queue, until each has its answer. Layer: publish. Used by
 * `wpool publish`. The number of unconfirmed messages is limited, and after a lost connection they
 * are published again. If a message closes the channel, they are published one at a time until it
 * is found. */
#ifndef PUBLISH_SENDER_H
#define PUBLISH_SENDER_H

#include "base/rate.h"
#include "broker/confirm_channel.h"
#include "broker/envelope.h"
#include "os/random_id.h"
#include "publish/broker_client.h"
#include "publish/input.h"
#include "publish/messages.h"
#include "publish/publish_summary.h"

struct sender {
	struct broker_client client;
	struct envelope envelope; /* filled by the caller */
	struct input input;
	struct messages messages;
	/* one message to each of these sessions; borrowed; count 0: to that of the envelope */
	const struct text *sessions;
	size_t session_count;
	size_t next_session; /* of the latest message of the input; session_count: none is left */
	struct text body;    /* that message */
	struct publish_summary summary;
	struct confirm_channel channel;
	struct rate rate; /* per_second 0: no limit */
	ev_timer token;   /* there is a token of the rate again */
	bool is_closing;
	size_t alone;      /* how many messages are still published one at a time */
	int exit_code;     /* once something went wrong; else 0 */
	char refusal[300]; /* the broker's text for the first message that it did not take */
	char nonce[RANDOM_ID_SIZE]; /* makes message ids unique */
};

/* Allocates nothing; the envelope may be filled afterwards. */
void sender_init(struct sender *);
void sender_release(struct sender *);
/* Publish at most so many messages a second; call before sender_open. */
void sender_limit_rate(struct sender *, int64_t per_second);
/* files, lines: as for input_init; the rest as for broker_client_init. broker_client_run returns
 * when every message has its answer, or cannot get one. */
int sender_open(struct sender *, const char *command, const char *broker, mtime wait,
	char *const *files, bool lines);

#endif
