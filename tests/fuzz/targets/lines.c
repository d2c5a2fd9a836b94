/* What a worker writes to stdout and stderr, as it becomes log lines: pieces of any length, in JSON
 * that can be read or in text that cannot harm a terminal, and the last line for a dead letter. */
#include "io/lines.h"
#include "base/utf8.h"
#include "fuzz/feed.h"
#include "fuzz/fuzz.h"
#include "fuzz/memory.h"

#include <jansson.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* Not more than the longest piece of a line there is, twice, and its six-fold in JSON. */
const struct fuzz_memory fuzz_memory = {.base = 128 * 1024, .multiple = 0, .kept = 64 * 1024};

static int written = -1;

static void check_text(struct text line)
{
	for (size_t i = 0; i < line.len; i++) {
		uint8_t byte = (uint8_t)line.ptr[i];
		FUZZ_REQUIRE((byte >= ' ' && byte != 0x7f) || byte == '\t');
	}
	FUZZ_REQUIRE(utf8_is_valid(line));
}

static void check_line(struct text line, bool is_json)
{
	if (!is_json) {
		check_text(line);
		return;
	}
	json_error_t error;
	json_t *value = json_loadb(line.ptr, line.len, JSON_ALLOW_NUL, &error);
	FUZZ_REQUIRE(value && json_is_string(json_object_get(value, "msg")));
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
	if (written < 0)
		written = memfd_create("log", MFD_CLOEXEC);
	FUZZ_REQUIRE(written >= 0);
	log_setup(written, LOG_INFO, how & 1 ? LOG_JSON : LOG_TEXT, false);
	lines_init(&lines, origin, how & 2);
	while (!feed_is_over(&feed))
		lines_add(&lines, feed_text(&feed, slice));
	lines_end(&lines);
	FUZZ_REQUIRE(lines_last(&lines).len <= LINES_LAST_MAX);
	lines_release(&lines);
	FUZZ_REQUIRE(log_lost() == 0);
	log_setup(STDERR_FILENO, LOG_INFO, LOG_TEXT, false);
	memory_pause();
	check_written(how & 1);
	memory_resume();
}
