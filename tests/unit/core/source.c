/* The ledger: what is acked, when, and how; held against a naive model over random runs. */
#include "unit/support/core/ledger.h"

#include <inttypes.h>

/* What the broker knows of each tag. */
enum fate { UNKNOWN, OPEN, RELEASED, SETTLED };

static void flush(struct ledger *ledger, const char *wanted)
{
	source_flush(&ledger->source);
	rig_expect(&ledger->rig, wanted);
}

START_TEST(acks_are_coalesced_once_a_turn)
{
	struct ledger ledger;
	ledger_init(&ledger);
	ledger_enter_all(&ledger, 1, 6);
	flush(&ledger, "");
	ledger_release(&ledger, 1);
	flush(&ledger, "ack 1");
	ledger_release(&ledger, 3);
	ledger_release(&ledger, 2);
	flush(&ledger, "ack 3*");
	ledger_release(&ledger, 6);
	ledger_release(&ledger, 5);
	flush(&ledger, "ack 6, ack 5");
	ledger_release(&ledger, 4);
	flush(&ledger, "ack 4");
	flush(&ledger, "");
	ledger_end(&ledger);
}
END_TEST

START_TEST(acks_beyond_an_open_delivery_are_single)
{
	struct ledger ledger;
	ledger_init(&ledger);
	ledger_enter_all(&ledger, 1, 7);
	for (uint64_t tag = 1; tag <= 7; tag++)
		if (tag != 4)
			ledger_release(&ledger, tag);
	flush(&ledger, "ack 3*, ack 5, ack 6, ack 7");
	ledger_end(&ledger);
}
END_TEST

START_TEST(a_multiple_ack_names_a_tag_that_was_not_rejected)
{
	struct ledger ledger;
	ledger_init(&ledger);
	ledger_enter_all(&ledger, 1, 4);
	ledger_release(&ledger, 1);
	ledger_release(&ledger, 2);
	source_reject(ledger.deliveries[4], REJECT_DEAD_LETTER);
	source_reject(ledger.deliveries[3], REJECT_REQUEUE);
	flush(&ledger, "reject 4, requeue 3, ack 2*");
	ledger_end(&ledger);
}
END_TEST

/* A tag that we never received may be a message; `multiple` would lose it. */
START_TEST(a_gap_in_the_tags_ends_multiple_acks)
{
	struct ledger ledger;
	ledger_init(&ledger);
	ledger_enter(&ledger, 1);
	ledger_enter(&ledger, 3);
	ledger_release(&ledger, 1);
	ledger_release(&ledger, 3);
	flush(&ledger, "ack 1, ack 3");
	source_down(&ledger.source);
	source_up(&ledger.source, 2);
	ledger_enter_all(&ledger, 1, 2);
	ledger_release(&ledger, 1);
	ledger_release(&ledger, 2);
	flush(&ledger, "ack 2*");
	ledger_end(&ledger);
}
END_TEST

START_TEST(a_tag_must_rise)
{
	struct ledger ledger;
	ledger_init(&ledger);
	struct delivery *zero = rig_delivery(0);
	ck_assert(!source_accepts(&ledger.source, zero->tag));
	delivery_free(zero);
	ledger_enter_all(&ledger, 1, 2);
	struct delivery *again = rig_delivery(2);
	ck_assert(!source_accepts(&ledger.source, again->tag));
	delivery_free(again);
	ck_assert_uint_eq(ledger.source.open, 2);
	ledger_end(&ledger);
}
END_TEST

START_TEST(no_ack_is_sent_while_closing_or_absent)
{
	struct ledger ledger;
	ledger_init(&ledger);
	ledger_enter_all(&ledger, 1, 2);
	ledger_release(&ledger, 1);
	source_close(&ledger.source);
	flush(&ledger, "close");
	struct delivery *late = rig_delivery(3);
	ck_assert(!source_accepts(&ledger.source, late->tag));
	delivery_free(late);
	ledger_end(&ledger);
	flush(&ledger, "");
	/* A channel that was on its way comes up against the request. */
	source_up(&ledger.source, 2);
	ck_assert_int_eq(ledger.source.state, SOURCE_IS_CLOSING);
	rig_expect(&ledger.rig, "close");
	source_rested(&ledger.source);
	ck_assert_int_eq(ledger.source.state, SOURCE_IS_CLOSING);
}
END_TEST

START_TEST(a_wish_is_repeated_on_a_new_channel)
{
	struct ledger ledger;
	ledger_init(&ledger);
	ck_assert(ledger.source.request != SOURCE_CONSUME);
	source_rested(&ledger.source);
	ck_assert_int_eq(ledger.source.state, SOURCE_IS_CONSUMING);
	source_consume(&ledger.source, 10);
	rig_expect(&ledger.rig, "consume 10");
	source_rested(&ledger.source); /* overtaken by the request */
	ck_assert_int_eq(ledger.source.state, SOURCE_IS_CONSUMING);
	source_rest(&ledger.source);
	source_rested(&ledger.source);
	ck_assert_int_eq(ledger.source.state, SOURCE_IS_RESTED);
	ledger_enter(&ledger, 1);
	ledger_release(&ledger, 1);
	flush(&ledger, "rest, ack 1");
	source_down(&ledger.source);
	source_up(&ledger.source, 2);
	rig_expect(&ledger.rig, "rest");
	source_rested(&ledger.source);
	source_consume(&ledger.source, 5);
	ck_assert_int_eq(ledger.source.state, SOURCE_IS_CONSUMING);
	source_down(&ledger.source);
	rig_expect(&ledger.rig, "consume 5");
	source_up(&ledger.source, 3);
	rig_expect(&ledger.rig, "");
	source_down(&ledger.source);
	source_close(&ledger.source);
	ck_assert_int_eq(ledger.source.state, SOURCE_IS_ABSENT);
}
END_TEST

