/* A connection to the broker that is opened again whenever it is lost: name lookup, TCP, TLS, AMQP
 * login, heartbeats. Layer: net. Owns the socket and the struct connection on it. Never blocks the
 * loop: names are resolved in a thread, everything else is non-blocking. Hosts are tried in turn,
 * and the waits between the tries grow (net/reconnect.h). Never logs credentials. */
#ifndef NET_BROKER_LINK_H
#define NET_BROKER_LINK_H

#include "amqp/connection.h"
#include "config/url/url.h"
#include <ev.h>

struct broker_link;

/* What a failure was, without what the broker said, names and addresses. */
#define BROKER_FAILURES(X)                                                                         \
	X(NONE, "")                                                                                \
	X(UNREACHABLE, "it cannot be opened")                                                      \
	X(REFUSED, "the broker refused the login")                                                 \
	X(CLOSED, "the broker closed it")                                                          \
	X(LOST, "it was lost")
enum broker_failure {
#define X(kind, text) BROKER_FAILURE_##kind,
	BROKER_FAILURES(X)
#undef X
};

/* Shared by the links to one broker, so that two which fail for the same reason log it once. Zero
 * is legal; outlives the links. */
struct log_dedup {
	const struct broker_link *latest; /* logged its last failure, and is not open since */
};

struct broker_link_config {
	const struct broker_url *hosts; /* borrowed until broker_link_free */
	size_t host_count;
	mtime heartbeat;  /* a host's own setting wins */
	const char *name; /* "consume", "publish": shown by the broker's tools and in logs */
	const char *pool; /* shown in the same places; NULL: the link serves all pools */
	size_t output_limit;
	uint64_t body_limit;
	/* 0: keep trying for ever; else give up when no connection was open for this long, never
	 * wait longer than a second between two tries, and log a failed try as a detail. */
	mtime reconnect_limit;
	bool refusal_is_final;       /* give up at a refused login, too */
	struct log_dedup *log_dedup; /* borrowed until broker_link_free; NULL: its own */
	/* One for each host, shared by links because loading the trusted certificates takes 20 ms.
	 * Made when first needed, freed by the array's owner. NULL: its own. */
	struct tls **tls;
};

struct broker_link_handler {
	/* The connection is open; borrowed until on_down returns. */
	void (*on_up)(void *ctx, struct connection *);
	/* Called once for every on_up, also after a close in order; not by broker_link_free.
	 * by_error: the broker closed it with an error code other than 320 (closed by an operator),
	 * which broker_link_close_reason returns.
	 */
	void (*on_down)(void *ctx, bool by_error);
	/* Events of channels, and AMQP_BLOCKED, _UNBLOCKED and _CLOSE_OK of the connection. */
	void (*on_event)(void *ctx, const struct amqp_event *);
	/* As those of struct connection_handler; NULL: the memory is freed with free(). */
	uint8_t *(*content_memory)(
		void *ctx, uint16_t channel, bool is_return, size_t len, void **ret_owner);
	void (*content_dropped)(void *ctx, void *owner);
	/* The last callback, after broker_link_close or when the link gave up; it may free the
	 * link. reason: broker_link_failure; NULL after a broker_link_close. */
	void (*on_end)(void *ctx, const char *reason);
};

/* Starts to connect in the loop's next turn. Callbacks come from the loop only, never from within
 * one of these functions. on_down and on_event may call broker_link_flush and broker_link_close;
 * only on_end may call broker_link_free. NULL: out of memory. */
struct broker_link *broker_link_new(struct ev_loop *, const struct broker_link_config *,
	const struct broker_link_handler *, void *ctx);
/* Send the connection's output; called once at the end of each turn. What the socket does not take
 * is sent when it can be. */
void broker_link_flush(struct broker_link *);
/* Send what is left and connection.close, wait for the answer (1 s since the last byte could be
 * written), then call on_end. */
void broker_link_close(struct broker_link *);
void broker_link_free(struct broker_link *);
/* The code of the broker's connection.close, and its text, valid until the next failure; 0: it sent
 * none. */
uint16_t broker_link_close_reason(const struct broker_link *, struct text *ret_text);
/* The last failure was a refused login. */
bool broker_link_is_refused(const struct broker_link *);
/* The last failure as one line of text that may be shown, with the host and without a password;
 * empty: there was none. Valid until the next failure or broker_link_free. */
const char *broker_link_failure(const struct broker_link *);
/* Its kind as a static text; empty: there was none. */
const char *broker_link_failure_kind_text(const struct broker_link *);

#endif
