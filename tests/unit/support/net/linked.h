/* An broker link under test, with a record of all that it tells and logs. */
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

/* Hosts where nobody listens, of which one is used. */
void linked_init(struct linked *, struct ev_loop *);
/* Host number i of the broker link; before linked_start. */
void linked_set_host(struct linked *, size_t i, const char *url);
void linked_start(struct linked *);
/* Turns the loop until *count has reached wanted; aborts when that takes too long. */
void linked_wait(struct linked *, const unsigned *count, unsigned wanted);
/* All that was logged; good until the next call. */
const char *linked_log(struct linked *);
/* Whatever was tested: the password is in no line, and no thread stays. */
void linked_release(struct linked *);

#endif
