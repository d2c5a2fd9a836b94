/* A broker link under test, with a record of its callbacks and its log. */
#ifndef UNIT_LINKED_H
#define UNIT_LINKED_H

#include "net/broker_link.h"
#include "unit/unit.h"

#define LINKED_HOSTS 3

struct linked {
	struct ev_loop *loop;
	struct broker_url hosts[LINKED_HOSTS];
	struct broker_link_config config;
	struct broker_link *broker_link;
	struct connection *connection; /* while it is up */
	unsigned ups, downs, errors, ends;
	bool closes_on_down;
	char why[512]; /* of on_end; empty for NULL */
	int log_fd;
	char log[65536];
};

/* Set hosts where nothing listens; one of them is used. */
void linked_init(struct linked *, struct ev_loop *);
/* Set host number i of the broker link, before linked_start. */
void linked_set_host(struct linked *, size_t i, const char *url);
void linked_start(struct linked *);
/* Run the loop until *count is at least wanted; fail at the deadline. */
void linked_wait(struct linked *, const unsigned *count, unsigned wanted);
/* The whole log; valid until the next call. */
const char *linked_log(struct linked *);
/* Free it. Check that the password is in no line of the log, and that no thread is left. */
void linked_release(struct linked *);

#endif
