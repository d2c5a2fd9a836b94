/* GET /v1/workers: each slot, its process, and the oldest task that it works on; and the preloaded
 * processes. */
#include "base/utf8.h"
#include "control/answer.h"
#include "control/routes.h"
#include "core/tasks/delivery.h"
#include "core/tasks/output.h"
#include "os/clock.h"
#include "os/proc_usage.h"
#include "runtime/report/texts.h"

/* Of a progress report, of which the core keeps 128 bytes, if each is shown as four characters. */
#define PROGRESS_TEXT_SIZE 513

static const char *state_of(const struct slot_facts *slot)
{
	switch (slot->state) {
	case LIFE_WAITING:
	case LIFE_IN_LINE:
		return slot->failures ? "failing" : "waiting";
	case LIFE_STARTING:
		return "starting";
	case LIFE_READY:
		return slot->tasks ? "busy" : "idle";
	case LIFE_QUITTING:
		return "quitting";
	case LIFE_STOPPING:
		return "terminating";
	case LIFE_KILLED:
		return "killed";
	case LIFE_RETIRED:
		break;
	}
	__builtin_unreachable();
}

/* The text is the worker's and may contain parts of a message, so only operators get it. null:
 * the task has reported none. */
static json_t *json_of_progress(const struct delivery *task, bool is_operator)
{
	char text[PROGRESS_TEXT_SIZE];

	if (!task->progress)
		return json_null();
	utf8_copy_escaped(text, sizeof text, task->progress->body);
	return json_pack("{s:o, s:o}", "text",
		is_operator ? json_text(text_from(text)) : json_null(), "age_s",
		control_json_since(task->progress_at));
}

/* The publisher chose the name, and it may be secret, so only operators get it. */
static json_t *json_of_task(const struct slot_facts *slot, bool is_operator)
{
	char name[DELIVERY_NAME_SIZE];

	if (!slot->head)
		return json_null();
	return json_pack("{s:I, s:o, s:o, s:i, s:o}", "id", (json_int_t)slot->head->id, "name",
		is_operator ? json_text(delivery_name(slot->head, name)) : json_null(), "for_s",
		control_json_span(clock_now() - slot->head->begun_at), "attempt",
		slot->head->attempt + 1, "progress", json_of_progress(slot->head, is_operator));
}

static json_t *json_of_process(pid_t pid)
{
	struct proc_usage usage;

	if (pid == 0 || !proc_usage_read(pid, &usage))
		return json_null();
	return json_pack("{s:i, s:I, s:o, s:o}", "pid", (int)pid, "memory_bytes",
		(json_int_t)usage.memory_bytes, "cpu_s", control_json_span(usage.computed), "age_s",
		control_json_span(usage.age));
}

/* null: no process of this slot ended without being asked. The detail may contain parts of a
 * message, so only operators get it. */
static json_t *json_of_exit(const struct slot_facts *slot, bool is_operator)
{
	char exit[EXIT_TEXT_SIZE];

	if (slot->ended_at == MTIME_NEVER)
		return json_null();
	return json_pack("{s:s, s:o, s:o}", "exit", exit_text(&slot->exit, slot->exit_for, exit),
		"detail",
		is_operator && slot->exit_detail.len ? json_text(slot->exit_detail) : json_null(),
		"age_s", control_json_since(slot->ended_at));
}

static json_t *json_of_worker(const struct control_list *list, const struct pool_runtime *runtime)
{
	struct slot_facts slot = pool_slot_facts(runtime->pool, list->slot);

	return json_pack("{s:o, s:i, s:s, s:I, s:I, s:o, s:o, s:i, s:i, s:I, s:s?, s:o, s:o}",
		"pool", json_text(text_from(runtime->config.name)), "slot", list->slot, "state",
		state_of(&slot), "life", (json_int_t)slot.life, "failures",
		(json_int_t)slot.failures, "last_exit", json_of_exit(&slot, list->is_operator),
		"next_start_s", control_json_until(slot.next_start), "tasks_in_pipe", slot.tasks,
		"tasks_open", slot.open, "tasks_answered", (json_int_t)slot.answers, "replaced_for",
		slot.due ? recycle_reason_name(slot.due) : NULL, "process",
		json_of_process(pool_runtime_slot_pid(runtime, list->slot)), "task",
		json_of_task(&slot, list->is_operator));
}

/* Append one slot. A slot that was scaled away is left out. */
static bool append_next(struct control_list *list, struct buf *out)
{
	size_t next = list->place;
	const struct pool_runtime *runtime = pool_set_next(list->view->pool_set, &next);

	if (!runtime)
		return false;
	if (!control_list_wants(list, runtime) || list->slot >= pool_slot_count(runtime->pool)) {
		list->place = next;
		list->slot = 0;
		return true;
	}
	if (pool_slot_facts(runtime->pool, list->slot).state != LIFE_RETIRED)
		control_list_append(list, out, json_of_worker(list, runtime));
	list->slot++;
	return true;
}

static bool add_preloads(json_t *array, const struct pool_runtime *runtime)
{
	struct preload_facts facts[WORKERS_PRELOADS];
	unsigned count = workers_preloads(runtime->workers, facts);

	for (unsigned i = 0; i < count; i++)
		if (json_array_append_new(
			    array, json_pack("{s:o, s:s, s:o}", "pool",
					   json_text(text_from(runtime->config.name)), "state",
					   facts[i].is_former    ? "former preloaded"
					   : facts[i].is_loading ? "preloading"
								 : "preloaded",
					   "process", json_of_process(facts[i].pid))) != 0)
			return false;
	return true;
}

/* NULL: out of memory. */
static json_t *json_of_preloads(const struct supervisor_view *view, const struct control_list *list)
{
	const struct pool_runtime *runtime;
	json_t *array = json_array();
	bool is_whole = array;

	for (size_t i = 0; is_whole && (runtime = pool_set_next(view->pool_set, &i));)
		is_whole = !control_list_wants(list, runtime) || add_preloads(array, runtime);
	if (is_whole)
		return array;
	json_decref(array);
	return NULL;
}

void control_answer_workers(const struct supervisor_view *view, const struct http_request *request)
{
	struct control_list list = {
		.name = "workers", .append_next = append_next, .first_name = "preloaded"};

	if (!control_find_pool_of_query(view, request, &list.only))
		return;
	list.first = json_of_preloads(view, &list);
	if (list.first)
		control_answer_list(view, request, list);
	else
		control_refuse_memory(request);
}
