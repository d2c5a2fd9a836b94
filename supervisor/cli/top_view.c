#include "cli/top_view.h"

#include "base/utf8.h"
#include "cli/status.h"

#include <stdio.h>

#define BOLD    TEXT("\x1b[1m")
#define REVERSE TEXT("\x1b[7m")
#define PLAIN   TEXT("\x1b[m")

#define MARGIN      2 /* where the chosen row is marked */
#define REASONS_MAX 4
#define NARROWEST   20
#define PATIENCE    (3 * MTIME_SECOND)

static const char keys[] =
	"\n"
	"  up, down, k, j   choose a pool; its workers are shown below\n"
	"  +, -             one worker more; one fewer, when it has nothing in hand\n"
	"  p                pause the pool, or end its pause\n"
	"  r                replace its workers by new ones, one by one; asks first\n"
	"  s, S             sort pools, workers by the next column\n"
	"  q                quit\n"
	"\n"
	"IN/S and DONE/S are messages a second, TASKS/S answers a second, CPU is the\n"
	"share of one processor: each over the time since the last look. MEDIAN and\n"
	"99 % are of the time of tasks in their workers.\n"
	"\n"
	"Any key goes back.\n";

static const char hints[] = "q quit  j k choose  + - scale  p pause  r restart  s S sort  ? help";

/* ---------- lines ---------- */

static void put_line(struct text words, struct text style, struct buf *out)
{
	buf_append_text(out, style);
	utf8_append_harmless(out, words);
	if (style.len)
		buf_append_text(out, PLAIN);
	buf_append_byte(out, '\n');
}

/* A table as it was written: its titles, then its rows, of which one may be marked. */
static void put_table(struct text lines, size_t marked, struct buf *out)
{
	struct text line;

	for (size_t row = 0; text_take_line(&lines, &line); row++) {
		bool is_marked = row == marked + 1;
		struct text style = row == 0 ? BOLD : is_marked ? REVERSE : TEXT_NONE;
		buf_append_text(out, style);
		buf_append_text(out, is_marked ? TEXT("> ") : TEXT("  "));
		buf_append_text(out, line);
		if (style.len)
			buf_append_text(out, PLAIN);
		buf_append_byte(out, '\n');
	}
}

/* first: of the rows that are shown; marked: SIZE_MAX: none. */
static void put_rows(struct top_table *table, size_t first, size_t count, size_t marked,
	size_t width, struct buf *out)
{
	struct buf lines;

	buf_init(&lines, SIZE_MAX);
	top_table_write(
		table, first, count, width > NARROWEST ? width - MARGIN : NARROWEST, &lines);
	put_table(buf_text(&lines), marked == SIZE_MAX ? SIZE_MAX - 1 : marked - first, out);
	out->failed |= lines.failed;
	buf_release(&lines);
}

static void put_section(
	const char *what, const char *of, const struct top_table *table, struct buf *out)
{
	struct buf line;
	const char *sort = top_table_sorted_by(table);

	buf_init(&line, SIZE_MAX);
	buf_printf(&line, "%zu %s%s%s%s%s", table->count, what, of ? " of " : "", of ? of : "",
		*sort ? ", by " : "", sort);
	put_line(buf_text(&line), TEXT_NONE, out);
	buf_release(&line);
}

/* ---------- head ---------- */

static void put_trouble(const struct top_model *model, mtime now, struct buf *out)
{
	struct buf line;

	buf_init(&line, SIZE_MAX);
	buf_printf(&line, "%s; the last answer was %lld s ago",
		*model->trouble ? model->trouble : "waiting for the supervisor",
		(long long)((now - model->answered_at) / MTIME_SECOND));
	put_line(buf_text(&line), REVERSE, out);
	buf_release(&line);
}

