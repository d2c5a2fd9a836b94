/* replay_target: the queue to which a dead letter is replayed, from x-death or from our header. */
#include "unit/support/message/message.h"

#include "message/replay.h"

#define ORDERS "'F' 00 00 00 11 05 'queue' 'S' 00 00 00 06 'orders'"
#define DELAY  "'F' 00 00 00 10 05 'queue' 'S' 00 00 00 05 'delay'"

/* An x-death, and the queue of its latest entry. */
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

/* A dead letter of a pool goes back to the queue of the pool, also if other queues dead-lettered it
 * later. */
START_TEST(the_header_of_a_pool_has_precedence)
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
	UNIT_CASE(
		s, "target", the_latest_death_names_the_queue, the_header_of_a_pool_has_precedence);
	return s;
}

UNIT_MAIN(suite)
