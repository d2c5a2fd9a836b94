/* answer_read: answers in every width and type, and frames that are no answer. */
#include "unit/support/message/answer.h"

/* The two vectors of PROTOCOL.md. */
START_TEST(the_examples_of_the_protocol_are_read)
{
	struct bytes done = from_hex("82 a130 b3 4e6577204f7574507574204d65737361676521 a131 ccc8");
	struct output *output = read_good(bytes_text(&done));
	ck_assert_int_eq(output->status, STATUS_DONE);
	ck_assert_text_eq(output->body, TEXT("New OutPut Message!"));
	ck_assert_text_eq(output->headers, TEXT_NONE);
	ck_assert_text_eq(output->reply_queue, TEXT_NONE);
	ck_assert_int_eq(output->invalid, REASON_NONE);
	ck_assert_int_eq(output->retry_after_ms, -1);
	output_free(output);

	struct bytes full =
		from_hex("84 a130 b3 4e6577204f7574507574204d65737361676521 a131 ccc8"
			 "a132 81 a474657374 a77465737476616c a133 a9 7465737451756575 65");
	output = read_good(bytes_text(&full));
	ck_assert_text_eq(output->reply_queue, TEXT("testQueue"));
	assert_table(output->headers, "test:S=\"testval\" ");
	output_free(output);
}
END_TEST

static const struct {
	const char *hex;
	int32_t status;
	const char *body, *reply_queue;
} good_cases[] = {
	/* statuses, in every width */
	{"81 a1'1' ff", -1, "", ""},
	{"81 a1'1' d0 ff", -1, "", ""},
	{"81 a1'1' d1 ff ff", -1, "", ""},
	{"81 a1'1' d2 ff ff ff ff", -1, "", ""},
	{"81 a1'1' d3 ff ff ff ff ff ff ff ff", -1, "", ""},
	{"81 a1'1' cc c8", 200, "", ""},
	{"81 a1'1' cd 00 c9", 201, "", ""},
	{"81 a1'1' cc cd", 205, "", ""},
	{"81 a1'1' d1 01 f4", 500, "", ""},
	{"81 a1'1' ce 00 00 01 90", 400, "", ""},
	{"81 a1'1' cf 00 00 00 00 00 00 01 f3", 499, "", ""},
	{"81 a1'1' d3 00 00 00 00 00 00 02 57", 599, "", ""},
	/* text as bin, bin as text, nil */
	{"83 a1'0' c4 02 'hi' a1'1' cc c9 a1'3' c4 01 'q'", 201, "hi", "q"},
	{"83 a1'0' da 00 02 'hi' a1'1' cc c9 a1'3' d9 01 'q'", 201, "hi", "q"},
	{"84 a1'0' c0 a1'1' cc c8 a1'2' c0 a1'3' c0", 200, "", ""},
	{"84 a1'0' a0 a1'1' cc c8 a1'2' 80 a1'3' a0", 200, "", ""},
	{"de 00 01 a1'1' cc c8", 200, "", ""},
	{"81 c4 01 '1' cc c8", 200, "", ""},
	/* unknown keys are passed over, whatever they hold */
	{"83 a1'4' 92 01 81 a1'1' 05 a1'1' cc c8 a5'other' c0", 200, "", ""},
	{"82 a1'1' cc c8 a2'01' cd 01 f4", 200, "", ""},
	{"82 a1'1' cc c8 a0 ff", 200, "", ""},
	/* the last of two counts */
	{"82 a1'1' cc c8 a1'1' cc c9", 201, "", ""},
	{"83 a1'0' a1'x' a1'1' cc c8 a1'0' c0", 200, "", ""},
	/* integers as keys, in every width, beside text and unknown ones */
	{"81 01 cc c8", 200, "", ""},
	{"84 00 a2'hi' 01 cc c9 02 80 03 a1'q'", 201, "hi", "q"},
	{"81 cc 01 cc c8", 200, "", ""},
	{"81 d3 00 00 00 00 00 00 00 01 cc c8", 200, "", ""},
	{"82 a1'0' a2'hi' 01 cc c9", 201, "hi", ""},
	{"84 04 92 01 02 09 81 01 05 07 c0 01 cc c8", 200, "", ""},
	{"82 a1'1' cc c8 01 cc c9", 201, "", ""},
	/* an empty array where a map is expected */
	{"82 a1'1' cc c9 a1'2' 90", 201, "", ""},
	{"82 a1'1' cc c9 a1'2' dc 00 00", 201, "", ""},
	{"82 a1'1' cc c9 a1'2' dd 00 00 00 00", 201, "", ""},
	/* an array in place of the outer map */
	{"92 c0 cc c8", 200, "", ""},
	{"92 a2'hi' cc c9", 201, "hi", ""},
	{"93 c4 02 'hi' cc c9 c0", 201, "hi", ""},
	{"93 a2'hi' cc c9 90", 201, "hi", ""},
	{"94 a2'hi' cc c9 80 a1'q'", 201, "hi", "q"},
	{"dc 00 04 a0 ff c0 c0", -1, "", ""},
	{"dd 00 00 00 02 c0 cd 01 f4", 500, "", ""},
};

