/* Limits of control groups, in a folder with the kernel's files: what is written where, and what is
 * read from them. */
#include "process/cgroup_limits.h"
#include "unit/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/wpool-unit-XXXXXX";
static int group;

static void put(const char *name, const char *text)
{
	int file = openat(group, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	ck_assert_int_ge(file, 0);
	ck_assert_int_eq(write(file, text, strlen(text)), (ssize_t)strlen(text));
	close(file);
}

static void expect(const char *name, const char *text)
{
	char found[256];
	int file = openat(group, name, O_RDONLY | O_CLOEXEC);
	ck_assert_int_ge(file, 0);
	ssize_t len = read(file, found, sizeof found - 1);
	ck_assert_int_ge(len, 0);
	found[len] = '\0';
	close(file);
	ck_assert_str_eq(found, text);
}

static const char *const files[] = {"pids.max", "memory.max", "memory.oom.group", "memory.events",
	"cgroup.controllers", "cgroup.subtree_control", "cgroup.procs"};

static void set_up(void)
{
	ck_assert_ptr_nonnull(mkdtemp(folder));
	group = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_ge(group, 0);
	for (size_t i = 0; i < sizeof files / sizeof *files; i++)
		put(files[i], "");
}

static void tear_down(void)
{
	for (size_t i = 0; i < sizeof files / sizeof *files; i++)
		unlinkat(group, files[i], 0);
	close(group);
	ck_assert_int_eq(rmdir(folder), 0);
}

START_TEST(limits_are_written)
{
	struct cgroup_limits none = {0}, some = {.processes = 20},
			     all = {.processes = 7, .memory_bytes = 67108864};
	ck_assert(!cgroup_limits_are_set(&none) && cgroup_limits_are_set(&some));
	ck_assert(cgroup_limits_write(group, &none));
	expect("pids.max", "");
	ck_assert(cgroup_limits_write(group, &some));
	expect("pids.max", "20");
	expect("memory.max", "");
	put("pids.max", "");
	ck_assert(cgroup_limits_write(group, &all));
	expect("pids.max", "7");
	expect("memory.max", "67108864");
	expect("memory.oom.group", "1"); /* not one process of a worker without the others */
	unlinkat(group, "memory.oom.group", 0);
	ck_assert(!cgroup_limits_write(group, &all));
	ck_assert_int_eq(errno, ENOENT);
	ck_assert(cgroup_limits_write(group, &some));
}
END_TEST

START_TEST(a_kill_for_its_memory_is_recognised)
{
	static const struct {
		const char *events;
		bool was_over;
	} cases[] = {
		{"", false}, {"low 0\nhigh 0\nmax 0\noom 0\noom_kill 0\noom_group_kill 0\n", false},
		{"low 0\nhigh 0\nmax 31\noom 0\noom_kill 0\n", false}, /* memory was reclaimed */
		{"low 0\nhigh 0\nmax 31\noom 1\noom_kill 3\noom_group_kill 1\n", true},
		{"low 0\nhigh 0\nmax 0\noom 0\noom_kill 1\n", false}, /* the machine's */
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		put("memory.events", cases[i].events);
		ck_assert_msg(cgroup_limits_was_over_memory(group) == cases[i].was_over, "%s",
			cases[i].events);
	}
	unlinkat(group, "memory.events", 0);
	ck_assert(!cgroup_limits_was_over_memory(group));
}
END_TEST

START_TEST(controllers_are_looked_up_whole)
{
	static const struct {
		const char *there;
		bool is_enough;
	} cases[] = {{"cpuset cpu io memory hugetlb pids rdma\n", true}, {"pids memory", true},
		{"hugetlb\n", false}, {"memory\n", false}, {"memory mypids pids2\n", false},
		{"", false}, {"\n", false}};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		put("cgroup.controllers", cases[i].there);
		ck_assert_msg(cgroup_controllers_are_available(group, CGROUP_LIMITS_CONTROLLERS) ==
				      cases[i].is_enough,
			"%s", cases[i].there);
	}
}
END_TEST

/* In a group that may do it as it is. */
START_TEST(controllers_are_handed_down_once)
{
	const pid_t nobody[] = {0};
	ck_assert(cgroup_controllers_enable_above(group, "pids memory", "leaf", nobody));
	expect("cgroup.subtree_control", "+pids +memory");
	put("cgroup.subtree_control", "memory pids\n");
	ck_assert(cgroup_controllers_enable(group, "pids memory"));
	expect("cgroup.subtree_control", "memory pids\n");
	cgroup_controllers_disable_above(group, "pids memory", "leaf"); /* there is no leaf */
	expect("cgroup.subtree_control", "memory pids\n");
	unlinkat(group, "cgroup.subtree_control", 0);
	ck_assert(!cgroup_controllers_enable_above(group, "pids", "leaf", nobody));
	ck_assert_int_eq(errno, ENOENT);
	ck_assert_int_lt(faccessat(group, "leaf", F_OK, 0), 0);
}
END_TEST

START_TEST(what_is_in_the_leaf_moves_back)
{
	ck_assert_int_eq(mkdirat(group, "leaf", 0700), 0);
	put("leaf/cgroup.procs", "4711\n");
	cgroup_controllers_disable_above(group, "pids memory", "leaf");
	expect("cgroup.subtree_control", "-pids -memory");
	expect("cgroup.procs", "4711");
	unlinkat(group, "leaf/cgroup.procs", 0);
	cgroup_controllers_disable_above(group, "pids memory", "leaf");
	ck_assert_int_lt(faccessat(group, "leaf", F_OK, 0), 0);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("process/cgroup_limits");
	TCase *pretended = tcase_create("pretended");
	tcase_add_checked_fixture(pretended, set_up, tear_down);
	tcase_add_test(pretended, limits_are_written);
	tcase_add_test(pretended, a_kill_for_its_memory_is_recognised);
	tcase_add_test(pretended, controllers_are_looked_up_whole);
	tcase_add_test(pretended, controllers_are_handed_down_once);
	tcase_add_test(pretended, what_is_in_the_leaf_moves_back);
	suite_add_tcase(s, pretended);
	return s;
}

UNIT_MAIN(suite)
