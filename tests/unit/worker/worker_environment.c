/* What of an environment reaches a worker: what is passed on, what is added, and who wins. */
#include "worker/worker_environment.h"
#include "unit/unit.h"

#include <stdio.h>
#include <string.h>

static char home[] = "HOME=/where/it/lives";
static char *variables[] = {home, NULL};
#define TASK "WPOOL_TASK=body: auto, headers: text, properties: false;"
/* What each of these workers knows of its place, and its mark. */
#define PLACE                                                                                      \
	"WPOOL_SLOT=12;WPOOL_WORKERS=4;WPOOL_CONCURRENCY=1;WPOOL_POOL=mail;" TASK                  \
	"WPOOL_WORKER=/run/x/1;"

static const struct rights other = {.is_other = true, .variables = variables};

static char *last_exit; /* NULL: its slot has had no process */

static void expect_environment_of_slot(
	const struct workers_config *config, int slot, const char *wanted)
{
	static char mark[] = "WPOOL_WORKER=/run/x/1";
	char found[1000] = "";
	char **environment = worker_environment_new(config, slot, mark, last_exit);
	ck_assert_ptr_nonnull(environment);
	for (char **entry = environment; *entry; entry++) {
		strncat(found, *entry, sizeof found - strlen(found) - 2);
		strcat(found, ";");
	}
	ck_assert_str_eq(found, wanted);
	free(environment);
}

static void expect_environment(const struct workers_config *config, const char *wanted)
{
	expect_environment_of_slot(config, 12, wanted);
}

START_TEST(a_worker_gets_the_configured_variables)
{
	char a[] = "A=1", ab[] = "AB=2", c[] = "C=3", at[] = "HOME=/root", m[] = "WPOOL_WORKER=x/1",
	     t[] = "TMPDIR=/x", none[] = "none", all[] = "all", beginning[] = "A*", just[] = "A",
	     new_c[] = "C=", d[] = "D=4=5", new_home[] = "HOME=/given";
	char *ours[] = {a, ab, c, at, m, t, NULL};
	char *more[] = {new_c, d, NULL}, *own_home[] = {new_home, NULL};
	char **before = environ;
	environ = ours;
	struct workers_config config = {
		.pool = "mail", .workers = 4, .concurrency = 1, .pipe = PIPE_PATH};
	expect_environment(&config, "A=1;AB=2;C=3;HOME=/root;TMPDIR=/x;" PLACE);
	config.variables = more;
	expect_environment(&config, "A=1;AB=2;C=;HOME=/root;TMPDIR=/x;D=4=5;" PLACE);
	config.passed = (char *[]){none, NULL};
	expect_environment(&config, "C=;D=4=5;" PLACE);
	config.passed = (char *[]){just, NULL};
	expect_environment(&config, "A=1;C=;D=4=5;" PLACE);
	config.passed = (char *[]){beginning, NULL};
	config.variables = NULL;
	expect_environment(&config, "A=1;AB=2;" PLACE);
	config.rights = &other;
	expect_environment(&config, "A=1;AB=2;HOME=/where/it/lives;" PLACE);
	config.passed = (char *[]){all, NULL};
	config.variables = own_home;
	config.pipe = PIPE_COREFX;
	expect_environment(&config, "A=1;AB=2;C=3;HOME=/given;TMPDIR=/tmp;" PLACE);
	environ = before;
}
END_TEST

/* "auto" passes all but the secrets, and names beside it are passed in any case. */
START_TEST(secrets_are_kept_back)
{
	char a[] = "A=1", url[] = "AMQP_URL=amqp://u:p@h", longer[] = "AMQP_URLS=x", pw[] = "PW=p",
	     automatic[] = "auto", all[] = "all", pw_name[] = "PW", url_name[] = "AMQP_URL";
	char *ours[] = {a, url, longer, pw, NULL};
	char *names[] = {url_name, pw_name, NULL}, **secrets = names;
	char **before = environ;
	environ = ours;
	struct workers_config config = {.pool = "mail",
		.workers = 4,
		.concurrency = 1,
		.pipe = PIPE_PATH,
		.secrets = &secrets};
	config.passed = (char *[]){automatic, NULL};
	expect_environment(&config, "A=1;AMQP_URLS=x;" PLACE);
	config.passed = (char *[]){automatic, pw_name, NULL};
	expect_environment(&config, "A=1;AMQP_URLS=x;PW=p;" PLACE);
	config.passed = (char *[]){all, NULL};
	expect_environment(&config, "A=1;AMQP_URL=amqp://u:p@h;AMQP_URLS=x;PW=p;" PLACE);
	environ = before;
}
END_TEST

