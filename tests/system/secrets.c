/* The broker's password stays with the supervisor: a worker of wpool's own user reaches neither the
 * supervisor nor the guard, and finds no password in its environment. */
#include "harness/control.h"
#include "harness/deadline.h"
#include "system/system.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Nobody else's. Root may read every process, so that a test by root serves as this user. */
#define USER "4000000151"

static const char *const as_user[] = {
	"setpriv", "--pdeathsig", "KILL", "--reuid", USER, "--regid", USER, "--clear-groups", NULL};
static const char *const as_is[] = {"env", NULL};

static const char *const *starter(void)
{
	return geteuid() == 0 ? as_user : as_is;
}

/* A copy that every user can execute: the build folder may be in a home folder. */
static const char *public_copy(const char *name)
{
	char *path =
		scratch_path(fixture.folder, strrchr(name, '/') ? strrchr(name, '/') + 1 : name);
	const char *const command[] = {"install", "-m", "755", fixture_built(name), path, NULL};
	struct proc *copy = proc_start(fixture.folder, command, NULL);
	ck_assert_int_eq(proc_wait(copy), 0);
	proc_free(copy);
	return path;
}

/* `wpool serve` as an unprivileged user with one worker, whose command is a list in YAML. */
static struct proc *serve_unprivileged(const char *settings, const char *command)
{
	fixture_open_witness();
	char *pools = scratch_text("- {name: tested, queue: %s, workers: 1, command: %s%s}\n",
		fixture.queue, command, settings);
	struct proc *serve = fixture_serve_under(starter(), pools);
	free(pools);
	return serve;
}

/* The session's priority, too, which the worker may not set while it is as hidden as wpool. */
START_TEST(worker_loses_nothing)
{
	char *command = scratch_text("[%s]", public_copy("workers/echo"));
	struct proc *serve = serve_unprivileged(", nice: 3", command);
	pid_t worker = fixture_worker_pid();
	char *path = scratch_text("/proc/%d/autogroup", (int)worker);
	char *session = scratch_read(path, NULL);
	if (session)
		ck_assert_msg(strstr(session, " nice 3\n"), "%s", session);
	ck_assert_int_eq(getpriority(PRIO_PROCESS, (id_t)worker), 3);
	fixture_stop(serve);
	free(session);
	free(path);
	free(command);
}
END_TEST

/* The guard finds a process that left the session of its worker by the mark in its environment. */
START_TEST(guard_still_finds_processes)
{
	char *command = scratch_text("[sh, -c, 'setsid sleep 1000 & echo stayed:$! >&2; exec %s']",
		public_copy("workers/echo"));
	struct proc *serve = serve_unprivileged("", command);
	pid_t worker = fixture_worker_pid();
	proc_expect(serve, "stayed:");
	char *lines = proc_stderr(serve);
	const char *number = strstr(lines, "stayed:");
	ck_assert_ptr_nonnull(number);
	pid_t daemon = atoi(number + strlen("stayed:"));
	ck_assert_int_gt(daemon, 1);
	proc_signal(serve, SIGKILL);
	proc_expect_gone(worker);
	proc_expect_gone(daemon);
	free(lines);
	free(command);
}
END_TEST

static void expect_each(struct proc *serve, const char *who, const char *result)
{
	static const char *const attempts[] = {"environ", "mem", "maps", "auxv", "fd", "map_files",
		"descriptor", "copy", "ptrace"};
	for (size_t i = 0; i < sizeof attempts / sizeof *attempts; i++) {
		char *line = scratch_text("spy: %s %s: %s", who, attempts[i], result);
		ck_assert_msg(
			proc_has_logged(serve, line), "missing: %s\n%s", line, proc_stderr(serve));
		free(line);
	}
}

START_TEST(worker_of_same_user_reads_no_memory)
{
	char *command =
		scratch_text("[%s, %s]", public_copy("workers/spy"), public_copy("workers/echo"));
	struct proc *serve = serve_unprivileged("", command);
	proc_expect(serve, "spy: done");
	/* That each attempt can succeed. */
	expect_each(serve, "own child", "open");
	expect_each(serve, "supervisor", "refused");
	expect_each(serve, "guard", "refused");
	ck_assert_int_gt(fixture_worker_pid(), 1);
	fixture_stop(serve);
	free(command);
}
END_TEST

/* Whether the user may read it in the process. */
static bool user_can_read_environment(pid_t pid)
{
	char *path = scratch_text("/proc/%d/environ", (int)pid);
	const char *const command[] = {
		"setpriv", "--reuid", USER, "--regid", USER, "--clear-groups", "cat", path, NULL};
	struct proc *reader = proc_start(fixture.folder, command, NULL);
	bool can = proc_wait(reader) == 0;
	proc_free(reader);
	free(path);
	return can;
}

