/* Quotas of control groups, read from a tree of files like those of a kernel. */
#include "base/processors.h"

#include "unit/unit.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char root[] = "/tmp/wpool-processors-XXXXXX";

static void run_rm(void)
{
	pid_t pid = fork();
	if (pid == 0) {
		execlp("rm", "rm", "-rf", root, (char *)NULL);
		_exit(127);
	}
	int status;
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
}

static void open_root(void)
{
	ck_assert_ptr_nonnull(mkdtemp(root));
}

static void close_root(void)
{
	run_rm();
	strcpy(root + strlen(root) - 6, "XXXXXX");
}

/* Write a file and make its folders. */
static void put(const char *name, const char *text)
{
	char path[PATH_MAX];
	snprintf(path, sizeof path, "%s%s", root, name);
	for (char *at = strchr(path + strlen(root) + 1, '/'); at; at = strchr(at + 1, '/')) {
		*at = '\0';
		ck_assert(mkdir(path, 0700) == 0 || errno == EEXIST);
		*at = '/';
	}
	FILE *file = fopen(path, "we");
	ck_assert_ptr_nonnull(file);
	ck_assert_int_ge(fputs(text, file), 0);
	ck_assert_int_eq(fclose(file), 0);
}

static const char mount_1[] =
	"30 24 0:26 / /sys/fs/cgroup ro,nosuid - tmpfs tmpfs ro\n"
	"31 30 0:27 / /sys/fs/cgroup/cpuset rw shared:9 - cgroup cgroup rw,cpuset\n"
	"32 30 0:28 / /sys/fs/cgroup/cpu,cpuacct rw shared:10 - cgroup cgroup rw,cpu,cpuacct\n";
static const char mount_2[] =
	"30 24 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";

static uint32_t own_share(void)
{
	cpu_set_t own;
	ck_assert_int_eq(sched_getaffinity(0, sizeof own, &own), 0);
	return 1000 * (uint32_t)CPU_COUNT(&own);
}

/* none: no quota is found. */
#define NONE 0

static void expect_share(uint32_t share)
{
	struct processors processors;
	processors_find(&processors, root);
	ck_assert_uint_eq(processors.share, share == NONE ? own_share() : share);
	ck_assert_int_eq(processors.usage == PROCESSORS_OF_MACHINE, share == NONE);
}

START_TEST(a_machine_without_control_groups_has_those_of_its_affinity)
{
	struct processors processors;
	cpu_set_t one;
	open_root();
	expect_share(NONE);
	processors_find(&processors, "");
	ck_assert_uint_ge(processors.share, 1);
	ck_assert_uint_le(processors.share, own_share());
	CPU_ZERO(&one);
	for (size_t i = 0; CPU_COUNT(&one) == 0; i++) {
		CPU_SET(i, &one);
		if (sched_setaffinity(0, sizeof one, &one) < 0)
			CPU_ZERO(&one);
	}
	expect_share(NONE);
	processors_find(&processors, root);
	ck_assert_uint_eq(processors.share, 1000);
	ck_assert_uint_eq(processors_count(&processors), 1);
	close_root();
}
END_TEST

START_TEST(counts_are_rounded_up)
{
	static const uint32_t cases[][2] = {{1, 1}, {999, 1}, {1000, 1}, {1001, 2}, {2500, 3}};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		ck_assert_uint_eq(
			processors_count(&(struct processors){.share = cases[i][0]}), cases[i][1]);
}
END_TEST

START_TEST(quotas_of_version_2)
{
	static const struct {
		const char *max;
		uint32_t share;
	} cases[] = {{"50000 100000\n", 500}, {"10000 100000\n", 100}, {"1000 1000000\n", 1},
		{"1 1000000\n", 1}, {"9000000 10000000", 900}, {"max 100000\n", NONE},
		{"900000000000 100000\n", NONE}, {"0 100000\n", NONE}, {"-1 100000\n", NONE},
		{"50000 0\n", NONE}, {"50000\n", NONE}, {"", NONE}, {"fifty 100000\n", NONE},
		{"50000 -100000\n", NONE}, {"9223372036854775807 1\n", NONE}};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		open_root();
		put("/proc/self/cgroup", "0::/system.slice/wpool.service\n");
		put("/proc/self/mountinfo", mount_2);
		put("/sys/fs/cgroup/system.slice/wpool.service/cpu.max", cases[i].max);
		expect_share(cases[i].share);
		close_root();
	}
}
END_TEST

