#include "unit/support/core/rig.h"

#include <stdarg.h>
#include <stdio.h>

static void rig_note(char *into, const char *format, ...) PRINTF_LIKE(2, 3);
static void rig_note(char *into, const char *format, ...)
{
	size_t len = strlen(into);
	va_list args;
	va_start(args, format);
	int more = vsnprintf(into + len, 4096 - len, format, args);
	va_end(args);
	if (more >= (int)(4096 - len)) /* an assertion of check costs more than a step */
		ck_abort_msg("too many effects to compare");
}

static void rig_separate(char *into)
{
	if (into[0])
		rig_note(into, ", ");
}

static enum send_result rig_on_send(
	void *io, uint16_t slot, struct delivery *delivery, uint16_t attempt)
{
	struct rig *rig = io;
	if (rig->send != SEND_OK || rig->is_mute)
		return rig->send;
	rig_separate(rig->done);
	rig_note(rig->done, "send %u:%llu", slot, (unsigned long long)delivery->tag);
	if (attempt > 1)
		rig_note(rig->done, "/%u", attempt);
	return SEND_OK;
}

static void rig_on_ack(void *io, uint64_t tag, bool multiple)
{
	struct rig *rig = io;
	rig_separate(rig->done);
	rig_note(rig->done, "ack %llu%s", (unsigned long long)tag, multiple ? "*" : "");
}

static void rig_on_reject(void *io, uint64_t tag, enum reject how)
{
	struct rig *rig = io;
	rig_separate(rig->done);
	rig_note(rig->done, "%s %llu", how == REJECT_REQUEUE ? "requeue" : "reject",
		(unsigned long long)tag);
}

static void rig_on_publish(void *io, const struct parcel *parcel)
{
	static const char *const kinds[] = {
		"reply", "hand-back", "retry", "dead", "renew", "postpone", "later", "refuse"};
	struct rig *rig = io;
	rig_separate(rig->done);
	rig_note(rig->done, "publish %llu %s %llu", (unsigned long long)parcel->seq.number,
		kinds[parcel->kind], (unsigned long long)parcel->delivery->tag);
	if (parcel->delay)
		rig_note(rig->done, " after %lld", (long long)(parcel->delay / MTIME_MS));
	if (parcel->output && parcel->output->status == 0 && parcel->output->stderr_line.len > 0)
		rig_note(rig->done, " '%.*s'", TEXT_ARGS(parcel->output->stderr_line));
}

static void rig_on_source(void *io, enum source_request request, uint32_t window)
{
	struct rig *rig = io;
	rig_separate(rig->done);
	if (request == SOURCE_CONSUME)
		rig_note(rig->done, "consume %u", window);
	else
		rig_note(rig->done, request == SOURCE_REST    ? "rest"
				    : request == SOURCE_LEAVE ? "leave"
							      : "close");
}

static void rig_on_slot(void *io, uint16_t slot, uint32_t life, enum slot_request request)
{
	static const char *const wishes[] = {"spawn", "quit", "term", "kill"};
	struct rig *rig = io;
	rig_separate(rig->done);
	rig_note(rig->done, "%s %u.%u", wishes[request], slot, life);
}

static bool rig_on_ask(
	void *io, uint16_t slot, uint32_t life, enum task_request request, uint64_t task_id)
{
	static const char *const requests[] = {"switch", "cancel"};
	struct rig *rig = io;
	rig->asks++;
	if (rig->is_mute)
		return true;
	rig_separate(rig->done);
	rig_note(rig->done, "%s %u.%u:%llu", requests[request], slot, life,
		(unsigned long long)task_id);
	return !rig->is_deaf;
}

static bool rig_on_allow_slots(void *io, uint16_t slots)
{
	struct rig *rig = io;
	return rig->slots_max == 0 || slots <= rig->slots_max;
}

static mtime rig_on_waited(void *io, uint16_t slot, uint32_t life)
{
	const struct rig *rig = io;
	(void)slot;
	(void)life;
	return rig->waited;
}

