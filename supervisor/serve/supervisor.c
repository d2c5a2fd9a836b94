/* One thread, one loop (run_loop). libev calls the handlers of the other layers: broker bytes,
 * worker frames, exits, timers. This file has those of signals and of the stop. */
#include "serve/supervisor.h"

#include "base/processors.h"
#include "control/api_publisher.h"
#include "control/control.h"
#include "core/workers/starts.h"
#include "os/clock.h"
#include "os/loop.h"
#include "os/pulse.h"
#include "os/source_watch.h"
#include "runtime/reload.h"
#include "runtime/runtime_shared.h"
#include "runtime/throttles/throttle_link.h"
#include "serve/signals.h"
#include "serve/systemd.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

/* Also after an upgrade has replaced the file. */
#define OWN_PROGRAM "/proc/self/exe"
/* Far longer than a killed worker takes to exit or a healthy broker to answer. */
#define FORCE_LIMIT (3 * MTIME_SECOND)

struct supervisor {
	struct config *config;       /* borrowed; its pools are in the pool set */
	struct runtime_shared tools; /* members are owned, except the loop and starts */
	struct processors processors;
	struct starts starts;  /* of workers, in all pools */
	uint64_t last_task_id; /* in all pools */
	struct throttles throttles;
	struct throttle_link *throttle_link; /* owned */
	struct pool_set pool_set;
	struct broker_links broker_links;
	struct api_publisher *api_publisher; /* owned */
	struct own_commands *own_commands;   /* owned */
	enum phase phase;
	struct pulse pulse;
	struct ev_check turn_begin;
	struct supervisor_view view;
	char *configuration; /* owned; NULL: it has no file */
	struct reload reload;
	struct control *control; /* owned; NULL: no control API */
	struct systemd systemd;
	struct ev_timer deadline;   /* the earliest of all pools; only ends the wait */
	struct ev_timer stop_limit; /* of the drain, then of the forced stop */
	mtime stop_at;              /* when stop_limit ends, by our clock */
	struct signals signals;
	struct source_watch *source_watch; /* owned; NULL: nothing is watched */
	bool is_unanswered; /* it left a broker that may not have got the last acks */
};

/* ---------- commands and the stop ---------- */

static void command_all(struct supervisor *supervisor, enum command command)
{
	struct pool_runtime *runtime;

	for (size_t i = 0; (runtime = pool_set_next(&supervisor->pool_set, &i));)
		pool_runtime_command(runtime, command, 0, clock_now());
}

static void arm_stop_limit(struct supervisor *supervisor, mtime span)
{
	supervisor->stop_at = clock_now() + span;
	loop_start_timer(supervisor->tools.loop, &supervisor->stop_limit, span);
}

static void drain(struct supervisor *supervisor, const char *why)
{
	supervisor->phase = DRAINING;
	log_info(
		"%s: draining: taking no more tasks, finishing those in hand, for at most %.0f s; a second "
		"signal stops at once",
		why, (double)supervisor->config->drain / MTIME_SECOND);
	command_all(supervisor, COMMAND_DRAIN);
	own_commands_interrupt(supervisor->own_commands);
	arm_stop_limit(supervisor, supervisor->config->drain);
	systemd_stopping(&supervisor->systemd, supervisor->config->drain + FORCE_LIMIT);
}

static bool has_unfinished(const struct supervisor *supervisor)
{
	const struct pool_runtime *runtime;

	for (size_t i = 0; (runtime = pool_set_next(&supervisor->pool_set, &i));)
		if (pool_has_unfinished(runtime->pool))
			return true;
	return false;
}

static void force(struct supervisor *supervisor, const char *why)
{
	if (supervisor->phase >= FORCED)
		return;
	supervisor->phase = FORCED;
	if (has_unfinished(supervisor))
		log_warn("%s: stopping now; unfinished tasks go back to the broker, those that are "
			 "accepted are lost",
			why);
	else
		log_info("%s: stopping now; no task is unfinished", why);
	command_all(supervisor, COMMAND_FORCE);
	own_commands_interrupt(supervisor->own_commands);
	arm_stop_limit(supervisor, FORCE_LIMIT);
	systemd_stopping(&supervisor->systemd, FORCE_LIMIT);
}

static void leave(struct supervisor *supervisor)
{
	supervisor->phase = LEAVING;
	ev_timer_stop(supervisor->tools.loop, &supervisor->stop_limit);
	/* Their clients get their answers. */
	api_publisher_close(supervisor->api_publisher);
	own_commands_close(supervisor->own_commands);
	broker_links_close(&supervisor->broker_links);
	throttle_link_close(supervisor->throttle_link);
}

