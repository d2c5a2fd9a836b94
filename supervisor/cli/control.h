/* The control API of a supervisor that serves: docs/control.md. Layer: cli.
 * Where it can not be had (a socket in use, a folder that can not be made) the supervisor serves
 * without, says so once, and looks again every few seconds whether a socket in use is free now. */
#ifndef CLI_CONTROL_H
#define CLI_CONTROL_H

#include "cli/overview.h"

struct control;

/* overview is borrowed until control_free. NULL: it was said why. */
struct control *control_new(struct ev_loop *, const struct overview *);
/* Those who wait for our end hear of it, and what else is being answered is sent; within moments.
 * NULL is legal. */
void control_finish(struct control *);
void control_free(struct control *);

#endif
