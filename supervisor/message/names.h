/* Names of headers that mean something to RabbitMQ or to us. Layer: message.
 * One place says which of them a worker neither sees (headers: text) nor sends. */
#ifndef MESSAGE_NAMES_H
#define MESSAGE_NAMES_H

#include "base/text.h"

#define HEADER_CC             TEXT("CC")
#define HEADER_BCC            TEXT("BCC")
#define HEADER_DELIVERY_COUNT TEXT("x-delivery-count")
#define HEADER_ATTEMPT        TEXT("x-wpool-attempt")
#define HEADER_SLICE          TEXT("x-wpool-slice")
#define HEADER_QUEUE          TEXT("x-wpool-queue")
#define HEADER_REASON         TEXT("x-wpool-reason")
#define HEADER_EXIT           TEXT("x-wpool-exit")
#define HEADER_STATUS         TEXT("x-wpool-status")
#define HEADER_STDERR         TEXT("x-wpool-stderr")
#define HEADER_RENEWED        TEXT("x-wpool-renewed")
#define HEADER_FIRST_FAILED   TEXT("x-wpool-first-failed")
#define HEADER_KEPT_CC        TEXT("x-wpool-cc")
#define HEADER_KEPT_BCC       TEXT("x-wpool-bcc")
#define HEADER_CUT            TEXT("x-wpool-cut")
#define HEADER_CONTENT_TYPE   TEXT("content-type")
#define HEADER_RETRY_AFTER    TEXT("RetryAfterMilliseconds")
#define HEADER_TIMEOUT        TEXT("TimeoutMilliseconds")
#define HEADER_TRACEPARENT    TEXT("traceparent")
#define HEADER_TRACESTATE     TEXT("tracestate")

/* The broker's own record of a message: x-death, x-first-death-*, x-last-death-*,
 * x-delivery-count, x-acquired-count. In a copy it would trip the broker's cycle detection. */
bool name_is_brokers(struct text key);
/* Stripped between worker and broker: the above, CC, BCC and x-wpool-* (PROTOCOL.md, section 5). */
bool name_is_stripped(struct text key);
/* Headers that count, which a copy writes again from what was read: if one of them were left out,
 * the count would begin at 0 and a task that must end never would. */
bool name_is_count(struct text key);
/* The history of a task: x-wpool-* except those that are part of the task (queue, cc, bcc, cut). A
 * replay begins without it, also without its slices. */
bool name_is_account(struct text key);
/* Set *key to the name of a header in a copy: CC and BCC would be routed again, or close the
 * channel, so they keep their value under another name. False: the copy does not have it. */
bool name_for_copy(struct text *key);

#endif