static void on_stop_limit(struct ev_loop *loop, struct ev_timer *timer, int events)
{
	struct supervisor *supervisor = timer->data;
	mtime left = supervisor->stop_at - clock_now();

	(void)loop;
	(void)events;
	if (left > 0) { /* the timer goes on while this process is suspended */
		arm_stop_limit(supervisor, left);
	} else if (supervisor->phase == DRAINING) {
		force(supervisor, "not drained in time");
	} else {
		log_warn("the broker does not answer; leaving without it, it delivers again what "
			 "was not settled");
		supervisor->is_unanswered = true;
		leave(supervisor);
	}
}

/* For the control API and SIGHUP. */
static void on_reload(void *ctx, const char *requested_by, bool is_dry, struct reload_outcome *ret)
{
	struct supervisor *supervisor = ctx;
	bool is_notified = !is_dry && supervisor->phase == SERVING;

	if (is_notified)
		systemd_reloading(&supervisor->systemd);
	reload_run(&supervisor->reload, requested_by, is_dry, ret);
	if (!is_dry)
		control_reloaded(supervisor->control);
	if (is_notified)
		systemd_reloaded(&supervisor->systemd);
}

/* For the control API; the same as a first signal, or a second one. */
static void on_stop(void *ctx, bool at_once)
{
	struct supervisor *supervisor = ctx;

	if (at_once)
		force(supervisor, "immediate stop requested");
	else if (supervisor->phase == SERVING)
		drain(supervisor, "stop requested");
}

static void on_signal(void *ctx, int number, enum signal_use use)
{
	struct supervisor *supervisor = ctx;
	struct reload_outcome outcome;
	struct pool_runtime *runtime;

	switch (use) {
	case SIGNAL_DRAINS:
		if (supervisor->phase == SERVING)
			drain(supervisor, strsignal(number));
		else
			force(supervisor, strsignal(number));
		break;
	case SIGNAL_FORCES:
		force(supervisor, strsignal(number));
		break;
	case SIGNAL_RELOADS:
		on_reload(supervisor, strsignal(number), false, &outcome);
		reload_outcome_release(&outcome);
		break;
	case SIGNAL_PAUSES:
	case SIGNAL_RESUMES: /* also when this process was stopped and continues */
		if (supervisor->phase != SERVING)
			break;
		for (size_t i = 0; (runtime = pool_set_next(&supervisor->pool_set, &i));)
			if (!pool_runtime_is_retiring(runtime))
				pool_runtime_command(runtime,
					use == SIGNAL_PAUSES ? COMMAND_PAUSE : COMMAND_RESUME, 0,
					clock_now());
		break;
	case SIGNAL_LOGS_STATE:
		for (size_t i = 0; (runtime = pool_set_next(&supervisor->pool_set, &i));)
			pool_runtime_log_state(runtime, clock_now());
		break;
	}
}

/* Another change during a restart makes the core begin again, so that no worker has old code. */
static void on_source_change(void *ctx, const char *path, bool has_others)
{
	struct supervisor *supervisor = ctx;
	struct pool_runtime *runtime;
	const char *refusal;

	if (supervisor->phase != SERVING)
		return;
	log_info("%s%s changed: restarting the workers of all pools, one by one", path,
		has_others ? " and others" : "");
	for (size_t i = 0; (runtime = pool_set_next(&supervisor->pool_set, &i));) {
		if (pool_runtime_is_retiring(runtime))
			continue;
		refusal = pool_runtime_command(runtime, COMMAND_RESTART, 0, clock_now());
		if (refusal)
			log_warn("pool %s is not restarted: %s", runtime->config.name, refusal);
	}
}

/* ---------- the loop ---------- */

/* Before the handlers of a turn, so that what they count belongs to the second in which it came.
 * The pulse begins a turn each second. */
static void on_turn_begin(struct ev_loop *loop, struct ev_check *watcher, int events)
{
	struct supervisor *supervisor = watcher->data;

	(void)loop;
	(void)events;
	pool_set_end_seconds(&supervisor->pool_set, clock_boot() / MTIME_SECOND);
}

/* Let each pool act on the events of this turn: expired timers, dispatch, acks, wanted workers. */
static void step_pools(struct supervisor *supervisor)
{
	mtime now = clock_now();
	struct starts *starts = &supervisor->starts;

	if (starts_look_at(starts) <= now)
		starts_look(starts, now, processors_idle(&supervisor->processors, now));
	pool_set_turn(&supervisor->pool_set, &supervisor->throttles, now, clock_wall_s());
}

