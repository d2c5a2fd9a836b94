/* message_is_same: a redelivery is known again, and another message is not. */
#include "message/same.h"
#include "unit/support/message/trial.h"

struct header {
	const char *key;
	char type;
	const char *hex;
};

#define HEADERS_MAX 3

static const struct {
	struct header headers[2][HEADERS_MAX];
	bool is_same;
} cases[] = {
	{{{{0}}, {{0}}}, true},
	{{{{0}}, {{"x-delivery-count", 'l', SEVEN_ZEROS " 01"}}}, true},
	{{{{"x-delivery-count", 'l', SEVEN_ZEROS " 01"}},
		 {{"x-acquired-count", 'b', "02"}, {"x-delivery-count", 'b', "02"}}},
		true},
	{{{{"b", 'S', "'1'"}, {"a", 'S', "'2'"}},
		 {{"a", 'S', "'2'"}, {"b", 'S', "'1'"}, {"x-delivery-count", 'b', "01"}}},
		true},
	{{{{"b", 'S', "'1'"}, {"a", 'S', "'2'"}}, {{"a", 'S', "'1'"}, {"b", 'S', "'2'"}}}, false},
	{{{{"a", 'S', "'1'"}}, {{"a", 'S', "'2'"}}}, false},
	{{{{"a", 'S', "'1'"}}, {{"a", 'x', "'1'"}}}, false},
	{{{{"a", 'S', "'1'"}}, {{"A", 'S', "'1'"}}}, false},
	{{{{"a", 'S', "'1'"}}, {{0}}}, false},
	/* The bytes are the same, the borders are not. */
	{{{{"a", 'S', "'bSc'"}}, {{"aSb", 'S', "'c'"}}}, false},
	{{{{"a", 'S', "'1'"}, {"b", 'S', "'2'"}, {"x-delivery-count", 'b', "01"}},
		 {{"x-delivery-count", 'b', "01"}, {"b", 'S', "'2'"}, {"a", 'S', "'12'"}}},
		false},
	{{{{"a", 'S', "'1'"}, {"a", 'S', "'2'"}, {"a", 'S', "'2'"}},
		 {{"a", 'S', "'2'"}, {"a", 'S', "'1'"}, {"a", 'S', "'1'"}}},
		false},
	{{{{"a", 'S', "'1'"}, {"a", 'S', "'2'"}, {"a", 'S', "'2'"}},
		 {{"a", 'S', "'2'"}, {"a", 'S', "'1'"}, {"a", 'S', "'2'"}}},
		true},
	{{{{"a", 'S', "'1'"}}, {{"a", 'S', "'1'"}, {"a", 'S', "'1'"}}}, false},
	{{{{"x-wpool-attempt", 'b', "01"}}, {{"x-wpool-attempt", 'b', "02"}}}, false},
	{{{{"x-death", 'S', "'1'"}}, {{"x-death", 'S', "'2'"}}}, false},
};

static struct delivery *delivery_made(const struct header *headers)
{
	struct properties properties = all_properties();
	struct buf table;
	buf_init(&table, SIZE_MAX);
	for (int i = 0; i < HEADERS_MAX && headers[i].key; i++)
		put_hex(&table, headers[i].key, headers[i].type, headers[i].hex);
	struct delivery *d = delivery_of(&properties,
		buf_len(&table) ? buf_text(&table) : TEXT_NONE, TEXT("body"), SIZE_MAX);
	buf_release(&table);
	return d;
}

START_TEST(headers_count_without_their_order_and_the_brokers_counts)
{
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct delivery *one = delivery_made(cases[i].headers[0]),
				*other = delivery_made(cases[i].headers[1]);
		ck_assert_msg(message_is_same(one, other) == cases[i].is_same, "case %zu", i);
		ck_assert_msg(message_is_same(other, one) == cases[i].is_same, "case %zu", i);
		delivery_free(one);
		delivery_free(other);
	}
}
END_TEST

START_TEST(every_property_counts)
{
	struct properties all = all_properties();
	for (int i = 0; i < PROPERTY_COUNT; i++) {
		struct properties changed = all, less = all;
		if (i == PROPERTY_HEADERS)
			continue;
		char text[32];
		memcpy(text, all.value[i].ptr, all.value[i].len);
		text[0] ^= 1;
		properties_set(&changed, i, text_of(text, all.value[i].len));
		properties_clear(&less, i);
		struct delivery *one = delivery_of(&all, TEXT_NONE, TEXT("body"), SIZE_MAX),
				*other = delivery_of(&changed, TEXT_NONE, TEXT("body"), SIZE_MAX),
				*third = delivery_of(&less, TEXT_NONE, TEXT("body"), SIZE_MAX);
		ck_assert_msg(!message_is_same(one, other), "property %d", i);
		ck_assert_msg(!message_is_same(one, third), "property %d", i);
		delivery_free(one);
		delivery_free(other);
		delivery_free(third);
	}
}
END_TEST

START_TEST(body_and_route_count)
{
	struct properties none = {0};
	struct delivery *one = delivery_of(&none, TEXT_NONE, TEXT("body"), SIZE_MAX),
			*longer = delivery_of(&none, TEXT_NONE, TEXT("body "), SIZE_MAX),
			*other = delivery_of(&none, TEXT_NONE, TEXT("bodz"), SIZE_MAX),
			*same = delivery_of(&none, TEXT_NONE, TEXT("body"), SIZE_MAX);
	same->tag = 7;
	same->redelivered = true;
	ck_assert(message_is_same(one, same));
	ck_assert(!message_is_same(one, longer));
	ck_assert(!message_is_same(one, other));
	same->routing_key = TEXT("other");
	ck_assert(!message_is_same(one, same));
	same->routing_key = TEXT_NONE;
	same->exchange = TEXT("other");
	ck_assert(!message_is_same(one, same));
	delivery_free(one);
	delivery_free(longer);
	delivery_free(other);
	delivery_free(same);
}
END_TEST

START_TEST(malformed_properties_are_compared_as_bytes)
{
	struct bytes raw = from_hex("80 00 05"), other_raw = from_hex("80 00 06");
	struct delivery *one = delivery_new(0), *other = delivery_new(0);
	one->properties = bytes_text(&raw);
	other->properties = bytes_text(&raw);
	ck_assert(message_is_same(one, other));
	other->properties = bytes_text(&other_raw);
	ck_assert(!message_is_same(one, other));
	delivery_free(one);
	delivery_free(other);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("message/same");
	UNIT_CASE(s, "same", headers_count_without_their_order_and_the_brokers_counts,
		every_property_counts, body_and_route_count,
		malformed_properties_are_compared_as_bytes);
	return s;
}

UNIT_MAIN(suite)
