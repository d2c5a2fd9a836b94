/* The file of a throttle's starts: what was written is read, with the times at which it was on its
 * way at the latest; what is damaged is noticed; a part at the end is left out. */
#include "runtime/throttles/throttle_file.h"
#include "unit/unit.h"

#include <string.h>

#define BOOT_A UINT64_C(0xaaaa)
#define BOOT_B UINT64_C(0xbbbb)

static const struct throttle_file_header header = {
	.generation = 3, .seed = UINT64_C(0x0123456789abcdef), .before = 500};
static struct buf written;
static size_t longest_read, reads_left;

static void set_up(void)
{
	buf_init(&written, SIZE_MAX);
	longest_read = 0;
	reads_left = SIZE_MAX;
	throttle_file_append_header(&written, &header);
}

static void tear_down(void)
{
	buf_release(&written);
}

static void put(struct throttle_file_entry entry)
{
	throttle_file_append(&written, &header, buf_len(&written), &entry);
}

static void put_boot(uint64_t boot, mtime began)
{
	put((struct throttle_file_entry){.kind = THROTTLE_FILE_BOOT, .id = boot, .at = began});
}

static void put_start(uint64_t key, uint32_t starts)
{
	put((struct throttle_file_entry){.kind = THROTTLE_FILE_START, .id = key, .starts = starts});
}

static void put_written(mtime at)
{
	put((struct throttle_file_entry){.kind = THROTTLE_FILE_WRITTEN, .at = at});
}

static bool read_written(void *ctx, uint64_t offset, void *ret_bytes, size_t len)
{
	ck_assert_ptr_eq(ctx, &written);
	ck_assert_uint_le(offset + len, buf_len(&written));
	if (reads_left == 0)
		return false;
	reads_left--;
	longest_read = len > longest_read ? len : longest_read;
	memcpy(ret_bytes, buf_text(&written).ptr + offset, len);
	return true;
}

static enum rc read_file(size_t size, struct throttle_file *ret)
{
	struct throttle_file_source source = {.read = read_written, .ctx = &written, .size = size};
	return throttle_file_read(&source, ret);
}

static struct throttle_file read_back(void)
{
	struct throttle_file file;
	ck_assert_int_eq(read_file(buf_len(&written), &file), RC_OK);
	return file;
}

/* ---------- what is replayed ---------- */

struct start {
	uint64_t key;
	uint32_t starts;
	mtime at;
};

static struct start replayed[20];
static size_t replayed_count;

static void on_starts(void *ctx, uint64_t key, uint32_t starts, mtime at)
{
	ck_assert_ptr_eq(ctx, &written);
	replayed[replayed_count++] = (struct start){key, starts, at};
}

static void expect_replay(mtime unwritten_at, const struct start *expected, size_t count)
{
	struct throttle_file file = read_back();
	replayed_count = 0;
	ck_assert(throttle_file_replay(&file, unwritten_at, on_starts, &written));
	ck_assert_uint_eq(replayed_count, count);
	for (size_t i = 0; i < count; i++) {
		ck_assert_uint_eq(replayed[i].key, expected[i].key);
		ck_assert_uint_eq(replayed[i].starts, expected[i].starts);
		ck_assert_int_eq(replayed[i].at, expected[i].at);
	}
}

#define EXPECT_REPLAY(unwritten_at, ...)                                                           \
	do {                                                                                       \
		const struct start expected[] = {__VA_ARGS__};                                     \
		expect_replay(unwritten_at, expected, sizeof expected / sizeof *expected);         \
	} while (0)

START_TEST(starts_have_the_time_at_which_they_were_written)
{
	put_boot(BOOT_A, 100);
	struct throttle_file file = read_back();
	ck_assert_uint_eq(file.header.generation, 3);
	ck_assert_uint_eq(file.header.seed, header.seed);
	ck_assert_int_eq(file.header.before, 500);
	ck_assert_uint_eq(file.boot, BOOT_A);
	ck_assert_int_eq(file.boot_began, 100);
	ck_assert_int_eq(file.latest, 500);
	ck_assert(!file.has_unwritten);
	expect_replay(0, NULL, 0);

	put_start(7, 2);
	put_start(UINT64_MAX, 1);
	ck_assert(read_back().has_unwritten);
	EXPECT_REPLAY(999, {7, 2, 999}, {UINT64_MAX, 1, 999});
	put_written(600);
	put_start(0, 0xffffff);
	put_written(600);
	put_written(700);
	put_start(7, 1);
	EXPECT_REPLAY(999, {7, 2, 600}, {UINT64_MAX, 1, 600}, {0, 0xffffff, 600}, {7, 1, 999});
	file = read_back();
	ck_assert_int_eq(file.latest, 700);
	ck_assert(file.has_unwritten);
	ck_assert_uint_eq(file.size, buf_len(&written));
}
END_TEST

