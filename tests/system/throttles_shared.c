/* One throttle for several supervisors (scope: cluster), on a real broker with real workers: their
 * starts together never exceed the limit, whichever of them is killed, stopped or told other
 * figures, and nothing is lost. */
#include "harness/begins.h"
#include "harness/command.h"
#include "harness/control.h"
#include "harness/deadline.h"
#include "harness/exposition.h"
#include "harness/http.h"
#include "harness/peers.h"
#include "system/system.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

#define PEERS  3
#define SECOND BEGINS_SECOND
#define LIMIT  10
#define PERIOD SECOND
/* The throttle of most tests. */
#define FIGURES "limit: 10, period: 1s"
#define KILLED  (128 + SIGKILL)

static struct peer peers[PEERS];
static struct begins begins;

/* ---------- the supervisors ---------- */

/* Of this test only: what leads it is the broker's. */
static const char *throttle(void)
{
	return scratch_text("shared-%d", (int)getpid());
}

static const char *requests(void)
{
	return scratch_text("wpool.throttle.%s", throttle());
}

static char *pool(const char *name, const char *queue, const char *more)
{
	return scratch_text("- {name: %s, queue: %s, command: ['%s'], workers: 4, %s, %s}\n", name,
		queue, fixture_built("workers/echo"), begins_setting(), more);
}

static char *throttled(const char *queue)
{
	char *more = scratch_text("prefetch: 20, throttle: [%s]", throttle());
	return pool("tested", queue, more);
}

/* figures: of the throttle, and its key. */
static void configure(int number, const char *pools, const char *figures)
{
	char *broker = scratch_text("url: '%s', heartbeat: 1s", broker_url(fixture.broker));
	char *lists = scratch_text(
		"pools:\n%sthrottles:\n- {name: %s, %s}\n", pools, throttle(), figures);
	peer_configure(&peers[number], broker, lists);
	free(broker);
	free(lists);
}

static void start(int number, const char *pools, const char *figures)
{
	char *shared = scratch_text("%s, scope: cluster", figures);
	peers[number] = peer_make(number);
	configure(number, pools, shared);
	peer_start(&peers[number]);
	free(shared);
}

/* All with one queue. */
static void start_all(int count)
{
	for (int i = 0; i < count; i++)
		start(i, throttled(fixture.queue), FIGURES);
}

static void stop_all(void)
{
	for (int i = 0; i < PEERS; i++)
		if (peers[i].proc)
			peer_end(&peers[i], SIGTERM, 0);
	client_delete(fixture.client, requests());
}

static int await_leader(int but)
{
	return peers_await_leader(peers, PEERS, throttle(), but);
}

static json_int_t figure(int number, const char *member)
{
	return peer_figure(&peers[number], throttle(), member);
}

static void await_figure(int number, const char *member, json_int_t value)
{
	peer_await_figure(&peers[number], throttle(), member, value);
}

/* Until a task waits for it. */
static void await_waits(int number)
{
	int64_t deadline = deadline_in(DEADLINE_DEFAULT_MS);
	while (figure(number, "waiting") == 0)
		fixture_poll(deadline, 20, "a task waits for the throttle");
}

/* ---------- tasks ---------- */

#define ID_SIZE 40

static void make_id(char id[ID_SIZE], const char *tenant, int number)
{
	snprintf(id, ID_SIZE, "%s-%d", tenant, number);
}

static void post(const char *queue, const char *tenant, int from, int to)
{
	struct letter letters[300];
	char ids[300][ID_SIZE];
	size_t count = 0;
	for (int i = from; i < to; i++, count++) {
		make_id(ids[count], tenant, i);
		letters[count] = (struct letter){.body = ids[count],
			.correlation_id = ids[count],
			.headers = {{"tenant", tenant}}};
	}
	client_post_all(fixture.client, queue, letters, count, NULL);
}

static void await_witnessed(int count)
{
	int64_t deadline = deadline_in(2 * DEADLINE_DEFAULT_MS);
	while (fixture_witnessed(NULL) < count)
		fixture_poll(deadline, 20, "the tasks are done");
}

static bool is_done(const char *tenant, int from, int to)
{
	char id[ID_SIZE];
	for (int i = from; i < to; i++) {
		make_id(id, tenant, i);
		if (fixture_witnessed(id) == 0)
			return false;
	}
	return true;
}

/* Each of these at least once, so nothing is lost. */
static void await_done(const char *tenant, int from, int to)
{
	int64_t deadline = deadline_in(2 * DEADLINE_DEFAULT_MS);
	while (!is_done(tenant, from, to))
		fixture_poll(deadline, 20, "all tasks are done");
}

