#include "message/copy_headers.h"

#include "amqp/table.h"
#include "base/utf8.h"
#include "message/names.h"
#include "message/rest.h"

#include <stdio.h>

#define CUT_NAMES_MAX 255
/* Maximum of x-wpool-stderr: bytes, and the part of a header frame (one eighth). */
#define STDERR_LINE_MAX   1024
#define STDERR_LINE_SHARE 8
/* Maximum size of x-wpool-cut: key, type, length and names. */
#define CUT_SIZE (1 + HEADER_CUT.len + 1 + 4 + CUT_NAMES_MAX)

struct work {
	const struct parcel *parcel;
	const struct copy_options *options;
	struct text headers; /* the task's */
	struct text earlier; /* x-wpool-cut of the delivery: what former copies left out */
	bool has_cc, has_bcc;
	bool sets_trace, sets_state; /* the worker's own headers do */
	size_t largest;              /* maximum size of a field; larger ones are left out */
	size_t count;                /* maximum of fields, nested ones counted */
};

/* True: this copy keeps the header. May change its name. */
typedef bool (*keep_fn)(const struct work *, struct table_field *);

struct origin {
	struct text table;
	keep_fn keep;
};

#define ORIGINS_MAX 2

static bool keep_all(const struct work *work, struct table_field *field)
{
	(void)work, (void)field;
	return true;
}

/* Keep the caller's trace if the worker did not continue it. */
static bool keep_trace(const struct work *work, struct table_field *field)
{
	return rest_keeps_trace(field->key, work->sets_trace, work->sets_state);
}

/* True: it tells of a failure, so each has a new value of the headers about that. */
static bool has_account(const struct parcel *parcel)
{
	return parcel->kind == PARCEL_RETRY || parcel->kind == PARCEL_DEAD_LETTER;
}

/* True: it comes back to its queue as it was. */
static bool is_put_off(const struct parcel *parcel)
{
	return parcel->kind == PARCEL_POSTPONE || parcel->kind == PARCEL_LATER;
}

/* A task that is postponed may have failed in its session, where that is counted in memory. */
static bool has_first_failed(const struct parcel *parcel)
{
	return has_account(parcel) || (is_put_off(parcel) && parcel->failing_for > 0);
}

/* True: this copy has a new value of this header. */
static bool is_rewritten(const struct parcel *parcel, const struct table_field *field)
{
	int64_t when;
	if (text_is(field->key, HEADER_REASON) || text_is(field->key, HEADER_EXIT) ||
		text_is(field->key, HEADER_STATUS) || text_is(field->key, HEADER_STDERR) ||
		text_is(field->key, HEADER_ACCEPTED))
		return has_account(parcel);
	return text_is(field->key, HEADER_FIRST_FAILED) && has_first_failed(parcel) &&
	       !table_field_integer(field, &when);
}

/* A count is written again from what was read. What is put off may name any queue: it comes back to
 * its own. */
static bool is_written_by_us(const struct parcel *parcel, const struct table_field *field)
{
	if (is_put_off(parcel) && text_is(field->key, HEADER_QUEUE))
		return false;
	if (parcel->kind == PARCEL_LATER && text_is(field->key, HEADER_LATER))
		return true;
	return name_is_count(field->key) || text_is(field->key, HEADER_CUT) ||
	       is_rewritten(parcel, field);
}

/* A new CC or BCC replaces the one that a former copy kept. */
static bool keep_own(const struct work *work, struct table_field *field)
{
	if (is_written_by_us(work->parcel, field))
		return false;
	if (work->has_cc && text_is(field->key, HEADER_KEPT_CC))
		return false;
	if (work->has_bcc && text_is(field->key, HEADER_KEPT_BCC))
		return false;
	return name_for_copy(&field->key);
}

/* Iterates over the headers that are kept, of all origins. */
struct walk {
	const struct work *work;
	struct origin origins[ORIGINS_MAX];
	size_t at, count;
	size_t fields_left;
};

