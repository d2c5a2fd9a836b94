#include "client/top/top_view.h"

#include "base/utf8.h"
#include "client/findings.h"
#include "client/json_cells.h"
#include "client/status.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define BOLD    TEXT("\x1b[1m")
#define REVERSE TEXT("\x1b[7m")
#define PLAIN   TEXT("\x1b[m")

#define MARGIN       2 /* where the chosen row is marked */
#define FINDINGS_MAX 4
#define WIDTH_MIN    20
#define ANSWER_LATE  (3 * MTIME_SECOND)

static const char keys_above[] = "\n"
				 "  up, down, k, j   choose a pool; its workers are shown below\n";
static const char keys_below[] =
	"  s, S             sort pools, workers by the next column\n"
	"  q                quit\n"
	"\n"
	"IN/S and DONE/S are messages a second, TASKS/S answers a second, CPU is the\n"
	"share of one processor: each since the last answer. MEDIAN and 99 % are the\n"
	"time of tasks in their workers.\n"
	"\n"
	"Any key goes back.\n";

/* ---------- lines ---------- */

static void append_line(struct buf *out, struct text style, const char *format, ...)
	PRINTF_LIKE(3, 4);

static void append_line(struct buf *out, struct text style, const char *format, ...)
{
	va_list args;
	char *line;
	int len;

	va_start(args, format);
	len = vasprintf(&line, format, args);
	va_end(args);
	if (len < 0) {
		out->failed = true;
		return;
	}
	buf_append_text(out, style);
	utf8_append_escaped(out, text_of(line, (size_t)len));
	if (style.len)
		buf_append_text(out, PLAIN);
	buf_append_byte(out, '\n');
	free(line);
}

/* lines: a table, titles first. marked: this row gets a mark. */
static void append_table(struct text lines, size_t marked, struct buf *out)
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

/* first: the first row that is shown. marked: SIZE_MAX: none. */
static void append_rows(struct top_table *table, size_t first, size_t count, size_t marked,
	size_t width, struct buf *out)
{
	struct buf lines;

	buf_init(&lines, SIZE_MAX);
	top_table_write(
		table, first, count, width > WIDTH_MIN ? width - MARGIN : WIDTH_MIN, &lines);
	append_table(buf_text(&lines), marked == SIZE_MAX ? SIZE_MAX - 1 : marked - first, out);
	out->failed |= lines.failed;
	buf_release(&lines);
}

static void append_section(
	const char *what, const char *of, const struct top_table *table, struct buf *out)
{
	const char *sort = top_table_sorted_by(table);

	append_line(out, TEXT_NONE, "%zu %s%s%s%s%s", table->count, what, of ? " of " : "",
		of ? of : "", *sort ? ", by " : "", sort);
}

/* ---------- head ---------- */

static void append_findings(const json_t *status, struct buf *out)
{
	size_t count = findings_count(status);
	struct finding finding;

	for (size_t at = 0; at < FINDINGS_MAX && findings_next(status, &at, &finding);)
		append_line(out, TEXT_NONE, "  %s: %s", finding.label, finding.text);
	if (count > FINDINGS_MAX)
		buf_printf(out, "  and %zu more: wpool status\n", count - FINDINGS_MAX);
}

static void append_head(const struct top_model *model, mtime now, struct buf *out)
{
	bool is_troubled = *model->trouble || now - model->answered_at > ANSWER_LATE;
	struct buf line;

	if (is_troubled)
		append_line(out, REVERSE, "%s; the last answer was %lld s ago",
			*model->trouble ? model->trouble : "waiting for the supervisor",
			(long long)((now - model->answered_at) / MTIME_SECOND));
	if (!model->status)
		return;
	buf_init(&line, SIZE_MAX);
	status_append_verdict(model->status, &line);
	append_line(out, is_troubled ? TEXT_NONE : BOLD, "%.*s", TEXT_ARGS(buf_text(&line)));
	buf_clear(&line);
	status_append_broker(model->status, &line);
	append_line(out, TEXT_NONE, "%.*s", TEXT_ARGS(buf_text(&line)));
	out->failed |= line.failed;
	buf_release(&line);
	append_findings(model->status, out);
}

