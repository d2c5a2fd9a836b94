/* The control API of a running supervisor: docs/control.md. Layer: control.
 * Without a socket (one in use, a folder that cannot be made) the supervisor serves without the
 * API, logs that once, and tries a socket in use again every few seconds. */
#ifndef CONTROL_CONTROL_H
#define CONTROL_CONTROL_H

#include "runtime/supervisor_view.h"

struct control;

/* view is borrowed until control_free. NULL: it is off, or the reason was logged. */
struct control *control_new(struct ev_loop *, const struct supervisor_view *);
/* Answer those who wait for our end, and send what is being answered, within 200 ms. NULL is
 * legal. */
void control_finish(struct control *);
void control_free(struct control *);

#endif
