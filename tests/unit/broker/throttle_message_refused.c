/* The messages of a shared throttle: what others may have published is refused with a reason. */
#include "unit/support/broker/throttle_messages.h"

#include "core/throttle/throttle.h"
#include "unit/unit.h"

/* ---------- what is refused ---------- */

#define REFUSED " is no number, or out of its range"

/* An element of the array, with the smallest and the largest value that is accepted. */
struct place {
	uint64_t value, min, max;
	const char *why;
};

/* One key of each list. */
static const struct place request_places[] = {
	{1, 1, 1, NULL},
	{0, 0, 0, "it is no request"},
	{5, 1, UINT64_MAX, "its member" REFUSED},
	{6, 1, UINT64_MAX, "its number" REFUSED},
	{100000, 1, 500000, "its lease" REFUSED},
	{7, 0, (UINT64_C(1) << 53) - 1, "its version of the figures" REFUSED},
	{10, 1, 1000000, "its limit" REFUSED},
	{1000000, 500000, UINT64_C(365) * 86400 * 1000000, "its period" REFUSED},
	{8, 0, UINT64_MAX, "its leader" REFUSED},
	{1, 1, 1, "its count of unused keys" REFUSED},
	{1, 1, 1, "its count of keys" REFUSED},
	{9, 0, UINT64_MAX, "an unused key" REFUSED},
	{10, 0, (UINT64_C(1) << 62) - 1, "an unused key's stamp" REFUSED},
	{11, 0, 1000000, "an unused key's starts" REFUSED},
	{12, 0, UINT64_MAX, "a key" REFUSED},
	{13, 0, 1000000, "a key's starts" REFUSED},
	{14, 0, 1000000, "a key's late" REFUSED},
};

static const struct place answer_places[] = {
	{1, 1, 1, NULL},
	{1, 1, 1, "it is no answer"},
	{5, 1, UINT64_MAX, "its leader" REFUSED},
	{5, 1, UINT64_MAX, "its member" REFUSED},
	{6, 1, UINT64_MAX, "its number" REFUSED},
	{7, 0, (UINT64_C(1) << 53) - 1, "its version of the figures" REFUSED},
	{10, 1, 1000000, "its limit" REFUSED},
	{1000000, 500000, UINT64_C(365) * 86400 * 1000000, "its period" REFUSED},
	{10, 0, (UINT64_C(1) << 62) - 1, "its stamp" REFUSED},
	{11, 0, UINT64_MAX, "its in_windows" REFUSED},
	{12, 0, UINT32_MAX, "its keys_known" REFUSED},
	{1, 1, 1, "its count of keys" REFUSED},
	{13, 0, UINT64_MAX, "a key" REFUSED},
	{14, 0, 1000000, "a key's starts" REFUSED},
	{15, 0, UINT64_C(3650) * 86400 * 1000000, "a key's wait" REFUSED},
	{0, 0, 1, "a key's is_unsure" REFUSED},
};

static const struct place leave_places[] = {
	{1, 1, 1, NULL},
	{2, 2, 2, "no leader leaves in it"},
	{5, 1, UINT64_MAX, "its leader" REFUSED},
};

static const struct place take_places[] = {
	{1, 1, 1, NULL},
	{3, 3, 3, "it takes nothing over"},
	{5, 1, UINT64_MAX, "its member" REFUSED},
};

static const struct place handover_places[] = {
	{1, 1, 1, NULL},
	{4, 4, 4, "it hands nothing over"},
	{5, 1, UINT64_MAX, "its leader" REFUSED},
	{5, 1, UINT64_MAX, "its member" REFUSED},
	{7, 0, (UINT64_C(1) << 53) - 1, "its version of the figures" REFUSED},
	{10, 1, 1000000, "its limit" REFUSED},
	{1000000, 500000, UINT64_C(365) * 86400 * 1000000, "its period" REFUSED},
	{10, 0, UINT64_C(365) * 86400 * 1000000, "its sure_for" REFUSED},
	{1, 1, 1, "its count of starts" REFUSED},
	{11, 0, UINT64_MAX, "a key" REFUSED},
	{12, 0, 1000000, "a key's starts" REFUSED},
	{13, 0, UINT64_C(3650) * 86400 * 1000000, "the time of a key's starts" REFUSED},
};

struct kind {
	const struct place *places;
	size_t count;
	const char *(*read)(struct text body);
};

#define PLACES(list) list, sizeof(list) / sizeof *(list)

