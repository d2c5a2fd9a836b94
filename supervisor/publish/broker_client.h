/* Shared by the commands that are clients of the broker: addresses, one broker link, a loop and its
 * signals. Layer: publish. */
#ifndef PUBLISH_BROKER_CLIENT_H
#define PUBLISH_BROKER_CLIENT_H

#include "config/url/url.h"
#include "net/broker_link.h"

struct broker_client_handler {
	void (*on_up)(void *ctx, struct connection *);
	/* by_error as in struct broker_link_handler. */
	void (*on_down)(void *ctx, bool by_error);
	/* A content's memory is freed after this. */
	void (*on_event)(void *ctx, const struct amqp_event *);
	/* Called at the end of each turn, before the output is sent; may be NULL. Return true if it
	 * stopped because the output is full, and needs another turn after that has been sent. */
	bool (*on_turn)(void *ctx);
	/* SIGINT or SIGTERM; a second one ends the loop. */
	void (*on_interrupt)(void *ctx);
};

struct broker_client {
	struct ev_loop *loop;     /* owned */
	struct broker_url *hosts; /* owned */
	size_t host_count;
	struct broker_link *broker_link; /* owned */
	struct connection *connection;   /* borrowed while it is open, else NULL */
	const struct broker_client_handler *handler;
	void *ctx;
	ev_prepare turn;
	ev_idle again;
	ev_signal interrupt, terminate;
	ev_timer blocked_limit;
	mtime wait;
	int interrupts;
	bool is_blocked;   /* the broker accepts no messages now */
	char blocked[200]; /* why */
	char failure[800]; /* why the broker link or the client gave up; else empty */
	bool was_refused;
};

/* The channel of a command. */
#define BROKER_CLIENT_CHANNEL 1

/* Bytes of output above which a client should send no more in this turn. */
#define BROKER_CLIENT_OUTPUT_HIGH (1024 * 1024)

/* command: for messages; static. broker: the --broker option or NULL. wait: how long to be without
 * a connection, or with one that the broker has blocked, before giving up; 0: for ever. Return
 * EX_OK, or print what is wrong and return another exit code. broker_client_release in any case. */
int broker_client_init(struct broker_client *, const char *command, const char *broker, mtime wait,
	const struct broker_client_handler *, void *ctx);
/* The same with these addresses, which move in, in any case. */
int broker_client_init_hosts(struct broker_client *, const char *command, struct broker_url *hosts,
	size_t count, mtime wait, const struct broker_client_handler *, void *ctx);
/* Run until the connection is closed after broker_client_close, until the broker link or the client
 * gives up, or until a second signal. */
void broker_client_run(struct broker_client *);
void broker_client_close(struct broker_client *);
/* Free everything. From then on SIGINT and SIGTERM end the process. */
void broker_client_release(struct broker_client *);
/* EX_OK if neither gave up; else print why and return 69, or 77 after a refused login. */
int broker_client_verdict(const struct broker_client *, const char *command);

#endif
