/* The bytes between a client of the comparison and its broker. */
#ifndef DIFF_WIRE_H
#define DIFF_WIRE_H

#include "diff/client.h"

void wire_open(struct client *);
void wire_close(struct client *);
/* Append the received bytes to client->in, without waiting. False: the broker has closed the
 * connection. */
bool wire_read(struct client *);

#endif