static const char *read_request(struct text body)
{
	return throttle_request_read(body, &request_again);
}

static const char *read_answer(struct text body)
{
	return throttle_answer_read(body, &answer_again);
}

static const char *read_leave(struct text body)
{
	return throttle_leave_read(body, &id_again);
}

static const char *read_take(struct text body)
{
	return throttle_take_read(body, &id_again);
}

static const char *read_handover(struct text body)
{
	return throttle_handover_read(body, &handover_again);
}

/* By their numbers in a message. */
static const struct kind kinds[] = {{PLACES(request_places), read_request},
	{PLACES(answer_places), read_answer}, {PLACES(leave_places), read_leave},
	{PLACES(take_places), read_take}, {PLACES(handover_places), read_handover}};
#define KINDS (sizeof kinds / sizeof *kinds)

static void append_number(struct buf *out, uint64_t number)
{
	buf_append_byte(out, 0xcf);
	buf_append_be64(out, number);
}

static void append_head(struct buf *out, size_t count)
{
	buf_append_byte(out, 0xdc);
	buf_append_be16(out, (uint16_t)count);
}

/* The reason for a message with other bytes in one place. */
static const char *why_with(const struct kind *kind, size_t place, struct text bytes)
{
	struct buf body;
	const char *why;

	buf_init(&body, THROTTLE_MESSAGE_MAX);
	append_head(&body, kind->count);
	for (size_t i = 0; i < kind->count; i++)
		if (i == place)
			buf_append_text(&body, bytes);
		else
			append_number(&body, kind->places[i].value);
	why = kind->read(buf_text(&body));
	buf_release(&body);
	return why;
}

static const char *why_with_number(const struct kind *kind, size_t place, uint64_t number)
{
	struct buf bytes;
	const char *why;

	buf_init(&bytes, 16);
	append_number(&bytes, number);
	why = why_with(kind, place, buf_text(&bytes));
	buf_release(&bytes);
	return why;
}

/* The counts and the kind fit only as they are: other tests have those. */
START_TEST(what_is_out_of_its_range_is_refused)
{
	const struct kind *kind = &kinds[_i];

	for (size_t i = 2; i < kind->count; i++) {
		const struct place *place = &kind->places[i];
		ck_assert_pstr_eq(why_with_number(kind, i, place->min), NULL);
		ck_assert_pstr_eq(why_with_number(kind, i, place->max), NULL);
		if (place->min == place->max)
			continue;
		if (place->min > 0)
			ck_assert_pstr_eq(why_with_number(kind, i, place->min - 1), place->why);
		if (place->max < UINT64_MAX) {
			ck_assert_pstr_eq(why_with_number(kind, i, place->max + 1), place->why);
			ck_assert_pstr_eq(why_with_number(kind, i, UINT64_MAX), place->why);
		}
	}
}
END_TEST

static const struct text no_numbers[] = {
	TEXT("\xff"),                     /* -1 */
	TEXT("\xd3\x80\0\0\0\0\0\0\0"),   /* INT64_MIN */
	TEXT("\xc0"),                     /* nil */
	TEXT("\xc3"),                     /* true */
	TEXT("\xcb\x3f\xf0\0\0\0\0\0\0"), /* 1.0 */
	TEXT("\xa1\x31"),                 /* "1" */
	TEXT("\xc4\1\1"),                 /* bin */
	TEXT("\xd4\1\1"),                 /* ext */
	TEXT("\x91\1"),                   /* [1] */
	TEXT("\xdd\xff\xff\xff\xff"),     /* an array without its elements */
	TEXT("\xdf\xff\xff\xff\xff"),     /* a map without them */
	TEXT("\xc1"),                     /* never used */
};

START_TEST(what_is_no_number_is_refused)
{
	const struct kind *kind = &kinds[_i];

	for (size_t i = 0; i < kind->count; i++)
		for (size_t j = 0; j < sizeof no_numbers / sizeof *no_numbers; j++)
			ck_assert_pstr_eq(why_with(kind, i, no_numbers[j]),
				i == 0 ? "its version of the protocol is no number"
				       : kind->places[i].why);
}
END_TEST

