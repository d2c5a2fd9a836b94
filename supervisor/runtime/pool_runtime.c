#include "runtime/pool_runtime.h"

#include "config/change.h"
#include "message/same.h"
#include "os/clock.h"
#include "runtime/pool_runtime_config.h"
#include "runtime/report/report.h"
#include "runtime/throttles/throttles.h"

#include <assert.h>
#include <stdlib.h>
#include <unistd.h>

/* ---------- the pool's effects ---------- */

static enum send_result do_send(
	void *io, uint16_t slot, struct delivery *delivery, uint16_t attempt)
{
	struct pool_runtime *runtime = io;
	enum send_result result = workers_send(runtime->workers, slot, delivery, attempt);

	if (result == SEND_OK) {
		histogram_add(&runtime->report.statistics.waited,
			runtime->turned_at - delivery->queued_at);
		runtime->has_used_throttle |= runtime->pool_config.throttle_count > 0;
	}
	return result;
}

static void do_ack(void *io, uint64_t tag, bool multiple)
{
	struct pool_runtime *runtime = io;

	consumer_ack(runtime->consumer, tag, multiple);
}

static void do_reject(void *io, uint64_t tag, enum reject how)
{
	struct pool_runtime *runtime = io;

	consumer_reject(runtime->consumer, tag, how);
}

static void do_publish(void *io, const struct parcel *parcel)
{
	struct pool_runtime *runtime = io;

	publisher_publish(runtime->publisher, parcel);
}

static void do_source(void *io, enum source_request request, uint32_t window)
{
	struct pool_runtime *runtime = io;

	consumer_request(runtime->consumer, request, window);
}

static void do_slot(void *io, uint16_t slot, uint32_t life, enum slot_request request)
{
	struct pool_runtime *runtime = io;

	if (request == SLOT_SPAWN)
		runtime->workers_config.workers = pool_wanted(runtime->pool);
	workers_request(runtime->workers, slot, life, request);
}

static bool do_allow_slots(void *io, uint16_t slots)
{
	struct pool_runtime *runtime = io;

	return workers_reserve(runtime->workers, slots);
}

static mtime do_waited(void *io, uint16_t slot, uint32_t life)
{
	struct pool_runtime *runtime = io;

	return workers_waited(runtime->workers, slot, life);
}

static int64_t do_wall_ms(void *io)
{
	(void)io;
	return clock_wall_ms();
}

static void do_emit(void *io, const struct notice *notice)
{
	struct pool_runtime *runtime = io;

	if (notice->kind == NOTICE_COMMAND_REFUSED ||
		notice->kind == NOTICE_SESSION_COMMAND_REFUSED)
		runtime->refusal = notice->what;
	if (notice->kind == NOTICE_TASK_POSTPONED || notice->kind == NOTICE_TASK_REFUSED)
		throttles_count(runtime->throttles, notice);
	report_notice(&runtime->report, notice);
	if (notice->kind == NOTICE_ROLL_BEGINS)
		workers_renew_preload(runtime->workers);
	else if (notice->kind == NOTICE_ROLL_ENDS || notice->kind == NOTICE_ROLL_STOPS)
		workers_settle_preload(runtime->workers, notice->kind == NOTICE_ROLL_ENDS);
}

static bool do_ask(
	void *io, uint16_t slot, uint32_t life, enum task_request request, uint64_t task_id)
{
	struct pool_runtime *runtime = io;

	return workers_ask(runtime->workers, slot, life, request, task_id);
}

static bool do_is_same(void *io, const struct delivery *delivery, const struct delivery *other)
{
	(void)io;
	return message_is_same(delivery, other);
}

static void do_hand_over(void *io, const struct session_handover *handover)
{
	struct pool_runtime *runtime = io;

	pool_token_hand_over(&runtime->token, handover);
}

static void do_window(void *io, uint32_t window)
{
	struct pool_runtime *runtime = io;

	pool_token_name_window(&runtime->token, window);
}

static void do_name(void *io, const struct session_handover *handover)
{
	struct pool_runtime *runtime = io;

	pool_token_name(&runtime->token, handover);
}

static void do_find_throttle_keys(void *io, struct delivery *delivery)
{
	struct pool_runtime *runtime = io;

	throttle_keys_read_again(delivery, &runtime->consumer_config.throttles);
}

