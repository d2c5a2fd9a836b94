/* wpool declare: it makes what is missing, changes nothing, and shows what the order of sessions
 * rests on. */
#include "harness/command.h"
#include "harness/control.h"
#include "system/system.h"

#include <stdio.h>

/* A file with the pool "tested" on the fixture's queue; session: the settings in the section. */
static const char *write_config(const char *session)
{
	char *pool = scratch_text("- {name: tested, queue: %s, command: [\"%s\"], session: {%s}}\n",
		fixture.queue, fixture_built("workers/echo"), session);
	fixture_write_pools(pool);
	return scratch_path(fixture.folder, "wpool.yaml");
}

static char *queue_of(const char *suffix)
{
	return scratch_text("%s%s", fixture.queue, suffix);
}

START_TEST(missing_queues_are_made_once)
{
	static const char *const derived[] = {"", ".dead", ".retry.10s", ".token"};
	const char *file = write_config("key: routing_key, delivery_limit: none");
	client_delete(fixture.client, fixture.queue);
	control_expect_text(RUN(0, "declare", file),
		"tested: 5 queues made; a single active consumer, no delivery limit of its own\n");
	for (size_t i = 0; i < sizeof derived / sizeof *derived; i++)
		ck_assert_int_eq(client_ready(fixture.client, queue_of(derived[i])), 0);
	control_expect_text(RUN(0, "declare", file, "tested"),
		"tested: 0 queues made; a single active consumer, no delivery limit of its own\n");
}
END_TEST

START_TEST(pool_without_sessions_has_no_token)
{
	const char *file = write_config("");
	control_expect_text(RUN(0, "declare", file), "tested: 4 queues made\n");
	ck_assert_int_eq(client_ready(fixture.client, queue_of(".token")), -1);
	file = write_config("key: routing_key, takeover_delay: none");
	RUN(0, "declare", file);
	ck_assert_int_eq(client_ready(fixture.client, queue_of(".token")), -1);
}
END_TEST

START_TEST(existing_queue_is_shown_as_it_is)
{
	const char *file = write_config("key: routing_key, delivery_limit: none");
	control_expect_text(RUN(0, "declare", file), "tested: 4 queues made; no single active "
						     "consumer (docs/ordering.md), no "
						     "x-delivery-limit");
	client_delete(fixture.client, fixture.queue);
	client_declare_limited(fixture.client, fixture.queue, 7);
	struct proc *declare = fixture_wpool((const char *const[]){"declare", file, NULL});
	ck_assert_int_eq(proc_wait(declare), 78);
	control_expect_text(proc_stdout(declare), "x-delivery-limit 7\n");
	control_expect_text(proc_stderr(declare),
		"pool tested: session.delivery_limit is none, but the queue has the "
		"x-delivery-limit 7");
	file = write_config("key: routing_key");
	control_expect_text(RUN(0, "declare", file), "x-delivery-limit 7\n");
	client_delete(fixture.client, fixture.queue);
	client_declare(fixture.client, fixture.queue, CLIENT_CLASSIC);
	control_expect_text(RUN(78, "declare", file), "is not a quorum queue, which sessions need");
}
END_TEST

START_TEST(token_queue_of_another_kind_is_named)
{
	const char *file = write_config("key: routing_key");
	client_declare(fixture.client, queue_of(".token"), CLIENT_CLASSIC);
	control_expect_text(RUN(78, "declare", file),
		"is no quorum queue with a single active consumer and without a delivery limit, "
		"which the token needs: delete it");
	client_delete(fixture.client, queue_of(".token"));
	control_expect_text(RUN(0, "declare", file), "tested: ");
}
END_TEST

START_TEST(mistakes_are_named)
{
	const char *file = write_config("key: routing_key");
	control_expect_text(RUN(64, "declare"), "a FILE is needed");
	control_expect_text(RUN(65, "declare", file, "other"), "there is no pool other");
	control_expect_text(RUN(78, "declare", "/no/such/file"), "/no/such/file");
	file = write_config("quantum: 1");
	control_expect_text(RUN(78, "declare", file), "session.key is missing");
	scratch_write(file, "broker: {url: 'amqp://127.0.0.1:1'}\n"
			    "pools: [{queue: q, command: w}]\n");
	control_expect_text(
		RUN(69, "declare", "--wait", "300ms", file), "no connection to the broker");
}
END_TEST

int main(void)
{
	return SYSTEM_RUN("declare", {missing_queues_are_made_once, 1},
		{pool_without_sessions_has_no_token, 1}, {existing_queue_is_shown_as_it_is, 1},
		{token_queue_of_another_kind_is_named, 1}, {mistakes_are_named, 1});
}
