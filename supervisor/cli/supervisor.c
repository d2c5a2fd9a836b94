/* One thread, one loop. A turn: libev reads all that is there and tells it (broker bytes, worker
 * frames, exits, signals); then on_turn_end, before the loop sleeps again, lets every station
 * decide and writes once to each peer. */
#include "cli/supervisor.h"

#include "cli/control.h"
#include "cli/reload.h"
#include "cli/service.h"
#include "cli/signals.h"
#include "cli/standing.h"
#include "cli/station_tools.h"
#include "io/clock.h"
#include "io/loop.h"
#include "io/pulse.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

/* A killed worker is gone, and a broker that lives has answered, long before. */
#define FORCE_LIMIT (3 * MTIME_SECOND)

struct supervisor {
	struct config *config;      /* borrowed; its pools are the fleet's */
	struct station_tools tools; /* its members are owned, but for the loop */
	struct fleet fleet;
	struct links links;
	enum phase phase;
	struct pulse pulse;
	struct overview overview;
	struct reload reload;
	struct control *control; /* owned; NULL: nobody can look */
	struct service service;
	struct ev_prepare turn_end;
	struct ev_timer deadline;   /* the earliest of all stations' */
	struct ev_timer stop_limit; /* of the drain, then of what is forced */
	mtime stop_at;              /* and when that is over, by our clock */
	struct signals signals;
};

/* ---------- steering and stopping ---------- */

static void command_all(struct supervisor *supervisor, enum command command)
{
	struct station *station;

	for (size_t i = 0; (station = fleet_next(&supervisor->fleet, &i));)
		station_command(station, command, 0, clock_now());
}

/* Those that leave have nothing to pause. */
static void command_staying(struct supervisor *supervisor, enum command command)
{
	struct station *station;

	for (size_t i = 0; (station = fleet_next(&supervisor->fleet, &i));)
		if (!station_is_leaving(station))
			station_command(station, command, 0, clock_now());
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
	arm_stop_limit(supervisor, supervisor->config->drain);
	service_stopping(&supervisor->service, supervisor->config->drain + FORCE_LIMIT);
}

static void force(struct supervisor *supervisor, const char *why)
{
	if (supervisor->phase >= FORCED)
		return;
	supervisor->phase = FORCED;
	log_warn("%s: stopping now; unfinished tasks go back to the broker", why);
	command_all(supervisor, COMMAND_FORCE);
	arm_stop_limit(supervisor, FORCE_LIMIT);
	service_stopping(&supervisor->service, FORCE_LIMIT);
}

static void leave(struct supervisor *supervisor)
{
	supervisor->phase = LEAVING;
	ev_timer_stop(supervisor->tools.loop, &supervisor->stop_limit);
	links_close(&supervisor->links);
}

static void on_stop_limit(struct ev_loop *loop, struct ev_timer *timer, int events)
{
	struct supervisor *supervisor = timer->data;
	mtime left = supervisor->stop_at - clock_now();

	(void)loop;
	(void)events;
	if (left > 0) { /* the timer counts on while this process is stopped */
		arm_stop_limit(supervisor, left);
		return;
	}
	if (supervisor->phase == DRAINING) {
		force(supervisor, "not drained in time");
		return;
	}
	log_warn(
		"the broker does not answer; leaving without it, it delivers again what was not settled");
	leave(supervisor);
}

static void say_standing(const struct supervisor *supervisor)
{
	struct station *station;

	for (size_t i = 0; (station = fleet_next(&supervisor->fleet, &i));)
		standing_say(station, clock_now());
}

static void read_again(struct supervisor *supervisor, const char *why)
{
	json_t *answer;

	reload_run(&supervisor->reload, why, false, &answer);
	json_decref(answer);
}

