/* The inside of a broker link, for broker_link.c and its test. Layer: net. */
#ifndef NET_BROKER_LINK_INTERNAL_H
#define NET_BROKER_LINK_INTERNAL_H

#include "base/utf8.h"
#include "net/broker_link.h"
#include "net/dialer.h"
#include "net/password_file.h"
#include "net/reconnect.h"

#define BROKER_LINK_HOST_SIZE 280

/* In each state .timer means something else. */
enum broker_link_state {
	BROKER_LINK_WAITING, /* nothing is open; the timer ends the wait */
	BROKER_LINK_DIALING, /* the dialer works; the timer is its limit */
	BROKER_LINK_OPENING, /* AMQP handshake; the same timer goes on */
	BROKER_LINK_UP,      /* no timer */
	BROKER_LINK_CLOSING, /* connection.close was sent; the timer limits the wait for its answer
			      */
	BROKER_LINK_ENDING,  /* the owner closed it; the timer is at 0 */
	BROKER_LINK_GIVING_UP, /* we gave up; the timer is at 0 */
	BROKER_LINK_ENDED,     /* no timer */
};

struct broker_link {
	struct ev_loop *loop;
	struct broker_link_config config;
	struct broker_link_handler handler;
	void *ctx;
	struct log_dedup own_log_dedup; /* where config has none */
	enum broker_link_state state;
	struct reconnect reconnect;
	struct tls **own_tls;          /* owned; where config has none */
	struct dialer *dialer;         /* owned, while dialing */
	struct stream *stream;         /* owned, from opening to closing, like the connection */
	struct connection *connection; /* owned */
	struct connection_params params;
	char connection_name[128];
	char password[PASSWORD_SIZE]; /* from the host's file; empty unless it logs in */
	mtime opened;                 /* when it was */
	mtime received, sent;         /* when the last bytes were */
	uint16_t close_code;          /* of an AMQP_CLOSED; 0: there was none */
	struct utf8_shown close_text; /* the broker's text, as it may be shown */
	bool is_close_answered;
	bool is_refused;          /* the last failure was a refused login */
	bool is_broken;           /* it cannot send, for .reason */
	ev_io readable, writable; /* on the stream's socket */
	ev_timer timer;           /* the state's */
	ev_timer pulse;           /* heartbeats */
	ev_timer more;            /* at 0: input is left, or is_broken is to be acted on */
	ev_timer limit;           /* config.reconnect_limit */
	enum broker_failure kind; /* of the last failure */
	char reason[512];         /* of the last failure, escaped: it may quote the broker */
	char failure[BROKER_LINK_HOST_SIZE + 514]; /* the same with its host, for the owner */
};

#endif
