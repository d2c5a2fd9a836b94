/* Where the broker of the dead letters is, if neither --broker nor the environment says it. Layer:
 * dead_letters. */
#ifndef DEAD_LETTERS_FIND_BROKER_H
#define DEAD_LETTERS_FIND_BROKER_H

#include "base/buf.h"

/* What a configuration says. */
struct found_broker {
	struct buf addresses; /* as --broker, with passwords, and a NUL; empty: nothing was found */
	char *dead_letters;   /* owned; of the pool with this queue, if not QUEUE.dead; or NULL */
};

/* file: --config, NULL: the configuration of the supervisor at the default control socket, unless
 * the environment says where the broker is, or no supervisor with a file answers. queue: the
 * pool's; NULL: of no pool. A file with the password becomes the one of this process
 * (WPOOL_PASSWORD_FILE). Return -1, or print the problem and return an exit code.
 * found_broker_release in any case. */
int find_broker(const char *file, const char *queue, struct found_broker *ret);
void found_broker_release(struct found_broker *);

#endif
