/* The samples answer alike in both languages. SDK_TEST_BUILD names the build folder; run from the
 * project's top. */
#include "sdk/stage.h"
#include "unit/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FIBONACCI, LONG_BATCH, WORD_COUNT, BANK, SAMPLES };

static const char *const samples[][SAMPLES][3] = {
	{{SDK_TEST_BUILD "/samples/fibonacci", NULL}, {SDK_TEST_BUILD "/samples/long_batch", NULL},
		{SDK_TEST_BUILD "/samples/word_count", NULL},
		{SDK_TEST_BUILD "/samples/bank", NULL}},
	{{"/usr/bin/python3", "samples/python/fibonacci.py", NULL},
		{"/usr/bin/python3", "samples/python/long_batch.py", NULL},
		{"/usr/bin/python3", "samples/python/word_count.py", NULL},
		{"/usr/bin/python3", "samples/python/bank.py", NULL}},
};

#define LANGUAGES   ((int)(sizeof samples / sizeof *samples))
#define COUNT(list) (sizeof(list) / sizeof *(list))

static const struct stage_exchange fibonacci[] = {
	{"{\"Value\": 0}", "", "201 '0'"},
	{"{\"Value\": 1}", "", "201 '1'"},
	{"{\"Value\": 20}", "", "201 '6765'"},
	{"{\"Value\": -1}", "", "201 '1'"},
	{"{\"Value\": -8}", "", "201 '-21'"},
	{"{\"Value\": -20}", "", "201 '-6765'"},
	{"{\"Value\": 7, \"Other\": [null]}", "", "201 '13'"},
	{"{\"Value\": 21}", "", "422"},
	{"{\"Value\": -21}", "", "422"},
	{"{\"Value\": 1.0}", "", "400"},
	{"{\"Value\": true}", "", "400"},
	{"{\"Value\": \"1\"}", "", "400"},
	{"{}", "", "400"},
	{"[1]", "", "400"},
	{"", "", "400"},
	{"not json", "", "400"},
	{"\xff\xfe", "", "400"},
};

static const struct stage_exchange long_batch[] = {
	{"{\"TotalCount\": 100, \"BatchExecutedCount\": 100}", "", "201 '5050'"},
	{"{\"TotalCount\": 0, \"BatchExecutedCount\": 1}", "", "201 '0'"},
	{"{\"TotalCount\": 10, \"BatchExecutedCount\": 4}", "TimeoutMilliseconds=60000",
		"201 '{\"TotalCount\": 10, \"BatchExecutedCount\": 4, \"Done\": 4, \"Sum\": 10}' "
		"to "
		"queue TimeoutMilliseconds=60000"},
	{"{\"TotalCount\": 10, \"BatchExecutedCount\": 4, \"Done\": 8, \"Sum\": 36}", "",
		"201 '55'"},
	{"{\"TotalCount\": 10, \"BatchExecutedCount\": 4}", "TimeoutMilliseconds=0",
		"201 '{\"TotalCount\": 10, \"BatchExecutedCount\": 4, \"Done\": 1, \"Sum\": 1}' to "
		"queue TimeoutMilliseconds=0"},
	{"{\"TotalCount\": 4294967295, \"BatchExecutedCount\": 2, \"Done\": 4294967294, "
	 "\"Sum\": 9223372030412324865}",
		"", "201 '9223372034707292160'"},
	{"{\"TotalCount\": 10, \"BatchExecutedCount\": 4, \"Done\": 8, \"Sum\": 35}", "", "422"},
	{"{\"TotalCount\": 10, \"BatchExecutedCount\": 4, \"Done\": 11, \"Sum\": 66}", "", "422"},
	{"{\"TotalCount\": -1, \"BatchExecutedCount\": 4}", "", "422"},
	{"{\"TotalCount\": 4294967296, \"BatchExecutedCount\": 4}", "", "422"},
	{"{\"TotalCount\": 10, \"BatchExecutedCount\": 0}", "", "422"},
	{"{\"TotalCount\": 10}", "", "400"},
	{"{\"TotalCount\": 10, \"BatchExecutedCount\": 4, \"Done\": null}", "", "400"},
	{"[]", "", "400"},
	{"", "", "400"},
};

static const struct stage_exchange word_count[] = {
	{"", "", "201 '{\"words\": 0, \"lines\": 0, \"bytes\": 0}' content-type=application/json"},
	{"one", "",
		"201 '{\"words\": 1, \"lines\": 0, \"bytes\": 3}' content-type=application/json"},
	{" a\tb\nc\vd\fe\rf \n\n", "",
		"201 '{\"words\": 6, \"lines\": 3, \"bytes\": 15}' content-type=application/json"},
	{"na\xc3\xafve\xc2\xa0x \xff\x1c\x1f y", "",
		"201 '{\"words\": 3, \"lines\": 0, \"bytes\": 15}' content-type=application/json"},
};

