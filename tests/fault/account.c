#include "fault/account.h"

#include "harness/ends.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define BATCH 500
/* A quorum queue waits three minutes for a confirm of what it moves, and moves it again. */
#define SETTLE_LIMIT_MS 240000

struct account {
	struct ends ends;
	const char *const *delays; /* borrowed */
	long mark;                 /* the witness file's size at the last post */
	long nacked;               /* of its publishes */
	int later_ms;              /* 0: messages begin at once */
};

struct account *account_new_at(const struct account_place *place, const char *const delays[])
{
	struct account *account = calloc(1, sizeof *account);
	ck_assert_ptr_nonnull(account);
	account->ends.at =
		(struct ends_place){place->queue, place->dead, place->replies, place->witness};
	account->delays = delays;
	return account;
}

struct account *account_new(const char *const delays[])
{
	return account_new_at(&(struct account_place){.queue = fixture.queue,
				      .dead = fixture.dead,
				      .replies = fixture.replies,
				      .witness = fixture.witness},
		delays);
}

struct account_place account_place_open(int number, enum client_queue kind)
{
	struct account_place place = {
		.queue = scratch_text("%s-%d", fixture.queue, number),
		.dead = scratch_text("%s-%d.dead", fixture.queue, number),
		.replies = scratch_text("%s-%d.replies", fixture.queue, number),
		.witness = scratch_text("%s-%d", fixture.witness, number),
	};
	client_declare(fixture.client, place.queue, kind);
	client_declare(fixture.client, place.replies, kind);
	return place;
}

void account_place_close(struct account_place *place)
{
	client_delete(fixture.client, place->queue);
	client_delete(fixture.client, place->dead);
	client_delete(fixture.client, place->replies);
	free(place->queue);
	free(place->dead);
	free(place->replies);
	free(place->witness);
}

void account_free(struct account *account)
{
	if (account)
		ends_release(&account->ends);
	free(account);
}

/* The size of the file is enough, and cheap. */
static long witness_size(const struct account *account)
{
	struct stat facts;
	return stat(account->ends.at.witness, &facts) == 0 ? (long)facts.st_size : 0;
}

static enum fate fate_of(char letter)
{
	static const char letters[FATES + 1] = "drtxpnuba"; /* in the order of enum fate */
	const char *at = strchr(letters, letter);
	ck_assert_msg(at && letter, "no fate is called '%c'", letter);
	return (enum fate)(at - letters);
}

/* A header of that length cannot be put into a table. */
static const char *invalid_header(void)
{
	static char wish[304];
	memset(wish, 'h', 300);
	strcpy(wish + 300, "=v");
	return wish;
}

static bool asks_for_reply(enum fate fate)
{
	return fate == FATE_REPLY || (fate >= FATE_UNROUTABLE && fate != FATE_ACCEPTED);
}

static void add_reply_headers(struct letter *letter, enum fate fate)
{
	letter_add_header(letter, "X-Status", "201");
	if (fate == FATE_UNROUTABLE)
		letter_add_header(letter, "X-Reply-Queue", "there-is-no-such-queue");
	if (fate == FATE_INVALID)
		letter_add_header(letter, "X-Reply-Header", invalid_header());
	if (fate == FATE_REFUSED)
		letter_add_header(letter, "X-Reply-Bytes", "100000");
}

static struct letter write_letter(
	const struct account *account, enum fate fate, char *id, const char *sleep_ms)
{
	struct letter letter = {.body = id, .correlation_id = id};
	if (asks_for_reply(fate)) {
		letter.reply_to = account->ends.at.replies;
		add_reply_headers(&letter, fate);
	}
	if (fate == FATE_RETRIED)
		letter_add_header(&letter, "X-Fail-Until", "1");
	if (fate == FATE_REJECTED)
		letter_add_header(&letter, "X-Status", "404");
	if (fate == FATE_ACCEPTED)
		letter_add_header(&letter, "X-Accept", "1");
	if (fate == FATE_POISON)
		letter_add_header(&letter, "X-Crash", "11");
	if (sleep_ms)
		letter_add_header(&letter, "X-Sleep-Ms", sleep_ms);
	return letter;
}

void account_set_later(struct account *account, int span_ms)
{
	account->later_ms = span_ms;
}

/* The texts of one letter, which is published before the next batch. */
struct times {
	char not_before[24], postponed[24];
};

static void add_times(const struct account *account, struct letter *letter, struct times *times)
{
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	long long now_ms = now.tv_sec * 1000LL + now.tv_nsec / 1000000;
	long long span_ms = account->later_ms;
	snprintf(times->not_before, sizeof times->not_before, "%lld",
		now_ms + fault_random_below(span_ms));
	letter_add_header(letter, "NotBefore", times->not_before);
	if (fault_random_below(2) == 0)
		return;
	snprintf(times->postponed, sizeof times->postponed, "%lld",
		now_ms + fault_random_below(span_ms));
	letter_add_header(letter, "X-Postpone-Until", times->postponed);
	letter_add_header(letter, "X-Postpone-Ms", "100");
}

