/* replay_write: each property and header of what is published for a dead letter. */
#include "unit/support/message/message.h"

#include "message/copy.h"
#include "message/replay.h"

#define FRAME_MAX 131072

struct out {
	struct buf raw;
	struct properties properties;
};

static void replay(struct out *out, const struct properties *given, struct text headers)
{
	buf_init(&out->raw, SIZE_MAX);
	ck_assert_int_eq(replay_write(given, headers, 42, FRAME_MAX, &out->raw), RC_OK);
	ck_assert_int_eq(properties_parse(buf_text(&out->raw), &out->properties), RC_OK);
	ck_assert_uint_eq(copy_returned_number(buf_text(&out->raw)), 42);
}

/* A header of the dead letter, and the table of its replay. */
static const struct {
	const char *key;
	char type;
	const char *hex;
	const char *expected;
} header_cases[] = {
	{"a", 't', "01", "a:t=true "},
	{"a", 'b', "ff", "a:b=-1 "},
	{"a", 'B', "ff", "a:B=255 "},
	{"a", 's', "ff fe", "a:s=-2 "},
	{"a", 'u', "ff fe", "a:u=65534 "},
	{"a", 'I', "00 00 00 05", "a:I=5 "},
	{"a", 'i', "ff ff ff ff", "a:i=4294967295 "},
	{"a", 'l', SEVEN_ZEROS " 05", "a:l=5 "},
	{"a", 'L', SEVEN_ZEROS " 05", "a:L=5 "},
	{"a", 'f', "3f 80 00 00", "a:f=1 "},
	{"a", 'd', "3f f0 00 00 00 00 00 00", "a:d=1 "},
	{"a", 'D', "02 00 00 04 d2", "a:D=12.34 "},
	{"a", 'S', "'t'", "a:S=\"t\" "},
	{"a", 'x', "'raw'", "a:x=\"raw\" "},
	{"a", 'A', "'b' 01 'V'", "a:A=[1,null] "},
	{"a", 'F', "01 'k' 't' 01", "a:F={\"k\":true} "},
	{"a", 'T', SEVEN_ZEROS " 09", "a:T=9 "},
	{"a", 'V', "", "a:V=null "},
	{"", 'V', "", ":V=null "},
	{"CC", 'A', "'S' 00 00 00 01 'q'", "x-wpool-cc:A=[\"q\"] "},
	{"BCC", 'S', "'q'", "x-wpool-bcc:S=\"q\" "},
	{"x-wpool-cc", 'S', "'q'", "x-wpool-cc:S=\"q\" "},
	{"x-wpool-bcc", 'S', "'q'", "x-wpool-bcc:S=\"q\" "},
	{"x-wpool-queue", 'S', "'q'", ""},
	{"x-wpool-attempt", 'l', SEVEN_ZEROS " 03", ""},
	{"x-wpool-reason", 'S', "'crashed'", ""},
	{"x-wpool-first-failed", 'T', SEVEN_ZEROS " 09", ""},
	{"x-wpool-exit", 'S', "'signal 6'", ""},
	{"x-wpool-status", 'l', SEVEN_ZEROS " 05", ""},
	{"x-wpool-stderr", 'S', "'ow'", ""},
	{"x-wpool-accepted", 't', "01", ""},
	{"x-wpool-renewed", 'l', SEVEN_ZEROS " 02", ""},
	/* a task given up as too-many-slices would be given up again after its next slice */
	{"x-wpool-slice", 'l', SEVEN_ZEROS " 02", ""},
	/* headers that were left out are still missing */
	{"x-wpool-cut", 'S', "'gone'", "x-wpool-cut:S=\"gone\" "},
	{"x-death", 'A', "'F' 00 00 00 00", ""},
	{"x-first-death-queue", 'S', "'q'", ""},
	{"x-last-death-reason", 'S', "'q'", ""},
	{"x-delivery-count", 'l', SEVEN_ZEROS " 05", ""},
	{"x-acquired-count", 'l', SEVEN_ZEROS " 05", ""},
};

START_TEST(headers_of_the_failure_are_removed)
{
	for (size_t i = 0; i < sizeof header_cases / sizeof *header_cases; i++) {
		struct out out;
		struct buf table;
		buf_init(&table, SIZE_MAX);
		put_hex(&table, header_cases[i].key, header_cases[i].type, header_cases[i].hex);
		replay(&out, &(struct properties){0}, buf_text(&table));
		assert_table(out.properties.value[PROPERTY_HEADERS], header_cases[i].expected);
		ck_assert_int_eq(properties_has(&out.properties, PROPERTY_HEADERS),
			header_cases[i].expected[0] != '\0');
		buf_release(&out.raw);
		buf_release(&table);
	}
}
END_TEST