START_TEST(every_form_of_an_answer_is_read)
{
	for (size_t i = 0; i < sizeof good_cases / sizeof *good_cases; i++) {
		struct bytes frame = from_hex(good_cases[i].hex);
		struct output *output = read_good(bytes_text(&frame));
		ck_assert_msg(output->status == good_cases[i].status, "case %zu", i);
		ck_assert_text_eq(output->body, text_from(good_cases[i].body));
		ck_assert_text_eq(output->reply_queue, text_from(good_cases[i].reply_queue));
		ck_assert_int_eq(output->invalid, REASON_NONE);
		output_free(output);
	}
}
END_TEST

static const struct {
	const char *hex;
	const char *what; /* the beginning of the reason */
} bad_cases[] = {
	{"dd 10 00 00 00", "more elements"},
	{"", "the frame ends"},
	{"82 a1'1' cc c8", "the frame ends"},
	{"82 a1'1' cc c8 a1'0'", "the frame ends"},
	{"81 a1'1' cc c8 c0", "bytes follow"},
	{"82 a1'1' cc c8 a1'0' c1", "a byte"},
	{"81 a1'2' 91 91 91 91 91 91 91 91 91 91 91 91 91 91 91 91 91 c0", "nested"},
	{"c0", "a frame that is no map"},
	{"cc c8", "a frame that is no map"},
	{"91 80", "a message that"},
	{"90", "an answer without a status"},
	{"91 a2'hi'", "an answer without a status"},
	{"92 a2'hi' c0", "a status that is no integer"},
	{"92 cc c8 a2'hi'", "a message that"},
	{"93 c0 cc c8 91 c0", "headers that"},
	{"93 c0 cc c8 a0", "headers that"},
	{"94 c0 cc c8 80 05", "a reply queue"},
	{"95 c0 cc c8 80 a1'q' c0", "an array of more"},
	{"95 c0 c0 c0 c0 c0", "an array of more"},
	{"a5'error'", "a frame that is no map"},
	{"80", "an answer without a status"},
	{"81 a1'0' a1'x'", "an answer without a status"},
	{"81 0a cc c8", "a key that"},
	{"81 ff cc c8", "a key that"},
	{"82 a1'1' cc c8 c0 c0", "a key that"},
	{"82 a1'1' cc c8 c3 c0", "a key that"},
	{"82 a1'1' cc c8 cb 3f f0 00 00 00 00 00 00 c0", "a key that"},
	{"82 a1'1' cc c8 cf ff ff ff ff ff ff ff ff c0", "a key that"},
	{"82 a1'1' cc c8 90 c0", "a key that"},
	{"81 a1'1' c0", "a status that is no integer"},
	{"81 a1'1' a3'200'", "a status that is no integer"},
	{"81 a1'1' cb 40 69 00 00 00 00 00 00", "a status that is no integer"},
	{"81 a1'1' 00", "an unknown status"},
	{"81 a1'1' fd", "an unknown status"},
	{"81 a1'1' cc c7", "an unknown status"},
	{"81 a1'1' cc ca", "an unknown status"},
	{"81 a1'1' cd 01 8f", "an unknown status"},
	{"81 a1'1' cd 02 58", "an unknown status"},
	{"81 a1'1' cf 00 00 00 01 00 00 00 c8", "an unknown status"},
	{"81 a1'1' cf ff ff ff ff ff ff ff ff", "an unknown status"},
	{"82 a1'1' cc c8 a1'0' 01", "a message that"},
	{"82 a1'1' cc c8 a1'0' 80", "a message that"},
	{"82 a1'1' cc c8 a1'2' 91 c0", "headers that"},
	{"82 a1'1' cc c8 a1'2' a1'x'", "headers that"},
	{"82 a1'1' cc c8 a1'3' 05", "a reply queue"},
};

