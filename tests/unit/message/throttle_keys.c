/* throttle_keys: the number of a message's key for each throttle of its pool. */
#include "unit/support/message/message.h"

static struct throttle *throttle, *other;

static void set_up(void)
{
	struct throttle_figures figures = {.limit = 1, .period = MTIME_SECOND, .max_keys = 1};
	throttle = throttle_new(&figures, 7);
	other = throttle_new(&figures, 8);
	ck_assert(throttle && other);
}

static void tear_down(void)
{
	throttle_free(throttle);
	throttle_free(other);
}

/* The message with this routing key, read with these sources. */
static struct delivery *delivery_with(const struct properties *given, struct text headers,
	struct text routing_key, const struct key_source *session, const struct throttle_keys *keys)
{
	struct properties properties = *given;
	struct buf raw;
	buf_init(&raw, SIZE_MAX);
	if (headers.len > 0)
		properties_set(&properties, PROPERTY_HEADERS, headers);
	properties_write(&properties, &raw);
	struct delivery *d = delivery_new(buf_len(&raw) + session_key_space(session));
	ck_assert_ptr_nonnull(d);
	d->properties = text_copy(d->bytes, buf_text(&raw));
	d->routing_key = routing_key;
	task_read_facts(d, &(struct task_facts_options){
				   .body_limit = SIZE_MAX, .key = session, .throttles = keys});
	buf_release(&raw);
	return d;
}

static const struct key_source no_session = {.kind = KEY_NONE};

static uint64_t expected_key(const struct throttle *of, const char *key)
{
	return key ? throttle_key(of, text_from(key)) : THROTTLE_NO_KEY;
}

static const struct {
	char type;
	const char *hex, *key; /* key NULL: the message counts as one without the key */
} header_cases[] = {
	{'S', "'acme-7'", "acme-7"},
	{'x', "'acme-7'", "acme-7"},
	{'S', "'a' ff", "a\xff"}, /* no key of a session, but one of a throttle */
	{'S', "'42'", "42"},
	{'b', "2a", "42"},
	{'l', "ff ff ff ff ff ff ff d6", "-42"},
	{'l', "80 00 00 00 00 00 00 00", "-9223372036854775808"},
	{'L', "ff ff ff ff ff ff ff ff", "18446744073709551615"},
	{'T', "00 00 00 00 65 53 f1 00", "1700000000"},
	{'S', "", NULL},
	{'V', "", NULL},
	{'t', "01", NULL},
	{'d', "40 00 00 00 00 00 00 00", NULL},
	{'D', "00 00 00 00 07", NULL},
	{'F', "01 'k' 'V'", NULL},
	{'A', "'b' 07", NULL},
};

START_TEST(a_header_is_the_key)
{
	struct throttle_keys keys = {
		.count = 1, .of = {{throttle, {.kind = KEY_HEADER, .header = TEXT("tenant")}}}};
	for (size_t i = 0; i < sizeof header_cases / sizeof *header_cases; i++) {
		struct buf table;
		buf_init(&table, SIZE_MAX);
		put_hex(&table, "Tenant", 'S', "'another'");
		put_hex(&table, "tenant", header_cases[i].type, header_cases[i].hex);
		struct delivery *d = delivery_with(&(struct properties){0}, buf_text(&table),
			TEXT("route"), &no_session, &keys);
		ck_assert_msg(d->throttle_keys[0] == expected_key(throttle, header_cases[i].key),
			"case %zu", i);
		ck_assert_int_eq(d->invalid, REASON_NONE);
		ck_assert_uint_eq(d->key_at, 0);
		ck_assert_uint_eq(d->key.len, 0);
		delivery_free(d);
		buf_release(&table);
	}
}
END_TEST

