#include "runtime/pool_runtime_config.h"

#include "base/log.h"
#include "os/random_id.h"
#include "runtime/consume_link.h"

#include <assert.h>
#include <string.h>
#include <unistd.h>

/* Reserved in a reply's header frame for its other properties at their longest and for what the
 * broker may add. */
#define HEADER_FRAME_REST (8 * 1024)
#define FRAME_MAX_MIN     (64 * 1024)   /* assumed until a connection has negotiated it */
#define FRAME_MARGIN      (1024 * 1024) /* PROTOCOL.md, section 4: max_frame */

/* The ranges of settings are those of the core. */
_Static_assert(CONFIG_WORKERS_MAX == POOL_WORKERS_MAX, "workers");
_Static_assert(CONFIG_PIPELINE_MAX == POOL_PIPELINE_MAX, "pipeline");
_Static_assert(CONFIG_CONCURRENCY_MAX == POOL_CONCURRENCY_MAX, "concurrency");
_Static_assert(CONFIG_PREFETCH_MAX == POOL_WINDOW_MAX, "prefetch");
_Static_assert(CONFIG_DELAYS_MAX == RETRY_DELAYS_MAX, "retry.delay");
/* And of the broker's channels. */
_Static_assert(CONFIG_QUEUE_ARGUMENTS_MAX == QUEUE_SETTINGS_ARGUMENTS_MAX, "queue_arguments");
_Static_assert(CONFIG_QUEUE_ARGUMENT_NAME_MAX == PROBE_KEY_SIZE - 1, "their names");
_Static_assert(CONFIG_QUEUE_ARGUMENT_VALUE_MAX == PROBE_VALUE_SIZE - 1, "their values");
_Static_assert(CONFIG_BINDING_HEADERS_MAX == AMQP_ARGUMENTS_MAX, "headers of bindings");
_Static_assert(CONFIG_BINDING_MAX < QUEUE_BINDING_SIZE, "bindings");

struct text pool_runtime_dead_letter(const struct config_pool *config)
{
	struct text name = text_from(config->retry.dead_letter);

	return text_is(name, TEXT("broker")) ? TEXT_NONE : name;
}

uint32_t pool_runtime_header_bytes(uint32_t frame_max)
{
	return frame_max - (frame_max > 2 * HEADER_FRAME_REST ? HEADER_FRAME_REST : frame_max / 2);
}

static uint32_t retried_of(const struct config_pool *config)
{
	static const uint32_t reasons_of[] = {
		[CONFIG_RETRY_FAILED] = 1u << REASON_FAILED,
		[CONFIG_RETRY_CRASHED] = 1u << REASON_CRASHED,
		[CONFIG_RETRY_TIMED_OUT] = 1u << REASON_TIMED_OUT,
		[CONFIG_RETRY_PROTOCOL_ERROR] = 1u << REASON_PROTOCOL,
		[CONFIG_RETRY_UNROUTABLE] = 1u << REASON_UNROUTABLE | 1u << REASON_REPLY_INVALID |
					    1u << REASON_REPLY_REFUSED,
	};
	uint32_t reasons = 0;

	for (size_t i = 0; i < sizeof reasons_of / sizeof *reasons_of; i++)
		if (config->retry.on & 1u << i)
			reasons |= reasons_of[i];
	return reasons;
}

/* 0: none. */
static struct recycle_limits recycle_limits_of(const struct config_pool *config)
{
	bool has_tasks = config->recycle.tasks != MTIME_NEVER;
	bool has_age = config->recycle.age != MTIME_NEVER;
	bool has_memory = config->recycle.memory != MTIME_NEVER;
	bool has_kill = config->recycle.memory_kill != MTIME_NEVER;

	return (struct recycle_limits){
		.tasks = has_tasks ? (uint32_t)config->recycle.tasks : 0,
		.age = has_age ? config->recycle.age : 0,
		.memory = has_memory ? (uint64_t)config->recycle.memory : 0,
		.memory_kill = has_kill ? (uint64_t)config->recycle.memory_kill : 0,
		.seed = (uint32_t)getpid(),
	};
}

