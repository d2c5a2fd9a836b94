#include "task.h"

#include "wire/frame.h"
#include <errno.h>
#include <string.h>

/* A body from this size on is written from the caller's memory, as far as that goes, not copied. */
#define BODY_LARGE (64u << 10)

/* The contents of one output frame. */
struct output {
	int status;
	const char *queue; /* NULL: the task's reply_to */
	const void *body;
	size_t len;
	bool has_body;
	bool inherits;         /* the task's own headers are included */
	int64_t hard_limit_ms; /* of progress; 0: none */
};

static int refuse(int error)
{
	errno = error;
	return -1;
}

static struct reply_header *find_reply_header(const struct wpool_task *task, struct wpool_text name)
{
	struct reply_header *header = task->reply_headers;
	while (header &&
		(strlen(header->name) != name.len || memcmp(header->name, name.data, name.len)))
		header = header->next;
	return header;
}

static size_t count_headers(const struct wpool_task *task, bool inherits)
{
	size_t count = 0;
	for (const struct reply_header *at = task->reply_headers; at; at = at->next)
		count++;
	for (uint32_t i = 0; inherits && i < task->headers.size; i++)
		count += !find_reply_header(task, value_text(&task->headers.ptr[i].key));
	return count;
}

static int pack_text(msgpack_packer *packer, const char *text)
{
	size_t len = strlen(text);
	return msgpack_pack_str(packer, len) | msgpack_pack_str_body(packer, text, len);
}

static int pack_inherited(msgpack_packer *packer, const struct wpool_task *task)
{
	int bad = 0;
	for (uint32_t i = 0; i < task->headers.size; i++) {
		const msgpack_object_kv *header = &task->headers.ptr[i];
		if (find_reply_header(task, value_text(&header->key)))
			continue;
		bad |= msgpack_pack_object(packer, header->key);
		bad |= msgpack_pack_object(packer, header->val);
	}
	return bad;
}

static int pack_headers(
	msgpack_packer *packer, const struct wpool_task *task, size_t count, bool inherits)
{
	int bad = pack_text(packer, "2") | msgpack_pack_map(packer, count);
	for (const struct reply_header *at = task->reply_headers; at; at = at->next) {
		bad |= pack_text(packer, at->name);
		bad |= at->text ? pack_text(packer, at->text)
				: msgpack_pack_int64(packer, at->integer);
	}
	return inherits ? bad | pack_inherited(packer, task) : bad;
}

static int pack_hard_limit(msgpack_packer *packer, int64_t limit_ms)
{
	return pack_text(packer, "2") | msgpack_pack_map(packer, 1) |
	       pack_text(packer, "HardLimitMilliseconds") | msgpack_pack_int64(packer, limit_ms);
}

/* Everything except the body, which is written from the handler's memory if possible and so is the
 * last key. */
static int pack(struct wpool_task *task, const struct output *output, struct buffer *buffer)
{
	msgpack_packer packer;
	msgpack_packer_init(&packer, buffer, buffer_write);
	size_t headers = output->status < 0 ? 0 : count_headers(task, output->inherits);
	int bad = buffer_write(buffer, "\0\0\0", WIRE_LENGTH_BYTES);
	bad |= msgpack_pack_map(&packer, 1u + (headers > 0) + (output->hard_limit_ms > 0) +
						 (output->queue != NULL) + (task->id > 0) +
						 output->has_body);
	bad |= pack_text(&packer, "1") | msgpack_pack_int(&packer, output->status);
	if (headers > 0)
		bad |= pack_headers(&packer, task, headers, output->inherits);
	if (output->hard_limit_ms > 0)
		bad |= pack_hard_limit(&packer, output->hard_limit_ms);
	if (output->queue)
		bad |= pack_text(&packer, "3") | pack_text(&packer, output->queue);
	if (task->id > 0)
		bad |= pack_text(&packer, "7") | msgpack_pack_uint64(&packer, task->id);
	if (output->has_body)
		bad |= pack_text(&packer, "0") | msgpack_pack_bin(&packer, output->len);
	return bad;
}

/* Add the frame to what is unsent, and write it if the mode or its size demands that. Return 0 or
 * errno; after an error nothing of it was added. */
static int add_output_frame(struct wpool_task *task, const struct output *output)
{
	struct wpool_worker *worker = task->worker;
	struct buffer *unsent = &worker->unsent;
	size_t before = buffer_size(unsent);
	if (pack(task, output, unsent))
		return ENOMEM;
	size_t whole = buffer_size(unsent) - before - WIRE_LENGTH_BYTES + output->len;
	if (whole > UINT32_MAX)
		return EMSGSIZE;
	wire_put_length(unsent->bytes + unsent->start + before, (uint32_t)whole);
	if (before == 0 && !worker->mode.writes_at_once)
		worker->unsent_since_us = worker_now_us();
	if (worker->mode.writes_at_once || output->len >= BODY_LARGE)
		return worker_write(worker, output->body, output->len);
	return buffer_write(unsent, output->body, output->len) < 0 ? ENOMEM : 0;
}

