#include "task.h"

#include "wire/frame.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Enough for a usual task, and small because many tasks may be open. */
#define ZONE_CHUNK 500

static int64_t now_ms(void)
{
	return worker_now_us() / 1000;
}

static msgpack_object_map map_in(const msgpack_object *object)
{
	return object->type == MSGPACK_OBJECT_MAP ? object->via.map : (msgpack_object_map){0};
}

static void read_field(struct wpool_task *task, char key, const msgpack_object *value)
{
	switch (key) {
	case '0':
		task->body = value_text(value);
		task->body_is_text = value->type != MSGPACK_OBJECT_BIN;
		break;
	case '1':
		task->correlation_id = value_text(value);
		break;
	case '2':
		task->queue = value_text(value);
		break;
	case '3':
		task->headers = map_in(value);
		break;
	case '4':
		task->session = value_text(value);
		break;
	case '6':
		task->properties = map_in(value);
		break;
	case '7':
		if (value->type == MSGPACK_OBJECT_POSITIVE_INTEGER)
			task->id = value->via.u64;
		break;
	default: /* a later version's */
		break;
	}
}

static void read_limit(struct wpool_task *task)
{
	int64_t limit_ms;
	const msgpack_object *header = value_find(task->headers, "TimeoutMilliseconds");
	if (header && value_number(header, &limit_ms) && limit_ms >= 0)
		task->limit_ms = limit_ms;
}

/* Return NULL, or what is wrong with the frame. */
static const char *read_frame(struct wpool_task *task, const struct frame *frame)
{
	enum wire_check_result check = wire_check(frame->bytes, frame->len);
	if (check != WIRE_OK)
		return wire_check_words(check);
	msgpack_object map;
	if (msgpack_unpack((char *)frame->bytes, frame->len, NULL, &task->zone, &map) !=
		MSGPACK_UNPACK_SUCCESS)
		return "not to be decoded, or out of memory";
	if (map.type != MSGPACK_OBJECT_MAP)
		return "not a map";
	value_terminate(&map);
	for (uint32_t i = 0; i < map.via.map.size; i++) {
		struct wpool_text key = value_text(&map.via.map.ptr[i].key);
		if (key.len == 1)
			read_field(task, key.data[0], &map.via.map.ptr[i].val);
	}
	read_limit(task);
	return NULL;
}

static void task_free(struct wpool_task *task)
{
	msgpack_zone_destroy(&task->zone);
	free(task->block);
	worker_unref(task->worker);
	free(task);
}

static struct wpool_task *task_allocate(struct wpool_worker *worker)
{
	struct wpool_task *task = malloc(sizeof *task);
	if (!task)
		return NULL;
	*task = (struct wpool_task){.worker = worker,
		.body = {"", 0},
		.body_is_text = true,
		.correlation_id = {"", 0},
		.queue = {"", 0},
		.session = {"", 0},
		.limit_ms = WPOOL_NO_LIMIT,
		.deadline_ms = WPOOL_NO_LIMIT};
	atomic_init(&task->references, 1);
	atomic_init(&task->requests, 0);
	atomic_init(&task->answered, false);
	if (!msgpack_zone_init(&task->zone, ZONE_CHUNK)) {
		free(task);
		return NULL;
	}
	worker_ref(worker);
	return task;
}

struct wpool_task *task_new(
	struct wpool_worker *worker, struct frame *frame, const char **ret_wrong)
{
	struct wpool_task *task = task_allocate(worker);
	if (!task) {
		free(frame->block);
		*ret_wrong = "out of memory";
		return NULL;
	}
	task->block = frame->block;
	const char *wrong = read_frame(task, frame);
	if (wrong) {
		task_free(task);
		*ret_wrong = wrong;
		return NULL;
	}
	return task;
}

void task_begin(struct wpool_task *task)
{
	if (task->limit_ms == WPOOL_NO_LIMIT)
		return;
	int64_t now = now_ms();
	if (task->limit_ms < WPOOL_NO_LIMIT - now)
		task->deadline_ms = now + task->limit_ms;
}

