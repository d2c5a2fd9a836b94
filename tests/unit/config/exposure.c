/* What others could read or change because of a configuration is reported, one line each. */
#include "config/exposure.h"
#include "unit/support/config/loading.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define POOL "pools: [{queue: q, command: w, user: '1', group: '1'}]\n"

/* The warnings about this configuration, a line each. */
static const char *warnings_of(const char *yaml, const char *file)
{
	static char text[2000];
	struct problems problems = {0};
	loading_load_yaml(text_from(yaml), (const char *const[]){"PASSWORD=secret", NULL});
	ck_assert_msg(loaded.rc == RC_OK, "%s: %s", yaml, loaded.problems);
	exposure_add_warnings(loaded.config, file, &problems);
	text[0] = '\0';
	for (size_t i = 0; i < problems.count; i++) {
		strcat(text, problems.list[i].message);
		strcat(text, "\n");
	}
	problems_release(&problems);
	return text;
}

static void expect(const char *yaml, const char *warnings)
{
	ck_assert_str_eq(warnings_of(yaml, NULL), warnings);
}

START_TEST(password_without_encryption_is_reported)
{
	static const char *const local[] = {"amqp://u:secret@localhost",
		"amqp://u:secret@127.0.0.1", "amqp://u:secret@127.1.2.3:1", "amqp://u:secret@[::1]",
		"amqps://u:secret@far"};
	for (size_t i = 0; i < sizeof local / sizeof *local; i++) {
		char yaml[200];
		snprintf(yaml, sizeof yaml, "broker: {url: '%s'}\n" POOL, local[i]);
		expect(yaml, "");
	}
	expect("broker: {url: ['amqp://u:secret@far', 'amqp://u:secret@192.0.2.1']}\n" POOL,
		"broker.url: the password goes to far without encryption; amqps:// encrypts it\n"
		"broker.url: the password goes to 192.0.2.1 without encryption; amqps:// encrypts "
		"it\n");
	expect("broker: {url: 'amqp://u:secret@localhost.far'}\n" POOL,
		"broker.url: the password goes to localhost.far without encryption; amqps:// "
		"encrypts it\n");
}
END_TEST

START_TEST(unchecked_certificate_is_reported)
{
	expect("broker: {url: 'amqps://u:secret@far?verify=verify_peer'}\n" POOL, "");
	expect("broker: {url: 'amqps://u:secret@far?verify=verify_none'}\n" POOL,
		"broker.url: verify_none takes any certificate for that of far, so the password may "
		"go to another machine; verify_peer checks it\n");
}
END_TEST

START_TEST(listening_everywhere_is_reported)
{
	expect("http: {listen: '127.0.0.1:1'}\n" POOL, "");
	expect("http: {listen: '[::1]:1'}\n" POOL, "");
	expect("http: {listen: '192.0.2.1:1'}\n" POOL, "");
	ck_assert_ptr_nonnull(strstr(warnings_of("http: {listen: '0.0.0.0:1'}\n" POOL, NULL),
		"http.listen: 0.0.0.0:1 "));
	ck_assert_ptr_nonnull(strstr(
		warnings_of("http: {listen: '[::]:1'}\n" POOL, NULL), "http.listen: [::]:1 "));
}
END_TEST

START_TEST(token_without_encryption_is_reported)
{
	expect("http: {listen: '127.0.0.1:1', token_file: /none}\n" POOL, "");
	expect("http: {listen: '[::1]:1', token_file: /none}\n" POOL, "");
	expect("http: {token_file: /none}\n" POOL, "");
	expect("http: {listen: '192.0.2.1:1', token_file: /none}\n" POOL,
		"http.token_file: the token goes to 192.0.2.1:1 without encryption; listen at "
		"127.0.0.1 behind a proxy that has TLS\n");
}
END_TEST

/* Only of a process that is root. */
START_TEST(workers_of_root_are_reported)
{
	static const char two[] =
		"pools: [{queue: q, command: w}, {queue: r, command: w, user: '1', "
		"group: '1'}, {queue: s, command: w}]\n";
	expect("pools: [{queue: q, command: w}]\n",
		geteuid() == 0
			? "pools[0].user: its workers run as root; give them a user of their "
			  "own\n"
			: "");
	expect(two, geteuid() == 0
			    ? "pools[0].user: its workers and those of 1 further pool run as "
			      "root; give them a user of their own\n"
			    : "");
}
END_TEST