static const struct effects effects = {
	.send = do_send,
	.ack = do_ack,
	.reject = do_reject,
	.publish = do_publish,
	.source = do_source,
	.slot = do_slot,
	.ask = do_ask,
	.is_same = do_is_same,
	.allow_slots = do_allow_slots,
	.waited = do_waited,
	.wall_ms = do_wall_ms,
	.emit = do_emit,
	.name = do_name,
	.hand_over = do_hand_over,
	.window = do_window,
	.find_throttle_keys = do_find_throttle_keys,
};

static void on_log_line(void *ctx, enum log_level level, const char *text)
{
	struct pool_runtime *runtime = ctx;

	log_line(level, (struct log_origin){.pool = runtime->config.name, .slot = -1}, "%s", text);
}

/* ---------- life ---------- */

static bool create_token(
	struct pool_runtime *runtime, const struct runtime_shared *tools, uint32_t seed)
{
	char host[POOL_TOKEN_HOST_MAX + 1] = "";
	const struct pool_token_origin origin = {.host = host,
		.pid = (int)getpid(),
		.run = tools->mark,
		.serial = runtime->serial,
		.place = runtime->place,
		.seed = seed};

	if (gethostname(host, POOL_TOKEN_HOST_MAX) < 0)
		host[0] = 0;
	return pool_token_init(&runtime->token, &runtime->pool_config, runtime->config.queue,
		&origin, &runtime->log, tools->guard);
}

/* Their configurations are set. */
static bool create_parts(
	struct pool_runtime *runtime, const struct runtime_shared *tools, mtime now)
{
	runtime->workers = workers_new(tools->loop, &runtime->workers_config, tools->reaper,
		tools->guard, tools->rundir, tools->strays);
	runtime->report.workers = runtime->workers;
	runtime->consumer = consumer_new(&runtime->consumer_config, &runtime->log);
	runtime->publisher = publisher_new(&runtime->publisher_config, &runtime->log);
	runtime->pool = pool_new(
		&runtime->pool_config, tools->starts, tools->last_task_id, &effects, runtime, now);
	if (!runtime->workers || !runtime->consumer || !runtime->publisher || !runtime->pool)
		return false;
	workers_attach(runtime->workers, runtime->pool);
	workers_watch_memory(runtime->workers, pool_runtime_watches_memory(&runtime->config));
	consumer_attach(runtime->consumer, runtime->pool);
	pool_token_attach(&runtime->token, runtime->pool);
	publisher_attach(runtime->publisher, runtime->pool);
	return true;
}

static void hold_throttles(struct pool_runtime *runtime, char *const *names)
{
	throttles_hold(runtime->throttles, names, &runtime->pool_config);
	runtime->consumer_config.throttles =
		throttles_keys(runtime->throttles, &runtime->pool_config);
	runtime->workers_config.is_throttled = runtime->pool_config.throttle_count > 0;
}

struct pool_runtime *pool_runtime_new(const struct runtime_shared *tools,
	struct config_pool *config, uint16_t place, uint32_t serial, mtime now)
{
	uint32_t seed = (uint32_t)getpid() * 2654435761u + place;
	bool has_dead_letters = pool_runtime_dead_letter(config).len > 0;
	struct pool_runtime *runtime = calloc(1, sizeof *runtime);
	const struct config_pool *own;

	if (!runtime)
		return NULL;
	runtime->place = place;
	runtime->serial = serial;
	list_init(&runtime->turn);
	runtime->throttles = tools->throttles;
	runtime->config = *config;
	own = &runtime->config; /* what the parts borrow from */
	runtime->log = (struct channel_log){on_log_line, runtime};
	runtime->report = (struct report){.pool = own->name,
		.command = config_pool_program(own)[0],
		.queue = own->queue,
		.dead_letters = has_dead_letters ? own->retry.dead_letter : NULL,
		.max_body = (uint64_t)own->max_body,
		.wanted = (uint16_t)own->workers};
	runtime->pool_config = pool_runtime_pool_config(own);
	runtime->workers_config = pool_runtime_workers_config(own);
	runtime->workers_config.descriptors = &tools->descriptors;
	runtime->workers_config.secrets = tools->secrets;
	runtime->consumer_config = pool_runtime_consumer_config(own, seed);
	hold_throttles(runtime, own->throttle);
	runtime->publisher_config = pool_runtime_publisher_config(own, ~seed);
	runtime->workers_config.lease = pool_token_lease(&runtime->pool_config, place);
	if (!create_token(runtime, tools, seed) || !create_parts(runtime, tools, now)) {
		runtime->config = (struct config_pool){0}; /* still the caller's */
		pool_runtime_free(runtime);
		return NULL;
	}
	*config = (struct config_pool){0};
	return runtime;
}

