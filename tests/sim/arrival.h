/* Messages that a publisher elsewhere sends into the work queue of a run. */
#ifndef SIM_ARRIVAL_H
#define SIM_ARRIVAL_H

struct world;

/* Publish one more, if the account is not full and the queue exists. */
void arrival_publish(struct world *);

#endif
