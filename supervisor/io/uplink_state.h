/* The inside of an uplink, for its own files only. Layer: io.
 * uplink.c has its life and states, uplink_bytes.c moves bytes and judges silence, uplink_loss.c
 * says what was lost, why, and what comes next. */
#ifndef IO_UPLINK_STATE_H
#define IO_UPLINK_STATE_H

#include "base/log.h"
#include "io/dialer.h"
#include "io/reconnect.h"
#include "io/uplink.h"

#define UPLINK_HOST_ROOM 280

/* In each state uplink.timer means something else; what its end does stands beside it. */
#define UPLINK_STATES(X)                                                                           \
	X(UPLINK_WAITING, uplink_dial)       /* nothing is open; the timer ends the wait */        \
	X(UPLINK_DIALING, uplink_time_out)   /* the dialer works; the timer is its limit */        \
	X(UPLINK_OPENING, uplink_time_out)   /* AMQP handshake; the same timer goes on */          \
	X(UPLINK_UP, uplink_never)           /* no timer */                                        \
	X(UPLINK_CLOSING, uplink_close_late) /* connection.close was sent; its limit */            \
	X(UPLINK_ENDING, uplink_end)         /* the owner closed it; the timer is at 0 */          \
	X(UPLINK_GIVING_UP, uplink_end)      /* we gave up; the timer is at 0 */                   \
	X(UPLINK_ENDED, uplink_never)        /* no timer */

enum uplink_state {
#define X(state, on_timer) state,
	UPLINK_STATES(X)
#undef X
};

struct uplink {
	struct ev_loop *loop;
	struct uplink_config config;
	struct uplink_handler handler;
	void *ctx;
	struct uplink_voice own_voice; /* where config has none */
	enum uplink_state state;
	struct reconnect reconnect;
	struct tls **own_tls;          /* owned; where config has none */
	struct dialer *dialer;         /* owned, while dialing */
	struct stream *stream;         /* owned, from opening to closing, like the connection */
	struct connection *connection; /* owned */
	struct connection_params params;
	char connection_name[128];
	mtime opened;         /* when it was */
	mtime received, sent; /* when the last bytes were */
	uint16_t close_code;  /* of an AMQP_CLOSED; 0: there was none */
	char close_text[200];
	bool is_close_answered;
	bool is_refused;          /* the last failure was the login's */
	bool is_broken;           /* it cannot send; why says so */
	ev_io readable, writable; /* on the stream's socket */
	ev_timer timer;           /* the state's */
	ev_timer pulse;           /* heartbeats */
	ev_timer more;            /* at 0: input is left, or is_broken is to be acted on */
	ev_timer limit;           /* config.reconnect_limit */
	char why[512];            /* the last failure */
	char failure[UPLINK_HOST_ROOM + 514]; /* the same with its host, for the owner */
};

/* uplink.c. span: until the state's timer ends; MTIME_NEVER: it has none. */
void uplink_enter(struct uplink *, enum uplink_state, mtime span);
void uplink_stop_watchers(struct uplink *);
void uplink_drop(struct uplink *);
void uplink_arm_limit(struct uplink *);
mtime uplink_connect_span(const struct uplink *);

/* uplink_bytes.c. Neither calls back but for uplink_read, which may also lose the connection. */
void uplink_watch_stream(struct uplink *);
void uplink_read(struct uplink *);
void uplink_send(struct uplink *);
void uplink_arm_pulse(struct uplink *);
void uplink_on_pulse(struct ev_loop *, ev_timer *, int events);
void uplink_on_more(struct ev_loop *, ev_timer *, int events);
void uplink_on_readable(struct ev_loop *, ev_io *, int events);
void uplink_on_writable(struct ev_loop *, ev_io *, int events);

/* uplink_loss.c. What is open is lost, on_down is told, and the next try is planned. */
void uplink_fail(struct uplink *, const char *format, ...) PRINTF_LIKE(2, 3);
void uplink_lose(struct uplink *); /* why says how already */
void uplink_hung_up(struct uplink *);
void uplink_lose_by(struct uplink *, enum rc); /* what connection_input said */
void uplink_say_late(struct uplink *);
void uplink_be_silent(struct uplink *); /* what it said last is not so any more */
struct log_origin uplink_origin(const struct uplink *);
const char *uplink_shown(const struct uplink *, char *buffer); /* "host:port" */

#endif
