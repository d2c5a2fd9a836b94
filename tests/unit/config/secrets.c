/* Which variables of the environment hold the broker's password. */
#include "config/url/secrets.h"
#include "unit/support/config/loading.h"

#include <stdio.h>
#include <string.h>

static const char *const environment[] = {"WHOLE=amqp://w:w@h", "LIST=amqp://a,amqp://b", "PW=p%40",
	"USER=u", "LOGIN=u:p", "SCHEME=amqps", "HOST=h", "HOSTS=h/v,amqp://i", "EMPTY=", "P=x",
	"AMQP_URL=amqp://u:p@h", "=odd", "odd", NULL};

/* The secrets of a file with this broker.url, with blanks between. */
static const char *secrets_of(const char *url, const char *const *variables)
{
	static char found[500];
	char yaml[1000];
	snprintf(yaml, sizeof yaml, "broker: {url: %s}\npools: [{queue: q, command: w}]\n", url);
	loading_load_yaml(text_from(yaml), variables);
	ck_assert_msg(loaded.rc == RC_OK, "%s: %s", url, loaded.problems);
	found[0] = '\0';
	for (char **name = loaded.config->secrets; *name; name++)
		snprintf(found + strlen(found), sizeof found - strlen(found), "%s%s",
			*found ? " " : "", *name);
	return found;
}

static const struct {
	const char *url, *secrets;
} cases[] = {
	{"amqp://h", ""},
	{"'${WHOLE}'", "WHOLE "},
	{"'${LIST}'", "LIST "},
	{"'${UNSET:-amqp://u:p@h}'", ""},
	{"'${EMPTY:-amqp://u:p@h}'", ""},
	{"'amqp://u:${PW}@h'", "PW "},
	{"'amqp://u:x${P}y@h'", "P "},
	{"'amqp://${USER}:${PW}@${HOST}'", "PW "},
	{"'${SCHEME}://${LOGIN}@${HOST}/${USER}'", "LOGIN "},
	{"'amqp://${USER}@${HOST}'", ""},
	{"'amqp://u:$${PW}%40@h'", ""},
	{"['amqp://u:${PW}@h', 'amqp://${LOGIN}@i', amqp://j]", "PW LOGIN "},
	{"'amqp://u:${PW}@h,amqp://u:${P}@${HOST}'", "PW P "},
	{"'amqp://${HOST},amqp://u:${P}@i'", "P "},
	{"'amqp://${HOSTS}'", "HOSTS "},
};

START_TEST(variables_of_passwords_are_found)
{
	char wanted[200];
	snprintf(wanted, sizeof wanted, "%sAMQP_URL RABBITMQ_PASSWORD", cases[_i].secrets);
	ck_assert_str_eq(secrets_of(cases[_i].url, environment), wanted);
}
END_TEST

/* PASSWORD has other meanings elsewhere. */
START_TEST(named_variables_need_no_file)
{
	static const char *const with_host[] = {
		"RABBITMQ_HOSTNAME=h", "PASSWORD=p", "QUEUENAME=q", "WORKER_COMMAND=w", NULL};
	struct config_flags flags = {0};
	ck_assert_str_eq(secrets_of("amqp://h", NULL), "AMQP_URL RABBITMQ_PASSWORD");
	ck_assert_str_eq(secrets_of("amqp://h", with_host), "AMQP_URL RABBITMQ_PASSWORD PASSWORD");
	loading_load(&flags, with_host);
	ck_assert_int_eq(loaded.rc, RC_OK);
	ck_assert_str_eq(loaded.config->secrets[2], "PASSWORD");
	ck_assert(secrets_has(loaded.config->secrets, "PASSWORD=x"));
	ck_assert(!secrets_has(loaded.config->secrets, "PASSWORDS=x"));
	ck_assert(!secrets_has(NULL, "PASSWORD=x"));
}
END_TEST

/* A shell expands what wpool never sees: --broker "$SHELL_URL". */
START_TEST(values_with_the_password_are_found)
{
	static const struct {
		const char *broker, *entry;
		bool is_secret;
	} rows[] = {
		{"amqp://u:long-password@h", "X=amqp://u:long-password@h", true},
		{"amqp://u:long-password@h", "X=long-password", true},
		{"amqp://u:long-password@h", "X={\"password\": \"long-password\"}", true},
		{"amqp://u:long-password@h", "X=long-passwor", false},
		{"amqp://u:long-password@h", "X=amqp://u@h", false},
		{"amqp://u:long-password@h", "long-password=x", false},
		{"amqp://i,amqp://u:long-password@h", "X=long-password", true},
		{"amqp://u:p%40ss%2Fword@h", "X=p@ss/word", true},
		{"amqp://u:p%40ss%2Fword@h", "X=amqp://u:p%40ss%2fword@h", true},
		{"amqp://u:p%40ss%2Fword@h", "X=100%, p%40ss%2Fword%", true},
		{"amqp://u:wpool@h", "X=amqp://u:wpool@h", true},
		{"amqp://u:wpool@h", "X=wpool", false},
		{"amqp://u:wpool@h", "X=/home/wpool:/usr/wpool@", false},
		{"amqp://guest:guest@h", "X=amqp://guest:guest@h", false},
		{"amqp://u@h", "X=amqp://u@h", false},
	};
	const char *const variables[] = {rows[_i].entry, NULL};
	struct config_flags flags = {.broker = rows[_i].broker,
		.queue = "q",
		.command = (char *[]){(char[]){"w"}, NULL}};
	loading_load(&flags, variables);
	ck_assert_msg(loaded.rc == RC_OK, "%s", loaded.problems);
	ck_assert_msg(secrets_has(loaded.config->secrets, "X=") == rows[_i].is_secret, "%s, %s",
		rows[_i].broker, rows[_i].entry);
}
END_TEST

