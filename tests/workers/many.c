/* A worker with as many tasks open as WPOOL_CONCURRENCY allows; above 1 one more ends it. The body
 * of a task says what it does with it:
 *   done             answer 200
 *   hold PATH        answer 200 when this file exists; of several the newest first
 *   together N       answer 200 when N such tasks are open, the newest first
 *   reply N          answer 201 with N bytes
 *   busy PATH        report progress until this file exists, then answer 200
 *   hang             never answer
 *   block            do nothing any more, with this task and with all others
 *   exit             exit with status 3
 *   cancel, switch   answer 200 when a control line says so about this task; with " N" answer N
 *   answer WHAT      answer 200, but with the id WHAT in place of its own: "none", "text", or a
 *                    number; "other PATH": the first number in this file that is not the id of
 *                    an open task
 *   twice            answer 200, and once more
 *   status N         answer N
 * Before each 200 or 201 to a task its correlation id is appended to the file WITNESS. Events are
 * lines on stderr: "all N places are taken", "asked to cancel BODY". */
#include "workers/raw.h"

#include <inttypes.h>
#include <libgen.h>
#include <limits.h>
#include <msgpack.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#define BODY_SIZE 512
#define NAME_SIZE 128
#define LINE_SIZE 4096

#define PROGRESS_MS 20

struct task {
	uint64_t id;
	char body[BODY_SIZE];
	char name[NAME_SIZE]; /* correlation id */
};

struct many {
	struct raw raw;
	struct task *open; /* oldest first */
	size_t count, max;
	int files; /* inotify */
	bool is_full;
	bool is_busy; /* a task may have to report progress */
};

/* ---------- answers ---------- */

static void pack_key(msgpack_packer *packer, const char *key)
{
	msgpack_pack_str_with_body(packer, key, 1);
}

/* id_text: NULL: the id is the number; "none": there is none; else this text. */
static void send_output(
	struct many *many, int status, size_t bytes, int64_t id, const char *id_text)
{
	bool is_named = !id_text || strcmp(id_text, "none") != 0;
	char *body = calloc(1, bytes + 1);
	msgpack_sbuffer buffer;
	msgpack_packer packer;
	if (!body)
		_exit(70);
	msgpack_sbuffer_init(&buffer);
	msgpack_packer_init(&packer, &buffer, msgpack_sbuffer_write);
	msgpack_pack_map(&packer, 2 + is_named);
	pack_key(&packer, "0");
	msgpack_pack_bin_with_body(&packer, body, bytes);
	pack_key(&packer, "1");
	msgpack_pack_int(&packer, status);
	if (is_named)
		pack_key(&packer, "7");
	if (is_named && id_text)
		msgpack_pack_str_with_body(&packer, id_text, strlen(id_text));
	else if (is_named)
		msgpack_pack_int64(&packer, id);
	raw_write_frame(&many->raw, buffer.data, buffer.size);
	msgpack_sbuffer_destroy(&buffer);
	free(body);
}

/* limit_ms: digits. The task stays open. */
static void set_hard_limit(struct many *many, const struct task *task, const char *limit_ms)
{
	static const char name[] = "HardLimitMilliseconds";
	msgpack_sbuffer buffer;
	msgpack_packer packer;
	msgpack_sbuffer_init(&buffer);
	msgpack_packer_init(&packer, &buffer, msgpack_sbuffer_write);
	msgpack_pack_map(&packer, 3);
	pack_key(&packer, "1");
	msgpack_pack_int(&packer, -1);
	pack_key(&packer, "2");
	msgpack_pack_map(&packer, 1);
	msgpack_pack_str_with_body(&packer, name, sizeof name - 1);
	msgpack_pack_str_with_body(&packer, limit_ms, strlen(limit_ms));
	pack_key(&packer, "7");
	msgpack_pack_uint64(&packer, task->id);
	raw_write_frame(&many->raw, buffer.data, buffer.size);
	msgpack_sbuffer_destroy(&buffer);
}

/* Answer a task, which is not open any more then. */
static void answer(struct many *many, struct task *task, int status, size_t bytes)
{
	if (status == 200 || status == 201)
		raw_append_witness(task->name, strlen(task->name));
	send_output(many, status, bytes, (int64_t)task->id, NULL);
	many->count--;
	memmove(task, task + 1, (size_t)(many->open + many->count - task) * sizeof *task);
}

