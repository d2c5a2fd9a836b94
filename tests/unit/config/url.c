/* Addresses: what each part comes to, what is refused, and that no refusal tells a secret. */
#include "unit/support/config/loading.h"

#include <stdio.h>

static struct broker_url url;
static char problem[256];

static void good(const char *string)
{
	enum rc rc = broker_url_parse(string, &url, problem, sizeof problem);
	ck_assert_msg(rc == RC_OK, "%s: %s", string, rc == RC_MALFORMED ? problem : rc_text(rc));
}

struct good_case {
	const char *string, *host;
	unsigned port;
	const char *user, *password, *vhost;
	bool tls;
};

/* The first part is appendix A of RabbitMQ's URI specification; where it says "absent", our default
 * stands, and the empty vhost of "amqp://host/" is "/". */
static const struct good_case good_cases[] = {
	{"amqp://user:pass@host:10000/vhost", "host", 10000, "user", "pass", "vhost", false},
	{"amqp://user%61:%61pass@ho%61st:10000/v%2fhost", "hoast", 10000, "usera", "apass",
		"v/host", false},
	{"amqp://", "localhost", 5672, "guest", "guest", "/", false},
	{"amqp://:@/", "localhost", 5672, "", "", "/", false},
	{"amqp://user@", "localhost", 5672, "user", "guest", "/", false},
	{"amqp://user:pass@", "localhost", 5672, "user", "pass", "/", false},
	{"amqp://host", "host", 5672, "guest", "guest", "/", false},
	{"amqp://:10000", "localhost", 10000, "guest", "guest", "/", false},
	{"amqp:///vhost", "localhost", 5672, "guest", "guest", "vhost", false},
	{"amqp://host/", "host", 5672, "guest", "guest", "/", false},
	{"amqp://host/%2f", "host", 5672, "guest", "guest", "/", false},
	{"amqp://[::1]", "::1", 5672, "guest", "guest", "/", false},
	{"amqp://[fe80::1%25eth0]:1/v", "fe80::1%eth0", 1, "guest", "guest", "v", false},
	{"AMQPS://a.b-c_d:65535?", "a.b-c_d", 65535, "guest", "guest", "/", true},
	{"amqps://host", "host", 5671, "guest", "guest", "/", true},
	{"amqp://host:/v", "host", 5672, "guest", "guest", "v", false},
	{"amqp://u:a:b@host", "host", 5672, "u", "a:b", "/", false},
	{"amqp://u:%40%2F%3f%23%25%20%C3%A9@127.0.0.1", "127.0.0.1", 5672, "u", "@/?#% \xc3\xa9",
		"/", false},
	{"amqp://u:!$&'()*+,;=-._~@h", "h", 5672, "u", "!$&'()*+,;=-._~", "/", false},
};

START_TEST(test_good)
{
	for (size_t i = 0; i < sizeof good_cases / sizeof *good_cases; i++) {
		const struct good_case *c = &good_cases[i];
		good(c->string);
		ck_assert_str_eq(url.host, c->host);
		ck_assert_uint_eq(url.port, c->port);
		ck_assert_str_eq(url.user, c->user);
		ck_assert_str_eq(url.password, c->password);
		ck_assert_str_eq(url.vhost, c->vhost);
		ck_assert(url.tls == c->tls);
		ck_assert(url.verify && !url.external && url.heartbeat_s == -1);
		ck_assert(url.connection_timeout == 0 && !url.cacertfile && !url.server_name);
		broker_url_release(&url);
	}
}
END_TEST

START_TEST(test_options)
{
	good("amqps://host/v?heartbeat=5&connection_timeout=1500&cacertfile=/a%20b/ca.pem"
	     "&certfile=c&keyfile=/k&verify=verify_none&server_name_indication=rabbit.example"
	     "&auth_mechanism=external");
	ck_assert_int_eq(url.heartbeat_s, 5);
	ck_assert_int_eq(url.connection_timeout, 1500 * MTIME_MS);
	ck_assert_str_eq(url.cacertfile, "/a b/ca.pem");
	ck_assert_str_eq(url.certfile, "c");
	ck_assert_str_eq(url.keyfile, "/k");
	ck_assert_str_eq(url.server_name, "rabbit.example");
	ck_assert(!url.verify && url.external);
	broker_url_release(&url);
	good("amqps://host?verify=verify_peer&auth_mechanism=plain&heartbeat=0");
	ck_assert(url.verify && !url.external && url.heartbeat_s == 0);
	broker_url_release(&url);
	good("amqp://host?&heartbeat=65535&");
	ck_assert_int_eq(url.heartbeat_s, 65535);
	broker_url_release(&url);
}
END_TEST

