/* Texts of others where they are kept to be shown or are shown: a failure with the broker's words,
 * a worker's last line, a queue's name in a reason, members of an answer of the API. Any bytes
 * become text that nobody obeys, on one line, and JSON that means the same. */
#include "base/json.h"
#include "base/json_walk.h"
#include "base/utf8.h"
#include "core/tasks/output.h"
#include "fuzz/feed.h"
#include "fuzz/fuzz.h"
#include "fuzz/memory.h"
#include "fuzz/shown.h"
#include "runtime/report/health_text.h"
#include "tty/json_print.h"

#include <stdlib.h>

/* One control character is six bytes, in a buffer that doubles, and jansson's copies beside it. */
const struct fuzz_memory fuzz_memory = {.base = 16 * 1024, .multiple = 64};

static void check_escaped(struct text t, size_t size)
{
	struct buf once, twice;
	char *copy = malloc(size);
	FUZZ_REQUIRE(copy);
	buf_init(&once, SIZE_MAX);
	buf_init(&twice, SIZE_MAX);
	utf8_append_escaped(&once, t);
	shown_check(buf_text(&once), "\t");
	utf8_append_escaped(&twice, buf_text(&once));
	FUZZ_REQUIRE(text_is(buf_text(&once), buf_text(&twice)));
	utf8_copy_escaped(copy, size, t);
	FUZZ_REQUIRE(strlen(copy) < size && text_starts(buf_text(&once), text_from(copy)));
	FUZZ_REQUIRE(strlen(copy) + 7 > size || strlen(copy) == buf_len(&once));
	shown_check(text_from(copy), "\t");
	buf_release(&once);
	buf_release(&twice);
	free(copy);
}

/* What jansson reads from it is the text, with what is not UTF-8 replaced. */
static void check_value(const json_t *value, struct text t)
{
	struct buf valid;
	buf_init(&valid, SIZE_MAX);
	utf8_append_valid(&valid, t);
	FUZZ_REQUIRE(json_is_string(value));
	FUZZ_REQUIRE(text_is(
		buf_text(&valid), text_of(json_string_value(value), json_string_length(value))));
	buf_release(&valid);
}

static void check_string(struct text t)
{
	struct buf json;
	buf_init(&json, SIZE_MAX);
	buf_append_byte(&json, '[');
	json_append_string(&json, t);
	buf_append_byte(&json, ']');
	shown_check(buf_text(&json), "");
	json_t *list = json_loadb(buf_text(&json).ptr, buf_len(&json), JSON_ALLOW_NUL, NULL);
	check_value(json_array_get(list, 0), t);
	json_decref(list);
	buf_release(&json);
}

/* As the API answers. */
static void check_answer(struct text t)
{
	struct buf json;
	buf_init(&json, SIZE_MAX);
	json_append(&json, json_pack("{s:o}", "text", json_text(t)));
	FUZZ_REQUIRE(!json.failed);
	shown_check(buf_text(&json), "");
	json_t *answer = json_loadb(buf_text(&json).ptr, buf_len(&json), JSON_ALLOW_NUL, NULL);
	check_value(json_object_get(answer, "text"), t);
	json_decref(answer);
	buf_release(&json);
}

/* JSON of others stays what it is. */
static void check_written(struct text t)
{
	struct buf json;
	buf_init(&json, SIZE_MAX);
	json_append_written(&json, t);
	shown_check(buf_text(&json), "\n\t");
	FUZZ_REQUIRE(!json_walk_is_object(t) || json_walk_is_object(buf_text(&json)));
	buf_release(&json);
}

static void check_last_line(struct text t)
{
	static struct statistics statistics;
	struct output output = {.stderr_line = t, .detail = t};
	statistics_count(
		&statistics, &(struct notice){.kind = NOTICE_WORKER_DIED, .output = &output});
	shown_check(text_from(statistics.last_death.stderr_line), "\t");
	shown_check(text_from(statistics.last_death.detail), "\t");
}

static void check_reasons(struct text t)
{
	char *name = strndup(t.len ? t.ptr : "", t.len);
	struct last_death none = {0};
	struct statistics statistics = {.last_failure = REASON_FAILED};
	struct health health = {.pool = "pool",
		.statistics = &statistics,
		.queue = name,
		.dead_letter_queue = name,
		.consume_failure = name,
		.publish_failure = name,
		.crash_loop = {.last = &none, .next_start = MTIME_NEVER}};
	struct buf reason;
	FUZZ_REQUIRE(name);
	buf_init(&reason, SIZE_MAX);
	for (enum health_cause cause = 0; cause < HEALTH_CAUSE_COUNT; cause++)
		health_append_named_text(&reason, &health, cause);
	FUZZ_REQUIRE(!reason.failed);
	shown_check(buf_text(&reason), "\t");
	buf_release(&reason);
	free(name);
}

void fuzz_one(struct text input)
{
	struct feed feed = {input};
	size_t size = 1 + feed_number(&feed, 1);
	struct text t = feed_text(&feed, SIZE_MAX);
	if (t.len == 0)
		t = TEXT("");
	check_escaped(t, size);
	check_string(t);
	check_answer(t);
	check_written(t);
	check_last_line(t);
	check_reasons(t);
}
