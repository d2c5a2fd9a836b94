/* What is said of a pool's queues: what was declared here is known, of all else a client sees
 * nothing. The channel is this test's own; its broker has the queues that a test gives it. */
#include "broker/durability_note.h"

#include "amqp/channel.h"
#include "broker/topology.h"
#include "unit/unit.h"

#include <string.h>

/* ---------- the words ---------- */

#define UNKNOWN                                                                                    \
	"; their type and policies are unknown to a client (what keeps everything: "               \
	"docs/reliability.md)"

static const struct {
	struct durability_note note;
	enum log_level level;
	const char *words;
} cases[] = {
	{{TEXT("q"), TEXT("q.dead"), true, true, 0}, LOG_DEBUG, ""},
	{{TEXT("q"), TEXT("q.dead"), false, false, 3}, LOG_INFO,
		"queues that were there already: \"q\", \"q.dead\", 3 for retries" UNKNOWN},
	{{TEXT("q"), TEXT("q.dead"), false, true, 0}, LOG_INFO,
		"queues that were there already: \"q\"" UNKNOWN},
	{{TEXT("q"), TEXT("q.dead"), true, false, 0}, LOG_INFO,
		"queues that were there already: \"q.dead\"" UNKNOWN},
	{{TEXT("q"), TEXT("q.dead"), true, true, 1}, LOG_INFO,
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

START_TEST(test_words)
{
	struct buf words;
	buf_init(&words, DURABILITY_NOTE_MAX);
	enum log_level level = durability_note_append(&cases[_i].note, &words);
	ck_assert_int_eq(level, cases[_i].level);
	ck_assert(text_is(buf_text(&words), text_from(cases[_i].words)));
	buf_release(&words);
}
END_TEST

START_TEST(test_the_longest_words_have_room)
{
	char name[256];
	memset(name, 'n', sizeof name);
	struct text longest = text_of(name, 255);
	const struct durability_note promises[] = {{.queue = longest, .dead_letter = longest},
		{.queue = longest}, {.queue = longest, .is_queue_made = true}};
	for (size_t i = 0; i < 3; i++) {
		struct buf words;
		buf_init(&words, DURABILITY_NOTE_MAX);
		durability_note_append(&promises[i], &words);
		ck_assert(!words.failed);
		buf_release(&words);
	}
}
END_TEST

/* ---------- the queues, one after the other ---------- */

#define REFUSED 406

static const struct retry_plan plan = {.delays = {MTIME_SECOND}, .count = 1};
static struct topology topology;
static bool is_for_other_process; /* what was asked for last */
static char told[64];             /* of each note the first letters of level and words */

void channel_declare_queue(
	struct connection *connection, uint16_t channel, const struct amqp_queue *queue)
{
	(void)connection, (void)channel;
	is_for_other_process = queue->passive;
}

static void on_log_line(void *ctx, enum log_level level, const char *words)
{
	(void)ctx;
	size_t len = strlen(told);
	ck_assert_uint_lt(len + 3, sizeof told);
	told[len] = log_level_name(level)[0];
	told[len + 1] = words[0];
	told[len + 2] = ' ';
	told[len + 3] = 0;
}

static const struct channel_log channel_log = {on_log_line, NULL};

static void set_up(struct text dead_letter)
{
	told[0] = 0;
	topology_init(&topology, TEXT("q"), dead_letter, DECLARE_ON, &plan);
}

/* A channel is opened and all queues are seen to: there[i] says of the i-th whether a look finds
 * it; what is made is there then. refuse: the first that is to be made is refused. */
static void see_to_all(bool there[], bool refuse)
{
	size_t i = 0;
	bool is_done = topology_begin(&topology, NULL, 1, false);
	while (!is_done) {
		if (is_for_other_process ? there[i] : !refuse) {
			there[i++] = true;
			is_done = topology_next(&topology, NULL, 1);
			continue;
		}
		if (!topology_closed(&topology, is_for_other_process ? 404 : REFUSED, TEXT("why"),
			    &channel_log))
			return;
		i = 0;
		is_done = topology_begin(&topology, NULL, 1, false);
	}
	topology_on_consuming(&topology, &channel_log);
}

START_TEST(test_what_was_made_keeps_the_promise)
{
	set_up(TEXT("q.dead"));
	see_to_all((bool[]){false, false, false}, false);
	ck_assert_str_eq(told, "");
	see_to_all((bool[]){true, true, true}, false); /* after a lost connection */
	ck_assert_str_eq(told, "");
}
END_TEST

START_TEST(test_what_was_there_is_told_once)
{
	set_up(TEXT("q.dead"));
	see_to_all((bool[]){true, true, true}, false);
	ck_assert_str_eq(told, "iq ");
	see_to_all((bool[]){true, true, true}, false);
	ck_assert_str_eq(told, "iq ");
}
END_TEST

START_TEST(test_one_that_was_deleted_and_made_is_known)
{
	set_up(TEXT("q.dead"));
	see_to_all((bool[]){true, false, false}, false);
	ck_assert_str_eq(told, "iq ");
	see_to_all((bool[]){false, true, true}, false);
	ck_assert_str_eq(told, "iq ");
	ck_assert_int_eq(topology.sights[TOPOLOGY_QUEUE], TOPOLOGY_MADE);
}
END_TEST

/* Somebody else declared it in the same moment, and otherwise. */
START_TEST(test_one_that_could_not_be_made_is_somebody_elses)
{
	set_up(TEXT("q.dead"));
	see_to_all((bool[]){false, true, true}, true);
	ck_assert_str_eq(told, "wt ");
	see_to_all((bool[]){true, true, true}, false);
	ck_assert_str_eq(told, "wt iq ");
	ck_assert_int_eq(topology.sights[TOPOLOGY_QUEUE], TOPOLOGY_THERE);
}
END_TEST

START_TEST(test_one_of_ours_that_discards_is_warned_of)
{
	set_up(TEXT_NONE);
	see_to_all((bool[]){false, false}, false);
	ck_assert_str_eq(told, "wq ");
}
END_TEST

START_TEST(test_one_that_is_not_looked_at_is_unknown)
{
	set_up(TEXT_NONE);
	topology.declare = DECLARE_OFF;
	see_to_all((bool[]){true}, false);
	ck_assert_str_eq(told, "iq ");
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("broker/durability_note");
	TCase *words = tcase_create("words");
	tcase_add_loop_test(words, test_words, 0, sizeof cases / sizeof *cases);
	tcase_add_test(words, test_the_longest_words_have_room);
	suite_add_tcase(s, words);
	UNIT_CASE(s, "topology", test_what_was_made_keeps_the_promise,
		test_what_was_there_is_told_once, test_one_that_was_deleted_and_made_is_known,
		test_one_that_could_not_be_made_is_somebody_elses,
		test_one_of_ours_that_discards_is_warned_of,
		test_one_that_is_not_looked_at_is_unknown);
	return s;
}

UNIT_MAIN(suite)
