#include "worker/workers.h"

#include "os/proc_usage.h"
#include "os/proc_waited.h"
#include "worker/worker_internal.h"
#include <signal.h>
#include <stdlib.h>

/* Reading the memory of one process takes some microseconds. With a hundred reads a second at most,
 * ten thousand workers cost no more than a hundred. */
#define MEMORY_READS 100

/* A second look that is asked for within one belongs to the next tick. */
static void on_tick(struct ev_loop *loop, ev_timer *tick, int events)
{
	(void)loop;
	(void)events;
	struct workers *workers = tick->data;
	struct link batch, *link;
	list_init(&batch);
	while ((link = list_first(&workers->later))) {
		list_remove(link);
		list_append(&batch, link);
	}
	while ((link = list_first(&batch))) {
		list_remove(link);
		worker_look_again(CONTAINER_OF(link, struct worker, later));
	}
}

static void on_memory(struct ev_loop *loop, ev_timer *timer, int events)
{
	struct workers *workers = timer->data;
	uint32_t count = workers->slots.count;
	struct proc_usage usage;

	(void)loop;
	(void)events;
	for (uint32_t reads = 0; reads < count && reads < MEMORY_READS; reads++) {
		workers->memory_slot =
			workers->memory_slot + 1 < count ? workers->memory_slot + 1 : 0;
		struct worker *worker = worker_at(workers, workers->memory_slot);
		if (worker->process == PROCESS_LIVES && proc_usage_read(worker->pid, &usage))
			worker_report(worker, &(struct event){.kind = SLOT_MEMORY,
						      .slot = {.bytes = usage.memory_bytes}});
	}
}

static struct preload *new_preload(struct workers *workers)
{
	const struct launch launch = {.config = workers->config,
		.reaper = workers->reaper,
		.guard = workers->guard,
		.strays = workers->strays};
	return preload_new(workers->loop, &launch, &workers->gate);
}

struct workers *workers_new(struct ev_loop *loop, const struct workers_config *config,
	struct reaper *reaper, struct guard *guard, struct rundir *rundir, struct strays *strays)
{
	struct workers *workers = calloc(1, sizeof *workers);
	if (!workers)
		return NULL;
	/* Assigned one by one, because an initializer would write to the whole scratch. */
	workers->loop = loop;
	workers->config = config;
	workers->reaper = reaper;
	workers->guard = guard;
	workers->rundir = rundir;
	workers->strays = strays;
	list_init(&workers->unsent);
	list_init(&workers->later);
	ev_timer_init(&workers->tick, on_tick, 0, 0);
	ev_timer_init(&workers->memory, on_memory, 1., 1.);
	workers->tick.data = workers->memory.data = workers;
	log_gate_init(&workers->gate, loop, config->pool, &config->log_rate);
	stable_array_init(&workers->slots, sizeof(struct worker));
	workers->preload = new_preload(workers);
	if (!workers->preload || !workers_reserve(workers, config->workers)) {
		workers_free(workers);
		return NULL;
	}
	return workers;
}

bool workers_reserve(struct workers *workers, uint16_t slots)
{
	uint32_t before = workers->slots.count;
	if (stable_array_grow(&workers->slots, slots) != RC_OK)
		return false;
	for (uint32_t i = before; i < workers->slots.count; i++)
		worker_init(worker_at(workers, i), workers, (uint16_t)i);
	return true;
}

void workers_attach(struct workers *workers, struct pool *pool)
{
	workers->pool = pool;
}

void workers_watch_memory(struct workers *workers, bool is_on)
{
	if (is_on)
		ev_timer_again(workers->loop, &workers->memory);
	else
		ev_timer_stop(workers->loop, &workers->memory);
}

void workers_free(struct workers *workers)
{
	if (!workers)
		return;
	for (uint32_t i = 0; i < workers->slots.count; i++)
		worker_release(worker_at(workers, i));
	preload_free(workers->next_preload);
	preload_free(workers->preload);
	ev_timer_stop(workers->loop, &workers->tick);
	ev_timer_stop(workers->loop, &workers->memory);
	log_gate_release(&workers->gate);
	stable_array_release(&workers->slots);
	free(workers);
}

