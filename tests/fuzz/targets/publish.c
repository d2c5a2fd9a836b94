/* What `wpool publish` makes of its options and of a file: messages of any bytes, cut into lines or
 * not, each with headers given as KEY=VALUE; and what it writes to the broker stays whole frames.
 * Input: lines of options, an empty line, the file. */
#include "broker/envelope.h"
#include "fuzz/fuzz.h"
#include "fuzz/memory.h"
#include "fuzz/peer.h"
#include "publish/input.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* base: the room of one read of the file. */
const struct fuzz_memory fuzz_memory = {
	.base = 408 * 1024, .multiple = 4, .kept = 1024 /* libev */};

#define FRAME_MAX 4096
#define CHANNEL   1

static int file = -1;
static char name[64];
static struct ev_loop *loop;

static void on_event(void *ctx, const struct amqp_event *event)
{
	(void)ctx, (void)event;
}

static uint8_t *content_memory(
	void *ctx, uint16_t channel, bool is_return, size_t len, void **ret_owner)
{
	(void)ctx, (void)channel, (void)is_return, (void)len, (void)ret_owner;
	return NULL;
}

static void content_dropped(void *ctx, void *owner)
{
	(void)ctx, (void)owner;
}

static const struct connection_handler handler = {on_event, content_memory, content_dropped};

static void set_up(struct text content)
{
	if (file < 0) {
		file = memfd_create("messages", MFD_CLOEXEC);
		snprintf(name, sizeof name, "/proc/self/fd/%d", file);
		loop = ev_loop_new(EVFLAG_AUTO);
	}
	FUZZ_REQUIRE(file >= 0 && loop && ftruncate(file, 0) == 0);
	FUZZ_REQUIRE(pwrite(file, content.ptr, content.len, 0) == (ssize_t)content.len);
}

static void take_option(struct envelope *envelope, const char *line)
{
	const char *problem = NULL;
	if (strncmp(line, "queue=", 6) == 0)
		problem = envelope_set(envelope, ENVELOPE_QUEUE, text_from(line + 6));
	else if (strncmp(line, "reply_to=", 9) == 0)
		problem = envelope_set(envelope, ENVELOPE_REPLY_TO, text_from(line + 9));
	else if (strncmp(line, "correlation_id=", 15) == 0)
		problem = envelope_set(envelope, ENVELOPE_CORRELATION_ID, text_from(line + 15));
	else if (strncmp(line, "priority=", 9) == 0)
		problem = envelope_set_priority(envelope, text_from(line + 9));
	else if (strncmp(line, "session=", 8) == 0)
		problem = envelope_set_session(envelope, text_from(line + 8));
	else if (strncmp(line, "session_key=", 12) == 0)
		problem = envelope_set_session_key(envelope, line + 12);
	else
		problem = envelope_add_header(envelope, text_from(line));
	FUZZ_REQUIRE(!problem || *problem);
}

static void publish_all(struct envelope *envelope, struct peer *peer, size_t size, bool lines)
{
	char *const files[] = {name, NULL};
	struct input in;
	struct text body;
	enum input_result result;
	size_t told = 0;
	input_init(&in, loop, files, lines);
	while ((result = input_next(&in, &body)) != INPUT_END) {
		FUZZ_REQUIRE(result != INPUT_FAILED);
		if (result == INPUT_WAIT) {
			ev_run(loop, EVRUN_ONCE);
			continue;
		}
		FUZZ_REQUIRE(!lines || !memchr(body.ptr, '\n', body.len));
		FUZZ_REQUIRE(
			envelope_publish(envelope, peer->connection, CHANNEL, TEXT("id"), 1, body));
		peer_read(peer, false); /* the window of the command bounds what is unsent */
		told += body.len;
	}
	FUZZ_REQUIRE(in.taken == size && told <= size && (lines || told == size));
	input_release(&in);
}

static void play(struct envelope *envelope, size_t size)
{
	static const struct connection_params params = {
		SASL_PLAIN, "user", "secret", "/", "fuzz", 5, FRAME_MAX, 1u << 24, 4096};
	struct feed nothing = {TEXT("")};
	struct peer peer;
	struct connection *c = connection_new(&params, &handler, NULL);
	FUZZ_REQUIRE(c);
	peer_init(&peer, c, &nothing);
	peer_handshake(&peer);
	channel_open(c, CHANNEL);
	peer_read(&peer, true);
	FUZZ_REQUIRE(channel_is_open(c, CHANNEL));
	enum rc rc = envelope_check(envelope, c);
	FUZZ_REQUIRE(rc == RC_OK || rc == RC_LIMIT);
	if (rc == RC_OK) {
		publish_all(envelope, &peer, size, true);
		publish_all(envelope, &peer, size, false);
		FUZZ_REQUIRE(!connection_has_failed(c));
	}
	connection_free(c);
}

void fuzz_one(struct text input)
{
	const char *end = memmem(input.ptr, input.len, "\n\n", 2);
	size_t len = end ? (size_t)(end - input.ptr) : input.len;
	struct text content = end ? text_of(end + 2, input.len - len - 2) : TEXT_NONE;
	struct envelope envelope;
	memory_pause();
	set_up(content);
	char *options = strndup(input.ptr, len), *rest = options, *line;
	FUZZ_REQUIRE(options);
	memory_resume();
	envelope_init(&envelope);
	while ((line = strsep(&rest, "\n")))
		take_option(&envelope, line);
	if (!envelope_problem(&envelope))
		play(&envelope, content.len);
	envelope_release(&envelope);
	memory_pause();
	free(options);
	memory_resume();
}
