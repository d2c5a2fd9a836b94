/* Over TCP a failure shows its kind, and neither the broker's address and message nor a user's
 * name; the control socket and the log show all of it. */
#include "harness/control.h"
#include "harness/deadline.h"
#include "harness/http.h"
#include "system/system.h"

#include <string.h>

static const char *const paths[] = {"/readyz", "/v1/status", "/v1/pools", "/v1/pools?status=true"};
static const char kind[] = "the broker refused the login";

/* Wait until the answer contains the text. */
static char *await_text(const char *where, const char *path, const char *text)
{
	int64_t deadline = deadline_in(DEADLINE_DEFAULT_MS);
	for (;;) {
		struct http_reply reply = http_request(where, "GET", path);
		if (strstr(reply.body, text))
			return reply.body;
		http_release(&reply);
		fixture_poll(deadline, 20, text);
	}
}

START_TEST(refused_login_is_only_a_kind_over_tcp)
{
	const char *port = strrchr(strchr(broker_url(fixture.broker), '@'), ':');
	char *address = scratch_text("127.0.0.1%.*s", (int)strcspn(port, "/"), port);
	const char *const environment[] = {"WPOOL_HTTP_LISTEN=127.0.0.1:0",
		scratch_text("AMQP_URL=amqp://hidden-user:wrong@%s", address), NULL};
	const char *const secrets[] = {"hidden-user", address, "ACCESS_REFUSED", "127.0.0.1"};
	char *path = scratch_path(fixture.folder, "pools.yaml");
	scratch_write(path, scratch_text("pools: [{queue: %s, workers: 1, command: [%s]}]\n",
				    fixture.queue, fixture_built("workers/echo")));
	const char *const arguments[] = {
		fixture_built("wpool"), "serve", "--config", path, "--log-format", "text", NULL};
	const char *all[8] = {environment[0], environment[1],
		scratch_text("WPOOL_CONTROL_SOCKET=%s", control_socket()), NULL};
	struct proc *serve = proc_start(fixture.folder, arguments, all);
	proc_expect(serve, "(port ");
	proc_expect(serve, "refused the login of user hidden-user");
	char *where = scratch_text(
		"127.0.0.1:%d", atoi(strstr(proc_stderr(serve), "(port ") + strlen("(port ")));
	for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
		char *text = await_text(where, paths[i], kind);
		for (size_t k = 0; k < sizeof secrets / sizeof *secrets; k++)
			ck_assert_msg(!strstr(text, secrets[k]), "%s: %s", paths[i], text);
		control_expect_text(await_text(control_socket(), paths[i], "hidden-user"), address);
	}
	proc_free(serve);
}
END_TEST

int main(void)
{
	return SYSTEM_RUN("page_reveals", {refused_login_is_only_a_kind_over_tcp, 1});
}
