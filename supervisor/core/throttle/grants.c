#include "core/throttle/grants.h"

#include "core/throttle/throttle_internal.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* A task that is chosen is written a moment later. */
#define MARGIN (2 * MTIME_MS)
/* Before a task asks again that no answer wakes: one was lost, or there is no connection. */
#define ASK_AGAIN (250 * MTIME_MS)
/* So often at least: it hears of other figures, and a new leader hears that it is one. */
#define ASK_EVERY MTIME_SECOND
/* Keys that were answered about last; a pool that has missed some asks about all. */
#define ANSWERS_KEPT 1024
/* The lease is so many round trips. */
#define ROUND_TRIPS 4

struct grant {
	struct link held; /* in grants->held while some are left */
	uint64_t key;
	uint32_t left; /* starts */
	mtime ends;    /* they are valid before this */
	mtime stamp;   /* of the answer; 0: of a leader before the present one */
};

struct member_window {
	struct window window;
	struct link wanting;         /* in grants->urgent or wanting */
	struct grant former, latest; /* at most two leases overlap */
	mtime asked_at;              /* the latest request about it; 0: none */
	mtime free_at;               /* the leader grants none before; 0: not known */
	uint32_t changes;            /* of the throttle's figures, when it said so */
	struct link charged;         /* in grants->charged, if it was in this turn */
	uint32_t charges;            /* how often */
	mtime charged_until;         /* the first end of what was charged */
	uint32_t used;               /* starts since asked_at */
	uint32_t late;               /* to be reported */
	bool is_refused;             /* a task was, since asked_at */
	bool is_unsure;              /* the latest answer was */
};

struct grants {
	struct throttle_request request; /* the latest */
	mtime sent_at;
	uint64_t lost; /* number of the request that was lost last; 0: none, or its answer came */
	mtime lost_sent_at;
	mtime round_trip; /* estimated; it follows a longer one at once, a shorter one slowly */
	bool is_up, is_open /* it is not answered */;
	bool is_unsure;      /* the latest refusal was */
	struct link urgent;  /* member_windows: a task waits, and none was asked for lately */
	struct link wanting; /* the others that need more */
	struct link held;    /* grants of which some are left, in the order of their requests: with
				equal leases, the first one to end first */
	struct link charged; /* member_windows, in this turn */
	struct unused unused[REQUEST_KEYS_MAX]; /* to be reported */
	uint32_t unused_count;
	uint64_t in_windows;
	uint32_t keys_known;
	uint64_t answered[ANSWERS_KEPT]; /* keys */
	uint64_t answers;
	struct grants_facts facts;
};

static struct member_window *of(struct window *window)
{
	return CONTAINER_OF(window, struct member_window, window);
}

/* A slow broker gets a longer lease: half of it must be left when the answer comes. */
static mtime lease_of(const struct throttle *throttle)
{
	mtime round_trip = throttle->grants->round_trip;
	mtime bound = lease_bound(throttle->figures.period);
	if (round_trip == 0)
		return bound;
	bound = mtime_min(mtime_max(bound, 2 * round_trip), LEASE_MAX);
	return mtime_min(mtime_max(ROUND_TRIPS * round_trip, LEASE_MIN), bound);
}

/* ---------- life ---------- */

enum rc grants_init(struct throttle *throttle, uint64_t member)
{
	assert(!throttle->grants && throttle->by_key.count == 0);
	struct grants *grants = calloc(1, sizeof *grants);
	if (!grants)
		return RC_MEMORY;
	grants->request.member = member;
	grants->facts.heard_at = MTIME_NEVER;
	grants->in_windows = UINT64_MAX;
	list_init(&grants->urgent);
	list_init(&grants->wanting);
	list_init(&grants->held);
	list_init(&grants->charged);
	throttle->grants = grants;
	return RC_OK;
}

void grants_free(struct grants *grants)
{
	free(grants);
}