static void walk_init(struct walk *walk, const struct work *work)
{
	const struct parcel *parcel = work->parcel;
	*walk = (struct walk){.work = work, .count = 1, .fields_left = work->count};
	walk->origins[0] = (struct origin){work->headers, keep_own};
	if (parcel_is_answer(parcel)) {
		walk->origins[0] = (struct origin){parcel->output->headers, keep_all};
		walk->origins[1] = (struct origin){work->headers, keep_trace};
		walk->count = 2;
	} else if (parcel->kind == PARCEL_REFUSAL) {
		walk->origins[0].keep = keep_trace;
	}
}

static bool walk_next(struct walk *walk, struct table_field *ret)
{
	for (; walk->at < walk->count; walk->at++) {
		struct origin *origin = &walk->origins[walk->at];
		while (table_next(&origin->table, true, ret)) {
			if (origin->keep(walk->work, ret))
				return true;
		}
	}
	return false;
}

static size_t field_size(const struct table_field *field)
{
	bool has_length = strchr("SxAF", field->type) != NULL;
	return 1 + field->key.len + 1 + (has_length ? 4 : 0) + field->value.len;
}

/* True: the field is within the limits on size and count. Call it once for each field of a walk,
 * in order. */
static bool is_in_limits(struct walk *walk, const struct table_field *field)
{
	bool is_nested = field->type == 'A' || field->type == 'F';
	size_t fields = 1 + (is_nested ? table_count(field->value, field->type == 'F') : 0);
	if (field_size(field) > walk->work->largest || fields > walk->fields_left)
		return false;
	walk->fields_left -= fields;
	return true;
}

/* The size of the table without fields over largest. */
static size_t size_up_to(const struct work *work, size_t largest)
{
	struct walk walk;
	struct table_field field;
	size_t total = 0;
	walk_init(&walk, work);
	while (walk_next(&walk, &field)) {
		if (field_size(&field) <= largest)
			total += field_size(&field);
	}
	return total;
}

static bool is_too_much(const struct work *work, size_t left)
{
	struct walk walk;
	struct table_field field;
	walk_init(&walk, work);
	while (walk_next(&walk, &field)) {
		if (!is_in_limits(&walk, &field) || field_size(&field) > left)
			return true;
		left -= field_size(&field);
	}
	return false;
}

/* The largest field size for which all fields up to that size fit into size_max. */
static size_t find_largest(const struct work *work, size_t size_max)
{
	size_t fits = 0, too_large = size_max + 1;
	while (too_large - fits > 1) {
		size_t middle = fits + (too_large - fits) / 2;
		if (size_up_to(work, middle) <= size_max)
			fits = middle;
		else
			too_large = middle;
	}
	return fits;
}

/* "signal 11"; after a protocol error, for which the supervisor sends the signal, with that error
 * in front: "an unknown status: 999; signal 9". */
static void put_exit(struct buf *out, const struct parcel *parcel)
{
	const struct exit_info *exit = &parcel->exit;
	struct text detail = parcel->output ? parcel->output->detail : TEXT_NONE;
	char text[512], what[320] = "";
	if (parcel->what)
		snprintf(what, sizeof what, "%s%s%.*s; ", parcel->what, detail.len > 0 ? ": " : "",
			TEXT_ARGS(detail));
	if (exit->kind == EXIT_NONE)
		return;
	if (exit->kind == EXIT_NOT_STARTED)
		snprintf(text, sizeof text, "%snot started: %s, errno %d", what,
			exit->stage ? exit->stage : "unknown", (int)exit->number);
	else
		snprintf(text, sizeof text, "%s%s %d%s%s", what,
			exit->kind == EXIT_SIGNAL ? "signal" : "exit status", (int)exit->number,
			exit->stage ? ", " : "", exit->stage ? exit->stage : "");
	table_put_string(out, HEADER_EXIT, text_from(text));
}

static void put_first_failed(const struct work *work, struct buf *out)
{
	struct table_field before;
	int64_t when;
	if (table_find(work->headers, HEADER_FIRST_FAILED, &before) &&
		table_field_integer(&before, &when))
		return;
	uint64_t since_s = (uint64_t)(work->parcel->failing_for / MTIME_SECOND);
	uint64_t first_s = work->options->now_s - since_s;
	uint8_t seconds[8];
	for (int i = 0; i < 8; i++)
		seconds[i] = first_s >> (56 - 8 * i) & 0xff;
	table_put_field(out,
		&(struct table_field){HEADER_FIRST_FAILED, 'T', text_of(seconds, sizeof seconds)});
}

