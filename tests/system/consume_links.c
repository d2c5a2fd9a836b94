/* Each pool consumes on a connection of its own: losing one does not affect the others, and the
 * log names the pool. */
#include "fault/proxy.h"
#include "harness/control.h"
#include "harness/deadline.h"
#include "system/system.h"

#define GOOD 50

static char *other; /* the second pool's queue */

static struct proc *serve_two(const struct proxy *proxy)
{
	char *path = scratch_path(fixture.folder, "two.yaml");
	char *config =
		scratch_text("broker: {url: \"amqp://guest:guest@127.0.0.1:%d/%%2f\"}\npools:\n"
			     "- {name: lame, queue: %s, command: [\"%s\"], workers: 1}\n"
			     "- {name: sound, queue: %s, command: [\"%s\"], workers: 1}\n",
			proxy_port(proxy), fixture.queue, fixture_built("workers/echo"), other,
			fixture_built("workers/echo"));

	scratch_write(path, config);
	free(config);
	return fixture_wpool(
		(const char *const[]){"serve", "--config", path, "--log-format", "text", NULL});
}

static void post(const char *queue, const char *what)
{
	for (int i = 0; i < GOOD; i++) {
		char *id = scratch_text("%s %d", what, i);
		client_post(
			fixture.client, queue, &(struct letter){.body = "x", .correlation_id = id});
		free(id);
	}
}

static void expect_reconnects(const char *pool, bool any)
{
	char *path = scratch_text("/v1/pools?pool=%s", pool);
	json_t *answer = control_get_json(path);
	const json_t *feed = json_object_get(control_member(answer, "pools", 0), "connection");

	ck_assert(json_is_true(json_object_get(feed, "up")));
	ck_assert_int_eq(json_integer_value(json_object_get(feed, "reconnects")) > 0, any);
	free(path);
}

START_TEST(lost_connection_affects_only_its_pool)
{
	/* A connection made under this plan gets no answer. */
	struct proxy_plan never = PROXY_CLEAN;
	struct proxy *proxy = proxy_start(broker_port(fixture.broker));
	struct proc *serve;

	other = scratch_text("%s.other", fixture.queue);
	client_declare(fixture.client, other, CLIENT_QUORUM);
	serve = serve_two(proxy);
	client_expect_consumers(fixture.client, other, 1);
	control_await("/readyz", 200);
	ck_assert_int_eq(proxy_links(proxy, "wpool consume"), 2);
	ck_assert_int_eq(proxy_links(proxy, "wpool consume lame"), 1);
	never.cut_at[PROXY_TO_CLIENT] = 0;
	proxy_plan_rest(proxy, &never);
	proxy_cut(proxy, "wpool consume lame", false);
	control_await("/readyz", 503);
	control_expect_text(control_get("/readyz", 503), "pool lame: no consuming connection");
	post(fixture.queue, "lame");
	post(other, "sound");
	fixture_await_queue_settled(other, (const char *const[]){NULL}, DEADLINE_DEFAULT_MS);
	ck_assert_int_eq(fixture_witnessed(NULL), GOOD);
	proxy_plan_rest(proxy, &PROXY_CLEAN);
	control_await("/readyz", 200);
	fixture_await_settled((const char *const[]){NULL});
	ck_assert_int_eq(fixture_witnessed(NULL), 2 * GOOD);
	expect_reconnects("lame", true);
	expect_reconnects("sound", false);
	fixture_stop(serve);
	proxy_free(proxy);
	client_delete(fixture.client, other);
}
END_TEST

int main(void)
{
	return SYSTEM_RUN("consume_links", {lost_connection_affects_only_its_pool, 1});
}
