/* Execute the commands of a script with clients. */
#ifndef DIFF_PERFORM_H
#define DIFF_PERFORM_H

#include "diff/client.h"

/* Write the methods of the command into the output of its client, and update the client. False: the
 * command is not possible now (its channel is closed, its message is not unacked). */
bool perform(const struct script *, struct client clients[], const struct command *);

/* The name of a queue in this script. */
#define QUEUE_NAME_MAX 48
void perform_queue_name(const struct script *, uint8_t queue, char ret[QUEUE_NAME_MAX]);
/* Declare the queue with this shape; NULL: passively, to get its counts. */
void perform_declare(struct client *, uint16_t channel, const struct script *, uint8_t queue,
	const struct queue_shape *);
/* The unacked delivery of this message from this queue; NULL: there is none. */
struct unacked *perform_find_unacked(struct client_channel *, uint8_t queue, uint32_t message);

#endif
