/* A cluster of three nodes with quorum queues: each node in turn is killed and comes back while
 * work flows. The supervisor knows all three addresses. Nothing is lost, nothing is left over. */
#include "harness/cluster.h"
#include "harness/deadline.h"
#include "system/system.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#define NODES    3
#define PREFETCH 16
#define BATCH    60 /* before a node is killed, while it is down, and once it is back */
#define BATCHES  (3 * NODES)
#define TASKS    (BATCH * BATCHES)

enum end { DONE, REPLIED, DEAD };

/* What a task is to come to, by its number. */
static const struct kind {
	const char *name, *value; /* the header that asks for it */
	enum end end;
} kinds[] = {
	{"X-Status", "200", DONE},
	{"X-Status", "201", REPLIED},
	{"X-Fail-Until", "1", DONE},
	{"X-Status", "404", DEAD},
	{"X-Sleep-Ms", "20", DONE},
};
#define KINDS (int)(sizeof kinds / sizeof *kinds)

struct account {
	int posted;
	int ends[TASKS];
};

/* The client of the test goes to a node that lives. */
static void move_to(struct broker *broker)
{
	client_free(site.client);
	site.broker = broker;
	site.client = client_open(broker_url(broker));
}

static void post_batch(struct account *account)
{
	struct letter letters[BATCH] = {{0}};
	for (int i = 0; i < BATCH; i++) {
		const struct kind *kind = &kinds[(account->posted + i) % KINDS];
		char *id = scratch_text("%d", account->posted + i);
		letters[i] = (struct letter){.body = id,
			.correlation_id = id,
			.reply_to = site.replies,
			.headers = {{kind->name, kind->value}}};
	}
	client_post_all(site.client, site.queue, letters, BATCH);
	for (int i = 0; i < BATCH; i++)
		free((char *)letters[i].body);
	account->posted += BATCH;
}

static void await_witnessed(struct proc *serve, int count)
{
	int64_t deadline = deadline_in(3 * DEADLINE_DEFAULT_MS);
	/* The witness is appended to by workers: nobody is told. */
	while (site_witnessed(NULL) < count) {
		ck_assert_msg(deadline_left(deadline) > 0, "no work flows: %s", proc_stderr(serve));
		poll(NULL, 0, 20);
	}
}

/* Work goes on in all three: before, meanwhile, after. */
static void fell(struct cluster *cluster, int victim, struct proc *serve, struct account *account)
{
	int before = site_witnessed(NULL), survivor = victim % NODES + 1;
	post_batch(account);
	await_witnessed(serve, before + BATCH / 4);
	cluster_kill(cluster, victim);
	cluster_await_leader(cluster, survivor, site.queue);
	move_to(cluster_node(cluster, survivor));
	before = site_witnessed(NULL);
	post_batch(account);
	await_witnessed(serve, before + BATCH / 2);
	cluster_bring_back(cluster, victim);
	post_batch(account);
}

static void book(struct account *account, const char *id, enum end end)
{
	int number = atoi(id);
	ck_assert_msg(number >= 0 && number < account->posted, "nobody published %s", id);
	ck_assert_msg(kinds[number % KINDS].end == end, "%s ended otherwise", id);
	account->ends[number]++;
}

static void book_queue(struct account *account, const char *queue, enum end end)
{
	for (long left = broker_messages(site.broker, queue); left > 0; left--) {
		struct message *message = client_take(site.client, queue);
		book(account, message->body, end);
		message_free(message);
	}
}

/* Those with a reply bear witness, too: their end is the reply. */
static void book_witness(struct account *account)
{
	char *text = scratch_read(site.witness, NULL), *rest = NULL;
	ck_assert_ptr_nonnull(text);
	for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
		if (kinds[atoi(line) % KINDS].end != REPLIED)
			book(account, line, DONE);
	free(text);
}

/* What was unacked on a connection that broke is done again, and a copy that was unconfirmed is
 * made again: each node breaks one consuming connection at most, twice if it was tried in vain. */
static void close_account(struct account *account)
{
	int repeats = 0;
	book_queue(account, site.dead, DEAD);
	book_queue(account, site.replies, REPLIED);
	book_witness(account);
	for (int i = 0; i < account->posted; i++) {
		ck_assert_msg(account->ends[i] > 0, "%d is lost", i);
		repeats += account->ends[i] - 1;
	}
	printf("%d tasks, %d repeats\n", account->posted, repeats);
	ck_assert_int_le(repeats, 2 * NODES * PREFETCH);
}

/* A stale or doubled ack would stand in the log of the node that got it. */
static void expect_no_unknown_tags(const struct cluster *cluster)
{
	for (int i = 1; i <= NODES; i++) {
		char *log = broker_log(cluster_node(cluster, i));
		ck_assert_ptr_null(strstr(log, "unknown delivery tag"));
		free(log);
	}
}

static struct proc *serve_all(const struct cluster *cluster)
{
	const char *const options[] = {
		"--broker", cluster_urls(cluster), "--workers", "4", "--prefetch", "16", NULL};
	return site_serve_echo(options);
}

START_TEST(nodes_die_in_turn_and_nothing_is_lost)
{
	struct account account = {0};
	char *folder = scratch_path(site.folder, "cluster");
	char *retries = scratch_text("%s.retry.100ms", site.queue);
	struct cluster *cluster = cluster_start(folder, NODES);
	move_to(cluster_node(cluster, 1));
	client_declare(site.client, site.queue, CLIENT_QUORUM);
	client_declare(site.client, site.replies, CLIENT_QUORUM);
	struct proc *serve = serve_all(cluster);
	for (int victim = 1; victim <= NODES; victim++)
		fell(cluster, victim, serve, &account);
	broker_expect_messages(site.broker, site.queue, 0);
	broker_expect_messages(site.broker, retries, 0);
	broker_expect_messages(site.broker, site.queue, 0);
	site_stop(serve);
	broker_expect_messages(site.broker, site.queue, 0);
	close_account(&account);
	expect_no_unknown_tags(cluster);
	/* Before its folder goes: then nobody would know how to stop it. */
	move_to(broker_shared());
	cluster_free(cluster);
	free(retries);
	free(folder);
}
END_TEST

int main(void)
{
	/* Nine starts and ends of nodes, on however busy a machine. */
	setenv("CK_DEFAULT_TIMEOUT", "300", 1);
	return SYSTEM_RUN("cluster", {nodes_die_in_turn_and_nothing_is_lost, 1});
}