static int begun(const char *tenant)
{
	begins_read(&begins);
	int count = 0;
	for (int i = 0; i < begins.count; i++)
		count += !tenant || strcmp(begins.all[i].tenant, tenant) == 0;
	return count;
}

static void await_begun(int count)
{
	int64_t deadline = deadline_in(DEADLINE_DEFAULT_MS);
	while (begun(NULL) < count)
		fixture_poll(deadline, 20, "more tasks begin");
}

static void expect_windows(const char *tenant, int limit)
{
	begins_read(&begins);
	begins_expect_windows(&begins, tenant, limit, PERIOD);
}

static void expect_leads(const struct peer *peer, double value)
{
	char *metrics = http_get(peer->socket, "/metrics", 200);
	char *name = scratch_text("wpool_throttle_leads{throttle=\"%s\"}", throttle());
	ck_assert_double_eq(exposition_value(metrics, name), value);
	free(name);
	free(metrics);
}

/* ---------- one limit for all ---------- */

START_TEST(three_supervisors_share_a_limit)
{
	enum { EACH = 30, ALL = PEERS * EACH };
	char *queues[PEERS] = {
		fixture.queue, fixture.replies, scratch_text("%s.third", fixture.queue)};
	json_int_t starts = 0;
	client_declare(fixture.client, queues[2], CLIENT_QUORUM);
	for (int i = 0; i < PEERS; i++) {
		post(queues[i], "-", i * EACH, (i + 1) * EACH);
		start(i, throttled(queues[i]), FIGURES);
	}
	await_witnessed(ALL);
	int leader = await_leader(-1);
	await_figure(leader, "waiting", 0);
	for (int i = 0; i < PEERS; i++) {
		starts += figure(i, "starts");
		json_t *shown = peer_throttle(&peers[i], throttle());
		ck_assert_str_eq(control_text(shown, "leader"), i == leader ? "here" : "elsewhere");
		ck_assert_str_eq(control_text(shown, "scope"), "cluster");
		json_decref(shown);
		expect_leads(&peers[i], i == leader);
	}
	ck_assert_int_eq(starts, ALL);
	expect_windows(NULL, LIMIT);
	ck_assert_int_eq(begins.count, ALL);
	stop_all();
	ck_assert_int_eq(fixture_witnessed(NULL), ALL);
	for (int i = 0; i < PEERS; i++)
		broker_expect_messages(fixture.broker, queues[i], 0);
	client_delete(fixture.client, queues[2]);
}
END_TEST

/* What a waits for does not hold back b, whose first limit is free. */
START_TEST(a_tenant_has_one_limit_at_two_supervisors)
{
	enum { OF_A = 40, OF_B = 5 };
	static const char by_tenant[] = "limit: 5, period: 1s, key: 'header:tenant'";
	post(fixture.queue, "a", 0, OF_A / 2);
	post(fixture.replies, "a", OF_A / 2, OF_A);
	start(0, throttled(fixture.queue), by_tenant);
	start(1, throttled(fixture.replies), by_tenant);
	await_begun(6);
	post(fixture.queue, "b", 0, OF_B);
	await_done("b", 0, OF_B);
	ck_assert_int_lt(begun("a"), OF_A);
	await_done("a", 0, OF_A);
	expect_windows("a", 5);
	expect_windows("b", 5);
	ck_assert_int_eq(begins.count, OF_A + OF_B);
	stop_all();
	broker_expect_messages(fixture.broker, fixture.queue, 0);
	broker_expect_messages(fixture.broker, fixture.replies, 0);
}
END_TEST

/* ---------- the leader goes ---------- */

/* It does not know what another one has granted, so at first it grants nothing. */
START_TEST(another_one_leads_after_the_end_of_the_leader)
{
	static const int signals[] = {SIGKILL, SIGTERM};
	enum { ALL = 80 };
	post(fixture.queue, "-", 0, ALL);
	start_all(PEERS);
	int leader = await_leader(-1);
	await_begun(2 * LIMIT);
	peer_end(&peers[leader], signals[_i], signals[_i] == SIGKILL ? KILLED : 0);
	int next = await_leader(leader);
	await_done("-", 0, ALL);
	ck_assert_int_eq(await_leader(-1), next);
	expect_windows(NULL, LIMIT);
	stop_all();
	broker_expect_messages(fixture.broker, fixture.queue, 0);
	if (signals[_i] == SIGTERM)
		ck_assert_int_eq(begins.count, ALL);
}
END_TEST

