/* A cluster of three nodes, and three supervisors that share a throttle, each at a node of its own:
 * one node after the other is killed and comes back, with the queue of requests or its active
 * consumer. In no period start more tasks than the limit, and none is lost. */
#include "fault/node_kills.h"
#include "fault/sharers.h"

#include <stdio.h>

#define NODES 3

static const char *const delays[] = {"100ms", NULL};

/* The addresses of all nodes, this one's first. */
static char *settings_from(const struct cluster *cluster, int first)
{
	const char *urls[NODES];
	for (int i = 0; i < NODES; i++)
		urls[i] = broker_url(cluster_node(cluster, (first + i) % NODES + 1));
	return scratch_text("url: ['%s', '%s', '%s'], heartbeat: 2s", urls[0], urls[1], urls[2]);
}

static struct sharers *start(const struct cluster *cluster)
{
	char *brokers[SHARERS];
	for (int i = 0; i < SHARERS; i++)
		brokers[i] = settings_from(cluster, i);
	struct sharers *sharers = sharers_start((const char *const *)brokers);
	for (int i = 0; i < SHARERS; i++)
		free(brokers[i]);
	return sharers;
}

/* They must outlive the first kill. */
static void let_queues_settle(
	struct cluster *cluster, struct sharers *sharers, struct account *account)
{
	account_post(account, 8, "d", 0);
	account_await_settled(account);
	sharers_await_leader(sharers, -1);
	for (int i = 1; i <= NODES; i++)
		broker_write_all(cluster_node(cluster, i));
}

/* Return how long no task began. */
static long kill_node(
	struct cluster *cluster, int victim, struct sharers *sharers, struct account *account)
{
	int survivor = (victim + (int)fault_random_below(NODES - 1)) % NODES + 1;
	sharers_load(account);
	sharers_await_begun(sharers, 1 + fault_random_below(2 * SHARERS_LIMIT));
	int64_t begun = deadline_now_ms();
	cluster_kill(cluster, victim);
	cluster_await_leader(cluster, survivor, fixture.queue);
	node_kills_move_to(cluster_node(cluster, survivor));
	sharers_await_begun(sharers, SHARERS_LIMIT);
	long took = (long)(deadline_now_ms() - begun);
	sharers_load(account);
	cluster_restart_node(cluster, victim);
	sharers_await_begun(sharers, SHARERS_LIMIT);
	return took;
}

static void kill_in_turn(struct cluster *cluster, struct tally *tally)
{
	struct account *account = account_new(delays);
	struct sharers *sharers = start(cluster);
	long longest_ms = 0;
	let_queues_settle(cluster, sharers, account);
	while (fault_next(tally)) {
		int victim = (int)(tally->trials % NODES) + 1;
		long took = kill_node(cluster, victim, sharers, account);
		longest_ms = took > longest_ms ? took : longest_ms;
		sharers_check(sharers);
	}
	cluster_await_leader(cluster, 1, fixture.queue);
	account_await_settled(account);
	char *note = sharers_note(sharers);
	sharers_end(sharers, tally);
	ck_assert_int_le(
		account_close(account, tally), 2 * SHARERS * SHARERS_PREFETCH * tally->trials);
	for (int i = 1; i <= NODES; i++)
		account_expect_no_stale_ack(cluster_node(cluster, i));
	snprintf(tally->note, sizeof tally->note, "%s; a limit of tasks begun %ld ms after a kill",
		note, longest_ms);
	account_free(account);
	free(note);
}

static void run(struct tally *tally)
{
	node_kills_run(NODES, tally, kill_in_turn);
}

int main(void)
{
	return fault_main(&(struct fault){.row = 34,
		.name = "shared throttle: node killed",
		.few = 2,
		.full = 30,
		.run = run});
}
