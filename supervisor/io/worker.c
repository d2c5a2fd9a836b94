#include "io/worker.h"

#include "io/clock.h"
#include "io/descriptors.h"
#include "io/guard.h"
#include "io/reaper.h"
#include "io/spawn.h"
#include "wire/frame.h"
#include <assert.h>
#include <errno.h>
#include <signal.h>

/* How soon what could not be done now is looked at again. */
#define LATER_SECONDS 0.01

void worker_later(struct worker *worker)
{
	struct workshop *shop = worker->shop;
	list_remove(&worker->later);
	list_append(&shop->later, &worker->later);
	if (ev_is_active(&shop->tick))
		return;
	ev_timer_set(&shop->tick, LATER_SECONDS, 0);
	ev_timer_start(shop->loop, &shop->tick);
}

void worker_tell_event(struct worker *worker, struct event *event)
{
	event->slot.slot = worker->slot;
	event->slot.life = worker->life;
	pool_step(worker->shop->pool, clock_now(), event);
}

void worker_tell(struct worker *worker, enum event_kind kind)
{
	struct event event = {.kind = kind};
	worker_tell_event(worker, &event);
}

struct log_origin worker_origin(const struct worker *worker)
{
	return (struct log_origin){
		.pool = worker->shop->config->pool, .slot = worker->slot, .pid = (int)worker->pid};
}

/* ---------- life ---------- */

/* Empty, and holding nothing. */
static void reset(struct worker *worker)
{
	worker->process = PROCESS_NONE;
	worker->input = INPUT_WAITING;
	worker->sending = SENDING_OPEN;
	worker->is_full = worker->has_complained = false;
	worker->exit = (struct exit_info){.kind = EXIT_NONE};
	worker->left = SIZE_MAX;
	worker->open = 0;
	worker->is_behind = worker->has_begun = false;
	worker->control = worker->start = -1;
	worker->logs[0].fd = worker->logs[1].fd = -1;
}

void worker_init(struct worker *worker, struct workshop *shop, uint16_t slot)
{
	size_t frame = shop->config->task.frame_limit + WIRE_LENGTH_BYTES;
	*worker = (struct worker){.shop = shop, .slot = slot};
	list_init(&worker->unsent);
	list_init(&worker->later);
	/* A frame of any size is taken while the pipe is below its high mark. */
	outgoing_init(&worker->output, OUTPUT_HIGH + frame);
	buf_init(&worker->begun, frame + WORKER_READ);
	worker_pipe_init(&worker->pipe, shop->config->pipe, shop->rundir, crew_owner(shop->config));
	/* An answer asks them, whether they were opened or not. */
	worker->logs[STREAM_OUTPUT].worker = worker->logs[STREAM_ERROR].worker = worker;
	reset(worker);
}

/* Gives back all that this life held; its process is no more. */
static void clear(struct worker *worker)
{
	struct ev_loop *loop = worker->shop->loop;
	strays_end(worker->shop->strays, &worker->kin);
	worker_stop_reading(worker);
	worker_drop_output(worker);
	ev_io_stop(loop, &worker->started);
	list_remove(&worker->later);
	for (int stream = 0; stream < STREAM_COUNT; stream++) {
		worker_log_close(&worker->logs[stream]);
		worker_log_forget(&worker->logs[stream]);
	}
	worker_pipe_close(&worker->pipe);
	descriptor_close(&worker->control);
	descriptor_close(&worker->start);
	reset(worker);
}

void worker_release(struct worker *worker)
{
	if (worker->process == PROCESS_LIVES) {
		worker_signal(worker, SIGKILL);
		reaper_forget(worker->shop->reaper, worker->pid);
		guard_remove(worker->shop->guard, worker->pid);
	}
	clear(worker);
}

void worker_start(struct worker *worker, uint32_t life)
{
	assert(worker->process == PROCESS_NONE);
	worker->life = life;
	worker->pid = 0;
	if (worker_launch(worker)) {
		worker->process = PROCESS_LIVES;
		return;
	}
	worker->process = PROCESS_FAILED;
	worker_later(worker);
}

