/* Who may use the control socket: neither a worker, however far from it a process of its own is,
 * nor other users; operators by their group. Nobody else can keep the socket from being made. */
#include "harness/child.h"
#include "harness/control.h"
#include "harness/deadline.h"
#include "harness/http.h"
#include "system/system.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define OPERATORS 1     /* a group */
#define STRANGER  65534 /* a user, and its group */
#define OTHER     65533 /* the user of a worker that is in a group of operators */

/* As itself, from a session of its own, and as a daemon without an environment. */
static const char attack[] =
	"ask() { \"$1\" \"$2\" --socket \"$3\" >\"$4.part\" 2>&1; mv \"$4.part\" \"$4\"; }\n"
	"if [ \"$1\" = ask ]; then shift; ask \"$@\"; exit; fi\n"
	"[ ! -e \"$3/once\" ] || exec \"$4\"\n"
	": >\"$3/once\"\n"
	"ask \"$1\" stop \"$2\" \"$3/direct\"\n"
	"setsid sh \"$0\" ask \"$1\" stop \"$2\" \"$3/session\" &\n"
	"(setsid env -i sh \"$0\" ask \"$1\" stop \"$2\" \"$3/daemon\" &)\n"
	"(setsid env -i sh \"$0\" ask \"$1\" logs \"$2\" \"$3/logs\" &)\n"
	"(setsid env -i sh \"$0\" ask \"$1\" status \"$2\" \"$3/status\" &)\n"
	"exec \"$4\"\n";

static char *await_file(const char *name)
{
	char *path = scratch_path(fixture.folder, name);
	int64_t deadline = deadline_in(DEADLINE_DEFAULT_MS);
	while (access(path, F_OK) != 0)
		fixture_poll(deadline, 10, name);
	char *text = scratch_read(path, NULL);
	free(path);
	return text;
}

START_TEST(workers_are_refused)
{
	static const char *const names[] = {"direct", "session", "daemon", "logs", "status"};
	char *script = scratch_path(fixture.folder, "attack");
	scratch_write(script, attack);
	struct proc *serve = fixture_serve_pools(scratch_text(
		"- {name: first, queue: %s, workers: 1, command: [/bin/sh, %s, %s, %s, %s, %s]}\n",
		fixture.queue, script, fixture_built("wpool"), control_socket(), fixture.folder,
		fixture_built("workers/echo")));
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		control_expect_text(await_file(names[i]), "the control socket is not for workers");
	ck_assert_str_eq(control_text(control_get_json("/v1/status"), "phase"), "serving");
	control_await("/readyz", 200);
	fixture_stop(serve);
}
END_TEST

/* The status of a GET by a process with this user and this further group (0: none), or -errno if it
 * cannot connect. */