struct window *grants_window_new(void)
{
	struct member_window *window = window_alloc(sizeof *window);
	if (!window)
		return NULL;
	list_init(&window->wanting);
	list_init(&window->charged);
	list_init(&window->former.held);
	list_init(&window->latest.held);
	return &window->window;
}

void grants_forget(struct grants *grants, struct window *window)
{
	struct member_window *own = of(window);
	grants->facts.unused += own->former.left + own->latest.left;
	list_remove(&own->former.held);
	list_remove(&own->latest.held);
	list_remove(&own->wanting);
	list_remove(&own->charged);
}

/* Without this, keys that wait would forget each other, and none would be asked for. */
mtime grants_keep_until(const struct throttle *throttle, const struct window *window, mtime now)
{
	const struct grants *grants = throttle->grants;
	const struct member_window *own = CONTAINER_OF(window, const struct member_window, window);
	bool is_asked = grants->is_open && own->asked_at == grants->sent_at;
	bool is_held = own->latest.left > 0 && now < own->latest.ends;
	bool is_charged = own->charges > 0 || own->late > 0;
	bool is_in_use = own->is_refused || is_asked || is_held || is_charged;
	return is_in_use ? mtime_after(now, lease_of(throttle)) : 0;
}

void grants_refuse_key(struct grants *grants)
{
	grants->is_unsure = true;
}

/* It is not answered. Late starts are reported again, as one too many does no harm. Its windows are
 * still there: see grants_keep_until. */
static void close_request(struct throttle *throttle)
{
	struct grants *grants = throttle->grants;
	grants->is_open = false;
	for (uint32_t i = 0; i < grants->request.count; i++) {
		uint32_t late = grants->request.keys[i].late;
		struct window *window = window_find(throttle, grants->request.keys[i].key);
		assert(window);
		if (late == 0)
			continue;
		of(window)->late += late;
		list_remove(&of(window)->wanting);
		list_append(&grants->wanting, &of(window)->wanting);
	}
}

void grants_up(struct throttle *throttle)
{
	throttle->grants->is_up = true;
	throttle->grants->facts.unanswered = 0;
	throttle->changes++; /* all ask again */
}

void grants_down(struct throttle *throttle)
{
	throttle->grants->is_up = false;
	if (throttle->grants->is_open)
		close_request(throttle);
}

/* ---------- tasks ---------- */

/* The grant that ends first of those that are valid; NULL: none is. */
static struct grant *valid_grant(struct member_window *window, mtime now)
{
	if (window->former.left > 0 && now < window->former.ends - MARGIN)
		return &window->former;
	if (window->latest.left > 0 && now < window->latest.ends - MARGIN)
		return &window->latest;
	return NULL;
}

/* About what was asked for less than half a lease ago, the next regular request asks again. */
static void want(struct throttle *throttle, struct member_window *window, mtime now)
{
	struct grants *grants = throttle->grants;
	bool is_urgent = window->asked_at == 0 || now - window->asked_at >= lease_of(throttle) / 2;
	if (!is_urgent && !list_is_empty(&window->wanting))
		return;
	list_remove(&window->wanting);
	list_append(is_urgent ? &grants->urgent : &grants->wanting, &window->wanting);
}

mtime grants_ask(struct throttle *throttle, struct window *window, mtime now)
{
	struct grants *grants = throttle->grants;
	struct member_window *own = of(window);
	window_make_latest(throttle, window);
	if (valid_grant(own, now))
		return now;
	if (own->free_at > now && own->changes == throttle->changes) {
		grants->is_unsure = own->is_unsure;
		return own->free_at;
	}
	grants->is_unsure = own->is_refused = true;
	want(throttle, own, now);
	return mtime_after(now, grants->is_up ? ASK_AGAIN : GRANTS_WAIT_MAX);
}

