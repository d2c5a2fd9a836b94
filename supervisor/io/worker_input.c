#include "io/worker.h"

#include "base/crash_point.h"
#include "io/clock.h"
#include "io/descriptors.h"
#include "wire/frame.h"
#include <errno.h>
#include <unistd.h>

/* From end of file to SIGCHLD. A process that dies closes its pipe first and is reaped a moment
 * later; it is a crash with its status, not a worker that closed its pipe and lives. */
#define EXIT_MOMENT (200 * MTIME_MS)

static const char closed_words[] = "closed its pipe";
static const char torn_words[] = "closed its pipe in the middle of a frame";

void worker_stop_reading(struct worker *worker)
{
	struct workshop *shop = worker->shop;
	ev_io_stop(shop->loop, &worker->readable);
	buf_release(&worker->begun);
	if (shop->stuck == worker)
		shop->stuck = NULL;
	worker->input = INPUT_DONE;
}

void worker_break(struct worker *worker, const char *what)
{
	worker_stop_reading(worker);
	worker_drop_output(worker);
	struct event event = {.kind = SLOT_BROKEN, .slot = {.what = what}};
	worker_tell_event(worker, &event);
}

/* ---------- frames ---------- */

void worker_begin(struct worker *worker, bool is_behind)
{
	worker->is_behind = is_behind;
	worker->has_begun = false;
	worker_log_begin(&worker->logs[STREAM_ERROR]);
}

/* An answer that says no, with what stderr said of it. The two are read in no order: if another
 * answer follows at once, what was said last is that one's. */
static struct output *add_words(struct worker *worker, struct output *output, bool is_last)
{
	struct worker_log *log = &worker->logs[STREAM_ERROR];
	struct text words;
	if (is_last)
		worker_log_catch_up(log);
	words = is_last ? worker_log_words(log, worker->is_behind, ev_iteration(worker->shop->loop))
			: worker_log_earlier_words(log);
	return words.len > 0 ? output_add_words(output, words) : output;
}

/* The next one began behind this one. Of several answers in one read only the last asks the kernel
 * what stderr holds: no time passed between them. */
static void note_answer(struct worker *worker)
{
	if (worker->open > 0)
		worker->open--;
	worker->has_begun = worker->open > 0;
	if (!worker->has_begun)
		return;
	worker_log_pass(&worker->logs[STREAM_ERROR]);
	worker->is_behind = true;
}

/* is_last: nothing behind it was read yet. */
static enum rc tell_frame(
	struct worker *worker, struct text frame, bool is_last, const char **ret_what)
{
	struct output *output;
	enum rc rc = answer_read(frame, &worker->shop->config->answer, &output, ret_what);
	if (rc != RC_OK)
		return rc;
	if (output->status >= STATUS_REJECTED)
		output = add_words(worker, output, is_last);
	if (output->status != STATUS_PROGRESS)
		note_answer(worker);
	struct event event = {
		.kind = SLOT_OUTPUT, .absent = clock_absent(), .slot = {.output = output}};
	CRASH_POINT("answer-read");
	worker_tell_event(worker, &event);
	return RC_OK;
}

static enum rc tell_each(struct worker *worker, struct text *bytes, const char **ret_what)
{
	size_t limit = worker->shop->config->task.frame_limit;
	while (bytes->len >= WIRE_LENGTH_BYTES) {
		uint32_t len = wire_get_length((const uint8_t *)bytes->ptr);
		if (len == 0 || len > limit) {
			*ret_what = "a frame of no length, or over max_frame";
			return RC_MALFORMED;
		}
		if (bytes->len - WIRE_LENGTH_BYTES < len)
			return RC_OK;
		struct text frame = text_of(bytes->ptr + WIRE_LENGTH_BYTES, len);
		size_t used = WIRE_LENGTH_BYTES + (size_t)len;
		enum rc rc = tell_frame(worker, frame, used == bytes->len, ret_what);
		if (rc != RC_OK)
			return rc;
		*bytes = text_of(bytes->ptr + used, bytes->len - used);
	}
	return RC_OK;
}

/* Tells every whole frame at the front of *bytes, and moves it past them. RC_MEMORY: the first
 * that is left has to be tried again. RC_MALFORMED: *ret_what says why. */
static enum rc tell_frames(struct worker *worker, struct text *bytes, const char **ret_what)
{
	enum rc rc = tell_each(worker, bytes, ret_what);
	if (worker->has_begun)
		worker_begin(worker, true);
	return rc;
}