static void answer_all(struct many *many, const char *body)
{
	for (size_t i = many->count; i-- > 0;)
		if (strcmp(many->open[i].body, body) == 0)
			answer(many, &many->open[i], 200, 0);
}

static bool is_open(const struct many *many, uint64_t id)
{
	for (size_t i = 0; i < many->count; i++)
		if (many->open[i].id == id)
			return true;
	return false;
}

static int64_t other_id(const struct many *many, const char *path)
{
	FILE *file = fopen(path, "r");
	uint64_t id = 0;
	while (file && fscanf(file, "%" SCNu64, &id) == 1 && is_open(many, id))
		;
	if (!file || is_open(many, id))
		_exit(70);
	fclose(file);
	return (int64_t)id;
}

/* ---------- tasks ---------- */

/* The argument of a body that begins with this word; NULL: it begins with another one. */
static const char *argument(const char *body, const char *word)
{
	size_t len = strlen(word);
	if (strncmp(body, word, len) != 0 || (body[len] && body[len] != ' '))
		return NULL;
	return body[len] ? body + len + 1 : "";
}

static void watch(const struct many *many, const char *path)
{
	char folder[PATH_MAX];
	snprintf(folder, sizeof folder, "%s", path);
	if (inotify_add_watch(many->files, dirname(folder), IN_CREATE | IN_MOVED_TO) < 0)
		_exit(70);
}

static void answer_with_id(struct many *many, const char *what)
{
	const char *path = argument(what, "other");
	if (path)
		send_output(many, 200, 0, other_id(many, path), NULL);
	else if (strcmp(what, "none") == 0 || strcmp(what, "text") == 0)
		send_output(many, 200, 0, 0, what);
	else
		send_output(many, 200, 0, strtoll(what, NULL, 10), NULL);
}

/* All that wait for a file that exists, the newest first. */
static void answer_held(struct many *many)
{
	for (size_t i = many->count; i-- > 0;) {
		struct task *task = &many->open[i];
		const char *path = argument(task->body, "hold");
		if (!path)
			path = argument(task->body, "busy");
		if (path && access(path, F_OK) == 0)
			answer(many, task, 200, 0);
	}
}

static void answer_together(struct many *many, const char *body, size_t needed)
{
	size_t count = 0;
	for (size_t i = 0; i < many->count; i++)
		count += strcmp(many->open[i].body, body) == 0;
	if (count < needed)
		return;
	char copy[BODY_SIZE];
	snprintf(copy, sizeof copy, "%s", body);
	answer_all(many, copy);
}

static void begin(struct many *many, struct task *task)
{
	const char *body = task->body, *what;
	if (strcmp(body, "done") == 0) {
		answer(many, task, 200, 0);
	} else if ((what = argument(body, "hold"))) {
		watch(many, what);
		answer_held(many);
	} else if ((what = argument(body, "busy"))) {
		watch(many, what);
		many->is_busy = true;
		answer_held(many);
	} else if ((what = argument(body, "together"))) {
		answer_together(many, body, strtoul(what, NULL, 10));
	} else if ((what = argument(body, "reply"))) {
		answer(many, task, 201, strtoul(what, NULL, 10));
	} else if ((what = argument(body, "status"))) {
		answer(many, task, atoi(what), 0);
	} else if ((what = argument(body, "limit"))) {
		set_hard_limit(many, task, what);
	} else if ((what = argument(body, "answer"))) {
		answer_with_id(many, what);
	} else if (strcmp(body, "twice") == 0) {
		int64_t id = (int64_t)task->id;
		answer(many, task, 200, 0);
		send_output(many, 200, 0, id, NULL);
	} else if (strcmp(body, "block") == 0) {
		for (;;)
			pause();
	} else if (strcmp(body, "exit") == 0) {
		_exit(3);
	}
}

/* A text or bytes, cut and with a NUL. */
static void copy_text(const msgpack_object *from, char *to, size_t size)
{
	bool is_text = from->type == MSGPACK_OBJECT_STR;
	size_t len = is_text ? from->via.str.size : from->via.bin.size;
	snprintf(to, size, "%.*s", (int)len, is_text ? from->via.str.ptr : from->via.bin.ptr);
}

