/* The sample that waits for HTTP, against a server of our own. SDK_TEST_BUILD names the build
 * folder; run from the project's top. */
#include "sdk/http_stub.h"
#include "sdk/stage.h"
#include "unit/unit.h"

#include <stdio.h>
#include <string.h>

#define MANY        200
#define URL_MAX     128
#define COUNT(list) (sizeof(list) / sizeof *(list))

static const char *const samples[][3] = {
	{SDK_TEST_BUILD "/samples/fetch", NULL},
	{"/usr/bin/python3", "samples/python/fetch.py", NULL},
};

struct rig {
	struct http_stub stub;
	struct stage stage;
};

/* A proxy of this machine has no place in the tests. */
static void open_worker(struct rig *rig, const char *const *argv, const char *concurrency)
{
	setenv("WPOOL_CONCURRENCY", concurrency, 1);
	setenv("no_proxy", "*", 1);
	http_stub_start(&rig->stub, MANY);
	stage_open(&rig->stage, STAGE_PATH, argv);
}

static void open_rig(struct rig *rig, int number, const char *concurrency)
{
	open_worker(rig, samples[number], concurrency);
}

static void close_rig(struct rig *rig)
{
	stage_quit(&rig->stage);
	http_stub_stop(&rig->stub);
}

static const char *url_of(const struct rig *rig, const char *path)
{
	static char url[URL_MAX];
	snprintf(url, sizeof url, "http://127.0.0.1:%d%s", rig->stub.port, path);
	return url;
}

/* A path is one of the server's, anything else the body of a task. */
static const struct stage_exchange exchanges[] = {
	{"/hello", "", "201 'hello'"},
	{"/moved", "", "201 'hello'"},
	{"/missing", "", "404"},
	{"/broken", "", "502"},
	{"/cut", "", "502"},
	{"/large", "", "413"},
	{"/hang", "TimeoutMilliseconds=50", "504"},
	{"/hello", "TimeoutMilliseconds=60000", "201 'hello'"},
	{"http://127.0.0.1:1/", "", "502"},
	{"", "", "400"},
	{"not a url", "", "400"},
	{"http://", "", "400"},
	{"file:///etc/passwd", "", "400"},
	{"\xff\xfe", "", "400"},
};

START_TEST(each_answer_follows_from_the_transfer)
{
	struct rig rig;
	open_rig(&rig, _i, "1");
	for (size_t i = 0; i < COUNT(exchanges); i++) {
		struct stage_exchange one = exchanges[i];
		if (*one.body == '/')
			one.body = url_of(&rig, one.body);
		stage_exchange(&rig.stage, &one, 1);
	}
	close_rig(&rig);
}
END_TEST

/* The server answers none of them before it has all. */
START_TEST(many_transfers_are_open_at_once)
{
	struct rig rig;
	bool has_come[MANY] = {false};
	open_rig(&rig, _i, "200");
	for (unsigned i = 0; i < MANY; i++)
		stage_send_id(&rig.stage, 1 + i, url_of(&rig, "/together"));
	for (unsigned i = 0; i < MANY; i++) {
		unsigned id = 0;
		const char *output = stage_read(&rig.stage);
		ck_assert_msg(sscanf(output, "201 'together' #%u", &id) == 1, "%s", output);
		ck_assert(id >= 1 && id <= MANY && !has_come[id - 1]);
		has_come[id - 1] = true;
	}
	close_rig(&rig);
}
END_TEST

START_TEST(a_cancelled_transfer_ends)
{
	struct rig rig;
	open_rig(&rig, _i, "200");
	for (unsigned i = 1; i <= 10; i++)
		stage_send_id(&rig.stage, i, url_of(&rig, "/hang"));
	stage_send_id(&rig.stage, 11, url_of(&rig, "/hello"));
	ck_assert_str_eq(stage_read(&rig.stage), "201 'hello' #11");
	stage_request(&rig.stage, "__cancel__", 7);
	ck_assert_str_eq(stage_read(&rig.stage), "500 #7");
	for (unsigned i = 1; i <= 10; i++)
		stage_request(&rig.stage, "__cancel__", i);
	for (unsigned i = 1; i < 10; i++)
		ck_assert_int_eq(strncmp(stage_read(&rig.stage), "500 #", 5), 0);
	close_rig(&rig);
}
END_TEST

/* Nothing listens there: a shorter one would be answered 502. */
START_TEST(a_url_without_end_is_bad)
{
	static char url[(1 << 20) + 2] = "http://127.0.0.1:1/";
	struct rig rig;
	memset(url + strlen(url), 'x', sizeof url - 1 - strlen(url));
	open_worker(&rig, samples[0], "200");
	stage_send_id(&rig.stage, 1, url);
	ck_assert_str_eq(stage_read(&rig.stage), "400 #1");
	close_rig(&rig);
}
END_TEST

static const char *const calls[] = {"curl_easy_setopt", "curl_multi_add_handle", "wpool_reply"};

/* The one task has failed, and the next one not. */
START_TEST(a_call_that_fails_fails_its_task)
{
	static const char *const failing[] = {SDK_TEST_BUILD "/sdk/failing_fetch", NULL};
	struct rig rig;
	setenv("FAILING_CALL", calls[_i], 1);
	open_worker(&rig, failing, "200");
	stage_send_id(&rig.stage, 1, url_of(&rig, "/hello"));
	ck_assert_str_eq(stage_read(&rig.stage), "500 #1");
	stage_send_id(&rig.stage, 2, url_of(&rig, "/hello"));
	ck_assert_str_eq(stage_read(&rig.stage), "201 'hello' #2");
	close_rig(&rig);
}
END_TEST

static Suite *fetch_suite(void)
{
	Suite *suite = suite_create("sdk fetch");
	TCase *tcase = tcase_create("in each language");
	int languages = (int)COUNT(samples);
	tcase_add_loop_test(tcase, each_answer_follows_from_the_transfer, 0, languages);
	tcase_add_loop_test(tcase, many_transfers_are_open_at_once, 0, languages);
	tcase_add_loop_test(tcase, a_cancelled_transfer_ends, 0, languages);
	tcase_set_timeout(tcase, 60);
	suite_add_tcase(suite, tcase);
	tcase = tcase_create("in C");
	tcase_add_test(tcase, a_url_without_end_is_bad);
	tcase_add_loop_test(tcase, a_call_that_fails_fails_its_task, 0, (int)COUNT(calls));
	tcase_set_timeout(tcase, 60);
	suite_add_tcase(suite, tcase);
	return suite;
}

UNIT_MAIN(fetch_suite)
