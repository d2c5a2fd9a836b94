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

/* The last bytes of a text fill no piece of eight. From the same source. */
START_TEST(each_length_of_the_last_piece_counts)
{
	static const uint64_t hashes[] = {UINT64_C(0x49bc192c478bfc2e),
		UINT64_C(0x748af13ac9ed7bec), UINT64_C(0x27007a47f534b10c),
		UINT64_C(0xe2614298a482dc84), UINT64_C(0xe2c4ef0f59d25695),
		UINT64_C(0xb95fd06b7c3d68ab), UINT64_C(0x810aaf7acf670379),
		UINT64_C(0xda3dcedf84ea6cc6), UINT64_C(0xb79d8581f8552753),
		UINT64_C(0x52b62a4184e1c734), UINT64_C(0x7188f6617526617b),
		UINT64_C(0x58ad1e5ac2bf1033), UINT64_C(0x6c5a77666b0b9ac0),
		UINT64_C(0x5aa577192a3435c6), UINT64_C(0x26f4d862282d8fcb),
		UINT64_C(0x1d42b30f7e060c24)};
	for (size_t len = 1; len <= sizeof hashes / sizeof *hashes; len++)
		ck_assert_uint_eq(keyed_hash(0, text_of("0123456789abcdef", len)), hashes[len - 1]);
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
	UNIT_CASE(suite, "hash", the_values_are_those_of_siphash_1_3,
		each_length_of_the_last_piece_counts, a_secret_is_not_cancelled_out);
	return suite;
}

UNIT_MAIN(keyed_hash_suite)
