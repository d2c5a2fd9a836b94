/* Names of headers that have a meaning for RabbitMQ or wpool, and which of them are hidden from
 * workers (headers: text) and removed from what they send. Layer: message. */
#ifndef MESSAGE_NAMES_H
#define MESSAGE_NAMES_H

#include "base/text.h"

/* RabbitMQ's name for "this channel's own replies": publishing it as reply_to from a channel that
 * has no such consumer closes the channel. */
#define DIRECT_REPLY_TO TEXT("amq.rabbitmq.reply-to")

#define HEADER_CC             TEXT("CC")
#define HEADER_BCC            TEXT("BCC")
#define HEADER_DELIVERY_COUNT TEXT("x-delivery-count")
#define HEADER_ACQUIRED_COUNT TEXT("x-acquired-count")
#define HEADER_ATTEMPT        TEXT("x-wpool-attempt")
#define HEADER_SLICE          TEXT("x-wpool-slice")
#define HEADER_QUEUE          TEXT("x-wpool-queue")
#define HEADER_REASON         TEXT("x-wpool-reason")
#define HEADER_EXIT           TEXT("x-wpool-exit")
#define HEADER_STATUS         TEXT("x-wpool-status")
#define HEADER_STDERR         TEXT("x-wpool-stderr")
#define HEADER_ACCEPTED       TEXT("x-wpool-accepted")
#define HEADER_RENEWED        TEXT("x-wpool-renewed")
#define HEADER_FIRST_FAILED   TEXT("x-wpool-first-failed")
#define HEADER_KEPT_CC        TEXT("x-wpool-cc")
#define HEADER_KEPT_BCC       TEXT("x-wpool-bcc")
#define HEADER_CUT            TEXT("x-wpool-cut")
#define HEADER_CONTENT_TYPE   TEXT("content-type")
#define HEADER_RETRY_AFTER    TEXT("RetryAfterMilliseconds")
#define HEADER_HARD_LIMIT     TEXT("HardLimitMilliseconds")
#define HEADER_REFUSAL_STATUS TEXT("Status")
#define HEADER_TIMEOUT        TEXT("TimeoutMilliseconds")
#define HEADER_POSTPONE       TEXT("PostponeMilliseconds")
#define HEADER_NOT_BEFORE     TEXT("NotBefore")
#define HEADER_LATER          TEXT("x-wpool-not-before") /* before NotBefore */
#define HEADER_TRACEPARENT    TEXT("traceparent")
#define HEADER_TRACESTATE     TEXT("tracestate")

/* The broker's own record of a message: x-death, x-first-death-*, x-last-death-*,
 * x-delivery-count, x-acquired-count. In a copy it would trip the broker's cycle detection. */
bool name_is_brokers(struct text key);
/* True: removed between worker and broker. These are the above, CC, BCC and x-wpool-* (PROTOCOL.md,
 * section 5). */
bool name_is_stripped(struct text key);
/* True: a header that copies do not keep as it is: a count (attempts, slices, renewals), which each
 * copy gets again from what was read, because without it the task might never end; or the queue,
 * which only the pool itself names, where it leaves its queue. */
bool name_is_count(struct text key);
/* True: the history of a task, which a replay does not keep: x-wpool-* except cc, bcc and cut. */
bool name_is_account(struct text key);
/* Set *key to the header's name in a copy. CC and BCC get another name, because the broker would
 * route by them again or close the channel. False: the copy does not keep the header. */
bool name_for_copy(struct text *key);

#endif
