/* The counts of a publish: a progress bar while it runs, and at the end a line of text or a JSON
 * object. Layer: publish. */
#ifndef PUBLISH_PUBLISH_SUMMARY_H
#define PUBLISH_PUBLISH_SUMMARY_H

#include "base/mtime.h"
#include "base/text.h"

struct publish_summary {
	/* Borrowed: the queue; or, TEXT_NONE, the exchange and the routing key. */
	struct text queue, exchange, routing_key;
	uint64_t published;   /* messages, each once */
	uint64_t confirmed;   /* confirmed, and not returned */
	uint64_t returned;    /* no queue of that name */
	uint64_t refused;     /* by a negative confirm, or with the channel */
	uint64_t republished; /* publishes repeated after a lost connection */
	mtime started;
};

/* True: every message reached a queue. */
bool publish_summary_is_clean(const struct publish_summary *);
/* Draw over the line on stderr. done of total: bytes of input; total 0: unknown. */
void publish_summary_draw(const struct publish_summary *, uint64_t done, uint64_t total, mtime now);
void publish_summary_erase(void);
/* Print on stdout. False: it could not be written. */
bool publish_summary_print(const struct publish_summary *, bool json, mtime now);

#endif
