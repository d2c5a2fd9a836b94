/* Workers as somebody else and with what they are given: what a child then is, which step says what
 * it could not become, its pipe in each form, and its environment. Where the tests are run by one
 * who may not change users, that every way into it is refused. */
#include "os/rundir.h"
#include "process/spawn.h"
#include "unit/support/process/spawned.h"
#include "unit/support/worker/workers_rig.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <linux/capability.h>
#include <linux/keyctl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define OTHER_USER  4000000123u /* nobody's */
#define OTHER_GROUP 4000000124u

static gid_t groups[] = {OTHER_GROUP, 4000000125u};
static const struct rights other = {.is_other = true,
	.is_confined = true,
	.uid = OTHER_USER,
	.gid = OTHER_GROUP,
	.groups = groups,
	.group_count = 2};

static char folder[] = "/tmp/wpool-unit-XXXXXX";
static char program[64]; /* a copy of this one, where every user reaches it */

/* ---------- the child ---------- */

static void dump_ids(void)
{
	uid_t uids[3];
	gid_t gids[3], list[64];
	getresuid(&uids[0], &uids[1], &uids[2]);
	getresgid(&gids[0], &gids[1], &gids[2]);
	for (int i = 0; i < 3; i++)
		printf("uid %u gid %u\n", uids[i], gids[i]);
	int count = getgroups(64, list);
	for (int i = 0; i < count; i++)
		printf("group %u\n", list[i]);
}

/* A file of /proc, its lines as they are. */
static void dump_file(const char *path)
{
	char line[256];
	FILE *file = fopen(path, "r");
	while (file && fgets(line, sizeof line, file))
		printf("%s", line);
}

static int dump(void)
{
	char path[256];
	struct rlimit limit;
	int death = 0;
	mode_t mask = umask(0);
	dump_ids();
	prctl(PR_GET_PDEATHSIG, &death);
	getrlimit(RLIMIT_NOFILE, &limit);
	printf("death %d\n", death);
	printf("keyring %ld\n",
		syscall(SYS_keyctl, KEYCTL_GET_KEYRING_ID, KEY_SPEC_SESSION_KEYRING, 0));
	printf("nofile %lu:%lu\n", (unsigned long)limit.rlim_cur, (unsigned long)limit.rlim_max);
	getrlimit(RLIMIT_CORE, &limit);
	printf("core %lu:%lu\n", (unsigned long)limit.rlim_cur, (unsigned long)limit.rlim_max);
	printf("umask %03o\n", mask);
	printf("cwd %s\n", getcwd(path, sizeof path));
	printf("nice %d\n", getpriority(PRIO_PROCESS, 0));
	printf("stdout %d\n", open("/proc/self/fd/1", O_WRONLY) >= 0);
	dump_file("/proc/self/status");
	dump_file("/proc/self/autogroup");
	return 0;
}

static struct spawned child;

static void spawn_it(const struct spawn_request *request)
{
	struct exit_info failure;
	ck_assert_int_eq(spawn_process(request, &child, &failure), RC_OK);
}

/* What `dump` says, to the end. */
static const char *dumped(const struct rights *rights, const char *where)
{
	static char text[65536];
	char *command[] = {program, (char *)"dump", NULL};
	size_t len = 0;
	ssize_t n;
	spawn_it(&(struct spawn_request){
		.command = command, .environment = environ, .rights = rights, .folder = where});
	do {
		spawned_await(child.output);
		n = read(child.output, text + len, sizeof text - 1 - len);
		len += n > 0 ? (size_t)n : 0;
	} while (n > 0);
	text[len] = '\0';
	spawned_reap(&child);
	return text;
}

static void expect_line(const char *text, const char *format, ...) PRINTF_LIKE(2, 3);
static void expect_line(const char *text, const char *format, ...)
{
	char line[200] = "\n";
	va_list arguments;
	va_start(arguments, format);
	int len = vsnprintf(line + 1, sizeof line - 2, format, arguments);
	va_end(arguments);
	line[len + 1] = '\n';
	ck_assert_msg(strncmp(text, line + 1, (size_t)len + 1) == 0 || strstr(text, line),
		"no%sin:\n%s", line, text);
}

