/* Messages that a publisher elsewhere sends into the work queue of a run. */
#ifndef SIM_ARRIVAL_H
#define SIM_ARRIVAL_H

struct world;

/* One more, if there is room in the account and the queue is there. */
void arrival_publish(struct world *);

#endif