START_TEST(epochs_start_at_zero_or_one_and_wrap)
{
	struct source source;
	source_init(&source, false, &rig_effects, NULL);
	ck_assert(source_is_newer(&source, 0) && source_is_newer(&source, 1));
	ck_assert(!source_is_current(&source, UINT32_MAX));
	source_up(&source, 7);
	ck_assert(source_is_current(&source, 7) && !source_is_current(&source, 6));
	ck_assert(!source_is_newer(&source, 7) && !source_is_newer(&source, 6));
	source_down(&source);
	ck_assert(!source_is_current(&source, 7));
}
END_TEST

/* The model: one array, no cleverness. */
struct model {
	enum fate fates[LEDGER_TAGS + 1];
	uint64_t last;
};

static bool lower_ones_are_through(const struct model *model, uint64_t tag)
{
	for (uint64_t lower = 1; lower < tag; lower++)
		if (model->fates[lower] == OPEN)
			return false;
	return true;
}

/* Check tells its parent of every assertion that holds: too many, in a loop of millions. */
static void expect(bool is_right, uint64_t tag, const char *words)
{
	if (!is_right)
		ck_abort_msg("tag %" PRIu64 ": %s", tag, words);
}

/* Every ack that the flush wrote must be right, and together they must be complete and few. */
static void check_flush(struct model *model, const char *done)
{
	uint64_t highest = 0;
	for (uint64_t tag = 1; tag <= model->last; tag++)
		if (model->fates[tag] == RELEASED && lower_ones_are_through(model, tag))
			highest = tag;
	for (const char *at = strstr(done, "ack "); at; at = strstr(at + 1, "ack ")) {
		char *end;
		uint64_t tag = strtoull(at + strlen("ack "), &end, 10);
		expect(model->fates[tag] == RELEASED, tag, "acked, and not released");
		expect(tag >= highest, tag, "acked singly below a multiple ack");
		for (uint64_t lower = 1; *end == '*' && lower < tag; lower++) {
			expect(model->fates[lower] != OPEN, lower, "acked while open");
			model->fates[lower] = SETTLED;
		}
		model->fates[tag] = SETTLED;
	}
	for (uint64_t tag = 1; tag <= model->last; tag++)
		expect(model->fates[tag] != RELEASED, tag, "released, and not acked");
}

static void random_act(struct ledger *ledger, struct model *model)
{
	uint64_t tag = 1 + (uint64_t)random() % (model->last ? model->last : 1);
	switch (random() % 4) {
	case 0:
		if (model->last < LEDGER_TAGS) {
			ledger_enter(ledger, ++model->last);
			model->fates[model->last] = OPEN;
		}
		break;
	case 1:
		if (model->fates[tag] == OPEN) {
			source_reject(ledger->deliveries[tag], REJECT_REQUEUE);
			model->fates[tag] = SETTLED;
		}
		break;
	default:
		if (model->fates[tag] == OPEN) {
			ledger_release(ledger, tag);
			model->fates[tag] = RELEASED;
		}
	}
}

START_TEST(random_runs_agree_with_the_model)
{
	for (unsigned seed = 0; seed < 1000; seed++) {
		struct ledger ledger;
		struct model model = {0};
		srandom((unsigned)_i * 1000 + seed);
		ledger_init(&ledger);
		for (int turn = 0; turn < 40; turn++) {
			for (long acts = random() % 16; acts > 0; acts--)
				random_act(&ledger, &model);
			source_flush(&ledger.source);
			check_flush(&model, ledger.rig.done);
			rig_forget(&ledger.rig);
		}
		ledger_end(&ledger);
	}
}
END_TEST

static Suite *source_suite(void)
{
	Suite *suite = suite_create("core/source");
	UNIT_CASE(suite, "ledger", acks_are_coalesced_once_a_turn,
		acks_beyond_an_open_delivery_are_single,
		a_multiple_ack_names_a_tag_that_was_not_rejected,
		a_gap_in_the_tags_ends_multiple_acks, a_tag_must_rise,
		no_ack_is_sent_while_closing_or_absent);
	UNIT_CASE(suite, "epochs", a_wish_is_repeated_on_a_new_channel,
		epochs_start_at_zero_or_one_and_wrap);
	TCase *oracle = tcase_create("oracle");
	tcase_set_timeout(oracle, 60);
	tcase_add_loop_test(oracle, random_runs_agree_with_the_model, 0, 5);
	suite_add_tcase(suite, oracle);
	return suite;
}

UNIT_MAIN(source_suite)
