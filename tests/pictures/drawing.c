#include "pictures/drawing.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

/* Of a character, in pixels. */
#define WIDTH  8
#define HEIGHT 18
#define SIZE   13
#define MARGIN 16

#define GROUND "#16191d"
#define INK    "#cfd5da"
#define BRIGHT "#ffffff"

static void write_text(FILE *file, const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		switch (text[i]) {
		case '<':
			fputs("&lt;", file);
			break;
		case '>':
			fputs("&gt;", file);
			break;
		case '&':
			fputs("&amp;", file);
			break;
		default:
			fputc(text[i], file);
		}
}

/* Characters of one style. Their length is said, so that columns stay columns in any font. */
static void write_run(
	FILE *file, const char *text, size_t len, enum terminal_style style, size_t x, size_t y)
{
	size_t shown = len;

	if (style == TERMINAL_REVERSE)
		fprintf(file,
			"<rect x=\"%zu\" y=\"%zu\" width=\"%zu\" height=\"%d\" fill=\"%s\"/>\n", x,
			y, len * WIDTH, HEIGHT, INK);
	while (shown > 0 && text[shown - 1] == ' ')
		shown--;
	if (shown == 0)
		return;
	fprintf(file, "<text x=\"%zu\" y=\"%zu\" textLength=\"%zu\"%s>", x, y + SIZE, shown * WIDTH,
		style == TERMINAL_BOLD      ? " class=\"b\""
		: style == TERMINAL_REVERSE ? " class=\"r\""
					    : "");
	write_text(file, text, shown);
	fputs("</text>\n", file);
}

static void write_row(FILE *file, const struct terminal *terminal, size_t row, size_t columns)
{
	const char *line = terminal_line(terminal, row);
	size_t from = 0;

	for (size_t to = 1; to <= columns; to++) {
		enum terminal_style style = terminal_style(terminal, row, from);
		if (to < columns && terminal_style(terminal, row, to) == style)
			continue;
		write_run(file, line + from, to - from, style, MARGIN + from * WIDTH,
			MARGIN + (row + 2) * HEIGHT);
		from = to;
	}
}

void drawing_write(const char *path, const char *title, const struct terminal *terminal,
	size_t rows, size_t columns)
{
	size_t width = columns * WIDTH + 2 * MARGIN, height = (rows + 2) * HEIGHT + 2 * MARGIN;
	FILE *file = fopen(path, "w");

	ck_assert_msg(file != NULL, "cannot write %s", path);
	fprintf(file,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %zu %zu\" width=\"%zu\" "
		"height=\"%zu\" role=\"img\" aria-label=\"%s in a terminal\">\n"
		"<style>text { font: %dpx ui-monospace, 'DejaVu Sans Mono', 'Liberation Mono', "
		"monospace; fill: " INK "; white-space: pre } .b { fill: " BRIGHT
		"; font-weight: bold } .r { fill: " GROUND " }</style>\n"
		"<rect width=\"%zu\" height=\"%zu\" rx=\"8\" fill=\"" GROUND "\"/>\n",
		width, height, width, height, title, SIZE, width, height);
	fprintf(file, "<text x=\"%d\" y=\"%d\" class=\"b\">$ %s</text>\n", MARGIN, MARGIN + SIZE,
		title);
	for (size_t row = 0; row < rows; row++)
		write_row(file, terminal, row, columns);
	fputs("</svg>\n", file);
	ck_assert_int_eq(fclose(file), 0);
}