START_TEST(a_long_text_counts_to_its_end)
{
	struct throttle_keys keys = {
		.count = 1, .of = {{throttle, {.kind = KEY_HEADER, .header = TEXT("tenant")}}}};
	char bytes[1000];
	memset(bytes, 'k', sizeof bytes);
	for (int i = 0; i < 2; i++) {
		struct buf table;
		buf_init(&table, SIZE_MAX);
		bytes[sizeof bytes - 1] = (char)('a' + i);
		table_put_string(&table, TEXT("tenant"), text_of(bytes, sizeof bytes));
		struct delivery *d = delivery_with(
			&(struct properties){0}, buf_text(&table), TEXT_NONE, &no_session, &keys);
		ck_assert_uint_eq(
			d->throttle_keys[0], throttle_key(throttle, text_of(bytes, sizeof bytes)));
		delivery_free(d);
		buf_release(&table);
	}
}
END_TEST

/* Of a message without headers, with the session "s-1" or none. */
static const struct {
	struct key_source source;
	const char *type, *route; /* type NULL: it does not have this property */
	bool has_session;
	const char *key;
} place_cases[] = {
	{{.kind = KEY_NONE}, "t", "r", true, NULL},
	{{.kind = KEY_HEADER, .header = {"tenant", 6}}, "t", "r", true, NULL},
	{{.kind = KEY_PROPERTY, .property = PROPERTY_TYPE}, "t", "r", true, "t"},
	{{.kind = KEY_PROPERTY, .property = PROPERTY_TYPE}, "", "r", true, NULL},
	{{.kind = KEY_PROPERTY, .property = PROPERTY_TYPE}, NULL, "r", true, NULL},
	{{.kind = KEY_ROUTING_KEY}, "t", "r", true, "r"},
	{{.kind = KEY_ROUTING_KEY}, "t", "", true, NULL},
	{{.kind = KEY_SESSION}, "t", "r", true, "s-1"},
	{{.kind = KEY_SESSION}, "t", "r", false, NULL},
};

START_TEST(each_place_can_have_the_key)
{
	static const struct key_source session = {
		.kind = KEY_PROPERTY, .property = PROPERTY_MESSAGE_ID};
	for (size_t i = 0; i < sizeof place_cases / sizeof *place_cases; i++) {
		struct throttle_keys keys = {.count = 1, .of = {{throttle, place_cases[i].source}}};
		struct properties properties = {0};
		if (place_cases[i].type)
			properties_set(&properties, PROPERTY_TYPE, text_from(place_cases[i].type));
		if (place_cases[i].has_session)
			properties_set(&properties, PROPERTY_MESSAGE_ID, TEXT("s-1"));
		struct delivery *d = delivery_with(
			&properties, TEXT_NONE, text_from(place_cases[i].route), &session, &keys);
		ck_assert_msg(d->throttle_keys[0] == expected_key(throttle, place_cases[i].key),
			"case %zu", i);
		delivery_free(d);
	}
}
END_TEST

/* The digits of the session's key stay in the delivery. */
START_TEST(each_throttle_has_its_own_key)
{
	struct key_source session = {.kind = KEY_HEADER, .header = TEXT("s")};
	struct throttle_keys keys = {.count = 4,
		.of = {{throttle, {.kind = KEY_HEADER, .header = TEXT("n")}},
			{other, {.kind = KEY_SESSION}}, {other, {.kind = KEY_NONE}},
			{throttle, {.kind = KEY_SESSION}}}};
	struct buf table;
	buf_init(&table, SIZE_MAX);
	table_put_integer(&table, TEXT("s"), -5);
	table_put_integer(&table, TEXT("n"), 6);
	struct delivery *d = delivery_with(
		&(struct properties){0}, buf_text(&table), TEXT_NONE, &session, &keys);
	ck_assert_uint_eq(d->throttle_keys[0], expected_key(throttle, "6"));
	ck_assert_uint_eq(d->throttle_keys[1], expected_key(other, "-5"));
	ck_assert_uint_eq(d->throttle_keys[2], THROTTLE_NO_KEY);
	ck_assert_uint_eq(d->throttle_keys[3], expected_key(throttle, "-5"));
	ck_assert_uint_ne(d->throttle_keys[3], d->throttle_keys[1]);
	ck_assert_text_eq(d->key, TEXT("-5"));
	delivery_free(d);
	buf_release(&table);
}
END_TEST