static void expect_failure(const struct spawn_request *request, const char *stage, int error)
{
	struct exit_info failure = {EXIT_NONE, 0, NULL};
	spawn_it(request);
	spawned_await(child.start);
	ck_assert_int_eq(spawn_outcome(child.start, &failure), SPAWN_FAILED);
	ck_assert_str_eq(failure.stage, stage);
	ck_assert_int_eq(failure.number, error);
	spawned_reap(&child);
}

/* A folder that only we may enter. */
static void make_closed(char path[80])
{
	snprintf(path, 80, "%s/closed", folder);
	ck_assert(mkdir(path, 0700) == 0 || errno == EEXIST);
	ck_assert_int_eq(chmod(path, 0700), 0);
}

/* The session's keys of the parent are out of reach; -1: this kernel has no keyrings. */
static void expect_other_keyring(const char *text)
{
	char line[64];
	long ours = syscall(SYS_keyctl, KEYCTL_GET_KEYRING_ID, KEY_SPEC_SESSION_KEYRING, 0);
	snprintf(line, sizeof line, "\nkeyring %ld\n", ours);
	ck_assert_ptr_nonnull(strstr(text, "\nkeyring "));
	ck_assert(ours < 0 || !strstr(text, line));
}

/* ---------- who it is ---------- */

START_TEST(a_worker_becomes_the_configured_user)
{
	char *command[] = {program, (char *)"dump", NULL};
	if (geteuid() != 0) {
		expect_failure(
			&(struct spawn_request){
				.command = command, .environment = environ, .rights = &other},
			"its pipes", EPERM);
		return;
	}
	syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL); /* one that could be inherited */
	const char *text = dumped(&other, NULL);
	ck_assert_ptr_eq(strstr(text, "uid 0 "), NULL);
	ck_assert_ptr_eq(strstr(text, "gid 0\n"), NULL);
	expect_line(text, "uid %u gid %u", OTHER_USER, OTHER_GROUP);
	expect_line(text, "group %u", groups[0]);
	expect_line(text, "group %u", groups[1]);
	expect_line(text, "Groups:\t%u %u ", groups[0], groups[1]); /* and no other */
	expect_line(text, "NoNewPrivs:\t1");
	expect_line(text, "CapPrm:\t0000000000000000");
	expect_line(text, "CapEff:\t0000000000000000");
	expect_line(text, "CapAmb:\t0000000000000000");
	expect_line(text, "CapBnd:\t0000000000000000");
	expect_other_keyring(text);
	expect_line(text, "death 9"); /* which a change of user undoes */
	expect_line(text, "stdout 1");
}
END_TEST

/* No root any more, but with what it takes to change users, as a service manager may give it. */
static void become_a_service(void)
{
	const unsigned needed =
		1u << CAP_CHOWN | 1u << CAP_KILL | 1u << CAP_SETGID | 1u << CAP_SETUID;
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	const struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {
		{.effective = needed, .permitted = needed, .inheritable = needed}};
	ck_assert_int_eq(prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0), 0);
	ck_assert_int_eq(setresuid(65534, 65534, 65534), 0);
	ck_assert_int_eq(syscall(SYS_capset, &header, data), 0);
	for (unsigned long right = CAP_CHOWN; right <= CAP_SETUID; right++)
		if (needed & 1u << right)
			ck_assert_int_eq(
				prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, right, 0, 0), 0);
}

