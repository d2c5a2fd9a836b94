/* The screen of a terminal as an SVG file. */
#ifndef PICTURES_DRAWING_H
#define PICTURES_DRAWING_H

#include "harness/terminal.h"

/* Write the first rows and columns; title: the command that was typed. */
void drawing_write(
	const char *path, const char *title, const struct terminal *, size_t rows, size_t columns);

#endif
