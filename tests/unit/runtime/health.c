/* Health in sentences: each cause by itself, behind its pool's name, and how a crash loop reads. */
#include "os/clock.h"
#include "runtime/report/health_text.h"
#include "unit/unit.h"

#include <errno.h>
#include <stdio.h>

static const char *text_of_cause(const struct health *health, enum health_cause cause)
{
	static char text[400];
	struct buf out;

	buf_init(&out, sizeof text - 1);
	health_append_named_text(&out, health, cause);
	ck_assert(!out.failed);
	snprintf(text, sizeof text, "%.*s", TEXT_ARGS(buf_text(&out)));
	buf_release(&out);
	return text;
}

static const struct {
	enum health_cause cause;
	const char *text;
} sentences[] = {
	{HEALTH_DRAINING, "draining"},
	{HEALTH_STOPPING, "stopping"},
	{HEALTH_NO_CONSUMING, "no consuming connection to the broker: refused"},
	{HEALTH_NO_PUBLISHING, "no publishing connection to the broker"},
	{HEALTH_REMOVED, "not configured any more: it finishes its tasks in hand"},
	{HEALTH_PAUSED, "paused by an operator"},
	{HEALTH_NO_WORKER, "no worker is ready"},
	{HEALTH_NO_CONSUMER, "not consuming its queue \"orders\": the queue does not exist"},
	{HEALTH_TRANSIENT,
		"its queue \"orders\" is not durable: a restart of the broker loses it with its "
		"messages (docs/reliability.md)"},
	{HEALTH_NO_PUBLISHES, "some of its publishes are refused: no right to write an exchange"},
	{HEALTH_DIFFERS, "its queue exists with other arguments"},
	{HEALTH_UNBOUND, "a binding is refused"},
	{HEALTH_DEAD_LETTERS,
		"1 message is in its dead-letter queue \"orders.dead\": wpool dead-letters "
		"list --queue orders"},
	{HEALTH_NO_TOKEN, "cannot become the active one: the queue of its token is not consumed or "
			  "refuses the token, or no channel is left to publish it; see the log"},
	{HEALTH_SHARED, "its queue \"orders\" has another consumer, which knows no token: another "
			"program, a version of wpool before sessions, or a pool with "
			"takeover_delay none (stop it)"},
	{HEALTH_WIDER_WINDOW,
		"up to 20 messages may be unacked, because a smaller window would break the "
		"order of what may come back; prefetch 10 is used when nothing is unacked"},
	{HEALTH_NO_ORDER,
		"its queue \"orders\" does not keep the order of sessions: a quorum queue "
		"with a single active consumer does (docs/ordering.md)"},
	{HEALTH_OVERFULL,
		"the bodies of unacked messages exceeded twice memory, and a smaller window "
		"than 20 messages would break the order: set memory higher"},
	{HEALTH_NOT_SINGLE,
		"its queue \"orders\" has no single active consumer: the last messages may "
		"run again when its channel is renewed; docs/ordering.md describes the move"},
	{HEALTH_WINDOW_STUCK,
		"all 20 messages of its window (prefetch) wait in sessions that cannot run "
		"now: 4 parked, 2 blocked, 3 paused, 1 held by a takeover; see wpool "
		"sessions"},
	{HEALTH_BLOCKED, "2 sessions are blocked, because the task at the front failed for good; "
			 "wpool session retry or skip decides"},
	{HEALTH_HELD, "1 session is held: supervisors died in a row, so what was delivered before "
		      "runs one message at a time"},
	{HEALTH_KEYLESS,
		"none of its 7 messages had a key: session.key is header:account, and "
		"publishers must put it there (wpool publish --session-key); without a key "
		"there is no order"},
	{HEALTH_NO_LEADER,
		"no supervisor answers for the throttle erp, so no task starts: the queue "
		"wpool.throttle.erp is not consumed, or the broker does not take or answer "
		"requests in time; see the log"},
};

