#include "fault/traffic.h"

#include <poll.h>
#include <stdio.h>

#define LEVEL       1500 /* messages that wait in each queue, about */
#define POISON_FROM 2000 /* one of so many is poison */

static const char *const delays[] = {"100ms", NULL};

struct pool {
	struct account_place at;
	struct account *account;
	enum client_queue kind;
	int workers, pipeline, prefetch, sleep_ms;
	char fates[POISON_FROM + 1];
	long repeats, allowed;
};

struct traffic {
	struct pool pools[TRAFFIC_POOLS];
	long singles; /* tasks that may be repeated, by whatever pool */
};

static const struct pool kinds[TRAFFIC_POOLS] = {
	{.kind = CLIENT_QUORUM, .workers = 4, .pipeline = 8, .prefetch = 64},
	{.kind = CLIENT_CLASSIC, .workers = 4, .pipeline = 8, .prefetch = 64},
	{.kind = CLIENT_QUORUM, .workers = 2, .pipeline = 1, .prefetch = 16, .sleep_ms = 2},
	{.kind = CLIENT_CLASSIC, .workers = 2, .pipeline = 4, .prefetch = 32},
};

static void choose_fates(char fates[POISON_FROM + 1])
{
	for (int i = 0; i < POISON_FROM; i++)
		fates[i] = "dddrdtdrddrx"[i % 12];
	fates[fault_random_below(POISON_FROM)] = 'p';
}

static void make_pool(struct pool *pool, int number)
{
	*pool = kinds[number];
	pool->at = account_place_open(number, pool->kind);
	choose_fates(pool->fates);
	pool->account = account_new_at(&pool->at, delays);
}

static void free_pool(struct pool *pool)
{
	account_free(pool->account);
	account_place_close(&pool->at);
}

/* More attempts than a victim of the faults may need; poison uses them up. */
static char *describe(const struct pool *pool)
{
	return scratch_text("- {queue: %s, command: [env, \"WITNESS=%s\", \"%s\"], workers: %d,\n"
			    "   pipeline: %d, prefetch: %d, limits: {hard: 8s, grace: 1s},\n"
			    "   retry: {attempts: 4, delay: [100ms]}}\n",
		pool->at.queue, pool->at.witness, fixture_built("workers/echo"), pool->workers,
		pool->pipeline, pool->prefetch);
}

struct traffic *traffic_new(void)
{
	struct traffic *traffic = calloc(1, sizeof *traffic);
	ck_assert_ptr_nonnull(traffic);
	for (int i = 0; i < TRAFFIC_POOLS; i++)
		make_pool(&traffic->pools[i], i);
	return traffic;
}

void traffic_free(struct traffic *traffic)
{
	for (int i = 0; traffic && i < TRAFFIC_POOLS; i++)
		free_pool(&traffic->pools[i]);
	free(traffic);
}

struct proc *traffic_serve(const struct traffic *traffic)
{
	char *pools = scratch_text("%s", "");
	for (int i = 0; i < TRAFFIC_POOLS; i++) {
		char *before = pools, *pool = describe(&traffic->pools[i]);
		pools = scratch_text("%s%s", before, pool);
		free(before);
		free(pool);
	}
	struct proc *proc = fixture_serve_pools(pools);
	free(pools);
	return proc;
}

void traffic_await_consumers(const struct traffic *traffic)
{
	for (int i = 0; i < TRAFFIC_POOLS; i++)
		client_expect_consumers(fixture.client, traffic->pools[i].at.queue, 1);
}

int traffic_workers(const struct traffic *traffic)
{
	int sum = 0;
	for (int i = 0; i < TRAFFIC_POOLS; i++)
		sum += traffic->pools[i].workers;
	return sum;
}

void traffic_allow(struct traffic *traffic, enum traffic_cost cost)
{
	traffic->singles += cost == TRAFFIC_ONE_TASK;
	for (int i = 0; i < TRAFFIC_POOLS; i++) {
		struct pool *pool = &traffic->pools[i];
		if (cost >= TRAFFIC_UNACKED)
			pool->allowed += pool->prefetch;
		if (cost == TRAFFIC_UNWRITTEN && pool->kind == CLIENT_CLASSIC)
			pool->allowed += LEVEL;
	}
}

struct traffic_repeats traffic_repeats(const struct traffic *traffic, enum client_queue kind)
{
	struct traffic_repeats sum = {.allowed = traffic->singles};
	for (int i = 0; i < TRAFFIC_POOLS; i++) {
		const struct pool *pool = &traffic->pools[i];
		sum.seen += pool->kind == kind ? pool->repeats : 0;
		sum.allowed += pool->kind == kind ? pool->allowed : 0;
	}
	return sum;
}

void traffic_flow(struct traffic *traffic, int time_ms)
{
	int64_t end = deadline_in(time_ms);
	do {
		long before = traffic_posted(traffic);
		for (int i = 0; i < TRAFFIC_POOLS; i++) {
			struct pool *pool = &traffic->pools[i];
			account_fill(pool->account, LEVEL, pool->fates, pool->sleep_ms);
		}
		if (traffic_posted(traffic) == before)
			poll(NULL, 0, 10);
	} while (deadline_left(end) > 0);
}

long traffic_posted(const struct traffic *traffic)
{
	long sum = 0;
	for (int i = 0; i < TRAFFIC_POOLS; i++)
		sum += account_posted(traffic->pools[i].account);
	return sum;
}

void traffic_settle(struct traffic *traffic)
{
	for (int i = 0; i < TRAFFIC_POOLS; i++)
		account_await_settled(traffic->pools[i].account);
}

void traffic_close(struct traffic *traffic, struct tally *tally)
{
	long beyond = 0;
	for (int i = 0; i < TRAFFIC_POOLS; i++) {
		struct pool *pool = &traffic->pools[i];
		pool->repeats += account_close(pool->account, tally);
		fprintf(stderr, "%s: %ld repeats of %ld allowed\n", pool->at.queue, pool->repeats,
			pool->allowed);
		if (pool->repeats > pool->allowed)
			beyond += pool->repeats - pool->allowed;
	}
	ck_assert_int_le(beyond, traffic->singles);
}

void traffic_lose_queue(struct traffic *traffic, int number)
{
	struct pool *pool = &traffic->pools[number];
	account_await_settled(pool->account);
	/* The last message may have been poison, whose victims come back one by one. */
	client_expect_consumers(fixture.client, pool->at.queue, 1);
	client_delete(fixture.client, pool->at.queue);
}

void traffic_restore_queue(struct traffic *traffic, int number)
{
	struct pool *pool = &traffic->pools[number];
	client_declare(fixture.client, pool->at.queue, pool->kind);
	broker_write_all(fixture.broker);
}
