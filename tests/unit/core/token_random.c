/* Random runs of up to three supervisors and one queue with a token. Links carry commands and
 * events in order and with any delay; they are cut, and the two ends notice that at different
 * times. Supervisors are killed, stopped (then only the guard acts, by the lease), leave, and come
 * again, with another takeover_delay or prefetch, which also change while they run; the broker
 * stops taking publishes, and the queue is purged. What must hold: from the time at which a holder
 * may run what was redelivered, no former holder may run anything. At the end one supervisor is
 * active, and one message is in the queue. WPOOL_SEED=17 runs one seed, with a trace.
 */
#include "core/token.h"

#include "unit/unit.h"

#include <stdio.h>

#define SEEDS       1000
#define EVENTS      8000
#define ROUNDS      2000 /* at the end, more than the longest delay */
#define SUPERVISORS 3
#define MESSAGES    512
#define PIPE        256
#define DELAY       (30 * MTIME_SECOND) /* the shortest */
#define GUARD_LATE  (DELAY / 2 - 1)     /* after the end of a lease, workers may run for so long */

/* ---------- the queue ---------- */

struct message {
	uint64_t id; /* the order of the queue; 0: the place is free */
	char holder[16];
	struct token_content content;
	int owner; /* the link that has it unacked; -1: it waits */
};

/* One of the two connections of a supervisor, or what is left of it. Numbers of links are not used
 * twice. */
enum link_use { CONSUMES, PUBLISHES };

enum item_kind { CONSUME, PUBLISH, ACK, REQUEUE, DELIVER, CONFIRM, CONSUMING };

struct item {
	enum item_kind kind;
	uint64_t tag; /* the message's id: tags differ between deliveries, which no rule needs */
	uint64_t number;
	struct message message;
};

struct pipe {
	struct item items[PIPE];
	unsigned first, end;
};

struct link {
	bool is_up_here, is_up_there;
	int number; /* of this life, from 1; 0: never up */
	struct pipe to_broker, from_broker;
	uint64_t delivered[2]; /* what the broker has given out here; 0: a free place */
};

struct supervisor {
	struct token *token; /* NULL: it does not run */
	char name[16];
	bool is_stopped;
	struct link links[2];
	uint64_t published; /* the number of the latest publish on its link */
	/* The former ends are made by the lease: a killed one has none. */
	mtime lease, may_rerun_at;
	unsigned held_as; /* the number of its takeover */
	uint32_t asked;   /* the window that it named last */
	uint32_t window;  /* its prefetch */
	bool holds;
};

static struct world {
	struct supervisor supervisors[SUPERVISORS];
	struct message messages[MESSAGES];
	unsigned count; /* places in use */
	uint64_t next_id;
	int active[64]; /* consumers in the order of their consume: index of the supervisor */
	int active_number[64];
	unsigned consumers;
	bool is_alarm;
	mtime now;
	unsigned seed, names, links, helds, orderly, lost, named, delays;
	uint32_t coming; /* the largest window of which messages may come back */
	uint64_t random;
	bool is_traced;
} world;

static unsigned draw(unsigned below)
{
	world.random = world.random * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(world.random >> 33) % below;
}

#define TRACE(...)                                                                                 \
	do {                                                                                       \
		if (world.is_traced) {                                                             \
			printf("%9.3f ", (double)world.now / MTIME_SECOND);                        \
			printf(__VA_ARGS__);                                                       \
			putchar('\n');                                                             \
		}                                                                                  \
	} while (0)