START_TEST(each_cause_has_a_sentence)
{
	struct health health = {.consume_failure = "refused",
		.publish_failure = "",
		.queue = "orders",
		.refusal = "queue \"orders\" does not exist (NOT_FOUND)",
		.refusal_kind = "the queue does not exist",
		.publish_refusal = "the user has no right",
		.publish_refusal_kind = "no right to write an exchange",
		.difference =
			"queue \"orders\" exists with other arguments: x-max-length is 7, not 8",
		.difference_kind = "its queue exists with other arguments",
		.unbound = "queue \"orders\" cannot be bound to exchange \"events\": 404",
		.unbound_kind = "a binding is refused",
		.consume_failure_kind = "refused",
		.publish_failure_kind = "",
		.dead_letters = 1,
		.dead_letter_queue = "orders.dead",
		.window = 20,
		.prefetch = 10,
		.parked = 4,
		.blocked = 2,
		.paused = 3,
		.held = 1,
		.deliveries = 7,
		.key_place = "header:account",
		.unled = "erp"};

	ck_assert_str_eq(text_of_cause(&health, HEALTH_NO_CONSUMER),
		"not consuming its queue \"orders\": queue \"orders\" does not exist (NOT_FOUND)");
	ck_assert_str_eq(text_of_cause(&health, HEALTH_DIFFERS),
		"queue \"orders\" exists with other arguments: x-max-length is 7, not 8");
	health_hide_details(&health);
	for (size_t i = 0; i < sizeof sentences / sizeof *sentences; i++)
		ck_assert_str_eq(text_of_cause(&health, sentences[i].cause), sentences[i].text);
	health.held_until = clock_now() + 60 * MTIME_MINUTE;
	ck_assert_ptr_nonnull(strstr(text_of_cause(&health, HEALTH_HELD),
		": a former active supervisor may still run what was delivered before "
		"(takeover_delay)"));
	health.throttled = 3;
	health.throttled_by = "erp";
	health.throttled_since = clock_now() - 3 * MTIME_MINUTE;
	ck_assert_str_eq(text_of_cause(&health, HEALTH_THROTTLED),
		"the throttle erp has held back tasks for 3 min, 3 now: more come than its limit "
		"lets start (wpool throttles)");
	health.closed_until = clock_now() + 20 * MTIME_MINUTE + MTIME_SECOND;
	ck_assert_str_eq(text_of_cause(&health, HEALTH_THROTTLED),
		"not consuming its queue \"orders\" for 20 min: the throttle erp lets too few "
		"tasks start (wpool throttles)");
	ck_assert_ptr_nonnull(strstr(text_of_cause(&health, HEALTH_WINDOW_STUCK),
		"; the throttle erp holds back some; see wpool sessions"));
	health.pool = "first";
	ck_assert_str_eq(
		text_of_cause(&health, HEALTH_PAUSED), "pool first: paused by an operator");
}
END_TEST

START_TEST(a_pool_that_waits_to_replace_another_says_so)
{
	struct health health = {.pool = "first",
		.covered = 1u << HEALTH_NO_WORKER,
		.warnings = 1u << HEALTH_NO_WORKER};

	ck_assert_str_eq(text_of_cause(&health, HEALTH_NO_WORKER),
		"pool first: its new configuration is not ready, and the former one works on: no "
		"worker is ready");
}
END_TEST

/* A queue's name is kept as it is, to be consumed; a failure was escaped when it was stored. */
START_TEST(a_sentence_stays_one_line)
{
	struct health health = {.pool = "p",
		.queue = "a\nready\x1b[31m\xe2\x80\xae",
		.consume_failure = "said \\n\\x1b",
		.publish_failure = ""};

	ck_assert_str_eq(text_of_cause(&health, HEALTH_NO_CONSUMER),
		"pool p: not consuming its queue \"a\\nready\\x1b[31m\\u202e\": the broker has not "
		"answered its request yet");
	ck_assert_str_eq(text_of_cause(&health, HEALTH_NO_CONSUMING),
		"pool p: no consuming connection to the broker: said \\n\\x1b");
}
END_TEST

