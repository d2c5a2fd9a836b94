/* Input that is changed at random: all output is well formed and within its limits. Meant for ASan
 * and UBSan; every input is in a block of exactly its size. Each block of runs has its own seed,
 * which check prints after the name of a test that fails. */
#include "core/tasks/output.h"
#include "message/answer.h"
#include "message/copy.h"
#include "unit/support/message/message.h"
#include "wire/frame.h"

#include <msgpack.h>

#define BLOCKS         20
#define RUNS           500
#define MUTATIONS_MAX  6
#define REPLY_HEADERS  512
#define SMALLEST_FRAME 4096

static const char *const answers[] = {
	"82 a1'0' a5'hello' a1'1' cc c8",
	"84 a1'0' c4 03 'abc' a1'1' cd 00 c9 a1'2' 84 a1'a' 01 a1'b' 92 c0 c3 a1'c' 81 a1'd' cb "
	"3ff0000000000000 a1'e' d6 ff 65000000 a1'3' a5'queue'",
	"82 a1'1' cc c9 a1'2' 83 ac'content-type' a4'text' a2'CC' 91 a1'q' "
	"b6'RetryAfterMilliseconds' a4'1000'",
	"82 a1'1' cc c9 a1'2' 81 a1'x' 91 91 91 91 91 91 91 91 82 a1'k' 94 c0 c2 ca 3f800000 "
	"c4 02 'zz' a1'l' cf ffffffffffffffff",
	"83 a1'0' a4'half' a1'1' ff a1'2' 81 b5'HardLimitMilliseconds' cd ea60",
	"83 a1'4' dc 00 02 01 02 a1'1' d1 01 f4 a1'0' d9 03 'err'",
};

static const char *const tables[] = {
	"",
	"01'a' 'S' 00000002 'hi' 01'b' 'I' 00000005 01'c' 't' 01 01'd' 'T' 0000000065000000",
	"01'a' 'A' 00000009 'b' 01 'V' 'S' 00000001 'x' 01'f' 'F' 00000009 01'g' 'd' "
	"3ff0000000000000",
	"0f'x-wpool-attempt' 'l' 0000000000000002 0d'x-wpool-slice' 'b' 01 0d'x-wpool-queue' 'S' "
	"00000001 'q' 14'x-wpool-first-failed' 'T' 0000000065000000",
	"02'CC' 'A' 00000006 'S' 00000001 'q' 07'x-death' 'A' 00000005 'F' 00000000 "
	"0b'traceparent' 'S' 00000002 '00'",
	"01'a' 'F' 0000001b 01'a' 'F' 00000014 01'a' 'F' 0000000d 01'a' 'F' 00000006 01'a' 'b' 07 "
	"'V'",
	"01'a' 'D' 02000004d2 01'a' 'f' 3dcccccd 01'a' 'L' ffffffffffffffff 01'a' 'x' 00000001 ff",
};

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* Changes, drops, doubles or adds a few bytes. */
static void mutate(struct bytes *bytes, unsigned *seed)
{
	static const uint8_t favourites[] = {
		0, 1, 0x7f, 0x80, 0x90, 0xc1, 0xdd, 0xdf, 0xff, 'F', 'A'};
	for (int n = rand_r(seed) % MUTATIONS_MAX; n > 0 && bytes->len > 0; n--) {
		size_t at = (size_t)rand_r(seed) % bytes->len;
		size_t rest = bytes->len - at;
		uint8_t octet = rand_r(seed) % 2 ? favourites[rand_r(seed) % COUNT(favourites)]
						 : (uint8_t)rand_r(seed);
		switch (rand_r(seed) % 5) {
		case 0:
			bytes->len = at;
			break;
		case 1:
			memmove(bytes->at + at, bytes->at + at + 1, rest - 1);
			bytes->len--;
			break;
		case 2:
			if (bytes->len + rest <= HEX_MAX) {
				memcpy(bytes->at + bytes->len, bytes->at + at, rest);
				bytes->len += rest;
			}
			break;
		default:
			bytes->at[at] = octet;
		}
	}
}

static struct text exact_copy(struct text t)
{
	char *copy = malloc(t.len ? t.len : 1);
	if (t.len > 0)
		memcpy(copy, t.ptr, t.len);
	return text_of(copy, t.len);
}

static void check_output(const struct output *output)
{
	ck_assert_int_eq(table_check(output->headers), RC_OK);
	ck_assert_uint_le(output->headers.len, REPLY_HEADERS);
	ck_assert(output->retry_after_ms >= -1);
	ck_assert(output->hard_limit_ms >= -1 && output->hard_limit_ms <= OUTPUT_HARD_LIMIT_MAX);
	if (output->invalid != REASON_NONE)
		return;
	ck_assert_uint_le(output->reply_queue.len, 255);
	ck_assert_uint_le(output->content_type.len, 255);
	ck_assert_uint_le(output->body.len, 100);
}

static void check_copies(struct delivery *delivery, struct output *output)
{
	struct copy_options options = {.queue = TEXT("q"),
		.dead_letter = TEXT("dead"),
		.frame_max = SMALLEST_FRAME,
		.now_s = 1700000000};
	struct buf scratch;
	buf_init(&scratch, 1 << 20);
	for (int kind = PARCEL_REPLY; kind <= PARCEL_REFUSAL; kind++) {
		struct parcel parcel = {.kind = (enum parcel_kind)kind,
			.seq.number = 7,
			.reason = delivery->invalid ? delivery->invalid : REASON_CRASHED,
			.delivery = delivery,
			.output = output};
		struct amqp_publish publish;
		struct properties properties;
		ck_assert_int_eq(copy_build(&parcel, &options, &scratch, &publish), RC_OK);
		ck_assert_uint_le(20 + publish.properties.len, SMALLEST_FRAME);
		ck_assert_int_eq(properties_parse(publish.properties, &properties), RC_OK);
		ck_assert_int_eq(table_check(properties.value[PROPERTY_HEADERS]), RC_OK);
		ck_assert_uint_eq(copy_returned_number(publish.properties), 7);
	}
	buf_release(&scratch);
}

