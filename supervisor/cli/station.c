#include "cli/station_state.h"

#include "io/clock.h"

#include <stdlib.h>
#include <unistd.h>

/* ---------- the pool's effects ---------- */

static enum send_result do_send(
	void *io, uint16_t slot, struct delivery *delivery, uint16_t attempt)
{
	struct station *station = io;
	enum send_result result = crew_send(station->crew, slot, delivery, attempt);

	if (result == SEND_OK)
		histogram_add(&station->report.waited, station->turned_at - delivery->queued_at);
	return result;
}

static void do_ack(void *io, uint16_t source, uint64_t tag, bool multiple)
{
	struct station *station = io;

	(void)source;
	consumer_ack(station->consumer, tag, multiple);
}

static void do_reject(void *io, uint16_t source, uint64_t tag, enum reject how)
{
	struct station *station = io;

	(void)source;
	consumer_reject(station->consumer, tag, how);
}

static void do_publish(void *io, const struct parcel *parcel)
{
	struct station *station = io;

	publisher_publish(station->publisher, parcel);
}

static void do_source(void *io, uint16_t source, enum source_wish wish, uint32_t window)
{
	struct station *station = io;

	(void)source;
	consumer_wish(station->consumer, wish, window);
}

static void do_slot(void *io, uint16_t slot, uint32_t life, enum slot_wish wish)
{
	struct station *station = io;

	crew_wish(station->crew, slot, life, wish);
}

static bool do_room(void *io, uint16_t slots)
{
	struct station *station = io;

	return crew_room(station->crew, slots);
}

static struct log_origin pool_origin(const struct station *station)
{
	return (struct log_origin){.pool = station->config.name, .slot = -1};
}

static void do_tell(void *io, const struct notice *notice)
{
	struct station *station = io;
	struct log_origin origin = pool_origin(station);

	if (notice->slot >= 0)
		origin = crew_origin(station->crew, (uint16_t)notice->slot, notice->life);
	if (notice->kind == NOTICE_COMMAND_REFUSED)
		station->refusal = notice->what;
	report_notice(&station->report, origin, notice);
}

static const struct effects effects = {
	.send = do_send,
	.ack = do_ack,
	.reject = do_reject,
	.publish = do_publish,
	.source = do_source,
	.slot = do_slot,
	.room = do_room,
	.tell = do_tell,
};

static void on_note(void *ctx, enum log_level level, const char *words)
{
	struct station *station = ctx;

	log_line(level, (struct log_origin){.pool = station->config.name, .slot = -1}, "%s", words);
}

/* ---------- life ---------- */

/* From .config, which is there. */
static void set_up(struct station *station)
{
	const struct config_pool *config = &station->config;
	uint32_t seed = (uint32_t)getpid() * 2654435761u + station->place;
	bool has_dead_letters = station_dead_letter(config).len > 0;

	station->notes = (struct notes){on_note, station};
	station->report = (struct report){.pool = config->name,
		.command = config->command[0],
		.queue = config->queue,
		.dead_letters = has_dead_letters ? config->retry.dead_letter : NULL,
		.workers = (uint16_t)config->workers};
	station->pool_config = station_pool_config(config);
	station->crew_config = station_crew_config(config);
	station->consumer_config = station_consumer_config(config, seed);
	station->publisher_config = station_publisher_config(config, station->place, ~seed);
}

static bool make_parts(struct station *station, const struct station_tools *tools, mtime now)
{
	station->crew_config.descriptors = &tools->descriptors;
	station->crew = crew_new(tools->loop, &station->crew_config, tools->reaper, tools->guard,
		tools->rundir, tools->strays);
	station->consumer = consumer_new(&station->consumer_config, &station->notes);
	station->publisher = publisher_new(&station->publisher_config, &station->notes);
	station->pool = pool_new(&station->pool_config, &effects, station, now);
	if (!station->crew || !station->consumer || !station->publisher || !station->pool)
		return false;
	crew_attach(station->crew, station->pool);
	crew_watch_memory(station->crew, station_watches_memory(station_config(station)));
	consumer_attach(station->consumer, station->pool);
	publisher_attach(station->publisher, station->pool);
	return true;
}

