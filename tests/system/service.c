/* Under a service manager: a socket of the test plays systemd and receives readiness, status,
 * watchdog and stop. */
#include "harness/control.h"
#include "harness/deadline.h"
#include "system/system.h"

#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

struct manager {
	int fd;
	char variable[160]; /* NOTIFY_SOCKET=... */
	char message[4096]; /* the latest */
};

static struct manager manager_open(const char *name)
{
	struct manager manager = {.fd = -1};
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int len =
		snprintf(address.sun_path, sizeof address.sun_path, "%s/%s", fixture.folder, name);
	ck_assert_int_lt(len, (int)sizeof address.sun_path);
	manager.fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	ck_assert_int_ge(manager.fd, 0);
	ck_assert_int_eq(bind(manager.fd, (struct sockaddr *)&address, sizeof address), 0);
	snprintf(manager.variable, sizeof manager.variable, "NOTIFY_SOCKET=%s", address.sun_path);
	return manager;
}

/* Receive a message; false at the deadline. */
static bool hear(struct manager *manager, int64_t deadline)
{
	struct pollfd wait = {.fd = manager->fd, .events = POLLIN};
	if (poll(&wait, 1, deadline_left(deadline)) != 1)
		return false;
	ssize_t len = recv(manager->fd, manager->message, sizeof manager->message - 1, 0);
	ck_assert_int_ge(len, 0);
	manager->message[len] = '\0';
	return true;
}

static bool has_line(const struct manager *manager, const char *start)
{
	for (const char *hit = strstr(manager->message, start); hit; hit = strstr(hit + 1, start))
		if (hit == manager->message || hit[-1] == '\n')
			return true;
	return false;
}

/* Wait for a message with a line that begins so. */
static void expect(struct manager *manager, const char *start)
{
	int64_t deadline = deadline_in(DEADLINE_DEFAULT_MS);
	do
		if (!hear(manager, deadline))
			fixture_fail(scratch_text("the manager was not told '%s'; last: %s", start,
				manager->message));
	while (!has_line(manager, start));
}

static void expect_beats(struct manager *manager, int count)
{
	while (count-- > 0)
		expect(manager, "WATCHDOG=1");
}

/* beats: WATCHDOG_USEC=..., or NULL. Unread beats would fill the socket. */
static struct proc *serve_told(const struct manager *manager, const char *beats, const char *pools)
{
	return fixture_serve_program(
		"wpool", (const char *const[]){manager->variable, beats, NULL}, pools);
}

static char *one_pool(const char *queue)
{
	return scratch_text("- {name: tested, queue: %s, command: [\"%s\"], workers: 2}\n", queue,
		fixture_built("workers/echo"));
}

static struct proc *serve_one(const struct manager *manager, const char *beats)
{
	char *pools = one_pool(fixture.queue);
	struct proc *serve = serve_told(manager, beats, pools);
	free(pools);
	return serve;
}

static const char watchdog[] = "WATCHDOG_USEC=200000";
static const char serving[] = "STATUS=serving: 1 pool, 2 of 2 workers ready";

static int64_t monotonic_us(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * INT64_C(1000000) + now.tv_nsec / 1000;
}

/* RELOADING with its time first, then READY, whatever the result. */
static void reload(struct manager *manager, struct proc *serve)
{
	int64_t before = monotonic_us();
	proc_signal(serve, SIGHUP);
	expect(manager, "RELOADING=1");
	const char *told = strstr(manager->message, "MONOTONIC_USEC=");
	ck_assert_msg(told != NULL, "%s", manager->message);
	long long at = atoll(told + strlen("MONOTONIC_USEC="));
	ck_assert(before <= at && at <= monotonic_us());
	ck_assert(!has_line(manager, "READY=1"));
	expect(manager, "READY=1");
}

START_TEST(systemd_is_notified_of_reload)
{
	struct manager manager = manager_open("manager");
	struct proc *serve = serve_one(&manager, NULL);
	expect(&manager, "READY=1");
	reload(&manager, serve);
	fixture_write_pools("- wrong\n");
	reload(&manager, serve);
	proc_expect(serve, "Hangup: configuration not reloaded: it is wrong");
	fixture_stop(serve);
}
END_TEST

START_TEST(ready_is_sent_when_pools_are_ready)
{
	struct manager manager = manager_open("manager");
	struct proc *serve = serve_one(&manager, NULL);
	expect(&manager, "READY=1");
	/* The machine may be slow. */
	if (!proc_has_logged(serve, "not ready after"))
		ck_assert(has_line(&manager, "STATUS=serving: "));
	while (!has_line(&manager, serving))
		expect(&manager, "STATUS=");
	ck_assert_str_eq(control_get("/readyz", 200), "ready\n");
	fixture_stop(serve);
	expect(&manager, "STOPPING=1");
	ck_assert(has_line(&manager, "EXTEND_TIMEOUT_USEC=1538000000\n"));
}
END_TEST