void grants_charge(struct grants *grants, struct window *window, mtime now)
{
	struct member_window *own = of(window);
	struct grant *grant = valid_grant(own, now);
	assert(grant);
	if (--grant->left == 0)
		list_remove(&grant->held);
	own->used++;
	if (own->charges == 0 || grant->ends < own->charged_until)
		own->charged_until = grant->ends;
	if (own->charges++ == 0)
		list_append(&grants->charged, &own->charged);
}

static void end_turn(struct grants *grants, struct member_window *own, mtime now)
{
	bool is_late = now > own->charged_until;
	if (is_late) {
		own->late += own->charges;
		grants->facts.late += own->charges;
	}
	own->charges = 0;
	if (is_late || (own->used > 1 && list_is_empty(&own->wanting))) {
		list_remove(&own->wanting);
		list_append(is_late ? &grants->urgent : &grants->wanting, &own->wanting);
	}
}

void grants_end_turn(struct grants *grants, mtime now)
{
	struct link *first;
	while ((first = list_first(&grants->charged))) {
		list_remove(first);
		end_turn(grants, CONTAINER_OF(first, struct member_window, charged), now);
	}
}

/* ---------- requests ---------- */

static struct grant *first_held(const struct grants *grants)
{
	struct link *first = list_first(&grants->held);
	return first ? CONTAINER_OF(first, struct grant, held) : NULL;
}

/* More than there is space for count as used. */
static void give_back_starts(struct grants *grants, uint64_t key, mtime stamp, uint32_t starts)
{
	bool is_known = stamp > 0 && grants->unused_count < REQUEST_KEYS_MAX;
	if (starts > 0 && is_known)
		grants->unused[grants->unused_count++] =
			(struct unused){.key = key, .stamp = stamp, .starts = starts};
	grants->facts.unused += starts;
}

static void give_back(struct grants *grants, struct grant *grant)
{
	give_back_starts(grants, grant->key, grant->stamp, grant->left);
	grant->left = 0;
	list_remove(&grant->held);
}

static void give_back_ended(struct grants *grants, mtime now)
{
	struct grant *grant;
	while ((grant = first_held(grants)) && now >= grant->ends - MARGIN)
		give_back(grants, grant);
}

/* As many as were used in a lease since it was asked about last, and twice as many if that was too
 * few. */
static uint32_t needed_by(
	const struct throttle *throttle, const struct member_window *window, mtime now)
{
	mtime lease = lease_of(throttle), span = mtime_max(now - window->asked_at, lease);
	uint32_t limit = throttle->figures.limit, used = (uint32_t)(window->used * lease / span);
	if (window->is_refused)
		used = used > 0 ? 2 * used : 1;
	return used < limit ? used : limit;
}

static void ask_for(struct throttle *throttle, struct member_window *window, mtime now)
{
	struct throttle_request *request = &throttle->grants->request;
	uint32_t late = window->late < THROTTLE_LIMIT_MAX ? window->late : THROTTLE_LIMIT_MAX;
	request->keys[request->count++] =
		(struct wanted){.key = key_of_number(window->window.place.number),
			.starts = needed_by(throttle, window, now),
			.late = late};
	throttle->grants->facts.requested += request->keys[request->count - 1].starts;
	window->asked_at = now;
	window->used = window->late = 0;
	window->is_refused = false;
	list_remove(&window->wanting);
}

static void ask_for_all(struct throttle *throttle, struct link *list, mtime now)
{
	struct link *first;
	while (throttle->grants->request.count < REQUEST_KEYS_MAX && (first = list_first(list)))
		ask_for(throttle, CONTAINER_OF(first, struct member_window, wanting), now);
}

