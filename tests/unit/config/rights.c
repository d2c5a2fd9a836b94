/* Who workers are and what they may have: read, looked up, refused where this process cannot. */
#include "config/check.h"
#include "unit/support/config/loading.h"

#include <grp.h>
#include <linux/capability.h>
#include <pwd.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Some user that no machine has an entry of. */
#define NOBODYS_NUMBER "4000000123"

static void load_pool(const char *settings)
{
	char yaml[2000];
	snprintf(yaml, sizeof yaml, "pools:\n- queue: q\n  command: w\n%s", settings);
	loading_load_yaml(text_from(yaml), NULL);
}

static const struct rights *rights_of(const char *settings)
{
	load_pool(settings);
	ck_assert_msg(loaded.rc == RC_OK, "%s", loaded.problems);
	return &loaded.config->pools[0].rights;
}

static void expect_problem(const char *settings, const char *problem)
{
	char line[1000];
	snprintf(line, sizeof line, "wpool.yaml:%s\n", problem);
	load_pool(settings);
	ck_assert_str_eq(loaded.problems, line);
}

static bool has_group(const struct rights *rights, gid_t gid)
{
	for (size_t i = 0; i < rights->group_count; i++)
		if (rights->groups[i] == gid)
			return true;
	return false;
}

START_TEST(test_nothing_given_is_nothing_changed)
{
	const struct rights *rights = rights_of("");
	ck_assert(!rights->is_other && rights->is_confined && rights->has_mask &&
		  rights->mask == 022);
	ck_assert_uint_eq(rights->limit_count, 0);
	ck_assert_int_eq(rights->nice, 0);
	ck_assert_ptr_null(rights->variables);
}
END_TEST

/* By name and by number: the same user, the same groups, the same home. */
START_TEST(test_user)
{
	const struct passwd *entry = getpwnam("daemon");
	char by_number[64], home[300];
	snprintf(by_number, sizeof by_number, "  user: %d\n", (int)entry->pw_uid);
	snprintf(home, sizeof home, "HOME=%s", entry->pw_dir);
	const char *const ways[] = {"  user: daemon\n", by_number};
	for (size_t i = 0; i < 2; i++) {
		const struct rights *rights = rights_of(ways[i]);
		entry = getpwnam("daemon");
		ck_assert(rights->is_other && rights->has_user && rights->is_confined);
		ck_assert_uint_eq(rights->uid, entry->pw_uid);
		ck_assert_uint_eq(rights->gid, entry->pw_gid);
		ck_assert(has_group(rights, entry->pw_gid));
		ck_assert_str_eq(rights->variables[0], home);
		ck_assert_str_eq(rights->variables[1], "USER=daemon");
		ck_assert_str_eq(rights->variables[2], "LOGNAME=daemon");
		ck_assert_ptr_null(rights->variables[3]);
	}
}
END_TEST

START_TEST(test_user_without_an_entry)
{
	const struct rights *rights = rights_of("  user: " NOBODYS_NUMBER "\n  group: 12345\n");
	ck_assert_uint_eq(rights->uid, 4000000123);
	ck_assert_uint_eq(rights->gid, 12345);
	ck_assert_uint_eq(rights->group_count, 1);
	ck_assert_uint_eq(rights->groups[0], 12345);
	ck_assert_str_eq(rights->variables[0], "HOME=/");
	ck_assert_ptr_null(rights->variables[1]);
}
END_TEST

/* The user's groups stay, beside the one given. */
START_TEST(test_group)
{
	const struct rights *rights = rights_of("  user: nobody\n  group: tty\n");
	ck_assert_uint_eq(rights->gid, getgrnam("tty")->gr_gid);
	ck_assert(has_group(rights, getgrnam("tty")->gr_gid));
	rights = rights_of("  group: 12345\n");
	ck_assert(rights->is_other && !rights->has_user);
	ck_assert_uint_eq(rights->uid, geteuid());
	ck_assert_uint_eq(rights->group_count, 1);
	ck_assert_uint_eq(rights->groups[0], 12345);
	ck_assert_ptr_null(rights->variables);
}
END_TEST

START_TEST(test_new_rights)
{
	ck_assert(!rights_of("  new_privs: true\n")->is_confined);
	ck_assert(!rights_of("  new_privs: true\n  user: daemon\n")->is_confined);
	ck_assert(rights_of("  new_privs: false\n")->is_confined);
}
END_TEST

