/* GET /v1/logs: the last lines of the log, and with ?follow=true new ones, as JSON, one a line. A
 * reader is a position in the ring of kept lines (base/log_ring.h): a slow one misses lines and
 * gets their number, and nothing waits for it. */
#include "base/log_format.h"
#include "base/log_ring.h"
#include "config/value/quantity.h"
#include "control/answer.h"
#include "control/routes.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct filter {
	char *pool; /* owned; NULL: any */
	int slot;   /* -1: any */
	enum log_level min;
};

struct reader {
	struct filter filter;
	struct log_cursor at, end; /* end: of a reader that does not follow */
	bool follows;
	uint64_t missed;
	struct log_record found; /* the next one; valid until more is logged */
	bool has_found;
};

static void find_next(struct reader *reader)
{
	const struct filter *filter = &reader->filter;
	const struct log_record *record = &reader->found;

	while (!reader->has_found && (reader->follows || reader->at.serial < reader->end.serial) &&
		log_ring_next(log_kept_lines(), &reader->at, &reader->found, &reader->missed))
		reader->has_found =
			record->level >= filter->min &&
			(filter->slot < 0 || filter->slot == record->slot) &&
			(!filter->pool || text_is(text_from(filter->pool), record->pool));
}

static void append_missed(struct reader *reader, struct buf *out)
{
	static const struct log_origin origin = {.slot = -1};
	struct log_entry entry = {.level = LOG_WARN, .origin = &origin};
	char text[80];
	int len = snprintf(text, sizeof text,
		"%" PRIu64 " log lines were missed: this reader is too slow", reader->missed);

	entry.message = text_of(text, (size_t)len);
	clock_gettime(CLOCK_REALTIME, &entry.at);
	log_append_json(out, &entry);
	buf_append_byte(out, '\n');
	reader->missed = 0;
}

/* If this returns false, append_next is called at once, before anything is logged. */
static bool has_to_wait(void *ctx)
{
	struct reader *reader = ctx;

	find_next(reader);
	return !reader->has_found && reader->missed == 0;
}

static bool append_next(void *ctx, struct buf *out)
{
	struct reader *reader = ctx;

	find_next(reader);
	if (!reader->has_found && reader->missed == 0)
		return false;
	if (reader->missed)
		append_missed(reader, out);
	if (reader->has_found) {
		buf_append_text(out, reader->found.line);
		buf_append_byte(out, '\n');
	}
	reader->has_found = false;
	return true;
}

static void reader_free(void *ctx)
{
	struct reader *reader = ctx;

	free(reader->filter.pool);
	free(reader);
}

static const struct http_pieces kept = {.next = append_next, .end = reader_free};
static const struct http_pieces followed = {
	.next = append_next, .end = reader_free, .waits = has_to_wait};

/* Skip all but the last lines. */
static void skip_to_last(struct reader *reader, int64_t lines)
{
	struct reader ahead = *reader;
	int64_t count = 0;

	ahead.follows = false;
	for (find_next(&ahead); ahead.has_found; find_next(&ahead)) {
		ahead.has_found = false;
		count++;
	}
	for (; count > lines; count--) {
		find_next(reader);
		reader->has_found = false;
	}
}

/* ---------- the request ---------- */

/* False: the query has the parameter, and it is no number from 0 to max. */
static bool read_number(
	const struct http_request *request, const char *name, int64_t max, int64_t *ret)
{
	const char *value = http_query(request, name);

	if (!value)
		return true;
	return quantity_read_integer(text_from(value), ret) && *ret >= 0 && *ret <= max;
}

/* Return what is wrong with the query, or NULL. */
static const char *read_request(
	const struct http_request *request, struct reader *reader, int64_t *ret_lines)
{
	const char *level = http_query(request, "level");
	int64_t slot = -1;

	reader->filter.min = LOG_DEBUG;
	if (level && !log_level_find(level, &reader->filter.min))
		return "level is debug, info, warn or error";
	if (!read_number(request, "slot", UINT16_MAX, &slot))
		return "slot is a number from 0";
	if (!read_number(request, "lines", INT32_MAX, ret_lines))
		return "lines is a number from 0";
	reader->filter.slot = (int)slot;
	return NULL;
}

static struct reader *reader_new(const struct http_request *request, bool follows)
{
	const char *pool = http_query(request, "pool");
	struct reader *reader = calloc(1, sizeof *reader);

	if (reader && pool)
		reader->filter.pool = strdup(pool);
	if (!reader || (pool && !reader->filter.pool)) {
		free(reader);
		return NULL;
	}
	reader->follows = follows;
	reader->at = log_ring_begin(log_kept_lines());
	reader->end = log_ring_end(log_kept_lines());
	return reader;
}

void control_answer_logs(const struct supervisor_view *view, const struct http_request *request)
{
	const char *pool = http_query(request, "pool"), *mistake;
	struct reader *reader;
	int64_t lines = INT32_MAX;
	bool follows;

	if (!control_read_bool(request, "follow", &follows))
		return;
	reader = log_kept_lines() ? reader_new(request, follows) : NULL;
	if (!reader) {
		control_refuse_memory(request);
		return;
	}
	mistake = read_request(request, reader, &lines);
	if (mistake)
		control_refuse(request, 400, mistake, NULL);
	else if (pool && !pool_set_find(view->pool_set, text_from(pool)))
		control_refuse_pool(view, request, text_from(pool));
	else if (reader->follows && http_waiting_answers(request) >= CONTROL_FOLLOWERS)
		control_refuse(request, 503, CONTROL_CROWDED, NULL);
	else {
		skip_to_last(reader, lines);
		http_answer_in_pieces(
			request, CONTROL_LINES_TYPE, reader->follows ? &followed : &kept, reader);
		return;
	}
	reader_free(reader);
}
