#include "unit/support/worker/workers_rig.h"

#include "base/rate.h"
#include "os/loop.h"
#include "os/rundir.h"
#include "process/descendants.h"
#include "process/guard.h"
#include "process/reaper.h"
#include "process/strays.h"
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void note_words(struct pool *pool, struct output *output)
{
	struct text words = output ? output->stderr_line : TEXT_NONE;
	ck_assert_uint_lt(words.len, sizeof pool->words);
	snprintf(pool->words, sizeof pool->words, "%.*s", TEXT_ARGS(words));
	snprintf(pool->detail, sizeof pool->detail, "%.*s",
		TEXT_ARGS(output ? output->detail : TEXT_NONE));
	output_free(output);
}

/* In place of the real one, whose archive member is not drawn in then. */
void pool_step(struct pool *pool, mtime now, const struct event *event)
{
	ck_assert_int_gt(now, 0);
	ck_assert_uint_lt(pool->count, CREWRIG_EVENTS);
	pool->events[pool->count] = *event;
	if (event->kind == SLOT_OUTPUT) {
		pool->status[pool->count] = event->slot.output->status;
		note_words(pool, event->slot.output);
	}
	if (event->kind == SLOT_GONE || event->kind == SLOT_BROKEN) {
		note_words(pool, event->slot.output);
	}
	pool->count++;
}

static void on_deadline(struct ev_loop *loop, ev_timer *timer, int events)
{
	(void)loop;
	(void)timer;
	(void)events;
	ck_abort_msg("nothing came for 20 s");
}

void workers_rig_open(
	struct workers_rig *rig, enum pipe_form form, const char *behaviour, uint16_t workers)
{
	workers_rig_open_as(rig, form, behaviour, workers, unit_own_path(), NULL);
}

void workers_rig_open_as(struct workers_rig *rig, enum pipe_form form, const char *behaviour,
	uint16_t workers, const char *program, const struct rights *rights)
{
	static const char *const forms[] = {
		[PIPE_PATH] = "path", [PIPE_FIFO] = "fifo", [PIPE_COREFX] = "corefx"};
	*rig = (struct workers_rig){
		.command = {(char *)program, (char *)forms[form], (char *)behaviour}};
	rig->config = (struct workers_config){.pool = "unit",
		.command = rig->command,
		.rights = rights,
		.workers = workers,
		.concurrency = 1,
		.pipe = form,
		.log_rate = {RATE_MAX, RATE_MAX},
		.task = {.frame_limit = 17 * 1024 * 1024, .queue = TEXT("queue")},
		.answer = {.header_bytes = 100000, .body_bytes = 16 * 1024 * 1024}};
	signal(SIGPIPE, SIG_IGN);
	rig->log = memfd_create("log", MFD_CLOEXEC);
	log_setup(rig->log, LOG_DEBUG, LOG_JSON, false);
	rig->loop = loop_default();
	rig->pool = calloc(1, sizeof *rig->pool);
	ck_assert_int_eq(rundir_new(workers_owner(&rig->config) != NULL, &rig->rundir), RC_OK);
	rig->descendants = descendants_new();
	ck_assert_ptr_nonnull(rig->descendants);
	/* Its own, because the guard kills all that has the mark: also workers of tests beside
	 * this. */
	ck_assert_int_eq(mark_draw_run(rig->run), RC_OK);
	ck_assert_int_eq(guard_start(&(struct guard_run){.directory = rundir_path(rig->rundir),
					     .mark = rig->run},
				 &rig->guard),
		RC_OK);
	rig->reaper = reaper_new(rig->loop);
	rig->strays = strays_new(rig->loop, rig->reaper, rig->run, NULL, rig->descendants);
	ck_assert_ptr_nonnull(rig->strays);
	rig->workers = workers_new(
		rig->loop, &rig->config, rig->reaper, rig->guard, rig->rundir, rig->strays);
	ck_assert_ptr_nonnull(rig->workers);
	workers_attach(rig->workers, rig->pool);
	ev_timer_init(&rig->deadline, on_deadline, 20, 0);
	ev_timer_start(rig->loop, &rig->deadline);
}

void workers_rig_close(struct workers_rig *rig)
{
	workers_free(rig->workers);
	ck_assert_int_eq(rmdir(rundir_path(rig->rundir)), 0);
	guard_stop(rig->guard);
	strays_free(rig->strays);
	descendants_free(rig->descendants);
	rundir_free(rig->rundir);
	reaper_free(rig->reaper);
	ev_timer_stop(rig->loop, &rig->deadline);
	ev_loop_destroy(rig->loop);
	free(rig->pool);
	close(rig->log);
}

void workers_rig_turn(struct workers_rig *rig)
{
	workers_flush(rig->workers);
	if (rig->pool->seen < rig->pool->count)
		return; /* the flush told something */
	ev_run(rig->loop, EVRUN_ONCE);
	ev_timer_stop(rig->loop, &rig->deadline);
	ev_timer_set(&rig->deadline, 20, 0);
	ev_timer_start(rig->loop, &rig->deadline);
}

size_t workers_rig_next(struct workers_rig *rig)
{
	while (rig->pool->seen == rig->pool->count)
		workers_rig_turn(rig);
	return rig->pool->seen++;
}

const struct event *workers_rig_expect(struct workers_rig *rig, enum event_kind kind)
{
	static const char *const names[] = {
#define X(kind) #kind,
		EVENT_KINDS(X)
#undef X
	};
	const struct event *event = &rig->pool->events[workers_rig_next(rig)];
	ck_assert_str_eq(names[event->kind], names[kind]);
	return event;
}

void workers_rig_expect_status(struct workers_rig *rig, int32_t status)
{
	const struct event *event = workers_rig_expect(rig, SLOT_OUTPUT);
	ck_assert_int_eq(rig->pool->status[event - rig->pool->events], status);
}

void workers_rig_expect_gone(struct workers_rig *rig, enum exit_kind kind, int32_t number)
{
	const struct event *event = workers_rig_expect(rig, SLOT_GONE);
	ck_assert_int_eq(event->slot.exit.kind, kind);
	ck_assert_int_eq(event->slot.exit.number, number);
}

struct delivery *workers_rig_delivery(size_t body_len)
{
	struct delivery *delivery = delivery_new(body_len);
	ck_assert_ptr_nonnull(delivery);
	memset(delivery->bytes, 'x', body_len);
	delivery->body = text_of(delivery->bytes, body_len);
	return delivery;
}

enum send_result workers_rig_send(struct workers_rig *rig, uint16_t slot, size_t body_len)
{
	struct delivery *delivery = workers_rig_delivery(body_len);
	enum send_result result = workers_send(rig->workers, slot, delivery, 1);
	delivery_free(delivery);
	return result;
}

const char *workers_rig_log(struct workers_rig *rig)
{
	static char text[1024 * 1024];
	ssize_t n = pread(rig->log, text, sizeof text - 1, 0);
	ck_assert_int_ge(n, 0);
	text[n] = '\0';
	return text;
}
