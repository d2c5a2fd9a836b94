/* The log line about a pool's queues. The channel is a fake of this test; its broker has the queues
 * that the test names. */
#include "broker/durability_note.h"

#include "amqp/channel.h"
#include "broker/topology.h"
#include "unit/unit.h"

#include <string.h>

/* ---------- the text ---------- */

#define UNKNOWN                                                                                    \
	"; their type and policies are unknown to a client (what keeps everything: "               \
	"docs/reliability.md)"

static const struct {
	struct durability_note note;
	enum log_level level;
	const char *text;
} cases[] = {
	{{TEXT("q"), TEXT("q.dead"), true, true, 0}, LOG_DEBUG, ""},
	{{TEXT("q"), TEXT("q.dead"), false, false, 3}, LOG_DEBUG,
		"queues that were there already: \"q\", \"q.dead\", 3 for retries" UNKNOWN},
	{{TEXT("q"), TEXT("q.dead"), false, true, 0}, LOG_DEBUG,
		"queues that were there already: \"q\"" UNKNOWN},
	{{TEXT("q"), TEXT("q.dead"), true, false, 0}, LOG_DEBUG,
		"queues that were there already: \"q.dead\"" UNKNOWN},
	{{TEXT("q"), TEXT("q.dead"), true, true, 1}, LOG_DEBUG,
		"queues that were there already: 1 for retries" UNKNOWN},
	{{TEXT("q"), TEXT_NONE, false, false, 0}, LOG_INFO,
		"queues that were there already: \"q\"" UNKNOWN
		"; given-up tasks are left to the queue (dead_letter: broker) and discarded if it "
		"has no dead-letter exchange"},
	{{TEXT("q"), TEXT_NONE, true, false, 2}, LOG_WARN,
		"queue \"q\" was declared without a dead-letter exchange, and given-up tasks are "
		"left to it (dead_letter: broker): the broker discards them, unless a policy names "
		"one (docs/retries.md, By hand)"},
};

START_TEST(note_has_the_text_of_the_case)
{
	struct buf text;
	buf_init(&text, DURABILITY_NOTE_MAX);
	enum log_level level = durability_note_append(&cases[_i].note, &text);
	ck_assert_int_eq(level, cases[_i].level);
	ck_assert(text_is(buf_text(&text), text_from(cases[_i].text)));
	buf_release(&text);
}
END_TEST

START_TEST(longest_note_is_not_cut)
{
	char name[256];
	memset(name, 'n', sizeof name);
	struct text longest = text_of(name, 255);
	const struct durability_note notes[] = {{.queue = longest, .dead_letter = longest},
		{.queue = longest}, {.queue = longest, .is_queue_made = true}};
	for (size_t i = 0; i < 3; i++) {
		struct buf text;
		buf_init(&text, DURABILITY_NOTE_MAX);
		durability_note_append(&notes[i], &text);
		ck_assert(!text.failed);
		buf_release(&text);
	}
}
END_TEST

/* ---------- when it is logged ---------- */

#define REFUSED 406

static const struct retry_plan plan = {.delays = {MTIME_SECOND}, .count = 1};
static struct topology topology;
static bool is_passive; /* the last declaration */
static char logged[64]; /* of each line, the first letters of level and text */

void channel_declare_queue(
	struct connection *connection, uint16_t channel, const struct amqp_queue *queue)
{
	(void)connection, (void)channel;
	is_passive = queue->passive;
}

void channel_declare_exchange(struct connection *connection, uint16_t channel, struct text name,
	struct text type, bool passive, bool durable)
{
	(void)connection, (void)channel, (void)name, (void)type, (void)passive, (void)durable;
	ck_abort_msg("x");
}

void channel_bind_queue_by(struct connection *connection, uint16_t channel, struct text queue,
	struct text exchange, struct text routing_key, const struct amqp_argument *arguments,
	size_t count)
{
	(void)connection, (void)channel, (void)queue, (void)exchange, (void)routing_key;
	(void)arguments, (void)count;
	ck_abort_msg("b");
}