struct station *station_new(const struct station_tools *tools, struct config_pool *config,
	uint16_t place, uint32_t serial, mtime now)
{
	struct station *station = calloc(1, sizeof *station);

	if (!station)
		return NULL;
	station->place = place;
	station->serial = serial;
	station->config = *config;
	set_up(station);
	if (!make_parts(station, tools, now)) {
		station->config = (struct config_pool){0}; /* the caller's, still */
		station_free(station);
		return NULL;
	}
	*config = (struct config_pool){0};
	station_warn_of_limits(&station->config);
	return station;
}

void station_free(struct station *station)
{
	if (!station)
		return;
	feed_free(station->feed);
	crew_free(station->crew);
	pool_free(station->pool);
	publisher_free(station->publisher);
	consumer_free(station->consumer);
	config_pool_release(&station->config);
	free(station);
}

uint16_t station_place(const struct station *station)
{
	return station->place;
}

uint32_t station_serial(const struct station *station)
{
	return station->serial;
}

const struct config_pool *station_config(const struct station *station)
{
	return &station->config;
}

bool station_connect(
	struct station *station, struct ev_loop *loop, const struct uplink_config *shared)
{
	station->feed = feed_new(loop, shared, station->config.name,
		text_from(station->config.queue), station->consumer);
	return station->feed;
}

struct feed *station_feed(const struct station *station)
{
	return station->feed;
}

struct publisher *station_publisher(struct station *station)
{
	return station->publisher;
}

void station_set_frame_max(struct station *station, uint32_t frame_max)
{
	station->crew_config.answer.header_bytes = station_header_bytes(frame_max);
}

static const char *tell_command(struct station *station, struct event event, mtime now)
{
	event.kind = COMMAND;
	station->refusal = NULL;
	pool_step(station->pool, now, &event);
	return station->refusal;
}

const char *station_command(
	struct station *station, enum command command, uint32_t number, mtime now)
{
	struct event event = {.command = {.what = command, .number = number}};

	return tell_command(station, event, now);
}

const char *station_scale(struct station *station, uint32_t least, uint32_t most, mtime now)
{
	struct event event = {.command = {.what = COMMAND_SCALE, .number = least, .most = most}};

	return tell_command(station, event, now);
}

const char *station_scale_as_configured(struct station *station, mtime now)
{
	const struct config_pool *config = station_config(station);

	return station_scale(
		station, (uint32_t)config->workers, (uint32_t)config->workers_most, now);
}

void station_turn(struct station *station, mtime now, uint64_t wall_s)
{
	struct event event = {.kind = TURN_END, .absent = clock_absent()};

	station->turned_at = now;
	publisher_set_wall(station->publisher, wall_s);
	publisher_tick(station->publisher, now);
	pool_step(station->pool, now, &event);
	/* After the pool: what it wished for in this very turn is carried out in it. */
	consumer_tick(station->consumer, now);
	if (station->feed)
		feed_tick(station->feed, now);
	crew_flush(station->crew);
}

mtime station_deadline(const struct station *station)
{
	mtime deadline = pool_deadline(station->pool);

	deadline = mtime_min(deadline, consumer_deadline(station->consumer));
	if (station->feed)
		deadline = mtime_min(deadline, feed_deadline(station->feed));
	return mtime_min(deadline, publisher_deadline(station->publisher));
}

bool station_is_quiet(const struct station *station)
{
	return pool_is_quiet(station->pool);
}

bool station_was_forced(const struct station *station)
{
	return pool_was_forced(station->pool);
}

void station_say_goodbye(const struct station *station)
{
	report_end(&station->report, pool_was_forced(station->pool));
}

struct pool_facts station_facts(const struct station *station)
{
	return pool_facts(station->pool);
}

const struct report *station_report(const struct station *station)
{
	return &station->report;
}

struct crew_lines station_lines(const struct station *station)
{
	return crew_lines(station->crew);
}

bool station_is_consuming(const struct station *station)
{
	return consumer_is_consuming(station->consumer);
}

const struct backlog *station_backlog(const struct station *station)
{
	return station->feed ? feed_backlog(station->feed) : NULL;
}

struct slot_counts station_slot_counts(const struct station *station)
{
	return pool_slot_counts(station->pool);
}

uint16_t station_slot_count(const struct station *station)
{
	return pool_slot_count(station->pool);
}

struct slot_facts station_slot(const struct station *station, uint16_t slot)
{
	return pool_slot_facts(station->pool, slot);
}

pid_t station_slot_pid(const struct station *station, uint16_t slot)
{
	return crew_origin(station->crew, slot, pool_slot_facts(station->pool, slot).life).pid;
}
