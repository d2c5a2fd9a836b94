#include "io/reconnect.h"

void reconnect_init(struct reconnect *r, size_t host_count, mtime most, uint64_t seed)
{
	*r = (struct reconnect){.host_count = host_count,
		.most = most,
		.login_most = most < RECONNECT_MOST ? 2 * most : RECONNECT_LOGIN_MOST,
		.chance = seed ? seed : 0x9e3779b97f4a7c15};
}

void reconnect_opened(struct reconnect *r)
{
	r->login_wait = 0;
	r->was_refused = false;
}

static mtime doubled(mtime *wait, mtime first, mtime most)
{
	*wait = mtime_min(*wait ? *wait * 2 : first, most);
	return *wait;
}

/* Marsaglia's xorshift64: enough to keep a thousand supervisors from knocking at once. */
static mtime jittered(struct reconnect *r, mtime wait)
{
	r->chance ^= r->chance << 13;
	r->chance ^= r->chance >> 7;
	r->chance ^= r->chance << 17;
	mtime spread = wait / 2;
	return wait - spread / 2 + (mtime)(r->chance % (uint64_t)(spread + 1));
}

mtime reconnect_failed(struct reconnect *r, bool login_refused, mtime open_for)
{
	if (open_for > r->wait && open_for > RECONNECT_FIRST) {
		r->wait = 0;
		r->tried = 0;
	}
	r->was_refused |= login_refused;
	r->host = (r->host + 1) % r->host_count;
	if (++r->tried < r->host_count)
		return 0;
	r->tried = 0;
	bool refused = r->was_refused;
	r->was_refused = false;
	mtime wait = refused ? doubled(&r->login_wait, mtime_min(RECONNECT_LOGIN, r->login_most),
				       r->login_most)
			     : doubled(&r->wait, mtime_min(RECONNECT_FIRST, r->most), r->most);
	return jittered(r, wait);
}
