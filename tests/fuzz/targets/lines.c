/* What a worker writes to stdout and stderr, as it becomes log lines: pieces of any length, in JSON
 * that can be read or in text that cannot harm a terminal, and the last line for a dead letter.
 * What is a JSON object stays one, and forges nothing. */
#include "worker/lines.h"
#include "base/json_walk.h"
#include "base/rate.h"
#include "base/utf8.h"
#include "fuzz/feed.h"
#include "fuzz/fuzz.h"
#include "fuzz/memory.h"
#include "fuzz/shown.h"

#include <jansson.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* The longest line there is, its six-fold in JSON, and that as it is shown. */
const struct fuzz_memory fuzz_memory = {.base = 320 * 1024, .multiple = 0, .kept = 128 * 1024};

static int written = -1;
static const struct log_rate no_limit = {RATE_MAX, RATE_MAX};

/* Its integers and reals are the machine's, its keys are strings of C, its strings UTF-8. */
static bool is_beyond_jansson(const json_error_t *error)
{
	enum json_error_code code = json_error_code(error);
	return code == json_error_numeric_overflow || code == json_error_null_byte_in_key ||
	       code == json_error_invalid_utf8;
}

static void check_line(struct text line, bool is_json)
{
	shown_check(line, "\t");
	if (!is_json)
		return;
	json_error_t error;
	json_t *value = json_loadb(line.ptr, line.len, JSON_ALLOW_NUL, &error);
	const char *pool = json_string_value(json_object_get(value, "pool"));
	FUZZ_REQUIRE(json_walk_is_object(line) && utf8_is_valid(line));
	FUZZ_REQUIRE(value || is_beyond_jansson(&error));
	FUZZ_REQUIRE(!value || (pool && strcmp(pool, "fuzz") == 0));
	FUZZ_REQUIRE(!value || json_integer_value(json_object_get(value, "slot")) == 3);
	FUZZ_REQUIRE(!value || json_integer_value(json_object_get(value, "pid")) == 12345);
	json_decref(value);
}

static size_t depth_of(struct text text)
{
	size_t depth = 0;
	for (size_t i = 0; i < text.len; i++)
		depth += text.ptr[i] == '{' || text.ptr[i] == '[';
	return depth;
}

/* What jansson takes for an object, we do; it may be nested deeper than we like. */
static void check_grammar(struct text text)
{
	json_error_t error;
	json_t *value = json_loadb(text.len ? text.ptr : "", text.len, JSON_ALLOW_NUL, &error);
	if (value && json_typeof(value) == JSON_OBJECT)
		FUZZ_REQUIRE(json_walk_is_object(text) || depth_of(text) > JSON_WALK_DEPTH);
	else
		FUZZ_REQUIRE(!json_walk_is_object(text) || is_beyond_jansson(&error));
	json_decref(value);
}

static void check_written(bool is_json)
{
	off_t size = lseek(written, 0, SEEK_CUR);
	char *bytes = malloc((size_t)size + 1);
	FUZZ_REQUIRE(bytes && pread(written, bytes, (size_t)size, 0) == size);
	struct text rest = text_of(bytes, (size_t)size);
	while (rest.len > 0) {
		const char *end = memchr(rest.ptr, '\n', rest.len);
		FUZZ_REQUIRE(end);
		size_t len = (size_t)(end - rest.ptr);
		check_line(text_of(rest.ptr, len), is_json);
		rest = text_of(end + 1, rest.len - len - 1);
	}
	free(bytes);
	FUZZ_REQUIRE(ftruncate(written, 0) == 0 && lseek(written, 0, SEEK_SET) == 0);
}

void fuzz_one(struct text input)
{
	struct feed feed = {input};
	uint8_t how = feed_byte(&feed);
	size_t slice = how < 128 ? SIZE_MAX : (how - 127u) * 64;
	struct log_origin origin = {.pool = "fuzz", .slot = 3, .pid = 12345, .stream = "stderr"};
	struct lines lines;
	struct log_gate gate;
	if (written < 0)
		written = memfd_create("log", MFD_CLOEXEC);
	FUZZ_REQUIRE(written >= 0);
	log_setup(written, LOG_INFO, how & 1 ? LOG_JSON : LOG_TEXT, false);
	log_gate_init(&gate, ev_default_loop(0), "fuzz", &no_limit);
	lines_init(&lines, origin, &gate, how & 2);
	while (!feed_is_over(&feed))
		lines_add(&lines, feed_text(&feed, slice));
	lines_end(&lines);
	FUZZ_REQUIRE(lines_last(&lines).len <= LINES_LAST_MAX);
	lines_release(&lines);
	log_gate_release(&gate);
	FUZZ_REQUIRE(log_lost() == 0);
	log_setup(STDERR_FILENO, LOG_INFO, LOG_TEXT, false);
	memory_pause();
	check_written(how & 1);
	check_grammar(text_of(input.ptr + 1, input.len > 0 ? input.len - 1 : 0));
	memory_resume();
}