/* Before its first instruction wpool cannot hide anything. The loader waits there, for a library
 * that is a FIFO. `make install` gives the program the second mode. */
START_TEST(program_that_its_user_cannot_read_is_hidden_from_its_start)
{
	static const struct {
		mode_t mode;
		bool is_open;
	} cases[] = {{0755, true}, {0711, false}};
	if (geteuid() != 0) {
		fixture_not_run("program_that_its_user_cannot_read_is_hidden_from_its_start",
			"only root can own a program of another user");
		return;
	}
	const char *program = fixture_public_copy("wpool");
	char *fifo = scratch_path(fixture.folder, "fifo");
	char *preload = scratch_text("LD_PRELOAD=%s", fifo);
	ck_assert_int_eq(chmod(program, cases[_i].mode), 0);
	ck_assert_int_eq(mkfifo(fifo, 0600), 0);
	ck_assert_int_eq(chmod(fifo, 0644), 0);
	/* Not by setpriv itself, which has kept capabilities until then. */
	struct proc *starting = proc_start(fixture.folder,
		(const char *const[]){"setpriv", "--reuid", USER, "--regid", USER, "--clear-groups",
			"env", preload, program, "--version", NULL},
		NULL);
	char *path = scratch_text("/proc/%d/comm", (int)proc_pid(starting)), *name = NULL;
	int64_t deadline = deadline_in(DEADLINE_DEFAULT_MS);
	while (!(name = scratch_read(path, NULL)) || strcmp(name, "wpool\n") != 0) {
		free(name);
		fixture_poll(deadline, 5, "the program is loaded");
	}
	ck_assert(user_can_read_environment(proc_pid(starting)) == cases[_i].is_open);
	int writer = open(fifo, O_WRONLY);
	ck_assert_int_ge(writer, 0);
	close(writer);
	ck_assert_int_eq(proc_wait(starting), 0);
	proc_free(starting);
	free(name);
	free(path);
	free(preload);
	free(fifo);
}
END_TEST

/* ---------- the environment ---------- */

/* Start `wpool serve` with this configuration and these variables; to be freed with proc_free. */
static struct proc *serve_file(const char *configuration, const char *const environment[])
{
	char *path = scratch_path(fixture.folder, "wpool.yaml");
	const char *const argv[] = {
		fixture_built("wpool"), "serve", "--config", path, "--log-format", "text", NULL};
	scratch_write(path, configuration);
	struct proc *serve = proc_start(fixture.folder, argv, environment);
	free(path);
	return serve;
}

/* If the tests may not change users, a worker of another user must be refused. */
START_TEST(secrets_stay_out_of_environment)
{
	static const struct {
		const char *settings;
		bool is_passed, needs_root;
	} cases[] = {{"", false, false}, {", env_pass: all", true, false},
		{", env_pass: [auto, LOGIN]", false, false}, {", user: nobody", false, true}};
	char *socket = scratch_text("WPOOL_CONTROL_SOCKET=%s/control.sock", fixture.folder);
	const char *const environment[] = {"AMQP_URL=amqp://x:y@127.0.0.1:1", "LOGIN=guest:guest",
		"RABBITMQ_PASSWORD=p", "PASSWORD=p", "HARMLESS=1", socket, NULL};
	char *configuration = scratch_text("broker: {url: 'amqp://${LOGIN}@127.0.0.1:%d/'}\n"
					   "pools: [{queue: %s, workers: 1, command: [%s]%s}]\n",
		broker_port(fixture.broker), fixture.queue, public_copy("workers/echo"),
		cases[_i].settings);
	struct proc *serve = serve_file(configuration, environment);
	if (cases[_i].needs_root && geteuid() != 0) {
		proc_expect(serve, "pools[0].user needs rights that wpool");
		proc_free(serve);
		return;
	}
	pid_t worker = fixture_worker_pid();
	proc_expect_variable(worker, "HARMLESS=", true);
	proc_expect_variable(
		worker, "PASSWORD=", true); /* without RABBITMQ_HOSTNAME it is another's */
	proc_expect_variable(worker, "AMQP_URL=", cases[_i].is_passed);
	proc_expect_variable(worker, "RABBITMQ_PASSWORD=", cases[_i].is_passed);
	proc_expect_variable(
		worker, "LOGIN=", cases[_i].is_passed || strstr(cases[_i].settings, "LOGIN"));
	fixture_stop(serve);
	proc_free(serve);
	free(configuration);
	free(socket);
}
END_TEST