mtime grants_deadline(const struct throttle *throttle)
{
	const struct grants *grants = throttle->grants;
	mtime lease = lease_of(throttle);
	if (!grants->is_up)
		return MTIME_NEVER;
	if (grants->is_open)
		return grants->sent_at + grants->request.lease;
	if (!list_is_empty(&grants->urgent))
		return grants->sent_at + lease / ROUND_TRIPS;
	mtime regular = grants->sent_at + lease / 4 * 3;
	if (!list_is_empty(&grants->wanting) || grants->unused_count > 0)
		return regular;
	const struct grant *first = first_held(grants);
	mtime hears_at = grants->sent_at + ASK_EVERY;
	return first ? mtime_min(mtime_max(first->ends, regular), hears_at) : hears_at;
}

/* Answers that come too late say nothing; a longer lease lets them come in time. */
static void lose_request(struct throttle *throttle)
{
	struct grants *grants = throttle->grants;
	close_request(throttle);
	grants->lost = grants->request.number;
	grants->lost_sent_at = grants->sent_at;
	grants->facts.unanswered++;
	grants->round_trip = mtime_max(grants->round_trip, grants->request.lease);
}

static void fill_request(struct throttle *throttle, const struct shared_figures *figures, mtime now)
{
	struct grants *grants = throttle->grants;
	struct throttle_request *request = &grants->request;
	request->number++;
	request->lease = lease_of(throttle);
	request->figures = *figures;
	request->leader = grants->facts.leader;
	request->unused_count = grants->unused_count;
	memcpy(request->unused, grants->unused, grants->unused_count * sizeof *grants->unused);
	grants->unused_count = 0;
	request->count = 0;
	ask_for_all(throttle, &grants->urgent, now);
	ask_for_all(throttle, &grants->wanting, now);
}

const struct throttle_request *grants_request(
	struct throttle *throttle, const struct shared_figures *figures, bool even_empty, mtime now)
{
	struct grants *grants = throttle->grants;
	if (grants->is_open && now >= grants->sent_at + grants->request.lease)
		lose_request(throttle);
	if (!grants->is_up || grants->is_open || (!even_empty && now < grants_deadline(throttle)))
		return NULL;
	give_back_ended(grants, now);
	fill_request(throttle, figures, now);
	grants->sent_at = now;
	grants->is_open = true;
	return &grants->request;
}

bool grants_is_asking(const struct throttle *throttle)
{
	return throttle->grants->is_open;
}

mtime grants_sent_at(const struct throttle *throttle, uint64_t number)
{
	const struct grants *grants = throttle->grants;
	return grants->is_open && number == grants->request.number ? grants->sent_at : MTIME_NEVER;
}

/* ---------- answers ---------- */

static void measure(struct grants *grants, mtime now)
{
	mtime sample = mtime_min(now - grants->sent_at, LEASE_MAX);
	grants->round_trip = mtime_max(sample, (7 * grants->round_trip + sample) / 8);
}

static void move_grant(struct grant *to, struct grant *from)
{
	*to = *from;
	list_init(&to->held);
	if (from->left > 0)
		list_insert_before(&from->held, &to->held);
	list_remove(&from->held);
	from->left = 0;
}

static void take(struct throttle *throttle, const struct throttle_answer *answer,
	const struct granted *granted, struct member_window *window, mtime now)
{
	struct grants *grants = throttle->grants;
	if (granted->starts > 0) {
		give_back(grants, &window->former);
		move_grant(&window->former, &window->latest);
		struct grant *latest = &window->latest;
		latest->key = granted->key;
		latest->left = granted->starts;
		latest->ends = grants->sent_at + grants->request.lease;
		latest->stamp = answer->stamp;
		list_append(&grants->held, &latest->held);
	}
	window->free_at = granted->wait > 0 ? mtime_after(now, granted->wait) : 0;
	window->changes = throttle->changes;
	window->is_unsure = granted->is_unsure;
}

/* Its stamps mean nothing to another one, whose clock is another one, too. */
static void change_leader(struct grants *grants, uint64_t leader)
{
	struct link *link = grants->held.next;
	if (grants->facts.leader == leader)
		return;
	grants->facts.leader = leader;
	grants->unused_count = 0;
	for (; link != &grants->held; link = link->next)
		CONTAINER_OF(link, struct grant, held)->stamp = 0;
}

