/* A connection to the broker kept alive for ever: names, TCP, TLS, heartbeats, reconnects. Layer:
 * io. Owns the socket and the struct connection on it. Never blocks the loop: names are resolved in
 * a thread, everything else is non-blocking. Hosts are tried in turn; after each failure a jittered
 * wait (0.5 s, doubled to 5 s; 5 s to 60 s after a refused login) that a good stretch resets.
 * Never logs credentials. */
#ifndef IO_UPLINK_H
#define IO_UPLINK_H

#include "amqp/connection.h"
#include "config/url.h"
#include <ev.h>

struct uplink;

/* Of uplinks to one broker: what keeps two that fail for the same reason from saying it twice. Zero
 * is legal; lives longer than they do. */
struct uplink_voice {
	const struct uplink *latest; /* its last failure was said, and it is not open since */
};

struct uplink_config {
	const struct broker_url *hosts; /* borrowed until uplink_free */
	size_t host_count;
	mtime heartbeat;  /* a host's own setting wins */
	const char *name; /* "consume", "publish": shown by the broker's tools and in logs */
	const char *pool; /* that it is of, shown in the same places; NULL: of all */
	size_t output_limit;
	uint64_t body_limit;
	/* 0: keep trying for ever; else give up when there was no open connection for this long,
	 * and never wait longer than a second between two tries, each of which is no warning. */
	mtime reconnect_limit;
	bool refusal_is_final;      /* give up at a refused login, too */
	struct uplink_voice *voice; /* borrowed until uplink_free; NULL: it has one of its own */
	/* A place for each host, shared by uplinks, because reading what is trusted takes 20 ms;
	 * filled when first needed, and freed by who owns it. NULL: it has places of its own. */
	struct tls **tls;
};

struct uplink_handler {
	/* The connection is open; borrowed until on_down returns. */
	void (*on_up)(void *ctx, struct connection *);
	/* by_error: the broker closed it with an error code other than 320 (an operator's closing).
	 * Told once for every on_up, a close in order included; not by uplink_free. */
	void (*on_down)(void *ctx, bool by_error);
	/* Events of channels, and AMQP_BLOCKED / _UNBLOCKED / _CLOSE_OK of the connection. */
	void (*on_event)(void *ctx, const struct amqp_event *);
	uint8_t *(*content_memory)(
		void *ctx, uint16_t channel, bool is_return, size_t len, void **ret_owner);
	void (*content_dropped)(void *ctx, void *owner);
	/* After uplink_close, or when it gave up: nothing more will come, and the uplink may be
	 * freed here. why: uplink_failure; NULL after an uplink_close. */
	void (*on_end)(void *ctx, const char *why);
};

/* Callbacks come from the loop only, never from within one of these functions. on_down and on_event
 * may call uplink_flush and uplink_close; only on_end may call uplink_free.
 * Starts to connect in the loop's next turn. NULL: out of memory. */
struct uplink *uplink_new(
	struct ev_loop *, const struct uplink_config *, const struct uplink_handler *, void *ctx);
/* Sends what its connection has to send; called once at the end of each turn. What the socket does
 * not take is sent when it can be. */
void uplink_flush(struct uplink *);
/* connection.close, a short wait for its answer (1 s since the last byte could be written), then
 * on_end. Output already appended is sent first. */
void uplink_close(struct uplink *);
void uplink_free(struct uplink *);
/* The last failure was a refused login. */
bool uplink_is_refused(const struct uplink *);
/* The last failure in words, with the host and without a password; empty: there was none. Good
 * until the next failure or uplink_free. */
const char *uplink_failure(const struct uplink *);

#endif