/* A unit that starts before the broker must not fail. */
START_TEST(start_does_not_fail_without_broker)
{
	struct manager manager = manager_open("manager");
	const char *const arguments[] = {fixture_built("wpool"), "serve", "--broker",
		"amqp://127.0.0.1:1/", "--queue", "x", "--log-format", "text", "--",
		fixture_built("workers/echo"), NULL};
	const char *const environment[] = {manager.variable, "WPOOL_CONTROL_SOCKET=off", NULL};
	struct proc *serve = proc_start(fixture.folder, arguments, environment);
	expect(&manager, "STATUS=not ready: no consuming connection to the broker");
	if (!has_line(&manager, "READY=1")) /* in one message, if the machine is slow */
		expect(&manager, "READY=1");
	proc_expect(serve, "not ready after 10 s: reporting ready to the service manager");
	proc_signal(serve, SIGTERM);
	expect(&manager, "STOPPING=1");
	ck_assert_int_eq(proc_wait(serve), 0);
	proc_free(serve);
}
END_TEST

/* It consumes once the queue exists. */
START_TEST(status_line_says_why_not_ready)
{
	struct manager manager = manager_open("manager");
	char *queue = scratch_text("%s.later", fixture.queue), *pools = one_pool(queue);
	struct proc *serve = serve_told(&manager, NULL, pools);
	expect(&manager, scratch_text("STATUS=not ready: pool tested: not consuming its queue "
				      "\"%s\": queue \"%s\" does not exist; declare it, or set "
				      "declare: on\n",
				 queue, queue));
	client_declare(fixture.client, queue, CLIENT_CLASSIC);
	expect(&manager, serving);
	proc_signal(serve, SIGTSTP);
	expect(&manager, "STATUS=not ready: pool tested: paused by an operator\n");
	proc_signal(serve, SIGCONT);
	expect(&manager, serving);
	fixture_stop(serve);
	client_delete(fixture.client, queue);
	free(pools);
	free(queue);
}
END_TEST

START_TEST(stop_reports_tasks_in_hand)
{
	struct manager manager = manager_open("manager");
	struct proc *serve = serve_one(&manager, watchdog);
	expect(&manager, serving);
	fixture_post_held(serve, "the long one");
	proc_signal(serve, SIGTERM);
	expect(&manager, "STOPPING=1");
	ck_assert(has_line(&manager, "STATUS=draining: 1 task in hand\n"));
	expect_beats(&manager, 3);
	proc_signal(serve, SIGTERM);
	expect(&manager, "STOPPING=1");
	ck_assert(has_line(&manager, "EXTEND_TIMEOUT_USEC=18000000\n"));
	ck_assert(has_line(&manager, "STATUS=stopping: "));
	ck_assert_int_eq(proc_wait(serve), 75);
}
END_TEST

/* The beats of a second supervisor serve as the clock. */
START_TEST(watchdog_notices_blocked_loop)
{
	struct manager manager = manager_open("manager"), clock = manager_open("clock");
	struct proc *serve = serve_one(&manager, watchdog), *other = serve_one(&clock, watchdog);
	expect_beats(&manager, 3);
	proc_suspend(serve);
	while (hear(&manager, 0))
		;
	expect_beats(&clock, 20);
	ck_assert(!hear(&manager, 0));
	proc_signal(serve, SIGCONT);
	expect_beats(&manager, 3);
	fixture_stop(serve);
	fixture_stop(other);
}
END_TEST

START_TEST(workers_get_no_systemd_variables)
{
	struct manager manager = manager_open("manager");
	struct proc *serve = serve_one(&manager, watchdog);
	char *path = scratch_text("/proc/%d/environ", (int)fixture_worker_pid());
	size_t len;
	char *environment = scratch_read(path, &len);
	ck_assert_ptr_nonnull(memmem(environment, len, "WPOOL_WORKER=", 13));
	ck_assert_ptr_null(memmem(environment, len, "NOTIFY_SOCKET", 13));
	ck_assert_ptr_null(memmem(environment, len, "WATCHDOG_", 9));
	free(environment);
	free(path);
	fixture_stop(serve);
}
END_TEST

int main(void)
{
	return SYSTEM_RUN("service", {ready_is_sent_when_pools_are_ready, 1},
		{systemd_is_notified_of_reload, 1}, {start_does_not_fail_without_broker, 1},
		{status_line_says_why_not_ready, 1}, {stop_reports_tasks_in_hand, 1},
		{watchdog_notices_blocked_loop, 1}, {workers_get_no_systemd_variables, 1});
}