bool pool_runtime_watches_memory(const struct config_pool *config)
{
	struct recycle_limits limits = recycle_limits_of(config);

	return limits.memory || limits.memory_kill;
}

/* One for the process's life, so that publishers cannot choose keys that collide in the table. */
static uint64_t hash_seed(void)
{
	static bool is_chosen;
	static uint64_t seed;

	if (!is_chosen)
		seed = random_id_seed();
	is_chosen = true;
	return seed;
}

/* none: as session_config has it. */
static struct session_config session_config_of(const struct config_session *session)
{
	static const enum session_failure on_failure[] = {
		[CONFIG_SESSION_SKIP] = SESSION_SKIP,
		[CONFIG_SESSION_BLOCK] = SESSION_BLOCK,
	};
	bool has_places = session->max_active != MTIME_NEVER;

	if (!session->key)
		return (struct session_config){0};
	return (struct session_config){
		.is_on = true,
		.hash_seed = hash_seed(),
		.quantum = (uint32_t)session->quantum.tasks,
		.quantum_time = session->quantum.time,
		.on_failure = on_failure[session->on_failure],
		.idle = session->idle == MTIME_NEVER ? 0 : session->idle,
		.max_active = has_places ? (uint32_t)session->max_active : 0,
		.max_sessions = (uint32_t)session->max_sessions,
		.max_unacked_age = session->max_unacked_age,
		.takeover_delay = session->takeover_delay,
		.is_return_free = session->delivery_limit == CONFIG_DELIVERY_LIMIT_NONE,
	};
}

struct pool_config pool_runtime_pool_config(const struct config_pool *config)
{
	static const enum unroutable unroutable[] = {
		[CONFIG_UNROUTABLE_REJECT] = UNROUTABLE_REJECT,
		[CONFIG_UNROUTABLE_DROP] = UNROUTABLE_DROP,
		[CONFIG_UNROUTABLE_RETRY] = UNROUTABLE_RETRY,
	};
	static const enum soft_action on_soft[] = {
		[CONFIG_SOFT_NOTHING] = SOFT_NOTHING,
		[CONFIG_SOFT_CONTEXT_SWITCH] = SOFT_CONTEXT_SWITCH,
		[CONFIG_SOFT_CANCEL] = SOFT_CANCEL,
	};
	struct pool_config pool = {
		.name = config->name,
		.workers = (uint16_t)config->workers,
		.workers_max = (uint16_t)config->workers_max,
		.pipeline = (uint16_t)config->pipeline,
		.concurrency = (uint16_t)config->concurrency,
		.pipe_wait = config->pipe_wait,
		.prefetch = (uint16_t)config->prefetch,
		.boot_limit = config->limits.boot,
		.soft_limit = config->limits.soft,
		.on_soft = on_soft[config->limits.on_soft],
		.hard_limit = config->limits.hard,
		.grace = config->limits.grace,
		.memory = (size_t)config->memory,
		.outbox_limit = (size_t)config->outbox,
		.recycle = recycle_limits_of(config),
		.session = session_config_of(&config->session),
		.policy =
			{
				.attempts = (uint16_t)config->retry.attempts,
				.retried = retried_of(config),
				.dead_letter_by_broker = !pool_runtime_dead_letter(config).len,
				.unroutable = unroutable[config->unroutable],
				.slices = (uint32_t)config->limits.slices,
				.delay_count = (uint8_t)config->retry.delay.count,
				.queue = text_from(config->queue),
				.reply_queues = config->reply_queues,
				.blocks_session =
					config->session.key &&
					config->session.on_failure == CONFIG_SESSION_BLOCK,
			},
	};

	memcpy(pool.policy.delays, config->retry.delay.each, sizeof pool.policy.delays);
	return pool;
}

/* 0: none. */
static int64_t milliseconds(mtime limit)
{
	return limit == MTIME_NEVER ? 0 : limit / MTIME_MS;
}