static int write_output(struct wpool_task *task, const struct output *output)
{
	struct wpool_worker *worker = task->worker;
	if (output->len > UINT32_MAX / 2)
		return refuse(EMSGSIZE);
	pthread_mutex_lock(&worker->write_lock);
	size_t before = buffer_size(&worker->unsent);
	int error = atomic_load(&worker->write_error);
	if (!error) {
		error = add_output_frame(task, output);
		if (error && !atomic_load(&worker->write_error))
			worker->unsent.end = worker->unsent.start + before;
	}
	pthread_mutex_unlock(&worker->write_lock);
	return error ? refuse(error) : 0;
}

static int answer(struct wpool_task *task, const struct output *output)
{
	if (atomic_load(&task->answered))
		return refuse(EALREADY);
	if (output->status == STATUS_REPLY && task->lost_header)
		return refuse(ENOMEM);
	if (write_output(task, output) < 0)
		return -1;
	atomic_store(&task->answered, true);
	worker_close_task(task->worker, task);
	return 0;
}

int wpool_done(struct wpool_task *task)
{
	return answer(task, &(struct output){.status = STATUS_DONE});
}

int wpool_reply(struct wpool_task *task, const void *body, size_t len)
{
	return answer(
		task, &(struct output){
			      .status = STATUS_REPLY, .body = body, .len = len, .has_body = true});
}

int wpool_reply_to(struct wpool_task *task, const char *queue, const void *body, size_t len)
{
	return answer(task, &(struct output){.status = STATUS_REPLY,
				    .queue = queue,
				    .body = body,
				    .len = len,
				    .has_body = true});
}

int wpool_hand_back(struct wpool_task *task, const void *body, size_t len)
{
	return answer(task, &(struct output){.status = STATUS_REPLY,
				    .queue = task->queue.data,
				    .body = body,
				    .len = len,
				    .has_body = true,
				    .inherits = true});
}

int wpool_reject(struct wpool_task *task, int code)
{
	if (code < STATUS_REJECTED || code >= STATUS_FAILED)
		return refuse(EINVAL);
	return answer(task, &(struct output){.status = code});
}

int wpool_fail(struct wpool_task *task, int code)
{
	if (code < STATUS_FAILED || code > STATUS_FAILED_LAST)
		return refuse(EINVAL);
	return answer(task, &(struct output){.status = code});
}

int wpool_fail_after(struct wpool_task *task, int code, int64_t delay_ms)
{
	if (delay_ms < 0)
		return refuse(EINVAL);
	if (wpool_reply_header_integer(task, "RetryAfterMilliseconds", delay_ms) < 0)
		return -1;
	return wpool_fail(task, code);
}

int wpool_postpone(struct wpool_task *task, int64_t delay_ms)
{
	if (delay_ms < WPOOL_POSTPONE_MIN_MS || delay_ms > WPOOL_POSTPONE_MAX_MS)
		return refuse(EINVAL);
	if (wpool_reply_header_integer(task, "PostponeMilliseconds", delay_ms) < 0)
		return -1;
	return wpool_fail(task, STATUS_POSTPONED);
}

/* Not an answer. */
static int send_before_answer(struct wpool_task *task, const struct output *output)
{
	if (atomic_load(&task->answered))
		return refuse(EALREADY);
	return write_output(task, output);
}

int wpool_accept(struct wpool_task *task)
{
	return send_before_answer(task, &(struct output){.status = STATUS_ACCEPTED});
}

int wpool_progress(struct wpool_task *task, const void *note, size_t len)
{
	return send_before_answer(task,
		&(struct output){
			.status = STATUS_PROGRESS, .body = note, .len = len, .has_body = true});
}

int wpool_set_hard_limit(struct wpool_task *task, int64_t limit_ms)
{
	if (limit_ms < 1 || limit_ms > WPOOL_HARD_LIMIT_MAX)
		return refuse(EINVAL);
	return send_before_answer(
		task, &(struct output){.status = STATUS_PROGRESS, .hard_limit_ms = limit_ms});
}

static char *copy_into_task(struct wpool_task *task, const char *text)
{
	size_t size = strlen(text) + 1;
	char *copy = msgpack_zone_malloc_no_align(&task->zone, size);
	return copy ? memcpy(copy, text, size) : NULL;
}

/* Return the header of that name, a new one if needed; NULL: out of memory. */
static struct reply_header *reply_header(struct wpool_task *task, const char *name)
{
	struct reply_header *header =
		find_reply_header(task, (struct wpool_text){name, strlen(name)});
	if (header)
		return header;
	header = msgpack_zone_malloc(&task->zone, sizeof *header);
	char *copy = copy_into_task(task, name);
	if (!header || !copy)
		return NULL;
	*header = (struct reply_header){.next = task->reply_headers, .name = copy};
	task->reply_headers = header;
	return header;
}

static int set_reply_header(
	struct wpool_task *task, const char *name, const char *text, int64_t integer)
{
	if (atomic_load(&task->answered))
		return refuse(EALREADY);
	char *copy = text ? copy_into_task(task, text) : NULL;
	struct reply_header *header = text && !copy ? NULL : reply_header(task, name);
	if (!header) {
		task->lost_header = true;
		return refuse(ENOMEM);
	}
	header->text = copy;
	header->integer = integer;
	return 0;
}

int wpool_reply_header(struct wpool_task *task, const char *name, const char *value)
{
	return set_reply_header(task, name, value, 0);
}

int wpool_reply_header_integer(struct wpool_task *task, const char *name, int64_t value)
{
	return set_reply_header(task, name, NULL, value);
}