START_TEST(mutated_answers_are_handled)
{
	unsigned seed = 1000u + (unsigned)_i, taken = 0;
	struct answer_limits limits = {REPLY_HEADERS, 100, false};
	struct delivery *delivery =
		delivery_of(&(struct properties){0}, TEXT_NONE, TEXT("old"), 100);
	for (int run = 0; run < RUNS; run++) {
		struct bytes bytes = from_hex(answers[(size_t)rand_r(&seed) % COUNT(answers)]);
		mutate(&bytes, &seed);
		struct text frame = exact_copy(bytes_text(&bytes));
		struct output *output = NULL;
		struct answer_fault fault = {0};
		enum rc rc = answer_read(frame, &limits, &output, &fault);
		free((char *)frame.ptr); /* an output has its own memory */
		if (rc == RC_OK) {
			taken++;
			check_output(output);
			if (output->invalid == REASON_NONE)
				check_copies(delivery, output);
			output_free(output);
		} else {
			ck_assert_int_eq(rc, RC_MALFORMED);
			ck_assert_ptr_nonnull(fault.what);
		}
	}
	ck_assert_uint_gt(taken, RUNS / 20);
	delivery_free(delivery);
}
END_TEST

static void check_task(const struct delivery *delivery, struct task_options options)
{
	struct buf out;
	buf_init(&out, 1 << 20);
	enum rc rc = task_write(delivery, &options, 1, 1000, &out, NULL);
	ck_assert(!out.failed);
	if (rc != RC_OK) {
		ck_assert_int_eq(rc, RC_LIMIT);
		ck_assert_uint_eq(buf_len(&out), 0);
		buf_release(&out);
		return;
	}
	struct text frame = buf_text(&out);
	ck_assert_uint_le(frame.len, options.frame_limit + WIRE_LENGTH_BYTES);
	ck_assert_int_eq(wire_check((const uint8_t *)frame.ptr + WIRE_LENGTH_BYTES,
				 frame.len - WIRE_LENGTH_BYTES),
		WIRE_OK);
	msgpack_unpacked unpacked;
	size_t offset = WIRE_LENGTH_BYTES;
	msgpack_unpacked_init(&unpacked);
	ck_assert_int_eq(msgpack_unpack_next(&unpacked, frame.ptr, frame.len, &offset),
		MSGPACK_UNPACK_SUCCESS);
	ck_assert_uint_eq(offset, frame.len);
	ck_assert_int_eq(unpacked.data.type, MSGPACK_OBJECT_MAP);
	msgpack_unpacked_destroy(&unpacked);
	buf_release(&out);
}

/* The raw properties of a message with one of the tables, changed, then read. */
static struct delivery *mutated_delivery(unsigned *seed)
{
	struct bytes table = from_hex(tables[(size_t)rand_r(seed) % COUNT(tables)]);
	struct properties properties = {0};
	struct buf raw;
	bool early = rand_r(seed) % 2;
	if (early)
		mutate(&table, seed);
	properties_set(&properties, PROPERTY_HEADERS, bytes_text(&table));
	properties_set(&properties, PROPERTY_REPLY_TO, TEXT("answers"));
	properties_set(&properties, PROPERTY_CORRELATION_ID, TEXT("id"));
	properties_set(&properties, PROPERTY_TIMESTAMP, text_of("\0\0\0\0\0\0\1\0", 8));
	buf_init(&raw, SIZE_MAX);
	properties_write(&properties, &raw);
	struct bytes bytes = {.len = buf_len(&raw)};
	memcpy(bytes.at, raw.bytes, bytes.len);
	buf_release(&raw);
	if (!early)
		mutate(&bytes, seed);
	struct delivery *delivery = delivery_new(bytes.len);
	memcpy(delivery->bytes, bytes.at, bytes.len);
	delivery->properties = text_of(delivery->bytes, bytes.len);
	delivery->body = TEXT("b\xff");
	task_read_facts(delivery, &(struct task_facts_options){.body_limit = 100});
	return delivery;
}

START_TEST(mutated_deliveries_are_handled)
{
	unsigned seed = 2000u + (unsigned)_i, fit = 0;
	struct output *output = output_new(0);
	for (int run = 0; run < RUNS; run++) {
		struct delivery *delivery = mutated_delivery(&seed);
		if (delivery->invalid == REASON_NONE) {
			struct task_options options = {
				.body = (enum task_body)(rand_r(&seed) % 3),
				.headers = (enum task_headers)(rand_r(&seed) % 2),
				.properties = rand_r(&seed) % 2,
				.frame_limit = (size_t)rand_r(&seed) % 1000,
				.queue = TEXT("q"),
			};
			fit++;
			check_task(delivery, options);
		}
		check_copies(delivery, output);
		delivery_free(delivery);
	}
	ck_assert_uint_gt(fit, RUNS / 20);
	output_free(output);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("message/mutation");
	TCase *tcase = tcase_create("mutation");
	tcase_add_loop_test(tcase, mutated_answers_are_handled, 0, BLOCKS);
	tcase_add_loop_test(tcase, mutated_deliveries_are_handled, 0, BLOCKS);
	suite_add_tcase(s, tcase);
	return s;
}

UNIT_MAIN(suite)
