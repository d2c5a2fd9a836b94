/* Access to the control socket: its owner and mode, and that no client, however many or slow its
 * requests, delays messages. */
#include "harness/child.h"
#include "harness/control.h"
#include "harness/deadline.h"
#include "harness/http.h"
#include "system/system.h"

#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define HALF_SENT 80 /* more than wpool accepts */

static const char *const two_workers[] = {"--workers", "2", "--pipeline", "1", NULL};

/* ---------- the socket ---------- */

START_TEST(socket_is_private_and_removed_at_exit)
{
	struct stat status;
	struct proc *serve = fixture_serve_echo(two_workers);
	ck_assert_int_eq(lstat(control_socket(), &status), 0);
	ck_assert(S_ISSOCK(status.st_mode));
	ck_assert_int_eq(status.st_mode & 0777, 0600);
	fixture_stop(serve);
	ck_assert_int_ne(lstat(control_socket(), &status), 0);
}
END_TEST

/* As `docker run --user` starts it: no folder of this user is in /run. The only user with this uid.
 */
START_TEST(any_user_has_a_control_socket)
{
	char uid[16], *own;
	struct stat status;
	if (geteuid() != 0)
		return;
	snprintf(uid, sizeof uid, "%d", 100000000 + (int)getpid());
	own = scratch_text("/tmp/wpool-%s", uid);
	const char *const setpriv[] = {"setpriv", "--reuid", uid, "--regid", uid, "--clear-groups",
		fixture_built("wpool")};
	const char *serve[20] = {NULL}, *ask[20] = {NULL};
	const char *const rest[] = {"serve", "--broker", broker_url(fixture.broker), "--queue",
		fixture.queue, "--workers", "1", "--", fixture_built("workers/echo"), NULL};
	memcpy(serve, setpriv, sizeof setpriv);
	memcpy(serve + sizeof setpriv / sizeof *setpriv, rest, sizeof rest);
	memcpy(ask, setpriv, sizeof setpriv);
	ask[sizeof setpriv / sizeof *setpriv] = "status";
	struct proc *proc = proc_start("/", serve, NULL);
	proc_expect(proc, scratch_text("control socket: %s/control.sock (wpool status", own));
	ck_assert_int_eq(lstat(own, &status), 0);
	ck_assert_uint_eq(status.st_mode & 07777, 0700);
	int64_t deadline = deadline_in(DEADLINE_DEFAULT_MS);
	struct proc *asked = proc_start("/", ask, NULL);
	while (proc_wait(asked) == 75) { /* not ready yet */
		proc_free(asked);
		fixture_poll(deadline, 20, "wpool is ready");
		asked = proc_start("/", ask, NULL);
	}
	ck_assert_int_eq(proc_wait(asked), 0);
	ck_assert_ptr_nonnull(strstr(proc_stdout(asked), "ready"));
	proc_free(asked);
	proc_signal(proc, SIGTERM);
	ck_assert_int_eq(proc_wait(proc), 0);
	proc_free(proc);
	ck_assert_int_eq(rmdir(own), 0);
}
END_TEST

START_TEST(stale_socket_is_replaced)
{
	struct proc *serve = fixture_serve_echo(two_workers);
	proc_signal(serve, SIGKILL);
	proc_wait(serve);
	ck_assert_int_eq(access(control_socket(), F_OK), 0);
	serve = fixture_serve(
		two_workers, (const char *const[]){fixture_built("workers/echo"), NULL});
	proc_expect(serve, "control socket: ");
	ck_assert_int_eq(json_integer_value(json_object_get(control_get_json("/v1/status"), "pid")),
		proc_pid(serve));
}
END_TEST

START_TEST(second_supervisor_warns_and_leaves_the_socket)
{
	static const char *const worker[] = {"/bin/cat", NULL};
	struct proc *first = fixture_serve_echo(two_workers);
	struct proc *second = fixture_serve(two_workers, worker);
	proc_expect(second,
		scratch_text("another supervisor has the control socket %s: pid %d (%s serve ",
			control_socket(), (int)proc_pid(first), fixture_built("wpool")));
	ck_assert(!proc_has_logged(second, ":guest@"));
	ck_assert_int_eq(json_integer_value(json_object_get(control_get_json("/v1/status"), "pid")),
		proc_pid(first));
	ck_assert(proc_is_alive(second));
	fixture_stop(first);
	proc_expect(second, "warn  took over the control socket");
	ck_assert_int_eq(json_integer_value(json_object_get(control_get_json("/v1/status"), "pid")),
		proc_pid(second));
}
END_TEST

