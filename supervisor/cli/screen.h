/* The terminal as a page that is drawn over and over, and what it was before. Layer: cli.
 * Plain ANSI, on the terminal's other screen: what stood there before stands there again at the
 * end, also when the program is stopped, or crashes. Of a new page only what has changed is
 * written, in one write. One at a time, for a program with one thread. */
#ifndef CLI_SCREEN_H
#define CLI_SCREEN_H

#include "base/buf.h"

#include <termios.h>

struct screen {
	struct termios before;
	struct buf page; /* what stands there; empty: nobody knows */
	size_t width, height;
	bool is_on;
};

/* stdin and stdout are a terminal that can be drawn on; else why not, static. */
const char *screen_obstacle(void);
void screen_init(struct screen *);
/* Leaves it, too. */
void screen_release(struct screen *);
/* Takes the terminal, or takes it again; keys come at once and are not echoed. RC_SYSTEM. */
enum rc screen_enter(struct screen *) MUST_CHECK;
/* As it was; does nothing where it is so. */
void screen_leave(struct screen *);
/* Looks how large it is now; what stands there is written anew. */
void screen_measure(struct screen *);
/* As many lines as are to be seen, each with its end. RC_SYSTEM: it is gone. */
enum rc screen_draw(struct screen *, struct text page) MUST_CHECK;

#endif