/* They replace those of our own environment, where wpool is a worker itself, and of the
 * configuration, which a file may not have. */
START_TEST(a_worker_knows_its_place)
{
	char concurrency[] = "WPOOL_CONCURRENCY=7", given[] = "WPOOL_CONCURRENCY=8",
	     pool[] = "WPOOL_POOL=outer", slot[] = "WPOOL_SLOT=3", workers[] = "WPOOL_WORKERS=9",
	     all[] = "all";
	char name[65];
	char **before = environ;
	memset(name, 'n', sizeof name - 1);
	name[sizeof name - 1] = '\0';
	environ = (char *[]){concurrency, pool, slot, workers, NULL};
	struct workers_config config = {
		.pool = name, .workers = 65535, .concurrency = 65535, .pipe = PIPE_PATH};
	config.passed = (char *[]){all, NULL};
	config.variables = (char *[]){given, NULL};
	char wanted[300];
	snprintf(wanted, sizeof wanted,
		"WPOOL_CONCURRENCY=65535;WPOOL_POOL=%s;WPOOL_WORKERS=65535;WPOOL_SLOT=65535;" TASK
		"WPOOL_WORKER=/run/x/1;",
		name);
	expect_environment_of_slot(&config, UINT16_MAX, wanted);
	environ = before;
}
END_TEST

/* That of an outer supervisor is of another place. */
START_TEST(a_worker_knows_how_the_one_before_ended)
{
	char outer[] = "WPOOL_LAST_EXIT=3 signal 15", own[] = "WPOOL_LAST_EXIT=4 signal 9";
	char **before = environ;
	environ = (char *[]){outer, NULL};
	struct workers_config config = {.pool = "mail", .workers = 4, .concurrency = 1};
	expect_environment(&config, PLACE);
	last_exit = own;
	expect_environment(&config, PLACE "WPOOL_LAST_EXIT=4 signal 9;");
	last_exit = NULL;
	environ = before;
}
END_TEST

/* In the words of the settings. */
START_TEST(a_worker_knows_the_form_of_its_tasks)
{
	static const struct {
		struct task_options task;
		const char *text;
	} forms[] = {
		{{.body = TASK_BODY_BIN, .headers = TASK_HEADERS_TYPED, .properties = true},
			"body: bin, headers: typed, properties: true"},
		{{.body = TASK_BODY_STR}, "body: str, headers: text, properties: false"},
	};
	char **before = environ;
	environ = (char *[]){NULL};
	for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
		struct workers_config config = {.pool = "p", .task = forms[i].task};
		char wanted[200];
		snprintf(wanted, sizeof wanted,
			"WPOOL_SLOT=1;WPOOL_WORKERS=0;WPOOL_CONCURRENCY=0;WPOOL_POOL=p;"
			"WPOOL_TASK=%s;WPOOL_WORKER=/run/x/1;",
			forms[i].text);
		expect_environment_of_slot(&config, 1, wanted);
	}
	environ = before;
}
END_TEST

/* What differs between workers comes with each request; an outer preloaded process is not meant. */
START_TEST(a_preloaded_process_has_no_slot)
{
	char slot[] = "WPOOL_SLOT=3", preload[] = "WPOOL_PRELOAD=0", all[] = "all";
	char **before = environ;
	environ = (char *[]){preload, slot, NULL};
	struct workers_config config = {
		.pool = "mail", .workers = 4, .concurrency = 1, .pipe = PIPE_PATH};
	expect_environment_of_slot(&config, -1,
		"WPOOL_PRELOAD=1;WPOOL_WORKERS=4;WPOOL_CONCURRENCY=1;WPOOL_POOL=mail;" TASK
		"WPOOL_WORKER=/run/x/1;");
	config.passed = (char *[]){all, NULL};
	expect_environment_of_slot(&config, 3,
		"WPOOL_SLOT=3;WPOOL_WORKERS=4;WPOOL_CONCURRENCY=1;WPOOL_POOL=mail;" TASK
		"WPOOL_WORKER=/run/x/1;");
	environ = before;
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("worker/worker_environment");
	UNIT_CASE(s, "environment", a_worker_gets_the_configured_variables,
		a_worker_knows_its_place, a_worker_knows_the_form_of_its_tasks,
		a_worker_knows_how_the_one_before_ended, a_preloaded_process_has_no_slot,
		secrets_are_kept_back);
	return s;
}

UNIT_MAIN(suite)
