/* When a publishing channel is replaced because the broker refuses publishes. */
#include "broker/channel_renewal.h"
#include "unit/unit.h"

#define S MTIME_SECOND

/* Return the time from the first refusal on a channel until the channel is renewed. */
static mtime refuse(struct channel_renewal *channel_renewal, mtime now)
{
	channel_renewal_forget(channel_renewal);
	channel_renewal_on_answer(channel_renewal, true, now);
	return channel_renewal->renew_at - now;
}

START_TEST(renewal_is_due_after_the_first_refusal)
{
	struct channel_renewal channel_renewal;
	channel_renewal_init(&channel_renewal, 1);
	ck_assert_int_eq(channel_renewal.renew_at, MTIME_NEVER);
	channel_renewal_on_answer(&channel_renewal, false, 1 * S);
	ck_assert_int_eq(channel_renewal.renew_at, MTIME_NEVER);
	channel_renewal_on_answer(&channel_renewal, true, 2 * S);
	mtime at = channel_renewal.renew_at;
	ck_assert(at > 2 * S && at <= 7 * S);
	channel_renewal_on_answer(&channel_renewal, true, 3 * S);
	channel_renewal_on_answer(&channel_renewal, false, 4 * S);
	ck_assert_int_eq(channel_renewal.renew_at, at);
	channel_renewal_forget(&channel_renewal);
	ck_assert_int_eq(channel_renewal.renew_at, MTIME_NEVER);
}
END_TEST

/* A full queue refuses on every channel, so channels are not renewed every second. */
START_TEST(waits_grow_up_to_a_minute)
{
	struct channel_renewal channel_renewal;
	channel_renewal_init(&channel_renewal, 1);
	mtime first = refuse(&channel_renewal, 0), last = first;
	for (int i = 0; i < 10; i++) {
		mtime wait = refuse(&channel_renewal, i * S);
		ck_assert(wait > last / 2 && wait <= 60 * S);
		last = wait;
	}
	ck_assert(last >= 45 * S);
	channel_renewal_forget(&channel_renewal);
	channel_renewal_on_answer(&channel_renewal, false, 100 * S);
	ck_assert(refuse(&channel_renewal, 101 * S) <= 5 * S);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("broker/channel_renewal");
	UNIT_CASE(s, "renewal", renewal_is_due_after_the_first_refusal, waits_grow_up_to_a_minute);
	return s;
}

UNIT_MAIN(suite)