START_TEST(test_who_is_unknown_is_named)
{
	expect_problem("  user: no-such-user\n",
		"4: pools[0].user is \"no-such-user\", and this machine has no such user; a user's "
		"name or number is needed");
	expect_problem("  group: no-such-group\n",
		"4: pools[0].group is \"no-such-group\", which this machine has no group of; a "
		"group's name or number is needed");
	expect_problem("  user: " NOBODYS_NUMBER "\n",
		"4: pools[0].user is \"" NOBODYS_NUMBER "\", of which this machine knows no group; "
		"group is needed beside it");
	expect_problem("  user: 4294967295\n", /* what stands for "as it is" */
		"4: pools[0].user is \"4294967295\", and this machine has no such user; a user's "
		"name or number is needed");
	expect_problem(
		"  user: ''\n", "4: pools[0].user is \"\"; a text of 1 to 64 bytes is needed");
}
END_TEST

START_TEST(test_masks)
{
	static const struct {
		const char *text;
		int mask; /* -1: none */
	} cases[] = {{"027", 027}, {"0027", 027}, {"000", 0}, {"777", 0777}, {"0777", 0777},
		{"27", -1}, {"1027", -1}, {"028", -1}, {"00027", -1}, {"", -1}, {"-27", -1}};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		mode_t mask = 01234;
		bool good = rights_read_mask(text_from(cases[i].text), &mask);
		ck_assert_msg(good == (cases[i].mask >= 0), "%s", cases[i].text);
		ck_assert_uint_eq(mask, good ? (mode_t)cases[i].mask : 01234);
	}
	ck_assert_uint_eq(rights_of("  umask: 0027\n")->mask, 027);
	expect_problem("  umask: 9\n",
		"4: pools[0].umask is \"9\"; three octal digits, or four that begin with 0, are "
		"needed, such as 027");
}
END_TEST

START_TEST(test_limits)
{
	static const struct {
		const char *name, *value;
		int resource; /* -1: wrong */
		rlim_t soft, hard;
	} cases[] = {
		{"nofile", "1024:4096", RLIMIT_NOFILE, 1024, 4096},
		{"nofile", "1024", RLIMIT_NOFILE, 1024, 1024},
		{"core", "0:unlimited", RLIMIT_CORE, 0, RLIM_INFINITY},
		{"core", "infinity", RLIMIT_CORE, RLIM_INFINITY, RLIM_INFINITY},
		{"as", "512MiB:1GiB", RLIMIT_AS, 512 << 20, 1 << 30},
		{"stack", "8192", RLIMIT_STACK, 8192, 8192},
		{"cpu", "10min:1h", RLIMIT_CPU, 600, 3600},
		{"cpu", "90", RLIMIT_CPU, 90, 90},
		{"rttime", "200ms", RLIMIT_RTTIME, 200000, 200000},
		{"cpu", "500ms", -1, 0, 0}, /* no whole second */
		{"nofile", "1kB", -1, 0, 0},
		{"nofile", "4096:1024", -1, 0, 0},
		{"nofile", "unlimited:5", -1, 0, 0},
		{"nofile", "", -1, 0, 0},
		{"nofile", ":", -1, 0, 0},
		{"nofile", "1:", -1, 0, 0},
		{"nofile", "1:2:3", -1, 0, 0},
		{"nofile", "-1", -1, 0, 0},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct rights_limit limit = {.resource = -1};
		enum rc rc = rights_read_limit(
			text_from(cases[i].name), text_from(cases[i].value), &limit);
		ck_assert_msg((rc == RC_OK) == (cases[i].resource >= 0), "%s", cases[i].value);
		ck_assert_int_eq(limit.resource, cases[i].resource);
		if (rc != RC_OK)
			continue;
		ck_assert_uint_eq(limit.value.rlim_cur, cases[i].soft);
		ck_assert_uint_eq(limit.value.rlim_max, cases[i].hard);
		ck_assert_str_eq(rights_limit_name(limit.resource), cases[i].name);
	}
}
END_TEST

START_TEST(test_limits_of_a_pool)
{
	const struct rights *rights = rights_of("  rlimits: {core: 0, nofile: '10:20'}\n");
	ck_assert_uint_eq(rights->limit_count, 2);
	ck_assert_int_eq(rights->limits[0].resource, RLIMIT_CORE);
	ck_assert_int_eq(rights->limits[1].resource, RLIMIT_NOFILE);
	expect_problem("  rlimits: {nofiles: 3}\n",
		"4: pools[0].rlimits: \"nofiles\" is unknown; the nearest is nofile");
	expect_problem("  rlimits: {zzzzzzzz: 3}\n",
		"4: pools[0].rlimits: \"zzzzzzzz\" is unknown; there are as, core, cpu, data, fsize, "
		"locks, memlock, msgqueue, nice, nofile, nproc, rss, rtprio, rttime, sigpending, "
		"stack");
	expect_problem("  rlimits: {core: lots}\n",
		"4: pools[0].rlimits: \"core=lots\" has an invalid value; one value, or soft:hard with soft <= hard, is needed, such as 1024:4096 or unlimited");
	expect_problem("  rlimits: core=0\n",
		"4: pools[0].rlimits is a text; a map of names and values (in a variable: NAME=VALUE "
		"words) is needed");
	expect_problem("  rlimits: {core: [1]}\n",
		"4: pools[0].rlimits: core is a list; a text is needed, such as \"\"");
}
END_TEST