static void rig_on_tell(void *io, const struct notice *notice)
{
	static const char *const names[] = {
#define X(kind) #kind,
		NOTICE_KINDS(X)
#undef X
	};
	struct rig *rig = io;
	rig_separate(rig->told);
	rig_note(rig->told, "%s", names[notice->kind] + strlen("NOTICE_"));
	rig->duration = notice->duration;
	if (notice->life > rig->latest_life)
		rig->latest_life = notice->life;
	if (notice->what) {
		rig->what = notice->what;
		rig->number = notice->number;
	}
	if (notice->output) {
		rig->status = notice->output->status;
		snprintf(
			rig->detail, sizeof rig->detail, "%.*s", TEXT_ARGS(notice->output->detail));
	}
	if (notice->reason) {
		rig->reason = notice->reason;
		rig->attempt = notice->attempt;
	}
	if (notice->open)
		rig->culprit = notice->delivery ? notice->delivery->tag : 0;
}

/* Two deliveries of one message have the same body. */
static bool rig_is_same(void *io, const struct delivery *one, const struct delivery *other)
{
	(void)io;
	return text_is(one->body, other->body);
}

static int64_t rig_on_wall_ms(void *io)
{
	const struct rig *rig = io;
	return rig_wall_ms(rig);
}

static void rig_on_name(void *io, const struct session_handover *handover)
{
	struct rig *rig = io;
	rig_separate(rig->done);
	if (handover)
		rig_note(rig->done, "name %.*s%s", TEXT_ARGS(handover->key),
			handover->past.is_high ? "!" : "");
	else
		rig_note(rig->done, "name none");
}

static void rig_on_window(void *io, uint32_t window)
{
	struct rig *rig = io;
	rig_separate(rig->done);
	rig_note(rig->done, "window %u", window);
}

static void rig_on_hand_over(void *io, const struct session_handover *handover)
{
	struct rig *rig = io;
	rig_separate(rig->done);
	rig_note(rig->done, "hand over %.*s%s", TEXT_ARGS(handover->key),
		handover->is_paused ? " paused" : "");
	if (handover->has_message)
		rig_note(rig->done, " %s %u %s%s%s%s %lld",
			handover->past.is_high ? "high" : "normal", handover->past.attempt,
			handover->past.is_later ? "later" : "first",
			handover->past.is_blocked ? " blocked" : "",
			handover->has_rest ? " rest" : "",
			handover->past.is_poison ? " poison" : "",
			(long long)(handover->past.wait / MTIME_MS));
}

/* The keys for the second throttle of before. */
static void rig_find_throttle_keys(void *io, struct delivery *delivery)
{
	struct rig *rig = io;
	rig_separate(rig->done);
	rig_note(rig->done, "keys %llu", (unsigned long long)delivery->tag);
	delivery->throttle_keys[0] = delivery->throttle_keys[1];
}

const struct effects rig_effects = {
	.send = rig_on_send,
	.ack = rig_on_ack,
	.reject = rig_on_reject,
	.publish = rig_on_publish,
	.source = rig_on_source,
	.slot = rig_on_slot,
	.ask = rig_on_ask,
	.is_same = rig_is_same,
	.allow_slots = rig_on_allow_slots,
	.waited = rig_on_waited,
	.wall_ms = rig_on_wall_ms,
	.emit = rig_on_tell,
	.hand_over = rig_on_hand_over,
	.window = rig_on_window,
	.name = rig_on_name,
	.find_throttle_keys = rig_find_throttle_keys,
};

struct pool_config rig_config(uint16_t workers, uint16_t pipeline)
{
	return (struct pool_config){
		.name = "unit",
		.concurrency = 1,
		.workers = workers,
		.pipeline = pipeline,
		.prefetch = 8, /* so few that no ack waits for others */
		.memory = 1 << 20,
		.boot_limit = 10 * MTIME_SECOND,
		.hard_limit = 60 * MTIME_SECOND,
		.grace = 5 * MTIME_SECOND,
		.outbox_limit = 1 << 20,
		.policy = {.attempts = 3,
			.slices = 2,
			.retried = SETTLE_RETRIED_ALL,
			.queue = TEXT("own")},
	};
}

struct pool_config rig_several(uint16_t workers, uint16_t concurrency)
{
	struct pool_config config = rig_config(workers, 1);
	config.concurrency = concurrency;
	return config;
}

struct pool_config rig_recycling(uint16_t workers, uint16_t pipeline, struct recycle_limits limits)
{
	struct pool_config config = rig_config(workers, pipeline);
	config.recycle = limits;
	config.hard_limit = MTIME_NEVER;
	return config;
}