/* SIGCONT comes as well when somebody has stopped this process and lets it go on. */
static void steer(struct supervisor *supervisor, int number)
{
	if (number == SIGUSR1)
		say_standing(supervisor);
	else if (number == SIGHUP)
		read_again(supervisor, strsignal(number));
	else if (supervisor->phase == SERVING)
		command_staying(supervisor, number == SIGTSTP ? COMMAND_PAUSE : COMMAND_RESUME);
}

static void on_signal(void *ctx, int number, enum signal_use use)
{
	struct supervisor *supervisor = ctx;

	if (use == SIGNAL_STEERS)
		steer(supervisor, number);
	else if (use == SIGNAL_DRAINS && supervisor->phase == SERVING)
		drain(supervisor, strsignal(number));
	else
		force(supervisor, strsignal(number));
}

/* The control API's; the same as a signal, and as another one. */
static void on_stop(void *ctx, bool at_once)
{
	struct supervisor *supervisor = ctx;

	if (at_once)
		force(supervisor, "told to stop at once");
	else if (supervisor->phase == SERVING)
		drain(supervisor, "told to stop");
}

static bool is_every_station_quiet(const struct supervisor *supervisor)
{
	struct station *station;

	for (size_t i = 0; (station = fleet_next(&supervisor->fleet, &i));)
		if (!station_is_quiet(station))
			return false;
	return true;
}

static void leave_when_quiet(struct supervisor *supervisor)
{
	if (supervisor->phase == LEAVING && links_are_closed(&supervisor->links))
		ev_break(supervisor->tools.loop, EVBREAK_ALL);
	else if ((supervisor->phase == DRAINING || supervisor->phase == FORCED) &&
		 is_every_station_quiet(supervisor))
		leave(supervisor);
}

/* ---------- the turn ---------- */

static void arm_deadline(struct supervisor *supervisor)
{
	struct ev_loop *loop = supervisor->tools.loop;
	mtime deadline = MTIME_NEVER;
	struct station *station;

	for (size_t i = 0; (station = fleet_next(&supervisor->fleet, &i));)
		deadline = mtime_min(deadline, station_deadline(station));
	if (deadline == MTIME_NEVER)
		ev_timer_stop(loop, &supervisor->deadline);
	else
		loop_start_timer(loop, &supervisor->deadline, deadline - clock_now());
}

static void on_turn_end(struct ev_loop *loop, struct ev_prepare *watcher, int events)
{
	struct supervisor *supervisor = watcher->data;
	uint64_t wall_s = clock_wall_s();
	mtime now = clock_now();
	struct station *station;

	(void)loop;
	(void)events;
	for (size_t i = 0; (station = fleet_next(&supervisor->fleet, &i));)
		station_turn(station, now, wall_s);
	if (supervisor->phase == SERVING)
		reload_sweep(&supervisor->reload);
	leave_when_quiet(supervisor);
	links_flush(&supervisor->links);
	service_turn(&supervisor->service);
	arm_deadline(supervisor);
}

static void on_deadline(struct ev_loop *loop, struct ev_timer *timer, int events)
{
	(void)loop;
	(void)timer;
	(void)events; /* the turn that this timer starts is all that was wanted */
}

/* ---------- life ---------- */

static void start_watchers(struct supervisor *supervisor)
{
	struct ev_loop *loop = supervisor->tools.loop;

	pulse_start(&supervisor->pulse, loop);
	ev_prepare_init(&supervisor->turn_end, on_turn_end);
	supervisor->turn_end.data = supervisor;
	ev_prepare_start(loop, &supervisor->turn_end);
	ev_timer_init(&supervisor->deadline, on_deadline, 0, 0);
	ev_timer_init(&supervisor->stop_limit, on_stop_limit, 0, 0);
	supervisor->stop_limit.data = supervisor;
	signals_start(&supervisor->signals, loop, on_signal, supervisor);
}

static void stop_watchers(struct supervisor *supervisor)
{
	struct ev_loop *loop = supervisor->tools.loop;

	pulse_stop(&supervisor->pulse, loop);
	ev_prepare_stop(loop, &supervisor->turn_end);
	ev_timer_stop(loop, &supervisor->deadline);
	ev_timer_stop(loop, &supervisor->stop_limit);
	signals_stop(&supervisor->signals, loop);
}

