/* Bad answers: valid maps with forbidden contents, or contents that cannot be published. */
#include "workers/evil.h"

#include <msgpack.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LONG_NAME   300
#define GIANT_BYTES (1u << 20)

static void two_answers(struct evil *evil)
{
	evil_done(evil);
	evil_done(evil);
}

static void answer_without_task(struct evil *evil)
{
	evil_done(evil);
}

static void empty_map(struct evil *evil)
{
	SEND(evil, "\x80");
}

static void unknown_status(struct evil *evil)
{
	SEND(evil, "\x81\xa1\x31\xcd\x03\xe7");
}

static void giant_status(struct evil *evil)
{
	SEND(evil, "\x81\xa1\x31\xcf\xff\xff\xff\xff\xff\xff\xff\xff");
}

static void text_status(struct evil *evil)
{
	SEND(evil, "\x81\xa1\x31\xa3"
		   "200");
}

static void headers_not_a_map(struct evil *evil)
{
	SEND(evil, "\x82\xa1\x31\xcc\xc9\xa1\x32\xa3zip");
}

static void queue_not_a_text(struct evil *evil)
{
	SEND(evil, "\x82\xa1\x31\xcc\xc9\xa1\x33\x07");
}

static void progress_for_ever(struct evil *evil)
{
	for (;;)
		SEND(evil, "\x82\xa1\x31\xff\xa1\x30\xa4more");
}

static void progress_then_exit(struct evil *evil)
{
	SEND(evil, "\x82\xa1\x31\xff\xa1\x30\xa4more");
	_exit(0);
}

/* A 201 whose headers and queue the behaviours below spoil. */
static void send_reply(struct evil *evil, const char *header, size_t header_len, const void *value,
	size_t value_len, size_t queue_len)
{
	char queue[LONG_NAME];
	msgpack_sbuffer buffer;
	msgpack_packer packer;
	memset(queue, 'q', sizeof queue);
	msgpack_sbuffer_init(&buffer);
	msgpack_packer_init(&packer, &buffer, msgpack_sbuffer_write);
	msgpack_pack_map(&packer, 4);
	msgpack_pack_str_with_body(&packer, "0", 1);
	msgpack_pack_str_with_body(&packer, "evil", 4);
	msgpack_pack_str_with_body(&packer, "1", 1);
	msgpack_pack_int(&packer, 201);
	msgpack_pack_str_with_body(&packer, "2", 1);
	msgpack_pack_map(&packer, header ? 1 : 0);
	if (header) {
		msgpack_pack_str_with_body(&packer, header, header_len);
		msgpack_pack_str_with_body(&packer, value, value_len);
	}
	msgpack_pack_str_with_body(&packer, "3", 1);
	msgpack_pack_str_with_body(&packer, queue, queue_len);
	raw_write_frame(&evil->raw, buffer.data, buffer.size);
	msgpack_sbuffer_destroy(&buffer);
}

static void reply_queue_long(struct evil *evil)
{
	send_reply(evil, NULL, 0, NULL, 0, LONG_NAME);
}

static void reply_queue_missing(struct evil *evil)
{
	send_reply(evil, NULL, 0, NULL, 0, 64);
}

static void header_key_long(struct evil *evil)
{
	char key[LONG_NAME];
	memset(key, 'k', sizeof key);
	send_reply(evil, key, sizeof key, "v", 1, 0);
}

static void header_giant(struct evil *evil)
{
	char *value = malloc(GIANT_BYTES);
	if (!value)
		_exit(70);
	memset(value, 'v', GIANT_BYTES);
	send_reply(evil, "giant", 5, value, GIANT_BYTES, 0);
	free(value);
}

static void header_cc(struct evil *evil)
{
	send_reply(evil, "CC", 2, "elsewhere", 9, 0);
}

static void header_bcc(struct evil *evil)
{
	send_reply(evil, "BCC", 3, "elsewhere", 9, 0);
}

static void header_not_utf8(struct evil *evil)
{
	send_reply(evil, "bad\xff", 4, "\xc3\x28", 2, 0);
}

static void header_ours(struct evil *evil)
{
	send_reply(evil, "x-wpool-attempt", 15, "-7", 2, 0);
}

const struct evil_behaviour evil_answers[] = {
	{"two-answers", two_answers, NULL, NULL},
	{"answer-without-task", NULL, NULL, answer_without_task},
	{"empty-map", empty_map, NULL, NULL},
	{"unknown-status", unknown_status, NULL, NULL},
	{"giant-status", giant_status, NULL, NULL},
	{"text-status", text_status, NULL, NULL},
	{"headers-not-a-map", headers_not_a_map, NULL, NULL},
	{"queue-not-a-text", queue_not_a_text, NULL, NULL},
	{"progress-for-ever", progress_for_ever, NULL, NULL},
	{"progress-then-exit", progress_then_exit, NULL, NULL},
	{"reply-queue-long", reply_queue_long, NULL, NULL},
	{"reply-queue-missing", reply_queue_missing, NULL, NULL},
	{"header-key-long", header_key_long, NULL, NULL},
	{"header-giant", header_giant, NULL, NULL},
	{"header-cc", header_cc, NULL, NULL},
	{"header-bcc", header_bcc, NULL, NULL},
	{"header-not-utf8", header_not_utf8, NULL, NULL},
	{"header-ours", header_ours, NULL, NULL},
	{NULL, NULL, NULL, NULL},
};
