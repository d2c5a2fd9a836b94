#include "harness/cluster.h"

#include "harness/deadline.h"
#include "harness/scratch.h"

#include <check.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NODES_MAX 5

static const char script[] = "tests/broker/cluster";

struct cluster {
	char *folder;
	char *urls;
	int count;
	struct broker *nodes[NODES_MAX];
};

static void run(const char *verb, const char *folder, int number)
{
	char *text = scratch_text("%d", number);
	const char *argv[] = {script, verb, folder, number ? text : NULL, NULL};
	free(broker_run(argv));
	free(text);
}

static void start(const char *folder, int nodes)
{
	char *count = scratch_text("%d", nodes), *owner = scratch_text("%d", (int)getpid());
	const char *argv[] = {script, "start", folder, "--nodes", count, "--owner", owner, NULL};
	free(broker_run(argv));
	free(count);
	free(owner);
}

static void append_url(struct cluster *cluster, const char *url)
{
	char *before = cluster->urls;
	cluster->urls = before ? scratch_text("%s,%s", before, url) : scratch_text("%s", url);
	free(before);
}

struct cluster *cluster_start(const char *folder, int nodes)
{
	ck_assert(nodes >= 1 && nodes <= NODES_MAX);
	struct cluster *cluster = calloc(1, sizeof *cluster);
	ck_assert_ptr_nonnull(cluster);
	start(folder, nodes);
	cluster->folder = scratch_text("%s", folder);
	cluster->count = nodes;
	for (int i = 0; i < nodes; i++) {
		char *node = scratch_text("%s/%d", folder, i + 1);
		cluster->nodes[i] = broker_at(node);
		append_url(cluster, broker_url(cluster->nodes[i]));
		free(node);
	}
	return cluster;
}

void cluster_free(struct cluster *cluster)
{
	if (!cluster)
		return;
	run("stop", cluster->folder, 0);
	for (int i = 0; i < cluster->count; i++)
		broker_free(cluster->nodes[i]);
	free(cluster->folder);
	free(cluster->urls);
	free(cluster);
}

const char *cluster_urls(const struct cluster *cluster)
{
	return cluster->urls;
}

struct broker *cluster_node(const struct cluster *cluster, int number)
{
	ck_assert(number >= 1 && number <= cluster->count);
	return cluster->nodes[number - 1];
}

void cluster_kill(struct cluster *cluster, int number)
{
	run("kill", cluster->folder, number);
}

static bool has_leader(struct broker *node, const char *queue)
{
	char *expression =
		scratch_text("{ok, Q} = rabbit_amqqueue:lookup(rabbit_misc:r(<<\"/\">>, queue, "
			     "<<\"%s\">>)), lists:member(element(2, amqqueue:get_pid(Q)), "
			     "[node() | nodes()])",
			queue);
	char *printed = broker_eval(node, expression);
	bool has = strstr(printed, "{ok, true}") != NULL;
	free(printed);
	free(expression);
	return has;
}

void cluster_await_leader(struct cluster *cluster, int number, const char *queue)
{
	int64_t deadline = deadline_in(3 * DEADLINE_DEFAULT_MS);
	/* A broker does not report an election, so it is polled. */
	while (!has_leader(cluster_node(cluster, number), queue)) {
		ck_assert_msg(deadline_left(deadline) > 0, "%s gets no leader", queue);
		poll(NULL, 0, 50);
	}
}

void cluster_restart_node(struct cluster *cluster, int number)
{
	run("start-node", cluster->folder, number);
}
