/* What a new configuration does to a station: it changes, follows another one, leaves. */
#include "cli/station_state.h"

#include "config/change.h"

/* The connection's and the process's own stay. */
static void configure_crew(struct station *station)
{
	struct crew_config *config = &station->crew_config, before = *config;

	*config = station_crew_config(&station->config);
	config->descriptors = before.descriptors;
	config->answer.header_bytes = before.answer.header_bytes;
}

/* Where there was no second try no queue was planned for one to wait in, and nothing would make it:
 * its copies would come back for ever. Now the publisher does, when the first one has. A plan that
 * there is stays, because another one takes another pool. */
static void configure_publisher(struct station *station)
{
	struct publisher_config *config = &station->publisher_config;

	if (config->retry.count > 0)
		return;
	config->retry = station_publisher_config(&station->config, station->place, 0).retry;
	publisher_replan(station->publisher);
}

static bool have_same_workers(const struct config_pool *config, const struct config_pool *other)
{
	return config->workers == other->workers && config->workers_most == other->workers_most;
}

static void configure_pool(struct station *station, mtime now)
{
	struct event event = {.kind = COMMAND,
		.command = {.what = COMMAND_CONFIGURE, .config = &station->pool_config}};

	station->pool_config = station_pool_config(&station->config);
	crew_watch_memory(station->crew, station_watches_memory(&station->config));
	pool_step(station->pool, now, &event);
}

/* An operator's number of workers holds until another one is configured. */
static void scale(struct station *station, const struct config_pool *before, mtime now)
{
	struct config_pool *config = &station->config;

	if (have_same_workers(config, before))
		return;
	if (station_scale_as_configured(station, now)) {
		/* Refused, and said: the next reload tries again. */
		config->workers = before->workers;
		config->workers_most = before->workers_most;
	}
}

/* What the settings come to goes where the settings went. */
static void exchange_rights(struct config_pool *config, struct config_pool *other)
{
	struct rights kept = config->rights;

	config->rights = other->rights;
	other->rights = kept;
}

void station_change(struct station *station, struct config_pool *other, mtime now)
{
	struct config_pool *config = &station->config;
	enum setting_reload asked;
	bool is_any = change_is_any(SETTING_POOL, config, other, &asked);

	change_take_over(SETTING_POOL, config, other);
	exchange_rights(config, other);
	station->report.command = config->command[0];
	configure_crew(station);
	configure_publisher(station);
	configure_pool(station, now);
	scale(station, other, now);
	if (is_any && asked == RELOAD_ROLLS)
		station_command(station, COMMAND_RESTART, 0, now);
	station_warn_of_limits(config);
}

void station_follow(struct station *station, const struct station *before, mtime now)
{
	struct pool_facts facts = station_facts(before);

	if (facts.standing == POOL_IS_PAUSED)
		station_command(station, COMMAND_PAUSE, 0, now);
	if (have_same_workers(&station->config, &before->config) &&
		(facts.least != before->config.workers ||
			facts.most != before->config.workers_most))
		station_scale(station, facts.least, facts.most, now);
}

void station_leave(struct station *station, mtime now)
{
	station->is_draining = true;
	station_command(station, COMMAND_DRAIN, 0, now);
}

void station_supersede(struct station *station)
{
	station->is_superseded = true;
}

bool station_is_leaving(const struct station *station)
{
	return station->is_superseded || station->is_draining;
}

bool station_is_draining(const struct station *station)
{
	return station->is_draining;
}

bool station_has_left(struct station *station)
{
	if (!pool_is_quiet(station->pool))
		return false;
	publisher_close(station->publisher);
	feed_close(station->feed);
	return feed_is_closed(station->feed) && publisher_has_ended(station->publisher);
}