#define CHECK(condition)                                                                           \
	ck_assert_msg(condition, "%s; replay: WPOOL_SEED=%u build/tests/unit/core/token_random",   \
		#condition, world.seed)

static unsigned index_of(const struct supervisor *one)
{
	return (unsigned)(one - world.supervisors);
}

static struct item *append_item(struct pipe *pipe, enum item_kind kind)
{
	struct item *item = &pipe->items[pipe->end++ % PIPE];

	CHECK(pipe->end - pipe->first < PIPE);
	*item = (struct item){.kind = kind};
	return item;
}

/* Only the latest consumer entry of a link counts: a new one has a new number. */
static struct supervisor *active_one(void)
{
	return world.consumers > 0 ? &world.supervisors[world.active[0]] : NULL;
}

static struct message *first_waiting(void)
{
	struct message *first = NULL;

	for (unsigned i = 0; i < world.count; i++) {
		struct message *one = &world.messages[i];
		if (one->id && one->owner < 0 && (!first || one->id < first->id))
			first = one;
	}
	return first;
}

/* A message that returns keeps its place in the order: it goes to the front. */
static void serve(void)
{
	struct supervisor *one = active_one();
	struct link *link;
	struct message *message;

	if (!one)
		return;
	link = &one->links[CONSUMES];
	for (unsigned i = 0; i < 2; i++) {
		if (link->delivered[i] || !(message = first_waiting()))
			continue;
		link->delivered[i] = message->id;
		message->owner = link->number;
		struct item *item = append_item(&link->from_broker, DELIVER);
		item->tag = message->id;
		item->message = *message;
	}
}

static void enqueue(const struct message *message)
{
	unsigned place = 0;

	while (place < world.count && world.messages[place].id)
		place++;
	CHECK(place < MESSAGES);
	if (place == world.count)
		world.count++;
	world.messages[place] = *message;
	world.messages[place].id = ++world.next_id;
	world.messages[place].owner = -1;
}

static struct message *find(uint64_t id)
{
	for (unsigned i = 0; i < world.count; i++)
		if (world.messages[i].id == id)
			return &world.messages[i];
	return NULL;
}

static bool take_delivered(struct link *link, uint64_t id)
{
	for (unsigned i = 0; i < 2; i++) {
		if (link->delivered[i] == id && id > 0) {
			link->delivered[i] = 0;
			return true;
		}
	}
	return false;
}

/* The broker sees the end of a link: what is unacked on it comes back. */
static void end_there(struct supervisor *one, enum link_use use)
{
	struct link *link = &one->links[use];

	if (!link->is_up_there)
		return;
	link->is_up_there = false;
	link->to_broker.first = link->to_broker.end;
	if (use == PUBLISHES)
		return;
	TRACE("broker: %s's link %d is gone", one->name, link->number);
	for (unsigned i = 0; i < 2; i++) {
		struct message *message = find(link->delivered[i]);
		if (link->delivered[i] && message)
			message->owner = -1;
		link->delivered[i] = 0;
	}
	for (unsigned i = 0; i < world.consumers; i++) {
		if (world.active_number[i] != link->number)
			continue;
		world.consumers--;
		for (unsigned k = i; k < world.consumers; k++) {
			world.active[k] = world.active[k + 1];
			world.active_number[k] = world.active_number[k + 1];
		}
		break;
	}
	serve();
}

static void broker_takes(struct supervisor *one, enum link_use use)
{
	struct link *link = &one->links[use];
	struct pipe *pipe = &link->to_broker;
	struct item item;

	if (pipe->first == pipe->end || !link->is_up_there)
		return;
	item = pipe->items[pipe->first++ % PIPE];
	if (item.kind == CONSUME) {
		world.active[world.consumers] = (int)index_of(one);
		world.active_number[world.consumers++] = link->number;
		append_item(&link->from_broker, CONSUMING);
	} else if (item.kind == PUBLISH) {
		enqueue(&item.message);
		append_item(&link->from_broker, CONFIRM)->number = item.number;
	} else if (take_delivered(link, item.tag)) {
		struct message *message = find(item.tag);
		CHECK(message);
		if (item.kind == ACK)
			message->id = 0;
		else
			message->owner = -1;
	}
	serve();
}

/* ---------- supervisors ---------- */

static void on_publish(void *io, const struct token_content *content)
{
	struct supervisor *one = io;
	struct item *item = append_item(&one->links[PUBLISHES].to_broker, PUBLISH);

	TRACE("%s: publishes %u.%u window %u%s", one->name, (unsigned)content->epoch,
		(unsigned)content->counter, content->window, content->is_orderly ? " orderly" : "");
	item->number = ++one->published;
	item->message.content = *content;
	snprintf(item->message.holder, sizeof item->message.holder, "%.*s",
		TEXT_ARGS(content->holder));
}

static void on_ack(void *io, uint64_t tag)
{
	struct supervisor *one = io;

	append_item(&one->links[CONSUMES].to_broker, ACK)->tag = tag;
}

static void on_requeue(void *io, uint64_t tag)
{
	struct supervisor *one = io;

	TRACE("%s: requeues", one->name);
	append_item(&one->links[CONSUMES].to_broker, REQUEUE)->tag = tag;
}

static void on_held(void *io, const struct token_grant *grant)
{
	struct supervisor *one = io;

	TRACE("%s: HELD%s window %u of %u", one->name, grant->is_orderly ? " orderly" : "",
		grant->window, world.coming);
	CHECK(!one->holds && (grant->is_orderly || grant->delay >= DELAY));
	one->holds = true;
	one->held_as = ++world.helds;
	CHECK(grant->window >= world.coming);
	one->asked = world.coming = grant->window;
	one->may_rerun_at = world.now + grant->delay;

	world.orderly += grant->is_orderly;
}

static void on_lost(void *io)
{
	struct supervisor *one = io;

	TRACE("%s: LOST", one->name);
	CHECK(one->holds);
	one->holds = false;
	world.lost++;
}

static void on_handed_over(void *io)
{
	(void)io;
}

static void on_window_named(void *io, uint32_t window)
{
	struct supervisor *one = io;

	CHECK(one->holds && window == one->asked);
	if (window > world.coming)
		world.coming = window;
	world.named++;
}

static void on_lease(void *io, mtime until)
{
	struct supervisor *one = io;

	one->lease = until;
}

static const struct token_effects effects = {on_publish, on_ack, on_requeue, on_held, on_lost,
	on_handed_over, on_window_named, on_lease};

static mtime draw_delay(void)
{
	return DELAY << draw(3);
}

static void start(struct supervisor *one)
{
	struct token_config config = {.window = 1 + draw(4), .delay = draw_delay()};

	one->window = config.window;
	snprintf(one->name, sizeof one->name, "s%u", ++world.names);
	config.holder = text_from(one->name);
	one->token = token_new(&config, &effects, one);
	CHECK(one->token);
	one->is_stopped = one->holds = false;
	one->lease = 0;
}

static void end_here(struct supervisor *one, enum link_use use)
{
	struct link *link = &one->links[use];

	if (!link->is_up_here)
		return;
	link->is_up_here = false;
	link->from_broker.first = link->from_broker.end;
	if (one->token && use == CONSUMES)
		token_down(one->token);
	else if (one->token)
		token_publisher_down(one->token);
}

/* The guard kills its workers at once; the broker notices later. */
static void kill_one(struct supervisor *one)
{
	TRACE("%s: killed", one->name);
	token_free(one->token);
	one->token = NULL;
	one->lease = 0;
	one->holds = false;
	for (unsigned use = 0; use < 2; use++)
		end_here(one, use);
}

static void connect(struct supervisor *one, enum link_use use)
{
	struct link *link = &one->links[use];

	if (!one->token || link->is_up_here || link->is_up_there || one->is_stopped)
		return;
	link->is_up_here = link->is_up_there = true;
	link->number = (int)++world.links;
	link->to_broker.first = link->to_broker.end = 0;
	link->from_broker.first = link->from_broker.end = 0;
	if (use == CONSUMES) {
		append_item(&link->to_broker, CONSUME);
		return;
	}
	one->published = 0;
	token_publisher_up(one->token, world.now);
}

static void supervisor_takes(struct supervisor *one, enum link_use use)
{
	struct link *link = &one->links[use];
	struct pipe *pipe = &link->from_broker;
	struct item item;

	if (pipe->first == pipe->end || !one->token || one->is_stopped || !link->is_up_here)
		return;
	item = pipe->items[pipe->first++ % PIPE];
	if (item.kind == CONSUMING) {
		token_up(one->token, world.now);
	} else if (item.kind == CONFIRM && item.number == one->published) {
		token_confirmed(one->token, world.now);
	} else if (item.kind == DELIVER) {
		item.message.content.holder = text_from(item.message.holder);
		token_offer(one->token, item.tag, &item.message.content, world.now);
	}
}

static void tick(struct supervisor *one)
{
	if (!one->token || one->is_stopped)
		return;
	token_tick(one->token, world.now);
	if (token_facts(one->token).state == TOKEN_LEFT) {
		TRACE("%s: has left", one->name);
		kill_one(one);
	}
}

/* ---------- what must hold ---------- */

static bool runs(const struct supervisor *one)
{
	return one->lease > world.now;
}

/* The guard may be late. */
static bool may_run(const struct supervisor *one)
{
	return one->lease > 0 && one->lease + GUARD_LATE > world.now;
}

static void check_holders(void)
{
	for (unsigned i = 0; i < SUPERVISORS; i++) {
		const struct supervisor *later = &world.supervisors[i];
		if (!runs(later) || world.now < later->may_rerun_at)
			continue;
		for (unsigned k = 0; k < SUPERVISORS; k++) {
			const struct supervisor *former = &world.supervisors[k];
			CHECK(k == i || !may_run(former) || former->held_as > later->held_as);
		}
	}
}

static unsigned holders(void)
{
	unsigned count = 0;

	for (unsigned i = 0; i < SUPERVISORS; i++)
		count += world.supervisors[i].token && world.supervisors[i].holds;
	return count;
}

static unsigned queued(void)
{
	unsigned count = 0;

	for (unsigned i = 0; i < world.count; i++)
		count += world.messages[i].id > 0;
	return count;
}

/* ---------- runs ---------- */

static void move_bytes(struct supervisor *one)
{
	enum link_use use = draw(2);

	if (draw(2))
		supervisor_takes(one, use);
	else if (use == CONSUMES || !world.is_alarm)
		broker_takes(one, use);
}

/* While no message is unacked a purge would take the last token, and nothing would replace it. */
static void purge(void)
{
	bool is_held = false;

	for (unsigned i = 0; i < world.count; i++)
		is_held = is_held || (world.messages[i].id && world.messages[i].owner >= 0);
	for (unsigned i = 0; is_held && holders() == 1 && i < world.count; i++)
		if (world.messages[i].id && world.messages[i].owner < 0) {
			world.messages[i].id = 0;
			world.coming = 0; /* with the token its window is lost */
		}
}

/* Another prefetch: a larger one is named before it is used, a smaller one after nothing of the
 * former may come back, which only the consumer that is active can know. */
static void change_window(struct supervisor *one)
{
	uint32_t window = 1 + draw(8);

	if (!one->token || one->is_stopped || !one->holds || one->held_as != world.helds)
		return;
	if (window < world.coming)
		world.coming = window;
	one->asked = window;
	TRACE("%s: names window %u", one->name, window);
	token_name_window(one->token, window, world.now);
}

static void change_delay(struct supervisor *one)
{
	mtime delay = draw_delay();

	if (!one->token || one->is_stopped)
		return;
	TRACE("%s: takeover_delay %u s", one->name, (unsigned)(delay / MTIME_SECOND));
	token_configure(one->token, one->window, delay, world.now);
	world.delays += one->holds;
}

static void do_fault(struct supervisor *one)
{
	enum link_use use = draw(2);

	switch (draw(12)) {
	case 0:
		if (one->token)
			kill_one(one);
		break;
	case 1:
		if (one->token && !one->is_stopped)
			token_leave(one->token, world.now);
		break;
	case 2:
		one->is_stopped = one->token && !one->is_stopped;
		TRACE("%s: %s", one->name, one->is_stopped ? "stopped" : "continues");
		break;
	case 3:
		world.is_alarm = !world.is_alarm;
		TRACE("alarm: %d", world.is_alarm);
		break;
	case 4:
		purge();
		break;
	case 5:
	case 6:
	case 7:
		end_there(one, use);
		break;
	default:
		if (!one->is_stopped) {
			TRACE("%s: its link %u is cut", one->name, use);
			end_here(one, use);
		}
		break;
	}
}

/* A cut is noticed by the other end, too; who is down connects, or starts again. */
static void do_repair(struct supervisor *one)
{
	for (unsigned use = 0; use < 2; use++) {
		struct link *link = &one->links[use];
		if (link->is_up_here && !link->is_up_there && !one->is_stopped)
			end_here(one, use);
		else if (!link->is_up_here && link->is_up_there)
			end_there(one, use);
		connect(one, use);
	}
	if (!one->token && !one->links[0].is_up_there && !one->links[1].is_up_there)
		start(one);
}

static void do_event(void)
{
	struct supervisor *one = &world.supervisors[draw(SUPERVISORS)];
	unsigned what = draw(1000);

	if (what < 12)
		do_fault(one);
	else if (what < 60)
		do_repair(one);
	else if (what < 160)
		world.now += draw(2) ? draw(3000000) : draw(20000);
	else if (what < 170)
		change_window(one);
	else if (what < 175)
		change_delay(one);
	else if (what < 400)
		tick(one);
	else
		move_bytes(one);
	check_holders();
}

static void settle_down(void)
{
	world.is_alarm = false;
	for (unsigned round = 0; round < ROUNDS; round++) {
		for (unsigned i = 0; i < SUPERVISORS; i++) {
			struct supervisor *one = &world.supervisors[i];
			one->is_stopped = false;
			do_repair(one);
			for (unsigned k = 0; k < 8; k++) {
				broker_takes(one, CONSUMES);
				broker_takes(one, PUBLISHES);
				supervisor_takes(one, CONSUMES);
				supervisor_takes(one, PUBLISHES);
			}
			tick(one);
		}
		check_holders();
		world.now += 100 * MTIME_MS;
	}
}

static void run_seed(unsigned seed)
{
	bool is_traced = world.is_traced;

	world = (struct world){.seed = seed, .random = seed, .is_traced = is_traced};
	draw(2);
	for (unsigned i = 0, count = 1 + draw(SUPERVISORS); i < count; i++)
		start(&world.supervisors[i]);
	for (unsigned i = 0; i < EVENTS; i++)
		do_event();
	settle_down();
	CHECK(holders() == 1);
	CHECK(queued() <= 2); /* one, or also the next one, which is on its way */
	for (unsigned i = 0; i < SUPERVISORS; i++)
		token_free(world.supervisors[i].token);
}

START_TEST(no_two_supervisors_run_the_same)
{
	const char *one = getenv("WPOOL_SEED"), *more = getenv("WPOOL_SEEDS");
	unsigned helds = 0, orderly = 0, lost = 0, named = 0, delays = 0;
	unsigned seeds = more ? (unsigned)atoi(more) : SEEDS;

	world.is_traced = one;
	for (unsigned seed = 1; seed <= seeds && !one; seed++) {
		run_seed(seed);
		helds += world.helds, orderly += world.orderly, lost += world.lost,
			named += world.named, delays += world.delays;
	}
	if (one) {
		run_seed((unsigned)atoi(one));
		return;
	}
	/* The runs reach what they are for. */
	printf("%u takeovers, %u orderly, %u losses, %u windows, %u delays\n", helds, orderly, lost,
		named, delays);
	ck_assert_uint_gt(named, seeds);
	ck_assert_uint_gt(delays, seeds);
	ck_assert_uint_gt(helds, 4 * seeds);
	ck_assert_uint_gt(orderly, seeds);
	ck_assert_uint_gt(lost, seeds);
}
END_TEST

static Suite *token_random_suite(void)
{
	Suite *suite = suite_create("token_random");
	TCase *tcase = tcase_create("runs");

	tcase_set_timeout(tcase, 120);
	tcase_add_test(tcase, no_two_supervisors_run_the_same);
	suite_add_tcase(suite, tcase);
	return suite;
}

UNIT_MAIN(token_random_suite)
