#include "check_worker/exchange.h"

#include "amqp/table.h"
#include "message/names.h"

#include <assert.h>

void exchange_init(struct exchange *exchange, uint16_t concurrency, uint64_t first_id)
{
	*exchange = (struct exchange){.concurrency = concurrency, .first_id = first_id};
}

size_t exchange_open(const struct exchange *exchange)
{
	return exchange->count - exchange->answered;
}

void exchange_add(struct exchange *exchange, uint64_t id, enum task_kind kind)
{
	assert(exchange->count < EXCHANGE_TASKS);
	assert(exchange->concurrency == 1 || exchange_open(exchange) < exchange->concurrency);
	exchange->tasks[exchange->count++] = (struct sent_task){.id = id, .kind = kind};
}

/* FNV-1a. */
static uint64_t digest_add(uint64_t digest, struct text bytes)
{
	for (size_t i = 0; i < bytes.len; i++)
		digest = (digest ^ (uint8_t)bytes.ptr[i]) * UINT64_C(0x100000001b3);
	return digest;
}

/* Without the id, which differs, and without headers, whose order may. */
static uint64_t digest_of(const struct output *output)
{
	uint64_t digest = UINT64_C(0xcbf29ce484222325);
	digest = digest_add(digest, text_of(&output->status, sizeof output->status));
	digest = digest_add(digest, output->body);
	return digest_add(digest, output->reply_queue);
}

static struct sent_task *find(struct exchange *exchange, uint64_t id)
{
	for (size_t i = 0; i < exchange->count; i++)
		if (exchange->tasks[i].id == id)
			return &exchange->tasks[i];
	return NULL;
}

static bool refuse_unknown(const struct exchange *exchange, const char *what, uint64_t id,
	struct text whole, struct fault *ret)
{
	if (id < exchange->first_id)
		return fault_set(ret, FAULT_ID_EARLIER, whole,
			"%s task %llu, which an earlier worker had", what, (unsigned long long)id);
	return fault_set(ret, FAULT_ID_UNKNOWN, whole, "%s task %llu, which no worker has had",
		what, (unsigned long long)id);
}

static const char *what_it_is(const struct output *output)
{
	if (output->status == STATUS_ACCEPTED)
		return "an output that accepts";
	return output->status == STATUS_PROGRESS ? "progress of" : "an answer to";
}

/* The open task that an output with an id belongs to; NULL: *ret_fault is set. */
static struct sent_task *task_of_id(struct exchange *exchange, const struct output *output,
	struct text whole, struct fault *ret_fault)
{
	bool is_answer = output_ends_task(output);
	const char *what = what_it_is(output);
	unsigned long long id = output->task_id;
	struct sent_task *task = find(exchange, output->task_id);
	exchange->named++;
	if (!task)
		refuse_unknown(exchange, what, output->task_id, whole, ret_fault);
	else if (task->is_answered && !is_answer)
		fault_set(ret_fault, FAULT_LATE_PROGRESS, whole, "%s task %llu, which is answered",
			what, id);
	else if (task->is_answered)
		fault_set(ret_fault, FAULT_TWICE, whole, "a second answer to task %llu", id);
	else if (exchange->concurrency == 1 && task != &exchange->tasks[exchange->oldest])
		fault_set(ret_fault, FAULT_ORDER, whole,
			"%s task %llu before the answer to task %llu", what, id,
			(unsigned long long)exchange->tasks[exchange->oldest].id);
	else
		return task;
	return NULL;
}

static void answer(struct exchange *exchange, struct sent_task *task, const struct output *output,
	struct text whole)
{
	task->is_answered = true;
	task->status = output->status;
	task->digest = digest_of(output);
	task->frame = fault_bytes(whole);
	exchange->answered++;
	exchange->has_last |= output->status == STATUS_DONE_LAST;
	while (exchange->oldest < exchange->count && exchange->tasks[exchange->oldest].is_answered)
		exchange->oldest++;
}

/* Its worker wants the task to come back, and it would fail. */
static bool is_bad_postpone(const struct output *output)
{
	struct table_field field;
	return output->status == STATUS_POSTPONED && output->postpone_ms < 0 &&
	       table_find(output->headers, HEADER_POSTPONE, &field);
}

bool exchange_take(struct exchange *exchange, const struct output *output, struct text whole,
	struct fault *ret_fault)
{
	struct sent_task *task = NULL;
	if (is_bad_postpone(output))
		fault_set(ret_fault, FAULT_BAD_OUTPUT, whole,
			"a PostponeMilliseconds that is no time");
	else if (output->task_id != 0)
		task = task_of_id(exchange, output, whole, ret_fault);
	else if (exchange->concurrency > 1)
		fault_set(ret_fault, FAULT_ID_MISSING, whole,
			"status %d without \"7\", the id of its task", (int)output->status);
	else if (exchange->oldest < exchange->count)
		task = &exchange->tasks[exchange->oldest];
	if (ret_fault->kind != FAULT_NONE)
		return false;
	if (output->hard_limit_ms == 0)
		return fault_set(ret_fault, FAULT_LIMIT, whole,
			"progress with a HardLimitMilliseconds that is no number from 1 to %lld",
			(long long)OUTPUT_HARD_LIMIT_MAX);
	if (output->status == STATUS_PROGRESS)
		exchange->progress++;
	else if (output->status == STATUS_ACCEPTED)
		exchange->accepted++;
	else if (task)
		answer(exchange, task, output, whole);
	else if (exchange->surplus++ == 0)
		exchange->surplus_frame = fault_bytes(whole);
	return true;
}