START_TEST(file_that_is_no_socket_is_kept)
{
	scratch_write(control_socket(), "precious");
	struct proc *serve = fixture_serve_echo(two_workers);
	proc_expect(serve, "no control socket at");
	fixture_stop(serve);
	ck_assert_str_eq(scratch_read(control_socket(), NULL), "precious");
}
END_TEST

START_TEST(socket_can_be_disabled)
{
	static const char *const environment[] = {"WPOOL_CONTROL_SOCKET=off", NULL};
	struct proc *serve = fixture_serve_program("wpool", environment,
		scratch_text("- {queue: %s, command: [\"%s\"], workers: 1}\n", fixture.queue,
			fixture_built("workers/echo")));
	client_expect_consumers(fixture.client, fixture.queue, 1);
	ck_assert_int_ne(access(control_socket(), F_OK), 0);
	ck_assert(!proc_has_logged(serve, "control socket"));
}
END_TEST

/* ---------- bad manners ---------- */

START_TEST(unknown_paths_and_methods_are_refused)
{
	static const struct {
		const char *method, *path;
		int status;
	} cases[] = {
		{"GET", "//", 404},
		{"POST", "/", 405},
		{"GET", "/v1/nothing", 404},
		{"GET", "/v1/status/", 404},
		{"POST", "/v1/status", 405},
		{"DELETE", "/metrics", 405},
		{"BREW", "/livez", 405},
		{"GET", "/v1/pause", 405},
		{"GET", "/v1/pools/x/scale", 405},
		{"POST", "/v1/pools/nobody/pause", 404},
		{"POST", "/v1/pools/a/b/pause", 404},
		{"POST", "/v1/pools//pause", 404},
		{"POST", "/v1/stopp", 404},
		{"GET", "/v1/stop", 405},
		{"HEAD", "/livez", 200},
	};
	fixture_serve_echo(two_workers);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct http_reply reply =
			http_request(control_socket(), cases[i].method, cases[i].path);
		ck_assert_msg(reply.status == cases[i].status, "%s %s: %d", cases[i].method,
			cases[i].path, reply.status);
		if (cases[i].status == 405)
			control_expect_text(reply.head, "Allow: ");
		if (cases[i].status >= 400)
			json_decref(control_parse(reply.body));
	}
}
END_TEST

/* force=1 must not stop gently, nor may dry_run=no change nothing. */
START_TEST(parameters_are_true_or_false)
{
	static const struct {
		const char *method, *path, *name;
	} parameters[] = {
		{"POST", "/v1/stop?", "force"},
		{"POST", "/v1/stop?", "wait"},
		{"POST", "/v1/reload?", "dry_run"},
		{"POST", "/v1/publish?routing_key=x&", "high"},
		{"POST", "/v1/pools/tested/kill?slot=0&", "give_up"},
		{"POST", "/v1/pools/tested/dead-letters/drop?", "all"},
		{"POST", "/v1/pools/tested/sessions/skip?", "wait"},
		{"GET", "/v1/pools?", "status"},
		{"GET", "/v1/pools/tested/sessions?", "count"},
		{"GET", "/v1/pools/tested/sessions?", "tasks"},
		{"GET", "/v1/logs?", "follow"},
	};
	static const char *const wrong[] = {"=1", "=no", "=TRUE", "=", "", "=false%00"};
	client_delete(fixture.client, fixture.queue);
	proc_expect(fixture_serve_pool("declare: on, session: {key: routing_key}",
			    fixture_built("workers/echo")),
		"consuming queue");
	control_await("/readyz", 200);
	for (size_t i = 0; i < sizeof parameters / sizeof *parameters; i++)
		for (size_t j = 0; j <= sizeof wrong / sizeof *wrong; j++) {
			const char *name = parameters[i].name;
			char *path =
				j < sizeof wrong / sizeof *wrong
					? scratch_text("%s%s%s", parameters[i].path, name, wrong[j])
					: scratch_text("%s%s=false&%s=true", parameters[i].path,
						  name, name);
			struct http_reply reply =
				http_request(control_socket(), parameters[i].method, path);
			ck_assert_msg(reply.status == 400, "%s: %d", path, reply.status);
			ck_assert_msg(
				strstr(reply.body, name) && strstr(reply.body, "true or false"),
				"%s: %s", path, reply.body);
			http_release(&reply);
		}
	control_await("/readyz", 200);
	ck_assert_int_eq(
		http_request(control_socket(), "POST", "/v1/reload?dry_run=false").status, 200);
}
END_TEST

/* The response is an error or none, and the next request is answered. */
static void send_nonsense(const char *bytes, size_t len)
{
	int fd = http_connect(control_socket());
	http_send(fd, bytes, len);
	shutdown(fd, SHUT_WR);
	struct http_reply reply = http_read(fd);
	ck_assert_msg(reply.status == 0 || (reply.status >= 400 && reply.status < 600),
		"%d to: %.60s", reply.status, bytes);
	http_release(&reply);
}

