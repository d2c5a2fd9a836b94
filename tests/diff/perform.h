/* Carries out a script's commands with clients. */
#ifndef DIFF_PERFORM_H
#define DIFF_PERFORM_H

#include "diff/client.h"

/* Writes what the command says into its client's output, and keeps the client's books. False: it
 * cannot be done as things stand (a channel that is shut, a message that is not there). */
bool perform(const struct script *, struct client clients[], const struct command *);

/* The name of a queue in this script. */
#define QUEUE_NAME_MAX 48
void perform_queue_name(const struct script *, uint8_t queue, char ret[QUEUE_NAME_MAX]);
/* Declares, passively or not; the observer asks with it. */
void perform_declare(struct client *, uint16_t channel, const struct script *, uint8_t queue,
	bool passive, bool otherwise);
/* The last of the unacked that a settlement with multiple may name: with it go the same messages
 * on every broker. NULL: not unacked. */
struct unacked *perform_find_unacked(struct client_channel *, uint8_t queue, uint32_t message);

#endif