static bool open_stations(struct supervisor *supervisor)
{
	struct config *config = supervisor->config;

	for (size_t i = 0; i < config->pool_count; i++)
		if (!fleet_add(
			    &supervisor->fleet, &supervisor->tools, &config->pools[i], clock_now()))
			return false;
	supervisor->links.fleet = &supervisor->fleet;
	return links_open(&supervisor->links, supervisor->tools.loop, config);
}

/* Whoever serves must not depend on being seen. */
static void open_to_view(struct supervisor *supervisor)
{
	supervisor->overview = (struct overview){.config = supervisor->config,
		.fleet = &supervisor->fleet,
		.links = &supervisor->links,
		.pulse = &supervisor->pulse,
		.phase = &supervisor->phase,
		.started = clock_now(),
		.started_wall_s = clock_wall_s(),
		.stop = on_stop,
		.ctx = supervisor,
		.reload = &supervisor->reload};
	supervisor->control = control_new(supervisor->tools.loop, &supervisor->overview);
	service_start(&supervisor->service, &supervisor->overview);
}

static void close_all(struct supervisor *supervisor)
{
	service_close(&supervisor->service);
	links_release(&supervisor->links);
	fleet_release(&supervisor->fleet);
	station_tools_close(&supervisor->tools);
	/* Its socket goes last: who waits for that finds nothing of us any more. */
	control_free(supervisor->control);
}

static bool was_forced(const struct supervisor *supervisor)
{
	struct station *station;

	for (size_t i = 0; (station = fleet_next(&supervisor->fleet, &i));)
		if (station_was_forced(station))
			return true;
	return false;
}

static void say_goodbye(const struct supervisor *supervisor, bool is_settled)
{
	const struct pulse *pulse = &supervisor->pulse;
	struct station *station;

	for (size_t i = 0; (station = fleet_next(&supervisor->fleet, &i));)
		station_say_goodbye(station);
	log_info("longest turn of the loop: %.1f ms, %.1f ms of it computing",
		(double)pulse->longest / MTIME_MS, (double)pulse->longest_computed / MTIME_MS);
	if (is_settled)
		log_info("stopped, everything is settled");
	else
		log_warn(
			"stopped before everything was settled; the broker delivers the rest again");
}

static struct reload reload_of(struct supervisor *supervisor, const struct config_flags *flags)
{
	return (struct reload){.flags = flags,
		.config = supervisor->config,
		.fleet = &supervisor->fleet,
		.links = &supervisor->links,
		.tools = &supervisor->tools,
		.phase = &supervisor->phase,
		.service = &supervisor->service};
}

int supervisor_run(struct config *config, const struct config_flags *flags)
{
	struct supervisor supervisor = {.config = config};
	int exit_code = EX_SOFTWARE;

	supervisor.reload = reload_of(&supervisor, flags);
	if (!station_tools_open(&supervisor.tools, config))
		goto out;
	service_open(&supervisor.service, supervisor.tools.loop);
	if (!open_stations(&supervisor)) {
		log_error("out of memory at the start");
		goto out;
	}
	start_watchers(&supervisor);
	log_info("wpool %s, pid %d, %zu pool%s", WPOOL_VERSION, (int)getpid(), config->pool_count,
		config->pool_count == 1 ? "" : "s");
	open_to_view(&supervisor);
	ev_run(supervisor.tools.loop, 0);
	stop_watchers(&supervisor);
	exit_code = was_forced(&supervisor) ? EX_TEMPFAIL : EX_OK;
	say_goodbye(&supervisor, exit_code == EX_OK);
	supervisor.phase = STOPPED;
	supervisor.overview.is_settled = exit_code == EX_OK;
	control_finish(supervisor.control);
out:
	close_all(&supervisor);
	return exit_code;
}
