/* Dead letters by the control API: listed, replayed and dropped, one or all that match, and only by
 * operators. */
#include "harness/control.h"
#include "harness/deadline.h"
#include "harness/http.h"
#include "harness/page.h"
#include "harness/scratch.h"
#include "system/system.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#define TOKEN "0123456789abcdef0123456789abcdef"
#define PATH  "/v1/pools/first/dead-letters"

/* A pool that is paused, so that what is replayed stays in its queue. */
static struct proc *serve_paused(const char *variable)
{
	struct proc *serve = page_serve_with(variable, page_echo_pool("first", 1), 0);
	control_await("/readyz", 200);
	ck_assert_int_eq(http_request(control_socket(), "POST", "/v1/pause").status, 200);
	client_expect_consumers(fixture.client, fixture.queue, 0);
	return serve;
}

static void post_dead(int from, int to)
{
	for (int i = from; i < to; i++) {
		char *id = scratch_text("m-%d", i);
		client_post(fixture.client, fixture.dead,
			&(struct letter){.body = id,
				.message_id = id,
				.headers = {{"x-wpool-queue", fixture.queue},
					{"x-wpool-reason", i % 2 ? "failed" : "crashed"},
					{"x-wpool-stderr", "the last line"}}});
	}
}

/* The document of a request that must have this status. */
static const json_t *ask(const char *method, const char *query, int status)
{
	struct http_reply reply =
		http_request(control_socket(), method, scratch_text(PATH "%s", query));
	ck_assert_msg(
		reply.status == status, "%s %s: %d %s", method, query, reply.status, reply.body);
	return control_parse(reply.body);
}

static json_int_t result(const json_t *answer, const char *member)
{
	return control_number(answer, "result", member);
}

static const json_t *letter(const json_t *answer, size_t i)
{
	const json_t *list = json_object_get(json_object_get(answer, "result"), "messages");
	ck_assert_uint_gt(json_array_size(list), i);
	return json_array_get(list, i);
}

START_TEST(list_has_pages_and_conditions)
{
	serve_paused(NULL);
	post_dead(0, 5);
	const json_t *answer = ask("GET", "", 200);
	ck_assert_int_eq(result(answer, "count"), 5);
	ck_assert_str_eq(control_text(json_object_get(letter(answer, 3), "wpool"), "stderr"),
		"the last line");
	ck_assert_ptr_null(json_object_get(letter(answer, 0), "body"));
	answer = ask("GET", "?limit=2&skip=2", 200);
	ck_assert_str_eq(
		control_text(json_object_get(letter(answer, 0), "properties"), "message_id"),
		"m-2");
	ck_assert_uint_eq(
		json_array_size(json_object_get(json_object_get(answer, "result"), "messages")), 2);
	answer = ask("GET", "?match=x-wpool-reason%3Dfailed&match=message_id%3Dm-3", 200);
	ck_assert_uint_eq(
		json_array_size(json_object_get(json_object_get(answer, "result"), "messages")), 1);
	client_expect_ready(fixture.client, fixture.dead, 5);
}
END_TEST

START_TEST(one_or_all_that_match_are_replayed_or_dropped)
{
	serve_paused(NULL);
	post_dead(0, 7);
	const char *one = control_text(letter(ask("GET", "", 200), 4), "fingerprint");
	ck_assert_int_eq(
		result(ask("POST", scratch_text("/replay?fingerprint=%s", one), 200), "replayed"),
		1);
	client_expect_ready(fixture.client, fixture.queue, 1);
	one = control_text(letter(ask("GET", "", 200), 0), "fingerprint");
	ck_assert_int_eq(
		result(ask("POST", scratch_text("/drop?fingerprint=%s", one), 200), "dropped"), 1);
	ck_assert_int_eq(result(ask("POST", "/replay?match=x-wpool-reason%3Dfailed&limit=2", 200),
				 "replayed"),
		2);
	ck_assert_int_eq(
		result(ask("POST", "/replay?match=x-wpool-reason%3Dfailed", 200), "left"), 2);
	ck_assert_int_eq(result(ask("POST", "/drop?all=true", 200), "dropped"), 2);
	client_expect_ready(fixture.client, fixture.dead, 0);
	client_expect(fixture.client, fixture.queue, "m-4");
	client_expect(fixture.client, fixture.queue, "m-1");
	client_expect(fixture.client, fixture.queue, "m-3");
	client_expect(fixture.client, fixture.queue, "m-5");
}
END_TEST

