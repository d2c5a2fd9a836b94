/* GET /v1/history: what all pools together, and each pool, did in each of the last 900 seconds.
 * Written by hand: of a thousand busy pools it is a million lines. */
#include "control/history.h"

#include "base/json.h"
#include "control/answer.h"
#include "control/routes.h"
#include "os/clock.h"
#include "runtime/pool_set.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define PIECE_SECONDS 60
/* Of a second: seven numbers, at most this long. */
#define LINE_SIZE (7 * 24)

/* ---------- a second ---------- */

/* Return the end. */
static char *write_number(char *at, uint64_t number, unsigned digits_min)
{
	char digits[20];
	unsigned count = 0;

	for (; number > 0 || count < digits_min; number /= 10)
		digits[count++] = (char)('0' + number % 10);
	while (count > 0)
		*at++ = digits[--count];
	return at;
}

/* In seconds, with microseconds. */
static char *write_time(char *at, bool is_known, float seconds)
{
	uint64_t us = (uint64_t)((double)seconds * 1e6 + 0.5);

	*at++ = ',';
	if (!is_known)
		return mempcpy(at, "null", 4);
	at = write_number(at, us / 1000000, 1);
	*at++ = '.';
	return write_number(at, us % 1000000, 6);
}

/* Append [back, in, done, retried, p50, p95, p99]. */
static void append_second(struct buf *out, int64_t back, const struct history_second *second)
{
	const uint32_t counts[] = {second->in, second->done, second->retried};
	const float times[] = {second->p50, second->p95, second->p99};
	char line[LINE_SIZE], *at = line;

	*at++ = '[';
	at = write_number(at, (uint64_t)back, 1);
	for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
		*at++ = ',';
		at = write_number(at, counts[i], 1);
	}
	for (size_t i = 0; i < sizeof times / sizeof *times; i++)
		at = write_time(at, second->timed, second->timed ? times[i] : 0);
	*at++ = ']';
	buf_append_text(out, text_of(line, (size_t)(at - line)));
}

/* ---------- an entry ---------- */

/* The first second that is known. */
static int64_t first_of(const struct history *history)
{
	return history->open - history->count;
}

static void begin_entry(
	struct history_list *list, struct buf *out, const struct history *history, const char *name)
{
	int64_t kept = history->count ? mtime_max(list->end - first_of(history), 0) : 0;

	buf_append_text(out, list->has_entries ? TEXT(",\n{\"pool\":") : TEXT("{\"pool\":"));
	if (name)
		json_append_string(out, text_from(name));
	else
		buf_append_text(out, TEXT("null"));
	buf_printf(out, ",\"serial\":%" PRIu32 ",\"age_s\":", list->serial);
	if (kept > 0)
		buf_printf(out, "%.6f", (double)list->age / MTIME_SECOND);
	else
		buf_append_text(out, TEXT("null"));
	buf_printf(out, ",\"kept\":%" PRId64 ",\"seconds\":[", kept);
	list->next = list->end - kept;
	list->has_entries = list->is_inside = true;
	list->has_seconds = false;
}

/* All pools together come first. False: there are no more. */
static bool begin_next_entry(struct history_list *list, struct buf *out)
{
	const struct pool_set *pool_set = list->view->pool_set;
	const struct pool_runtime *runtime;

	if (!list->only && !list->has_entries) {
		begin_entry(list, out, &pool_set->history, NULL);
		return true;
	}
	do
		runtime = pool_set_next(pool_set, &list->place);
	while (runtime && list->only && runtime->serial != list->only);
	if (!runtime)
		return false;
	list->at = runtime->place;
	list->serial = runtime->serial;
	begin_entry(list, out, &runtime->history, runtime->config.name);
	return true;
}

/* NULL: the pool is gone. */
static const struct history *find_history(const struct history_list *list)
{
	const struct pool_runtime *runtime;

	if (!list->serial)
		return &list->view->pool_set->history;
	runtime = pool_set_at(list->view->pool_set, list->at);
	return runtime && runtime->serial == list->serial ? &runtime->history : NULL;
}

/* Seconds in which nothing was done are left out, and so are those that were dropped meanwhile. */
static void continue_entry(struct history_list *list, struct buf *out)
{
	const struct history *history = find_history(list);
	int64_t end = history ? mtime_min(list->next + PIECE_SECONDS, list->end) : list->next;

	for (; list->next < end; list->next++) {
		const struct history_second *second;
		if (list->next < first_of(history) || list->next >= history->open)
			continue;
		second = history_back(history, (uint32_t)(history->open - 1 - list->next));
		if (!second->in && !second->done && !second->retried && !second->timed)
			continue;
		if (list->has_seconds)
			buf_append_text(out, TEXT(",\n"));
		list->has_seconds = true;
		append_second(out, list->end - 1 - list->next, second);
	}
	if (history && list->next < list->end)
		return;
	buf_append_text(out, TEXT("]}"));
	list->is_inside = false;
}

/* ---------- the list ---------- */

void history_list_init(struct history_list *list, const struct supervisor_view *view, uint32_t only)
{
	int64_t end = view->pool_set->history.open;

	*list = (struct history_list){.view = view,
		.only = only,
		.end = end,
		.age = mtime_max(clock_boot() - end * MTIME_SECOND, 0)};
}

bool history_list_next(struct history_list *list, struct buf *out)
{
	if (list->has_ended)
		return false;
	if (!list->has_begun)
		buf_append_text(out, TEXT("{\"history\":[\n"));
	list->has_begun = true;
	if (list->is_inside) {
		continue_entry(list, out);
	} else if (!begin_next_entry(list, out)) {
		buf_append_text(out, TEXT("\n]}\n"));
		list->has_ended = true;
	}
	return true;
}

static bool on_next(void *ctx, struct buf *out)
{
	return history_list_next(ctx, out);
}

static const struct http_pieces pieces = {.next = on_next, .end = free};

void control_answer_history(const struct supervisor_view *view, const struct http_request *request)
{
	struct history_list *list;
	uint32_t only;

	if (!control_find_pool_of_query(view, request, &only))
		return;
	list = malloc(sizeof *list);
	if (!list) {
		control_refuse_memory(request);
		return;
	}
	history_list_init(list, view, only);
	http_answer_in_pieces(request, CONTROL_JSON_TYPE, &pieces, list);
}