START_TEST(a_pool_that_fails_most_tasks_is_warned_of)
{
	struct statistics statistics = {.failure_share = {.failures = 0x7ff, .attempts = 20},
		.last_failure = REASON_CRASHED,
		.failed_at = clock_now() - 5 * MTIME_MINUTE};
	struct health health = {.statistics = &statistics};

	ck_assert_str_eq(text_of_cause(&health, HEALTH_FAILURES),
		"11 of its last 20 attempts failed, the last one 5 min ago (crashed): the log names "
		"each, and wpool dead-letters what was given up");
}
END_TEST

/* What happened to the last worker, and what to try. */
START_TEST(a_restart_that_was_given_up_is_explained)
{
	static const struct {
		struct exit_info exit;
		const char *why, *text;
	} cases[] = {
		{{EXIT_NOT_STARTED, ENOENT, "exec"}, NULL,
			"the command cannot be run: No such file or directory; last stderr line: "
			"no model (correct the path \"/srv/mail\", then restart again)"},
		{{EXIT_NOT_STARTED, ENOENT, "interpreter"}, NULL,
			"the command is there, its interpreter cannot be run: No such file or "
			"directory; last stderr line: no model (correct the first line of "
			"\"/srv/mail\", then restart again)"},
		{{EXIT_NOT_STARTED, ESRCH, "preload"}, NULL,
			"the preloaded process ended before it forked it; last stderr line: no "
			"model (wpool logs has what \"/srv/mail\" did: correct it, then restart "
			"again)"},
		{{EXIT_NOT_STARTED, ECANCELED, "preload"}, "boot limit",
			"the preloaded process did not fork it, ended by wpool: boot limit; last "
			"stderr line: no model (let \"/srv/mail\" load within limits.boot, or "
			"raise that, then restart again)"},
		{{EXIT_NOT_STARTED, EACCES, "cwd"}, NULL,
			"cwd: Permission denied; last stderr line: no model (correct what keeps "
			"\"/srv/mail\" from its start, then restart again)"},
		{{EXIT_SIGNAL, 9, NULL}, "boot limit",
			"signal 9 (Killed), ended by wpool: boot limit; last stderr line: no model "
			"(let \"/srv/mail\" open the pipe that its first line of input names, or "
			"raise limits.boot, then restart again)"},
		{{EXIT_STATUS, 3, NULL}, NULL,
			"exit status 3; last stderr line: no model (wpool logs has what "
			"\"/srv/mail\" wrote: correct it, then restart again)"},
	};
	struct statistics statistics = {
		.failed_restart = {.why = "three failed", .at = clock_now() - 5 * MTIME_MINUTE}};
	struct health health = {.statistics = &statistics, .program = "/srv/mail"};
	struct last_death *last = &statistics.failed_restart.last;

	ck_assert_str_eq(text_of_cause(&health, HEALTH_RESTART_GIVEN_UP),
		"its last restart was given up 5 min ago: three failed; former workers stay");
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char expected[400];
		*last = (struct last_death){
			.exit = cases[i].exit, .why = cases[i].why, .stderr_line = "no model"};
		snprintf(expected, sizeof expected,
			"its last restart was given up 5 min ago: three failed, the last one: %s; "
			"former workers stay",
			cases[i].text);
		ck_assert_str_eq(text_of_cause(&health, HEALTH_RESTART_GIVEN_UP), expected);
	}
	/* The line may have parts of a message, and where the program is, is not for all. */
	health_hide_details(&health);
	ck_assert_str_eq(text_of_cause(&health, HEALTH_RESTART_GIVEN_UP),
		"its last restart was given up 5 min ago: three failed, the last one: exit status "
		"3; former workers stay");
}
END_TEST