START_TEST(wrong_requests_change_nothing)
{
	static const struct {
		const char *method, *query;
		int status;
	} cases[] = {
		{"POST", "/drop", 400},
		{"POST", "/replay", 400},
		{"POST", "/drop?all=false", 400},
		{"POST", "/drop?all=true&match=a%3Db", 400},
		{"POST", "/drop?all=true&limit=0", 400},
		{"POST", "/drop?fingerprint=1", 400},
		{"POST", "/drop?match=reason", 400},
		{"POST", "/drop?match=a%3D%00", 400},
		{"POST", "/drop?al=true", 400},
		{"POST", "/drop?all=true&skip=1", 400},
		{"POST", "/drop?fingerprint=--yes01234567890", 400},
		{"GET", "?limit=1001", 400},
		{"GET", "?skip=-1", 400},
		{"GET", "?all=true", 400},
		{"GET", "/drop?all=true", 405},
		{"POST", "", 405},
	};
	serve_paused(NULL);
	post_dead(0, 2);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		ask(cases[i].method, cases[i].query, cases[i].status);
	ck_assert_int_eq(
		http_request(control_socket(), "GET", "/v1/pools/none/dead-letters").status, 404);
	client_expect_ready(fixture.client, fixture.dead, 2);
	client_expect_ready(fixture.client, fixture.queue, 0);
}
END_TEST

START_TEST(failures_are_named)
{
	serve_paused(NULL);
	client_delete(fixture.client, fixture.dead);
	const json_t *answer = ask("GET", "", 503);
	control_expect_text(
		json_string_value(json_array_get(json_object_get(answer, "problems"), 0)),
		"there is no queue");
}
END_TEST

/* Neither over TCP without the token, nor to a page of another origin. */
START_TEST(only_operators_see_dead_letters)
{
	static const char bearer[] = "Authorization: Bearer " TOKEN "\r\n";
	char *path = scratch_text("%s/token", fixture.folder);
	FILE *file = fopen(path, "w");
	fputs(TOKEN "\n", file);
	fclose(file);
	serve_paused(scratch_text("WPOOL_HTTP_TOKEN_FILE=%s", path));
	post_dead(0, 2);
	ck_assert_int_eq(http_request(page_address(), "GET", PATH).status, 401);
	ck_assert_int_eq(http_request(page_address(), "POST", PATH "/drop?all=true").status, 401);
	ck_assert_int_eq(http_request_with(page_address(), "POST", PATH "/drop?all=true",
				 scratch_text("%sOrigin: http://x\r\n", bearer))
				 .status,
		403);
	struct http_reply reply = http_request_with(page_address(), "GET", PATH, bearer);
	ck_assert_int_eq(reply.status, 200);
	control_expect_text(reply.body, "the last line");
	client_expect_ready(fixture.client, fixture.dead, 2);
	reply = http_request_with(page_address(), "POST", PATH "/drop?all=true", bearer);
	ck_assert_int_eq(reply.status, 200);
	client_expect_ready(fixture.client, fixture.dead, 0);
}
END_TEST

/* A file of a process, its NULs as spaces; NULL: it is hidden, or the process is gone. */
static char *process_file(pid_t pid, const char *name)
{
	size_t size = 0;
	char *text = scratch_read(scratch_text("/proc/%d/%s", (int)pid, name), &size);
	for (size_t i = 0; text && i < size; i++)
		text[i] = text[i] ? text[i] : ' ';
	return text;
}

/* The supervisor's child with this command; 0: there is none yet. */
static pid_t child_of(const struct proc *serve, const char *command)
{
	int parent = (int)proc_pid(serve);
	char *list = scratch_read(scratch_text("/proc/%d/task/%d/children", parent, parent), NULL);
	for (char *number = strtok(list, " "); number; number = strtok(NULL, " ")) {
		char *line = process_file(atoi(number), "cmdline");
		if (line && strstr(line, command))
			return atoi(number);
	}
	return 0;
}

static pid_t await_child(const struct proc *serve, const char *command)
{
	int64_t deadline = deadline_in(DEADLINE_DEFAULT_MS);
	pid_t child;
	while ((child = child_of(serve, command)) == 0)
		fixture_poll(deadline, 20, "the command runs");
	return child;
}

