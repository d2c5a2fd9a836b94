#include "core/tasks/pace.h"

#include "core/dispatch/dispatch.h"

/* The estimate is at most so many fills, so one very slow task is forgotten after some ten turns.
 */
#define SLOWEST_FILLS 4
#define MEASURE_TIME  (100 * MTIME_MS)
/* Each measure, the expected body size shrinks by this share: after a second of small bodies, a
 * third of a large one is left. */
#define BODY_FADES 8
#define SLACK_TIME (100 * MTIME_MS)
/* With pipeline: auto, more tasks than these behind all heads keep no more workers busy. */
#define BEHIND_MAX 1024
/* A window that is too wide costs little. To narrow it costs redeliveries: the queue takes back
 * what is on its way to the cancelled consumer. */
#define GROW_AFTER   (200 * MTIME_MS)
#define SHRINK_AFTER MTIME_MINUTE

void pace_configure(struct pace *pace, const struct pool_config *config)
{
	pace->concurrency = config->concurrency;
	pace->pipeline = config->pipeline;
	pace->prefetch = config->prefetch;
	pace->memory = config->memory;
	if (pace->fill_ns == config->pipe_wait * 1000)
		return;
	pace->fill_ns = config->pipe_wait * 1000;
	pace_held_up(pace); /* nothing is measured yet */
}

void pace_init(struct pace *pace, const struct pool_config *config, mtime now)
{
	*pace = (struct pace){
		.workers = config->workers,
		.measured_at = now,
		.slack = config->workers,
		.window_max = UINT32_MAX,
		.changed_at = now,
	};
	list_init(&pace->answered);
	pace_configure(pace, config);
}

void pace_scaled(struct pace *pace, uint16_t workers)
{
	pace->workers = workers;
	if (pace->slack < workers)
		pace->slack = workers;
}

void pace_answered(struct pace *pace, struct pipe *pipe, mtime took)
{
	if (pipe->batch++ == 0)
		list_append(&pace->answered, &pipe->answered);
	pipe->batch_time += took;
}

static int64_t slowest_ns(const struct pace *pace)
{
	return pace->fill_ns * SLOWEST_FILLS;
}

void pace_held_up(struct pace *pace)
{
	pace->estimate_ns = slowest_ns(pace);
}

void pace_arrived(struct pace *pace, size_t size)
{
	pace->has_arrived = true;
	if (size > pace->largest)
		pace->largest = size;
	if (size > pace->size)
		pace->size = size;
}

/* The slack is enough for a tenth of a second at the present rate: a quorum queue delivers the next
 * message only when the ack of another one is on disk, which takes 20 to 80 ms under load
 * (calculated from the rates of plain consumers with different prefetch). Twice the deliveries that
 * wait for confirms are added: if confirms are slow, the window would otherwise limit the rate, and
 * the rate the window. */
static void end_measure(struct pace *pace, mtime span, mtime now)
{
	uint64_t slack = (uint64_t)pace->settled * SLACK_TIME / (uint64_t)span;
	if (pace->settled)
		slack += 2 * (uint64_t)pace->held;
	if (slack < pace->workers)
		slack = pace->workers;
	pace->slack = slack < POOL_WINDOW_MAX ? (uint32_t)slack : POOL_WINDOW_MAX;
	/* Without an arrival the size stays: large bodies may still wait for slow tasks. */
	if (pace->has_arrived)
		pace->size -= pace->size / BODY_FADES;
	if (pace->size < pace->largest)
		pace->size = pace->largest;
	pace->largest = 0;
	pace->has_arrived = false;
	pace->measured_at = now;
	pace->settled = 0;
	pace->held = 0;
}

/* Slower tasks count at once, faster ones little by little: in a pipe that is too full, tasks wait
 * behind a slow one; a pipe that is too empty costs only a little speed. */
void pace_turn(struct pace *pace, uint32_t unconfirmed, mtime now)
{
	struct link *link;
	while ((link = list_first(&pace->answered))) {
		struct pipe *pipe = CONTAINER_OF(link, struct pipe, answered);
		mtime time = mtime_min(pipe->batch_time, MTIME_NEVER / 1000);
		int64_t task_ns = time * 1000 / pipe->batch;
		if (task_ns >= pace->fill_ns)
			pace->estimate_ns = task_ns < slowest_ns(pace) ? task_ns : slowest_ns(pace);
		else if (task_ns > pace->estimate_ns)
			pace->estimate_ns += (task_ns - pace->estimate_ns + 1) / 2;
		else
			pace->estimate_ns -= (pace->estimate_ns - task_ns) / 8;
		list_remove(link);
		pipe->batch = 0;
		pipe->batch_time = 0;
	}
	if (unconfirmed > pace->held)
		pace->held = unconfirmed;
	mtime span = now - pace->measured_at;
	if (span >= MEASURE_TIME)
		end_measure(pace, span, now);
}

mtime pace_pipe_wait(const struct pace *pace)
{
	return pace->pipeline ? MTIME_NEVER : pace->fill_ns / 1000;
}

uint32_t pace_depth(const struct pace *pace)
{
	if (pace->concurrency > 1)
		return pace->concurrency;
	if (pace->pipeline)
		return pace->pipeline;
	if (pace->estimate_ns * POOL_PIPELINE_MAX <= pace->fill_ns)
		return POOL_PIPELINE_MAX;
	int64_t depth = pace->fill_ns / pace->estimate_ns;
	return depth ? (uint32_t)depth : 1;
}

bool pace_is_short(const struct pace *pace)
{
	return pace->estimate_ns < pace->fill_ns;
}

uint32_t pace_pack(const struct pace *pace)
{
	if (pace->pipeline)
		return 1;
	uint32_t depth = pace_depth(pace);
	/* The estimate is never 0, since it falls by an eighth at a time. */
	int64_t pack = DISPATCH_WAKING * 1000 / pace->estimate_ns;
	if (pack >= depth)
		return depth;
	return pack ? (uint32_t)pack : 1;
}

static size_t memory_window(const struct pace *pace)
{
	size_t window = pace->memory / (pace->size ? pace->size : 1);
	return window ? window : 1;
}

uint32_t pace_window(const struct pace *pace)
{
	size_t max = memory_window(pace);
	uint32_t window = pace->prefetch;
	if (!window) {
		uint32_t behind = pace->workers * (pace_depth(pace) - 1);
		if (!pace->pipeline && behind > BEHIND_MAX)
			behind = BEHIND_MAX;
		window = pace->workers + behind + pace->slack;
	}
	if (window > POOL_WINDOW_MAX)
		window = POOL_WINDOW_MAX;
	if (window > pace->window_max)
		window = pace->window_max;
	return window < max ? window : (uint32_t)max;
}

bool pace_may_change(const struct pace *pace, mtime now)
{
	return now - pace->changed_at >= GROW_AFTER;
}

/* What a cancelled consumer delivered stays in hand. So the window does not grow before that is
 * less than the window: otherwise each change back and forth would add to it without an end. */
bool pace_changes_window(const struct pace *pace, uint32_t present, uint32_t in_hand, mtime now)
{
	uint32_t wanted = pace_window(pace);
	if (wanted >= 2 * present)
		return in_hand <= present && pace_may_change(pace, now);
	if (2 * wanted > present)
		return false;
	return present > memory_window(pace) || now - pace->changed_at >= SHRINK_AFTER;
}