START_TEST(numbers_of_any_width_are_read)
{
	for (size_t i = 0; i < KINDS; i++) {
		ck_assert_pstr_eq(why_with(&kinds[i], 2, TEXT("\5")), NULL);
		ck_assert_pstr_eq(why_with(&kinds[i], 2, TEXT("\xcc\5")), NULL);
		ck_assert_pstr_eq(why_with(&kinds[i], 2, TEXT("\xcd\0\5")), NULL);
		ck_assert_pstr_eq(why_with(&kinds[i], 2, TEXT("\xce\0\0\0\5")), NULL);
		ck_assert_pstr_eq(why_with(&kinds[i], 2, TEXT("\xd0\5")), NULL);
		ck_assert_pstr_eq(why_with(&kinds[i], 2, TEXT("\xd3\0\0\0\0\0\0\0\5")), NULL);
	}
}
END_TEST

START_TEST(other_versions_are_refused)
{
	for (size_t i = 0; i < KINDS; i++) {
		ck_assert_pstr_eq(
			why_with_number(&kinds[i], 0, 0), "it is of another version of wpool");
		ck_assert_pstr_eq(
			why_with_number(&kinds[i], 0, 2), "it is of another version of wpool");
		ck_assert_pstr_eq(
			kinds[i].read(TEXT("\x91\2")), "it is of another version of wpool");
	}
}
END_TEST

START_TEST(each_kind_is_read_as_itself_alone)
{
	struct buf scratch;
	struct amqp_publish publish;

	buf_init(&scratch, THROTTLE_MESSAGE_MAX);
	fill_answer(1, 1);
	fill_handover(1, 1);
	for (size_t i = 0; i < KINDS; i++) {
		ck_assert_int_eq(write_kind(i, &scratch, &publish), RC_OK);
		ck_assert_uint_eq(throttle_message_kind(publish.body), i);
		for (size_t j = 0; j < KINDS; j++)
			ck_assert_pstr_eq(kinds[j].read(publish.body),
				i == j ? NULL : kinds[j].places[1].why);
		ck_assert_pstr_eq(why_with_number(&kinds[i], 1, KINDS), kinds[i].places[1].why);
	}
	buf_release(&scratch);
}
END_TEST

static const struct {
	struct text body;
	enum throttle_message kind;
} heads[] = {
	{TEXT_NONE, THROTTLE_NO_MESSAGE},
	{TEXT(""), THROTTLE_NO_MESSAGE},
	{TEXT("hello"), THROTTLE_NO_MESSAGE},
	{TEXT("\x93"), THROTTLE_NO_MESSAGE},
	{TEXT("\x93\1"), THROTTLE_NO_MESSAGE},
	{TEXT("\x93\1\xcd\0"), THROTTLE_NO_MESSAGE},
	{TEXT("\x93\1\5"), THROTTLE_NO_MESSAGE},
	{TEXT("\x93\1\6"), THROTTLE_NO_MESSAGE},
	{TEXT("\x93\1\xff"), THROTTLE_NO_MESSAGE},
	{TEXT("\x93\1\xcf\1\0\0\0\0\0\0\2"), THROTTLE_NO_MESSAGE},
	{TEXT("\x93\xa1\x31\2"), THROTTLE_NO_MESSAGE},
	{TEXT("\x83\1\2"), THROTTLE_NO_MESSAGE},
	{TEXT("\x93\1\2"), THROTTLE_LEAVE}, /* only the head is looked at */
	{TEXT("\x93\1\xcd\0\3\0"), THROTTLE_TAKE},
};

START_TEST(the_kind_is_in_the_head)
{
	ck_assert_uint_eq(throttle_message_kind(heads[_i].body), heads[_i].kind);
}
END_TEST

#define COUNTS "its array has another length than its counts require"