struct workers_config pool_runtime_workers_config(const struct config_pool *config)
{
	static const enum task_body body[] = {
		[CONFIG_BODY_AUTO] = TASK_BODY_AUTO,
		[CONFIG_BODY_STR] = TASK_BODY_STR,
		[CONFIG_BODY_BIN] = TASK_BODY_BIN,
	};
	static const enum task_headers headers[] = {
		[CONFIG_HEADERS_TEXT] = TASK_HEADERS_TEXT,
		[CONFIG_HEADERS_TYPED] = TASK_HEADERS_TYPED,
	};
	bool has_processes = config->limits.group_processes != MTIME_NEVER;
	bool has_memory = config->limits.group_memory != MTIME_NEVER;

	return (struct workers_config){
		.pool = config->name,
		.command = config_pool_program(config),
		.is_preloaded = config->preload != NULL,
		.boot_limit = config->limits.boot,
		.rights = &config->rights,
		.variables = config->env,
		.passed = config->env_pass,
		.group_limits = {.processes = has_processes ? config->limits.group_processes : 0,
			.memory_bytes = has_memory ? config->limits.group_memory : 0},
		.folder = config->cwd,
		.workers = (uint16_t)config->workers,
		.concurrency = (uint16_t)config->concurrency,
		.pipe = config->pipe,
		.task =
			{
				.body = body[config->body],
				.headers = headers[config->headers],
				.properties = config->properties,
				.has_id = config->pipe != PIPE_COREFX,
				.frame_limit = (size_t)config->max_body + FRAME_MARGIN,
				.soft_ms = milliseconds(config->limits.soft),
				.attempts = (uint16_t)config->retry.attempts,
				.queue = text_from(config->queue),
			},
		.answer =
			{
				.header_bytes = pool_runtime_header_bytes(FRAME_MAX_MIN),
				.body_bytes = (uint64_t)config->max_body,
				.bare_str_is_failure = config->pipe == PIPE_COREFX,
			},
		.log_rate = {config->log_rate, config->log_bytes},
		.hard_limit_ms = milliseconds(config->limits.hard),
	};
}

/* Without retries no task waits for one. */
static struct retry_plan retry_plan_of(const struct config_pool *config)
{
	struct retry_plan plan = {.jitter = (unsigned)config->retry.jitter};

	if (config->retry.attempts > 1 && config->retry.on)
		plan.count = config->retry.delay.count;
	memcpy(plan.delays, config->retry.delay.each, sizeof plan.delays);
	return plan;
}

/* check-config refuses what key_source_parse refuses. */
static struct key_source key_source_of(const struct config_session *session)
{
	struct key_source source = {.kind = KEY_NONE};
	const char *problem =
		session->key ? key_source_parse(text_from(session->key), &source) : NULL;

	assert(!problem);
	source.is_required = session->key && session->without_key == CONFIG_WITHOUT_KEY_REJECT;
	return source;
}

struct consumer_config pool_runtime_consumer_config(const struct config_pool *config, uint32_t seed)
{
	static const enum declare declare[] = {
		[CONFIG_DECLARE_OFF] = DECLARE_OFF,
		[CONFIG_DECLARE_PASSIVE] = DECLARE_PASSIVE,
		[CONFIG_DECLARE_ON] = DECLARE_ON,
	};

	return (struct consumer_config){
		.channel = CONSUME_CHANNEL,
		.queue = text_from(config->queue),
		.declare = declare[config->declare],
		.settings = {config->queue_arguments, config->bindings},
		.dead_letter = pool_runtime_dead_letter(config),
		.retry = retry_plan_of(config),
		.body_limit = (uint64_t)config->max_body,
		.keep_route = config->properties,
		.key = key_source_of(&config->session),
		.is_ordered = config->session.key != NULL,
		.has_token = config->session.key != NULL &&
			     config->session.takeover_delay != MTIME_NEVER,
		.is_type_checked = config->session.key == NULL,
		.is_return_free = config->session.delivery_limit == CONFIG_DELIVERY_LIMIT_NONE,
		.seed = seed,
	};
}

struct publisher_config pool_runtime_publisher_config(
	const struct config_pool *config, uint32_t seed)
{
	return (struct publisher_config){
		.queue = text_from(config->queue),
		.dead_letter = pool_runtime_dead_letter(config),
		.retry = retry_plan_of(config),
		.seed = seed,
	};
}
