/* What waits for a worker: written in parts of any length it is the same bytes as task_write's,
 * with large bodies and small ones in every order, and a large one outlives its delivery's free. */
#include "worker/outgoing.h"
#include "unit/unit.h"

#include <stdlib.h>
#include <string.h>

#define LIMIT ((size_t)8 << 20)
#define LARGE ((size_t)1 << 20)

static const struct task_options options = {
	.body = TASK_BODY_BIN, .frame_limit = LIMIT, .queue = {.ptr = "q", .len = 1}};

static struct delivery *delivery_of(size_t len, char fill)
{
	struct delivery *delivery = delivery_new(len);

	ck_assert_ptr_nonnull(delivery);
	memset(delivery->bytes, fill, len);
	delivery->body = text_of(delivery->bytes, len);
	return delivery;
}

/* Moves at most len bytes, as a pipe would. */
static size_t move(struct outgoing *out, size_t len, struct buf *written)
{
	struct iovec parts[OUTGOING_PARTS];
	int count = outgoing_parts(out, parts);
	size_t moved = 0;

	for (int i = 0; i < count && moved < len; i++) {
		size_t share = parts[i].iov_len < len - moved ? parts[i].iov_len : len - moved;
		if (parts[i].iov_len == 0) /* an assertion is a system call: not for each byte */
			ck_abort_msg("an empty part");
		buf_append(written, parts[i].iov_base, share);
		moved += share;
	}
	outgoing_consume(out, moved);
	return moved;
}

static const size_t orders[][4] = {
	{LARGE, 0, 0, 0},
	{10, LARGE, 20, 0},
	{LARGE, LARGE, 10, 0}, /* the second is copied */
	{10, 20, 30, LARGE},
};

enum { ORDERS = sizeof orders / sizeof *orders };

static const size_t steps[] = {1, 7, 4096, 100000, LARGE - 1, LARGE, LARGE + 30, LIMIT};

enum { STEPS = sizeof steps / sizeof *steps };

START_TEST(parts_of_any_length_are_the_same_bytes)
{
	const size_t *lengths = orders[_i / STEPS];
	size_t step = steps[_i % STEPS];
	struct outgoing out;
	struct buf expected, written;

	outgoing_init(&out, LIMIT);
	buf_init(&expected, LIMIT);
	buf_init(&written, LIMIT);
	for (int i = 0; i < 4; i++) {
		struct delivery *delivery = delivery_of(lengths[i], (char)('a' + i));
		ck_assert_int_eq(outgoing_add(&out, delivery, &options, 1, 0), RC_OK);
		ck_assert_int_eq(task_write(delivery, &options, 1, 0, &expected, NULL), RC_OK);
		ck_assert_uint_eq(outgoing_len(&out), buf_len(&expected));
		delivery_free(delivery);
	}
	while (outgoing_len(&out) > 0 && move(&out, step, &written) > 0)
		;
	ck_assert_uint_eq(outgoing_len(&out), 0);
	ck_assert_uint_eq(buf_len(&written), buf_len(&expected));
	ck_assert_mem_eq(buf_text(&written).ptr, buf_text(&expected).ptr, buf_len(&expected));
	ck_assert_ptr_null(out.large);
	outgoing_drop(&out);
	buf_release(&expected);
	buf_release(&written);
}
END_TEST

START_TEST(a_large_body_is_not_copied)
{
	struct delivery *delivery = delivery_of(LARGE, 'x');
	struct iovec parts[OUTGOING_PARTS];
	struct outgoing out;

	outgoing_init(&out, LIMIT);
	ck_assert_int_eq(outgoing_add(&out, delivery, &options, 1, 0), RC_OK);
	ck_assert_int_eq(outgoing_parts(&out, parts), 3);
	ck_assert_ptr_eq(parts[1].iov_base, delivery->bytes);
	outgoing_drop(&out); /* the leak checkers see whether it is let go */
	ck_assert_uint_eq(delivery->holds, 0);
	ck_assert_int_eq(outgoing_parts(&out, parts), 0);
	delivery_free(delivery);
}
END_TEST

START_TEST(what_is_refused_leaves_nothing)
{
	struct delivery *delivery = delivery_of(LIMIT, 'x');
	struct outgoing out;

	outgoing_init(&out, LIMIT);
	ck_assert_int_eq(outgoing_add(&out, delivery, &options, 1, 0), RC_LIMIT);
	ck_assert_uint_eq(outgoing_len(&out), 0);
	ck_assert_uint_eq(delivery->holds, 0);
	outgoing_drop(&out);
	delivery_free(delivery);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("worker/outgoing");
	TCase *parts = tcase_create("parts");
	tcase_add_loop_test(parts, parts_of_any_length_are_the_same_bytes, 0, ORDERS * STEPS);
	suite_add_tcase(s, parts);
	UNIT_CASE(s, "large", a_large_body_is_not_copied, what_is_refused_leaves_nothing);
	return s;
}

UNIT_MAIN(suite)
