#include "io/crew_memory.h"

#include "io/usage.h"
#include "io/worker.h"

#define LOOKS_AT_ONCE 100

static void look_at(struct worker *worker)
{
	struct event event = {.kind = SLOT_MEMORY};
	struct usage usage;

	if (worker->process != PROCESS_LIVES || !usage_read(worker->pid, &usage))
		return;
	event.slot.bytes = usage.memory_bytes;
	worker_tell_event(worker, &event);
}

static void on_timer(struct ev_loop *loop, ev_timer *timer, int events)
{
	struct crew_memory *memory = timer->data;
	uint32_t count = memory->workers->count;

	(void)loop;
	(void)events;
	for (uint32_t looks = 0; looks < count && looks < LOOKS_AT_ONCE; looks++) {
		memory->next = memory->next + 1 < count ? memory->next + 1 : 0;
		look_at(memory->workers->at[memory->next]);
	}
}

void crew_memory_init(struct crew_memory *memory, struct ev_loop *loop, const struct shelf *workers)
{
	*memory = (struct crew_memory){.loop = loop, .workers = workers};
	ev_timer_init(&memory->timer, on_timer, 1., 1.);
	memory->timer.data = memory;
}

void crew_memory_watch(struct crew_memory *memory, bool is_on)
{
	if (is_on)
		ev_timer_again(memory->loop, &memory->timer);
	else
		ev_timer_stop(memory->loop, &memory->timer);
}
