#include "base/log_format.h"

#include "base/json.h"
#include "base/json_walk.h"
#include "base/utf8.h"

#include <stdio.h>
#include <stdlib.h>

/* The members that name a line's origin are ours: a worker's member of the same name gets this
 * prefix. */
#define OTHERS "worker."

enum ours { TS, LEVEL, POOL, SLOT, PID, STREAM, OURS_COUNT };

static const char *const ours[] = {
	[TS] = "ts",
	[LEVEL] = "level",
	[POOL] = "pool",
	[SLOT] = "slot",
	[PID] = "pid",
	[STREAM] = "stream",
};

/* OURS_COUNT: it is not one of ours. */
static enum ours ours_of(struct text key)
{
	int i = 0;

	while (i < OURS_COUNT && !json_walk_means(key, ours[i]))
		i++;
	return (enum ours)i;
}

/* ---------- JSON ---------- */

static void append_head(struct buf *out, const struct log_entry *entry)
{
	struct tm utc;

	if (!gmtime_r(&entry->at.tv_sec, &utc))
		utc = (struct tm){0};
	buf_printf(out, "{\"ts\":\"%04d-%02d-%02dT%02d:%02d:%02d.%03dZ\",\"level\":\"%s\"",
		utc.tm_year + 1900, utc.tm_mon + 1, utc.tm_mday, utc.tm_hour, utc.tm_min,
		utc.tm_sec, (int)(entry->at.tv_nsec / 1000000), log_level_name(entry->level));
}

static void append_origin(struct buf *out, const struct log_origin *origin)
{
	if (origin->pool) {
		buf_append_text(out, TEXT(",\"pool\":"));
		json_append_string(out, text_from(origin->pool));
	}
	if (origin->slot >= 0)
		buf_printf(out, ",\"slot\":%d", origin->slot);
	if (origin->pid)
		buf_printf(out, ",\"pid\":%d", origin->pid);
	if (origin->stream)
		buf_printf(out, ",\"stream\":\"%s\"", origin->stream);
}

static void append_task(struct buf *out, const struct log_task *task)
{
	buf_append_text(out, TEXT(",\"task\":"));
	json_append_string(out, task->name);
	if (task->trace.len)
		buf_printf(out, ",\"trace_id\":\"%.*s\"", TEXT_ARGS(task->trace));
	if (task->attempt)
		buf_printf(out, ",\"attempt\":%u", task->attempt);
	if (task->reason && *task->reason)
		buf_printf(out, ",\"reason\":\"%s\"", task->reason);
	if (task->status)
		buf_printf(out, ",\"status\":%d", task->status);
}

static void append_members(struct buf *out, const struct log_entry *entry)
{
	struct text rest = entry->message, word;
	struct json_member member;

	while (json_walk_next(&rest, &member)) {
		enum ours which = ours_of(member.key);
		if (which == LEVEL && json_walk_string(member.value, &word) &&
			json_walk_means(word, log_level_name(entry->level)))
			continue; /* ours has the same value */
		buf_append_text(out, TEXT(",\""));
		if (which != OURS_COUNT)
			buf_append_text(out, TEXT(OTHERS));
		json_append_written(out, member.key);
		buf_append_text(out, TEXT("\":"));
		json_append_written(out, member.value);
	}
}

void log_append_json(struct buf *out, const struct log_entry *entry)
{
	append_head(out, entry);
	append_origin(out, entry->origin);
	if (entry->origin->task)
		append_task(out, entry->origin->task);
	if (entry->is_object) {
		append_members(out, entry);
	} else {
		buf_append_text(out, TEXT(",\"msg\":"));
		json_append_string(out, entry->message);
	}
	buf_append_byte(out, '}');
}

/* ---------- what a worker's members mean ---------- */

/* Prefixes of the level names that logging libraries of many languages use. */
static bool has_prefix_of(struct text word, const char *const beginnings[])
{
	for (; *beginnings; beginnings++) {
		size_t len = strlen(*beginnings), i = 0;
		while (i < len && i < word.len && (word.ptr[i] | ' ') == (*beginnings)[i])
			i++;
		if (i == len)
			return true;
	}
	return false;
}

static enum log_level level_from_text(struct text word)
{
	static const char *const warnings[] = {"warn", NULL};
	static const char *const errors[] = {
		"err", "crit", "fatal", "panic", "alert", "emerg", "sev", NULL};

	if (has_prefix_of(word, errors))
		return LOG_ERROR;
	return has_prefix_of(word, warnings) ? LOG_WARN : LOG_INFO;
}

enum log_level log_object_level(struct text object)
{
	struct json_member member;
	struct text word;

	while (json_walk_next(&object, &member))
		if ((json_walk_means(member.key, "level") ||
			    json_walk_means(member.key, "severity") ||
			    json_walk_means(member.key, "levelname")) &&
			json_walk_string(member.value, &word))
			return level_from_text(word);
	return LOG_INFO;
}