/* The broker ends its connection after two heartbeats. When it continues, it grants nothing by what
 * it knew, and starts nothing by what it was granted. */
START_TEST(a_stopped_leader_is_replaced_and_comes_back)
{
	enum { ALL = 120 };
	post(fixture.queue, "-", 0, ALL);
	start_all(PEERS);
	int leader = await_leader(-1);
	await_begun(2 * LIMIT);
	peer_signal(&peers[leader], SIGSTOP);
	int next = await_leader(leader);
	int before = begun(NULL);
	await_begun(before + 2 * LIMIT);
	peer_signal(&peers[leader], SIGCONT);
	await_done("-", 0, ALL);
	ck_assert_int_eq(await_leader(-1), next);
	expect_windows(NULL, LIMIT);
	stop_all();
	broker_expect_messages(fixture.broker, fixture.queue, 0);
}
END_TEST

/* ---------- other figures ---------- */

START_TEST(an_operator_sets_the_limit_of_all)
{
	enum { ALL = 200 };
	int leader, other;
	post(fixture.queue, "-", 0, ALL);
	start_all(PEERS);
	leader = await_leader(-1);
	for (int i = 0; i < PEERS; i++)
		await_waits(i);
	other = (leader + 1) % PEERS;
	command_expect_text(
		RUN(0, "throttle", throttle(), "--limit", "4", "--socket", peers[other].socket),
		"at most 4 starts in 1s");
	for (int i = 0; i < PEERS; i++)
		await_figure(i, "limit", 4);
	int before = begun(NULL);
	await_begun(before + 12);
	begins_skip(&begins, before);
	begins_expect_windows(&begins, NULL, 4, PERIOD);
	command_expect_text(
		RUN(0, "throttle", throttle(), "--limit", "50", "--socket", peers[leader].socket),
		"at most 50 starts in 1s");
	for (int i = 0; i < PEERS; i++)
		await_figure(i, "limit", 50);
	await_done("-", 0, ALL);
	stop_all();
}
END_TEST

/* It has no task that would make it ask. */
START_TEST(what_is_set_at_an_idle_supervisor_holds_at_the_others)
{
	post(fixture.queue, "-", 0, 60);
	start(0, throttled(fixture.queue), FIGURES);
	await_begun(LIMIT);
	start(1, throttled(fixture.replies), FIGURES);
	command_expect_text(
		RUN(0, "throttle", throttle(), "--limit", "5", "--socket", peers[1].socket),
		"at most 5 starts in 1s");
	await_figure(0, "limit", 5);
	await_done("-", 0, 60);
	expect_windows(NULL, LIMIT);
	stop_all();
}
END_TEST

/* The leader's, and the other one warns. */
START_TEST(of_different_configurations_that_of_the_leader_holds)
{
	post(fixture.queue, "-", 0, 30);
	start(0, throttled(fixture.queue), "limit: 3, period: 1s");
	ck_assert_int_eq(await_leader(-1), 0);
	start(1, throttled(fixture.queue), "limit: 7, period: 2s");
	proc_expect(peers[1].proc, "3 in 1s from now on, at all supervisors; "
				   "configured here: 7 in 2s");
	ck_assert_int_eq(figure(1, "limit"), 3);
	ck_assert_int_eq(figure(0, "limit"), 3);
	await_done("-", 0, 30);
	expect_windows(NULL, 3);
	ck_assert_int_eq(proc_count_logged(peers[1].proc, "from now on, at all supervisors"), 1);
	ck_assert_int_eq(proc_count_logged(peers[0].proc, "from now on, at all supervisors"), 0);
	stop_all();
}
END_TEST

static void reload(int number)
{
	free(RUN(0, "reload", "--socket", peers[number].socket));
}

START_TEST(a_reload_at_one_supervisor_changes_the_limit_of_all)
{
	enum { ALL = 120 };
	post(fixture.queue, "-", 0, ALL);
	start_all(2);
	for (int i = 0; i < 2; i++)
		await_waits(i);
	int other = 1 - await_leader(-1);
	configure(other, throttled(fixture.queue), "limit: 20, period: 1s, scope: cluster");
	reload(other);
	for (int i = 0; i < 2; i++)
		await_figure(i, "limit", 20);
	await_done("-", 0, ALL);
	expect_windows(NULL, 20);
	ck_assert_int_eq(begins.count, ALL);
	stop_all();
	broker_expect_messages(fixture.broker, fixture.queue, 0);
}
END_TEST