/* Addresses change at a restart only: until then the old ones are in force, and both are secrets.
 */
START_TEST(reload_keeps_secrets)
{
	static const char *const urls[] = {
		"amqp://${LOGIN}@127.0.0.1", "amqp://u:${NEXT}@127.0.0.1"};
	const char *const environment[] = {"LOGIN=guest:guest", "NEXT=next", "HARMLESS=1",
		scratch_text("WPOOL_CONTROL_SOCKET=%s/control.sock", fixture.folder), NULL};
	char *configurations[2];
	for (int i = 0; i < 2; i++)
		configurations[i] = scratch_text("broker: {url: '%s:%d/'}\n"
						 "pools: [{queue: %s, workers: 1, command: [%s], "
						 "env: {ROUND: '%d'}}]\n",
			urls[i], broker_port(fixture.broker), fixture.queue,
			fixture_built("workers/echo"), i);
	struct proc *serve = serve_file(configurations[0], environment);
	pid_t worker = fixture_worker_pid();
	proc_expect_variable(worker, "LOGIN=", false);
	proc_expect_variable(worker, "NEXT=", true);
	scratch_write(scratch_path(fixture.folder, "wpool.yaml"), configurations[1]);
	proc_signal(serve, SIGHUP);
	proc_expect_gone(worker);
	worker = fixture_worker_pid();
	proc_expect_variable(worker, "ROUND=1", true);
	proc_expect_variable(worker, "HARMLESS=", true);
	proc_expect_variable(worker, "LOGIN=", false);
	proc_expect_variable(worker, "NEXT=", false);
	fixture_stop(serve);
	proc_free(serve);
	free(configurations[0]);
	free(configurations[1]);
}
END_TEST

/* ---------- a new password, a new certificate ---------- */

static void evaluate(const char *format, const char *user, const char *password)
{
	char *expression = scratch_text(format, user, password);
	free(broker_eval(fixture.broker, expression));
	free(expression);
}

static void close_connections_of_user(const char *user)
{
	evaluate("[rabbit_networking:close_connection(P, \"test\") || [{pid, P}, {user, U}] <- "
		 "rabbit_networking:connection_info_all([pid, user]), U =:= <<\"%s\">>], ok%s",
		user, "");
}

static void write_password(const char *path, const char *password)
{
	char *next = scratch_text("%s.next", path);
	scratch_write(next, password);
	ck_assert_int_eq(rename(next, path), 0);
	free(next);
}

/* Relative: below the folder in which systemd has the credentials of a service. */
START_TEST(new_password_needs_no_restart)
{
	char *user = scratch_text("rotated-%d", (int)getpid());
	char *path = scratch_path(fixture.folder, "password");
	char *configuration =
		scratch_text("broker: {url: 'amqp://%s@127.0.0.1:%d/', password_file: %s}\n"
			     "pools: [{queue: %s, workers: 1, command: [%s]}]\n",
			user, broker_port(fixture.broker), _i == 0 ? path : "password",
			fixture.queue, fixture_built("workers/echo"));
	const char *const environment[] = {scratch_text("CREDENTIALS_DIRECTORY=%s", fixture.folder),
		scratch_text("WPOOL_CONTROL_SOCKET=%s/control.sock", fixture.folder), NULL};
	evaluate("rabbit_auth_backend_internal:add_user(<<\"%s\">>, <<\"%s\">>, <<\"test\">>)",
		user, "first-password");
	evaluate("rabbit_auth_backend_internal:set_permissions(<<\"%s\">>, <<\"/\">>, <<\".*\">>, "
		 "<<\".*\">>, <<\".*\">>, <<\"test\">>)%s",
		user, "");
	scratch_write(path, "first-password\n");
	struct proc *serve = serve_file(configuration, environment + (_i == 0));
	ck_assert_int_gt(fixture_worker_pid(), 1);
	evaluate(
		"rabbit_auth_backend_internal:change_password(<<\"%s\">>, <<\"%s\">>, <<\"test\">>)",
		user, "second-password");
	close_connections_of_user(user);
	proc_expect(serve, "refused the login of user");
	write_password(path, "second-password\n");
	proc_expect(serve, "(consume): connected");
	ck_assert_int_gt(fixture_worker_pid(), 1);
	ck_assert(!proc_has_logged(serve, "-password"));
	fixture_stop(serve);
	proc_free(serve);
	evaluate("rabbit_auth_backend_internal:delete_user(<<\"%s\">>, <<\"test\">>)%s", user, "");
}
END_TEST