static int get_as(uid_t user, gid_t group)
{
	int status, out[2], result = -1;
	ck_assert_int_eq(pipe(out), 0);
	pid_t pid = child_fork();
	if (pid == 0) {
		struct sockaddr_un name = {.sun_family = AF_UNIX};
		strcpy(name.sun_path, control_socket());
		int fd = socket(AF_UNIX, SOCK_STREAM, 0);
		if ((geteuid() == 0 && setgroups(group > 0, &group) != 0) ||
			(user > 0 && geteuid() == 0 && setgid(user) != 0) || setuid(user) != 0)
			_exit(1);
		if (connect(fd, (struct sockaddr *)&name, sizeof name) != 0) {
			result = -errno;
		} else {
			close(fd);
			result = http_request(control_socket(), "GET", "/v1/logs").status;
		}
		_exit(write(out[1], &result, sizeof result) != sizeof result);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	ck_assert_int_eq(read(out[0], &result, sizeof result), sizeof result);
	close(out[0]);
	close(out[1]);
	return result;
}

/* Without root a test has no other user: then only the socket's group and mode are looked at. */
START_TEST(operators_of_the_group_are_answered)
{
	gid_t group = geteuid() == 0 ? OPERATORS : getegid();
	struct stat status;
	const char *const environment[] = {
		scratch_text("WPOOL_CONTROL_GROUP=%u", (unsigned)group), NULL};
	struct proc *serve = fixture_serve_program("wpool", environment,
		scratch_text("- {queue: %s, workers: 1, command: [%s]}\n", fixture.queue,
			fixture_built("workers/echo")));
	proc_expect(serve, "control socket: ");
	ck_assert_int_eq(lstat(control_socket(), &status), 0);
	ck_assert_int_eq(status.st_mode & 0777, 0660);
	ck_assert_uint_eq(status.st_gid, group);
	if (geteuid() == 0) {
		ck_assert_int_eq(get_as(STRANGER, OPERATORS), 200);
		ck_assert_int_eq(get_as(STRANGER, 0), -EACCES);
	}
	fixture_stop(serve);
}
END_TEST

START_TEST(strangers_cannot_connect)
{
	struct proc *serve = fixture_serve_echo(NULL);
	if (geteuid() == 0) {
		ck_assert_int_eq(get_as(STRANGER, 0), -EACCES);
		ck_assert_int_eq(get_as(STRANGER, OPERATORS), -EACCES);
	}
	ck_assert_int_eq(get_as(geteuid(), 0), 200);
	fixture_stop(serve);
}
END_TEST

/* With ProtectProc=invisible, as in the unit, /proc does not show from whom a client of our user
 * comes. The unit's reload must be answered in spite of that. */
START_TEST(reload_of_the_unit_is_answered)
{
	static const char key[] = "\nExecReload=";
	char *unit = scratch_read("env/wpool.service", NULL);
	ck_assert_ptr_nonnull(unit);
	const char *reload = strstr(unit, key);
	ck_assert_ptr_nonnull(reload);
	bool is_root = reload[strlen(key)] == '+';
	const char *const hide[] = {
		"unshare", "-m", "mount", "-t", "proc", "-o", "hidepid=2", "none", "/proc", NULL};
	if (geteuid() != 0 || proc_wait(proc_start(fixture.folder, hide, NULL)) != 0) {
		fixture_not_run("reload_of_the_unit_is_answered", "only root can hide processes");
		return;
	}
	const char *program = fixture_public_copy("wpool");
	char *folder = scratch_path(fixture.folder, "own");
	char *socket_path = scratch_text("%s/control.sock", folder);
	ck_assert_int_eq(mkdir(folder, 0700), 0);
	ck_assert_int_eq(chown(folder, STRANGER, STRANGER), 0);
	char *script =
		scratch_text("mount -t proc -o hidepid=2 none /proc && program=$1 && shift 2 && "
			     "WPOOL_CONTROL_SOCKET=%s exec setpriv --reuid %d --regid %d "
			     "--clear-groups $program \"$@\"",
			socket_path, STRANGER, STRANGER);
	struct proc *serve = fixture_serve_under(
		(const char *const[]){"unshare", "-m", "sh", "-c", script, "sh", program, NULL},
		scratch_text("- {queue: %s, workers: 1, command: [%s]}\n", fixture.queue,
			fixture_public_copy("workers/echo")));
	proc_expect(serve, "control socket: ");
	const char *const own[] = {"setpriv", "--reuid", "65534", "--regid", "65534",
		"--clear-groups", program, "reload", "--socket", socket_path, NULL};
	struct proc *client = proc_start(fixture.folder, is_root ? own + 6 : own, NULL);
	ck_assert_int_eq(proc_wait(client), 0);
	fixture_stop(serve);
}
END_TEST

/* A wpool that is not root may start workers of other users (CAP_SETUID). If /proc hides them, and
 * such a user is in the group of the socket, only root is known not to be one of them. */
START_TEST(hidden_workers_of_other_users_are_refused)
{
	const char *const hide[] = {
		"unshare", "-m", "mount", "-t", "proc", "-o", "hidepid=2", "none", "/proc", NULL};
	if (geteuid() != 0 || proc_wait(proc_start(fixture.folder, hide, NULL)) != 0) {
		fixture_not_run("hidden_workers_of_other_users_are_refused",
			"only root can hide processes");
		return;
	}
	const char *program = fixture_public_copy("wpool");
	const char *worker = fixture_public_copy("workers/echo");
	char *folder = scratch_path(fixture.folder, "own");
	char *answers = scratch_path(fixture.folder, "answers");
	char *socket_path = scratch_text("%s/control.sock", folder);
	ck_assert_int_eq(mkdir(folder, 0700), 0);
	ck_assert_int_eq(chown(folder, STRANGER, OPERATORS), 0);
	ck_assert_int_eq(chmod(folder, 0710), 0);
	ck_assert_int_eq(mkdir(answers, 0700), 0);
	ck_assert_int_eq(chown(answers, OTHER, OPERATORS), 0);
	char *script = scratch_text(
		"mount -t proc -o hidepid=2 none /proc && program=$1 && shift 2 && "
		"export WPOOL_CONTROL_SOCKET=%s WPOOL_CONTROL_GROUP=%d && "
		"exec setpriv --reuid %d --regid %d --groups %d "
		"--inh-caps +setuid,+setgid,+chown,+kill --ambient-caps +setuid,+setgid,+chown,+kill "
		"$program \"$@\"",
		socket_path, OPERATORS, STRANGER, STRANGER, OPERATORS);
	char *attack_once = scratch_text("[ -e %s/logs ] || { %s logs --socket %s >%s/part 2>&1; "
					 "mv %s/part %s/logs; }; exec %s",
		answers, program, socket_path, answers, answers, answers, worker);
	struct proc *serve = fixture_serve_under(
		(const char *const[]){"unshare", "-m", "sh", "-c", script, "sh", program, NULL},
		scratch_text("- {queue: %s, workers: 1, user: %d, group: %d, command: [/bin/sh, "
			     "-c, \"%s\"]}\n",
			fixture.queue, OTHER, OPERATORS, attack_once));
	proc_expect(serve, "control socket: ");
	control_expect_text(await_file("answers/logs"), "the control socket is not for workers");
	struct http_reply reply = http_request(socket_path, "GET", "/v1/logs");
	ck_assert_int_eq(reply.status, 200);
	http_release(&reply);
	fixture_stop(serve);
}
END_TEST

/* Every user can lock a folder that it can read. */
START_TEST(locked_folder_is_no_obstacle)
{
	int folder = open(fixture.folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_ge(folder, 0);
	ck_assert_int_eq(flock(folder, LOCK_EX | LOCK_NB), 0);
	struct proc *serve = fixture_serve_echo(NULL);
	control_get("/livez", 200);
	fixture_stop(serve);
	close(folder);
}
END_TEST

int main(void)
{
	return SYSTEM_RUN("control_peers", {workers_are_refused, 1},
		{operators_of_the_group_are_answered, 1}, {strangers_cannot_connect, 1},
		{reload_of_the_unit_is_answered, 1}, {hidden_workers_of_other_users_are_refused, 1},
		{locked_folder_is_no_obstacle, 1});
}
