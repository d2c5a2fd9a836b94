#include "io/crew.h"

#include "base/shelf.h"
#include "io/crew_memory.h"
#include "io/worker.h"
#include <assert.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

struct crew {
	struct workshop shop;
	struct shelf workers; /* of struct worker */
	struct crew_memory memory;
};

static struct worker *worker_of(const struct crew *crew, uint32_t slot)
{
	assert(slot < crew->workers.count);
	return crew->workers.at[slot];
}

/* What looks again may ask for another look: that is the next tick's. */
static void on_tick(struct ev_loop *loop, ev_timer *tick, int events)
{
	(void)loop;
	(void)events;
	struct workshop *shop = tick->data;
	struct link batch, *link;
	list_init(&batch);
	while ((link = list_first(&shop->later))) {
		list_remove(link);
		list_append(&batch, link);
	}
	while ((link = list_first(&batch))) {
		list_remove(link);
		worker_look_again(CONTAINER_OF(link, struct worker, later));
	}
}

struct crew *crew_new(struct ev_loop *loop, const struct crew_config *config, struct reaper *reaper,
	struct guard *guard, struct rundir *rundir, struct strays *strays)
{
	struct crew *crew = calloc(1, sizeof *crew);
	if (!crew)
		return NULL;
	struct workshop *shop = &crew->shop;
	*shop = (struct workshop){.loop = loop,
		.config = config,
		.reaper = reaper,
		.guard = guard,
		.rundir = rundir,
		.strays = strays};
	list_init(&shop->unsent);
	list_init(&shop->later);
	ev_timer_init(&shop->tick, on_tick, 0, 0);
	shop->tick.data = shop;
	log_gate_init(&shop->gate, loop, config->pool, &config->log_rate);
	shelf_init(&crew->workers, sizeof(struct worker));
	crew_memory_init(&crew->memory, loop, &crew->workers);
	if (!crew_room(crew, config->workers)) {
		crew_free(crew);
		return NULL;
	}
	return crew;
}

bool crew_room(struct crew *crew, uint16_t slots)
{
	uint32_t before = crew->workers.count;
	if (shelf_grow(&crew->workers, slots) != RC_OK)
		return false;
	for (uint32_t i = before; i < crew->workers.count; i++)
		worker_init(worker_of(crew, i), &crew->shop, (uint16_t)i);
	return true;
}

void crew_attach(struct crew *crew, struct pool *pool)
{
	crew->shop.pool = pool;
}

void crew_watch_memory(struct crew *crew, bool is_on)
{
	crew_memory_watch(&crew->memory, is_on);
}

void crew_free(struct crew *crew)
{
	if (!crew)
		return;
	for (uint32_t i = 0; i < crew->workers.count; i++)
		worker_release(worker_of(crew, i));
	ev_timer_stop(crew->shop.loop, &crew->shop.tick);
	log_gate_release(&crew->shop.gate);
	crew_memory_watch(&crew->memory, false);
	shelf_release(&crew->workers);
	free(crew);
}

enum send_result crew_send(
	struct crew *crew, uint16_t slot, struct delivery *delivery, uint16_t attempt)
{
	return worker_send(worker_of(crew, slot), delivery, attempt);
}

void crew_wish(struct crew *crew, uint16_t slot, uint32_t life, enum slot_wish wish)
{
	struct worker *worker = worker_of(crew, slot);
	if (wish == SLOT_SPAWN) {
		worker_start(worker, life);
		return;
	}
	if (worker->life != life)
		return;
	if (wish == SLOT_QUIT)
		worker_quit(worker);
	else if (wish == SLOT_INTERRUPT)
		worker_interrupt(worker);
	else
		worker_signal(worker, wish == SLOT_TERM ? SIGTERM : SIGKILL);
}

struct log_origin crew_origin(const struct crew *crew, uint16_t slot, uint32_t life)
{
	const struct worker *worker = worker_of(crew, slot);
	struct log_origin origin = worker_origin(worker);
	if (worker->life != life)
		origin.pid = 0;
	return origin;
}

struct crew_lines crew_lines(const struct crew *crew)
{
	return (struct crew_lines){crew->shop.gate.passed, crew->shop.gate.dropped};
}

void crew_flush(struct crew *crew)
{
	struct link *link;
	while ((link = list_first(&crew->shop.unsent)))
		worker_write(CONTAINER_OF(link, struct worker, unsent));
}
