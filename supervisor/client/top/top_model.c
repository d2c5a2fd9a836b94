#include "client/top/top_model.h"

#include "client/json_cells.h"
#include "client/pools.h"

#include <stdlib.h>

#define COUNT_OF(list) (sizeof(list) / sizeof *(list))

static const char *const pool_keys[] = {"name", NULL};
static const char *const worker_keys[] = {"pool", "slot", "life", NULL};

static const struct json_column worker_columns[] = {
	{TEXT_TABLE_FIGURES("SLOT"), JSON_PLAIN, "slot", NULL},
	{TEXT_TABLE_FIGURES("PID"), JSON_PLAIN, "process.pid", NULL},
	{{.title = "STATE", .is_whole = true}, JSON_TEXT, "state", NULL},
	{TEXT_TABLE_FIGURES("TASKS"), JSON_NUMBER, "tasks_answered", NULL},
	{TEXT_TABLE_FIGURES("TASKS/S"), JSON_RATE, "tasks_answered", NULL},
	{TEXT_TABLE_FIGURES("MEMORY"), JSON_SIZE, "process.memory_bytes", NULL},
	{TEXT_TABLE_FIGURES("CPU"), JSON_RATE_SHARE, "process.cpu_s", NULL},
	{TEXT_TABLE_FIGURES("AGE"), JSON_SPAN, "process.age_s", NULL},
	{TEXT_TABLE_FIGURES("OPEN"), JSON_NUMBER, "tasks_open", NULL},
	{TEXT_TABLE_FIGURES("IN PIPE"), JSON_NUMBER, "tasks_in_pipe", NULL},
	{TEXT_TABLE_FIGURES("FOR"), JSON_SPAN, "task.for_s", NULL},
	{{.title = "TASK"}, JSON_ACTIVITY, NULL, NULL},
	{{.title = "PROGRESS"}, JSON_PROGRESS, NULL, NULL},
};

void top_model_init(struct top_model *model, mtime now)
{
	*model = (struct top_model){.answered_at = now};
	top_table_init(&model->pools, model->pool_columns, pools_columns(true, model->pool_columns),
		pool_keys);
	top_table_init(&model->workers, worker_columns, COUNT_OF(worker_columns), worker_keys);
}

void top_model_release(struct top_model *model)
{
	top_table_release(&model->pools);
	top_table_release(&model->workers);
	json_decref(model->status);
	free(model->chosen);
}

void top_model_forget_workers(struct top_model *model)
{
	top_table_clear(&model->workers);
}

/* ---------- the chosen pool ---------- */

static const char *name_of(const json_t *pool)
{
	return json_string_value(json_cell_find(pool, "name"));
}

static bool is_named(const json_t *pool, const char *name)
{
	const char *its = name_of(pool);

	return its && name && strcmp(its, name) == 0;
}

size_t top_model_chosen_row(const struct top_model *model)
{
	size_t row = 0;

	while (row < model->pools.count && !is_named(model->pools.rows[row].now, model->chosen))
		row++;
	return row;
}

const json_t *top_model_pool(const struct top_model *model, const char *name)
{
	for (size_t row = 0; row < model->pools.count; row++)
		if (is_named(model->pools.rows[row].now, name))
			return model->pools.rows[row].now;
	return NULL;
}

const json_t *top_model_worker(const struct top_model *model, const char *slot)
{
	double number = atoi(slot);

	for (size_t row = 0; row < model->workers.count; row++)
		if (json_cell_value(model->workers.rows[row].now, "slot") == number)
			return model->workers.rows[row].now;
	return NULL;
}

void top_model_clear_slot(struct top_model *model)
{
	model->slot[0] = '\0';
	model->task = -1;
}

bool top_model_type_slot(struct top_model *model, char digit)
{
	size_t len = strlen(model->slot);
	const json_t *worker;

	if (len + 1 == sizeof model->slot)
		return false;
	model->slot[len] = digit;
	model->slot[len + 1] = '\0';
	worker = top_model_worker(model, model->slot);
	model->task = worker ? json_cell_value(worker, "task.id") : -1;
	return true;
}

/* Out of memory: keep the choice. */
static bool choose(struct top_model *model, size_t row)
{
	const char *name = name_of(model->pools.rows[row].now);
	char *copy = name ? strdup(name) : NULL;

	if (!copy)
		return false;
	free(model->chosen);
	model->chosen = copy;
	top_model_forget_workers(model);
	top_table_forget_widths(&model->workers);
	return true;
}

bool top_model_move(struct top_model *model, int by)
{
	size_t row = top_model_chosen_row(model);

	if (row == model->pools.count || (by < 0 && row == 0) ||
		(by > 0 && row + 1 == model->pools.count))
		return false;
	return choose(model, by < 0 ? row - 1 : row + 1);
}

/* ---------- answers ---------- */

/* The counters of another supervisor have started again. If the chosen pool has gone, choose the
 * first one. */
static enum rc take_pools(struct top_model *model, json_t *answer, mtime now)
{
	json_t *status = json_object_get(answer, "status"), *before = model->status;

	if (status && before &&
		!json_equal(json_cell_find(before, "pid"), json_cell_find(status, "pid"))) {
		top_table_clear(&model->pools);
		model->knows_pools = false;
		top_model_forget_workers(model);
	}
	if (status) {
		json_decref(before);
		model->status = json_incref(status);
	}
	if (top_table_take(&model->pools, json_object_get(answer, "pools"), now) != RC_OK)
		return RC_MEMORY;
	model->knows_pools = true;
	if (top_model_chosen_row(model) < model->pools.count)
		return RC_OK;
	free(model->chosen);
	model->chosen = NULL;
	top_model_forget_workers(model);
	if (model->pools.count > 0)
		choose(model, 0);
	return RC_OK;
}

enum rc top_model_take(
	struct top_model *model, enum top_question question, json_t *answer, mtime now)
{
	model->trouble[0] = '\0';
	model->answered_at = now;
	switch (question) {
	case TOP_ASK_POOLS:
		return take_pools(model, answer, now);
	case TOP_ASK_WORKERS:
		return top_table_take(&model->workers, json_object_get(answer, "workers"), now);
	}
	__builtin_unreachable();
}

void top_model_correct(struct top_model *model, const json_t *answer)
{
	json_t *list = json_object_get(answer, "pools"), *pool, *known;
	size_t i, k;

	json_array_foreach(list, i, pool)
	{
		json_array_foreach(model->pools.now, k, known)
		{
			if (!is_named(known, name_of(pool)))
				continue;
			json_object_set(known, "workers", json_object_get(pool, "workers"));
			json_object_set(known, "state", json_object_get(pool, "state"));
		}
	}
}
