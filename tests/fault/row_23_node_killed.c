/* A cluster of three nodes with quorum queues: one after the other is killed and comes back while
 * work flows. The supervisor knows all addresses; where its node dies it goes to the next. */
#include "fault/account.h"
#include "fault/node_kills.h"
#include "fault/watch.h"

#include <stdio.h>

#define NODES    3
#define LOAD     400
#define PREFETCH 16
#define WORK_MS  2

static const char *const delays[] = {"100ms", NULL};

static struct proc *serve(const struct cluster *cluster)
{
	const char *const options[] = {
		"--broker", cluster_urls(cluster), "--workers", "4", "--prefetch", "16", NULL};
	return fixture_serve_echo(options);
}

/* They must outlive the first kill. */
static void let_queues_settle(struct cluster *cluster, struct account *account)
{
	account_post(account, 8, "drtx", 0);
	account_await_settled(account);
	for (int i = 1; i <= NODES; i++)
		broker_write_all(cluster_node(cluster, i));
}

static void load(struct account *account, long progress)
{
	account_fill(account, LOAD, "drtx", WORK_MS);
	account_await_progress(account, progress);
}

/* Work goes on in all three: before, meanwhile, after. Returns how long none was done. */
static int64_t fell(struct cluster *cluster, int victim, struct account *account)
{
	int survivor = (victim + (int)fault_random_below(NODES - 1)) % NODES + 1;
	load(account, 1 + fault_random_below(LOAD / 4));
	int64_t begun = deadline_now_ms();
	cluster_kill(cluster, victim);
	cluster_await_leader(cluster, survivor, fixture.queue);
	node_kills_move_to(cluster_node(cluster, survivor));
	load(account, 1);
	int64_t took = deadline_now_ms() - begun;
	load(account, LOAD / 4);
	cluster_restart_node(cluster, victim);
	load(account, LOAD / 4);
	return took;
}

/* A stale or doubled ack would stand in the log of the node that got it. */
static void expect_no_stale_acks(const struct cluster *cluster)
{
	for (int i = 1; i <= NODES; i++)
		account_expect_no_stale_ack(cluster_node(cluster, i));
}

/* A node breaks one consuming connection at most, twice if the next one was tried in vain. */
static void judge(const struct cluster *cluster, struct account *account, struct tally *tally)
{
	long repeats = account_close(account, tally);
	ck_assert_int_le(repeats, 2 * PREFETCH * tally->trials);
	expect_no_stale_acks(cluster);
}

static void kill_in_turn(struct cluster *cluster, struct tally *tally)
{
	struct account *account = account_new(delays);
	struct proc *proc = serve(cluster);
	int64_t longest_ms = 0;
	let_queues_settle(cluster, account);
	while (fault_next(tally)) {
		int64_t took = fell(cluster, (int)(tally->trials % NODES) + 1, account);
		longest_ms = took > longest_ms ? took : longest_ms;
	}
	cluster_await_leader(cluster, 1, fixture.queue);
	account_await_settled(account);
	fixture_stop(proc);
	watch_note_turns(proc, tally);
	judge(cluster, account, tally);
	snprintf(tally->note, sizeof tally->note,
		"at work again within %lld ms of the kill; %ld of our own publishes were nacked",
		(long long)longest_ms, account_nacked(account));
	account_free(account);
}

static void run(struct tally *tally)
{
	node_kills_run(NODES, tally, kill_in_turn);
}

int main(void)
{
	return fault_main(&(struct fault){
		.row = 23, .name = "cluster, a node killed", .few = 1, .full = 30, .run = run});
}
