#include "task.h"

#include "wire/frame.h"
#include <string.h>
#include <time.h>

#define ZONE_CHUNK 8192

bool task_init(struct wpool_task *task, struct control *control, struct data_pipe *pipe)
{
	*task = (struct wpool_task){.control = control, .pipe = pipe};
	msgpack_sbuffer_init(&task->answer);
	return msgpack_zone_init(&task->zone, ZONE_CHUNK);
}

void task_release(struct wpool_task *task)
{
	msgpack_sbuffer_destroy(&task->answer);
	msgpack_zone_destroy(&task->zone);
}

static int64_t now_ms(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void begin(struct wpool_task *task)
{
	msgpack_zone_clear(&task->zone);
	task->body = task->correlation_id = task->queue = (struct wpool_text){"", 0};
	task->body_is_text = true;
	task->headers = task->properties = (msgpack_object_map){0};
	task->deadline_ms = WPOOL_NO_LIMIT;
	task->reply_headers = NULL;
	task->lost_header = task->answered = false;
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
	case '6':
		task->properties = map_in(value);
		break;
	default: /* a later version's */
		break;
	}
}

static void read_deadline(struct wpool_task *task)
{
	int64_t limit_ms;
	const msgpack_object *header = value_find(task->headers, "TimeoutMilliseconds");
	if (!header || !value_number(header, &limit_ms) || limit_ms < 0)
		return;
	int64_t now = now_ms();
	if (limit_ms < WPOOL_NO_LIMIT - now)
		task->deadline_ms = now + limit_ms;
}

const char *task_read(struct wpool_task *task, uint8_t *frame, size_t len)
{
	begin(task);
	enum wire_check_result check = wire_check(frame, len);
	if (check != WIRE_OK)
		return wire_check_words(check);
	msgpack_object map;
	if (msgpack_unpack((char *)frame, len, NULL, &task->zone, &map) != MSGPACK_UNPACK_SUCCESS)
		return "not to be decoded, or out of memory";
	if (map.type != MSGPACK_OBJECT_MAP)
		return "not a map";
	value_terminate(&map);
	for (uint32_t i = 0; i < map.via.map.size; i++) {
		struct wpool_text key = value_text(&map.via.map.ptr[i].key);
		if (key.len == 1)
			read_field(task, key.data[0], &map.via.map.ptr[i].val);
	}
	read_deadline(task);
	return NULL;
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

bool wpool_should_stop(struct wpool_task *task)
{
	control_drain(task->control);
	return task->control->interrupt || task->control->closed ||
	       wpool_task_remaining_ms(task) == 0;
}
