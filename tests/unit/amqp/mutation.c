/* A valid session with random damage: the connection ends in order or goes on, every content is
 * delivered or dropped once, and the sanitizers find nothing. A failure prints its seed;
 * AMQP_MUTATION_SEED=<seed> <this program> runs that one alone. */
#include "unit/support/amqp/dialog.h"
#include "unit/unit.h"

static void session(struct buf *out)
{
	peer_start(out, "PLAIN");
	peer_tune(out, 2047, 8192, 60);
	peer_open_ok(out);
	peer_channel_open_ok(out, 1);
	peer_method(out, 1, AMQP_BASIC_QOS_OK_METHOD, &(amqp_basic_qos_ok_t){0});
	peer_method(out, 1, AMQP_CONFIRM_SELECT_OK_METHOD, &(amqp_confirm_select_ok_t){0});
	for (uint64_t tag = 1; tag <= 4; tag++) {
		peer_deliver(out, 1, tag);
		peer_header(out, 1, 6, TEXT("\240\0\4text\0\0\0\4\1ktt"));
		peer_body(out, 1, TEXT("abc"));
		peer_body(out, 1, TEXT("def"));
		peer_method(out, 1, AMQP_BASIC_ACK_METHOD, &(amqp_basic_ack_t){tag, true});
	}
	peer_method(out, 0, AMQP_CONNECTION_BLOCKED_METHOD,
		&(amqp_connection_blocked_t){peer_string("disk")});
	peer_method(out, 1, AMQP_BASIC_CANCEL_METHOD,
		&(amqp_basic_cancel_t){peer_string("consumer"), false});
	peer_method(out, 1, AMQP_CHANNEL_CLOSE_METHOD,
		&(amqp_channel_close_t){404, peer_string("NOT_FOUND"), 60, 20});
}

/* The client's half of the session: its reaction to the events. */
static void play(struct dialog *dialog, const struct amqp_event *event)
{
	struct connection *c = dialog->connection;
	struct amqp_publish publish = {.routing_key = TEXT("q"), .properties = TEXT("\0\0")};

	if (event->kind == AMQP_OPENED) {
		channel_open(c, 1);
	} else if (event->kind == AMQP_CHANNEL_OPENED) {
		channel_qos(c, 1, 10);
		channel_consume(c, 1, TEXT("queue"), TEXT("consumer"), false);
		channel_confirm_select(c, 1);
	} else if (event->kind == AMQP_DELIVERY) {
		channel_publish(c, 1, &publish);
		channel_ack(c, 1, event->tag, false);
	} else if (event->kind == AMQP_CHANNEL_CLOSED) {
		channel_open(c, 1);
	}
}

/* Flip, overwrite, cut out or double some bytes. */
static void damage(struct buf *bytes, unsigned *seed)
{
	size_t len = buf_len(bytes);
	uint8_t *at = bytes->bytes + bytes->head + (size_t)rand_r(seed) % len;
	size_t left = (size_t)(bytes->bytes + bytes->tail - at);
	size_t some = 1 + (size_t)rand_r(seed) % (left < 16 ? left : 16);

	switch (rand_r(seed) % 4) {
	case 0:
		*at ^= (uint8_t)(1u << rand_r(seed) % 8);
		break;
	case 1:
		*at = (uint8_t)rand_r(seed);
		break;
	case 2:
		memmove(at, at + some, left - some);
		buf_truncate(bytes, len - some);
		break;
	default:
		memmove(at + left - some, at, some);
	}
}

/* Run a damaged session and return its end: RC_OK if the damage was harmless. */
static enum rc run(unsigned first_seed)
{
	struct dialog dialog;
	struct buf bytes;
	unsigned seed = first_seed;
	enum rc rc;

	dialog_init(&dialog);
	dialog.on_event = play;
	buf_init(&bytes, 1u << 16);
	session(&bytes);
	for (int times = rand_r(&seed) % 3; times >= 0; times--)
		damage(&bytes, &seed);
	dialog_start(&dialog);
	rc = dialog_feed(&dialog, buf_text(&bytes), 1 + (size_t)rand_r(&seed) % 300);
	ck_assert_msg(
		!connection_has_failed(dialog.connection), "seed %u: output refused", first_seed);
	ck_assert_msg(dialog.allocated <= dialog.delivered + dialog.dropped + 1,
		"seed %u: content lost", first_seed);
	dialog_release(&dialog);
	buf_release(&bytes);
	return rc;
}

#define BATCHES 30
#define BATCH   100

/* Each batch is a process: a crash is reported with its loop number, a failed check with its seed.
 */
START_TEST(damaged_sessions_end_in_order)
{
	unsigned runs[RC_SYSTEM + 1] = {0};

	for (unsigned seed = (unsigned)_i * BATCH; seed < ((unsigned)_i + 1) * BATCH; seed++)
		runs[run(seed)]++;
	ck_assert_uint_gt(runs[RC_MALFORMED], BATCH / 5);
	ck_assert_uint_lt(runs[RC_MALFORMED], BATCH);
}
END_TEST

START_TEST(replay)
{
	run((unsigned)strtoul(getenv("AMQP_MUTATION_SEED"), NULL, 10));
}
END_TEST

static Suite *mutation_suite(void)
{
	Suite *suite = suite_create("amqp/mutation");
	TCase *damaged = tcase_create("damaged");
	bool replayed = getenv("AMQP_MUTATION_SEED");

	tcase_set_timeout(damaged, 120);
	if (replayed)
		tcase_add_test(damaged, replay);
	else
		tcase_add_loop_test(damaged, damaged_sessions_end_in_order, 0, BATCHES);
	suite_add_tcase(suite, damaged);
	return suite;
}

UNIT_MAIN(mutation_suite)
