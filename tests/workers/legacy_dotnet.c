/* Behaves like the existing .NET worker (protocol: "Existing workers"), its faults included: after
 * an exception it sends a bare MessagePack str, and it reads a body with one receive call, so that
 * a frame which does not fit the socket's buffer arrives torn, and desynchronises it for ever. */
#include "workers/legacy.h"

#include "wire/frame.h"
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static const msgpack_object *find(const msgpack_object *map, char key)
{
	for (uint32_t i = 0; map->type == MSGPACK_OBJECT_MAP && i < map->via.map.size; i++) {
		const msgpack_object *at = &map->via.map.ptr[i].key;
		if (at->type == MSGPACK_OBJECT_STR && at->via.str.size == 1 &&
			at->via.str.ptr[0] == key)
			return &map->via.map.ptr[i].val;
	}
	return NULL;
}

static void pack_exception(msgpack_packer *packer)
{
	static const char words[] = "System.Exception: the handler failed";
	msgpack_pack_str_with_body(packer, words, sizeof words - 1);
}

static void pack_output(msgpack_packer *packer, int32_t status, msgpack_object_str reply)
{
	msgpack_pack_map(packer, 4);
	msgpack_pack_str_with_body(packer, "0", 1);
	msgpack_pack_str_with_body(packer, reply.ptr, reply.size);
	msgpack_pack_str_with_body(packer, "1", 1);
	msgpack_pack_fix_int32(packer, status);
	msgpack_pack_str_with_body(packer, "2", 1);
	msgpack_pack_nil(packer);
	msgpack_pack_str_with_body(packer, "3", 1);
	msgpack_pack_nil(packer);
}

static void pack_answer(msgpack_packer *packer, const msgpack_object *task)
{
	msgpack_object_str reply = {0, ""};
	const msgpack_object *body = task ? find(task, '0') : NULL;
	if (!body || body->type != MSGPACK_OBJECT_STR) {
		pack_exception(packer);
		return;
	}
	switch (legacy_handle(body->via.str, &reply)) {
	case LEGACY_DONE:
		pack_output(packer, 200, reply);
		break;
	case LEGACY_REPLY:
		pack_output(packer, 201, reply);
		break;
	case LEGACY_FAILURE:
		pack_exception(packer);
		break;
	}
}

static void answer(struct raw *raw, const uint8_t *bytes, size_t len)
{
	msgpack_sbuffer buffer;
	msgpack_packer packer;
	msgpack_unpacked unpacked;
	msgpack_unpacked_init(&unpacked);
	msgpack_sbuffer_init(&buffer);
	msgpack_packer_init(&packer, &buffer, msgpack_sbuffer_write);
	bool is_sound = wire_check(bytes, len) == WIRE_OK &&
			msgpack_unpack_next(&unpacked, (const char *)bytes, len, NULL) ==
				MSGPACK_UNPACK_SUCCESS;
	pack_answer(&packer, is_sound ? &unpacked.data : NULL);
	raw_write_frame(raw, buffer.data, buffer.size);
	msgpack_sbuffer_destroy(&buffer);
	msgpack_unpacked_destroy(&unpacked);
}

/* The one receive call: what it does not bring stays zero. */
static bool work_one(struct raw *raw)
{
	uint8_t length[WIRE_LENGTH_BYTES];
	if (!raw_read_exactly(raw->in, length, sizeof length))
		return false;
	size_t len = wire_get_length(length);
	uint8_t *bytes = calloc(1, len ? len : 1);
	if (!bytes)
		return false;
	ssize_t got = recv(raw->in, bytes, len, 0);
	if (got > 0)
		answer(raw, bytes, len);
	free(bytes);
	return got > 0;
}

int main(void)
{
	struct raw raw;
	char line[64];
	legacy_connect(&raw);
	struct pollfd wait[] = {
		{.fd = raw.in, .events = POLLIN}, {.fd = STDIN_FILENO, .events = POLLIN}};
	for (;;) {
		poll(wait, 2, -1);
		if (wait[1].revents) {
			ssize_t got = read(STDIN_FILENO, line, sizeof line);
			if (got <= 0 || memmem(line, (size_t)got, "__quit__", 8))
				return 0;
		}
		if (wait[0].revents && !work_one(&raw))
			return 0;
	}
}