static const char *const bad_cases[][2] = {
	{"", "amqp:// or amqps://"},
	{"http://host", "amqp:// or amqps://"},
	{"amqp:/host", "amqp:// or amqps://"},
	{"amqp://ho st", "percent-encoded"},
	{"amqp://host\n", "percent-encoded"},
	{"amqp://u:s#cret@host", "%23"},
	{"amqp://u:s@cret@host", "%40"},
	{"amqp://u:s/cret@host", "%2f"},
	{"amqp://u:s?cret@host", "%3f"},
	{"amqp://u:s/cret", "port must be a number from 1 to 65535"},
	{"amqp://u:s%zzcret@host", "%25"},
	{"amqp://u:secret%2@host", "%25"},
	{"amqp://u:secret%@host", "%25"},
	{"amqp://u:secret%00@host", "NUL"},
	{"amqp://host:0", "1 to 65535"},
	{"amqp://host:65536", "1 to 65535"},
	{"amqp://host:5672x", "1 to 65535"},
	{"amqp://host:+1", "1 to 65535"},
	{"amqp://host:99999999999999999999", "1 to 65535"},
	{"amqp://::1", "1 to 65535"},
	{"amqp://[::1", "[address]"},
	{"amqp://[::1]5672", "[address]"},
	{"amqp://[]", "IPv6"},
	{"amqp://[1.2.3.4]", "IPv6"},
	{"amqp://[::g]", "IPv6"},
	{"amqp://ho!st", "host must be"},
	{"amqp://%2f", "host must be"},
	{"amqp://host/a/b", "%2f"},
	{"amqp://host?hartbeat=5", "nearest is heartbeat"},
	{"amqp://host?secret", "there are heartbeat"},
	{"amqp://host?heartbeat", "0 to 65535"},
	{"amqp://host?heartbeat=65536", "0 to 65535"},
	{"amqp://host?heartbeat=5s", "0 to 65535"},
	{"amqp://host?heartbeat=1&heartbeat=1", "twice"},
	{"amqp://host?connection_timeout=0", "milliseconds"},
	{"amqp://host?verify=verify_peer", "amqps"},
	{"amqps://host?verify=yes", "verify_peer or verify_none"},
	{"amqps://host?auth_mechanism=secret", "plain or external"},
	{"amqps://host?cacertfile=", "no value"},
	{"amqps://host?keyfile=k", "certfile"},
};

START_TEST(test_bad)
{
	for (size_t i = 0; i < sizeof bad_cases / sizeof *bad_cases; i++) {
		enum rc rc = broker_url_parse(bad_cases[i][0], &url, problem, sizeof problem);
		ck_assert_msg(rc == RC_MALFORMED, "%s", bad_cases[i][0]);
		ck_assert_msg(strstr(problem, bad_cases[i][1]), "%s: %s", bad_cases[i][0], problem);
		ck_assert_msg(!strstr(problem, "cret"), "%s: %s", bad_cases[i][0], problem);
		ck_assert_uint_lt(strlen(problem), sizeof problem - 1);
	}
}
END_TEST

START_TEST(test_lengths)
{
	static char string[6000];
	static const struct {
		const char *before, *after;
		size_t max;
	} cases[] = {
		{"amqp://", "", 253},
		{"amqp://host/", "", 255},
		{"amqp://", "@host", 1024},
		{"amqp://u:", "@host", 1024},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char filler[1100];
		memset(filler, 'x', sizeof filler);
		for (size_t more = 0; more < 2; more++) {
			snprintf(string, sizeof string, "%s%.*s%s", cases[i].before,
				(int)(cases[i].max + more), filler, cases[i].after);
			enum rc rc = broker_url_parse(string, &url, problem, sizeof problem);
			ck_assert_int_eq(rc, more ? RC_MALFORMED : RC_OK);
			if (rc == RC_OK)
				broker_url_release(&url);
		}
	}
	memset(string, 'x', 5000);
	string[5000] = '\0';
	ck_assert_int_eq(broker_url_parse(string, &url, problem, sizeof problem), RC_MALFORMED);
}
END_TEST

