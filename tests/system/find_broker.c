/* How wpool dead-letters finds the broker without --broker: by the supervisor, and by a file. */
#include "harness/command.h"
#include "harness/deadline.h"
#include "system/system.h"

#include <string.h>

/* As `wpool status` prints the command, in a shell that knows nothing of the broker. */
START_TEST(broker_is_found_by_the_supervisor)
{
	char *dead = scratch_text("%s.odd", fixture.queue);
	struct proc *serve =
		fixture_serve_pool(scratch_text("retry: {attempts: 1, dead_letter: %s}", dead),
			fixture_built("workers/echo"));
	client_expect_consumers(fixture.client, fixture.queue, 1);
	client_post(fixture.client, fixture.queue,
		&(struct letter){.body = "x", .headers = {{"X-Status", "400"}}});
	client_expect_ready(fixture.client, dead, 1);
	command_expect_text(
		RUN(0, "dead-letters", "list", "--queue", fixture.queue), "1 of 1 message");
	ck_assert_ptr_null(strstr(RUN(0, "status"), "needs AMQP_URL"));
	fixture_stop(serve);
	/* Without it, by the file. */
	const char *file = scratch_path(fixture.folder, "wpool.yaml");
	command_expect_text(
		RUN(0, "dead-letters", "drop", "--yes", "--queue", fixture.queue, "--config", file),
		"1 dropped; 0 left");
	command_expect_text(RUN(64, "dead-letters", "list", "--queue", "q", "--broker", "amqp://h",
				    "--config", file),
		"--broker and --config exclude each other");
	command_expect_text(RUN(78, "dead-letters", "list", "--queue", "q", "--config", "/nowhere"),
		"/nowhere: No such file");
	client_delete(fixture.client, dead);
}
END_TEST

/* What the shell lacks is said where the command is named. */
START_TEST(address_of_a_supervisor_without_file_is_needed)
{
	struct proc *serve = fixture_serve_echo((const char *const[]){"--workers", "1", NULL});
	client_post(fixture.client, fixture.queue,
		&(struct letter){.body = "x", .headers = {{"X-Status", "400"}}});
	client_expect_ready(fixture.client, fixture.dead, 1);
	int64_t deadline = deadline_in(DEADLINE_DEFAULT_MS);
	while (!strstr(RUN(0, "status"), "wpool dead-letters needs AMQP_URL or --broker here"))
		fixture_poll(deadline, 20, "the dead letter was counted");
	struct proc *status = fixture_wpool_with((const char *const[]){"status", NULL},
		(const char *const[]){"AMQP_URL=amqp://127.0.0.1:1", NULL});
	ck_assert_int_eq(proc_wait(status), 0);
	ck_assert_ptr_null(strstr(proc_stdout(status), "needs AMQP_URL"));
	fixture_stop(serve);
}
END_TEST

int main(void)
{
	return SYSTEM_RUN("find_broker", {broker_is_found_by_the_supervisor, 1},
		{address_of_a_supervisor_without_file_is_needed, 1});
}