/* The command has the environment of the test, and TLS: the folder of the broker's certificates. */
static void run_shell(const char *command)
{
	char *key = broker_tls_file(fixture.broker, "ca-key.pem");
	*strrchr(key, '/') = '\0';
	char *line = scratch_text("TLS=%s; cd %s; %s", key, fixture.folder, command);
	struct proc *shell =
		proc_start(fixture.folder, (const char *const[]){"sh", "-ec", line, NULL}, NULL);
	int code = proc_wait(shell);
	ck_assert_msg(code == 0, "%s: %d: %s", command, code, proc_stderr(shell));
	proc_free(shell);
	free(line);
	free(key);
}

static long long certificate_end(void)
{
	static const char name[] = "\nwpool_certificate_end_seconds ";
	char *metrics = control_get("/metrics", 200), *found = strstr(metrics, name);
	ck_assert_ptr_nonnull(found);
	return atoll(found + strlen(name));
}

/* Whether the broker has a connection whose client showed a certificate of this name. */
static bool is_known_as(const char *name)
{
	char *expression =
		scratch_text("[1 || [{peer_cert_subject, <<\"CN=%s\">>}] <- "
			     "rabbit_networking:connection_info_all([peer_cert_subject])] =/= []",
			name);
	char *answer = broker_eval(fixture.broker, expression);
	bool found = strstr(answer, "true");
	free(answer);
	free(expression);
	return found;
}

static void expect_end_in_days(int days)
{
	long long end = certificate_end() - (long long)time(NULL);
	ck_assert_msg(end > (days - 1) * 86400LL && end <= days * 86400LL, "%lld", end);
}

/* The figure is of the file; the connection takes it when it is opened again. */
START_TEST(new_certificate_needs_no_restart)
{
	run_shell("cat $TLS/client.pem $TLS/client-key.pem >ours.pem");
	char *ca = broker_tls_file(fixture.broker, "ca.pem");
	char *url =
		scratch_text("amqps://guest:guest@localhost:%d/?cacertfile=%s&certfile=%s/ours.pem",
			broker_tls_port(fixture.broker), ca, fixture.folder);
	struct proc *serve = fixture_serve_echo((const char *const[]){"--broker", url, NULL});
	proc_expect(serve, "(consume): connected");
	ck_assert_int_gt(fixture_worker_pid(), 1);
	ck_assert(is_known_as("guest"));
	expect_end_in_days(30);
	run_shell("openssl req -newkey rsa:2048 -nodes -keyout next-key.pem -out next.csr -subj "
		  "/CN=renewed 2>&1; "
		  "openssl x509 -req -in next.csr -CA $TLS/ca.pem -CAkey $TLS/ca-key.pem "
		  "-set_serial 77 -days 9 -out next.pem 2>&1; "
		  "cat next-key.pem >>next.pem; mv next.pem ours.pem");
	expect_end_in_days(9);
	ck_assert(!is_known_as("renewed"));
	broker_close_connections(fixture.broker);
	fixture_reconnect();
	proc_expect(serve, "(consume): connected");
	ck_assert_int_gt(fixture_worker_pid(), 1);
	ck_assert(is_known_as("renewed"));
	fixture_stop(serve);
	free(url);
	free(ca);
}
END_TEST

/* The commands that connect to the broker by themselves. */
START_TEST(commands_read_password_file)
{
	char *path = scratch_path(fixture.folder, "password");
	const char *const argv[] = {
		fixture_built("wpool"), "publish", "--queue", fixture.queue, path, NULL};
	const char *const environment[] = {scratch_text("AMQP_URL=amqp://guest:wrong@127.0.0.1:%d/",
						   broker_port(fixture.broker)),
		scratch_text("WPOOL_PASSWORD_FILE=%s", path), NULL};
	static const char *const passwords[] = {"other\n", "guest\n"};
	static const int codes[] = {77, 0};
	for (int i = 0; i < 2; i++) {
		scratch_write(path, passwords[i]);
		struct proc *publish = proc_start(fixture.folder, argv, environment);
		ck_assert_int_eq(proc_wait(publish), codes[i]);
		proc_free(publish);
	}
	client_expect(fixture.client, fixture.queue, "guest\n");
	free(path);
}
END_TEST

int main(void)
{
	return SYSTEM_RUN("secrets", {worker_of_same_user_reads_no_memory, 1},
		{program_that_its_user_cannot_read_is_hidden_from_its_start, 2},
		{worker_loses_nothing, 1}, {guard_still_finds_processes, 1},
		{secrets_stay_out_of_environment, 4}, {reload_keeps_secrets, 1},
		{new_password_needs_no_restart, 2}, {new_certificate_needs_no_restart, 1},
		{commands_read_password_file, 1});
}
