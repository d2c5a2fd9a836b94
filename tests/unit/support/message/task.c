#include "unit/support/message/task.h"

const struct task_options task_plain_options = {
	.frame_limit = TASK_LIMIT,
	.queue = {"q", 1},
};

struct bytes frame_of(const struct delivery *d, const struct task_options *options)
{
	struct buf out;
	buf_init(&out, 1 << 20);
	buf_append_text(&out, TEXT("before")); /* somebody else's, to be left alone */
	ck_assert_int_eq(task_write(d, options, 1, 0, &out, NULL), RC_OK);
	struct text all = buf_text(&out);
	ck_assert(text_starts(all, TEXT("before")));
	const uint8_t *frame = (const uint8_t *)all.ptr + 6;
	size_t len = all.len - 6 - WIRE_LENGTH_BYTES;
	ck_assert_uint_eq(wire_get_length(frame), len);
	ck_assert_int_eq(wire_check(frame + WIRE_LENGTH_BYTES, len), WIRE_OK);
	ck_assert_uint_le(len, HEX_MAX);
	struct bytes bytes = {.len = len};
	memcpy(bytes.at, frame + WIRE_LENGTH_BYTES, len);
	buf_release(&out);
	return bytes;
}

void assert_frame(const struct delivery *d, const struct task_options *options, const char *hex,
	const char *label)
{
	struct bytes got = frame_of(d, options), expected = from_hex(hex);
	ck_assert_msg(got.len == expected.len && memcmp(got.at, expected.at, got.len) == 0,
		"another frame for %s", label);
}
