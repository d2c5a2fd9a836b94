#include "net/reconnect.h"

void reconnect_init(struct reconnect *r, size_t host_count, mtime max, uint32_t seed)
{
	*r = (struct reconnect){.host_count = host_count};
	backoff_init(&r->wait, RECONNECT_FIRST, max, seed);
	backoff_init(&r->login_wait, RECONNECT_LOGIN,
		max < RECONNECT_MAX ? 2 * max : RECONNECT_LOGIN_MAX, seed);
}

void reconnect_opened(struct reconnect *r)
{
	backoff_reset(&r->login_wait);
	r->was_refused = false;
}

mtime reconnect_failed(struct reconnect *r, bool login_refused, mtime open_for)
{
	if (open_for > r->wait.wait && open_for > RECONNECT_FIRST) {
		backoff_reset(&r->wait);
		r->tried = 0;
	}
	r->was_refused |= login_refused;
	r->host = (r->host + 1) % r->host_count;
	if (++r->tried < r->host_count)
		return 0;
	struct backoff *wait = r->was_refused ? &r->login_wait : &r->wait;
	r->tried = 0;
	r->was_refused = false;
	return backoff_next(wait);
}
