/* The hash of texts that others choose. */
#include "base/keyed_hash.h"
#include "unit/unit.h"

/* What CPython 3.11 gives with PYTHONHASHSEED=0. */
START_TEST(the_values_are_those_of_siphash_1_3)
{
	char long_text[255];
	memset(long_text, 'x', sizeof long_text);
	ck_assert_uint_eq(keyed_hash(0, TEXT("a")), UINT64_C(0x407448d2b89b1813));
	ck_assert_uint_eq(keyed_hash(0, TEXT("acme-17")), UINT64_C(0xcb2d8c1471a16c91));
	ck_assert_uint_eq(keyed_hash(0, TEXT("acme-178")), UINT64_C(0x661ab10198581a90));
	ck_assert_uint_eq(
		keyed_hash(0, TEXT("acme-0123456789abcdef")), UINT64_C(0x65760dff6a355eae));
	ck_assert_uint_eq(
		keyed_hash(0, text_of(long_text, sizeof long_text)), UINT64_C(0x4bd34c40ef7d284b));
}
END_TEST

/* With a hash of multiplications and shifts alone these two are equal under every second secret. */
START_TEST(a_secret_is_not_cancelled_out)
{
	for (uint64_t secret = 1; secret <= 1000; secret++)
		ck_assert_uint_ne(keyed_hash(secret, TEXT("aaaaaaaaaaaaaaaa")),
			keyed_hash(secret, TEXT("aaaaaaa!aaaacaa!")));
}
END_TEST

static Suite *keyed_hash_suite(void)
{
	Suite *suite = suite_create("base/keyed_hash");
	UNIT_CASE(
		suite, "hash", the_values_are_those_of_siphash_1_3, a_secret_is_not_cancelled_out);
	return suite;
}

UNIT_MAIN(keyed_hash_suite)