static void read_task(const struct raw_frame *frame, struct task *ret)
{
	msgpack_unpacked unpacked;
	msgpack_unpacked_init(&unpacked);
	if (msgpack_unpack_next(&unpacked, (const char *)frame->bytes, frame->len, NULL) !=
			MSGPACK_UNPACK_SUCCESS ||
		unpacked.data.type != MSGPACK_OBJECT_MAP)
		_exit(70);
	const msgpack_object_map *map = &unpacked.data.via.map;
	*ret = (struct task){0};
	for (uint32_t i = 0; i < map->size; i++) {
		const msgpack_object *value = &map->ptr[i].val;
		switch (*map->ptr[i].key.via.str.ptr) {
		case '0':
			copy_text(value, ret->body, sizeof ret->body);
			break;
		case '1':
			copy_text(value, ret->name, sizeof ret->name);
			break;
		case '7':
			ret->id = value->via.u64;
			break;
		}
	}
	msgpack_unpacked_destroy(&unpacked);
}

static void on_frame(struct many *many)
{
	struct raw_frame frame;
	if (!raw_read_frame(&many->raw, &frame))
		exit(0);
	if (many->count == many->max) {
		fprintf(stderr, "got a task above the limit of %zu\n", many->max);
		exit(70);
	}
	struct task *task = &many->open[many->count++];
	read_task(&frame, task);
	free(frame.bytes);
	if (many->count == many->max && !many->is_full) {
		many->is_full = true;
		fprintf(stderr, "all %zu places are taken\n", many->max);
	}
	begin(many, task);
}

/* ---------- control lines ---------- */

/* Without concurrency the line of a context switch has no id: it is about the oldest task. */
static void on_request(struct many *many, const char *body, const char *id)
{
	uint64_t number = strtoull(id, NULL, 10);
	for (size_t i = 0; i < many->count; i++) {
		struct task *task = &many->open[i];
		if (*id && task->id != number)
			continue;
		fprintf(stderr, "asked to %s %s\n", body, task->name);
		const char *status = argument(task->body, body);
		if (status)
			answer(many, task, *status ? atoi(status) : 200, 0);
		return;
	}
}

static void on_line(struct many *many)
{
	char line[LINE_SIZE];
	const char *id;
	raw_read_address(line, sizeof line);
	if ((id = argument(line, "__cancel__")))
		on_request(many, "cancel", id);
	else if ((id = argument(line, "__context_switch__")))
		on_request(many, "switch", id);
	else if (strcmp(line, "__quit__") == 0 && many->count == 0)
		exit(0);
}

/* ---------- life ---------- */

static void on_files(struct many *many)
{
	char events[LINE_SIZE];
	if (read(many->files, events, sizeof events) <= 0)
		_exit(70);
	answer_held(many);
}

static void report_progress(struct many *many)
{
	for (size_t i = 0; i < many->count; i++)
		if (argument(many->open[i].body, "busy"))
			send_output(many, -1, 0, (int64_t)many->open[i].id, NULL);
}

static void work(struct many *many)
{
	struct pollfd fds[] = {{.fd = many->raw.in, .events = POLLIN},
		{.fd = STDIN_FILENO, .events = POLLIN}, {.fd = many->files, .events = POLLIN}};
	static void (*const handlers[])(struct many *) = {on_frame, on_line, on_files};
	for (;;) {
		/* Without concurrency the next task may be in the pipe already. */
		fds[0].events = many->max == 1 && many->count == 1 ? 0 : POLLIN;
		int ready = poll(fds, 3, many->is_busy ? PROGRESS_MS : -1);
		if (ready < 0)
			_exit(70);
		if (ready == 0)
			report_progress(many);
		for (size_t i = 0; i < 3; i++)
			if (fds[i].revents)
				handlers[i](many);
	}
}

int main(void)
{
	const char *max = getenv("WPOOL_CONCURRENCY");
	struct many many = {.max = max ? strtoul(max, NULL, 10) : 0};
	char address[LINE_SIZE];
	signal(SIGPIPE, SIG_IGN);
	many.open = calloc(many.max + 1, sizeof *many.open);
	many.files = inotify_init1(IN_CLOEXEC);
	if (many.max == 0 || !many.open || many.files < 0) {
		fputs("many: needs WPOOL_CONCURRENCY\n", stderr);
		return 70;
	}
	raw_read_address(address, sizeof address);
	raw_connect(&many.raw, address);
	work(&many);
}