/* Memory is short: nothing is read until worker_read_on could go on. */
static void pause_reading(struct worker *worker)
{
	ev_io_stop(worker->shop->loop, &worker->readable);
	worker_later(worker);
}

/* Bytes of the shared scratch: whole frames are told, an unfinished one is put away. */
static void take_scratch(struct worker *worker, struct text bytes)
{
	struct workshop *shop = worker->shop;
	const char *what;
	enum rc rc = tell_frames(worker, &bytes, &what);
	if (rc == RC_MALFORMED) {
		worker_break(worker, what);
		return;
	}
	if (rc == RC_OK) {
		buf_append_text(&worker->begun, bytes);
		if (!worker->begun.failed)
			return;
		buf_clear(&worker->begun);
	}
	shop->stuck = worker;
	shop->stuck_bytes = bytes;
	pause_reading(worker);
}

static void take_begun(struct worker *worker)
{
	struct text bytes = buf_text(&worker->begun);
	size_t before = bytes.len;
	const char *what;
	enum rc rc = tell_frames(worker, &bytes, &what);
	if (rc == RC_MALFORMED) {
		worker_break(worker, what);
		return;
	}
	buf_consume(&worker->begun, before - bytes.len);
	if (rc == RC_MEMORY)
		pause_reading(worker);
}

/* ---------- reading ---------- */

/* Nothing more can come. What there is of a frame is told only as a protocol error, and only if the
 * process does not die of it. */
static void end_of_input(struct worker *worker)
{
	if (worker->process == PROCESS_EXITED || worker->sending == SENDING_SHUT) {
		worker_stop_reading(worker);
		return;
	}
	ev_io_stop(worker->shop->loop, &worker->readable);
	worker_drop_output(worker);
	worker->input = INPUT_ENDED;
	worker->ended_at = clock_now();
	worker_later(worker);
	worker_tell_room(worker, false); /* so that no task is given to a corpse */
}

void worker_close_overdue(struct worker *worker)
{
	if (clock_now() - worker->ended_at < EXIT_MOMENT)
		worker_later(worker);
	else
		worker_break(worker, buf_len(&worker->begun) > 0 ? torn_words : closed_words);
}

static void nothing_now(struct worker *worker)
{
	if (worker->process == PROCESS_EXITED)
		worker->left = 0;
	else if (worker->sending == SENDING_LOST)
		end_of_input(worker);
}

/* n: what read(2) returned. True: that many bytes have come. */
static bool has_come(struct worker *worker, ssize_t n)
{
	if (n > 0) {
		if (worker->left != SIZE_MAX)
			worker->left -= (size_t)n;
		worker_pipe_unlink(&worker->pipe); /* a FIFO's: now it has opened both */
		return true;
	}
	if (n < 0 && errno == EINTR)
		return false;
	if (n < 0 && errno == EAGAIN)
		nothing_now(worker);
	else
		end_of_input(worker);
	return false;
}

static size_t share_of(const struct worker *worker)
{
	return worker->left < WORKER_READ ? worker->left : WORKER_READ;
}

/* Straight behind what was kept: no byte is copied, and none is read that has no place. */
static void read_behind(struct worker *worker)
{
	size_t share = share_of(worker);
	uint8_t *room = buf_room(&worker->begun, share);
	if (!room) {
		worker->begun.failed = false;
		pause_reading(worker);
		return;
	}
	ssize_t n = read(worker->pipe.input, room, share);
	if (!has_come(worker, n))
		return;
	buf_added(&worker->begun, (size_t)n);
	take_begun(worker);
}

void worker_read(struct worker *worker)
{
	struct workshop *shop = worker->shop;
	if (worker->input != INPUT_OPEN || worker->left == 0)
		return;
	if (shop->stuck) {
		pause_reading(worker);
		return;
	}
	if (buf_len(&worker->begun) > 0) {
		read_behind(worker);
		return;
	}
	ssize_t n = read(worker->pipe.input, shop->scratch, share_of(worker));
	if (has_come(worker, n))
		take_scratch(worker, text_of(shop->scratch, (size_t)n));
}

void worker_read_on(struct worker *worker)
{
	struct workshop *shop = worker->shop;
	ev_io_start(shop->loop, &worker->readable);
	if (shop->stuck == worker) {
		shop->stuck = NULL;
		take_scratch(worker, shop->stuck_bytes);
	} else if (buf_len(&worker->begun) > 0) {
		take_begun(worker);
	}
}