static enum end end_of(enum fate fate)
{
	if (fate == FATE_REPLY)
		return END_REPLIED;
	if (fate == FATE_ACCEPTED)
		return END_ONCE;
	return fate >= FATE_REJECTED ? END_DEAD : END_DONE;
}

static void post_batch(struct account *account, int count, const char *fates, const char *sleep_ms)
{
	struct letter letters[BATCH];
	static struct times times[BATCH];
	unsigned nacks[BATCH] = {0};
	struct ends *ends = &account->ends;
	for (int i = 0; i < count; i++) {
		char *id = scratch_text("%ld", ends->first + ends->count);
		enum fate fate = fate_of(fates[(size_t)ends->count % strlen(fates)]);
		letters[i] = write_letter(account, fate, id, sleep_ms);
		if (account->later_ms)
			add_times(account, &letters[i], &times[i]);
		ends_add(ends, end_of(fate), asks_for_reply(fate));
	}
	client_post_all(fixture.client, ends->at.queue, letters, (size_t)count, nacks);
	struct task_end *tasks = ends->tasks + ends->count - count;
	for (int i = 0; i < count; i++) {
		tasks[i].nacks = nacks[i] < UINT8_MAX ? (uint8_t)nacks[i] : UINT8_MAX;
		account->nacked += nacks[i];
		free((void *)(uintptr_t)letters[i].body);
	}
}

void account_post(struct account *account, long count, const char *fates, int sleep_ms)
{
	account->mark = witness_size(account);
	char *sleep = sleep_ms ? scratch_text("%d", sleep_ms) : NULL;
	for (; count > 0; count -= BATCH)
		post_batch(account, (int)(count < BATCH ? count : BATCH), fates, sleep);
	free(sleep);
}

void account_fill(struct account *account, long level, const char *fates, int sleep_ms)
{
	long ready = client_ready(fixture.client, account->ends.at.queue);
	account->mark = witness_size(account);
	if (ready < level)
		account_post(account, level - ready, fates, sleep_ms);
}

void account_await_backlog(long level)
{
	int64_t deadline = deadline_in(3 * DEADLINE_DEFAULT_MS);
	while (client_ready(fixture.client, fixture.queue) > level) {
		if (deadline_left(deadline) <= 0)
			fixture_fail("the pool does not get on");
		poll(NULL, 0, 5);
	}
}

long account_posted(const struct account *account)
{
	return account->ends.count;
}

long account_nacked(const struct account *account)
{
	return account->nacked;
}

long account_witnessed(const struct account *account)
{
	long lines = 0;
	char *text = scratch_read(account->ends.at.witness, NULL);
	for (const char *at = text; at && (at = strchr(at, '\n')); at++)
		lines++;
	free(text);
	return lines;
}

bool account_has_ended(struct account *account)
{
	long expected[] = {[END_DONE] = 0, [END_REPLIED] = 0, [END_DEAD] = 0, [END_ONCE] = 0};
	const struct ends *ends = &account->ends;
	for (long i = 0; i < ends->count; i++)
		expected[ends->tasks[i].expected]++;
	return client_ready(fixture.client, ends->at.replies) >= expected[END_REPLIED] &&
	       client_ready(fixture.client, ends->at.dead) >= expected[END_DEAD] &&
	       account_witnessed(account) >= expected[END_DONE] + expected[END_REPLIED];
}

void account_await_settled(struct account *account)
{
	fixture_await_queue_settled(account->ends.at.queue, account->delays, SETTLE_LIMIT_MS);
}

void account_await_progress(struct account *account, long count)
{
	int64_t deadline = deadline_in(3 * DEADLINE_DEFAULT_MS);
	/* No line is shorter than a digit and its end. */
	long enough = account->mark + 2 * count;
	while (witness_size(account) < enough) {
		if (deadline_left(deadline) <= 0)
			fixture_fail("nothing gets done");
		poll(NULL, 0, 5);
	}
}

/* ---------- closing ---------- */

void account_expect_no_stale_ack(const struct broker *broker)
{
	char *log = broker_log(broker);
	ck_assert_msg(!strstr(log, "unknown delivery tag"),
		"the broker was sent an unknown delivery tag");
	free(log);
}

/* A publish that was nacked may have left a copy, whose end is no repeat. */
static long repeats_of(const struct task_end *task)
{
	int allowed = 1 + task->nacks;
	return task->count > allowed ? task->count - allowed : 0;
}

long account_close(struct account *account, struct tally *tally)
{
	struct ends *ends = &account->ends;
	ends_read(ends, NULL);
	account_expect_no_stale_ack(fixture.broker);
	long repeats = ends->late;
	for (long i = 0; i < ends->count; i++) {
		bool is_lost = ends->tasks[i].count == 0;
		if (is_lost)
			fprintf(stderr, "message %ld is lost\n", ends->first + i);
		tally->lost += is_lost;
		tally->done += !is_lost;
		if (ends->tasks[i].expected != END_ONCE)
			repeats += repeats_of(&ends->tasks[i]);
	}
	tally->asked += ends->count;
	tally->repeats += repeats;
	ends_clear(ends);
	return repeats;
}