START_TEST(a_newer_cc_replaces_the_kept_one)
{
	struct out out;
	struct buf table;
	buf_init(&table, SIZE_MAX);
	put_hex(&table, "x-wpool-cc", 'S', "'old'");
	put_hex(&table, "CC", 'S', "'new'");
	put_hex(&table, "x-wpool-bcc", 'S', "'old'");
	put_hex(&table, "BCC", 'S', "'new'");
	replay(&out, &(struct properties){0}, buf_text(&table));
	assert_table(out.properties.value[PROPERTY_HEADERS],
		"x-wpool-cc:S=\"new\" x-wpool-bcc:S=\"new\" ");
	buf_release(&out.raw);
	buf_release(&table);
}
END_TEST

static const struct {
	enum property property;
	const char *given, *expected; /* NULL: absent */
} property_cases[] = {
	{PROPERTY_CONTENT_TYPE, "text/plain", "text/plain"},
	{PROPERTY_CONTENT_ENCODING, "gzip", "gzip"},
	{PROPERTY_DELIVERY_MODE, "\1", "\2"},
	{PROPERTY_DELIVERY_MODE, NULL, "\2"},
	{PROPERTY_PRIORITY, "\7", "\7"},
	{PROPERTY_CORRELATION_ID, "corr", "corr"},
	{PROPERTY_REPLY_TO, "answers", "answers"},
	{PROPERTY_REPLY_TO, "amq.rabbitmq.reply-to.abc", "amq.rabbitmq.reply-to.abc"},
	{PROPERTY_REPLY_TO, "amq.rabbitmq.reply-to", NULL},
	{PROPERTY_EXPIRATION, "60000", NULL},
	{PROPERTY_MESSAGE_ID, "m-1", "m-1"},
	{PROPERTY_TYPE, "order", "order"},
	{PROPERTY_USER_ID, "somebody", NULL},
	{PROPERTY_APP_ID, "shop", "shop"},
	{PROPERTY_CLUSTER_ID, "17", "42"},
};

START_TEST(each_property_is_kept_or_replaced)
{
	for (size_t i = 0; i < sizeof property_cases / sizeof *property_cases; i++) {
		struct properties given = {0};
		struct out out;
		enum property property = property_cases[i].property;
		if (property_cases[i].given)
			properties_set(&given, property, text_from(property_cases[i].given));
		replay(&out, &given, TEXT_NONE);
		ck_assert_msg(properties_has(&out.properties, property) ==
				      (property_cases[i].expected != NULL),
			"case %zu", i);
		ck_assert_text_eq(
			out.properties.value[property], text_from(property_cases[i].expected));
		buf_release(&out.raw);
	}
}
END_TEST

/* A larger frame than frame_max would end the connection. */
START_TEST(a_replay_over_the_frame_limit_is_refused)
{
	struct buf table, out;
	char value[4000] = "";
	buf_init(&table, SIZE_MAX);
	buf_init(&out, SIZE_MAX);
	table_put_string(&table, TEXT("large"), text_of(value, sizeof value));
	struct properties none = {0};
	ck_assert_int_eq(replay_write(&none, buf_text(&table), 1, 0, &out), RC_OK);
	uint32_t frame = (uint32_t)buf_len(&out) + 8 + 12;
	ck_assert_int_eq(replay_write(&none, buf_text(&table), 1, frame, &out), RC_OK);
	ck_assert_int_eq(replay_write(&none, buf_text(&table), 1, frame - 1, &out), RC_LIMIT);
	buf_release(&table);
	buf_release(&out);
}
END_TEST

static const struct {
	const char *key;
	char type;
	const char *hex, *target;
} target_cases[] = {
	{"x-wpool-queue", 'S', "'orders'", "orders"},
	{"x-wpool-queue", 'l', SEVEN_ZEROS " 05", ""},
	{"x-wpool-queue", 'S', "", ""},
	{"other", 'S', "'orders'", ""},
};

START_TEST(the_target_is_the_queue_in_the_header)
{
	char name[256];
	struct buf table;
	buf_init(&table, SIZE_MAX);
	memset(name, 'q', sizeof name);
	for (size_t i = 0; i < sizeof target_cases / sizeof *target_cases; i++) {
		put_hex(&table, target_cases[i].key, target_cases[i].type, target_cases[i].hex);
		ck_assert_text_eq(
			replay_named_queue(buf_text(&table)), text_from(target_cases[i].target));
		buf_clear(&table);
	}
	for (size_t len = 255; len <= 256; len++) {
		table_put_string(&table, TEXT("x-wpool-queue"), text_of(name, len));
		ck_assert_uint_eq(replay_named_queue(buf_text(&table)).len, len < 256 ? len : 0);
		buf_clear(&table);
	}
	buf_release(&table);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("message/replay");
	UNIT_CASE(s, "replay", headers_of_the_failure_are_removed, a_newer_cc_replaces_the_kept_one,
		each_property_is_kept_or_replaced, a_replay_over_the_frame_limit_is_refused,
		the_target_is_the_queue_in_the_header);
	return s;
}

UNIT_MAIN(suite)
