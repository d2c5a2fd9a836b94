/* Which variables of the environment hold the broker's password. */
#include "config/url/secrets.h"
#include "unit/support/config/loading.h"

#include <stdio.h>
#include <string.h>

static const char *const environment[] = {"WHOLE=amqp://u:p@h", "LIST=amqp://a,amqp://b", "PW=p%40",
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

static Suite *suite(void)
{
	Suite *suite = suite_create("config/secrets");
	TCase *tcase = tcase_create("secrets");
	tcase_add_checked_fixture(tcase, loading_set_up, loading_tear_down);
	tcase_add_loop_test(
		tcase, variables_of_passwords_are_found, 0, sizeof cases / sizeof *cases);
	tcase_add_test(tcase, named_variables_need_no_file);
	suite_add_tcase(suite, tcase);
	return suite;
}

UNIT_MAIN(suite)
