/* Bytes between a client of the comparison and its broker. */
#ifndef DIFF_WIRE_H
#define DIFF_WIRE_H

#include "diff/client.h"

void wire_open(struct client *);
void wire_close(struct client *);
/* Appends to client->in what is there, without waiting; false: the broker has hung up. */
bool wire_read(struct client *);

#endif
