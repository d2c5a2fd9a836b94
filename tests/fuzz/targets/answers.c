/* What a worker writes into its pipe, through the reader that serve has: frames cut anywhere, then
 * MessagePack, then an answer. Whatever comes is an output within its limits or a broken worker. */
#include "fuzz/feed.h"
#include "fuzz/fuzz.h"
#include "fuzz/memory.h"
#include "fuzz/published.h"
#include "fuzz/shown.h"
#include "wire/frame.h"
#include "worker/worker_internal.h"

#include <fcntl.h>
#include <unistd.h>

#define FRAME_LIMIT 8192
#define BODY_LIMIT  2048

/* base: one read's room behind a frame that is cut, rounded up by the buffer's doubling. */
const struct fuzz_memory fuzz_memory = {
	.base = 144 * 1024, .multiple = 16, .kept = 1024 /* libev */};

static struct workers_config config = {.pool = "fuzz",
	.concurrency = 1,
	.task = {.frame_limit = FRAME_LIMIT},
	.answer = {.body_bytes = BODY_LIMIT}};
static struct workers workers = {.config = &config};
static bool is_broken;

static void take_output(struct output *output)
{
	FUZZ_REQUIRE(table_check(output->headers) == RC_OK);
	FUZZ_REQUIRE(output->hard_limit_ms >= -1 &&
		     output->hard_limit_ms <=
			     (output->status == STATUS_PROGRESS ? OUTPUT_HARD_LIMIT_MAX : -1));
	FUZZ_REQUIRE(output->headers.len <= config.answer.header_bytes);
	FUZZ_REQUIRE(output->body.len <= BODY_LIMIT);
	FUZZ_REQUIRE(output->retry_after_ms >= -1);
	if (output->invalid == REASON_NONE)
		published_check_answer(output);
	output_free(output);
}

/* Whatever the bytes are, they are shown in one line. */
static void take_fault(const struct event *event)
{
	is_broken = event->slot.what[0] != '\0';
	if (event->slot.output)
		shown_check(event->slot.output->detail, "");
	output_free(event->slot.output);
}

/* Replaces the pool's: checks what the reader reports. */
void pool_step(struct pool *pool, mtime now, const struct event *event)
{
	(void)pool, (void)now;
	FUZZ_REQUIRE(!is_broken);
	if (event->kind == SLOT_OUTPUT)
		take_output(event->slot.output);
	else if (event->kind == SLOT_BROKEN)
		take_fault(event);
	else
		FUZZ_REQUIRE(event->kind == SLOT_WRITABLE);
}

static void on_tick(struct ev_loop *loop, ev_timer *timer, int events)
{
	(void)loop, (void)timer, (void)events;
}

static void set_up(void)
{
	if (workers.loop)
		return;
	workers.loop = ev_loop_new(EVFLAG_AUTO);
	FUZZ_REQUIRE(workers.loop);
	ev_init(&workers.tick, on_tick);
	list_init(&workers.unsent);
	list_init(&workers.later);
}

static void write_all(int fd, struct text bytes)
{
	FUZZ_REQUIRE(write(fd, bytes.ptr, bytes.len) == (ssize_t)bytes.len);
}

/* A frame with its length in front where that is right, the bytes as they are where it is not. */
static void send_and_read(struct worker *worker, int fd, struct text bytes, size_t slice)
{
	while (bytes.len > 0) {
		size_t len = bytes.len < slice ? bytes.len : slice;
		write_all(fd, text_of(bytes.ptr, len));
		worker_read(worker);
		bytes = text_of(bytes.ptr + len, bytes.len - len);
	}
}

static void play(struct worker *worker, int fd, struct feed *feed, bool is_framed, size_t slice)
{
	while (is_framed && !feed_is_over(feed)) {
		uint8_t length[WIRE_LENGTH_BYTES];
		struct text frame = feed_long(feed);
		wire_put_length(length, (uint32_t)frame.len);
		send_and_read(worker, fd, text_of(length, sizeof length), slice);
		send_and_read(worker, fd, frame, slice);
	}
	send_and_read(worker, fd, feed_text(feed, feed->rest.len), slice);
}

void fuzz_one(struct text input)
{
	static const uint32_t header_bytes[] = {100, 1000, 4000, 131072};
	struct feed feed = {input};
	struct worker worker;
	int ends[2];
	uint8_t how = feed_byte(&feed);
	memory_pause();
	set_up();
	memory_resume();
	is_broken = false;
	config.answer.header_bytes = header_bytes[how & 3];
	config.answer.bare_str_is_failure = how & 4;
	worker_init(&worker, &workers, 0);
	FUZZ_REQUIRE(pipe2(ends, O_NONBLOCK | O_CLOEXEC) == 0);
	worker.pipe.input = ends[0];
	worker.input = INPUT_OPEN;
	play(&worker, ends[1], &feed, how & 8, how < 128 ? SIZE_MAX : how - 127u);
	close(ends[1]);
	worker_read(&worker);
	FUZZ_REQUIRE(worker.input == (is_broken ? INPUT_DONE : INPUT_ENDED));
	worker_release(&worker);
	ev_timer_stop(workers.loop, &workers.tick);
}