/* What is printed parses again, to the same but the password. */
START_TEST(test_print)
{
	static const char *const cases[][3] = {
		{"amqp://", "amqp://guest:***@localhost:5672/%2f", "amqp://localhost:5672/%2f"},
		{"amqps://u%40:secret@[::1]/a%2fb%20", "amqps://u%40:***@[::1]:5671/a%2fb%20",
			"amqps://[::1]:5671/a%2fb%20"},
		{"amqps://h?heartbeat=3&connection_timeout=7&cacertfile=/a%26&certfile=b&keyfile=c"
		 "&verify=verify_none&server_name_indication=d&auth_mechanism=external",
			"amqps://guest:***@h:5671/%2f?heartbeat=3&connection_timeout=7&cacertfile="
			"/a%26&certfile=b&keyfile=c&verify=verify_none&server_name_indication=d"
			"&auth_mechanism=external",
			"amqps://h:5671/%2f"},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char shown[200], string[400];
		struct buf out;
		buf_init(&out, 1000);
		good(cases[i][0]);
		broker_url_print(&url, &out);
		ck_assert_str_eq(broker_url_shown(&url, shown, sizeof shown), cases[i][2]);
		snprintf(string, sizeof string, "%.*s", TEXT_ARGS(buf_text(&out)));
		ck_assert_str_eq(string, cases[i][1]);
		broker_url_release(&url);
		good(string);
		buf_clear(&out);
		broker_url_print(&url, &out);
		ck_assert(text_is(buf_text(&out), text_from(string)));
		broker_url_release(&url);
		buf_release(&out);
	}
}
END_TEST

/* ---------- from flag and environment ---------- */

struct broker_case {
	const char *flag;
	const char *environment[8];
	const char *expected; /* printed, with blanks between; or the problem */
	enum rc rc;
};

static const struct broker_case broker_cases[] = {
	{NULL, {NULL}, "amqp://guest:***@localhost:5672/%2f", RC_OK},
	{"amqp://a,amqp://b", {"AMQP_URL=amqp://c"},
		"amqp://guest:***@a:5672/%2f amqp://guest:***@b:5672/%2f", RC_OK},
	{NULL, {"AMQP_URL=amqp://c , amqps://d", "RABBITMQ_HOSTNAME="},
		"amqp://guest:***@c:5672/%2f amqps://guest:***@d:5671/%2f", RC_OK},
	{NULL,
		{"AMQP_URL=", "RABBITMQ_HOSTNAME=e", "RABBITMQ_PORT=7", "RABBITMQ_USERNAME=u/",
			"RABBITMQ_PASSWORD=p", "RABBITMQ_VHOST=v@"},
		"amqp://u%2f:***@e:7/v%40", RC_OK},
	{NULL, {"RABBITMQ_HOSTNAME=e", "USERNAME=u", "PASSWORD=p"}, "amqp://u:***@e:5672/%2f",
		RC_OK},
	{NULL, {"RABBITMQ_HOSTNAME=e", "USERNAME=u", "RABBITMQ_USERNAME=v"},
		"amqp://v:***@e:5672/%2f", RC_OK},
	{NULL, {"USERNAME=u", "PASSWORD=p", "RABBITMQ_USER=x"},
		"amqp://guest:***@localhost:5672/%2f", RC_OK},
	{NULL, {"RABBITMQ_VHOST=v"}, "amqp://guest:***@localhost:5672/v", RC_OK},
	{NULL, {"RABBITMQ_HOSTNAME=::1"}, "amqp://guest:***@[::1]:5672/%2f", RC_OK},
	{NULL, {"RABBITMQ_HOSTNAME=e", "RABBITMQ_PORT=tcp://10.0.0.1:77"},
		"amqp://guest:***@e:77/%2f", RC_OK},
	{NULL, {"RABBITMQ_PORT=tcp://10.0.0.1:77"}, "amqp://guest:***@localhost:5672/%2f", RC_OK},
	{NULL, {"RABBITMQ_PORT=tcp://"}, "amqp://guest:***@localhost:5672/%2f", RC_OK},
	{NULL, {"RABBITMQ_HOSTNAME=e", "RABBITMQ_PORT=tcp://"},
		"RABBITMQ_PORT: \"***\" is not a port; a number from 1 to 65535 is needed\n",
		RC_MALFORMED},
	{NULL, {"RABBITMQ_PORT=0"},
		"RABBITMQ_PORT: \"0\" is not a port; a number from 1 to 65535 is needed\n",
		RC_MALFORMED},
	{NULL, {"AMQP_URL=secret"},
		"AMQP_URL: the value is not an address: the address must begin with amqp:// or "
		"amqps://\n",
		RC_MALFORMED},
	{"amqp://a,", {NULL},
		"--broker: the value is not an address: the address must begin with amqp:// or "
		"amqps://\n",
		RC_REFUSED},
	{NULL, {"RABBITMQ_HOSTNAME=e", "AMQP_URL=amqp://h"},
		"RABBITMQ_HOSTNAME has no effect, because AMQP_URL is set\n"
		"amqp://guest:***@h:5672/%2f",
		RC_OK},
	{NULL, {"RABBITMQ_HOSTNAME=h\xb4"},
		"RABBITMQ_HOSTNAME: \"h?\" is not a host; a name or an address is needed\n",
		RC_MALFORMED},
	{NULL, {"RABBITMQ_HOSTNAME=amqp://u:secret@h"},
		"RABBITMQ_HOSTNAME: \"***\" is not a host; a name or an address is needed\n",
		RC_MALFORMED},
	{NULL, {"RABBITMQ_HOSTNAME=e:77/v"},
		"RABBITMQ_HOSTNAME: \"e:77/v\" is not a host; a name or an address is needed\n",
		RC_MALFORMED},
	{NULL,
		{"AMQP_URL=amqp://h", "RABBITMQ_PORT=7", "RABBITMQ_USERNAME=secret",
			"RABBITMQ_PASSWORD=secret", "RABBITMQ_VHOST=", "PASSWORD=secret"},
		"RABBITMQ_PORT has no effect, because AMQP_URL is set\n"
		"RABBITMQ_USERNAME has no effect, because AMQP_URL is set\n"
		"RABBITMQ_PASSWORD has no effect, because AMQP_URL is set\n"
		"amqp://guest:***@h:5672/%2f",
		RC_OK},
	{NULL,
		{"AMQP_URL=amqp://h", "RABBITMQ_PORT=tcp://10.0.0.1:77",
			"RABBITMQ_SERVICE_HOST=10.0.0.1"},
		"amqp://guest:***@h:5672/%2f", RC_OK},
	{"amqp://f", {"RABBITMQ_HOSTNAME=e", "AMQP_URL=amqp://h"}, "amqp://guest:***@f:5672/%2f",
		RC_OK},
};