/* A replay into a queue whose process is suspended, which confirms nothing, so that it waits.
 * *ret_fd: the connection that awaits its answer. Return the process of the command. */
static pid_t begin_replay(const struct proc *serve, int *ret_fd)
{
	static const char request[] =
		"POST " PATH "/replay?all=true HTTP/1.0\r\nHost: wpool\r\n\r\n";
	post_dead(0, 1);
	fixture_declare(CLIENT_CLASSIC);
	broker_control_queue(fixture.broker, fixture.queue, "suspend");
	*ret_fd = http_connect(control_socket());
	http_send(*ret_fd, request, strlen(request));
	pid_t child = await_child(serve, " dead-letters replay ");
	ck_assert_int_eq(http_request(control_socket(), "GET", PATH "?limit=1").status, 409);
	return child;
}

/* Another request is refused meanwhile, and pools work on. A stop, in order or at once, ends the
 * wait, and leaves neither the command nor a gap. */
START_TEST(stop_ends_a_replay)
{
	struct proc *serve = serve_paused(NULL);
	int fd;
	pid_t child = begin_replay(serve, &fd);
	control_get("/livez", 200);
	proc_signal(serve, _i == 0 ? SIGTERM : SIGQUIT);
	struct http_reply reply = http_read(fd);
	ck_assert_int_eq(reply.status, 503);
	control_expect_text(reply.body, "wpool stops");
	proc_wait(serve);
	proc_expect_gone(child);
	broker_control_queue(fixture.broker, fixture.queue, "resume");
	client_expect_ready(fixture.client, fixture.dead, 1);
}
END_TEST

/* Neither where every user sees them, in the list of processes, nor in the environment. */
START_TEST(command_gets_no_password)
{
	struct proc *serve = serve_paused(scratch_text("AMQP_URL=%s", broker_url(fixture.broker)));
	int fd;
	pid_t child = begin_replay(serve, &fd);
	char *line = process_file(child, "cmdline"), *environment = process_file(child, "environ"),
	     *own = process_file(proc_pid(serve), "environ");
	ck_assert_ptr_nonnull(strstr(line, " --broker=- "));
	ck_assert_ptr_null(strstr(line, "guest"));
	if (environment && own) {
		ck_assert_ptr_nonnull(strstr(own, ":guest@"));
		ck_assert_ptr_nonnull(strstr(environment, "PATH="));
		ck_assert_ptr_null(strstr(environment, "guest"));
	} else {
		fixture_not_run(
			"the environment of wpool's own command", "this user cannot read it");
	}
	broker_control_queue(fixture.broker, fixture.queue, "resume");
}
END_TEST

/* Whatever it opens needs a lower number. Return the limit before. */
static rlim_t limit_descriptors(const struct proc *serve, rlim_t max)
{
	struct rlimit limit;
	ck_assert_int_eq(prlimit(proc_pid(serve), RLIMIT_NOFILE, NULL, &limit), 0);
	rlim_t before = limit.rlim_cur;
	limit.rlim_cur = max;
	ck_assert_int_eq(prlimit(proc_pid(serve), RLIMIT_NOFILE, &limit, NULL), 0);
	return before;
}

START_TEST(command_that_cannot_be_started_is_no_conflict)
{
	static const char head[] = "GET " PATH " HTTP/1.0\r\n", end[] = "Host: wpool\r\n\r\n";
	struct proc *serve = serve_paused(NULL);
	int fd = http_connect(control_socket());
	http_send(fd, head, strlen(head));
	control_get("/livez", 200); /* the connection before it has been accepted */
	rlim_t before = limit_descriptors(serve, 3);
	http_send(fd, end, strlen(end));
	struct http_reply reply = http_read(fd);
	ck_assert_msg(reply.status == 503, "%d %s", reply.status, reply.body);
	control_expect_text(reply.body, "wpool cannot start its own command");
	limit_descriptors(serve, before);
	ask("GET", "", 200);
}
END_TEST

int main(void)
{
	return SYSTEM_RUN("dead letters api", {list_has_pages_and_conditions, 1},
		{one_or_all_that_match_are_replayed_or_dropped, 1},
		{wrong_requests_change_nothing, 1}, {failures_are_named, 1},
		{only_operators_see_dead_letters, 1}, {stop_ends_a_replay, 2},
		{command_gets_no_password, 1}, {command_that_cannot_be_started_is_no_conflict, 1});
}
