/* Messages that kill their worker, spread among good ones, with deep pipes: each is isolated after
 * its attempts, and no other message is lost. The variables POISON and GOOD set the number of each
 * (default: 10 and 2,000). */
#include "system/system.h"

#include "harness/deadline.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>

#define ATTEMPTS 3
/* Post only while few messages are in the queue: a copy goes to its tail, and behind all good
 * messages poison would be alone. */
#define FED 2000

static long number_of(const char *name, long fallback)
{
	const char *value = getenv(name);
	return value ? atol(value) : fallback;
}

struct load {
	long poison, good;
};

static struct load load_of_environment(void)
{
	struct load load = {number_of("POISON", 10), number_of("GOOD", 2000)};
	ck_assert_int_ge(load.poison, 1);
	ck_assert_int_ge(load.good, load.poison);
	return load;
}

static void await_space(void)
{
	int64_t deadline = deadline_in(60000);
	while (client_ready(fixture.client, fixture.queue) > FED) {
		ck_assert_msg(deadline_left(deadline) > 0, "the pool does not get on");
		poll(NULL, 0, 20);
	}
}

/* Evenly spread, beginning with the first. */
static void publish(const struct load *load)
{
	long total = load->poison + load->good, poisoned = 0;
	struct letter *letters = calloc((size_t)total, sizeof *letters);
	ck_assert_ptr_nonnull(letters);
	for (long i = 0; i < total; i++) {
		bool is_poison = poisoned * total <= i * load->poison && poisoned < load->poison;
		letters[i].body = is_poison ? "poison" : "good";
		letters[i].correlation_id =
			scratch_text("%ld", is_poison ? poisoned : i - poisoned);
		if (is_poison) {
			letters[i].headers[0].name = "X-Crash";
			letters[i].headers[0].value = "11";
		}
		poisoned += is_poison;
	}
	ck_assert_int_eq(poisoned, load->poison);
	for (long sent = 0; sent < total; sent += FED) {
		await_space();
		client_post_all(fixture.client, fixture.queue, letters + sent,
			(size_t)(total - sent < FED ? total - sent : FED), NULL);
	}
	for (long i = 0; i < total; i++)
		free((void *)(uintptr_t)letters[i].correlation_id);
	free(letters);
}

/* The messages of the queue and its retry queues. */
static long messages_under_way(void)
{
	static const char *const suffixes[] = {"", ".retry.100ms", ".retry.200ms"};
	long sum = 0;
	for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
		char *name = scratch_text("%s%s", fixture.queue, suffixes[i]);
		long count = broker_messages(fixture.broker, name);
		sum += count > 0 ? count : 0;
		free(name);
	}
	return sum;
}

/* A message that moves between two queues may be counted in neither, so wait for the dead letters.
 * The deadline grows with the load. */
static void await_end(const struct load *load)
{
	int64_t deadline = deadline_in((int)(30000 + load->good * 4 + load->poison * 1000));
	long left, dead;
	while ((dead = broker_messages(fixture.broker, fixture.dead)) < load->poison ||
		(left = messages_under_way()) > 0) {
		ck_assert_msg(deadline_left(deadline) > 0, "%ld of %ld are dead letters", dead,
			load->poison);
		poll(NULL, 0, 100);
	}
}

static void mark(uint8_t *seen, long count, const char *words)
{
	long number = atol(words);
	ck_assert_msg(number >= 0 && number < count, "nobody published '%s'", words);
	if (seen[number] < UINT8_MAX)
		seen[number]++;
}

/* Return how many were done more than once. */
static long count_repeats(const struct load *load)
{
	long repeats = 0;
	uint8_t *seen = calloc((size_t)load->good, 1);
	ck_assert_ptr_nonnull(seen);
	char *text = scratch_read(fixture.witness, NULL);
	ck_assert_ptr_nonnull(text);
	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
		mark(seen, load->good, line);
	for (long i = 0; i < load->good; i++) {
		ck_assert_msg(seen[i] > 0, "good message %ld was never done", i);
		repeats += seen[i] > 1;
	}
	free(text);
	free(seen);
	return repeats;
}

static void expect_dead_letters(const struct load *load)
{
	uint8_t *seen = calloc((size_t)load->poison, 1);
	ck_assert_ptr_nonnull(seen);
	for (long i = 0; i < load->poison; i++) {
		char id[32] = "";
		struct message *dead = client_take(fixture.client, fixture.dead);
		amqp_bytes_t name = dead->properties.correlation_id;
		ck_assert_str_eq(dead->body, "poison");
		snprintf(id, sizeof id, "%.*s", (int)name.len, (const char *)name.bytes);
		mark(seen, load->poison, id);
		ck_assert(message_header_is(dead, "x-wpool-reason", "crashed"));
		ck_assert(message_header_is(dead, "x-wpool-exit", "signal 11"));
		ck_assert_int_eq(message_header_number(dead, "x-wpool-attempt"), ATTEMPTS);
		message_free(dead);
	}
	for (long i = 0; i < load->poison; i++)
		ck_assert_msg(seen[i] == 1, "poison %ld is there %d times", i, seen[i]);
	ck_assert_int_eq(broker_messages(fixture.broker, fixture.dead), 0);
	free(seen);
}

static struct proc *serve_many(void)
{
	char *pool = scratch_text("- {queue: %s, command: [\"%s\"], workers: 8, pipeline: 16,\n"
				  "   retry: {attempts: %d, delay: [100ms, 200ms]}}\n",
		fixture.queue, fixture_built("workers/echo"), ATTEMPTS);
	struct proc *serve = fixture_serve_pools(pool);
	free(pool);
	return serve;
}

START_TEST(poison_task_is_isolated)
{
	struct load load = load_of_environment();
	int64_t begun = deadline_now_ms();
	struct proc *serve = serve_many();
	publish(&load);
	await_end(&load);
	int64_t took = deadline_now_ms() - begun;
	fixture_stop(serve);
	long repeats = count_repeats(&load);
	expect_dead_letters(&load);
	if (getenv("POISON"))
		fprintf(stderr,
			"%ld poison among %ld good: %ld dead letters, no innocent, every good one "
			"done, %ld twice; %.1f s\n",
			load.poison, load.good, load.poison, repeats, (double)took / 1000);
	/* Only workers are killed, and tasks behind the poison were not begun. */
	ck_assert_int_eq(repeats, 0);
}
END_TEST

int main(void)
{
	return SYSTEM_RUN("poison", {poison_task_is_isolated, 1});
}