START_TEST(quotas_of_version_1)
{
	static const struct {
		const char *quota, *period;
		uint32_t share;
	} cases[] = {{"50000\n", "100000\n", 500}, {"-1\n", "100000\n", NONE},
		{"25000\n", "50000\n", 500}, {"", "100000\n", NONE}, {"50000\n", "", NONE},
		{"50000\n", "none\n", NONE}};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		open_root();
		put("/proc/self/cgroup",
			"5:cpuset:/other\n4:cpuacct,cpu:/docker/1\n0::/docker/1\n");
		put("/proc/self/mountinfo", mount_1);
		put("/sys/fs/cgroup/cpu,cpuacct/docker/1/cpu.cfs_quota_us", cases[i].quota);
		put("/sys/fs/cgroup/cpu,cpuacct/docker/1/cpu.cfs_period_us", cases[i].period);
		put("/sys/fs/cgroup/cpuset/other/cpu.cfs_quota_us", "1000\n");
		put("/sys/fs/cgroup/cpuset/other/cpu.cfs_period_us", "100000\n");
		expect_share(cases[i].share);
		close_root();
	}
}
END_TEST

/* Any group above has its own quota; the smallest holds. */
START_TEST(quotas_above_hold_as_well)
{
	static const struct {
		const char *own, *above, *top;
		uint32_t share;
		const char *group;
	} cases[] = {
		{"max 100000", "30000 100000", "max 100000", 300, "/a"},
		{"20000 100000", "30000 100000", "max 100000", 200, "/a/b"},
		{"max 100000", "max 100000", "10000 100000", 100, ""},
		{"20000 100000", "", "10000 100000", 100, ""},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct processors processors;
		char folder[PATH_MAX];
		open_root();
		put("/proc/self/cgroup", "0::/a/b\n");
		put("/proc/self/mountinfo", mount_2);
		put("/sys/fs/cgroup/a/b/cpu.max", cases[i].own);
		put("/sys/fs/cgroup/a/cpu.max", cases[i].above);
		put("/sys/fs/cgroup/cpu.max", cases[i].top);
		expect_share(cases[i].share);
		processors_find(&processors, root);
		snprintf(folder, sizeof folder, "%s/sys/fs/cgroup%s", root, cases[i].group);
		ck_assert_str_eq(processors.group, folder);
		close_root();
	}
}
END_TEST

/* What a container sees: the host's path and its own group mounted; or a path of its namespace. */
START_TEST(containers)
{
	static const struct {
		const char *path, *top, *folder;
	} cases[] = {
		{"/docker/77", "/docker/77", ""},
		{"/", "/", ""},
		{"/", "/docker/77", ""},
		{"/../../other", "/", ""},
		{"/docker/77/inner", "/docker/77", "/inner"},
		{"/docker/778", "/docker/77", ""},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char line[PATH_MAX], folder[PATH_MAX], file[PATH_MAX];
		open_root();
		snprintf(line, sizeof line, "3:cpu,cpuacct:%s\n", cases[i].path);
		put("/proc/self/cgroup", line);
		snprintf(line, sizeof line,
			"32 30 0:28 %s /cpu rw - cgroup cgroup rw,cpu,cpuacct\n", cases[i].top);
		put("/proc/self/mountinfo", line);
		snprintf(folder, sizeof folder, "/cpu%s", cases[i].folder);
		snprintf(file, sizeof file, "%.1000s/cpu.cfs_quota_us", folder);
		put(file, "40000\n");
		snprintf(file, sizeof file, "%.1000s/cpu.cfs_period_us", folder);
		put(file, "100000\n");
		expect_share(400);
		close_root();
	}
}
END_TEST

START_TEST(files_that_make_no_sense_are_no_quota)
{
	static const struct {
		const char *cgroup, *mountinfo;
	} cases[] = {
		{"", mount_2},
		{"nonsense\n", mount_2},
		{"0:\n", mount_2},
		{"0::/a", ""},
		{"0::/a\n", "30\n"},
		{"0::/a\n", "30 24 0:26 / /sys/fs/cgroup rw\n"},
		{"0::/a\n", "30 24 - cgroup2 cgroup2 rw\n"},
		{"0::/a\n", "30 24 0:26 / /sys/fs/cgroup rw - cgroup2\n"},
		{"1:cpu:/a\n", mount_2},
		{"1:name=cpu:/a\n1:cpuset,cpuacct:/a\n", mount_1},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		open_root();
		put("/proc/self/cgroup", cases[i].cgroup);
		put("/proc/self/mountinfo", cases[i].mountinfo);
		put("/sys/fs/cgroup/a/cpu.max", "10000 100000\n");
		put("/sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us", "10000\n");
		put("/sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_period_us", "100000\n");
		expect_share(NONE);
		close_root();
	}
}
END_TEST