START_TEST(malformed_answers_are_refused_with_a_reason)
{
	for (size_t i = 0; i < sizeof bad_cases / sizeof *bad_cases; i++) {
		struct bytes frame = from_hex(bad_cases[i].hex);
		struct output *untouched = (struct output *)&frame, *output = untouched;
		struct answer_fault fault = {0};
		ck_assert_msg(answer_read(bytes_text(&frame), &answer_plain_limits, &output,
				      &fault) == RC_MALFORMED,
			"case %zu", i);
		ck_assert_ptr_eq(output, untouched);
		ck_assert_msg(text_starts(text_from(fault.what), text_from(bad_cases[i].what)),
			"case %zu: %s", i, fault.what);
		ck_assert_uint_eq(fault.task_id, 0);
	}
}
END_TEST

/* "7", the id of a task. */
static const struct {
	const char *hex;
	uint64_t id;
} id_cases[] = {
	{"81 a1'1' cc c8", 0},
	{"82 a1'1' cc c8 a1'7' c0", 0},
	{"82 a1'7' 01 a1'1' cc c8", 1},
	{"82 a1'1' ff a1'7' 7f", 127},
	{"82 a1'1' cc c8 a1'7' cc 05", 5},
	{"82 a1'1' cc c8 a1'7' cd 00 05", 5},
	{"82 a1'1' cc c8 a1'7' ce 00 00 00 05", 5},
	{"82 a1'1' cc c8 a1'7' cf " SEVEN_ZEROS " 05", 5},
	{"82 a1'1' cc c8 a1'7' d0 05", 5},
	{"82 a1'1' cc c8 a1'7' d1 00 05", 5},
	{"82 a1'1' cc c8 a1'7' d2 00 00 00 05", 5},
	{"82 a1'1' cc c8 a1'7' d3 " SEVEN_ZEROS " 05", 5},
	{"82 a1'1' cc c8 a1'7' cf 00 00 00 01 00 00 00 00", UINT64_C(1) << 32},
	{"82 a1'1' cc c8 a1'7' cf 7f ff ff ff ff ff ff ff", INT64_MAX},
	{"82 a1'1' cc c8 a1'7' cf 80 00 00 00 00 00 00 00", (uint64_t)INT64_MAX + 1},
	{"82 a1'1' cc c8 a1'7' cf ff ff ff ff ff ff ff ff", UINT64_MAX},
	/* integers as keys, names as bytes */
	{"82 01 cc c8 07 05", 5},
	{"82 01 cc c8 cd 00 07 05", 5},
	{"82 a1'1' cc c8 c4 01 '7' 05", 5},
	/* the last of two counts */
	{"83 a1'7' 04 a1'1' cc c8 a1'7' 05", 5},
	{"83 a1'7' 04 a1'1' cc c8 07 05", 5},
	{"83 a1'7' 04 a1'1' cc c8 a1'7' c0", 0},
	/* names that only look like it; an array has no place for it */
	{"82 a1'1' cc c8 a2'07' 05", 0},
	{"83 a1'1' cc c8 a1'2' 81 a1'7' 05 a1'4' 81 a1'7' 05", 0},
	{"94 c0 cc c8 c0 c0", 0},
};

