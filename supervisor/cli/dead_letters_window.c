#include "cli/dead_letters_window.h"

#include "amqp/channel.h"

#define FREE_MIN   16 /* places in the window, whatever the messages' size */
#define FREE_MAX   1024
#define FREE_BYTES (64u * 1024 * 1024)

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t most(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* Wide enough to keep the line busy with what does not stay; and no step without a bound in bytes,
 * because the broker takes the whole step into its memory at once. A step is about as wide as the
 * window is, for the number of consumers is bounded, too. */
uint32_t reader_window(uint32_t now, uint64_t held, uint64_t wanted, uint64_t mean)
{
	uint64_t room = least(most(FREE_BYTES / (mean + 1), FREE_MIN), FREE_MAX);
	uint64_t step = FREE_MIN;
	if (now > 0) {
		if (now - held >= room / 2)
			return now;
		uint64_t twice = least(now, DEAD_LETTERS_BYTES_MAX / (mean + 1));
		step = least(most(room, twice), 4 * (uint64_t)now);
	}
	uint64_t wide = least(least(now + step, wanted), READER_WINDOW_MAX);
	return (uint32_t)most(wide, now);
}

uint64_t reader_held(const struct reader *r)
{
	return r->looked - r->acked - r->waiting;
}

/* How many are to stand in the window at the most. */
static uint64_t wanted_of(const struct reader *r)
{
	uint64_t outstanding = r->looked - r->acked;
	uint64_t rest = r->count - r->looked;
	if (!r->is_sated && r->what->matches.count == 0)
		rest = least(rest, r->what->limit - r->matched);
	return outstanding + rest;
}

void reader_widen(struct reader *r)
{
	uint32_t now = subscriptions_window(&r->subscriptions);
	uint32_t window = reader_window(
		now, reader_held(r), wanted_of(r), r->looked > 0 ? r->bytes / r->looked : 0);
	if (window > now && r->subscriptions.count < SUBSCRIPTIONS_MAX - SUBSCRIPTIONS_SYNC_STEPS)
		subscriptions_widen(&r->subscriptions, r->client.connection, READER_CHANNEL,
			r->what->queue, (uint16_t)window);
}

/* The answers to what widened the window are no steps of the barrier: they come first. */
void reader_synchronize(struct reader *r)
{
	if (r->consumers < r->subscriptions.generation)
		return;
	if (r->acked > 0 && subscriptions_synchronize(&r->subscriptions, r->client.connection,
				    READER_CHANNEL, r->what->queue))
		return;
	r->is_synced = true;
	r->state = READER_CLOSING;
	channel_close(r->client.connection, READER_CHANNEL);
}
