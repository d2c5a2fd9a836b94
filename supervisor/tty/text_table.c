#include "tty/text_table.h"

#include "base/utf8.h"

#include <assert.h>

#define GAP       2 /* between two columns */
#define WIDTH_MIN 4 /* no column is cut below this */
#define DOTS      TEXT("\xe2\x80\xa6")

void text_table_init(
	struct text_table *table, const struct text_table_column *columns, size_t count)
{
	assert(count <= TEXT_TABLE_COLUMNS_MAX);
	*table = (struct text_table){.columns = columns, .count = count};
	buf_init(&table->cells, SIZE_MAX);
}

void text_table_release(struct text_table *table)
{
	buf_release(&table->cells);
}

/* Of valid UTF-8: bytes that continue a character do not count. */
static size_t characters_in(struct text t)
{
	size_t count = 0;
	for (size_t i = 0; i < t.len; i++)
		count += ((uint8_t)t.ptr[i] & 0xc0) != 0x80;
	return count;
}

static struct text first_characters(struct text t, size_t count)
{
	size_t end = 0;
	for (; end < t.len; end++) {
		if (((uint8_t)t.ptr[end] & 0xc0) != 0x80 && count-- == 0)
			break;
	}
	return text_of(t.ptr, end);
}

/* Cut to at most max characters. */
static void put_cut(struct buf *out, struct text t, size_t max)
{
	bool is_cut = characters_in(t) > max;
	buf_append_text(out, is_cut ? first_characters(t, max - 1) : t);
	if (is_cut)
		buf_append_text(out, DOTS);
}

void text_table_add(struct text_table *table, struct text cell)
{
	size_t max =
		table->columns[table->at].is_whole ? TEXT_TABLE_WHOLE_MAX : TEXT_TABLE_CELL_MAX;
	struct buf harmless, cut;
	buf_init(&harmless, SIZE_MAX);
	buf_init(&cut, SIZE_MAX);
	utf8_append_escaped(&harmless, cell);
	put_cut(&cut, buf_text(&harmless), max);
	struct text text = buf_text(&cut);
	for (size_t i = 0; i < text.len; i++) {
		if (text.ptr[i] == '\t')
			cut.bytes[cut.head + i] = ' ';
	}
	size_t width = characters_in(text);
	if (width > table->widths[table->at])
		table->widths[table->at] = width;
	buf_append_be32(&table->cells, (uint32_t)text.len);
	buf_append_text(&table->cells, text);
	table->cells.failed |= harmless.failed || cut.failed;
	table->at = (table->at + 1) % table->count;
	buf_release(&cut);
	buf_release(&harmless);
}

/* Return the widest column that may be cut, or NULL. */
static size_t *widest(const struct text_table *table, size_t widths[])
{
	size_t *found = NULL;
	for (size_t i = 0; i < table->count; i++) {
		if (!table->columns[i].is_whole && widths[i] > WIDTH_MIN &&
			(!found || widths[i] > *found))
			found = &widths[i];
	}
	return found;
}

/* Return the column to be left out next, or NULL. */
static size_t *most_spare(const struct text_table *table, size_t widths[])
{
	size_t *found = NULL;
	uint8_t spare = 0;
	for (size_t i = 0; i < table->count; i++) {
		if (widths[i] > 0 && table->columns[i].spare > spare) {
			spare = table->columns[i].spare;
			found = &widths[i];
		}
	}
	return found;
}

/* Make space for the titles, then leave out and cut columns until a line has at most width
 * characters. */
static void choose_widths(const struct text_table *table, size_t width, size_t widths[])
{
	size_t total = 0, *column;
	for (size_t i = 0; i < table->count; i++) {
		size_t title = strlen(table->columns[i].title);
		widths[i] = table->widths[i];
		if (widths[i] > 0 && widths[i] < title)
			widths[i] = title;
		total += widths[i] > 0 ? widths[i] + GAP : 0;
	}
	while (width > 0 && total > width + GAP && (column = most_spare(table, widths))) {
		total -= *column + GAP;
		*column = 0;
	}
	for (; width > 0 && total > width + GAP && (column = widest(table, widths)); total--)
		--*column;
}

static void put_blanks(struct buf *out, size_t count)
{
	while (count-- > 0)
		buf_append_byte(out, ' ');
}

static void put_cell(struct buf *out, struct text cell, size_t width, bool is_right, bool is_last)
{
	size_t shown = characters_in(cell) > width ? width : characters_in(cell);
	if (is_right)
		put_blanks(out, width - shown);
	put_cut(out, cell, width);
	if (is_last)
		return;
	put_blanks(out, GAP + (is_right ? 0 : width - shown));
}

/* cells: of one row. */
static void put_row(const struct text_table *table, const size_t widths[],
	const struct text cells[], struct buf *out)
{
	size_t last = 0;
	for (size_t i = 0; i < table->count; i++) {
		if (widths[i] > 0)
			last = i;
	}
	for (size_t i = 0; i < table->count; i++) {
		if (widths[i] > 0)
			put_cell(out, cells[i], widths[i], table->columns[i].is_right, i == last);
	}
	buf_append_byte(out, '\n');
}

static struct text take_cell(struct text *rest)
{
	uint32_t len = 0;
	for (size_t i = 0; i < sizeof len; i++)
		len = len << 8 | (uint8_t)rest->ptr[i];
	struct text cell = text_of(rest->ptr + sizeof len, len);
	*rest = text_of(cell.ptr + len, rest->len - sizeof len - len);
	return cell;
}

void text_table_write(const struct text_table *table, size_t width, struct buf *out)
{
	struct text rest = buf_text(&table->cells), cells[TEXT_TABLE_COLUMNS_MAX];
	size_t widths[TEXT_TABLE_COLUMNS_MAX];
	if (table->cells.failed) {
		out->failed = true;
		return;
	}
	choose_widths(table, width, widths);
	for (size_t i = 0; i < table->count; i++)
		cells[i] = text_from(table->columns[i].title);
	if (rest.len > 0)
		put_row(table, widths, cells, out);
	while (rest.len > 0) {
		for (size_t i = 0; i < table->count; i++)
			cells[i] = take_cell(&rest);
		put_row(table, widths, cells, out);
	}
}