START_TEST(an_answer_names_its_task)
{
	for (size_t i = 0; i < sizeof id_cases / sizeof *id_cases; i++) {
		struct bytes frame = from_hex(id_cases[i].hex);
		struct output *output = read_good(bytes_text(&frame));
		ck_assert_msg(output->task_id == id_cases[i].id, "case %zu: %llu", i,
			(unsigned long long)output->task_id);
		output_free(output);
	}
}
END_TEST

/* A frame that is refused, and the task that it names nevertheless: before the fault or behind it.
 */
static const struct {
	const char *hex;
	const char *what;
	uint64_t id;
} bad_id_cases[] = {
	{"82 a1'1' cc c8 a1'7' 00", "an id of a task below 1", 0},
	{"82 a1'1' cc c8 a1'7' ff", "an id of a task below 1", 0},
	{"82 a1'1' cc c8 a1'7' d3 80 00 00 00 00 00 00 00", "an id of a task below 1", 0},
	{"82 a1'1' cc c8 a1'7' cb 40 14 00 00 00 00 00 00", "an id of a task that is no", 0},
	{"82 a1'1' cc c8 a1'7' a1'5'", "an id of a task that is no", 0},
	{"82 a1'1' cc c8 a1'7' c3", "an id of a task that is no", 0},
	{"82 a1'1' cc c8 a1'7' 91 05", "an id of a task that is no", 0},
	{"82 a1'1' cc c8 a1'7' 80", "an id of a task that is no", 0},
	{"82 01 cc c8 07 00", "an id of a task below 1", 0},
	{"83 a1'1' cc c8 a1'7' 05 a1'7' 00", "an id of a task below 1", 0},
	{"83 a1'1' cc c8 a1'7' 00 a1'7' 05", "an id of a task below 1", 5},
	{"81 a1'7' 05", "an answer without a status", 5},
	{"82 a1'7' 05 a1'1' cc c7", "an unknown status", 5},
	{"82 a1'1' cc c7 a1'7' 05", "an unknown status", 5},
	{"82 a1'1' a3'200' 07 cd 01 00", "a status that is no integer", 256},
	{"84 a1'0' 01 a1'1' c0 a1'2' 05 a1'7' 05", "a message that", 5},
	{"83 a1'1' cc c8 a1'2' a1'x' a1'7' 05", "headers that", 5},
	{"83 a1'1' cc c8 a1'3' 05 a1'7' 05", "a reply queue", 5},
	{"83 a1'1' cc c8 c0 c0 a1'7' 05", "a key that", 5},
	{"83 a1'1' cc c8 92 a1'7' 06 04 a1'7' 05", "a key that", 5},
	{"83 a1'7' 05 a1'1' cc c8 81 a1'7' 06 a1'7'", "a key that", 5},
	/* not one whole map: no part of it is certain */
	{"83 a1'7' 05 a1'1' cc c8", "the frame ends", 0},
	{"82 a1'7' 05 a1'1' cc c8 c0", "bytes follow", 0},
	{"82 a1'7' 05 a1'1' c1", "a byte", 0},
	{"95 c0 cc c8 80 c0 05", "an array of more", 0},
	{"a1'7'", "a frame that is no map", 0},
};

START_TEST(a_refused_frame_names_its_task)
{
	for (size_t i = 0; i < sizeof bad_id_cases / sizeof *bad_id_cases; i++) {
		struct bytes frame = from_hex(bad_id_cases[i].hex);
		struct output *output = NULL;
		struct answer_fault fault = {.task_id = 99};
		ck_assert_msg(answer_read(bytes_text(&frame), &answer_plain_limits, &output,
				      &fault) == RC_MALFORMED,
			"case %zu", i);
		ck_assert_msg(text_starts(text_from(fault.what), text_from(bad_id_cases[i].what)),
			"case %zu: %s", i, fault.what);
		ck_assert_msg(fault.task_id == bad_id_cases[i].id, "case %zu: %llu", i,
			(unsigned long long)fault.task_id);
	}
}
END_TEST

