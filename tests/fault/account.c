#include "fault/account.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BATCH 500
/* A quorum queue waits three minutes for a confirm of what it moves, and moves it again. */
#define SETTLE_LIMIT_MS 240000

struct entry {
	uint8_t fate;
	uint8_t ends;  /* how often it ended so */
	uint8_t nacks; /* publishes that may have left a copy, the confirmed one apart */
};

struct account {
	struct account_place at;
	const char *const *delays; /* borrowed */
	struct entry *entries;
	long count, room;
	long first;  /* the first one's number: those below belong to parts that were closed */
	long late;   /* ends of such, which are repeats */
	long mark;   /* the witness's size at the last post */
	long nacked; /* of its publishes */
};

struct account *account_new_at(const struct account_place *place, const char *const delays[])
{
	struct account *account = calloc(1, sizeof *account);
	ck_assert_ptr_nonnull(account);
	account->at = *place;
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
		free(account->entries);
	free(account);
}

/* The size of the file is enough, and cheap. */
static long witness_size(const struct account *account)
{
	struct stat facts;
	return stat(account->at.witness, &facts) == 0 ? (long)facts.st_size : 0;
}

static enum fate fate_of(char letter)
{
	static const char letters[FATES + 1] = "drtxpnub"; /* in the order of enum fate */
	const char *at = strchr(letters, letter);
	ck_assert_msg(at && letter, "no fate is called '%c'", letter);
	return (enum fate)(at - letters);
}

static void add_header(struct letter *letter, const char *name, const char *value)
{
	size_t i = 0;
	while (letter->headers[i].name)
		i++;
	ck_assert_uint_lt(i, LETTER_HEADERS);
	letter->headers[i].name = name;
	letter->headers[i].value = value;
}

/* A header of that length cannot be put into a table. */
static const char *invalid_header(void)
{
	static char wish[304];
	memset(wish, 'h', 300);
	strcpy(wish + 300, "=v");
	return wish;
}

static void ask_for_reply(struct letter *letter, enum fate fate)
{
	add_header(letter, "X-Status", "201");
	if (fate == FATE_UNROUTABLE)
		add_header(letter, "X-Reply-Queue", "there-is-no-such-queue");
	if (fate == FATE_INVALID)
		add_header(letter, "X-Reply-Header", invalid_header());
	if (fate == FATE_REFUSED)
		add_header(letter, "X-Reply-Bytes", "100000");
}

static struct letter write_letter(
	const struct account *account, enum fate fate, char *id, const char *sleep_ms)
{
	struct letter letter = {.body = id, .correlation_id = id};
	if (fate == FATE_REPLY || fate >= FATE_UNROUTABLE) {
		letter.reply_to = account->at.replies;
		ask_for_reply(&letter, fate);
	}
	if (fate == FATE_RETRIED)
		add_header(&letter, "X-Fail-Until", "1");
	if (fate == FATE_REJECTED)
		add_header(&letter, "X-Status", "404");
	if (fate == FATE_POISON)
		add_header(&letter, "X-Crash", "11");
	if (sleep_ms)
		add_header(&letter, "X-Sleep-Ms", sleep_ms);
	return letter;
}

static void enter(struct account *account, enum fate fate)
{
	if (account->count == account->room) {
		account->room = account->room ? 2 * account->room : 1024;
		account->entries =
			realloc(account->entries, (size_t)account->room * sizeof *account->entries);
		ck_assert_ptr_nonnull(account->entries);
	}
	account->entries[account->count++] = (struct entry){.fate = (uint8_t)fate};
}