START_TEST(capabilities_are_not_passed_to_another_user)
{
	if (geteuid() != 0) { /* nor can one who has none give any */
		ck_assert_int_lt(setresuid(0, 0, 0), 0);
		return;
	}
	become_a_service();
	const char *text = dumped(&other, NULL);
	expect_line(text, "uid %u gid %u", OTHER_USER, OTHER_GROUP);
	expect_line(text, "CapPrm:\t0000000000000000");
	expect_line(text, "CapEff:\t0000000000000000");
	expect_line(text, "CapAmb:\t0000000000000000");
}
END_TEST

/* ---------- what it has ---------- */

START_TEST(limits_mask_folder_and_priority_are_set)
{
	struct rights rights = {.has_mask = true,
		.mask = 0137,
		.nice = 3,
		.limits = {{RLIMIT_NOFILE, {50, 60}}, {RLIMIT_CORE, {0, 0}}},
		.limit_count = 2};
	int before = getpriority(PRIO_PROCESS, 0);
	const char *text = dumped(&rights, "/usr");
	expect_line(text, "uid %u gid %u", geteuid(), getegid());
	expect_line(text, "nofile 50:60");
	expect_line(text, "core 0:0");
	expect_line(text, "umask 137");
	expect_line(text, "cwd /usr");
	expect_line(text, "nice %d", before + 3 > 19 ? 19 : before + 3);
	expect_line(text, "NoNewPrivs:\t0");
	rights.is_confined = true;
	expect_line(dumped(&rights, NULL), "NoNewPrivs:\t1");
}
END_TEST

/* The priority within a session means nothing where the kernel shares out by session. */
START_TEST(the_priority_of_the_session_is_set)
{
	struct rights rights = {.nice = 40}; /* the kernel makes it 19 */
	const char *text = dumped(&rights, NULL);
	expect_line(text, "nice 19");
	const char *shared = strstr(text, "/autogroup-");
	if (shared) /* where only root may ask for it more than once in a moment */
		ck_assert_msg(strstr(shared, " nice 19\n") || geteuid() != 0, "%s", shared);
	else
		ck_assert_int_lt(access("/proc/self/autogroup", R_OK), 0);
}
END_TEST

/* Each in its turn, with the setting's name. */
START_TEST(a_failed_step_names_its_setting)
{
	char *command[] = {program, (char *)"dump", NULL};
	struct rights limits = {
		.limits = {{RLIMIT_NOFILE, {RLIM_INFINITY, RLIM_INFINITY}}}, .limit_count = 1};
	static gid_t too_many[NGROUPS_MAX + 1]; /* for setgroups(2) */
	struct rights nowhere = other;
	char closed[80];
	nowhere.uid = (uid_t)-2;
	nowhere.groups = too_many;
	nowhere.group_count = NGROUPS_MAX + 1;
	make_closed(closed);
	struct spawn_request request = {.command = command, .environment = environ};
	request.rights = &limits;
	expect_failure(&request, "rlimits", EPERM); /* above what the kernel has for anybody */
	request.rights = NULL;
	request.folder = "/no/such/folder";
	expect_failure(&request, "cwd", ENOENT);
	request.folder = NULL;
	request.reach = "/no/such/file";
	expect_failure(&request, "reaching its pipe", ENOENT);
	if (geteuid() != 0)
		return;
	request.rights = &other;
	request.reach = closed;
	expect_failure(&request, "reaching its pipe", EACCES);
	request.folder = closed;
	expect_failure(&request, "cwd", EACCES);
	request.rights = &nowhere;
	expect_failure(&request, "group", EINVAL);
}
END_TEST

/* ---------- its pipe ---------- */