/* The value that is wrong. */
static const struct {
	const char *hex, *detail;
} detail_cases[] = {
	{"81 a1'1' cd 03 e7", "999"},
	{"81 a1'1' cf ff ff ff ff ff ff ff ff", "18446744073709551615"},
	{"81 a1'1' a3'200'", "the text \"200\""},
	{"81 a1'1' cb 40 69 00 00 00 00 00 00", "the float 200"},
	{"81 a1'1' c0", "nil"},
	{"81 a1'1' c3", "true"},
	{"81 0a cc c8", "10"},
	{"81 c3 cc c8", "true"},
	{"81 ff cc c8", "-1"},
	{"81 d4 05 00 cc c8", "an extension of type 5"},
	{"80", "it is empty"},
	{"81 a6'status' cc c8", "its key is \"status\""},
	{"82 a4'body' a1'x' 02 80", "its keys are \"body\", 2"},
	{"86 a1'a' 01 a1'b' 01 a1'c' 01 a1'd' 01 a1'e' 01 a1'f' 01",
		"its keys are \"a\", \"b\", \"c\", \"d\", ..."},
	{"82 a1'1' cc c8 a1'0' 82 01 02 03 04", "a map of 2"},
	{"82 a1'1' cc c8 a1'2' 91 c0", "an array of 1"},
	{"82 a1'1' cc c8 a1'3' 05", "5"},
	{"95 c0 cc c8 80 c0 05", "an array of 5"},
	{"91 a2'hi'", "an array of 1"},
	{"a5'error'", "the text \"error\""},
	{"c4 02 ff fe", "2 bytes"},
	{"82 a1'7' 00 a1'1' cc c8", "0"},
	{"82 a1'7' a1'5' a1'1' cc c8", "the text \"5\""},
	{"82 a1'1' cc c8", "5 bytes: 82 a1 31 cc c8"},
	{"81 a1'1' cc c8 c0", "6 bytes: 81 a1 31 cc c8 c0"},
	{"'{\"1\":200,\"0\":\"a body\"}'",
		"22 bytes: 7b 22 31 22 3a 32 30 30 2c 22 30 22 3a 22 61 20 ...; this looks like "
		"JSON: \"{\"1\":200,\"0\":\"a body\"}\""},
	/* the first fault counts */
	{"82 a1'1' a1'x' c0 c0", "the text \"x\""},
};

START_TEST(a_refusal_shows_what_came)
{
	struct bytes frame = from_hex(detail_cases[_i].hex);
	struct output *output = NULL;
	struct answer_fault fault;
	ck_assert_int_eq(answer_read(bytes_text(&frame), &answer_plain_limits, &output, &fault),
		RC_MALFORMED);
	ck_assert_str_eq(fault.detail, detail_cases[_i].detail);
}
END_TEST

START_TEST(bare_text_is_a_failure_for_corefx)
{
	struct answer_limits corefx = answer_plain_limits;
	corefx.bare_str_is_failure = true;
	struct bytes frame = from_hex("a5'error'"), bytes = from_hex("c4 01 'x'");
	struct output *output;
	struct answer_fault fault;
	ck_assert_int_eq(answer_read(bytes_text(&frame), &corefx, &output, &fault), RC_OK);
	ck_assert_int_eq(output->status, 500);
	ck_assert_uint_eq(output->task_id, 0);
	ck_assert_text_eq(output->body, TEXT("error"));
	output_free(output);
	ck_assert_int_eq(answer_read(bytes_text(&bytes), &corefx, &output, &fault), RC_MALFORMED);
}
END_TEST

/* A str of this length, filled with one letter. */
static void put_str(struct buf *frame, size_t len)
{
	buf_append_byte(frame, 0xdb);
	buf_append_be32(frame, (uint32_t)len);
	for (size_t i = 0; i < len; i++)
		buf_append_byte(frame, 'a');
}

