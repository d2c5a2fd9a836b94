/* replay_target: where a dead letter of a queue's own policy came from. */
#include "unit/support/message/message.h"

#include "message/replay.h"

#define ORDERS "'F' 00 00 00 11 05 'queue' 'S' 00 00 00 06 'orders'"
#define DELAY  "'F' 00 00 00 10 05 'queue' 'S' 00 00 00 05 'delay'"

/* An x-death, and the queue that is its latest. */
static const struct {
	char type;
	const char *hex, *target;
} cases[] = {
	{'A', ORDERS DELAY, "orders"},
	{'A', DELAY ORDERS, "delay"},
	{'A', "'F' 00 00 00 00", ""},
	{'A', "'F' 00 00 00 08 05 'queue' 't' 01", ""},
	{'A', "'t' 01", ""},
	{'A', "", ""},
	{'S', "'orders'", ""},
};

START_TEST(the_latest_death_names_the_queue)
{
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct buf table;
		buf_init(&table, SIZE_MAX);
		put_hex(&table, "x-death", cases[i].type, cases[i].hex);
		ck_assert_text_eq(replay_target(buf_text(&table)), text_from(cases[i].target));
		buf_release(&table);
	}
}
END_TEST

/* What a pool gave up goes where the pool says, whatever came of it later. */
START_TEST(a_pools_own_word_comes_first)
{
	struct buf table;
	buf_init(&table, SIZE_MAX);
	put_hex(&table, "x-death", 'A', DELAY);
	put_hex(&table, "x-wpool-queue", 'S', "'orders'");
	ck_assert_text_eq(replay_target(buf_text(&table)), TEXT("orders"));
	buf_release(&table);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("message/replay_target");
	UNIT_CASE(s, "target", the_latest_death_names_the_queue, a_pools_own_word_comes_first);
	return s;
}

UNIT_MAIN(suite)
