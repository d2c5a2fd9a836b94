#include "fault/keyed.h"

#include "fault/account.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BATCH           500
#define LARGE           2000 /* bytes: more than max_body */
#define SETTLE_LIMIT_MS 240000
#define LINE_MIN        8 /* bytes of a line of the witness */

struct message_end {
	char fate;
	uint8_t done, dead; /* how often */
	bool comes_back;    /* given up because its supervisors died in a row */
};

struct session_end {
	struct message_end *all; /* owned */
	long posted, size;
	/* while the witness is read */
	long last; /* the number that began last; -1: none */
	bool has_ended;
	int runner; /* the process that began it */
};

struct keyed {
	struct session_end *sessions;
	long keys, posted;
	long broken; /* what the witness shows against the order */
	long given_up;
};

struct keyed *keyed_new(long keys)
{
	struct keyed *keyed = calloc(1, sizeof *keyed);
	ck_assert_ptr_nonnull(keyed);
	keyed->keys = keys;
	keyed->sessions = calloc((size_t)keys, sizeof *keyed->sessions);
	ck_assert_ptr_nonnull(keyed->sessions);
	client_delete(fixture.client, fixture.queue);
	return keyed;
}

void keyed_free(struct keyed *keyed)
{
	if (!keyed)
		return;
	for (long i = 0; i < keyed->keys; i++)
		free(keyed->sessions[i].all);
	free(keyed->sessions);
	free(keyed);
	char *token = scratch_text("%s.token", fixture.queue);
	client_delete(fixture.client, token);
	free(token);
}

char *keyed_pool(const char *settings, const char *session)
{
	return scratch_text("- {queue: %s, command: [\"%s\"], declare: on, max_body: 1KiB,\n"
			    "   session: {key: 'header:X-Key', %s}, %s}\n",
		fixture.queue, fixture_built("workers/keyed"), session, settings);
}

struct proc *keyed_serve(const char *settings, const char *session)
{
	char *pool = keyed_pool(settings, session);
	struct proc *proc = fixture_serve_pools(pool);
	free(pool);
	return proc;
}

struct proc *keyed_serve_by_proxy(
	int port, const char *query, const char *settings, const char *session)
{
	char *pool = keyed_pool(settings, session);
	struct proc *proc = fault_serve_pool_by_proxy(port, query, pool);
	free(pool);
	return proc;
}

void keyed_await_consumer(void)
{
	client_expect_consumers(fixture.client, fixture.queue, 1);
}

/* ---------- posting ---------- */

static struct message_end *append(struct session_end *session, char fate)
{
	if (session->posted == session->size) {
		session->size = session->size ? 2 * session->size : 16;
		session->all = realloc(session->all, (size_t)session->size * sizeof *session->all);
		ck_assert_ptr_nonnull(session->all);
	}
	session->all[session->posted] = (struct message_end){.fate = fate};
	return &session->all[session->posted++];
}

/* The texts of one letter. */
struct texts {
	char key[24], number[24], sleep[24];
};

static struct letter write_letter(struct keyed *keyed, char fate, int sleep_ms, struct texts *texts)
{
	static char large[LARGE + 1];
	struct letter letter = {.body = "work"};
	long key = fault_random_below(keyed->keys);
	snprintf(texts->key, sizeof texts->key, "%ld", key);
	snprintf(texts->number, sizeof texts->number, "%ld", keyed->sessions[key].posted);
	snprintf(texts->sleep, sizeof texts->sleep, "%d", sleep_ms);
	append(&keyed->sessions[key], fate);
	letter_add_header(&letter, "X-Key", texts->key);
	letter_add_header(&letter, "X-Number", texts->number);
	letter_add_header(&letter, "X-Sleep-Ms", texts->sleep);
	if (fate == 'f')
		letter_add_header(&letter, "X-Fail-Until", "1");
	if (fate == 's')
		letter_add_header(&letter, "X-Hand-Back", "2");
	if (fate == 'x')
		letter_add_header(&letter, "X-Status", "404");
	if (fate == 'p')
		letter_add_header(&letter, "X-Crash", "1");
	if (fate == 'u') {
		memset(large, 'x', LARGE);
		letter.body = large;
	}
	return letter;
}

void keyed_post(struct keyed *keyed, long count, const char *fates, int sleep_ms)
{
	struct letter letters[BATCH];
	struct texts texts[BATCH];
	while (count > 0) {
		int part = (int)(count < BATCH ? count : BATCH);
		for (int i = 0; i < part; i++) {
			char fate = fates[(size_t)keyed->posted++ % strlen(fates)];
			letters[i] = write_letter(keyed, fate, sleep_ms, &texts[i]);
		}
		unsigned nacks[BATCH] = {0};
		client_post_all(fixture.client, fixture.queue, letters, (size_t)part, nacks);
		for (int i = 0; i < part; i++)
			ck_assert_msg(nacks[i] == 0, "a publish was nacked: no order is defined");
		count -= part;
	}
}

/* ---------- while it runs ---------- */

static long witness_size(void)
{
	struct stat facts;
	return stat(fixture.witness, &facts) == 0 ? (long)facts.st_size : 0;
}

long keyed_ended(const struct keyed *keyed)
{
	long lines = 0;
	char *text = scratch_read(fixture.witness, NULL);
	(void)keyed;
	for (const char *at = text; at && (at = strchr(at, '\n')); at++)
		lines += at[1] == 'E';
	free(text);
	return lines;
}

