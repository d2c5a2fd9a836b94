/* session_key: the key of a message's session, from each place where it may be. */
#include "unit/support/message/message.h"

static const struct key_source header_source = {.kind = KEY_HEADER, .header = {"session", 7}};

static const struct {
	char type;
	const char *hex, *key; /* key NULL: there is none */
	enum reason invalid;
} header_cases[] = {
	{'S', "'acme-7'", "acme-7", REASON_NONE},
	{'S', "'Z' c3 bc 'rich'", "Z\xc3\xbcrich", REASON_NONE},
	{'x', "'acme-7'", "acme-7", REASON_NONE},
	{'b', "07", "7", REASON_NONE},
	{'b', "ff", "-1", REASON_NONE},
	{'B', "ff", "255", REASON_NONE},
	{'s', "80 00", "-32768", REASON_NONE},
	{'u', "ff ff", "65535", REASON_NONE},
	{'I', "00 00 00 00", "0", REASON_NONE},
	{'i', "ff ff ff ff", "4294967295", REASON_NONE},
	{'l', "80 00 00 00 00 00 00 00", "-9223372036854775808", REASON_NONE},
	{'l', "7f ff ff ff ff ff ff ff", "9223372036854775807", REASON_NONE},
	{'L', "ff ff ff ff ff ff ff ff", "18446744073709551615", REASON_NONE},
	{'L', "80 00 00 00 00 00 00 00", "9223372036854775808", REASON_NONE},
	{'T', "00 00 00 00 65 53 f1 00", "1700000000", REASON_NONE},
	{'V', "", NULL, REASON_NONE},
	{'S', "", NULL, REASON_BAD_SESSION},
	{'S', "'a' ff", NULL, REASON_BAD_SESSION},
	{'S', "c3", NULL, REASON_BAD_SESSION},
	{'S', "ed a0 80", NULL, REASON_BAD_SESSION},
	{'F', "01 'k' 'V'", NULL, REASON_BAD_SESSION},
	{'A', "'b' 07", NULL, REASON_BAD_SESSION},
	{'t', "01", NULL, REASON_BAD_SESSION},
	{'d', "40 00 00 00 00 00 00 00", NULL, REASON_BAD_SESSION},
	{'f', "40 00 00 00", NULL, REASON_BAD_SESSION},
	{'D', "00 00 00 00 07", NULL, REASON_BAD_SESSION},
};

static void assert_key(const struct delivery *d, const char *key, enum reason invalid)
{
	ck_assert_text_eq(d->key, text_from(key));
	ck_assert_str_eq(reason_name(d->invalid), reason_name(invalid));
}

START_TEST(a_header_is_the_key)
{
	for (size_t i = 0; i < sizeof header_cases / sizeof *header_cases; i++) {
		struct buf table;
		buf_init(&table, SIZE_MAX);
		put_hex(&table, "Session", 'S', "'another'");
		put_hex(&table, "session", header_cases[i].type, header_cases[i].hex);
		put_hex(&table, "x-delivery-count", 'b', "01");
		struct delivery *d = delivery_of_session(
			&(struct properties){0}, buf_text(&table), TEXT("body"), &header_source);
		assert_key(d, header_cases[i].key, header_cases[i].invalid);
		ck_assert_text_eq(d->body, TEXT("body"));
		ck_assert_uint_eq(d->returns, 1);
		delivery_free(d);
		buf_release(&table);
	}
}
END_TEST

START_TEST(a_key_has_up_to_255_bytes)
{
	char bytes[SESSION_KEY_MAX + 1];
	memset(bytes, 'k', sizeof bytes);
	for (size_t len = SESSION_KEY_MAX; len <= sizeof bytes; len++) {
		struct buf table;
		buf_init(&table, SIZE_MAX);
		table_put_string(&table, TEXT("session"), text_of(bytes, len));
		struct delivery *d = delivery_of_session(
			&(struct properties){0}, buf_text(&table), TEXT_NONE, &header_source);
		ck_assert_uint_eq(d->key.len, len <= SESSION_KEY_MAX ? len : 0);
		ck_assert_int_eq(
			d->invalid, len <= SESSION_KEY_MAX ? REASON_NONE : REASON_BAD_SESSION);
		delivery_free(d);
		buf_release(&table);
	}
}
END_TEST