void workers_request(
	struct workers *workers, uint16_t slot, uint32_t life, enum slot_request request)
{
	struct worker *worker = worker_at(workers, slot);
	if (request == SLOT_SPAWN) {
		worker_start(worker, life);
		return;
	}
	if (worker->life != life)
		return;
	if (request == SLOT_QUIT)
		worker_quit(worker);
	else
		worker_signal(worker, request == SLOT_TERM ? SIGTERM : SIGKILL);
}

bool workers_ask(struct workers *workers, uint16_t slot, uint32_t life, enum task_request request,
	uint64_t task_id)
{
	struct worker *worker = worker_at(workers, slot);
	return worker->life != life || worker_ask(worker, request, task_id);
}

/* ---------- the preloaded processes of a restart ---------- */

static void log_preload(const struct workers *workers, const char *text)
{
	const struct log_origin origin = {.pool = workers->config->pool,
		.slot = -1,
		.pid = (int)preload_facts(workers->preload).pid};
	log_line(LOG_INFO, origin, "%s", text);
}

static void replace_preload(struct workers *workers)
{
	preload_free(workers->preload);
	workers->preload = workers->next_preload;
	workers->next_preload = NULL;
}

static bool may_keep_preload(const struct workers *workers)
{
	return workers->config->is_preloaded && preload_can_fork(workers->preload);
}

/* If the former one has ended, the one that came after it is the former one now. Without memory for
 * another one it is replaced at once. */
void workers_renew_preload(struct workers *workers)
{
	if (workers->next_preload && !may_keep_preload(workers))
		replace_preload(workers);
	if (!workers->next_preload && may_keep_preload(workers))
		workers->next_preload = new_preload(workers);
	preload_hold(workers->preload, workers->next_preload);
	preload_renew(workers->next_preload ? workers->next_preload : workers->preload);
}

void workers_settle_preload(struct workers *workers, bool are_all_new)
{
	if (!workers->next_preload)
		return;
	if (are_all_new) {
		log_preload(workers, "all workers are of the new preloaded process: ending the "
				     "former one");
		replace_preload(workers);
		return;
	}
	preload_free(workers->next_preload);
	workers->next_preload = NULL;
	preload_hold(workers->preload, false);
	log_preload(workers, preload_can_fork(workers->preload)
				     ? "the former preloaded process goes on forking workers"
				     : "the former preloaded process has ended, too: the next "
				       "worker comes from one that loads the present program");
}

unsigned workers_preloads(const struct workers *workers, struct preload_facts ret[WORKERS_PRELOADS])
{
	const struct preload *const both[] = {workers->preload, workers->next_preload};
	unsigned count = 0;
	for (int i = 0; i < WORKERS_PRELOADS; i++) {
		struct preload_facts none = {0};
		ret[count] = both[i] ? preload_facts(both[i]) : none;
		count += ret[count].pid != 0;
	}
	return count;
}

pid_t workers_pid(const struct workers *workers, uint16_t slot, uint32_t life)
{
	const struct worker *worker = worker_at(workers, slot);
	return worker->life == life ? worker->pid : 0;
}

mtime workers_waited(const struct workers *workers, uint16_t slot, uint32_t life)
{
	const struct worker *worker = worker_at(workers, slot);
	if (worker->life == life && worker->process == PROCESS_ASKED)
		return preload_waited(worker->request.preload);
	bool is_there = worker->life == life && worker->process == PROCESS_LIVES;
	return is_there ? proc_waited(worker->pid) : 0;
}

struct workers_lines workers_lines(const struct workers *workers)
{
	return (struct workers_lines){
		workers->gate.passed, workers->gate.passed_bytes, workers->gate.dropped};
}

void workers_flush(struct workers *workers)
{
	struct link *link;
	while ((link = list_first(&workers->unsent)))
		worker_write(CONTAINER_OF(link, struct worker, unsent));
}
