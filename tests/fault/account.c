#include "fault/account.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BATCH 500

struct entry {
	uint8_t fate;
	uint8_t ends; /* how often it ended so */
};

struct account {
	const char *const *delays; /* borrowed */
	struct entry *entries;
	long count, room;
	long mark; /* the witness's size at the last post */
};

struct account *account_new(const char *const delays[])
{
	struct account *account = calloc(1, sizeof *account);
	ck_assert_ptr_nonnull(account);
	account->delays = delays;
	return account;
}

void account_free(struct account *account)
{
	if (account)
		free(account->entries);
	free(account);
}

/* The size tells enough, and is cheap to ask for. */
static long witness_size(void)
{
	struct stat facts;
	return stat(site.witness, &facts) == 0 ? (long)facts.st_size : 0;
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
static const char *unfit_header(void)
{
	static char wish[304];
	memset(wish, 'h', 300);
	strcpy(wish + 300, "=v");
	return wish;
}

static void ask_for_reply(struct letter *letter, enum fate fate)
{
	letter->reply_to = site.replies;
	add_header(letter, "X-Status", "201");
	if (fate == FATE_NOWHERE)
		add_header(letter, "X-Reply-Queue", "there-is-no-such-queue");
	if (fate == FATE_UNFIT)
		add_header(letter, "X-Reply-Header", unfit_header());
	if (fate == FATE_REFUSED)
		add_header(letter, "X-Reply-Bytes", "100000");
}

static struct letter write_letter(enum fate fate, char *id, const char *sleep_ms)
{
	struct letter letter = {.body = id, .correlation_id = id};
	if (fate == FATE_REPLY || fate >= FATE_NOWHERE)
		ask_for_reply(&letter, fate);
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
	for (int i = 0; i < count; i++) {
		char *id = scratch_text("%ld", account->count);
		enum fate fate = fate_of(fates[(size_t)account->count % strlen(fates)]);
		letters[i] = write_letter(fate, id, sleep_ms);
		enter(account, fate);
	}
	client_post_all(site.client, site.queue, letters, (size_t)count);
	for (int i = 0; i < count; i++)
		free((void *)(uintptr_t)letters[i].body);
}

void account_post(struct account *account, long count, const char *fates, int sleep_ms)
{
	account->mark = witness_size();
	char *sleep = sleep_ms ? scratch_text("%d", sleep_ms) : NULL;
	for (; count > 0; count -= BATCH)
		post_batch(account, (int)(count < BATCH ? count : BATCH), fates, sleep);
	free(sleep);
}

void account_fill(struct account *account, long level, const char *fates, int sleep_ms)
{
	long ready = client_ready(site.client, site.queue);
	account->mark = witness_size();
	if (ready < level)
		account_post(account, level - ready, fates, sleep_ms);
}

void account_await_room(long level)
{
	int64_t deadline = deadline_in(3 * DEADLINE_DEFAULT_MS);
	while (client_ready(site.client, site.queue) > level) {
		ck_assert_msg(deadline_left(deadline) > 0, "the pool does not get on");
		poll(NULL, 0, 5);
	}
}

long account_posted(const struct account *account)
{
	return account->count;
}

long account_witnessed(const struct account *account)
{
	long lines = 0;
	(void)account;
	char *text = scratch_read(site.witness, NULL);
	for (const char *at = text; at && (at = strchr(at, '\n')); at++)
		lines++;
	free(text);
	return lines;
}

bool account_is_through(struct account *account)
{
	long wanted[FATES] = {0}, replies, dead;
	for (long i = 0; i < account->count; i++)
		wanted[account->entries[i].fate]++;
	replies = client_ready(site.client, site.replies);
	dead = client_ready(site.client, site.dead);
	return replies >= wanted[FATE_REPLY] &&
	       dead >= account->count - wanted[FATE_DONE] - wanted[FATE_RETRIED] -
			       wanted[FATE_REPLY] &&
	       account_witnessed(account) >=
		       wanted[FATE_DONE] + wanted[FATE_RETRIED] + wanted[FATE_REPLY];
}

void account_await_settled(struct account *account)
{
	site_await_settled(account->delays);
}

void account_await_progress(struct account *account, long count)
{
	int64_t deadline = deadline_in(3 * DEADLINE_DEFAULT_MS);
	/* No line is shorter than a digit and its end. */
	long enough = account->mark + 2 * count;
	while (witness_size() < enough) {
		ck_assert_msg(deadline_left(deadline) > 0, "nothing gets done");
		poll(NULL, 0, 5);
	}
}

/* ---------- closing ---------- */

static void book(struct account *account, const char *id, bool is_end_of(enum fate))
{
	char *rest;
	long number = strtol(id, &rest, 10);
	ck_assert_msg(!*rest && rest != id && number >= 0 && number < account->count,
		"nobody published '%s'", id);
	struct entry *entry = &account->entries[number];
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
	long number = atol(id);
	if (number < 0 || number >= account->count)
		return false;
	enum fate fate = account->entries[number].fate;
	return fate == FATE_REPLY || fate >= FATE_NOWHERE;
}

static void book_witness(struct account *account)
{
	char *text = scratch_read(site.witness, NULL), *rest = NULL;
	for (char *line = text ? strtok_r(text, "\n", &rest) : NULL; line;
		line = strtok_r(NULL, "\n", &rest))
		if (!is_told_by_its_reply(account, line))
			book(account, line, is_witnessed);
	free(text);
	unlink(site.witness);
}

static void book_queue(struct account *account, const char *queue, bool is_end_of(enum fate))
{
	for (long left = client_ready(site.client, queue); left > 0; left--) {
		struct message *message = client_take(site.client, queue);
		book(account, message->body, is_end_of);
		message_free(message);
	}
	ck_assert_int_le(broker_messages(site.broker, queue), 0);
}

static void expect_no_stale_ack(void)
{
	char *log = broker_log(site.broker);
	ck_assert_msg(!strstr(log, "unknown delivery tag"),
		"the broker was sent an unknown delivery tag");
	free(log);
}

long account_close(struct account *account, struct tally *tally)
{
	long repeats = 0;
	book_witness(account);
	book_queue(account, site.replies, is_replied);
	book_queue(account, site.dead, is_dead);
	ck_assert_int_eq(broker_messages(site.broker, site.queue), 0);
	expect_no_stale_ack();
	for (long i = 0; i < account->count; i++) {
		int ends = account->entries[i].ends;
		if (ends == 0)
			fprintf(stderr, "message %ld is lost\n", i);
		tally->lost += ends == 0;
		tally->done += ends > 0;
		repeats += ends > 1 ? ends - 1 : 0;
	}
	tally->asked += account->count;
	tally->repeats += repeats;
	account->count = 0;
	return repeats;
}
