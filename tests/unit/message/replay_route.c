/* Where a dead letter goes: only the operator chooses. */
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
		ck_assert_text_eq(replay_named_queue(buf_text(&table)), text_from(cases[i].target));
		buf_release(&table);
	}
}
END_TEST

/* A dead letter of a pool names the queue of the pool, also if other queues dead-lettered it
 * later. */
START_TEST(the_header_of_a_pool_has_precedence)
{
	struct buf table;
	buf_init(&table, SIZE_MAX);
	put_hex(&table, "x-death", 'A', DELAY);
	put_hex(&table, "x-wpool-queue", 'S', "'orders'");
	ck_assert_text_eq(replay_named_queue(buf_text(&table)), TEXT("orders"));
	buf_release(&table);
}
END_TEST

/* What the operator asks for, what the letter names, and where it goes. */
static const struct {
	struct replay_request request;
	const char *named;
	enum replay_route route;
	const char *queue;
} routes[] = {
	{{.queue = TEXT("orders")}, "orders", REPLAY_GOES, "orders"},
	{{.queue = TEXT("orders")}, "", REPLAY_GOES, "orders"},
	{{.queue = TEXT("orders")}, "victim", REPLAY_ELSEWHERE, "victim"},
	{{.queue = TEXT("orders")}, "order", REPLAY_ELSEWHERE, "order"},
	{{.queue = TEXT("orders"), .by_header = true}, "victim", REPLAY_GOES, "victim"},
	{{.queue = TEXT("orders"), .by_header = true}, "orders", REPLAY_GOES, "orders"},
	{{.queue = TEXT("orders"), .by_header = true}, "", REPLAY_UNADDRESSED, ""},
	{{.queue = TEXT("orders"), .to = TEXT("tests")}, "victim", REPLAY_GOES, "tests"},
	{{.queue = TEXT("orders"), .to = TEXT("tests")}, "", REPLAY_GOES, "tests"},
	{{.to = TEXT("tests")}, "victim", REPLAY_GOES, "tests"},
	{{.by_header = true}, "victim", REPLAY_GOES, "victim"},
	{{.by_header = true}, "", REPLAY_UNADDRESSED, ""},
};

START_TEST(the_operator_chooses_the_queue)
{
	for (size_t i = 0; i < sizeof routes / sizeof *routes; i++) {
		struct buf table;
		struct text queue;
		buf_init(&table, SIZE_MAX);
		table_put_string(&table, TEXT("x-wpool-queue"), text_from(routes[i].named));
		enum replay_route route =
			replay_route(&routes[i].request, buf_text(&table), &queue);
		ck_assert_msg(route == routes[i].route, "case %zu: %d", i, route);
		ck_assert_text_eq(queue, text_from(routes[i].queue));
		buf_release(&table);
	}
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("message/replay_route");
	UNIT_CASE(s, "target", the_latest_death_names_the_queue,
		the_header_of_a_pool_has_precedence, the_operator_chooses_the_queue);
	return s;
}

UNIT_MAIN(suite)
