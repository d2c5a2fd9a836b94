/* Names of the queues in which a task waits for its next attempt, or for its time. Layer: message.
 * Pure. One for each delay, because RabbitMQ lets a message expire only at the head of its queue:
 * "<queue>.retry.10s", or "<queue>.retry.1500ms" if the delay is not a whole number of seconds. A
 * wait queue has none of the jitter of retries: "<queue>.wait.10s". The names are an interface:
 * operators see them, grant rights to them and declare them by hand. */
#ifndef MESSAGE_RETRY_QUEUE_H
#define MESSAGE_RETRY_QUEUE_H

#include "base/mtime.h"
#include "base/rc.h"
#include "base/text.h"

#define RETRY_QUEUE_NAME_MAX 255

/* Write the name into buffer, with a NUL at its end. delay: whole milliseconds, above 0. Empty: it
 * would be longer than RETRY_QUEUE_NAME_MAX bytes, or size with its NUL. */
struct text retry_queue_name(struct text queue, mtime delay, char *buffer, size_t size);
/* Find the delay for which `name` is a retry queue of `queue`. False: it is not one. */
bool retry_queue_delay(struct text queue, struct text name, mtime *ret_delay) MUST_CHECK;
/* The same for wait queues. */
struct text wait_queue_name(struct text queue, mtime step, char *buffer, size_t size);
bool wait_queue_step(struct text queue, struct text name, mtime *ret_step) MUST_CHECK;

#endif