void keyed_await_progress(const struct keyed *keyed, long count)
{
	int64_t deadline = deadline_in(6 * DEADLINE_DEFAULT_MS);
	long enough = witness_size() + 2 * LINE_MIN * count;
	(void)keyed;
	while (witness_size() < enough)
		fixture_poll(deadline, 2, "more messages have ended");
}

void keyed_await_settled(void)
{
	static const char *const no_delays[] = {NULL};
	fixture_await_queue_settled(fixture.queue, no_delays, SETTLE_LIMIT_MS);
}

/* ---------- the order ---------- */

static void find_broken(struct keyed *keyed, const char *what, long key, long number)
{
	fprintf(stderr, "session %ld, message %ld: %s\n", key, number, what);
	keyed->broken++;
}

/* The next message that must begin: those that are too large begin in no worker, and one that is
 * given up may have. */
static long next_to_begin(const struct session_end *session, long number)
{
	do
		number++;
	while (number < session->posted &&
		(session->all[number].fate == 'u' || session->all[number].comes_back));
	return number;
}

static void on_begin(struct keyed *keyed, long key, long number, int pid)
{
	struct session_end *session = &keyed->sessions[key];
	long next = next_to_begin(session, session->last);
	const struct message_end *last = session->last < 0 ? NULL : &session->all[session->last];
	bool may_be_next = !last || session->has_ended || last->fate == 'p' || last->comes_back;
	if (number > next)
		find_broken(keyed, "begins too early", key, number);
	else if (number == next && !may_be_next)
		find_broken(keyed, "begins before the one before it has ended", key, number);
	session->last = number;
	session->has_ended = false;
	session->runner = pid;
}

static void on_end(struct keyed *keyed, long key, long number, int pid, int status)
{
	struct session_end *session = &keyed->sessions[key];
	if (session->last != number || session->runner != pid)
		find_broken(keyed, "ran beside another one", key, number);
	session->has_ended = status == 200 || (status >= 400 && status < 500);
	if (status == 200 && session->all[number].done < UINT8_MAX)
		session->all[number].done++;
}

static void on_line(struct keyed *keyed, const char *line)
{
	char what;
	long key, number;
	int pid, status = 0;
	int found = sscanf(line, "%c %ld %ld %d %d", &what, &key, &number, &pid, &status);
	ck_assert_msg(found >= 4, "the witness has a line that cannot be read");
	ck_assert(key >= 0 && key < keyed->keys);
	ck_assert(number >= 0 && number < keyed->sessions[key].posted);
	if (what == 'B')
		on_begin(keyed, key, number, pid);
	else if (what == 'E')
		on_end(keyed, key, number, pid, status);
	else
		find_broken(keyed, "began while another worker ran one", key, number);
}

static void read_witness(struct keyed *keyed)
{
	for (long i = 0; i < keyed->keys; i++)
		keyed->sessions[i].last = -1;
	char *text = scratch_read(fixture.witness, NULL), *rest = NULL;
	for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
		on_line(keyed, line);
	free(text);
	if (witness_size() > 0)
		ck_assert_int_eq(truncate(fixture.witness, 0), 0);
}

/* ---------- dead letters ---------- */

static long number_of(const struct message *message, const char *name)
{
	const amqp_field_value_t *value = message_header(message, name);
	char text[24] = "";
	ck_assert_msg(value, "a dead letter without %s", name);
	if (value->kind != AMQP_FIELD_KIND_UTF8)
		return (long)message_header_number(message, name);
	ck_assert_uint_lt(value->value.bytes.len, sizeof text);
	memcpy(text, value->value.bytes.bytes, value->value.bytes.len);
	return atol(text);
}

static void on_dead(void *context, const struct message *message)
{
	struct keyed *keyed = context;
	long key = number_of(message, "X-Key"), number = number_of(message, "X-Number");
	ck_assert(key >= 0 && key < keyed->keys);
	ck_assert(number >= 0 && number < keyed->sessions[key].posted);
	struct message_end *end = &keyed->sessions[key].all[number];
	if (message_header_is(message, "x-wpool-reason", "comes-back"))
		end->comes_back = true;
	else
		end->dead++;
}

/* ---------- closing ---------- */

long keyed_given_up(const struct keyed *keyed)
{
	return keyed->given_up;
}

static long close_message(struct keyed *keyed, long key, long number, struct tally *tally)
{
	const struct message_end *end = &keyed->sessions[key].all[number];
	bool is_dead = strchr("xpu", end->fate);
	uint8_t times = is_dead ? end->dead : end->done, other = is_dead ? end->done : end->dead;
	tally->asked++;
	tally->done += times > 0 || end->comes_back;
	keyed->given_up += end->comes_back;
	if (!times && !end->comes_back) {
		find_broken(keyed, other ? "ended as it should not" : "is lost", key, number);
		tally->lost++;
	} else if (other) {
		find_broken(keyed, "also ended as it should not", key, number);
	}
	return times > 1 ? times - 1 : 0;
}

long keyed_close(struct keyed *keyed, struct tally *tally)
{
	long repeats = 0;
	long dead = client_ready(fixture.client, fixture.dead);
	client_drain(fixture.client, fixture.dead, dead, on_dead, keyed);
	read_witness(keyed);
	ck_assert_int_eq(broker_messages(fixture.broker, fixture.queue), 0);
	account_expect_no_stale_ack(fixture.broker);
	for (long key = 0; key < keyed->keys; key++) {
		for (long number = 0; number < keyed->sessions[key].posted; number++)
			repeats += close_message(keyed, key, number, tally);
		keyed->sessions[key].posted = 0;
	}
	if (keyed->broken > 0)
		fixture_fail("the order of sessions is broken, as listed above");
	tally->repeats += repeats;
	return repeats;
}