void rig_step(struct rig *rig, struct event event)
{
	pool_step(rig->pool, rig->now, &event);
	if (!rig->is_unaudited)
		pool_audit(rig->pool);
}

void rig_turn(struct rig *rig)
{
	if (starts_look_at(&rig->starts) <= rig->now)
		starts_look(&rig->starts, rig->now, rig->is_busy ? 0 : RIG_PROCESSORS * rig->now);
	rig_step(rig, (struct event){.kind = TURN_END,
			      .arrived_after = rig->arrived_after,
			      .boot = rig->now + rig->suspended});
}

void rig_wait(struct rig *rig, mtime span)
{
	mtime end = rig->now + span;
	while (pool_deadline(rig->pool) <= end) {
		rig->now =
			pool_deadline(rig->pool) > rig->now ? pool_deadline(rig->pool) : rig->now;
		rig_turn(rig);
		ck_assert(pool_deadline(rig->pool) > rig->now);
	}
	rig->now = end;
	rig_turn(rig);
}

void rig_fail_start(struct rig *rig, uint16_t slot, uint32_t life)
{
	rig_gone(rig, slot, life);
	rig_wait(rig, 4 * MTIME_SECOND);
}

void rig_expect(struct rig *rig, const char *done)
{
	ck_assert_str_eq(rig->done, done);
	rig->done[0] = 0;
}

void rig_expect_told(struct rig *rig, const char *told)
{
	ck_assert_str_eq(rig->told, told);
	rig->told[0] = 0;
}

void rig_forget(struct rig *rig)
{
	rig->done[0] = rig->told[0] = 0;
}

void rig_new(struct rig *rig, const struct pool_config *config)
{
	*rig = (struct rig){.now = MTIME_SECOND};
	starts_init(&rig->starts, 1000 * RIG_PROCESSORS, 0);
	rig->pool = pool_new(config, &rig->starts, &rig->last_task_id, &rig_effects, rig, rig->now);
	ck_assert_ptr_nonnull(rig->pool);
	pool_audit(rig->pool);
}

void rig_ready(struct rig *rig, uint16_t slot, uint32_t life)
{
	rig_step(rig, (struct event){.kind = SLOT_READY, .slot = {.slot = slot, .life = life}});
}

void rig_source_up(struct rig *rig)
{
	rig_step(rig, (struct event){.kind = SOURCE_UP, .source = {.epoch = ++rig->source_epoch}});
}

void rig_source_fact(struct rig *rig, enum event_kind kind)
{
	rig_step(rig, (struct event){.kind = kind, .source = {.epoch = rig->source_epoch}});
}

void rig_outbox_up(struct rig *rig)
{
	rig_step(rig, (struct event){.kind = OUTBOX_UP, .outbox = {.epoch = ++rig->outbox_epoch}});
}

void rig_outbox_down(struct rig *rig, enum outbox_loss loss)
{
	rig_step(rig, (struct event){.kind = OUTBOX_DOWN,
			      .outbox = {.epoch = rig->outbox_epoch, .loss = loss}});
}

void rig_outbox_fact(struct rig *rig, enum event_kind kind, uint64_t seq, bool multiple)
{
	rig_step(rig,
		(struct event){.kind = kind,
			.outbox = {.epoch = rig->outbox_epoch, .seq = seq, .multiple = multiple}});
}

void rig_confirm(struct rig *rig, uint64_t seq)
{
	rig_outbox_fact(rig, CONFIRMED, seq, false);
}

struct delivery *rig_delivery(uint64_t tag)
{
	struct delivery *delivery = delivery_new(0);
	ck_assert_ptr_nonnull(delivery);
	delivery->tag = tag;
	delivery->reply_to = TEXT("caller");
	return delivery;
}

void rig_deliver_this(struct rig *rig, struct delivery *delivery)
{
	rig_step(rig, (struct event){.kind = DELIVERY,
			      .source = {.epoch = rig->source_epoch, .delivery = delivery}});
}

void rig_deliver(struct rig *rig, uint64_t first, uint64_t last)
{
	for (uint64_t tag = first; tag <= last; tag++)
		rig_deliver_this(rig, rig_delivery(tag));
}