START_TEST(a_crash_loop_is_reported_with_count_and_exit)
{
	mtime now = clock_now();
	struct last_death none = {0},
			  status = {.exit = {.kind = EXIT_STATUS, .number = 3},
				  .at = now - 7 * MTIME_SECOND},
			  limit = {.exit = {.kind = EXIT_SIGNAL, .number = 9},
				  .why = "boot limit",
				  .at = now - 5 * MTIME_MINUTE};
	const struct {
		struct crash_loop loop;
		const char *begin, *end;
	} cases[] = {
		{{1, 1, 1, &none, MTIME_NEVER, 0}, "1 of 1 worker failed", " failed"},
		{{2, 3, 1, &status, MTIME_NEVER, 0},
			"2 of 3 workers failed, last 7.0 s ago: ", "exit status 3"},
		{{1, 1, 2, &none, MTIME_NEVER, 0},
			"crash loop: 1 of 1 worker failed 2 times in a row", " row"},
		{{1, 2, 2, &status, MTIME_NEVER, 0},
			"crash loop: 1 of 2 workers failed 2 times in a row, last 7.0 s ago: ",
			"exit status 3"},
		{{2, 2, 4, &limit, now - MTIME_SECOND, 0},
			"crash loop: 2 of 2 workers failed up to 4 times in a row, last 5 min ago: ",
			"boot limit; next start in 0 ms"},
		{{1, 2, 4, &status, MTIME_NEVER, 1},
			"crash loop: 1 of 2 workers failed 4 times in a row, last 7.0 s ago: ",
			"exit status 3; it is ready again; over when each has answered a task, or been ready for 10 s"},
		{{2, 2, 4, &status, MTIME_NEVER, 2}, "crash loop: 2 of 2 workers failed up to 4 ",
			"; they are ready again; over when each has answered a task, or been ready for 10 s"},
		{{2, 2, 4, &status, now - MTIME_SECOND, 1}, "crash loop: 2 of 2 workers failed up ",
			"; next start in 0 ms; 1 of them is ready again; over when each has answered "
			"a task, or been ready for 10 s"},
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct health health = {.crash_loop = cases[i].loop};
		struct text text = text_from(text_of_cause(&health, HEALTH_CRASH_LOOP));
		ck_assert_msg(text_starts(text, text_from(cases[i].begin)), "%s", text.ptr);
		ck_assert_msg(text_ends(text, text_from(cases[i].end)), "%s", text.ptr);
	}
}
END_TEST

/* It had done tasks, so that it did not fail at its start. */
START_TEST(the_end_of_the_only_worker_is_reported)
{
	struct last_death last = {
		.exit = {.kind = EXIT_SIGNAL, .number = 9}, .at = clock_now() - 5 * MTIME_MINUTE};
	struct health health = {.crash_loop = {0, 1, 0, &last, clock_now() - MTIME_SECOND, 0}};
	const char *begin = "no worker is ready: its workers ended, last 5 min ago: signal 9";
	struct text text = text_from(text_of_cause(&health, HEALTH_NO_WORKER));

	ck_assert_msg(text_starts(text, text_from(begin)), "%s", text.ptr);
	ck_assert_msg(text_ends(text, TEXT("; next start in 0 ms")), "%s", text.ptr);
	health.crash_loop.next_start = MTIME_NEVER; /* it is starting */
	ck_assert_str_eq(text_of_cause(&health, HEALTH_NO_WORKER), "no worker is ready");
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("runtime/health");
	UNIT_CASE(s, "sentences", each_cause_has_a_sentence, a_sentence_stays_one_line,
		a_pool_that_fails_most_tasks_is_warned_of,
		a_pool_that_waits_to_replace_another_says_so,
		a_restart_that_was_given_up_is_explained,
		a_crash_loop_is_reported_with_count_and_exit,
		the_end_of_the_only_worker_is_reported);
	return s;
}

UNIT_MAIN(suite)
