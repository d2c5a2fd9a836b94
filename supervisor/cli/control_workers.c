/* GET /v1/workers: each slot, its process, and the task in its hand. */
#include "cli/control_json.h"
#include "cli/control_list.h"
#include "cli/control_routes.h"
#include "core/delivery.h"
#include "io/clock.h"
#include "io/usage.h"

static const char *state_words(const struct slot_facts *slot)
{
	switch (slot->state) {
	case LIFE_WAITING:
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

/* Its name is the publisher's, and may be anything: not for everybody. */
static json_t *task_of(const struct control_list *list, const struct slot_facts *slot)
{
	char room[DELIVERY_NAME_ROOM];

	if (!slot->head)
		return json_null();
	return json_pack("{s:o, s:o, s:i}", "name",
		list->is_local ? control_json_text(delivery_name(slot->head, room)) : json_null(),
		"for_s", control_json_span(clock_now() - slot->since), "attempt",
		slot->head->attempt + 1);
}

static json_t *process_of(pid_t pid)
{
	struct usage usage;

	if (pid == 0 || !usage_read(pid, &usage))
		return json_null();
	return json_pack("{s:i, s:I, s:o, s:o}", "pid", (int)pid, "memory_bytes",
		(json_int_t)usage.memory_bytes, "cpu_s", control_json_span(usage.computed), "age_s",
		control_json_span(usage.age));
}

/* Null: none of this slot ended unasked. */
static json_t *last_exit_of(const struct slot_facts *slot)
{
	char exit[REPORT_EXIT_ROOM];

	if (slot->ended_at == MTIME_NEVER)
		return json_null();
	return json_pack("{s:s, s:o}", "exit",
		report_end_of_life(&slot->exit, slot->exit_for, exit, sizeof exit), "age_s",
		control_json_since(slot->ended_at));
}

static json_t *worker_of(const struct control_list *list, const struct station *station)
{
	struct slot_facts slot = station_slot(station, list->slot);

	return json_pack("{s:s, s:i, s:s, s:I, s:I, s:o, s:o, s:i, s:I, s:s?, s:o, s:o}", "pool",
		station_config(station)->name, "slot", list->slot, "state", state_words(&slot),
		"life", (json_int_t)slot.life, "failures", (json_int_t)slot.failures, "last_exit",
		last_exit_of(&slot), "next_start_s", control_json_until(slot.next_start),
		"tasks_in_pipe", slot.tasks, "tasks_answered", (json_int_t)slot.answers,
		"replaced_for", slot.due ? recycle_words(slot.due) : NULL, "process",
		process_of(station_slot_pid(station, list->slot)), "task", task_of(list, &slot));
}

static bool is_past_pool(const struct control_list *list, const struct station *station)
{
	return !control_list_wants(list, station) || list->slot >= station_slot_count(station);
}

/* A slot that was scaled away is no worker. */
static bool is_wanted(const struct control_list *list, const struct station *station)
{
	return station_slot(station, list->slot).state != LIFE_RETIRED;
}

static bool append_next(struct control_list *list, struct buf *out)
{
	size_t behind = list->place;
	const struct station *station = fleet_next(list->overview->fleet, &behind);

	if (!station)
		return false;
	if (is_past_pool(list, station)) {
		list->place = behind;
		list->slot = 0;
		return true;
	}
	if (is_wanted(list, station)) {
		control_list_separate(list, out);
		control_json_append(out, worker_of(list, station));
	}
	list->slot++;
	return true;
}

void control_answer_workers(const struct overview *overview, const struct http_request *request)
{
	control_list_answer(overview, request, "workers", append_next);
}