/* A variable has words where a file has a map; of two for one limit the last counts. */
START_TEST(test_from_variables)
{
	static const char *const environment[] = {"QUEUENAME=q", "WORKER_COMMAND=w",
		"WPOOL_ENV=A='b c' D=", "WPOOL_RLIMITS=core=5 nofile=9 core=0",
		"WPOOL_ENV_PASS=PATH LC_*", "WPOOL_NICE=3", "WPOOL_UMASK=077", "WPOOL_CWD=/", NULL};
	loading_load(&(struct config_flags){0}, environment);
	ck_assert_msg(loaded.rc == RC_OK, "%s", loaded.problems);
	const struct config_pool *pool = loaded.config->pools;
	ck_assert_str_eq(pool->env[0], "A=b c");
	ck_assert_str_eq(pool->env[1], "D=");
	ck_assert_str_eq(pool->env_pass[1], "LC_*");
	ck_assert_str_eq(pool->cwd, "/");
	ck_assert_uint_eq(pool->rights.limit_count, 2);
	ck_assert_uint_eq(pool->rights.limits[0].value.rlim_cur, 0);
	ck_assert_int_eq(pool->rights.nice, 3);
	ck_assert_uint_eq(pool->rights.mask, 077);
	loading_load(&(struct config_flags){0},
		(const char *const[]){"QUEUENAME=q", "WORKER_COMMAND=w", "WPOOL_ENV=secret", NULL});
	ck_assert_str_eq(loaded.problems,
		"WPOOL_ENV: env is no such map; a map of names and values (in a variable: "
		"NAME=VALUE words) is needed\n");
}
END_TEST

START_TEST(test_environment)
{
	load_pool("  env: {A: 1, B_2: 'two words', C: ''}\n  env_pass: [PATH, 'X*', '*']\n");
	ck_assert_msg(loaded.rc == RC_OK, "%s", loaded.problems);
	const struct config_pool *pool = loaded.config->pools;
	ck_assert_str_eq(pool->env[0], "A=1");
	ck_assert_str_eq(pool->env[1], "B_2=two words");
	ck_assert_str_eq(pool->env[2], "C=");
	ck_assert_ptr_null(pool->env[3]);
	static const char name[] =
		"4: pools[0].env has an invalid name, or one that wpool sets itself; a name has letters, digits and '_' and does not begin with a digit";
	expect_problem("  env: {1A: secret}\n", name);
	expect_problem("  env: {A-B: secret}\n", name);
	expect_problem("  env: {WPOOL_WORKER: x}\n", name);
	expect_problem("  env: {WPOOL_CONCURRENCY: 5}\n", name);
	expect_problem("  env: {WPOOL_POOL: x}\n", name);
	expect_problem("  env: {WPOOL_SLOT: 1}\n", name);
	expect_problem("  env: {WPOOL_WORKERS: 2}\n", name);
	expect_problem("  env: {WPOOL_TASK: 2}\n", name);
	expect_problem("  env: {WPOOL_LAST_EXIT: 2}\n", name);
	expect_problem("  env: {WPOOL_PRELOAD: 1}\n", name);
	expect_problem(
		"  env: {A: ~}\n", "4: pools[0].env: A is empty; a text is needed, such as \"\"");
	expect_problem("  env_pass: [A, B-C]\n",
		"4: pools[0].env_pass: \"B-C\" is neither the name of a variable nor a prefix with a * at the end");
}
END_TEST

START_TEST(test_signs)
{
	ck_assert_int_eq(rights_of("  nice: -20\n")->nice, -20);
	ck_assert_int_eq(rights_of("  nice: 19\n")->nice, 19);
	expect_problem(
		"  nice: -21\n", "4: pools[0].nice is \"-21\"; a number from -20 to 19 is needed");
	expect_problem(
		"  nice: --1\n", "4: pools[0].nice is \"--1\"; a number from -20 to 19 is needed");
	load_pool("  workers: -1\n");
	ck_assert_int_eq(loaded.rc, RC_MALFORMED);
}
END_TEST