/* It goes on where the other one ended, after 550 of its own. */
START_TEST(time_goes_on_in_another_boot)
{
	put_boot(BOOT_A, 100);
	put_start(7, 1);
	put_written(600);
	put_boot(BOOT_B, 50);
	struct throttle_file file = read_back();
	ck_assert_uint_eq(file.boot, BOOT_B);
	ck_assert_int_eq(file.boot_began, 50);
	ck_assert_int_eq(file.latest, 600);
	ck_assert(!file.has_unwritten);
	put_start(9, 1);
	put_written(601);
	put_start(8, 1);
	file = read_back();
	ck_assert_int_eq(file.boot_began, 50);
	ck_assert_int_eq(file.latest, 601);
	EXPECT_REPLAY(999, {7, 1, 600}, {9, 1, 601}, {8, 1, 999});
}
END_TEST

/* ---------- files larger than the memory ---------- */

#define TURNS 1000
#define MANY  500 /* keys in one turn: more than one piece has */

static struct start counted;

static void count_starts(void *ctx, uint64_t key, uint32_t starts, mtime at)
{
	(void)ctx;
	ck_assert_int_ge(at, counted.at);
	counted = (struct start){counted.key + key, counted.starts + starts, at};
}

static void put_turns(void)
{
	put_boot(BOOT_A, 100);
	for (int turn = 0; turn < TURNS; turn++) {
		put_start(1, 2);
		put_written(600 + turn);
	}
	for (uint64_t key = 1; key <= MANY; key++)
		put_start(key, 1);
}

START_TEST(a_large_file_is_read_in_small_pieces)
{
	put_turns();
	struct throttle_file file = read_back();
	counted = (struct start){0};
	ck_assert(throttle_file_replay(&file, 5000, count_starts, NULL));
	ck_assert_uint_eq(counted.key, TURNS + MANY * (MANY + 1) / 2);
	ck_assert_uint_eq(counted.starts, 2 * TURNS + MANY);
	ck_assert_int_eq(counted.at, 5000);
	ck_assert_uint_le(longest_read, 4096);
}
END_TEST

/* Wherever it ends: before, or among the starts that are replayed. */
START_TEST(what_cannot_be_read_is_noticed)
{
	put_turns();
	struct throttle_file file = read_back();
	size_t reads = 0;
	for (bool is_read = false; !is_read; reads++) {
		counted = (struct start){0};
		reads_left = reads;
		is_read = throttle_file_replay(&file, 5000, count_starts, NULL);
		ck_assert(is_read == (counted.starts == 2 * TURNS + MANY));
	}
	ck_assert_uint_gt(reads, 10);
	for (size_t i = 0; i < 10; i++) {
		reads_left = i;
		ck_assert_int_eq(read_file(buf_len(&written), &file), RC_MALFORMED);
	}
}
END_TEST

/* ---------- what is not as it was written ---------- */

static enum rc read_part(size_t len)
{
	struct throttle_file file = {.latest = -7};
	enum rc rc = read_file(len, &file);
	size_t whole = THROTTLE_FILE_HEADER;
	while (whole + THROTTLE_FILE_ENTRY <= len)
		whole += THROTTLE_FILE_ENTRY;
	if (rc == RC_OK)
		ck_assert_uint_eq(file.size, whole);
	else
		ck_assert_int_eq(file.latest, -7);
	return rc;
}

START_TEST(a_part_of_an_entry_at_the_end_is_left_out)
{
	put_boot(BOOT_A, 100);
	put_start(7, 1);
	put_written(600);
	ck_assert_int_eq(read_part(0), RC_NOT_FOUND);
	for (size_t len = 1; len < THROTTLE_FILE_HEADER + THROTTLE_FILE_ENTRY; len++)
		ck_assert_int_eq(read_part(len), RC_MALFORMED);
	for (size_t len = THROTTLE_FILE_HEADER + THROTTLE_FILE_ENTRY; len <= buf_len(&written);
		len++)
		ck_assert_int_eq(read_part(len), RC_OK);
}
END_TEST

