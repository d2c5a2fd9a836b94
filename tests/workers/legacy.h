/* What the copies of existing workers share: a socket by name, and the handler of their tasks. A
 * body of "fail" fails; "reply X" is answered with 201 and X; all else with 200. */
#ifndef WORKERS_LEGACY_H
#define WORKERS_LEGACY_H

#include "workers/raw.h"
#include <msgpack.h>

enum legacy_result { LEGACY_DONE, LEGACY_REPLY, LEGACY_FAILURE };

/* Read the name from standard input, byte by byte, and connect to it in TMPDIR. */
void legacy_connect(struct raw *);
/* ret_reply: for LEGACY_REPLY, borrowed from body. */
enum legacy_result legacy_handle(msgpack_object_str body, msgpack_object_str *ret_reply);

#endif
