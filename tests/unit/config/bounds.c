/* How much of a configuration is too much: of a number, a name, a file, and of what variables make
 * of it. */
#include "config/settings.h"
#include "config/yaml/tree.h"
#include "unit/support/config/loading.h"
#include "unit/unit.h"
#include <stdio.h>

#define POOL "pools:\n  - queue: q\n    command: [w]\n"

/* Both ends of every range are good, and one beyond is not. */
static void try_number(const char *key, const struct setting *setting, int64_t number, bool good)
{
	static const char *const units[] = {
		[SETTING_INTEGER] = "", [SETTING_DURATION] = "us", [SETTING_SIZE] = "B"};
	char yaml[300];
	const char *dot = strchr(key, '.');
	const char *beside = strncmp(key, "session.", 8) == 0 ? "key: routing_key, " : "";
	snprintf(yaml, sizeof yaml, "%s    %.*s%s%s%s: %lld%s%s\n", POOL,
		dot ? (int)(dot - key) : 0, key, dot ? ": {" : "", beside, dot ? dot + 1 : key,
		(long long)number, units[setting->type], dot ? "}" : "");
	loading_load_yaml(text_from(yaml), NULL);
	ck_assert_msg((loaded.rc == RC_OK) == good, "%s%s", yaml, loaded.problems);
	if (good) {
		const char *pool = (const char *)loaded.config->pools;
		ck_assert_int_eq(*(const int64_t *)(const void *)(pool + setting->offset), number);
	}
}

START_TEST(test_ranges)
{
	size_t count;
	const struct setting *setting = settings_of(SETTING_POOL, &count);
	for (; count > 0; count--, setting++) {
		if (setting->type != SETTING_INTEGER && setting->type != SETTING_DURATION &&
			setting->type != SETTING_SIZE)
			continue;
		try_number(setting->key, setting, setting->min, true);
		try_number(setting->key, setting, setting->max, true);
		try_number(setting->key, setting, setting->max + 1, false);
		if (setting->min > 0)
			try_number(setting->key, setting, setting->min - 1, false);
	}
}
END_TEST

START_TEST(test_lengths_of_names)
{
	char yaml[1000], name[257];
	memset(name, 'x', sizeof name);
	for (int len = 236; len <= 256; len++) {
		snprintf(yaml, sizeof yaml, "pools: [{queue: %.*s, command: w}]", len, name);
		loading_load_yaml(text_from(yaml), NULL);
		ck_assert_msg((loaded.rc == RC_OK) == (len <= 238), "%d", len);
		snprintf(yaml, sizeof yaml,
			"pools: [{queue: %.*s, command: w, retry: {delay: []}}]", len, name);
		loading_load_yaml(text_from(yaml), NULL);
		ck_assert_msg((loaded.rc == RC_OK) == (len <= 250), "%d", len);
		snprintf(yaml, sizeof yaml,
			"pools: [{queue: %.*s, command: w, retry: {dead_letter: d, delay: []}}]",
			len, name);
		loading_load_yaml(text_from(yaml), NULL);
		ck_assert_msg((loaded.rc == RC_OK) == (len <= 255), "%d", len);
	}
}
END_TEST

/* A file of exactly the largest size, one byte more, and one without end. */
START_TEST(test_large_files)
{
	static char yaml[TREE_SOURCE_MAX + 1];
	memset(yaml, '#', sizeof yaml);
	memcpy(yaml, POOL, sizeof POOL - 1);
	loading_load_yaml(text_of(yaml, TREE_SOURCE_MAX), NULL);
	ck_assert_msg(loaded.rc == RC_OK, "%s", loaded.problems);
	loading_load_yaml(text_of(yaml, sizeof yaml), NULL);
	ck_assert_str_eq(loaded.problems, "wpool.yaml: the file is over 1 MiB\n");
	loading_load(&(struct config_flags){.file = "/dev/zero"}, NULL);
	ck_assert_str_eq(loaded.problems, "/dev/zero: the file is over 1 MiB\n");
}
END_TEST

/* Bounded, however much there is. */
START_TEST(test_very_many)
{
	static char yaml[TREE_SOURCE_MAX];
	size_t len = (size_t)sprintf(yaml, "pools:\n");
	for (int i = 0; i < 1001; i++)
		len += (size_t)sprintf(yaml + len, "- {queue: q%d, command: w}\n", i);
	loading_load_yaml(text_of(yaml, len), NULL);
	ck_assert_str_eq(loaded.problems, "wpool.yaml:1002: there are more than 1000 pools\n");
	len = (size_t)sprintf(yaml, "pools:\n");
	for (int i = 0; i < 1000; i++)
		len += (size_t)sprintf(yaml + len, "- {x: %d}\n", i);
	loading_load_yaml(text_of(yaml, len), NULL);
	ck_assert_int_eq(loaded.rc, RC_MALFORMED);
	ck_assert_uint_lt(strlen(loaded.problems), 30000);
	ck_assert_ptr_nonnull(strstr(loaded.problems, "\nwpool.yaml: there is more\n"));
	len = 0;
	for (int i = 0; len < sizeof yaml - 20; i++)
		len += (size_t)sprintf(yaml + len, "a%d: 1\n", i);
	loading_load_yaml(text_of(yaml, len), NULL);
	ck_assert_str_eq(loaded.problems, "wpool.yaml:20000: the file has too many values\n");
	len = (size_t)sprintf(yaml, POOL "    name: ");
	memset(yaml + len, 'x', TREE_TEXT_MAX + 1);
	loading_load_yaml(text_of(yaml, len + TREE_TEXT_MAX + 1), NULL);
	ck_assert_str_eq(loaded.problems, "wpool.yaml:4: a text is longer than 64 KiB\n");
}
END_TEST

/* A file of some kilobytes and one long variable: what they come to is bounded by the file. */
START_TEST(test_long_variables)
{
	static char yaml[16 * 1024], value[2 + 60000 + 1] = "V=";
	const char *const environment[] = {value, NULL};
	memset(value + 2, 'x', 60000);
	size_t len = (size_t)sprintf(yaml, "pools:\n- queue: q\n  command: [w\n");
	while (len < 1600)
		len += (size_t)sprintf(yaml + len, ", \"${V}\"\n");
	sprintf(yaml + len, "]\n");
	loading_load_yaml(text_from(yaml), environment);
	ck_assert_int_eq(loaded.rc, RC_MALFORMED);
	ck_assert_ptr_nonnull(strstr(loaded.problems,
		"wpool.yaml:5: the texts up to here are too long with their variables replaced: "
		"more than 64 KiB and 16 times the file\n"));
	ck_assert_ptr_null(strstr(loaded.problems, "wpool.yaml:4: "));
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("config/bounds");
	TCase *files = tcase_create("files");
	tcase_add_checked_fixture(files, loading_set_up, loading_tear_down);
	tcase_set_timeout(files, 60); /* the largest files there may be, and the machine busy */
	tcase_add_test(files, test_ranges);
	tcase_add_test(files, test_lengths_of_names);
	tcase_add_test(files, test_large_files);
	tcase_add_test(files, test_very_many);
	tcase_add_test(files, test_long_variables);
	suite_add_tcase(s, files);
	return s;
}

UNIT_MAIN(suite)
