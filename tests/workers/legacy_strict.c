/* Behaves like the existing Rust worker (protocol: "Existing workers"), its faults included: it
 * decodes strictly, and what it cannot decode is never answered: a nil correlation id, a header
 * value that is nil or no text, bad UTF-8. After both ends of file it spins until it is killed. */
#include "workers/legacy.h"

#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int continuation_bytes(uint8_t first)
{
	if (first < 0x80)
		return 0;
	if (first >= 0xc2 && first <= 0xdf)
		return 1;
	if (first >= 0xe0 && first <= 0xef)
		return 2;
	return first >= 0xf0 && first <= 0xf4 ? 3 : -1;
}

/* RFC 3629: the second byte's range depends on the first, which keeps out overlong forms,
 * surrogates, and what is beyond U+10FFFF. */
static bool is_good_second(uint8_t first, uint8_t second)
{
	uint8_t low = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
	uint8_t high = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
	return second >= low && second <= high;
}

static bool is_text(const msgpack_object *object)
{
	if (object->type != MSGPACK_OBJECT_STR)
		return false;
	const uint8_t *bytes = (const uint8_t *)object->via.str.ptr;
	for (uint32_t i = 0; i < object->via.str.size; i++) {
		uint8_t first = bytes[i];
		int more = continuation_bytes(first);
		if (more < 0 || (uint32_t)more >= object->via.str.size - i)
			return false;
		for (int k = 1; k <= more; k++)
			if (k == 1 ? !is_good_second(first, bytes[i + 1])
				   : (bytes[i + (uint32_t)k] & 0xc0) != 0x80)
				return false;
		i += (uint32_t)more;
	}
	return true;
}

static bool is_text_map(const msgpack_object *object)
{
	if (object->type != MSGPACK_OBJECT_MAP)
		return false;
	for (uint32_t i = 0; i < object->via.map.size; i++)
		if (!is_text(&object->via.map.ptr[i].key) || !is_text(&object->via.map.ptr[i].val))
			return false;
	return true;
}

static const msgpack_object *find(const msgpack_object *map, char key)
{
	for (uint32_t i = 0; i < map->via.map.size; i++) {
		const msgpack_object *at = &map->via.map.ptr[i].key;
		if (at->type == MSGPACK_OBJECT_STR && at->via.str.size == 1 &&
			at->via.str.ptr[0] == key)
			return &map->via.map.ptr[i].val;
	}
	return NULL;
}

static bool is_field(const msgpack_object *map, char key, bool (*is_good)(const msgpack_object *))
{
	const msgpack_object *value = find(map, key);
	return value && is_good(value);
}

static bool is_strict_task(const msgpack_object *object)
{
	return object->type == MSGPACK_OBJECT_MAP && is_field(object, '0', is_text) &&
	       is_field(object, '1', is_text) && is_field(object, '2', is_text) &&
	       is_field(object, '3', is_text_map);
}

static void pack_answer(msgpack_packer *packer, msgpack_object_str body)
{
	msgpack_object_str reply = {0, ""};
	enum legacy_result result = legacy_handle(body, &reply);
	int status = result == LEGACY_DONE ? 200 : result == LEGACY_REPLY ? 201 : 500;
	msgpack_pack_map(packer, 3);
	msgpack_pack_str_with_body(packer, "0", 1);
	msgpack_pack_str_with_body(packer, reply.ptr, reply.size);
	msgpack_pack_str_with_body(packer, "1", 1);
	msgpack_pack_fix_int16(packer, (int16_t)status);
	msgpack_pack_str_with_body(packer, "2", 1);
	msgpack_pack_nil(packer);
}

static void answer(struct raw *raw, const msgpack_object *task)
{
	msgpack_sbuffer buffer;
	msgpack_packer packer;
	msgpack_sbuffer_init(&buffer);
	msgpack_packer_init(&packer, &buffer, msgpack_sbuffer_write);
	pack_answer(&packer, find(task, '0')->via.str);
	raw_write_frame(raw, buffer.data, buffer.size);
	msgpack_sbuffer_destroy(&buffer);
}

static bool work_one(struct raw *raw)
{
	struct raw_frame frame;
	msgpack_unpacked unpacked;
	if (!raw_read_frame(raw, &frame))
		return false;
	msgpack_unpacked_init(&unpacked);
	if (msgpack_unpack_next(&unpacked, (char *)frame.bytes, frame.len, NULL) ==
			MSGPACK_UNPACK_SUCCESS &&
		is_strict_task(&unpacked.data))
		answer(raw, &unpacked.data);
	msgpack_unpacked_destroy(&unpacked);
	free(frame.bytes);
	return true;
}

/* Read a line and ignore it; false at the end of the file. */
static bool read_control(void)
{
	char bytes[256];
	return read(STDIN_FILENO, bytes, sizeof bytes) > 0;
}

int main(void)
{
	struct raw raw;
	signal(SIGTERM, SIG_IGN);
	legacy_connect(&raw);
	struct pollfd wait[] = {
		{.fd = raw.in, .events = POLLIN}, {.fd = STDIN_FILENO, .events = POLLIN}};
	for (;;) {
		poll(wait, 2, wait[0].fd < 0 && wait[1].fd < 0 ? 0 : -1);
		if (wait[0].fd >= 0 && wait[0].revents && !work_one(&raw))
			wait[0].fd = -1;
		if (wait[1].fd >= 0 && wait[1].revents && !read_control())
			wait[1].fd = -1;
	}
}
