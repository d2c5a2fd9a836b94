/* The control API of a running supervisor: docs/control.md. Layer: control. If there can be no
 * socket (it is in use, or its folder cannot be made), the supervisor serves without the API and
 * logs that once. If it is in use, it is retried every few seconds. */
#ifndef CONTROL_CONTROL_H
#define CONTROL_CONTROL_H

#include "runtime/supervisor_view.h"

struct control;

/* view is borrowed until control_free. NULL: it is off, or the reason was logged. */
struct control *control_new(struct ev_loop *, const struct supervisor_view *);
/* After a reload, also of an unchanged configuration: read the token again. NULL is legal. */
void control_reloaded(struct control *);
/* Answer clients that wait for the end, and send what is left of other answers, within 200 ms. NULL
 * is legal. */
void control_finish(struct control *);
void control_free(struct control *);

#endif