static void unlink_from_chain(struct pool_runtime *runtime)
{
	if (runtime->predecessor)
		runtime->predecessor->successor = runtime->successor;
	if (runtime->successor)
		runtime->successor->predecessor = runtime->predecessor;
}

void pool_runtime_free(struct pool_runtime *runtime)
{
	if (!runtime)
		return;
	unlink_from_chain(runtime);
	list_remove(&runtime->turn);
	consume_link_free(runtime->consume_link);
	pool_token_release(&runtime->token);
	workers_free(runtime->workers);
	pool_free(runtime->pool);
	throttles_let_go(runtime->throttles, &runtime->pool_config);
	publisher_free(runtime->publisher);
	consumer_free(runtime->consumer);
	config_pool_release(&runtime->config);
	free(runtime);
}

/* ---------- commands and parts ---------- */

bool pool_runtime_connect(
	struct pool_runtime *runtime, struct ev_loop *loop, const struct broker_link_config *shared)
{
	runtime->consume_link = consume_link_new(loop, shared, runtime->config.name,
		text_from(runtime->config.queue), pool_runtime_dead_letter(&runtime->config),
		runtime->consumer, runtime->token.channel);
	return runtime->consume_link;
}

void pool_runtime_set_frame_max(struct pool_runtime *runtime, uint32_t frame_max)
{
	runtime->workers_config.answer.header_bytes = pool_runtime_header_bytes(frame_max);
}

static const char *step_command(struct pool_runtime *runtime, struct event event, mtime now)
{
	event.kind = COMMAND;
	runtime->refusal = NULL;
	pool_step(runtime->pool, now, &event);
	return runtime->refusal;
}

const char *pool_runtime_command(
	struct pool_runtime *runtime, enum command command, uint32_t number, mtime now)
{
	struct event event = {.command = {.what = command, .number = number}};

	return step_command(runtime, event, now);
}

const char *pool_runtime_cancel(struct pool_runtime *runtime, uint64_t task_id, mtime now)
{
	struct event event = {.command = {.what = COMMAND_CANCEL, .task_id = task_id}};

	return step_command(runtime, event, now);
}

const char *pool_runtime_kill(
	struct pool_runtime *runtime, uint16_t slot, uint64_t task_id, bool gives_up, mtime now)
{
	struct event event = {.command = {.what = COMMAND_KILL,
				      .slot = slot,
				      .task_id = task_id,
				      .gives_up = gives_up}};

	return step_command(runtime, event, now);
}

const char *pool_runtime_session_command(struct pool_runtime *runtime, enum session_verb verb,
	enum session_queued queued, struct text key, mtime now)
{
	struct event event = {.kind = SESSION_COMMAND, .session = {verb, queued, key}};

	runtime->refusal = NULL;
	pool_step(runtime->pool, now, &event);
	return runtime->refusal;
}

const char *pool_runtime_scale(struct pool_runtime *runtime, uint32_t min, uint32_t max, mtime now)
{
	struct event event = {.command = {.what = COMMAND_SCALE, .number = min, .max = max}};

	return step_command(runtime, event, now);
}

const char *pool_runtime_scale_as_configured(struct pool_runtime *runtime, mtime now)
{
	return pool_runtime_scale(runtime, (uint32_t)runtime->config.workers,
		(uint32_t)runtime->config.workers_max, now);
}

/* ---------- a new configuration ---------- */

/* Without a plan for retry queues the broker would return each copy. With one, the publisher
 * declares a queue when its first copy is returned. An existing plan stays, because changing it
 * replaces the pool. */
static void configure_publisher(struct pool_runtime *runtime)
{
	struct publisher_config *config = &runtime->publisher_config;

	if (config->retry.count > 0)
		return;
	config->retry = pool_runtime_publisher_config(&runtime->config, 0).retry;
	publisher_replan(runtime->publisher);
}