/* Begin to close the connections when a stop has left no task in hand. */
static void leave_when_quiet(struct supervisor *supervisor)
{
	struct pool_runtime *runtime;
	bool is_quiet = true;

	if (supervisor->phase != DRAINING && supervisor->phase != FORCED)
		return;
	for (size_t i = 0; (runtime = pool_set_next(&supervisor->pool_set, &i));)
		is_quiet = pool_runtime_is_quiet(runtime) && is_quiet;
	if (is_quiet)
		leave(supervisor);
}

static void on_deadline(struct ev_loop *loop, struct ev_timer *timer, int events)
{
	(void)loop;
	(void)timer;
	(void)events;
}

static void arm_deadline(struct supervisor *supervisor)
{
	struct ev_loop *loop = supervisor->tools.loop;
	mtime throttle_wait = throttle_link_wait(supervisor->throttle_link);
	mtime deadline = MTIME_NEVER;
	struct pool_runtime *runtime;

	for (size_t i = 0; (runtime = pool_set_next(&supervisor->pool_set, &i));)
		deadline = mtime_min(deadline, pool_runtime_deadline(runtime));
	if (throttle_wait != MTIME_NEVER)
		deadline = mtime_min(deadline, mtime_after(clock_now(), throttle_wait));
	if (deadline == MTIME_NEVER)
		ev_timer_stop(loop, &supervisor->deadline);
	else
		loop_start_timer(loop, &supervisor->deadline, deadline - clock_now());
}

/* The order matters: pools act before anything is written, and everything is written before the
 * loop waits. */
static void run_loop(struct supervisor *supervisor)
{
	for (;;) {
		step_pools(supervisor); /* and write once to each worker */
		if (supervisor->phase == SERVING)
			reload_sweep(&supervisor->reload); /* pools that were replaced */
		leave_when_quiet(supervisor);
		broker_links_flush(&supervisor->broker_links);
		throttle_link_turn(supervisor->throttle_link);
		api_publisher_flush(supervisor->api_publisher);
		systemd_turn(&supervisor->systemd);
		if (supervisor->phase == LEAVING &&
			broker_links_are_closed(&supervisor->broker_links) &&
			throttle_link_is_closed(supervisor->throttle_link) &&
			api_publisher_is_closed(supervisor->api_publisher))
			return;
		arm_deadline(supervisor);
		/* Wait for an event or the deadline, and call the handlers of all that came. */
		ev_run(supervisor->tools.loop, EVRUN_ONCE);
	}
}

/* ---------- start and end ---------- */

static bool open_pools(struct supervisor *supervisor)
{
	struct config *config = supervisor->config;

	if (!throttles_define(&supervisor->throttles, config))
		return false;
	for (size_t i = 0; i < config->pool_count; i++)
		if (!pool_set_add(&supervisor->pool_set, &supervisor->tools, &config->pools[i],
			    clock_now()))
			return false;
	supervisor->broker_links.pool_set = &supervisor->pool_set;
	if (!broker_links_open(&supervisor->broker_links, supervisor->tools.loop, config))
		return false;
	supervisor->throttle_link = throttle_link_new(
		supervisor->tools.loop, &supervisor->broker_links.shared, &supervisor->throttles);
	supervisor->api_publisher =
		api_publisher_new(supervisor->tools.loop, &supervisor->broker_links.shared);
	supervisor->own_commands =
		own_commands_new(supervisor->tools.loop, supervisor->tools.reaper, OWN_PROGRAM);
	return supervisor->throttle_link && supervisor->api_publisher && supervisor->own_commands;
}

/* The control API and systemd. A failure is logged and does not keep the supervisor from serving.
 */
static void open_to_view(struct supervisor *supervisor)
{
	supervisor->view = (struct supervisor_view){.config = supervisor->config,
		.pool_set = &supervisor->pool_set,
		.broker_links = &supervisor->broker_links,
		.throttles = &supervisor->throttles,
		.api_publisher = supervisor->api_publisher,
		.own_commands = supervisor->own_commands,
		.pulse = &supervisor->pulse,
		.phase = &supervisor->phase,
		.started = clock_now(),
		.started_wall_s = clock_wall_s(),
		.configuration = supervisor->configuration,
		.stop = on_stop,
		.reload = on_reload,
		.ctx = supervisor};
	supervisor->control = control_new(supervisor->tools.loop, &supervisor->view);
	systemd_start(&supervisor->systemd, &supervisor->view);
}

