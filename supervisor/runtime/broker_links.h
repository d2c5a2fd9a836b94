/* The broker connections of a supervisor: one that publishes for all pools, and one for each
 * pool that consumes and acks. Layer: runtime. They are separate because a broker under an alarm
 * stops reading connections that publish, and acks must not wait for that. */
#ifndef RUNTIME_BROKER_LINKS_H
#define RUNTIME_BROKER_LINKS_H

#include "runtime/pool_set.h"

struct broker_links {
	const struct pool_set
		*pool_set; /* borrowed until broker_links_release; set by the caller */
	struct ev_loop *loop;
	struct log_dedup log_dedup;
	struct broker_link_config shared; /* shared by all: everything but the names */
	struct broker_link *publish;
	struct connection *publishes_by; /* NULL: not connected */
	/* By number: whose channel of the publish connection it is; borrowed, NULL: free. */
	struct pool_runtime *channels[AMQP_CHANNEL_LIMIT + 1];
	uint64_t publish_ups;         /* how often it was opened */
	uint64_t past_reconnects;     /* of consuming connections of removed pools */
	struct certificate_end *ends; /* owned; of each host's client certificate */
	bool publish_ended;
	bool is_blocked; /* the broker accepts no publishes at the moment */
};

/* Start to connect, for all pools of the set. False: out of memory; release it anyway. config's
 * hosts are borrowed until broker_links_release. */
bool broker_links_open(struct broker_links *, struct ev_loop *, const struct config *);
/* Connect a pool that joined the set later. */
bool broker_links_connect(struct broker_links *, struct pool_runtime *) MUST_CHECK;
/* Call before a pool leaves the set: its reconnects stay counted, since a counter must not go
 * down, and its channels of the publish connection become free. */
void broker_links_forget(struct broker_links *, struct pool_runtime *);
/* Write pending output; once at the end of each turn. */
void broker_links_flush(struct broker_links *);
void broker_links_close(struct broker_links *);
/* After broker_links_close: true when no event will follow. */
bool broker_links_are_closed(const struct broker_links *);
/* Call before the pool runtimes are freed. */
void broker_links_release(struct broker_links *);

/* Of all consuming connections: up if all of pools that are not retiring are up; reconnects are
 * the sum of all that ever existed. */
struct link_facts broker_links_consume_facts(const struct broker_links *);
bool broker_links_is_any_consume_up(const struct broker_links *);
struct link_facts broker_links_publish_facts(const struct broker_links *);
/* When the first of our client certificates ends, in seconds since 1970; 0: there is none, or none
 * can be read. */
int64_t broker_links_certificate_end(const struct broker_links *);

#endif