/* Whoever runs the tests is either root or already somebody who may not. */
static void become_nobody(void)
{
	if (geteuid() != 0)
		return;
	ck_assert_int_eq(chown(".", 65534, 65534), 0);
	ck_assert_int_eq(setresgid(65534, 65534, 65534), 0);
	ck_assert_int_eq(setresuid(65534, 65534, 65534), 0);
}

/* Without root, missing rights are an error for serve and a warning for check-config. */
START_TEST(test_who_may_not)
{
	static const struct {
		const char *settings;
		const char *key; /* of one that takes all four capabilities; else NULL */
		const char *words;
	} cases[] = {
		{"user: daemon", "user", ""},
		{"group: tty", "group", ""},
		{"nice: -1", NULL,
			"nice below 0 needs CAP_SYS_NICE, which wpool lacks here; root has it"},
		{"rlimits: {nproc: 1000000000}", NULL,
			"rlimits has more of nproc than wpool itself may have here, 1000; root may"},
	};
	const struct rlimit few = {1000, 1000}, none = {0, 0};
	char line[500];
	ck_assert_int_eq(setrlimit(RLIMIT_NPROC, &few), 0);
	ck_assert_int_eq(setrlimit(RLIMIT_NICE, &none), 0);
	become_nobody();
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char yaml[200], found[300];
		snprintf(yaml, sizeof yaml, "pools: [{queue: q, command: w, %s}]",
			cases[i].settings);
		if (cases[i].key)
			snprintf(found, sizeof found,
				"%s needs rights that wpool (user %d) lacks here: CAP_CHOWN, "
				"CAP_KILL, CAP_SETGID, CAP_SETUID; root has them",
				cases[i].key, (int)geteuid());
		else
			snprintf(found, sizeof found, "%s", cases[i].words);
		loading_load_yaml(text_from(yaml), NULL);
		ck_assert_int_eq(loaded.rc, RC_OK);
		snprintf(line, sizeof line, "pools[0].%s\n", found);
		ck_assert_str_eq(loaded.problems, line);
		loading_load(&(struct config_flags){.file = LOADING_FILE}, NULL);
		ck_assert_int_eq(loaded.rc, RC_MALFORMED);
		snprintf(line, sizeof line, "wpool.yaml:1: pools[0].%s\n", found);
		ck_assert_str_eq(loaded.problems, line);
	}
}
END_TEST

/* Who is that user already needs no rights for it. */
START_TEST(test_ones_own_user)
{
	char yaml[200];
	snprintf(yaml, sizeof yaml, "pools: [{queue: q, command: w, user: %d, group: %d, nice: 1}]",
		65534, 65534);
	become_nobody();
	loading_write(text_from(yaml));
	loading_load(&(struct config_flags){.file = LOADING_FILE}, NULL);
	ck_assert_msg((loaded.rc == RC_OK) == (geteuid() == 65534), "%s", loaded.problems);
	if (loaded.config)
		ck_assert(!loaded.config->pools[0].rights.is_other);
}
END_TEST

/* As root is in many a container. */
START_TEST(test_what_would_not_be_seen)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];
	ck_assert_int_eq(syscall(SYS_capget, &header, data), 0);
	data[0].effective &= ~(1u << CAP_SYS_PTRACE);
	ck_assert_int_eq(syscall(SYS_capset, &header, data), 0);
	load_pool("  user: daemon\n");
	ck_assert_int_eq(loaded.rc, RC_OK);
	ck_assert_ptr_nonnull(strstr(loaded.problems,
		geteuid() == 0
			? "pools[0].user: a daemon that a worker leaves behind ends only when all "
			  "workers of its time have ended, because wpool lacks CAP_SYS_PTRACE here\n"
			: "pools[0].user needs rights that wpool"));
}
END_TEST

static Suite *suite(void)
{
	const TTest *const tests[] = {test_nothing_given_is_nothing_changed, test_user,
		test_user_without_an_entry, test_group, test_new_rights,
		test_who_is_unknown_is_named, test_masks, test_limits, test_limits_of_a_pool,
		test_from_variables, test_environment, test_signs, test_who_may_not,
		test_ones_own_user, test_what_would_not_be_seen};
	Suite *s = suite_create("config/rights");
	TCase *files = tcase_create("files");
	tcase_add_checked_fixture(files, loading_set_up, loading_tear_down);
	for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
		tcase_add_test(files, tests[i]);
	suite_add_tcase(s, files);
	return s;
}

UNIT_MAIN(suite)