static const struct {
	enum property property;
	const char *value, *key; /* value NULL: the message does not have the property */
	enum reason invalid;
} property_cases[] = {
	{PROPERTY_CORRELATION_ID, "c-1", "c-1", REASON_NONE},
	{PROPERTY_MESSAGE_ID, "m-1", "m-1", REASON_NONE},
	{PROPERTY_TYPE, "", NULL, REASON_BAD_SESSION},
	{PROPERTY_APP_ID, "\xff", NULL, REASON_BAD_SESSION},
	{PROPERTY_REPLY_TO, NULL, NULL, REASON_NONE},
};

START_TEST(a_property_is_the_key)
{
	for (size_t i = 0; i < sizeof property_cases / sizeof *property_cases; i++) {
		struct properties properties = {0};
		struct key_source source = {
			.kind = KEY_PROPERTY, .property = property_cases[i].property};
		properties_set(&properties, PROPERTY_CONTENT_TYPE, TEXT("another"));
		if (property_cases[i].value)
			properties_set(&properties, property_cases[i].property,
				text_from(property_cases[i].value));
		struct delivery *d =
			delivery_of_session(&properties, TEXT_NONE, TEXT("body"), &source);
		assert_key(d, property_cases[i].key, property_cases[i].invalid);
		delivery_free(d);
	}
}
END_TEST

static void assert_routing_key(struct text route, const char *key, enum reason invalid)
{
	struct key_source source = {.kind = KEY_ROUTING_KEY, .is_required = true};
	struct bytes raw = from_hex("00 00");
	struct delivery *d = delivery_new(0);
	d->properties = bytes_text(&raw);
	d->routing_key = route;
	task_read_facts(d, &(struct task_facts_options){.body_limit = SIZE_MAX, .key = &source});
	assert_key(d, key, invalid);
	delivery_free(d);
}

START_TEST(the_routing_key_is_the_key)
{
	assert_routing_key(TEXT("orders.7"), "orders.7", REASON_NONE);
	assert_routing_key(TEXT("\xff"), NULL, REASON_BAD_SESSION);
	assert_routing_key(TEXT_NONE, NULL, REASON_BAD_SESSION);
}
END_TEST

START_TEST(a_required_key_that_lacks_makes_a_message_invalid)
{
	struct key_source required = header_source, property = {.kind = KEY_PROPERTY,
							    .property = PROPERTY_MESSAGE_ID,
							    .is_required = true};
	required.is_required = true;
	struct delivery *d =
		delivery_of_session(&(struct properties){0}, TEXT_NONE, TEXT("body"), &required);
	assert_key(d, NULL, REASON_NO_SESSION);
	delivery_free(d);
	d = delivery_of_session(&(struct properties){0}, TEXT_NONE, TEXT("body"), &property);
	assert_key(d, NULL, REASON_NO_SESSION);
	delivery_free(d);
}
END_TEST

/* Its turn in its session comes first, then it is given up for its own reason. */
START_TEST(an_invalid_message_keeps_its_key)
{
	struct key_source property = {.kind = KEY_PROPERTY, .property = PROPERTY_MESSAGE_ID};
	struct properties properties = {0};
	struct bytes table = from_hex("01 'k' '?' 00"), raw = from_hex("80");
	properties_set(&properties, PROPERTY_MESSAGE_ID, TEXT("m-1"));
	struct delivery *d =
		delivery_of_session(&properties, bytes_text(&table), TEXT("body"), &property);
	assert_key(d, "m-1", REASON_BAD_HEADERS);
	task_read_facts(d, &(struct task_facts_options){.body_limit = 3, .key = &property});
	assert_key(d, "m-1", REASON_BAD_HEADERS);
	d->properties = bytes_text(&raw);
	d->routing_key = TEXT("orders.7");
	task_read_facts(d, &(struct task_facts_options){.body_limit = SIZE_MAX,
				   .key = &(struct key_source){.kind = KEY_ROUTING_KEY}});
	assert_key(d, "orders.7", REASON_BAD_HEADERS);
	delivery_free(d);
}
END_TEST