/* False: the reason is logged. */
static bool start_supervisor(
	struct supervisor *supervisor, const struct config_flags *flags, const char *const *watched)
{
	size_t pools = supervisor->config->pool_count;

	supervisor->reload = (struct reload){.flags = flags,
		.config = supervisor->config,
		.pool_set = &supervisor->pool_set,
		.broker_links = &supervisor->broker_links,
		.throttles = &supervisor->throttles,
		.tools = &supervisor->tools,
		.phase = &supervisor->phase};
	if (!runtime_shared_open(&supervisor->tools, supervisor->config))
		return false;
	if (*watched) {
		supervisor->source_watch = source_watch_new(
			supervisor->tools.loop, watched, on_source_change, supervisor);
		if (!supervisor->source_watch)
			return false;
		log_info("watching source files, for development: a change restarts the workers");
	}
	processors_find(&supervisor->processors, "");
	starts_init(&supervisor->starts, supervisor->processors.share, PROCESSORS_GRAIN);
	supervisor->tools.starts = &supervisor->starts;
	supervisor->tools.last_task_id = &supervisor->last_task_id;
	supervisor->tools.throttles = &supervisor->throttles;
	systemd_open(&supervisor->systemd, supervisor->tools.loop);
	if (!open_pools(supervisor)) {
		log_error("out of memory at the start");
		return false;
	}
	pulse_start(&supervisor->pulse, supervisor->tools.loop);
	ev_check_init(&supervisor->turn_begin, on_turn_begin);
	ev_set_priority(&supervisor->turn_begin, EV_MAXPRI);
	supervisor->turn_begin.data = supervisor;
	ev_check_start(supervisor->tools.loop, &supervisor->turn_begin);
	ev_timer_init(&supervisor->deadline, on_deadline, 0, 0);
	ev_timer_init(&supervisor->stop_limit, on_stop_limit, 0, 0);
	supervisor->stop_limit.data = supervisor;
	signals_start(&supervisor->signals, supervisor->tools.loop, on_signal, supervisor);
	log_info("wpool %s, pid %d, %zu pool%s", WPOOL_VERSION, (int)getpid(), pools,
		pools == 1 ? "" : "s");
	if (flags->file)
		supervisor->configuration = realpath(flags->file, NULL);
	open_to_view(supervisor);
	return true;
}

/* Log how it ended, and give the control API its last answer. True: everything is settled. */
static bool finish_supervisor(struct supervisor *supervisor)
{
	struct ev_loop *loop = supervisor->tools.loop;
	struct pulse *pulse = &supervisor->pulse;
	struct pool_runtime *runtime;
	bool is_settled = !supervisor->is_unanswered;

	pulse_stop(pulse, loop);
	ev_check_stop(loop, &supervisor->turn_begin);
	ev_timer_stop(loop, &supervisor->deadline);
	ev_timer_stop(loop, &supervisor->stop_limit);
	signals_stop(&supervisor->signals, loop);
	for (size_t i = 0; (runtime = pool_set_next(&supervisor->pool_set, &i));) {
		is_settled = is_settled && !pool_was_cut_short(runtime->pool);
		pool_runtime_log_summary(runtime);
	}
	log_info("longest turn of the loop: %.1f ms, %.1f ms of it computing",
		(double)pulse->longest / MTIME_MS, (double)pulse->longest_computed / MTIME_MS);
	if (is_settled)
		log_info("stopped, everything is settled");
	else
		log_warn(
			"stopped before everything was settled; the broker delivers the rest again");
	supervisor->phase = STOPPED;
	supervisor->view.is_settled = is_settled;
	control_finish(supervisor->control);
	return is_settled;
}

int supervisor_run(
	struct config *config, const struct config_flags *flags, const char *const *watched)
{
	struct supervisor supervisor = {.config = config};
	int exit_code = EX_SOFTWARE;

	if (start_supervisor(&supervisor, flags, watched)) {
		run_loop(&supervisor);
		exit_code = finish_supervisor(&supervisor) ? EX_OK : EX_TEMPFAIL;
	}
	source_watch_free(supervisor.source_watch);
	systemd_close(&supervisor.systemd);
	api_publisher_free(supervisor.api_publisher);
	own_commands_free(supervisor.own_commands);
	throttle_link_free(supervisor.throttle_link);
	broker_links_release(&supervisor.broker_links);
	pool_set_release(&supervisor.pool_set);
	throttles_release(&supervisor.throttles);
	runtime_shared_close(&supervisor.tools);
	/* The control socket goes last: a client that waits for its end then finds nothing left
	 * of us. */
	control_free(supervisor.control);
	free(supervisor.configuration);
	return exit_code;
}