/* After other throttles are configured. */
START_TEST(keys_can_be_read_once_more)
{
	struct throttle_keys keys = {.count = 2,
		.of = {{throttle, {.kind = KEY_ROUTING_KEY}}, {other, {.kind = KEY_ROUTING_KEY}}}};
	struct delivery *d =
		delivery_with(&(struct properties){0}, TEXT_NONE, TEXT("r"), &no_session, &keys);
	keys.of[0].source.kind = KEY_NONE;
	keys.of[1].throttle = throttle;
	throttle_keys_read(d, &(struct properties){0}, &keys);
	ck_assert_uint_eq(d->throttle_keys[0], THROTTLE_NO_KEY);
	ck_assert_uint_eq(d->throttle_keys[1], expected_key(throttle, "r"));
	delivery_free(d);
}
END_TEST

/* It starts no attempt; its session and its other properties are read. */
START_TEST(a_message_with_unreadable_headers_is_one_without_the_key)
{
	struct throttle_keys keys = {.count = 2,
		.of = {{throttle, {.kind = KEY_HEADER, .header = TEXT("k")}},
			{throttle, {.kind = KEY_PROPERTY, .property = PROPERTY_TYPE}}}};
	struct properties properties = {0};
	properties_set(&properties, PROPERTY_TYPE, TEXT("t"));
	struct delivery *d =
		delivery_with(&properties, TEXT("\1k?"), TEXT_NONE, &no_session, &keys);
	ck_assert_int_eq(d->invalid, REASON_BAD_HEADERS);
	ck_assert_uint_eq(d->throttle_keys[0], THROTTLE_NO_KEY);
	ck_assert_uint_eq(d->throttle_keys[1], expected_key(throttle, "t"));
	delivery_free(d);
}
END_TEST

START_TEST(the_route_is_kept_only_for_the_routing_key)
{
	struct throttle_keys keys = {.count = 1,
		.of = {{throttle, {.kind = KEY_SESSION}}, {other, {.kind = KEY_ROUTING_KEY}}}};
	ck_assert(!throttle_keys_have_route(&keys));
	keys.count = 2;
	ck_assert(throttle_keys_have_route(&keys));
}
END_TEST

START_TEST(the_setting_names_a_source)
{
	static const struct {
		const char *value;
		int kind;
		bool is_valid, is_valid_for_sessions;
	} cases[] = {
		{"session", KEY_SESSION, true, false},
		{"routing_key", KEY_ROUTING_KEY, true, true},
		{"header:tenant", KEY_HEADER, true, true},
		{"property:type", KEY_PROPERTY, true, true},
		{"header:x-wpool-attempt", KEY_NONE, false, false},
		{"sessions", KEY_NONE, false, false},
		{"", KEY_NONE, false, false},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct key_source source = {.kind = KEY_NONE}, of_session;
		struct text value = text_from(cases[i].value);
		bool is_valid = !key_source_parse_throttle(value, &source);
		ck_assert_msg(is_valid == cases[i].is_valid, "%s", cases[i].value);
		ck_assert_int_eq((int)source.kind, cases[i].kind);
		ck_assert(!key_source_parse(value, &of_session) == cases[i].is_valid_for_sessions);
	}
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("message/throttle_keys");
	TCase *keys = tcase_create("keys");
	tcase_add_checked_fixture(keys, set_up, tear_down);
	tcase_add_test(keys, a_header_is_the_key);
	tcase_add_test(keys, a_long_text_counts_to_its_end);
	tcase_add_test(keys, each_place_can_have_the_key);
	tcase_add_test(keys, each_throttle_has_its_own_key);
	tcase_add_test(keys, keys_can_be_read_once_more);
	tcase_add_test(keys, a_message_with_unreadable_headers_is_one_without_the_key);
	suite_add_tcase(s, keys);
	UNIT_CASE(s, "sources", the_route_is_kept_only_for_the_routing_key,
		the_setting_names_a_source);
	return s;
}

UNIT_MAIN(suite)