static void on_log_line(void *ctx, enum log_level level, const char *text)
{
	(void)ctx;
	size_t len = strlen(logged);
	ck_assert_uint_lt(len + 3, sizeof logged);
	logged[len] = log_level_name(level)[0];
	logged[len + 1] = text[0];
	logged[len + 2] = ' ';
	logged[len + 3] = 0;
}

static const struct channel_log channel_log = {on_log_line, NULL};

static void set_up(struct text dead_letter)
{
	logged[0] = 0;
	topology_init(&topology, TEXT("q"), dead_letter, DECLARE_ON, &plan);
}

/* Check all queues, and declare those that are missing. there[i]: the i-th queue exists; set when
 * it is declared. refuse: refuse the first declaration. */
static void check_all_queues(bool there[], bool refuse)
{
	size_t i = 0;
	bool is_done = topology_begin(&topology, NULL, 1, false);
	while (!is_done) {
		if (is_passive ? there[i] : !refuse) {
			there[i++] = true;
			is_done = topology_next(&topology, NULL, 1);
			continue;
		}
		if (!topology_closed(
			    &topology, is_passive ? 404 : REFUSED, TEXT("why"), &channel_log))
			return;
		i = 0;
		is_done = topology_begin(&topology, NULL, 1, false);
	}
	topology_on_consuming(&topology, &channel_log);
}

START_TEST(declared_queues_need_no_note)
{
	set_up(TEXT("q.dead"));
	check_all_queues((bool[]){false, false, false}, false);
	ck_assert_str_eq(logged, "");
	check_all_queues((bool[]){true, true, true}, false); /* after a lost connection */
	ck_assert_str_eq(logged, "");
}
END_TEST

START_TEST(existing_queues_are_logged_once)
{
	set_up(TEXT("q.dead"));
	check_all_queues((bool[]){true, true, true}, false);
	ck_assert_str_eq(logged, "dq ");
	check_all_queues((bool[]){true, true, true}, false);
	ck_assert_str_eq(logged, "dq ");
}
END_TEST

START_TEST(redeclared_queue_counts_as_made)
{
	set_up(TEXT("q.dead"));
	check_all_queues((bool[]){true, false, false}, false);
	ck_assert_str_eq(logged, "dq ");
	check_all_queues((bool[]){false, true, true}, false);
	ck_assert_str_eq(logged, "dq ");
	ck_assert_int_eq(topology.sights[TOPOLOGY_QUEUE], TOPOLOGY_MADE);
}
END_TEST

/* Another client declared it at the same time, with other arguments. */
START_TEST(queue_that_could_not_be_declared_counts_as_existing)
{
	set_up(TEXT("q.dead"));
	check_all_queues((bool[]){false, true, true}, true);
	ck_assert_str_eq(logged, "wt ");
	check_all_queues((bool[]){true, true, true}, false);
	ck_assert_str_eq(logged, "wt dq ");
	ck_assert_int_eq(topology.sights[TOPOLOGY_QUEUE], TOPOLOGY_THERE);
}
END_TEST

START_TEST(declared_queue_without_dead_letters_is_warned_of)
{
	set_up(TEXT_NONE);
	check_all_queues((bool[]){false, false}, false);
	ck_assert_str_eq(logged, "wq ");
}
END_TEST

START_TEST(unchecked_queue_counts_as_existing)
{
	set_up(TEXT_NONE);
	topology.declare = DECLARE_OFF;
	check_all_queues((bool[]){true}, false);
	ck_assert_str_eq(logged, "iq ");
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("broker/durability_note");
	TCase *text = tcase_create("text");
	tcase_add_loop_test(text, note_has_the_text_of_the_case, 0, sizeof cases / sizeof *cases);
	tcase_add_test(text, longest_note_is_not_cut);
	suite_add_tcase(s, text);
	UNIT_CASE(s, "topology", declared_queues_need_no_note, existing_queues_are_logged_once,
		redeclared_queue_counts_as_made,
		queue_that_could_not_be_declared_counts_as_existing,
		declared_queue_without_dead_letters_is_warned_of,
		unchecked_queue_counts_as_existing);
	return s;
}

UNIT_MAIN(suite)
