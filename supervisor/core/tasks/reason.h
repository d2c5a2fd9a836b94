/* Why a task was retried or given up. Layer: core. The names go into the header x-wpool-reason and
 * into log lines; they are an interface. */
#ifndef CORE_TASKS_REASON_H
#define CORE_TASKS_REASON_H

#define REASONS(X)                                                                                 \
	X(REASON_NONE, "")                                                                         \
	X(REASON_FAILED, "failed")               /* the worker answered 5xx */                     \
	X(REASON_REJECTED, "rejected")           /* the worker answered 4xx */                     \
	X(REASON_CRASHED, "crashed")             /* the worker exited in mid-task */               \
	X(REASON_TIMED_OUT, "timed-out")         /* over limits.hard */                            \
	X(REASON_PROTOCOL, "protocol-error")     /* the worker broke the pipe protocol */          \
	X(REASON_UNROUTABLE, "unroutable")       /* the broker returned its reply */               \
	X(REASON_REPLY_INVALID, "reply-invalid") /* its reply cannot be put into AMQP */           \
	X(REASON_REPLY_REFUSED, "reply-refused") /* its reply or copy closed a channel */          \
	X(REASON_SLICES, "too-many-slices")      /* handed back more often than limits.slices */   \
	X(REASON_TOO_LARGE, "too-large")         /* over max_body, or its frame over max_frame */  \
	X(REASON_BAD_HEADERS, "bad-headers")     /* its header table cannot be read */             \
	X(REASON_COMES_BACK, "comes-back") /* delivered again too often without being settled */   \
	X(REASON_RENEWAL_REFUSED, "renewal-refused") /* its renewal closed a channel */            \
	X(REASON_NO_SESSION, "no-session") /* it has no key, and session.without_key is reject */  \
	X(REASON_SESSION_CLOSED, "session-closed") /* an operator closed its session */            \
	X(REASON_BAD_SESSION, "bad-session")       /* its key is not UTF-8 of 1 to 255 bytes */    \
	X(REASON_KILLED, "killed")                 /* an operator ended its attempt */             \
	X(REASON_THROTTLED, "throttled")           /* over a limit whose when_exceeded says so */  \
	X(REASON_POSTPONED, "postponed") /* its worker asked for that: it has not failed */

enum reason {
#define X(reason, name) reason,
	REASONS(X)
#undef X
		REASON_COUNT
};

const char *reason_name(enum reason);

#endif