START_TEST(counts_that_do_not_fit_are_refused)
{
	const struct {
		size_t kind, place;
		uint64_t count;
		const char *why;
	} cases[] = {
		{0, 9, 0, COUNTS},
		{0, 9, 2, COUNTS},
		{0, 9, REQUEST_KEYS_MAX, COUNTS},
		{0, 9, REQUEST_KEYS_MAX + 1, "its count of unused keys" REFUSED},
		{0, 9, UINT64_C(1) << 32, "its count of unused keys" REFUSED},
		{0, 10, 0, COUNTS},
		{0, 10, 2, COUNTS},
		{0, 10, REQUEST_KEYS_MAX + 1, "its count of keys" REFUSED},
		{0, 10, (UINT64_C(1) << 32) + 1, "its count of keys" REFUSED},
		{1, 11, 0, COUNTS},
		{1, 11, 2, COUNTS},
		{1, 11, REQUEST_KEYS_MAX + 1, "its count of keys" REFUSED},
		{1, 11, (UINT64_C(1) << 32) + 1, "its count of keys" REFUSED},
		{4, 8, 0, COUNTS},
		{4, 8, 2, COUNTS},
		{4, 8, HANDOVER_STARTS_MAX, COUNTS},
		{4, 8, HANDOVER_STARTS_MAX + 1, "its count of starts" REFUSED},
		{4, 8, (UINT64_C(1) << 32) + 1, "its count of starts" REFUSED},
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		ck_assert_pstr_eq(
			why_with_number(&kinds[cases[i].kind], cases[i].place, cases[i].count),
			cases[i].why);
}
END_TEST

static const struct {
	struct text body;
	const char *why;
} bodies[] = {
	{TEXT_NONE, "it ends too early"},
	{TEXT(""), "it ends too early"},
	{TEXT("\x90"), "it ends too early"},
	{TEXT("\xdc\0"), "it ends too early"},
	{TEXT("\x07"), "it is no array of MessagePack"},
	{TEXT("\x81\1\1"), "it is no array of MessagePack"},
	{TEXT("\xc1"), "it is no array of MessagePack"},
	{TEXT("{\"wpool_token\":1}\n"), "it is no array of MessagePack"},
	{TEXT("\x92\1\7"), ""},
};

START_TEST(what_is_no_message_is_refused)
{
	for (size_t i = 0; i < KINDS; i++)
		ck_assert(text_starts(
			text_from(kinds[i].read(bodies[_i].body)), text_from(bodies[_i].why)));
}
END_TEST

START_TEST(what_is_too_large_or_goes_on_is_refused)
{
	static char bytes[THROTTLE_HANDOVER_MAX + 1];
	struct buf scratch;
	struct amqp_publish publish;

	buf_init(&scratch, THROTTLE_MESSAGE_MAX);
	fill_answer(2, 1);
	fill_handover(2, 1);
	for (size_t i = 0; i < KINDS; i++) {
		const struct kind *kind = &kinds[i];
		size_t max = i == THROTTLE_HANDOVER ? THROTTLE_HANDOVER_MAX : THROTTLE_MESSAGE_MAX;
		ck_assert_int_eq(write_kind(i, &scratch, &publish), RC_OK);
		text_copy(bytes, publish.body);
		ck_assert_pstr_eq(kind->read(text_of(bytes, publish.body.len)), NULL);
		ck_assert_pstr_eq(kind->read(text_of(bytes, publish.body.len + 1)),
			"more bytes follow its array");
		ck_assert_pstr_eq(kind->read(text_of(bytes, max)), "more bytes follow its array");
		ck_assert_pstr_eq(kind->read(text_of(bytes, max + 1)), "it is too large");
	}
	buf_release(&scratch);
}
END_TEST

/* The bytes in a block of exactly their size, for tools that see what is read behind it. */
static const char *read_exactly(const struct kind *kind, struct text body)
{
	char *block = malloc(body.len > 0 ? body.len : 1);
	const char *why;

	ck_assert_ptr_nonnull(block);
	why = kind->read(text_copy(block, body));
	free(block);
	return why;
}

START_TEST(what_is_cut_is_refused)
{
	uint32_t keys = fillings[_i].keys < 20 ? fillings[_i].keys : 20;
	struct buf scratch;
	struct amqp_publish publish;

	buf_init(&scratch, THROTTLE_MESSAGE_MAX);
	fill_answer(keys, fillings[_i].number);
	fill_handover(keys, fillings[_i].number);
	fill_request(keys, fillings[_i].number);
	for (size_t i = 0; i < KINDS; i++) {
		ck_assert_int_eq(write_kind(i, &scratch, &publish), RC_OK);
		for (size_t len = 0; len < publish.body.len; len++)
			ck_assert_pstr_eq(read_exactly(&kinds[i], text_of(publish.body.ptr, len)),
				"it ends too early");
	}
	buf_release(&scratch);
}
END_TEST

/* ---------- random damage ---------- */

#define ROUNDS 200000

static uint32_t dice(uint64_t *state, uint32_t sides)
{
	*state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)(*state >> 33) % sides;
}