START_TEST(test_load_broker)
{
	const struct broker_case *c = &broker_cases[_i];
	struct broker_url *urls;
	size_t count = 0;
	struct problems problems = {0};
	struct buf out;
	buf_init(&out, 10000);
	enum rc rc = config_load_broker(
		c->flag, (char *const *)c->environment, &urls, &count, &problems);
	loading_join(&problems, &out);
	ck_assert_msg(rc == c->rc, "%.*s", TEXT_ARGS(buf_text(&out)));
	for (size_t i = 0; rc == RC_OK && i < count; i++) {
		buf_append_text(&out, i > 0 ? TEXT(" ") : TEXT_NONE);
		broker_url_print(&urls[i], &out);
	}
	ck_assert_msg(
		text_is(buf_text(&out), text_from(c->expected)), "%.*s", TEXT_ARGS(buf_text(&out)));
	if (rc == RC_OK)
		broker_urls_free(urls, count);
	buf_release(&out);
}
END_TEST

/* Bytes of the environment are not percent-encoded: they are what they are. */
START_TEST(test_environment_is_taken_as_it_is)
{
	const char *const environment[] = {"RABBITMQ_PASSWORD=p%41@:/#", NULL};
	struct broker_url *urls;
	size_t count;
	struct problems problems = {0};
	ck_assert_int_eq(
		config_load_broker(NULL, (char *const *)environment, &urls, &count, &problems),
		RC_OK);
	ck_assert_str_eq(urls[0].password, "p%41@:/#");
	broker_urls_free(urls, count);
	problems_release(&problems);
}
END_TEST

/* As long as in an address, and no longer. */
START_TEST(test_long_credentials)
{
	static const char *const names[] = {"RABBITMQ_USERNAME=", "RABBITMQ_PASSWORD="};
	char variable[18 + 1025 + 1];
	char *const environment[] = {variable, NULL};
	memset(variable, 'x', sizeof variable);
	memcpy(variable, names[_i], 18);
	for (size_t len = 1024; len <= 1025; len++) {
		struct broker_url *urls;
		struct problems problems = {0};
		size_t count;
		variable[18 + len] = '\0';
		enum rc rc = config_load_broker(NULL, environment, &urls, &count, &problems);
		ck_assert_int_eq(rc, len > 1024 ? RC_MALFORMED : RC_OK);
		ck_assert_int_eq(problems.count > 0, len > 1024);
		if (rc == RC_OK)
			broker_urls_free(urls, count);
		problems_release(&problems);
		variable[18 + len] = 'x';
	}
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("config/url");
	UNIT_CASE(s, "url", test_good, test_options, test_bad, test_lengths, test_print,
		test_environment_is_taken_as_it_is);
	TCase *brokers = tcase_create("brokers");
	tcase_add_loop_test(brokers, test_long_credentials, 0, 2);
	tcase_add_loop_test(
		brokers, test_load_broker, 0, sizeof broker_cases / sizeof *broker_cases);
	suite_add_tcase(s, brokers);
	return s;
}

UNIT_MAIN(suite)