void worker_quit(struct worker *worker)
{
	if (worker->process != PROCESS_LIVES || worker->sending == SENDING_SHUT)
		return;
	worker_write_control(worker, "__quit__");
	worker->sending = SENDING_SHUT;
	worker_drop_output(worker);
	worker_pipe_shut(&worker->pipe);
	if (worker->input == INPUT_ENDED)
		worker_stop_reading(worker);
}

void worker_interrupt(struct worker *worker)
{
	if (worker->process == PROCESS_LIVES && worker->sending == SENDING_OPEN)
		worker_write_control(worker, "__context_switch__");
}

void worker_signal(struct worker *worker, int number)
{
	if (worker->process != PROCESS_LIVES)
		return;
	/* A child that was only just forked leads no group yet. */
	if (kill(-worker->pid, number) < 0 && errno == ESRCH)
		kill(worker->pid, number);
}

/* ---------- the end ---------- */

/* The line that it wrote last to stderr, for those who look for the cause. NULL: none since its
 * task began, or no memory for it. */
static struct output *last_words(const struct worker *worker)
{
	const struct worker_log *log = &worker->logs[STREAM_ERROR];
	struct text line = worker_log_words(log, worker->is_behind, worker->exit_turn);
	struct output *words = line.len > 0 ? output_new(0) : NULL;
	return words ? output_add_words(words, line) : NULL;
}

static void bury(struct worker *worker)
{
	struct event event = {
		.kind = SLOT_GONE, .slot = {.exit = worker->exit, .output = last_words(worker)}};
	clear(worker); /* first: the pool may start the next life from within */
	worker_tell_event(worker, &event);
}

void worker_bury_if_over(struct worker *worker)
{
	if (worker->process != PROCESS_EXITED)
		return;
	/* An inactive watcher: memory was short, and whole frames may wait. */
	if (worker->left == 0 && ev_is_active(&worker->readable))
		worker_stop_reading(worker);
	if (worker->input == INPUT_DONE && worker_log_is_over(&worker->logs[0]) &&
		worker_log_is_over(&worker->logs[1]))
		bury(worker);
}

/* What it left in its pipe is read: as much as is there now, because a grandchild may hold the
 * other end open and write for ever. */
static void read_last(struct worker *worker)
{
	worker_drop_output(worker);
	if (worker->input == INPUT_OPEN) {
		worker->left = descriptor_waiting(worker->pipe.input);
		if (ev_is_active(&worker->readable))
			worker_read(worker);
	} else {
		worker_stop_reading(worker);
	}
	worker_log_last(&worker->logs[0]);
	worker_log_last(&worker->logs[1]);
}

static void note_exit(struct worker *worker, struct exit_info exit)
{
	struct exit_info failure;
	if (worker->start >= 0 && spawn_outcome(worker->start, &failure) == SPAWN_FAILED)
		worker->exit = failure;
	if (worker->exit.kind == EXIT_NONE)
		worker->exit = exit;
}

void worker_on_exit(void *ctx, pid_t pid, struct exit_info exit)
{
	struct worker *worker = ctx;
	/* At once, while nobody else can have got the number: what is left of its group. */
	kill(-pid, SIGKILL);
	guard_remove(worker->shop->guard, pid);
	strays_end(worker->shop->strays, &worker->kin);
	worker->process = PROCESS_EXITED;
	worker->exit_turn = ev_iteration(worker->shop->loop);
	note_exit(worker, exit);
	read_last(worker);
	worker_bury_if_over(worker);
}

/* ---------- second looks ---------- */

static void look_at_input(struct worker *worker)
{
	if (!ev_is_active(&worker->readable))
		worker_read_on(worker);
	else if (worker->sending == SENDING_LOST)
		worker_read(worker);
	if (worker->input == INPUT_OPEN && worker->sending == SENDING_LOST)
		worker_later(worker); /* until it is read to its end */
}

void worker_look_again(struct worker *worker)
{
	if (worker->process == PROCESS_FAILED) {
		bury(worker);
		return;
	}
	switch (worker->input) {
	case INPUT_WAITING:
		worker_meet(worker);
		break;
	case INPUT_OPEN:
		look_at_input(worker);
		break;
	case INPUT_ENDED:
		worker_close_overdue(worker);
		break;
	case INPUT_DONE:
		break;
	}
	worker_bury_if_over(worker);
}