/* ---------- idle ---------- */

START_TEST(idle_is_what_a_quota_has_left)
{
	struct processors processors;
	open_root();
	put("/proc/self/cgroup", "0::/a\n2:cpu:/b\n3:cpuacct:/c\n");
	put("/proc/self/mountinfo", "30 24 0:26 / /2 rw - cgroup2 cgroup2 rw\n"
				    "31 24 0:27 / /cpu rw - cgroup cgroup rw,cpu\n"
				    "32 24 0:28 / /cpuacct rw - cgroup cgroup rw,cpuacct\n");
	put("/2/a/cpu.max", "20000 100000\n");
	processors_find(&processors, root);
	ck_assert_int_eq(processors_idle(&processors, 10 * MTIME_SECOND), 2 * MTIME_SECOND);
	put("/2/a/cpu.stat", "nr_periods 3\nuser_usec 7\n");
	ck_assert_int_eq(processors_idle(&processors, 10 * MTIME_SECOND), 2 * MTIME_SECOND);
	put("/2/a/cpu.stat", "usage_usec 500000\nuser_usec 7\n");
	ck_assert_int_eq(processors_idle(&processors, 10 * MTIME_SECOND), 1500 * MTIME_MS);
	put("/cpu/b/cpu.cfs_quota_us", "10000\n");
	put("/cpu/b/cpu.cfs_period_us", "100000\n");
	processors_find(&processors, root);
	ck_assert_int_eq(processors_idle(&processors, 10 * MTIME_SECOND), MTIME_SECOND);
	put("/cpuacct/c/cpuacct.usage", "1200000000\n");
	ck_assert_int_eq(processors_idle(&processors, 10 * MTIME_SECOND), -200 * MTIME_MS);
	close_root();
}
END_TEST

/* Only those of our affinity; if a container counts in another way, all. */
START_TEST(idle_is_what_the_machine_counts)
{
	struct processors processors;
	char stat[PATH_MAX];
	long tick = MTIME_SECOND / sysconf(_SC_CLK_TCK);
	cpu_set_t own;
	open_root();
	processors_find(&processors, root);
	ck_assert_int_eq(processors_idle(&processors, MTIME_SECOND), MTIME_MS * own_share());
	put("/proc/stat", "cpu 0 0 0 0 0\ncpu0 0 0 0 0 0\nintr 5\n");
	ck_assert_int_eq(processors_idle(&processors, MTIME_SECOND), MTIME_MS * own_share());
	put("/proc/stat", "cpu  1 2 3 70 5 6\ncpu4095 1 2 3 4 5 6\nintr 5\n");
	ck_assert_int_eq(processors_idle(&processors, MTIME_SECOND), 75 * tick);
	ck_assert_int_eq(sched_getaffinity(0, sizeof own, &own), 0);
	int len = snprintf(stat, sizeof stat, "cpu  1 2 3 70000 5 6\ncpu4095 1 2 3 4 5 6\n");
	for (int i = 0; i < CPU_SETSIZE; i++)
		if (CPU_ISSET((size_t)i, &own) && len < PATH_MAX - 100)
			len += sprintf(stat + len, "cpu%d 1 2 3 40 2\n", i);
	put("/proc/stat", stat);
	ck_assert_int_eq(processors_idle(&processors, MTIME_SECOND), 42 * tick * CPU_COUNT(&own));
	close_root();
}
END_TEST

START_TEST(this_machine_has_a_figure_that_grows)
{
	struct processors processors;
	processors_find(&processors, "");
	mtime before = processors_idle(&processors, MTIME_SECOND);
	ck_assert_int_ge(processors_idle(&processors, 1000 * MTIME_SECOND), before);
}
END_TEST

static Suite *processors_suite(void)
{
	Suite *suite = suite_create("base/processors");
	UNIT_CASE(suite, "quotas", a_machine_without_control_groups_has_those_of_its_affinity,
		counts_are_rounded_up, quotas_of_version_2, quotas_of_version_1,
		quotas_above_hold_as_well, containers, files_that_make_no_sense_are_no_quota);
	UNIT_CASE(suite, "idle", idle_is_what_a_quota_has_left, idle_is_what_the_machine_counts,
		this_machine_has_a_figure_that_grows);
	return suite;
}

UNIT_MAIN(processors_suite)
