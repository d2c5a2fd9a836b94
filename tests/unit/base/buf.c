/* The byte queue: bytes come out as they were appended; its limits and its memory. */
#include "base/buf.h"
#include "unit/unit.h"

static bool holds(const struct buf *b, const char *expected)
{
	return text_is(buf_text(b), text_from(expected));
}

START_TEST(every_kind_of_append_adds_its_bytes)
{
	struct buf b;
	buf_init(&b, 1000);
	buf_append(&b, "ab", 2);
	buf_append(&b, NULL, 0);
	buf_append_text(&b, TEXT("cd"));
	buf_append_text(&b, TEXT_NONE);
	buf_append_byte(&b, 'e');
	buf_printf(&b, "%d%s", 42, "!");
	ck_assert(holds(&b, "abcde42!"));
	buf_clear(&b);
	buf_append_be16(&b, 0x0102);
	buf_append_be32(&b, 0x03040506);
	buf_append_be64(&b, 0x0708090a0b0c0d0e);
	for (size_t i = 0; i < 14; i++)
		ck_assert_uint_eq((uint8_t)buf_text(&b).ptr[i], i + 1);
	ck_assert_uint_eq(buf_len(&b), 14);
	ck_assert(!b.failed);
	buf_release(&b);
}
END_TEST

START_TEST(an_append_over_the_limit_adds_nothing)
{
	struct buf b;
	buf_init(&b, 5);
	buf_append(&b, "abc", 3);
	buf_append(&b, "def", 3);
	ck_assert(b.failed);
	ck_assert(holds(&b, "abc"));
	buf_append(&b, "de", 2); /* still fits, and the flag stays */
	ck_assert(b.failed && holds(&b, "abcde"));
	buf_consume(&b, 5);
	ck_assert(b.failed);
	buf_clear(&b);
	ck_assert(!b.failed && buf_len(&b) == 0);
	buf_printf(&b, "%s", "12345"); /* exactly the limit: the NUL does not count */
	ck_assert(!b.failed && holds(&b, "12345"));
	buf_printf(&b, "%s", "6");
	ck_assert(b.failed && holds(&b, "12345"));
	ck_assert_ptr_null(buf_reserve(&b, SIZE_MAX));
	buf_release(&b);
}
END_TEST

START_TEST(truncate_removes_the_end)
{
	struct buf b;
	buf_init(&b, 100);
	buf_append(&b, "xxkeepdrop", 10);
	buf_consume(&b, 2);
	buf_truncate(&b, 4);
	ck_assert(holds(&b, "keep"));
	buf_truncate(&b, 0);
	ck_assert_uint_eq(buf_len(&b), 0);
	buf_release(&b);
}
END_TEST

START_TEST(an_empty_buffer_frees_memory)
{
	struct buf b;
	buf_init(&b, 1 << 20);
	for (size_t i = 0; i < 1 << 20; i++)
		buf_append_byte(&b, (uint8_t)i);
	ck_assert(!b.failed);
	buf_consume(&b, (1 << 20) - 1);
	ck_assert_uint_ge(b.capacity, 1 << 20);
	buf_consume(&b, 1);
	ck_assert_uint_le(b.capacity, 64 * 1024);
	buf_append(&b, "again", 5);
	ck_assert(holds(&b, "again"));
	buf_release(&b);
}
END_TEST

/* A queue that never becomes empty: the bytes are right, and the memory depends on its length only.
 */
START_TEST(memory_is_bounded_in_a_queue_of_steady_length)
{
	enum { HELD = 1000, ROUNDS = 200000 };
	struct buf b;
	uint8_t next_in = 0, next_out = 0;
	size_t wrong = 0;
	buf_init(&b, 4096);
	for (int i = 0; i < HELD; i++)
		buf_append_byte(&b, next_in++);
	for (int i = 0; i < ROUNDS; i++) {
		size_t len = (size_t)(i % 17) + 1;
		for (size_t j = 0; j < len; j++) {
			wrong += (uint8_t)buf_text(&b).ptr[0] != next_out++;
			buf_consume(&b, 1);
		}
		uint8_t *data = buf_reserve(&b, len + 3);
		ck_assert_ptr_nonnull(data);
		for (size_t j = 0; j < len; j++)
			data[j] = next_in++;
		buf_commit(&b, len);
	}
	ck_assert_uint_eq(wrong, 0);
	ck_assert_uint_eq(buf_len(&b), HELD);
	ck_assert_uint_le(b.capacity, 4 * HELD + 256);
	buf_release(&b);
}
END_TEST

START_TEST(release_is_legal_at_any_time)
{
	struct buf b;
	buf_init(&b, 10);
	buf_clear(&b);
	buf_release(&b);
	buf_release(&b);
	buf_append(&b, "x", 1);
	ck_assert(holds(&b, "x"));
	buf_release(&b);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("base/buf");
	UNIT_CASE(s, "buf", every_kind_of_append_adds_its_bytes,
		an_append_over_the_limit_adds_nothing, truncate_removes_the_end,
		an_empty_buffer_frees_memory, memory_is_bounded_in_a_queue_of_steady_length,
		release_is_legal_at_any_time);
	return s;
}

UNIT_MAIN(suite)