START_TEST(modes_of_files_are_reported)
{
	static const struct {
		mode_t mode;
		gid_t group;
		const char *secret, *other; /* the warnings about a file with a secret or without */
	} cases[] = {
		{0600, 0, NULL, NULL},
		{0640, 1, NULL, NULL},
		{0660, 0, NULL, NULL},
		{0644, 0, "every user can read it; chmod o-rwx F", NULL},
		{0660, 1, "its group can write it; chmod go-w F",
			"its group can write it; chmod go-w F"},
		{0602, 0, "every user can write it; chmod go-w F",
			"every user can write it; chmod go-w F"},
		{0666, 1, "every user can write it; chmod go-w F",
			"every user can write it; chmod go-w F"},
	};
	bool is_root = geteuid() == 0; /* only root can give a file to any group */
	close(open("F", O_CREAT | O_WRONLY, 0600));
	for (size_t i = 0; i < 2 * (sizeof cases / sizeof *cases); i++) {
		struct problems problems = {0};
		bool is_secret = i % 2;
		const char *wanted = is_secret ? cases[i / 2].secret : cases[i / 2].other;
		if (!is_root && cases[i / 2].mode & 0020)
			continue;
		if (is_root)
			ck_assert_int_eq(chown("F", 0, cases[i / 2].group), 0);
		ck_assert_int_eq(chmod("F", cases[i / 2].mode), 0);
		exposure_add_file(
			&(struct exposure_file){.path = "F", .what = "it", .is_secret = is_secret},
			&problems);
		ck_assert_uint_eq(problems.count, wanted != NULL);
		if (wanted)
			ck_assert_str_eq(problems.list[0].message + strlen("F: "), wanted);
		problems_release(&problems);
	}
	unlink("F");
	struct problems none = {0};
	exposure_add_file(&(struct exposure_file){.path = "F", .what = "it"}, &none);
	exposure_add_file(&(struct exposure_file){.path = "/dev/null", .what = "it"}, &none);
	ck_assert_uint_eq(none.count, 0);
}
END_TEST

START_TEST(configuration_and_key_are_looked_at)
{
	static const char
		with[] = "broker: {url: 'amqp://u:secret@localhost'}\n" POOL,
		without[] = "broker: {url: 'amqp://u:${PASSWORD}@localhost'}\n" POOL,
		key[] = "broker: {url: 'amqps://u:${PASSWORD}@h?certfile=c&keyfile=key'}\n" POOL;
	loading_write(TEXT_NONE);
	ck_assert_int_eq(chmod(LOADING_FILE, 0644), 0);
	ck_assert_str_eq(warnings_of(with, LOADING_FILE), LOADING_FILE
		": every user can read the configuration; chmod o-rwx " LOADING_FILE "\n");
	ck_assert_str_eq(warnings_of(without, LOADING_FILE), "");
	close(open("key", O_CREAT | O_WRONLY, 0600));
	ck_assert_int_eq(chmod("key", 0644), 0);
	expect(key, "key: every user can read the key of the certificate; chmod o-rwx key\n");
	unlink("key");
}
END_TEST

START_TEST(passwords_are_found_in_a_text)
{
	static const struct {
		const char *text;
		bool has_password;
	} cases[] = {
		{"", false},
		{"amqp://", false},
		{"amqp://h", false},
		{"amqp://u@h", false},
		{"amqp://u:p@h", true},
		{"broker: {url: [\"amqp://h\", \"amqps://u:p@h/v\"]}", true},
		{"broker: {url: ${AMQP_URL}}", false},
		{"url: amqp://${USER}:${PASSWORD}@h", false},
		{"url: amqp://u:${PASSWORD:-p}@h", true},
		{"url: amqp://u:${PASSWORD:-guest}@h", false},
		{"url: amqp://guest:guest@localhost", false},
		{"url: ['amqp://guest:guest@localhost', 'amqp://u:p@h']", true},
		{"a: amqp://h\nb: x:y@z", false},
		{"xamqp://u:p@h", true},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		ck_assert_msg(
			exposure_has_password(text_from(cases[i].text)) == cases[i].has_password,
			"%s", cases[i].text);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("config/exposure");
	TCase *tcase = tcase_create("exposure");
	static const TTest *const *const tests[] = {&password_without_encryption_is_reported,
		&unchecked_certificate_is_reported, &listening_everywhere_is_reported,
		&token_without_encryption_is_reported, &workers_of_root_are_reported,
		&modes_of_files_are_reported, &configuration_and_key_are_looked_at,
		&passwords_are_found_in_a_text};
	tcase_add_checked_fixture(tcase, loading_set_up, loading_tear_down);
	for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
		tcase_add_test(tcase, *tests[i]);
	suite_add_tcase(s, tcase);
	return s;
}

UNIT_MAIN(suite)