/* ---------- the page ---------- */

/* Half of the lines for pools; more if there are few workers, fewer if there are few pools. */
static void append_tables(struct top_model *model, size_t width, size_t place, struct buf *out)
{
	size_t rows = place > 5 ? place - 5 : 1; /* without a section's line, titles, and between */
	size_t half = rows / 2, workers = model->workers.count, pools = model->pools.count;
	size_t shown = workers < rows - half ? rows - workers : half ? half : 1;
	size_t chosen = top_model_chosen_row(model), first;

	shown = shown < pools ? shown : pools;
	first = chosen == pools || chosen < shown ? 0 : chosen - shown + 1;
	append_section(pools == 1 ? "pool" : "pools", NULL, &model->pools, out);
	append_rows(&model->pools, first, shown, chosen, width, out);
	if (!model->chosen)
		return;
	buf_append_byte(out, '\n');
	append_section(workers == 1 ? "worker" : "workers", model->chosen, &model->workers, out);
	append_rows(&model->workers, 0, rows > shown ? rows - shown : 1, SIZE_MAX, width, out);
}

/* "+, -", of a verb with two keys. */
static const char *keys_of(const struct api_verb *verb, const char *between, char buffer[16])
{
	snprintf(
		buffer, 16, verb->keys[1] ? "%c%s%c" : "%c", verb->keys[0], between, verb->keys[1]);
	return buffer;
}

static void append_keys(struct buf *out)
{
	char buffer[16];

	buf_append_text(out, text_from(keys_above));
	for (size_t i = 0; i < API_VERB_COUNT; i++)
		if (api_verbs[i].key_help)
			buf_printf(out, "  %-16s %s\n", keys_of(&api_verbs[i], ", ", buffer),
				api_verbs[i].key_help);
	buf_append_text(out, text_from(keys_below));
}

static void append_foot(const struct top_model *model, struct buf *out)
{
	char buffer[16], task[JSON_CELL_SIZE + 16] = "";

	if (model->asks && model->asks->takes_slot) {
		if (model->task >= 0)
			snprintf(task, sizeof task, " task %.0f:", model->task);
		append_line(out, REVERSE,
			"%s: kill the task of the worker in slot: %s_%s then r: retry it, g: give "
			"it up; or any other key",
			model->chosen ? model->chosen : "", model->slot, task);
	} else if (model->asks) {
		append_line(out, REVERSE, "%s: %s y, or any other key",
			model->chosen ? model->chosen : "", model->asks->question);
	} else if (*model->message) {
		append_line(out, TEXT_NONE, "%s", model->message);
	} else {
		buf_append_text(out, TEXT("q quit  j k choose"));
		for (size_t i = 0; i < API_VERB_COUNT; i++)
			if (api_verbs[i].key_help)
				buf_printf(out, "  %s %s", keys_of(&api_verbs[i], " ", buffer),
					api_verbs[i].name);
		buf_append_text(out, TEXT("  s S sort  ? help\n"));
	}
}

void top_view_draw(struct top_model *model, size_t width, size_t height, mtime now, struct buf *out)
{
	struct buf page;
	struct text rest, line;
	size_t head = 0;

	buf_init(&page, SIZE_MAX);
	append_head(model, now, &page);
	buf_append_byte(&page, '\n');
	for (rest = buf_text(&page); text_take_line(&rest, &line);)
		head++;
	if (model->is_help)
		append_keys(&page);
	else if (model->knows_pools)
		append_tables(model, width, height > head + 1 ? height - head - 1 : 1, &page);
	rest = buf_text(&page);
	for (size_t row = 1; row < height; row++) {
		if (text_take_line(&rest, &line))
			buf_append_text(out, line);
		buf_append_byte(out, '\n');
	}
	append_foot(model, out);
	out->failed |= page.failed;
	buf_release(&page);
}
