/* GET /v1/logs: the last lines of the log, and with ?follow=true those that come, as JSON, one a
 * line. A reader is a place in what is kept (base/log_ring.h): one that is slow misses lines and is
 * told how many, and nobody waits for it. */
#include "base/log_format.h"
#include "base/log_ring.h"
#include "cli/control_json.h"
#include "cli/control_routes.h"
#include "config/quantity.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* As log_origin has them, but for what is not asked for. */
struct filter {
	char *pool; /* owned; NULL: any */
	int slot;   /* -1: any */
	enum log_level least;
};

struct reader {
	struct filter filter;
	struct log_cursor at, end; /* end: where one that does not follow stops */
	bool follows;
	uint64_t missed;
	struct log_record found; /* the next one, until more is logged */
	bool has_found;
};

static bool is_wanted(const struct filter *filter, const struct log_record *record)
{
	return record->level >= filter->least &&
	       (filter->slot < 0 || filter->slot == record->slot) &&
	       (!filter->pool || text_is(text_from(filter->pool), record->pool));
}

static void find(struct reader *reader)
{
	while (!reader->has_found && (reader->follows || reader->at.serial < reader->end.serial) &&
		log_ring_next(log_kept(), &reader->at, &reader->found, &reader->missed))
		reader->has_found = is_wanted(&reader->filter, &reader->found);
}

static void append_missed(struct reader *reader, struct buf *out)
{
	static const struct log_origin nobody = {.slot = -1};
	struct log_entry entry = {.level = LOG_WARN, .origin = &nobody};
	char words[80];
	int len = snprintf(words, sizeof words,
		"%" PRIu64 " log lines went by too fast for this reader", reader->missed);

	entry.message = text_of(words, (size_t)len);
	clock_gettime(CLOCK_REALTIME, &entry.at);
	log_append_json(out, &entry);
	buf_append_byte(out, '\n');
	reader->missed = 0;
}

/* Where it says no, what it found is taken at once: nothing is logged before that. */
static bool waits(void *ctx)
{
	struct reader *reader = ctx;

	find(reader);
	return !reader->has_found && reader->missed == 0;
}

static bool next(void *ctx, struct buf *out)
{
	struct reader *reader = ctx;

	find(reader);
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

static void end(void *ctx)
{
	struct reader *reader = ctx;

	free(reader->filter.pool);
	free(reader);
}

static const struct http_pieces kept = {.next = next, .end = end};
static const struct http_pieces followed = {.next = next, .end = end, .waits = waits};

/* Of all lines that are there, the last so many. */
static void skip_to_last(struct reader *reader, int64_t lines)
{
	struct reader ahead = *reader;
	int64_t count = 0;

	ahead.follows = false;
	for (find(&ahead); ahead.has_found; find(&ahead)) {
		ahead.has_found = false;
		count++;
	}
	for (; count > lines; count--) {
		find(reader);
		reader->has_found = false;
	}
}

/* ---------- the request ---------- */

/* False: it is there, and no number from 0 to most. */
static bool read_number(
	const struct http_request *request, const char *name, int64_t most, int64_t *ret)
{
	const char *words = http_query(request, name);

	if (!words)
		return true;
	return quantity_read_integer(text_from(words), ret) && *ret >= 0 && *ret <= most;
}

/* What is wrong with it; NULL: nothing. */
static const char *read_request(
	const struct http_request *request, struct reader *reader, int64_t *ret_lines)
{
	const char *level = http_query(request, "level");
	int64_t slot = -1;

	reader->filter.least = LOG_DEBUG;
	if (level && !log_level_find(level, &reader->filter.least))
		return "level is debug, info, warn or error";
	if (!read_number(request, "slot", UINT16_MAX, &slot))
		return "slot is a number from 0";
	if (!read_number(request, "lines", INT32_MAX, ret_lines))
		return "lines is a number from 0";
	reader->filter.slot = (int)slot;
	return NULL;
}

static struct reader *reader_new(const struct http_request *request)
{
	const char *pool = http_query(request, "pool");
	struct reader *reader = calloc(1, sizeof *reader);

	if (reader && pool)
		reader->filter.pool = strdup(pool);
	if (!reader || (pool && !reader->filter.pool)) {
		free(reader);
		return NULL;
	}
	reader->follows = control_is_true(request, "follow");
	reader->at = log_ring_begin(log_kept());
	reader->end = log_ring_end(log_kept());
	return reader;
}

void control_answer_logs(const struct overview *overview, const struct http_request *request)
{
	const char *pool = http_query(request, "pool"), *mistake;
	struct reader *reader = log_kept() ? reader_new(request) : NULL;
	int64_t lines = INT32_MAX;

	if (!reader) {
		control_refuse(request, 503, "out of memory", NULL);
		return;
	}
	mistake = read_request(request, reader, &lines);
	if (mistake)
		control_refuse(request, 400, mistake, NULL);
	else if (pool && !fleet_find(overview->fleet, text_from(pool)))
		control_refuse_pool(overview, request, text_from(pool));
	else if (reader->follows && http_following(request) >= CONTROL_FOLLOWERS)
		control_refuse(request, 503, CONTROL_CROWDED, NULL);
	else {
		skip_to_last(reader, lines);
		http_answer_in_pieces(
			request, CONTROL_LINES_TYPE, reader->follows ? &followed : &kept, reader);
		return;
	}
	end(reader);
}