/* Each has a new pool; the old one works until that is ready, and what waits goes back. */
START_TEST(a_reload_shares_what_each_counted_for_itself)
{
	enum { ALL = 120 };
	post(fixture.queue, "-", 0, ALL);
	for (int i = 0; i < 2; i++) {
		peers[i] = peer_make(i);
		configure(i, throttled(fixture.queue), FIGURES);
		peer_start(&peers[i]);
	}
	await_begun(2 * LIMIT);
	for (int i = 0; i < 2; i++) {
		configure(i, throttled(fixture.queue), FIGURES ", scope: cluster");
		reload(i);
	}
	int before = begun(NULL);
	await_leader(-1);
	await_done("-", 0, ALL);
	begins_read(&begins);
	ck_assert_int_eq(begins.count, ALL);
	/* When the old pools have ended: they had at most a prefetch window each. */
	begins_skip(&begins, before + 2 * 20);
	begins_expect_windows(&begins, NULL, LIMIT, PERIOD);
	stop_all();
	broker_expect_messages(fixture.broker, fixture.queue, 0);
}
END_TEST

/* ---------- the broker ---------- */

START_TEST(what_is_no_request_changes_nothing)
{
	static const char *const forged[] = {"hello", "", "\x92\x01\x02", "{\"limit\":1000}"};
	post(fixture.queue, "-", 0, 50);
	start_all(2);
	int leader = await_leader(-1);
	await_begun(LIMIT);
	for (size_t i = 0; i < sizeof forged / sizeof *forged; i++)
		client_send(fixture.client, requests(), forged[i]);
	proc_expect(peers[leader].proc, "is no request (");
	await_done("-", 0, 50);
	ck_assert_int_eq(proc_count_logged(peers[leader].proc, "is no request ("), 1);
	ck_assert_int_eq(await_leader(-1), leader);
	expect_windows(NULL, LIMIT);
	stop_all();
	ck_assert_int_eq(begins.count, 50);
	broker_expect_messages(fixture.broker, fixture.queue, 0);
}
END_TEST

/* A task without a throttle lasts for so long that many others could start. */
START_TEST(an_alarm_of_the_broker_starts_nothing_and_loses_nothing)
{
	enum { ALL = 80 };
	fixture_use_own_broker();
	post(fixture.queue, "-", 0, ALL);
	char *both = scratch_text(
		"%s%s", throttled(fixture.queue), pool("slow", fixture.replies, "prefetch: 1"));
	for (int i = 0; i < 2; i++)
		start(i, i == 0 ? both : throttled(fixture.queue), FIGURES);
	await_begun(LIMIT);
	client_post(fixture.client, fixture.replies,
		&(struct letter){.body = "slow",
			.correlation_id = "slow",
			.headers = {{"tenant", "slow"}, {"X-Begin", "begins slow"},
				{"X-Sleep-Ms", "5000"}, {"X-Say", "ends slow"}}});
	proc_expect(peers[0].proc, "begins slow");
	free(broker_eval(fixture.broker, "vm_memory_monitor:set_vm_memory_high_watermark(0)"));
	for (int i = 0; i < 2; i++)
		proc_expect(peers[i].proc, "takes no requests of throttles for now");
	int before = begun("-");
	proc_expect(peers[0].proc, "ends slow");
	/* What was granted before. */
	ck_assert_int_le(begun("-") - before, LIMIT);
	ck_assert_int_lt(begun("-"), ALL);
	free(broker_eval(fixture.broker, "vm_memory_monitor:set_vm_memory_high_watermark(0.4)"));
	await_done("-", 0, ALL);
	expect_windows("-", LIMIT);
	ck_assert_int_eq(begun("-"), ALL);
	stop_all();
	broker_expect_messages(fixture.broker, fixture.queue, 0);
}
END_TEST

int main(void)
{
	return SYSTEM_RUN("throttles_shared", {three_supervisors_share_a_limit, 1},
		{a_tenant_has_one_limit_at_two_supervisors, 1},
		{another_one_leads_after_the_end_of_the_leader, 2},
		{a_stopped_leader_is_replaced_and_comes_back, 1},
		{an_operator_sets_the_limit_of_all, 1},
		{what_is_set_at_an_idle_supervisor_holds_at_the_others, 1},
		{of_different_configurations_that_of_the_leader_holds, 1},
		{a_reload_at_one_supervisor_changes_the_limit_of_all, 1},
		{a_reload_shares_what_each_counted_for_itself, 1},
		{what_is_no_request_changes_nothing, 1},
		{an_alarm_of_the_broker_starts_nothing_and_loses_nothing, 1});
}
