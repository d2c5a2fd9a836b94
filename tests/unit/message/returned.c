/* copy_returned_number: our number in a returned message, and 0 for anything else. */
#include "message/copy.h"
#include "unit/support/message/message.h"

static const struct {
	const char *cluster_id;
	uint64_t seq;
} seq_cases[] = {
	{"1", 1},
	{"18446744073709551615", UINT64_MAX},
	{"18446744073709551616", 0},
	{"99999999999999999999999", 0},
	{"", 0},
	{"0", 0},
	{"-1", 0},
	{"1 ", 0},
	{"theirs", 0},
};

START_TEST(only_our_number_is_read)
{
	for (size_t i = 0; i < sizeof seq_cases / sizeof *seq_cases; i++) {
		struct properties properties = {0};
		struct buf raw;
		buf_init(&raw, SIZE_MAX);
		properties_set(
			&properties, PROPERTY_CLUSTER_ID, text_from(seq_cases[i].cluster_id));
		properties_write(&properties, &raw);
		ck_assert_uint_eq(copy_returned_number(buf_text(&raw)), seq_cases[i].seq);
		buf_release(&raw);
	}
	ck_assert_uint_eq(copy_returned_number(TEXT("\0\0")), 0);
	ck_assert_uint_eq(copy_returned_number(TEXT("")), 0);
	ck_assert_uint_eq(copy_returned_number(TEXT("\0")), 0);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("message/returned");
	UNIT_CASE(s, "returned", only_our_number_is_read);
	return s;
}

UNIT_MAIN(suite)