START_TEST(malformed_requests_are_refused)
{
	static const char *const cases[] = {"\r\n\r\n\r\n", "GET\r\n\r\n", "GET /livez\r\n",
		"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", "GET /livez HTTP/9.9\r\n\r\n",
		"POST /v1/status HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999\r\n\r\n",
		"POST /v1/status HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"};
	struct proc *serve = fixture_serve_echo(two_workers);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		send_nonsense(cases[i], strlen(cases[i]));
	enum { LARGE = 4 * 1024 * 1024 };
	char *large = malloc(LARGE);
	memset(large, 'x', LARGE);
	memcpy(large, "GET /", 5); /* an endless path */
	send_nonsense(large, LARGE);
	memcpy(large, "GET / HTTP/1.1\r\nHost: ", 22); /* an endless header */
	send_nonsense(large, LARGE);
	memset(large, 0, LARGE);
	send_nonsense(large, LARGE);
	free(large);
	control_get("/livez", 200);
	fixture_stop(serve);
}
END_TEST

/* More connections than wpool accepts, each with a part of a request: complete requests are
 * answered, and tasks are done meanwhile. */
START_TEST(incomplete_request_delays_no_other)
{
	static const char part[] = "GET /v1/status HTTP/1.1\r\nHost: x\r\nX-";
	struct proc *serve = fixture_serve_echo(two_workers);
	int fds[HALF_SENT];
	for (int i = 0; i < HALF_SENT; i++) {
		fds[i] = http_connect(control_socket());
		http_send(fds[i], part, sizeof part - 1);
	}
	control_post_many(0, 200);
	control_get("/livez", 200);
	control_expect_done(200);
	control_get("/livez", 200);
	for (int i = 0; i < HALF_SENT; i++)
		close(fds[i]);
	fixture_stop(serve);
}
END_TEST

/* Send a request and never read the response. Return the socket. */
static int ask_and_not_read(void)
{
	static const char request[] = "GET /metrics HTTP/1.1\r\nHost: wpool\r\n\r\n";
	int fd = http_connect(control_socket());
	http_send(fd, request, sizeof request - 1);
	return fd;
}

_Noreturn static void ask_for_ever(void)
{
	static const char *const paths[] = {"/metrics", "/v1/workers", "/v1/pools", "/readyz"};
	for (size_t i = 0;; i++) {
		struct http_reply reply = http_request(control_socket(), "GET", paths[i % 4]);
		if (reply.status != 200)
			_exit(1);
		http_release(&reply);
	}
}

/* Send requests in a process of its own, until it is killed. */
static pid_t flood(void)
{
	pid_t pid = child_fork();
	if (pid == 0)
		ask_for_ever();
	return pid;
}

START_TEST(flood_of_requests_costs_no_message)
{
	enum { FLOODS = 6, SILENT = 6 };
	pid_t floods[FLOODS];
	int silent[SILENT];
	struct proc *serve = fixture_serve_echo(two_workers);
	control_await("/readyz", 200);
	for (int i = 0; i < FLOODS; i++)
		floods[i] = flood();
	for (int i = 0; i < SILENT; i++)
		silent[i] = ask_and_not_read();
	control_post_many(0, 1000);
	control_expect_done(1000);
	for (int i = 0; i < FLOODS; i++) {
		int status;
		ck_assert_int_eq(waitpid(floods[i], &status, WNOHANG), 0); /* all were answered */
		kill(floods[i], SIGKILL);
		ck_assert_int_eq(waitpid(floods[i], &status, 0), floods[i]);
	}
	for (int i = 0; i < SILENT; i++)
		close(silent[i]);
	json_t *pools = control_get_json("/v1/pools");
	const json_t *pool = control_member(pools, "pools", 0);
	ck_assert_int_eq(control_number(pool, "totals", "done"), 1000);
	ck_assert_int_eq(control_number(pool, "totals", "deliveries"), 1000);
	fixture_stop(serve);
}
END_TEST

int main(void)
{
	return SYSTEM_RUN("control_access", {socket_is_private_and_removed_at_exit, 1},
		{any_user_has_a_control_socket, 1}, {stale_socket_is_replaced, 1},
		{second_supervisor_warns_and_leaves_the_socket, 1},
		{file_that_is_no_socket_is_kept, 1}, {socket_can_be_disabled, 1},
		{unknown_paths_and_methods_are_refused, 1}, {parameters_are_true_or_false, 1},
		{malformed_requests_are_refused, 1}, {incomplete_request_delays_no_other, 1},
		{flood_of_requests_costs_no_message, 1});
}