/* The worker's last output on stderr, cut after a whole character. Only a part of the header frame
 * is used, because the smallest one must have space for the task's own headers. */
static void put_stderr_line(const struct work *work, struct buf *out)
{
	const struct output *output = work->parcel->output;
	size_t share = work->options->frame_max / STDERR_LINE_SHARE;
	bool is_small = work->options->frame_max > 0 && share < STDERR_LINE_MAX;
	size_t limit = is_small ? share : STDERR_LINE_MAX;
	struct buf line;
	if (!output || output->stderr_line.len == 0)
		return;
	buf_init(&line, SIZE_MAX);
	utf8_append_valid(&line, output->stderr_line);
	struct text whole = buf_text(&line);
	while (limit < whole.len && limit > 0 && ((uint8_t)whole.ptr[limit] & 0xc0) == 0x80)
		limit--;
	out->failed |= line.failed;
	table_put_string(out, HEADER_STDERR, limit < whole.len ? text_of(whole.ptr, limit) : whole);
	buf_release(&line);
}

static void put_count(struct buf *out, struct text key, int64_t count)
{
	if (count > 0)
		table_put_integer(out, key, count);
}

/* Our headers in a retry copy or a dead letter. */
static void put_account(const struct work *work, struct buf *out)
{
	const struct parcel *parcel = work->parcel;
	uint16_t attempts = parcel->delivery->attempt;
	bool was_started =
		parcel->reason != REASON_TOO_LARGE && parcel->reason != REASON_BAD_HEADERS &&
		parcel->reason != REASON_COMES_BACK && parcel->reason != REASON_RENEWAL_REFUSED &&
		parcel->reason != REASON_NO_SESSION && parcel->reason != REASON_BAD_SESSION &&
		parcel->reason != REASON_SESSION_CLOSED && parcel->reason != REASON_THROTTLED &&
		parcel->reason != REASON_POSTPONED;
	if (was_started && attempts < UINT16_MAX)
		attempts++;
	table_put_integer(out, HEADER_ATTEMPT, attempts);
	table_put_string(out, HEADER_REASON, text_from(reason_name(parcel->reason)));
	table_put_string(out, HEADER_QUEUE, work->options->queue);
	put_first_failed(work, out);
	put_exit(out, parcel);
	if (parcel->kind == PARCEL_DEAD_LETTER)
		put_stderr_line(work, out);
	if (parcel->output && parcel->output->status >= STATUS_REJECTED)
		table_put_integer(out, HEADER_STATUS, parcel->output->status);
	if (parcel->delivery->is_accepted)
		table_put_bool(out, HEADER_ACCEPTED, true);
	put_count(out, HEADER_RENEWED, parcel->delivery->renewed);
	put_count(out, HEADER_SLICE, parcel->delivery->slice);
}

/* Our headers in a copy that tells of no failure. */
static void put_counts(const struct work *work, int64_t renewed, struct buf *out)
{
	const struct parcel *parcel = work->parcel;
	put_count(out, HEADER_RENEWED, renewed);
	put_count(out, HEADER_ATTEMPT, parcel->delivery->attempt);
	put_count(out, HEADER_SLICE, parcel->delivery->slice);
	if (has_first_failed(parcel))
		put_first_failed(work, out);
}

static void put_refusal(const struct parcel *parcel, struct buf *out)
{
	mtime delay_ms = (parcel->delay + MTIME_MS - 1) / MTIME_MS;
	table_put_integer(out, HEADER_REFUSAL_STATUS, STATUS_THROTTLED);
	table_put_integer(out, HEADER_RETRY_AFTER, delay_ms);
}