/* ---------- broker.password_file ---------- */

#define LOST                                                                                       \
	"broker.password_file is \"pw\"; a path from / on is needed, because "                     \
	"CREDENTIALS_DIRECTORY, in which systemd has credentials, is not set\n"

static const struct {
	const char *setting; /* in the file; NULL: none */
	const char *environment[3];
	bool is_for_other_process;
	const char *path; /* of both hosts; NULL: none */
	const char *problem;
} files[] = {
	{NULL, {NULL}, false, NULL, ""},
	{"/a/pw", {NULL}, false, "/a/pw", ""},
	{"/a/pw", {"CREDENTIALS_DIRECTORY=/c"}, false, "/a/pw", ""},
	{"pw", {"CREDENTIALS_DIRECTORY=/c"}, false, "/c/pw", ""},
	{"pw", {NULL}, false, NULL, "wpool.yaml:1: " LOST},
	{"pw", {NULL}, true, "pw", ""}, /* check-config: that of the service is not known */
	{NULL, {"WPOOL_PASSWORD_FILE=/e/pw"}, false, "/e/pw", ""},
	{"/a/pw", {"WPOOL_PASSWORD_FILE=/e/pw"}, false, "/a/pw",
		"WPOOL_PASSWORD_FILE has no effect, because wpool.yaml:1 has "
		"broker.password_file\n"},
	{NULL, {"WPOOL_PASSWORD_FILE=pw"}, false, NULL, "WPOOL_PASSWORD_FILE: " LOST},
};

START_TEST(password_file_is_of_each_address)
{
	char yaml[500], setting[100] = "";
	if (files[_i].setting)
		snprintf(setting, sizeof setting, ", password_file: %s", files[_i].setting);
	snprintf(yaml, sizeof yaml,
		"broker: {url: [amqp://u@h, amqp://i]%s}\npools: [{queue: q, command: w}]\n",
		setting);
	loading_write(text_from(yaml));
	loading_load(&(struct config_flags){.file = LOADING_FILE,
			     .is_for_other_process = files[_i].is_for_other_process},
		files[_i].environment);
	ck_assert_str_eq(loaded.problems, files[_i].problem);
	ck_assert_int_eq(loaded.rc == RC_OK, files[_i].path || !*files[_i].problem);
	if (loaded.rc != RC_OK)
		return;
	for (size_t i = 0; i < 2; i++)
		ck_assert_pstr_eq(loaded.config->hosts[i].password_file, files[_i].path);
}
END_TEST

/* For the commands without a file. */
START_TEST(password_file_may_be_a_variable)
{
	static const char *const found[] = {
		"WPOOL_PASSWORD_FILE=pw", "CREDENTIALS_DIRECTORY=/c", NULL};
	struct broker_url *urls;
	size_t count;
	struct problems problems = {0};
	ck_assert_int_eq(config_load_broker("amqp://h", (char *const *)(uintptr_t)found, &urls,
				 &count, &problems),
		RC_OK);
	ck_assert_str_eq(urls[0].password_file, "/c/pw");
	broker_urls_free(urls, count);
	problems_release(&problems);
	static const char *const lost[] = {"WPOOL_PASSWORD_FILE=pw", NULL};
	ck_assert_int_eq(config_load_broker("amqp://h", (char *const *)(uintptr_t)lost, &urls,
				 &count, &problems),
		RC_MALFORMED);
	ck_assert_str_eq(problems.list[0].message,
		"WPOOL_PASSWORD_FILE: broker.password_file is \"pw\"; a path from / on is needed, "
		"because CREDENTIALS_DIRECTORY, in which systemd has credentials, is not set");
	problems_release(&problems);
}
END_TEST

static Suite *suite(void)
{
	Suite *suite = suite_create("config/secrets");
	TCase *tcase = tcase_create("secrets");
	tcase_add_checked_fixture(tcase, loading_set_up, loading_tear_down);
	tcase_add_loop_test(
		tcase, variables_of_passwords_are_found, 0, sizeof cases / sizeof *cases);
	tcase_add_test(tcase, named_variables_need_no_file);
	tcase_add_loop_test(tcase, values_with_the_password_are_found, 0, 15);
	tcase_add_loop_test(
		tcase, password_file_is_of_each_address, 0, sizeof files / sizeof *files);
	tcase_add_test(tcase, password_file_may_be_a_variable);
	suite_add_tcase(suite, tcase);
	return suite;
}

UNIT_MAIN(suite)