static void put_reasons(const json_t *status, struct buf *out)
{
	const json_t *reasons = json_object_get(status, "reasons");
	const json_t *warnings = json_object_get(status, "warnings");
	size_t first = json_array_size(reasons), count = first + json_array_size(warnings);
	struct buf line;

	for (size_t i = 0; i < count && i < REASONS_MAX; i++) {
		const char *reason =
			json_string_value(i < first ? json_array_get(reasons, i)
						    : json_array_get(warnings, i - first));
		buf_init(&line, SIZE_MAX);
		buf_printf(&line, "  %s", reason ? reason : "-");
		put_line(buf_text(&line), TEXT_NONE, out);
		buf_release(&line);
	}
	if (count > REASONS_MAX)
		buf_printf(out, "  and %zu more: wpool status\n", count - REASONS_MAX);
}

static void put_head(const struct top_model *model, mtime now, struct buf *out)
{
	struct buf head;
	struct text lines, line;
	bool is_first = true;
	bool is_troubled = *model->trouble || now - model->answered_at > PATIENCE;

	if (is_troubled)
		put_trouble(model, now, out);
	if (!model->status)
		return;
	buf_init(&head, SIZE_MAX);
	status_append_head(model->status, &head);
	for (lines = buf_text(&head); text_take_line(&lines, &line); is_first = false)
		put_line(line, is_first && !is_troubled ? BOLD : TEXT_NONE, out);
	out->failed |= head.failed;
	buf_release(&head);
	put_reasons(model->status, out);
}

/* ---------- the page ---------- */

static size_t lines_in(const struct buf *page)
{
	struct text rest = buf_text(page), line;
	size_t count = 0;

	while (text_take_line(&rest, &line))
		count++;
	return count;
}

/* The chosen pool is among those that are to be seen. */
static size_t first_pool(const struct top_model *model, size_t shown)
{
	size_t row = top_model_chosen_row(model);

	return row == model->pools.count || row < shown ? 0 : row - shown + 1;
}

/* Half of the place for pools, more where there are few workers, less where they are few. */
static void put_tables(struct top_model *model, size_t width, size_t place, struct buf *out)
{
	size_t rows = place > 5 ? place - 5 : 1; /* without a section's line, titles, and between */
	size_t half = rows / 2, workers = model->workers.count, pools = model->pools.count;
	size_t shown = workers < rows - half ? rows - workers : half ? half : 1;

	shown = shown < pools ? shown : pools;
	put_section(pools == 1 ? "pool" : "pools", NULL, &model->pools, out);
	put_rows(&model->pools, first_pool(model, shown), shown, top_model_chosen_row(model), width,
		out);
	if (!model->chosen)
		return;
	buf_append_byte(out, '\n');
	put_section(workers == 1 ? "worker" : "workers", model->chosen, &model->workers, out);
	put_rows(&model->workers, 0, rows > shown ? rows - shown : 1, SIZE_MAX, width, out);
}

static void put_foot(const struct top_model *model, struct buf *out)
{
	struct buf line;

	buf_init(&line, SIZE_MAX);
	if (model->is_confirming)
		buf_printf(&line,
			"replace all workers of %s by new ones, one by one? y, or any key",
			model->chosen ? model->chosen : "");
	else
		buf_printf(&line, "%s", *model->message ? model->message : hints);
	put_line(buf_text(&line), model->is_confirming ? REVERSE : TEXT_NONE, out);
	buf_release(&line);
}

/* The first count lines of page, or with empty ones so many. */
static void put_fitted(struct text page, size_t count, struct buf *out)
{
	struct text line;

	for (; count > 0; count--) {
		if (text_take_line(&page, &line))
			buf_append_text(out, line);
		buf_append_byte(out, '\n');
	}
}

void top_view_draw(struct top_model *model, size_t width, size_t height, mtime now, struct buf *out)
{
	struct buf page;
	size_t head;

	buf_init(&page, SIZE_MAX);
	put_head(model, now, &page);
	buf_append_byte(&page, '\n');
	head = lines_in(&page);
	if (model->is_help)
		buf_append_text(&page, text_from(keys));
	else if (model->knows_pools)
		put_tables(model, width, height > head + 1 ? height - head - 1 : 1, &page);
	put_fitted(buf_text(&page), height > 1 ? height - 1 : 0, out);
	put_foot(model, out);
	out->failed |= page.failed;
	buf_release(&page);
}