static void put_ours(const struct work *work, struct buf *out)
{
	const struct delivery *delivery = work->parcel->delivery;
	switch (work->parcel->kind) {
	case PARCEL_REPLY:
		break;
	case PARCEL_REFUSAL:
		put_refusal(work->parcel, out);
		break;
	case PARCEL_POSTPONE:
		put_counts(work, delivery->renewed, out);
		break;
	case PARCEL_LATER:
		put_counts(work, delivery->renewed, out);
		table_put_integer(out, HEADER_LATER, delivery->not_before_ms);
		break;
	case PARCEL_RENEW:
		put_counts(work, (int64_t)delivery->renewed + 1, out);
		break;
	case PARCEL_HAND_BACK:
		put_count(out, HEADER_SLICE, (int64_t)delivery->slice + 1);
		break;
	case PARCEL_RETRY:
	case PARCEL_DEAD_LETTER:
		put_account(work, out);
		break;
	}
}

/* Append a name to the list. The first one that does not fit is replaced by three dots, and later
 * ones are ignored. */
static void add_name(struct buf *names, struct text name, bool *is_full)
{
	size_t before = buf_len(names);
	if (*is_full)
		return;
	if (before > 0)
		buf_append_text(names, TEXT(", "));
	utf8_append_valid(names, name);
	if (buf_len(names) + TEXT(", ...").len <= CUT_NAMES_MAX)
		return;
	*is_full = true;
	buf_truncate(names, before);
	buf_append_text(names, before > 0 ? TEXT(", ...") : TEXT("..."));
}

static void put_cut(const struct work *work, struct text lost, struct buf *out)
{
	struct buf names;
	struct walk walk;
	struct table_field field;
	bool is_full = false;
	buf_init(&names, SIZE_MAX);
	if (lost.len > 0)
		add_name(&names, lost, &is_full);
	/* The list of a former copy is full if it ends with three dots. */
	if (text_ends(work->earlier, TEXT("...")) && work->earlier.len <= CUT_NAMES_MAX &&
		utf8_is_valid(work->earlier)) {
		buf_append_text(&names, work->earlier);
		is_full = true;
	} else if (work->earlier.len > 0) {
		add_name(&names, work->earlier, &is_full);
	}
	walk_init(&walk, work);
	while (walk_next(&walk, &field)) {
		if (!is_in_limits(&walk, &field))
			add_name(&names, field.key, &is_full);
	}
	out->failed |= names.failed;
	table_put_string(out, HEADER_CUT, buf_text(&names));
	buf_release(&names);
}

static struct work work_of(
	const struct parcel *parcel, const struct copy_options *options, struct text headers)
{
	struct work work = {
		.parcel = parcel, .options = options, .headers = headers, .largest = SIZE_MAX};
	struct table_field found;
	if (parcel_is_answer(parcel)) {
		struct text own = parcel->output->headers;
		work.sets_trace = table_find(own, HEADER_TRACEPARENT, &found);
		work.sets_state = table_find(own, HEADER_TRACESTATE, &found);
	} else if (parcel_is_copy(parcel)) {
		work.has_cc = table_find(headers, HEADER_CC, &found);
		work.has_bcc = table_find(headers, HEADER_BCC, &found);
		if (table_find(headers, HEADER_CUT, &found) && found.type == 'S')
			work.earlier = found.value;
	}
	return work;
}

void copy_write_headers(const struct parcel *parcel, const struct copy_options *options,
	struct text lost, size_t size_max, struct buf *out)
{
	struct buf scratch;
	buf_init(&scratch, SIZE_MAX);
	struct work work = work_of(parcel, options, rest_headers(parcel->delivery, &scratch));
	put_ours(&work, out);
	bool is_cut = lost.len > 0 || work.earlier.len > 0;
	work.count = COPY_FIELDS_MAX - table_count(buf_text(out), true) - 1; /* x-wpool-cut */
	size_t used = buf_len(out) + (is_cut ? CUT_SIZE : 0);
	size_t left = size_max > used ? size_max - used : 0;
	if (is_too_much(&work, left)) {
		left = is_cut || left < CUT_SIZE ? left : left - CUT_SIZE;
		is_cut = true;
		work.largest = find_largest(&work, left);
	}
	struct walk walk;
	struct table_field field;
	walk_init(&walk, &work);
	while (walk_next(&walk, &field)) {
		if (is_in_limits(&walk, &field))
			table_put_field(out, &field);
	}
	if (is_cut)
		put_cut(&work, lost, out);
	out->failed |= scratch.failed;
	buf_release(&scratch);
}