START_TEST(priority_5_and_above_is_high)
{
	struct {
		struct text priority;
		bool is_high;
	} cases[] = {{TEXT_NONE, false}, {TEXT("\0"), false}, {TEXT("\4"), false},
		{TEXT("\5"), true}, {TEXT("\xff"), true}};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct properties properties = {0};
		if (cases[i].priority.len > 0)
			properties_set(&properties, PROPERTY_PRIORITY, cases[i].priority);
		struct delivery *d =
			delivery_of_session(&properties, TEXT_NONE, TEXT("body"), &header_source);
		ck_assert_msg(d->is_high == cases[i].is_high, "case %zu", i);
		delivery_free(d);
		d = delivery_of(&properties, TEXT_NONE, TEXT("body"), 4);
		ck_assert(!d->is_high);
		delivery_free(d);
	}
}
END_TEST

static const struct {
	const char *value;
	int kind; /* KEY_NONE: refused */
	const char *header;
	enum property property;
} settings[] = {
	{"header:session", KEY_HEADER, "session", PROPERTY_CONTENT_TYPE},
	{"header:header:x", KEY_HEADER, "header:x", PROPERTY_CONTENT_TYPE},
	{"property:correlation_id", KEY_PROPERTY, NULL, PROPERTY_CORRELATION_ID},
	{"property:content_encoding", KEY_PROPERTY, NULL, PROPERTY_CONTENT_ENCODING},
	{"routing_key", KEY_ROUTING_KEY, NULL, PROPERTY_CONTENT_TYPE},
	{"header:", KEY_NONE, NULL, PROPERTY_CONTENT_TYPE},
	{"header:x-wpool-attempt", KEY_NONE, NULL, PROPERTY_CONTENT_TYPE},
	{"header:x-delivery-count", KEY_NONE, NULL, PROPERTY_CONTENT_TYPE},
	{"header:CC", KEY_NONE, NULL, PROPERTY_CONTENT_TYPE},
	{"property:priority", KEY_NONE, NULL, PROPERTY_CONTENT_TYPE},
	{"property:user_id", KEY_NONE, NULL, PROPERTY_CONTENT_TYPE},
	{"property:", KEY_NONE, NULL, PROPERTY_CONTENT_TYPE},
	{"routing_key:x", KEY_NONE, NULL, PROPERTY_CONTENT_TYPE},
	{"session", KEY_NONE, NULL, PROPERTY_CONTENT_TYPE},
	{"", KEY_NONE, NULL, PROPERTY_CONTENT_TYPE},
};

START_TEST(the_setting_names_a_source)
{
	for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
		struct key_source source = {.kind = KEY_NONE};
		const char *wrong = key_source_parse(text_from(settings[i].value), &source);
		ck_assert_msg(!wrong == (settings[i].kind != KEY_NONE), "%s", settings[i].value);
		ck_assert_int_eq((int)source.kind, settings[i].kind);
		ck_assert_text_eq(source.header, text_from(settings[i].header));
		ck_assert_int_eq(source.property, settings[i].property);
	}
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("message/session_key");
	UNIT_CASE(s, "key", a_header_is_the_key, a_key_has_up_to_255_bytes, a_property_is_the_key,
		the_routing_key_is_the_key, priority_5_and_above_is_high);
	UNIT_CASE(s, "invalid", a_required_key_that_lacks_makes_a_message_invalid,
		an_invalid_message_keeps_its_key);
	UNIT_CASE(s, "setting", the_setting_names_a_source);
	return s;
}

UNIT_MAIN(suite)
