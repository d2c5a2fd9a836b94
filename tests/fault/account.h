/* The account of a load: what was published and confirmed, compared with where each message
 * ended. The witness is the file that workers append to and fsync before they answer; replies
 * and dead letters are read from their queues. A message is identified by its number, in its
 * correlation id. */
#ifndef FAULT_ACCOUNT_H
#define FAULT_ACCOUNT_H

#include "fault/fault.h"

/* How a message is to end. */
enum fate {
	FATE_DONE,       /* 200 */
	FATE_REPLY,      /* 201: its effect is the reply */
	FATE_RETRIED,    /* 500 at the first attempt, then 200 */
	FATE_REJECTED,   /* 404: a dead letter */
	FATE_POISON,     /* kills its worker in each attempt: a dead letter */
	FATE_UNROUTABLE, /* a reply to a queue that is missing: a dead letter */
	FATE_INVALID,    /* a reply that cannot be put into AMQP: a dead letter */
	FATE_REFUSED,    /* a reply of 100,000 bytes, for a broker that takes less: a dead letter */
	FATE_ACCEPTED,   /* accepted, then 200; a dead letter if its worker ends first */
	FATES
};

struct account;

/* Where the messages go and where they end. */
struct account_place {
	char *queue, *dead, *replies;
	char *witness; /* WITNESS of the pool's workers */
};

/* An account for the fixture's queues. delays: of the pool's retry queues, as in
 * fixture_await_settled. */
struct account *account_new(const char *const delays[]);
/* The same for another pool at the same broker; the texts in place are borrowed until
 * account_free. */
struct account *account_new_at(const struct account_place *, const char *const delays[]);
/* Declare the queues of a further place with this number. */
struct account_place account_place_open(int number, enum client_queue kind);
/* Delete the queues. */
void account_place_close(struct account_place *);
void account_free(struct account *);

/* Post count messages with the fates[i % strlen]: 'd' done, 'r' reply, 't' retried, 'x' rejected,
 * 'p' poison, 'a' accepted. Each takes sleep_ms. All are confirmed when this returns, so at most a
 * few thousand. */
void account_post(struct account *, long count, const char *fates, int sleep_ms);
/* From now on no message begins before a time of its own, within span_ms; half of them are
 * postponed by their workers until another such time. */
void account_set_later(struct account *, int span_ms);
/* Post as many as are missing to `level` ready messages in the queue. */
void account_fill(struct account *, long level, const char *fates, int sleep_ms);
/* Wait until the queue has at most `level` ready messages. */
void account_await_backlog(long level);
/* The number of messages posted so far. */
long account_posted(const struct account *);
/* The number of publishes that were nacked and repeated. Each may have left a copy, which does not
 * count as a repeat. */
long account_nacked(const struct account *);
/* The number of lines in the witness. */
long account_witnessed(const struct account *);
/* True: as many messages ended, in witness, replies and dead letters, as were posted. Repeats
 * count, too. */
bool account_has_ended(struct account *);
/* Wait until all queues but those of replies and dead letters are empty. */
void account_await_settled(struct account *);
/* Wait until the witness has count lines more than at the last post or fill. */
void account_await_progress(struct account *, long count);

/* Read the ends of all messages into the tally: asked, done, repeats, lost. The test fails if a
 * message had an unexpected end, was not published, or is left in a queue, or if the broker got an
 * unknown delivery tag. The account and the witness are empty then. Return the repeats of this
 * part. */
long account_close(struct account *, struct tally *);
/* Fail the test if the node's log has an unknown delivery tag. account_close does so for the
 * fixture's node. */
void account_expect_no_stale_ack(const struct broker *);

#endif