static bool is_message(struct text key)
{
	return json_walk_means(key, "msg") || json_walk_means(key, "message") ||
	       json_walk_means(key, "event");
}

/* ---------- text ---------- */

struct line {
	struct text ours[OURS_COUNT]; /* values, as written */
	struct text message_key, message;
};

static void read_line(struct text json, struct line *ret)
{
	struct json_member member;
	struct text word;

	*ret = (struct line){0};
	while (json_walk_next(&json, &member)) {
		enum ours which = ours_of(member.key);
		if (which != OURS_COUNT) {
			ret->ours[which] = member.value;
		} else if (!ret->message_key.ptr && is_message(member.key) &&
			   json_walk_string(member.value, &word)) {
			ret->message_key = member.key;
			ret->message = word;
		}
	}
}

static void append_time(struct buf *out, struct text ts)
{
	char string[32];
	struct tm utc = {0}, local;
	unsigned ms;

	snprintf(string, sizeof string, "%.*s", TEXT_ARGS(ts));
	if (sscanf(string, "%4d-%2d-%2dT%2d:%2d:%2d.%3uZ", &utc.tm_year, &utc.tm_mon, &utc.tm_mday,
		    &utc.tm_hour, &utc.tm_min, &utc.tm_sec, &ms) != 7)
		return;
	utc.tm_year -= 1900;
	utc.tm_mon--;
	time_t at = timegm(&utc);
	if (localtime_r(&at, &local))
		buf_printf(out, "%04d-%02d-%02d %02d:%02d:%02d.%03u ", local.tm_year + 1900,
			local.tm_mon + 1, local.tm_mday, local.tm_hour, local.tm_min, local.tm_sec,
			ms);
}

static void append_level(struct buf *out, struct text level, bool has_colour)
{
	static const char *const colours[] = {
		[LOG_DEBUG] = "\033[2m",
		[LOG_INFO] = "\033[32m",
		[LOG_WARN] = "\033[33m",
		[LOG_ERROR] = "\033[31m",
	};
	enum log_level i = LOG_DEBUG;

	while (i < LOG_ERROR && !json_walk_means(level, log_level_name(i)))
		i++;
	buf_printf(out, "%s%-5s%s ", has_colour ? colours[i] : "", log_level_name(i),
		has_colour ? "\033[0m" : "");
}

static struct text unquoted(struct text value)
{
	struct text word;

	return json_walk_string(value, &word) ? word : value;
}

static void append_place(struct buf *out, const struct line *line)
{
	const struct text *of_ours = line->ours;

	if (of_ours[POOL].len)
		json_walk_append_decoded(out, unquoted(of_ours[POOL]));
	if (of_ours[SLOT].len) {
		buf_append_byte(out, '/');
		utf8_append_escaped(out, of_ours[SLOT]);
	}
	if (of_ours[PID].len) {
		buf_append_byte(out, '[');
		utf8_append_escaped(out, of_ours[PID]);
		buf_append_byte(out, ']');
	}
	if (of_ours[POOL].len || of_ours[SLOT].len || of_ours[PID].len)
		buf_append_byte(out, ' ');
	if (of_ours[STREAM].len) {
		json_walk_append_decoded(out, unquoted(of_ours[STREAM]));
		buf_append_text(out, TEXT(":"));
	}
}

static bool is_plain_word(struct text word)
{
	for (size_t i = 0; i < word.len; i++)
		if (word.ptr[i] == ' ' || word.ptr[i] == '=' || word.ptr[i] == '\\')
			return false;
	return word.len > 0;
}

/* Append the worker's members that are not yet shown; time and level are shown as ours. */
static void append_rest(struct buf *out, struct text json, const struct line *line)
{
	struct json_member member;
	struct text word;

	while (json_walk_next(&json, &member)) {
		if (member.key.ptr == line->message_key.ptr || ours_of(member.key) != OURS_COUNT ||
			json_walk_means(member.key, OTHERS "ts") ||
			json_walk_means(member.key, OTHERS "level"))
			continue;
		buf_append_byte(out, ' ');
		json_walk_append_decoded(out, member.key);
		buf_append_byte(out, '=');
		if (json_walk_string(member.value, &word) && is_plain_word(word))
			utf8_append_escaped(out, word);
		else
			utf8_append_escaped(out, member.value);
	}
}

void log_append_text(struct buf *out, struct text json, bool has_colour)
{
	struct line line;
	bool is_workers;

	if (!json_walk_is_object(json)) {
		utf8_append_escaped(out, json);
		return;
	}
	read_line(json, &line);
	is_workers = line.ours[STREAM].len > 0;
	append_time(out, unquoted(line.ours[TS]));
	append_level(out, unquoted(line.ours[LEVEL]), has_colour);
	append_place(out, &line);
	if (is_workers && line.message_key.ptr)
		buf_append_byte(out, ' ');
	json_walk_append_decoded(out, line.message);
	if (is_workers)
		append_rest(out, json, &line);
}