/* What does not come from the configuration stays. */
static void configure_workers(struct workers_config *workers, const struct config_pool *config)
{
	struct workers_config before = *workers;

	*workers = pool_runtime_workers_config(config);
	workers->descriptors = before.descriptors;
	workers->secrets = before.secrets;
	workers->lease = before.lease;
	workers->answer.header_bytes = before.answer.header_bytes;
}

static bool have_same_workers(const struct config_pool *config, const struct config_pool *other)
{
	return config->workers == other->workers && config->workers_max == other->workers_max;
}

void pool_runtime_change(struct pool_runtime *runtime, struct config_pool *other, mtime now)
{
	struct config_pool *config = &runtime->config;
	struct rights rights_before = config->rights;
	struct pool_config pool_before = runtime->pool_config;
	struct event configure = {.kind = COMMAND,
		.command = {.what = COMMAND_CONFIGURE, .config = &runtime->pool_config}};
	enum setting_reload asked;
	bool is_any = change_is_any(SETTING_POOL, config, other, &asked);

	change_take_over(SETTING_POOL, config, other);
	config->rights = other->rights; /* derived from settings, so they move with them */
	other->rights = rights_before;
	runtime->report.command = config_pool_program(config)[0];
	configure_workers(&runtime->workers_config, config);
	configure_publisher(runtime);
	runtime->pool_config = pool_runtime_pool_config(config);
	hold_throttles(runtime, config->throttle);
	runtime->consumer_config.is_return_free = runtime->pool_config.session.is_return_free;
	workers_watch_memory(runtime->workers, pool_runtime_watches_memory(config));
	pool_step(runtime->pool, now, &configure);
	throttles_let_go(runtime->throttles, &pool_before);
	pool_token_configure(&runtime->token, &runtime->pool_config);
	/* A number of workers set by an operator holds until the configured number changes. */
	if (!have_same_workers(config, other) && pool_runtime_scale_as_configured(runtime, now)) {
		/* Refused and logged; the next reload tries again. */
		config->workers = other->workers;
		config->workers_max = other->workers_max;
	}
	if (is_any && asked == SETTING_ROLLS)
		pool_runtime_command(runtime, COMMAND_RESTART, 0, now);
}

void pool_runtime_inherit(
	struct pool_runtime *runtime, const struct pool_runtime *before, mtime now)
{
	struct pool_facts facts = pool_facts(before->pool);

	runtime->history = before->history;
	if (facts.state == POOL_IS_PAUSED)
		pool_runtime_command(runtime, COMMAND_PAUSE, 0, now);
	if (have_same_workers(&runtime->config, &before->config) &&
		(facts.min != before->config.workers || facts.max != before->config.workers_max))
		pool_runtime_scale(runtime, facts.min, facts.max, now);
}

void pool_runtime_drain(struct pool_runtime *runtime, mtime now)
{
	runtime->is_draining = true;
	pool_runtime_command(runtime, COMMAND_DRAIN, 0, now);
}

void pool_runtime_mark_replaced(struct pool_runtime *runtime, struct pool_runtime *by)
{
	assert(!runtime->successor && !by->predecessor);
	runtime->is_replaced = true;
	runtime->successor = by;
	by->predecessor = runtime;
}

bool pool_runtime_is_retiring(const struct pool_runtime *runtime)
{
	return runtime->is_replaced || runtime->is_draining;
}

/* The next holder may run what this pool had, so it must be quiet first. */
bool pool_runtime_is_quiet(struct pool_runtime *runtime)
{
	return pool_is_quiet(runtime->pool) && pool_token_has_passed(&runtime->token);
}

bool pool_runtime_is_drained(struct pool_runtime *runtime)
{
	if (!pool_runtime_is_quiet(runtime))
		return false;
	publisher_close(runtime->publisher);
	consume_link_close(runtime->consume_link);
	return consume_link_is_closed(runtime->consume_link) &&
	       publisher_has_ended(runtime->publisher);
}

/* ---------- turns ---------- */

