/* The channel of a shared throttle in tests: the channel of the connection is a fake, which records
 * its calls; the throttle and its member are real. Times are made up. */
#ifndef UNIT_CHANNEL_RIG_H
#define UNIT_CHANNEL_RIG_H

#include "amqp/properties.h"
#include "broker/throttle/throttle_channel.h"
#include "broker/throttle/throttle_message.h"
#include "core/throttle/throttle.h"
#include "unit/unit.h"

#define QUEUE   TEXT("wpool.throttle.erp")
#define ADDRESS TEXT("amq.rabbitmq.reply-to.g1h2.AAE=")

/* Numbers of members: of the one that is tested, and of others. */
enum { OWN = 7, OTHER = 9, THIRD = 11 };

struct channel_rig {
	struct throttle *throttle;
	struct member *member;
	struct throttle_channel *channel;
	struct connection *connection;
	struct channel_log log;
	mtime now, period;
	char calls[256];    /* of the fake, since the last expect */
	struct buf message; /* what a test delivers */
	bool is_redelivered;
	/* the latest messages of each kind that were published, and the routing key of the latest
	 */
	struct throttle_request asked;
	struct throttle_answer answered;
	struct throttle_handover handed;
	uint64_t leaver, taker;
	char address[SHORT_STRING_MAX + 1];
	char logged[1024]; /* the latest line that is no detail */
	enum log_level logged_level;
};

extern struct channel_rig rig;

/* A throttle with a limit of 2. */
void channel_rig_set_up(mtime period);
void channel_rig_tear_down(void);
/* Compare the calls of the fake since the last time, such as "open3 ask3": the kinds of published
 * messages, "check" for a passive declare, and "count" for one that does not say which queue it
 * wants. */
void expect(const char *calls);
void handle(enum amqp_event_kind);
void tick(void);
/* The channel opens, and consumes answers and requests. */
void consume(void);
/* properties: raw. */
void deliver(const char *tag, struct text properties, struct text body);
/* The broker has put the sender's address into reply_to; empty: it wants no answer. */
void deliver_to(const char *tag, struct text body, struct text reply_to);
void deliver_request(const struct throttle_request *, struct text reply_to);
void deliver_answer(const struct throttle_answer *);
struct throttle_request request_of_other(void);

#endif