/* Some other bytes, some more, or some less. */
static size_t damage(char *bytes, size_t len, size_t space, uint64_t *state)
{
	static const uint8_t likely[] = {
		0x00, 0x01, 0x7f, 0x80, 0xc0, 0xcc, 0xcf, 0xd3, 0xdc, 0xff};

	for (uint32_t left = 1 + dice(state, 4); left > 0 && len > 0; left--) {
		size_t at = dice(state, (uint32_t)len);
		uint8_t byte = dice(state, 2) ? likely[dice(state, sizeof likely)]
					      : (uint8_t)dice(state, 256);
		uint32_t what = dice(state, 6);
		if (what == 0) {
			memmove(bytes + at, bytes + at + 1, --len - at);
		} else if (what == 1 && len < space) {
			memmove(bytes + at + 1, bytes + at, len++ - at);
			bytes[at] = (char)byte;
		} else {
			bytes[at] = (char)byte;
		}
	}
	return len;
}

/* What was read. */
static struct text write_again(size_t kind, struct buf *scratch)
{
	struct amqp_publish publish;

	if (kind == THROTTLE_REQUEST)
		request = request_again;
	else if (kind == THROTTLE_ANSWER)
		answer = answer_again;
	else if (kind == THROTTLE_HANDOVER)
		memcpy(&handover, &handover_again,
			offsetof(struct throttle_handover, of) +
				handover_again.count * sizeof *handover.of);
	if (kind == THROTTLE_LEAVE)
		ck_assert_int_eq(
			throttle_leave_write(id_again, 1, TEXT("q"), scratch, &publish), RC_OK);
	else if (kind == THROTTLE_TAKE)
		ck_assert_int_eq(
			throttle_take_write(id_again, TEXT("q"), scratch, &publish), RC_OK);
	else
		ck_assert_int_eq(write_kind(kind, scratch, &publish), RC_OK);
	return publish.body;
}

/* What was accepted can be written, and is the same when it is read again. */
static bool is_written_again(size_t kind, struct buf *scratch)
{
	static char bytes[1024];
	struct text first = text_copy(bytes, write_again(kind, scratch));

	return !kinds[kind].read(first) && text_is(write_again(kind, scratch), first);
}

START_TEST(random_damage_is_refused_or_is_a_message)
{
	const struct kind *kind = &kinds[_i];
	char bytes[1024];
	struct buf original, scratch;
	struct amqp_publish publish;
	uint32_t accepted = 0;

	buf_init(&original, THROTTLE_MESSAGE_MAX);
	buf_init(&scratch, THROTTLE_MESSAGE_MAX);
	fill_answer(3, 1);
	fill_handover(3, 1);
	fill_request(3, 1);
	ck_assert_int_eq(write_kind((size_t)_i, &original, &publish), RC_OK);
	for (unsigned round = 0; round < ROUNDS; round++) {
		uint64_t state = round;
		size_t len = text_copy(bytes, publish.body).len;
		len = damage(bytes, len, sizeof bytes, &state);
		if (read_exactly(kind, text_of(bytes, len)))
			continue;
		accepted++;
		ck_assert_msg(is_written_again((size_t)_i, &scratch), "round %u", round);
	}
	ck_assert(accepted > 0 && accepted < ROUNDS);
	buf_release(&original);
	buf_release(&scratch);
}
END_TEST

static Suite *throttle_message_refused_suite(void)
{
	Suite *suite = suite_create("broker/throttle_message_refused");
	TCase *refused = tcase_create("refused");

	tcase_set_timeout(refused, 60);
	tcase_add_loop_test(refused, what_is_out_of_its_range_is_refused, 0, KINDS);
	tcase_add_loop_test(refused, what_is_no_number_is_refused, 0, KINDS);
	tcase_add_test(refused, numbers_of_any_width_are_read);
	tcase_add_test(refused, other_versions_are_refused);
	tcase_add_test(refused, each_kind_is_read_as_itself_alone);
	tcase_add_loop_test(refused, the_kind_is_in_the_head, 0, sizeof heads / sizeof *heads);
	tcase_add_test(refused, counts_that_do_not_fit_are_refused);
	tcase_add_loop_test(
		refused, what_is_no_message_is_refused, 0, sizeof bodies / sizeof *bodies);
	tcase_add_test(refused, what_is_too_large_or_goes_on_is_refused);
	tcase_add_loop_test(refused, what_is_cut_is_refused, 0, FILLINGS);
	tcase_add_loop_test(refused, random_damage_is_refused_or_is_a_message, 0, KINDS);
	suite_add_tcase(suite, refused);
	return suite;
}

UNIT_MAIN(throttle_message_refused_suite)
