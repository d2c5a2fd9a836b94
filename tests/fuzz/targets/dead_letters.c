/* A dead letter and the conditions of --match: what `dead-letters` shows of it is JSON that can be
 * read, or text that cannot harm a terminal, whatever a publisher put into it. */
#include "amqp/table.h"
#include "dead_letters/json.h"
#include "dead_letters/letter_fingerprint.h"
#include "dead_letters/show.h"
#include "fuzz/feed.h"
#include "fuzz/fuzz.h"
#include "fuzz/memory.h"
#include "fuzz/shown.h"
#include "fuzz/tables.h"
#include "tty/text_table.h"

#include <jansson.h>
#include <stdlib.h>

/* One void in an array is a byte of input and {"type":"void","value":null} in JSON. */
const struct fuzz_memory fuzz_memory = {.base = 8 * 1024, .multiple = 192};

static void check_json(struct text json)
{
	json_error_t error;
	shown_check(json, "");
	memory_pause();
	json_t *value =
		json_loadb(json.ptr, json.len, JSON_ALLOW_NUL | JSON_DECODE_INT_AS_REAL, &error);
	/* A key with a NUL is good JSON that jansson does not take. */
	FUZZ_REQUIRE(value || json_error_code(&error) == json_error_null_byte_in_key);
	json_decref(value);
	memory_resume();
}

static void show(const struct dead_letter *dead)
{
	struct buf out;
	buf_init(&out, SIZE_MAX);
	dead_letter_write_json(&out, dead, true);
	check_json(buf_text(&out));
	buf_clear(&out);
	dead_letter_write_text(&out, dead);
	shown_check(buf_text(&out), "\n\t");
	FUZZ_REQUIRE(!out.failed);
	buf_release(&out);
}

static void list(const struct dead_letter *dead, size_t width)
{
	static const struct text_table_column columns[] = {
		{.title = "key", .is_whole = true}, {.title = "value", .is_right = true}};
	struct text headers = dead->headers;
	struct table_field field;
	struct text_table grid;
	struct buf out;
	text_table_init(&grid, columns, 2);
	while (table_next(&headers, true, &field)) {
		text_table_add(&grid, field.key);
		text_table_add(&grid, field.value);
	}
	buf_init(&out, SIZE_MAX);
	text_table_write(&grid, width, &out);
	shown_check(buf_text(&out), "\n\t");
	FUZZ_REQUIRE(!out.failed);
	buf_release(&out);
	text_table_release(&grid);
}

/* The conditions: NUL-terminated words. A header is met by its own text. */
static void match(const struct dead_letter *dead, const char *condition)
{
	struct matches matches = {0};
	struct buf own;
	if (!matches_add(&matches, condition))
		FUZZ_REQUIRE(matches_meet(&matches, dead) != MATCH_MEMORY);
	struct table_field field;
	struct text headers = dead->headers;
	buf_init(&own, SIZE_MAX);
	if (table_next(&headers, true, &field) && dead_letter_header(dead, field.key, &own)) {
		matches.of[0].name = field.key;
		matches.of[0].value = buf_text(&own);
		matches.count = 1;
		bool is_property = text_is(field.key, TEXT("message_id")) ||
				   text_is(field.key, TEXT("correlation_id"));
		FUZZ_REQUIRE(is_property || matches_meet(&matches, dead) == MATCH_YES);
	}
	buf_release(&own);
}

static char *string_of(struct text t)
{
	char *string = strndup(t.ptr, t.len);
	FUZZ_REQUIRE(string);
	return string;
}

/* At its first use OpenSSL allocates what it keeps until the end of the process. */
static void prepare_openssl(void)
{
	static bool is_prepared;
	struct dead_letter empty = {0};
	char fingerprint[FINGERPRINT_SIZE];
	if (!is_prepared)
		FUZZ_REQUIRE(dead_letter_fingerprint(&empty, fingerprint));
	is_prepared = true;
}

void fuzz_one(struct text input)
{
	struct feed feed = {input};
	struct dead_letter dead;
	struct buf properties;
	size_t width = feed_byte(&feed);
	memory_pause();
	prepare_openssl();
	struct text exchange = feed_short(&feed), body = feed_short(&feed);
	char *condition = string_of(feed_short(&feed));
	buf_init(&properties, SIZE_MAX);
	tables_put_properties(&properties, &feed);
	memory_resume();
	dead_letter_read(&dead,
		&(struct amqp_event){.kind = AMQP_DELIVERY,
			.tag = 1,
			.exchange = exchange,
			.routing_key = TEXT("key"),
			.content = {.properties = buf_text(&properties), .body = body}},
		1);
	show(&dead);
	list(&dead, width);
	match(&dead, condition);
	memory_pause();
	buf_release(&properties);
	free(condition);
	memory_resume();
}