static void post_batch(struct account *account, int count, const char *fates, const char *sleep_ms)
{
	struct letter letters[BATCH];
	unsigned nacks[BATCH] = {0};
	struct entry *entries;
	for (int i = 0; i < count; i++) {
		char *id = scratch_text("%ld", account->first + account->count);
		enum fate fate = fate_of(fates[(size_t)account->count % strlen(fates)]);
		letters[i] = write_letter(account, fate, id, sleep_ms);
		enter(account, fate);
	}
	client_post_all(fixture.client, account->at.queue, letters, (size_t)count, nacks);
	entries = account->entries + account->count - count;
	for (int i = 0; i < count; i++) {
		entries[i].nacks = nacks[i] < UINT8_MAX ? (uint8_t)nacks[i] : UINT8_MAX;
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
	long ready = client_ready(fixture.client, account->at.queue);
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
	return account->count;
}

long account_nacked(const struct account *account)
{
	return account->nacked;
}

long account_witnessed(const struct account *account)
{
	long lines = 0;
	char *text = scratch_read(account->at.witness, NULL);
	for (const char *at = text; at && (at = strchr(at, '\n')); at++)
		lines++;
	free(text);
	return lines;
}

bool account_has_ended(struct account *account)
{
	long wanted[FATES] = {0}, replies, dead;
	for (long i = 0; i < account->count; i++)
		wanted[account->entries[i].fate]++;
	replies = client_ready(fixture.client, account->at.replies);
	dead = client_ready(fixture.client, account->at.dead);
	return replies >= wanted[FATE_REPLY] &&
	       dead >= account->count - wanted[FATE_DONE] - wanted[FATE_RETRIED] -
			       wanted[FATE_REPLY] &&
	       account_witnessed(account) >=
		       wanted[FATE_DONE] + wanted[FATE_RETRIED] + wanted[FATE_REPLY];
}

void account_await_settled(struct account *account)
{
	fixture_await_queue_settled(account->at.queue, account->delays, SETTLE_LIMIT_MS);
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

/* NULL: of a part that was closed. */
static struct entry *find(const struct account *account, const char *id)
{
	char *rest;
	long number = strtol(id, &rest, 10);
	ck_assert_msg(
		!*rest && rest != id && number >= 0 && number < account->first + account->count,
		"nobody published '%s'", id);
	return number < account->first ? NULL : &account->entries[number - account->first];
}

static void book(struct account *account, const char *id, bool is_end_of(enum fate))
{
	struct entry *entry = find(account, id);
	if (!entry) {
		account->late++;
		return;
	}
	ck_assert_msg(is_end_of(entry->fate), "%s ended otherwise than it was to", id);
	if (entry->ends < UINT8_MAX)
		entry->ends++;
}

static bool is_witnessed(enum fate fate)
{
	return fate == FATE_DONE || fate == FATE_RETRIED;
}

static bool is_replied(enum fate fate)
{
	return fate == FATE_REPLY;
}

static bool is_dead(enum fate fate)
{
	return fate >= FATE_REJECTED;
}

/* A task with a reply bears witness, too; what it came to is the reply, or a dead letter. */
static bool is_told_by_its_reply(const struct account *account, const char *id)
{
	const struct entry *entry = find(account, id);
	return entry && (entry->fate == FATE_REPLY || entry->fate >= FATE_UNROUTABLE);
}

/* Workers that live on append to the same file. */
static void book_witness(struct account *account)
{
	char *text = scratch_read(account->at.witness, NULL), *rest = NULL;
	for (char *line = text ? strtok_r(text, "\n", &rest) : NULL; line;
		line = strtok_r(NULL, "\n", &rest))
		if (!is_told_by_its_reply(account, line))
			book(account, line, is_witnessed);
	if (text)
		ck_assert_int_eq(truncate(account->at.witness, 0), 0);
	free(text);
}

struct booking {
	struct account *account;
	bool (*is_end_of)(enum fate);
};

static void book_message(void *context, const struct message *message)
{
	struct booking *booking = context;
	book(booking->account, message->body, booking->is_end_of);
}

static void book_queue(struct account *account, const char *queue, bool is_end_of(enum fate))
{
	struct booking booking = {account, is_end_of};
	client_drain(
		fixture.client, queue, client_ready(fixture.client, queue), book_message, &booking);
	ck_assert_int_le(broker_messages(fixture.broker, queue), 0);
}

void account_expect_no_stale_ack(const struct broker *broker)
{
	char *log = broker_log(broker);
	ck_assert_msg(!strstr(log, "unknown delivery tag"),
		"the broker was sent an unknown delivery tag");
	free(log);
}

/* Beyond once, and beyond the copies that its publisher may have made of it. */
static long repeats_of(const struct entry *entry)
{
	int allowed = 1 + entry->nacks;
	return entry->ends > allowed ? entry->ends - allowed : 0;
}

long account_close(struct account *account, struct tally *tally)
{
	long repeats;
	book_witness(account);
	book_queue(account, account->at.replies, is_replied);
	book_queue(account, account->at.dead, is_dead);
	ck_assert_int_eq(broker_messages(fixture.broker, account->at.queue), 0);
	account_expect_no_stale_ack(fixture.broker);
	repeats = account->late;
	for (long i = 0; i < account->count; i++) {
		int ends = account->entries[i].ends;
		if (ends == 0)
			fprintf(stderr, "message %ld is lost\n", account->first + i);
		tally->lost += ends == 0;
		tally->done += ends > 0;
		repeats += repeats_of(&account->entries[i]);
	}
	tally->asked += account->count;
	tally->repeats += repeats;
	account->first += account->count;
	account->count = account->late = 0;
	return repeats;
}
