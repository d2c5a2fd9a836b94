/* The table of sessions by key: against an array of all keys, with hashes that collide. */
#include "core/sessions/key_table.h"
#include "unit/support/core/memory.h"
#include "unit/unit.h"

#define KEYS  200
#define STEPS 20000

struct book {
	struct key_table table;
	struct session *sessions[KEYS];
	bool is_in[KEYS];
	uint32_t count;
};

static struct session *session_of(uint8_t number, uint64_t hash)
{
	struct session *session = calloc(1, sizeof *session + 1);
	ck_assert_ptr_nonnull(session);
	session->hash = hash;
	session->key_size = 1;
	session->key[0] = (char)number;
	return session;
}

static void book_init(struct book *book, uint64_t hashes)
{
	*book = (struct book){0};
	for (int i = 0; i < KEYS; i++)
		book->sessions[i] = session_of((uint8_t)i, (uint64_t)random() % hashes);
}

static void book_release(struct book *book)
{
	key_table_release(&book->table);
	for (int i = 0; i < KEYS; i++)
		free(book->sessions[i]);
}

static void change(struct book *book, int i)
{
	if (book->is_in[i]) {
		key_table_remove(&book->table, book->sessions[i]);
		book->count--;
	} else {
		ck_assert_int_eq(key_table_reserve(&book->table, ++book->count), RC_OK);
		key_table_add(&book->table, book->sessions[i]);
	}
	book->is_in[i] = !book->is_in[i];
}

static bool finds(const struct book *book, int i)
{
	const struct session *session = book->sessions[i];
	const struct session *found =
		key_table_find(&book->table, session->hash, session_key(session));
	return found == (book->is_in[i] ? session : NULL);
}

/* One hash for all, a few, those at the end of the table, and many. */
static const uint64_t hashes[] = {1, 7, 64, UINT64_C(1) << 31};

START_TEST(what_is_in_is_found_and_nothing_else)
{
	struct book book;
	srandom(1);
	book_init(&book, hashes[_i]);
	for (int step = 0; step < STEPS; step++) {
		change(&book, (int)(random() % KEYS));
		int other = (int)(random() % KEYS);
		if (!finds(&book, other) || book.table.count != book.count)
			ck_abort_msg("step %d, key %d", step, other);
	}
	for (int i = 0; i < KEYS; i++)
		ck_assert(finds(&book, i));
	book_release(&book);
}
END_TEST

START_TEST(without_memory_nothing_changes)
{
	struct book book;
	srandom(1);
	book_init(&book, UINT64_C(1) << 31);
	while (book.count < 42) /* two thirds of the first size, 64 */
		change(&book, (int)book.count);
	callocs_left = 0;
	enum rc rc = key_table_reserve(&book.table, book.count + 1);
	callocs_left = LONG_MAX;
	ck_assert_int_eq(rc, RC_MEMORY);
	for (int i = 0; i < KEYS; i++)
		ck_assert(finds(&book, i));
	book_release(&book);
}
END_TEST

static Suite *key_table_suite(void)
{
	Suite *suite = suite_create("key_table");
	UNIT_CASE(suite, "memory", without_memory_nothing_changes);
	TCase *random = tcase_create("random");
	tcase_add_loop_test(
		random, what_is_in_is_found_and_nothing_else, 0, sizeof hashes / sizeof *hashes);
	suite_add_tcase(suite, random);
	return suite;
}

UNIT_MAIN(key_table_suite)