struct output *rig_output(int32_t status, const char *reply_queue)
{
	struct output *output = output_new(0);
	if (!output)
		ck_abort_msg("out of memory");
	output->status = status;
	output->reply_queue = text_from(reply_queue);
	return output;
}

void rig_answer_this(struct rig *rig, uint16_t slot, uint32_t life, struct output *output)
{
	rig_step(rig, (struct event){.kind = SLOT_OUTPUT,
			      .arrived_after = rig->arrived_after,
			      .slot = {.slot = slot, .life = life, .output = output}});
}

void rig_done(struct rig *rig, uint16_t slot, uint32_t life)
{
	rig_answer_this(rig, slot, life, rig_output(200, NULL));
}

void rig_memory(struct rig *rig, uint16_t slot, uint32_t life, uint64_t bytes)
{
	rig_step(rig, (struct event){.kind = SLOT_MEMORY,
			      .slot = {.slot = slot, .life = life, .bytes = bytes}});
}

void rig_answer(struct rig *rig, uint16_t slot, int32_t status)
{
	rig_answer_this(rig, slot, 1, rig_output(status, NULL));
}

void rig_answer_task(
	struct rig *rig, uint16_t slot, uint32_t life, uint64_t task_id, int32_t status)
{
	struct output *output = rig_output(status, NULL);
	output->task_id = task_id;
	rig_answer_this(rig, slot, life, output);
}

void rig_broken_task(struct rig *rig, uint16_t slot, uint64_t task_id)
{
	rig_step(rig,
		(struct event){.kind = SLOT_BROKEN,
			.slot = {
				.slot = slot, .life = 1, .task_id = task_id, .what = "bad frame"}});
}

void rig_broken(struct rig *rig, uint16_t slot, uint32_t life)
{
	rig_step(rig, (struct event){.kind = SLOT_BROKEN,
			      .slot = {.slot = slot,
				      .life = life,
				      .what = "bad frame",
				      .output = output_add_detail(NULL, TEXT("ca fe"))}});
}

static void gone(struct rig *rig, uint16_t slot, uint32_t life, struct output *words)
{
	struct exit_info exit = {.kind = EXIT_SIGNAL, .number = 9};
	rig_step(rig, (struct event){.kind = SLOT_GONE,
			      .slot = {.slot = slot, .life = life, .exit = exit, .output = words}});
}

void rig_gone(struct rig *rig, uint16_t slot, uint32_t life)
{
	gone(rig, slot, life, NULL);
}

void rig_gone_saying(struct rig *rig, uint16_t slot, uint32_t life, const char *words)
{
	struct output *output = rig_output(0, NULL);
	output = output_add_stderr_line(output, text_from(words));
	gone(rig, slot, life, output);
}

void rig_set_writable(struct rig *rig, uint16_t slot, bool is_writable)
{
	rig_step(rig, (struct event){.kind = SLOT_WRITABLE,
			      .slot = {.slot = slot, .life = 1, .is_writable = is_writable}});
}

void rig_command(struct rig *rig, enum command command)
{
	rig_step(rig, (struct event){.kind = COMMAND, .command.what = command});
}

void rig_scale(struct rig *rig, uint32_t workers)
{
	rig_step(rig, (struct event){.kind = COMMAND,
			      .command = {.what = COMMAND_SCALE, .number = workers}});
}

void rig_configure(struct rig *rig, struct pool_config config)
{
	rig_step(rig, (struct event){.kind = COMMAND,
			      .command = {.what = COMMAND_CONFIGURE, .config = &config}});
}

void rig_start(struct rig *rig, struct pool_config config)
{
	rig_new(rig, &config);
	rig_turn(rig);
	while (pool_deadline(rig->pool) <= rig->now + 1) /* a turn starts few */
		rig_wait(rig, 1);
	for (uint16_t slot = 0; slot < config.workers; slot++)
		rig_ready(rig, slot, 1);
	rig_turn(rig);
	rig_source_up(rig);
	rig_outbox_up(rig);
	rig_turn(rig);
	rig_forget(rig);
}

void rig_begin(struct rig *rig, struct pool_config config, uint64_t last)
{
	rig_start(rig, config);
	rig_deliver(rig, 1, last);
	rig_turn(rig);
	rig_forget(rig);
}

void rig_end(struct rig *rig)
{
	pool_free(rig->pool);
}