void task_finish(struct wpool_task *task)
{
	if (atomic_load(&task->answered) || atomic_load(&task->worker->write_error))
		return;
	fprintf(stderr, "wpool worker: %s, failing the task\n",
		wpool_is_cancelled(task) ? "cancelled" : "the handler returned without an answer");
	task->reply_headers = NULL;
	if (wpool_fail(task, STATUS_FAILED) < 0)
		atomic_store(&task->worker->write_error, errno);
}

struct wpool_task *wpool_task_ref(struct wpool_task *task)
{
	atomic_fetch_add(&task->references, 1);
	return task;
}

void wpool_task_unref(struct wpool_task *task)
{
	if (atomic_fetch_sub(&task->references, 1) == 1)
		task_free(task);
}

void wpool_task_set_data(struct wpool_task *task, void *data)
{
	task->data = data;
}

void *wpool_task_data(const struct wpool_task *task)
{
	return task->data;
}

uint64_t wpool_task_id(const struct wpool_task *task)
{
	return task->id;
}

struct wpool_text wpool_task_body(const struct wpool_task *task)
{
	return task->body;
}

bool wpool_task_body_is_text(const struct wpool_task *task)
{
	return task->body_is_text;
}

const char *wpool_task_correlation_id(const struct wpool_task *task)
{
	return task->correlation_id.data;
}

const char *wpool_task_queue(const struct wpool_task *task)
{
	return task->queue.data;
}

struct wpool_text wpool_task_session(const struct wpool_task *task)
{
	return task->session;
}

const char *wpool_task_header(const struct wpool_task *task, const char *name)
{
	const msgpack_object *header = value_find(task->headers, name);
	return header && header->type == MSGPACK_OBJECT_STR ? value_text(header).data : NULL;
}

static bool find_value(msgpack_object_map map, const char *name, struct wpool_value *ret_value)
{
	const msgpack_object *object = value_find(map, name);
	if (object)
		*ret_value = value_of(object);
	return object;
}

bool wpool_task_header_value(
	const struct wpool_task *task, const char *name, struct wpool_value *ret_value)
{
	return find_value(task->headers, name, ret_value);
}

bool wpool_task_property(
	const struct wpool_task *task, const char *name, struct wpool_value *ret_value)
{
	return find_value(task->properties, name, ret_value);
}

static uint32_t count_in(const struct wpool_task *task, const char *property)
{
	const msgpack_object *count = value_find(task->properties, property);
	bool is_count = count && count->type == MSGPACK_OBJECT_POSITIVE_INTEGER &&
			count->via.u64 <= UINT32_MAX;
	return is_count ? (uint32_t)count->via.u64 : 0;
}

uint32_t wpool_task_attempt(const struct wpool_task *task)
{
	return count_in(task, "attempt");
}

uint32_t wpool_task_attempts(const struct wpool_task *task)
{
	return count_in(task, "attempts");
}

size_t wpool_task_header_count(const struct wpool_task *task)
{
	return task->headers.size;
}

bool wpool_task_header_at(const struct wpool_task *task, size_t index, struct wpool_text *ret_name,
	struct wpool_value *ret_value)
{
	if (index >= task->headers.size)
		return false;
	*ret_name = value_text(&task->headers.ptr[index].key);
	*ret_value = value_of(&task->headers.ptr[index].val);
	return true;
}

int64_t wpool_task_remaining_ms(const struct wpool_task *task)
{
	if (task->deadline_ms == WPOOL_NO_LIMIT)
		return WPOOL_NO_LIMIT;
	int64_t left = task->deadline_ms - now_ms();
	return left > 0 ? left : 0;
}

static void look_at_control(const struct wpool_task *task)
{
	if (task->worker->mode.runs_in_turn)
		worker_look(task->worker);
}

bool wpool_should_stop(struct wpool_task *task)
{
	look_at_control(task);
	return atomic_load(&task->requests) || atomic_load(&task->worker->is_gone) ||
	       wpool_task_remaining_ms(task) == 0;
}

bool wpool_is_cancelled(struct wpool_task *task)
{
	look_at_control(task);
	return atomic_load(&task->requests) & REQUEST_CANCEL;
}