/* -50 on an empty account is declined; repeats, also of several payments, change nothing. */
static const struct stage_exchange bank[] = {
	{"{\"Number\": 1, \"Amount\": -50}", "session=a-1",
		"201 '{\"Balance\": 0, \"Declined\": true}'"},
	{"{\"Number\": 2, \"Amount\": 100}", "session=a-1",
		"201 '{\"Balance\": 100, \"Declined\": false}'"},
	{"{\"Number\": 1, \"Amount\": 70}", "session=B_2",
		"201 '{\"Balance\": 70, \"Declined\": false}'"},
	{"{\"Number\": 3, \"Amount\": -100}", "session=a-1",
		"201 '{\"Balance\": 0, \"Declined\": false}'"},
	{"{\"Number\": 2, \"Amount\": 100}", "session=a-1",
		"201 '{\"Balance\": 0, \"Declined\": false}'"},
	{"{\"Number\": 3, \"Amount\": -100}", "session=a-1",
		"201 '{\"Balance\": 0, \"Declined\": false}'"},
	{"{\"Number\": 5, \"Amount\": 1}", "session=a-1", "409"},
	{"{\"Number\": 4, \"Amount\": 1000000000000}", "session=a-1",
		"201 '{\"Balance\": 1000000000000, \"Declined\": false}'"},
	{"{\"Number\": 5, \"Amount\": 1000000000001}", "session=a-1", "422"},
	{"{\"Number\": 0, \"Amount\": 1}", "session=a-1", "422"},
	{"{\"Number\": 1, \"Amount\": 1}", "", "422"},
	{"{\"Number\": 1, \"Amount\": 1}", "session=../a", "422"},
	{"{\"Number\": 1, \"Amount\": 1.0}", "session=a-1", "400"},
	{"{\"Number\": 1}", "session=a-1", "400"},
	{"[]", "session=a-1", "400"},
	{"", "session=a-1", "400"},
};

static void exchange_all(const char *const *argv, const struct stage_exchange *cases, size_t count)
{
	struct stage stage;
	stage_open(&stage, STAGE_PATH, argv);
	stage_exchange(&stage, cases, count);
	stage_quit(&stage);
}

START_TEST(fibonacci_answers_calls)
{
	exchange_all(samples[_i][FIBONACCI], fibonacci, COUNT(fibonacci));
}
END_TEST

START_TEST(long_batch_goes_in_slices)
{
	exchange_all(samples[_i][LONG_BATCH], long_batch, COUNT(long_batch));
}
END_TEST

START_TEST(word_count_counts)
{
	exchange_all(samples[_i][WORD_COUNT], word_count, COUNT(word_count));
}
END_TEST

static void expect_account(const char *folder, const char *name, const char *expected)
{
	char path[128], content[64] = "";
	snprintf(path, sizeof path, "%s/%s", folder, name);
	FILE *file = fopen(path, "re");
	ck_assert_msg(file != NULL, "%s", path);
	ck_assert_ptr_nonnull(fgets(content, sizeof content, file));
	fclose(file);
	ck_assert_str_eq(content, expected);
	unlink(path);
}

START_TEST(bank_keeps_accounts)
{
	char folder[] = "/tmp/wpool-bank-XXXXXX";
	ck_assert_ptr_nonnull(mkdtemp(folder));
	setenv("BANK", folder, 1);
	exchange_all(samples[_i][BANK], bank, COUNT(bank));
	expect_account(folder, "a-1", "4 1000000000000\n");
	expect_account(folder, "B_2", "1 70\n");
	ck_assert_int_eq(rmdir(folder), 0);
}
END_TEST

static Suite *sdk_suite(void)
{
	Suite *suite = suite_create("sdk samples");
	TCase *tcase = tcase_create("in both languages");
	tcase_add_loop_test(tcase, fibonacci_answers_calls, 0, LANGUAGES);
	tcase_add_loop_test(tcase, long_batch_goes_in_slices, 0, LANGUAGES);
	tcase_add_loop_test(tcase, word_count_counts, 0, LANGUAGES);
	tcase_add_loop_test(tcase, bank_keeps_accounts, 0, LANGUAGES);
	tcase_set_timeout(tcase, 60);
	suite_add_tcase(suite, tcase);
	return suite;
}

UNIT_MAIN(sdk_suite)