START_TEST(a_worker_of_another_user_can_open_its_pipe)
{
	static const enum pipe_form forms[] = {PIPE_PATH, PIPE_FIFO, PIPE_COREFX};
	struct workers_rig rig;
	struct stat status;
	workers_rig_open_as(&rig, forms[_i], "echo", 1, program, &other);
	workers_request(rig.workers, 0, 1, SLOT_SPAWN);
	if (geteuid() != 0) {
		const struct event *gone = workers_rig_expect(&rig, SLOT_GONE);
		ck_assert_int_eq(gone->slot.exit.kind, EXIT_NOT_STARTED);
		ck_assert_int_eq(gone->slot.exit.number, EPERM);
		ck_assert_str_eq(gone->slot.exit.stage, forms[_i] == PIPE_FIFO ? "fifo" : "socket");
	} else {
		workers_rig_expect(&rig, SLOT_READY);
		ck_assert_int_eq(workers_rig_send(&rig, 0, 100), SEND_OK);
		workers_rig_expect_status(&rig, STATUS_DONE);
		workers_request(rig.workers, 0, 1, SLOT_QUIT);
		workers_rig_expect_gone(&rig, EXIT_STATUS, 0);
	}
	/* To be reached, not to be listed. */
	ck_assert_int_eq(stat(rundir_path(rig.rundir), &status), 0);
	ck_assert_int_eq(status.st_mode & 07777, 0711);
	workers_rig_close(&rig);
}
END_TEST

/* Where only we may go is no place for it, if there is another. */
START_TEST(a_run_directory_for_others_is_open_to_them)
{
	struct rundir *rundir;
	char closed[80];
	make_closed(closed);
	setenv("RUNTIME_DIRECTORY", closed, 1);
	ck_assert_int_eq(rundir_new(false, &rundir), RC_OK);
	ck_assert_int_eq(strncmp(rundir_path(rundir), closed, strlen(closed)), 0);
	rundir_free(rundir);
	ck_assert_int_eq(rundir_new(true, &rundir), RC_OK);
	ck_assert_int_ne(strncmp(rundir_path(rundir), closed, strlen(closed)), 0);
	rundir_free(rundir);
	ck_assert_int_eq(chmod(closed, 0711), 0);
	ck_assert_int_eq(rundir_new(true, &rundir), RC_OK);
	ck_assert_int_eq(strncmp(rundir_path(rundir), closed, strlen(closed)), 0);
	rundir_free(rundir);
}
END_TEST

/* ---------- the suite ---------- */

static void copy_program(void)
{
	int from = open(unit_own_path(), O_RDONLY | O_CLOEXEC);
	int to = open(program, O_WRONLY | O_CREAT | O_CLOEXEC, 0755);
	ck_assert(from >= 0 && to >= 0);
	while (sendfile(to, from, NULL, 1 << 20) > 0)
		;
	ck_assert_int_eq(fchmod(to, 0755), 0);
	close(from);
	close(to);
}

static void set_up(void)
{
	ck_assert_ptr_nonnull(mkdtemp(folder));
	ck_assert_int_eq(chmod(folder, 0755), 0);
	snprintf(program, sizeof program, "%s/program", folder);
	copy_program();
}

static void tear_down(void)
{
	char closed[80];
	snprintf(closed, sizeof closed, "%s/closed", folder);
	rmdir(closed);
	unlink(program);
	ck_assert_int_eq(rmdir(folder), 0);
}

static Suite *suite(void)
{
	const TTest *const tests[] = {a_worker_becomes_the_configured_user,
		capabilities_are_not_passed_to_another_user,
		limits_mask_folder_and_priority_are_set, the_priority_of_the_session_is_set,
		a_failed_step_names_its_setting, a_run_directory_for_others_is_open_to_them};
	Suite *s = suite_create("worker/rights");
	TCase *copied = tcase_create("copied");
	/* Unchecked: some tests end as somebody who may not remove what was made. */
	tcase_add_unchecked_fixture(copied, set_up, tear_down);
	for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
		tcase_add_test(copied, tests[i]);
	tcase_add_loop_test(copied, a_worker_of_another_user_can_open_its_pipe, 0, 3);
	suite_add_tcase(s, copied);
	return s;
}

int main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "dump") == 0)
		return dump();
	if (argc == 3)
		return child_run(argv[1], argv[2]);
	setenv("CK_DEFAULT_TIMEOUT", "60", 0);
	return unit_run(suite());
}