START_TEST(each_changed_bit_is_noticed)
{
	put_boot(BOOT_A, 100);
	put_start(7, 1);
	put_written(600);
	struct throttle_file file;
	uint8_t *bytes = written.bytes + written.head;
	for (size_t bit = 0; bit < 8 * buf_len(&written); bit++) {
		bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
		ck_assert_int_eq(read_file(buf_len(&written), &file), RC_MALFORMED);
		bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
	}
	(void)read_back();
}
END_TEST

/* As a file system may leave it after a power cut: older blocks, in other places. */
START_TEST(an_entry_in_another_place_or_of_another_generation_is_noticed)
{
	struct throttle_file_header older = header;
	struct throttle_file file;
	put_boot(BOOT_A, 100);
	put_written(600);
	size_t before = buf_len(&written);
	struct throttle_file_entry entry = {.kind = THROTTLE_FILE_START, .id = 7, .starts = 1};
	throttle_file_append(&written, &header, before + THROTTLE_FILE_ENTRY, &entry);
	ck_assert_int_eq(read_file(buf_len(&written), &file), RC_MALFORMED);
	buf_truncate(&written, before);
	older.generation--;
	throttle_file_append(&written, &older, before, &entry);
	ck_assert_int_eq(read_file(buf_len(&written), &file), RC_MALFORMED);
	buf_truncate(&written, before);
	throttle_file_append(&written, &header, before, &entry);
	ck_assert_int_eq(read_file(buf_len(&written), &file), RC_OK);
}
END_TEST

static const struct senseless {
	const char *what;
	struct throttle_file_entry entries[3];
} senseless[] = {
	{"no boot", {{THROTTLE_FILE_START, 1, 7, 0}}},
	{"no boot", {{THROTTLE_FILE_WRITTEN, 0, 0, 600}}},
	{"an unknown kind", {{THROTTLE_FILE_BOOT, 0, BOOT_A, 100}, {4, 0, 0, 600}}},
	{"no kind", {{THROTTLE_FILE_BOOT, 0, BOOT_A, 100}, {0, 0, 0, 600}}},
	{"no starts", {{THROTTLE_FILE_BOOT, 0, BOOT_A, 100}, {THROTTLE_FILE_START, 0, 7, 0}}},
	{"time goes back",
		{{THROTTLE_FILE_BOOT, 0, BOOT_A, 100}, {THROTTLE_FILE_WRITTEN, 0, 0, 499}}},
	{"a boot later than what it goes on with",
		{{THROTTLE_FILE_BOOT, 0, BOOT_A, 100}, {THROTTLE_FILE_BOOT, 0, BOOT_B, 501}}},
	{"starts without a time before a boot",
		{{THROTTLE_FILE_BOOT, 0, BOOT_A, 100}, {THROTTLE_FILE_START, 1, 7, 0},
			{THROTTLE_FILE_BOOT, 0, BOOT_B, 500}}},
	{"time goes back",
		{{THROTTLE_FILE_BOOT, 0, BOOT_A, 100}, {THROTTLE_FILE_WRITTEN, 0, 0, 900},
			{THROTTLE_FILE_WRITTEN, 0, 0, 899}}},
};

START_TEST(what_makes_no_sense_is_noticed)
{
	const struct senseless *trial = &senseless[_i];
	struct throttle_file file;
	for (size_t i = 0; i < 3 && (i == 0 || trial->entries[i].at || trial->entries[i].id); i++)
		put(trial->entries[i]);
	ck_assert_msg(
		read_file(buf_len(&written), &file) == RC_MALFORMED, "%d: %s", _i, trial->what);
}
END_TEST

static Suite *throttle_file_suite(void)
{
	Suite *suite = suite_create("runtime/throttle_file");
	TCase *tcase = tcase_create("bytes");
	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_test(tcase, starts_have_the_time_at_which_they_were_written);
	tcase_add_test(tcase, time_goes_on_in_another_boot);
	tcase_add_test(tcase, a_large_file_is_read_in_small_pieces);
	tcase_add_test(tcase, what_cannot_be_read_is_noticed);
	tcase_add_test(tcase, a_part_of_an_entry_at_the_end_is_left_out);
	tcase_add_test(tcase, each_changed_bit_is_noticed);
	tcase_add_test(tcase, an_entry_in_another_place_or_of_another_generation_is_noticed);
	tcase_add_loop_test(tcase, what_makes_no_sense_is_noticed, 0,
		(int)(sizeof senseless / sizeof *senseless));
	suite_add_tcase(suite, tcase);
	return suite;
}

UNIT_MAIN(throttle_file_suite)
