/* What a worker of the C SDK is sent: frames cut anywhere, then tasks, read with every function
 * that a handler has. Every text has its NUL; what the worker then answers is one that wpool takes.
 */
#include "c/task.h"
#include "fuzz/feed.h"
#include "fuzz/fuzz.h"
#include "fuzz/memory.h"
#include "message/answer.h"
#include "wire/frame.h"

#include <sys/mman.h>
#include <unistd.h>

/* base: the room of one read, and a chunk of the decoder's. */
const struct fuzz_memory fuzz_memory = {.base = 144 * 1024, .multiple = 64};

#define ANSWER_MAX  (64 * 1024)
#define HEADERS_OUT 4

static int written = -1; /* what the worker writes its answers to */

static void look_at(struct wpool_value value)
{
	if (value.kind == WPOOL_TEXT || value.kind == WPOOL_BYTES)
		FUZZ_REQUIRE(value.text.data[value.text.len] == '\0');
	FUZZ_REQUIRE(value.object);
}

static void look_at_headers(struct wpool_task *task)
{
	for (size_t i = 0; i < wpool_task_header_count(task); i++) {
		struct wpool_text name;
		struct wpool_value value;
		FUZZ_REQUIRE(wpool_task_header_at(task, i, &name, &value));
		FUZZ_REQUIRE(name.data[name.len] == '\0');
		look_at(value);
		if (strlen(name.data) == name.len)
			FUZZ_REQUIRE(wpool_task_header_value(task, name.data, &value));
		if (i < HEADERS_OUT && value.kind == WPOOL_TEXT)
			wpool_reply_header(task, name.data, value.text.data);
		else if (i < HEADERS_OUT && value.kind == WPOOL_INTEGER)
			wpool_reply_header_integer(task, name.data, value.integer);
	}
}

static void look_at_task(struct wpool_task *task)
{
	static const char *const names[] = {"message_id", "timestamp", "attempt", ""};
	struct wpool_value value;
	struct wpool_text body = wpool_task_body(task);
	FUZZ_REQUIRE(body.data[body.len] == '\0');
	FUZZ_REQUIRE(wpool_task_correlation_id(task) && wpool_task_queue(task));
	struct wpool_text session = wpool_task_session(task);
	FUZZ_REQUIRE(session.data[session.len] == '\0');
	FUZZ_REQUIRE(wpool_task_remaining_ms(task) >= 0);
	(void)(wpool_task_attempt(task) + wpool_task_attempts(task));
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		if (wpool_task_property(task, names[i], &value))
			look_at(value);
		wpool_task_header(task, names[i]);
	}
	look_at_headers(task);
}

static void answer(struct wpool_task *task, uint8_t how)
{
	struct wpool_text body = wpool_task_body(task);
	switch (how % 4) {
	case 0:
		FUZZ_REQUIRE(wpool_reply(task, body.data, body.len) == 0);
		break;
	case 1:
		FUZZ_REQUIRE(wpool_hand_back(task, body.data, body.len) == 0);
		break;
	case 2:
		FUZZ_REQUIRE(wpool_fail_after(task, 500, how) == 0);
		break;
	default:
		FUZZ_REQUIRE(wpool_progress(task, body.data, body.len) == 0);
	}
}

static void check_answer(void)
{
	static uint8_t bytes[ANSWER_MAX];
	struct answer_limits limits = {.header_bytes = ANSWER_MAX, .body_bytes = ANSWER_MAX};
	struct output *output;
	struct answer_fault fault;
	ssize_t len = pread(written, bytes, sizeof bytes, 0);
	FUZZ_REQUIRE(len > WIRE_LENGTH_BYTES);
	FUZZ_REQUIRE(wire_get_length(bytes) == (size_t)len - WIRE_LENGTH_BYTES);
	memory_pause();
	FUZZ_REQUIRE(
		answer_read(text_of(bytes + WIRE_LENGTH_BYTES, (size_t)len - WIRE_LENGTH_BYTES),
			&limits, &output, &fault) == RC_OK);
	output_free(output);
	memory_resume();
	FUZZ_REQUIRE(ftruncate(written, 0) == 0 && lseek(written, 0, SEEK_SET) == 0);
}

static void work(struct wpool_worker *worker, struct frame *frame, uint8_t how)
{
	const char *wrong;
	struct wpool_task *task = task_new(worker, frame, &wrong);
	FUZZ_REQUIRE(task || *wrong);
	if (!task)
		return;
	wpool_task_ref(task);
	open_tasks_add(&worker->open, task);
	look_at_task(task);
	answer(task, how);
	check_answer();
	if (worker->open.count > 0)
		worker_close_task(worker, task);
	wpool_task_unref(task);
}

/* False: the stream is void. */
static bool take(struct wpool_worker *worker, struct text piece, uint8_t how)
{
	struct frames *frames = &worker->frames;
	while (piece.len > 0) {
		enum frames_result result;
		struct frame frame;
		size_t available;
		uint8_t *where = frames_reserve(frames, &available);
		FUZZ_REQUIRE(where && available > 0);
		available = available < piece.len ? available : piece.len;
		memcpy(where, piece.ptr, available);
		frames_added(frames, available);
		piece = text_of(piece.ptr + available, piece.len - available);
		while ((result = frames_next(frames, &frame)) == FRAMES_ONE)
			work(worker, &frame, how);
		if (result == FRAMES_BAD_LENGTH)
			return false;
	}
	return true;
}

static bool take_slices(struct wpool_worker *worker, struct text bytes, uint8_t how)
{
	size_t slice = how < 128 ? SIZE_MAX : how - 127u;
	while (bytes.len > 0) {
		size_t len = bytes.len < slice ? bytes.len : slice;
		if (!take(worker, text_of(bytes.ptr, len), how))
			return false;
		bytes = text_of(bytes.ptr + len, bytes.len - len);
	}
	return true;
}

static void play(struct wpool_worker *worker, struct feed *feed, uint8_t how)
{
	while (how & 8 && !feed_is_over(feed)) {
		uint8_t length[WIRE_LENGTH_BYTES];
		struct text frame = feed_long(feed);
		wire_put_length(length, (uint32_t)frame.len);
		if (!take_slices(worker, text_of(length, sizeof length), how) ||
			!take_slices(worker, frame, how))
			return;
	}
	take_slices(worker, feed_text(feed, feed->rest.len), how);
}

void fuzz_one(struct text input)
{
	struct feed feed = {input};
	struct wpool_worker worker = {.references = 1,
		.mode = {.writes_at_once = true, .open_max = 1},
		.pipe = {.in = -1}};
	uint8_t how = feed_byte(&feed);
	if (written < 0)
		written = memfd_create("answers", MFD_CLOEXEC);
	worker.pipe.out = written;
	FUZZ_REQUIRE(written >= 0 && open_tasks_init(&worker.open, 1));
	play(&worker, &feed, how);
	frames_release(&worker.frames);
	buffer_release(&worker.unsent);
	open_tasks_release(&worker.open);
}