/* An answer with parts of these lengths; key 0: no header. */
static struct output *read_sized(size_t body, size_t queue, size_t key, size_t value)
{
	struct buf frame;
	buf_init(&frame, SIZE_MAX);
	struct bytes head = from_hex("84 a1'1' cc c9");
	buf_append(&frame, head.at, head.len);
	buf_append_text(&frame, TEXT("\xa1"
				     "0"));
	put_str(&frame, body);
	buf_append_text(&frame, TEXT("\xa1"
				     "3"));
	put_str(&frame, queue);
	buf_append_text(&frame, TEXT("\xa1"
				     "2"));
	buf_append_byte(&frame, key ? 0x81 : 0x80);
	if (key) {
		put_str(&frame, key);
		put_str(&frame, value);
	}
	struct output *output = read_good(buf_text(&frame));
	buf_release(&frame);
	return output;
}

static const struct {
	size_t body, queue, key, value;
	bool invalid;
} size_cases[] = {
	{0, 0, 0, 0, false},
	{1000, 0, 0, 0, false},
	{1001, 0, 0, 0, true},
	{0, 255, 0, 0, false},
	{0, 256, 0, 0, true},
	{0, 0, 255, 0, false},
	{0, 0, 256, 0, true},
	{0, 0, 10, 1000 - 16, false}, /* 16: key, its length, type, length */
	{0, 0, 10, 1001 - 16, true},
	{0, 0, 10, 1 << 20, true},
};

START_TEST(parts_over_their_limits_are_invalid)
{
	for (size_t i = 0; i < sizeof size_cases / sizeof *size_cases; i++) {
		struct output *output = read_sized(size_cases[i].body, size_cases[i].queue,
			size_cases[i].key, size_cases[i].value);
		ck_assert_msg(output->invalid ==
				      (size_cases[i].invalid ? REASON_REPLY_INVALID : REASON_NONE),
			"case %zu", i);
		if (size_cases[i].queue > 0)
			ck_assert_uint_eq(output->reply_queue.len, size_cases[i].queue);
		output_free(output);
	}
}
END_TEST

START_TEST(a_body_of_16_mib_is_read)
{
	struct answer_limits large = {.header_bytes = 1000, .body_bytes = 16u << 20};
	struct buf frame;
	buf_init(&frame, SIZE_MAX);
	struct bytes head = from_hex("82 a1'1' cc c9 a1'0' c6 01 00 00 00");
	buf_append(&frame, head.at, head.len);
	uint8_t *data = buf_reserve(&frame, 16u << 20);
	memset(data, 0xee, 16u << 20);
	buf_commit(&frame, 16u << 20);
	struct output *output;
	struct answer_fault fault;
	ck_assert_int_eq(answer_read(buf_text(&frame), &large, &output, &fault), RC_OK);
	ck_assert_int_eq(output->invalid, REASON_NONE);
	ck_assert_uint_eq(output->body.len, 16u << 20);
	ck_assert_mem_eq(output->body.ptr, buf_text(&frame).ptr + head.len, output->body.len);
	output_free(output);
	buf_release(&frame);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("message/answer");
	UNIT_CASE(s, "frame", the_examples_of_the_protocol_are_read,
		every_form_of_an_answer_is_read, malformed_answers_are_refused_with_a_reason,
		bare_text_is_a_failure_for_corefx);
	TCase *detail = tcase_create("detail");
	tcase_add_loop_test(
		detail, a_refusal_shows_what_came, 0, sizeof detail_cases / sizeof *detail_cases);
	suite_add_tcase(s, detail);
	UNIT_CASE(s, "id", an_answer_names_its_task, a_refused_frame_names_its_task);
	UNIT_CASE(s, "sizes", parts_over_their_limits_are_invalid, a_body_of_16_mib_is_read);
	return s;
}

UNIT_MAIN(suite)
