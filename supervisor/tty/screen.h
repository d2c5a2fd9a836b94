/* The terminal as a page that is drawn again and again. Layer: tty.
 * Plain ANSI, on the terminal's alternate screen: at the end the terminal is as it was, also when
 * the program is stopped or crashes. Only the changed lines of a page are written, in one write.
 * One screen at a time, for a program with one thread. */
#ifndef TTY_SCREEN_H
#define TTY_SCREEN_H

#include "base/buf.h"

#include <termios.h>

struct screen {
	struct termios before;
	struct buf page; /* what is shown; empty: unknown */
	size_t width, height;
	bool is_on;
};

/* Return why stdin and stdout cannot be used to draw, a static text; NULL: they can. */
const char *screen_obstacle(void);
void screen_init(struct screen *);
/* Leave the screen, and free the struct's memory. */
void screen_release(struct screen *);
/* Set up the terminal, also again after screen_leave; keys come at once and are not echoed.
 * RC_SYSTEM. */
enum rc screen_enter(struct screen *) MUST_CHECK;
/* Restore the terminal; does nothing if it is restored. */
void screen_leave(struct screen *);
/* Read its size; the next page is drawn as a whole. */
void screen_measure(struct screen *);
/* page: lines, each with its end. RC_SYSTEM: the terminal is gone. */
enum rc screen_draw(struct screen *, struct text page) MUST_CHECK;

#endif