/* What waits for the key asks again. */
static void record_answer(struct grants *grants, uint64_t key)
{
	grants->answered[grants->answers++ % ANSWERS_KEPT] = key;
}

/* Its lease is over: the starts go back, and then they can be granted. */
static void take_late_answer(
	struct throttle *throttle, const struct throttle_answer *answer, mtime now)
{
	struct grants *grants = throttle->grants;
	grants->lost = 0;
	mtime took = mtime_min(now - grants->lost_sent_at, LEASE_MAX);
	grants->round_trip = mtime_max(grants->round_trip, took);
	if (grants->facts.leader == 0)
		grants->facts.leader = answer->leader;
	for (uint32_t i = 0; answer->leader == grants->facts.leader && i < answer->count; i++) {
		const struct granted *granted = &answer->keys[i];
		struct window *window = window_find(throttle, granted->key);
		give_back_starts(grants, granted->key, answer->stamp, granted->starts);
		record_answer(grants, granted->key);
		if (window)
			of(window)->free_at = 0;
	}
}

bool grants_answer(struct throttle *throttle, const struct throttle_answer *answer, mtime now)
{
	struct grants *grants = throttle->grants;
	if (answer->member != grants->request.member)
		return false;
	if (answer->number == grants->lost)
		take_late_answer(throttle, answer, now);
	if (grants_sent_at(throttle, answer->number) == MTIME_NEVER)
		return false;
	grants->is_open = false;
	measure(grants, now);
	change_leader(grants, answer->leader);
	grants->in_windows = answer->in_windows;
	grants->keys_known = answer->keys_known;
	grants->facts.heard_at = now;
	grants->facts.unanswered = 0;
	for (uint32_t i = 0; i < answer->count; i++) {
		const struct granted *granted = &answer->keys[i];
		struct window *window = window_find(throttle, granted->key);
		grants->facts.granted += granted->starts;
		record_answer(grants, granted->key);
		if (window)
			take(throttle, answer, granted, of(window), now);
		else
			give_back_starts(grants, granted->key, answer->stamp, granted->starts);
	}
	return true;
}

uint64_t grants_answers(const struct grants *grants)
{
	return grants->answers;
}

bool grants_answered_key(const struct grants *grants, uint64_t number, uint64_t *ret_key)
{
	if (grants->answers - number > ANSWERS_KEPT)
		return false;
	*ret_key = grants->answered[number % ANSWERS_KEPT];
	return true;
}

/* ---------- views ---------- */

bool grants_is_unsure(const struct grants *grants)
{
	return grants->is_unsure;
}

mtime grants_wait(const struct window *window, mtime now)
{
	const struct member_window *own = CONTAINER_OF(window, const struct member_window, window);
	return mtime_max(own->free_at - now, 0);
}

/* What others use of it is not known. */
uint64_t grants_supply(
	const struct throttle *throttle, const struct window *window, mtime now, mtime span)
{
	uint64_t limit = throttle->figures.limit;
	mtime left = window ? span - grants_wait(window, now) : span;
	return left <= 0 ? 0 : limit + limit * (uint64_t)(left / throttle->figures.period);
}

bool grants_in_windows(const struct grants *grants, uint64_t *ret)
{
	if (grants->in_windows == UINT64_MAX)
		return false;
	*ret = grants->in_windows;
	return true;
}

uint32_t grants_keys(const struct grants *grants)
{
	return grants->keys_known;
}

struct grants_facts grants_facts(const struct throttle *throttle)
{
	struct grants_facts facts = throttle->grants->facts;
	facts.is_up = throttle->grants->is_up;
	facts.lease = lease_of(throttle);
	facts.requests = throttle->grants->request.number;
	return facts;
}