void pool_runtime_turn(struct pool_runtime *runtime, mtime now, mtime throttle_now, uint64_t wall_s)
{
	struct event event = {
		.kind = TURN_END, .arrived_after = clock_arrived_after(), .boot = throttle_now};

	runtime->turned_at = now;
	pool_token_tick(&runtime->token); /* first: without a token nothing may be sent */
	publisher_set_wall(runtime->publisher, wall_s);
	publisher_tick(runtime->publisher, now);
	pool_step(runtime->pool, now, &event);
	/* After the pool, so that what it requested in this turn is done in this turn. */
	consumer_tick(runtime->consumer, now);
	pool_token_prove(&runtime->token, runtime->consumer, now);
	if (!runtime->consume_link)
		return;
	consume_link_hint_waits(
		runtime->consume_link, publisher_take_wait_queues(runtime->publisher));
	consume_link_tick(runtime->consume_link, now);
}

void pool_runtime_flush(struct pool_runtime *runtime)
{
	workers_flush(runtime->workers);
}

struct history_second pool_runtime_measure(struct pool_runtime *runtime, struct histogram *took)
{
	const struct statistics *statistics = &runtime->report.statistics;
	struct history_totals totals = {.in = pool_facts(runtime->pool).deliveries,
		.done = statistics->counts[NOTICE_TASK_DONE],
		.retried = statistics->counts[NOTICE_TASK_RETRIED],
		.took = &statistics->took};

	return history_measure(&runtime->history_mark, &totals, took);
}

mtime pool_runtime_deadline(const struct pool_runtime *runtime)
{
	mtime deadline = pool_deadline(runtime->pool);

	deadline = mtime_min(deadline, consumer_deadline(runtime->consumer));
	deadline = mtime_min(deadline, pool_token_deadline(&runtime->token, clock_now()));
	if (runtime->consume_link)
		deadline = mtime_min(deadline, consume_link_deadline(runtime->consume_link));
	return mtime_min(deadline, publisher_deadline(runtime->publisher));
}

/* ---------- views ---------- */

void pool_runtime_log_state(const struct pool_runtime *runtime, mtime now)
{
	struct pool_facts facts = pool_facts(runtime->pool);
	struct slot_counts counts = pool_slot_counts(runtime->pool);

	struct session_counts sessions = pool_session_counts(runtime->pool);

	report_log_state(&runtime->report, pool_runtime_state_name(runtime), &facts, &counts,
		pool_runtime_backlog(runtime), now);
	if (runtime->pool_config.session.is_on)
		report_log_sessions(&runtime->report, &sessions, now);
}

void pool_runtime_log_summary(const struct pool_runtime *runtime)
{
	report_log_summary(&runtime->report, pool_was_cut_short(runtime->pool));
}

enum queue_type pool_runtime_queue_type(const struct pool_runtime *runtime)
{
	if (consumer_has_quorum_queue(runtime->consumer))
		return QUEUE_TYPE_QUORUM;
	return runtime->consume_link ? consume_link_queue_type(runtime->consume_link)
				     : QUEUE_TYPE_UNKNOWN;
}

/* To the core, a queue that is refused and a broker that does not answer are the same. */
const char *pool_runtime_state_name(const struct pool_runtime *runtime)
{
	enum pool_state state = pool_facts(runtime->pool).state;
	bool is_refused = consumer_refusal(runtime->consumer)->kind ||
			  consumer_order(runtime->consumer) == QUEUE_ORDER_NONE;

	return state == POOL_IS_CONNECTING && is_refused && runtime->consume_link &&
			       consume_link_facts(runtime->consume_link).is_up
		       ? "not consuming"
		       : pool_state_name(state);
}

enum queue_durability pool_runtime_queue_durability(const struct pool_runtime *runtime)
{
	if (consumer_has_quorum_queue(runtime->consumer))
		return QUEUE_DURABLE;
	return runtime->consume_link ? consume_link_queue_durability(runtime->consume_link)
				     : QUEUE_DURABILITY_UNASKED;
}

const struct backlog *pool_runtime_backlog(const struct pool_runtime *runtime)
{
	return runtime->consume_link ? consume_link_backlog(runtime->consume_link) : NULL;
}

const struct backlog *pool_runtime_dead_letters(const struct pool_runtime *runtime)
{
	return runtime->consume_link ? consume_link_dead_letters(runtime->consume_link) : NULL;
}

const struct wait_probe *pool_runtime_waits(const struct pool_runtime *runtime)
{
	return runtime->consume_link ? consume_link_waits(runtime->consume_link) : NULL;
}

pid_t pool_runtime_slot_pid(const struct pool_runtime *runtime, uint16_t slot)
{
	return workers_pid(runtime->workers, slot, pool_slot_facts(runtime->pool, slot).life);
}
