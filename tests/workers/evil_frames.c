/* Bad frames: what stands on the pipe is no output map at all. */
#include "workers/evil.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void half_length(struct evil *evil)
{
	raw_write(&evil->raw, "\0\0", 2);
	_exit(0);
}

static void half_frame(struct evil *evil)
{
	raw_write(&evil->raw, "\0\0\0\5\x81\xa1", 6);
	_exit(0);
}

static void half_frame_and_hang(struct evil *evil)
{
	raw_write(&evil->raw, "\0\0\0\5\x81\xa1", 6);
	evil_wait();
}

static void byte_by_byte(struct evil *evil)
{
	static const char done[] = "\0\0\0\5\x81\xa1\x31\xcc\xc8";
	for (size_t i = 0; i < sizeof done - 1; i++)
		raw_write(&evil->raw, done + i, 1);
}

static void huge_length(struct evil *evil)
{
	raw_write(&evil->raw, "\xff\xff\xff\xff\x81", 5);
	evil_wait();
}

static void http_text(struct evil *evil)
{
	static const char text[] = "HTTP/1.1 400 Bad Request\r\n\r\n";
	raw_write(&evil->raw, text, sizeof text - 1);
	evil_wait();
}

static void little_endian(struct evil *evil)
{
	raw_write(&evil->raw, "\5\0\0\0\x81\xa1\x31\xcc\xc8", 9);
	evil_wait();
}

static void zero_length(struct evil *evil)
{
	raw_write(&evil->raw, "\0\0\0\0", 4);
	evil_wait();
}

static void trailing_bytes(struct evil *evil)
{
	SEND(evil, "\x81\xa1\x31\xcc\xc8\xc0");
}

static void cut_object(struct evil *evil)
{
	SEND(evil, "\x82\xa1\x31\xcc\xc8");
}

static void never_used_byte(struct evil *evil)
{
	SEND(evil, "\xc1");
}

static void deep_nesting(struct evil *evil)
{
	char bytes[4096];
	memset(bytes, 0x91, sizeof bytes);
	bytes[sizeof bytes - 1] = (char)0xc0;
	raw_write_frame(&evil->raw, bytes, sizeof bytes);
}

static void many_elements(struct evil *evil)
{
	SEND(evil, "\xdf\xff\xff\xff\xff\xa1\x31\xcc\xc8");
}

static void long_text_declared(struct evil *evil)
{
	SEND(evil, "\x82\xa1\x31\xcc\xc8\xa1\x30\xdb\x7f\xff\xff\xff\x61");
}

static void not_a_map(struct evil *evil)
{
	SEND(evil, "\xcc\xc8");
}

static void bare_text(struct evil *evil)
{
	SEND(evil, "\xa5oh no");
}

static void long_array(struct evil *evil)
{
	SEND(evil, "\x95\xc0\xcc\xc8\x80\xc0\xc0");
}

static void boolean_keys(struct evil *evil)
{
	SEND(evil, "\x81\xc3\xcc\xc8");
}

static void random_bytes(struct evil *evil)
{
	unsigned seed = (unsigned)getpid();
	uint8_t bytes[512];
	for (size_t i = 0; i < sizeof bytes; i++)
		bytes[i] = (uint8_t)(rand_r(&seed) >> 8);
	bytes[0] |= 0x80; /* a length that is none */
	raw_write(&evil->raw, bytes, sizeof bytes);
	evil_wait();
}

const struct evil_behaviour evil_frames[] = {
	{"half-length", half_length, NULL, NULL},
	{"half-frame", half_frame, NULL, NULL},
	{"half-frame-and-hang", half_frame_and_hang, NULL, NULL},
	{"byte-by-byte", byte_by_byte, NULL, NULL},
	{"huge-length", huge_length, NULL, NULL},
	{"http-text", http_text, NULL, NULL},
	{"little-endian", little_endian, NULL, NULL},
	{"zero-length", zero_length, NULL, NULL},
	{"trailing-bytes", trailing_bytes, NULL, NULL},
	{"cut-object", cut_object, NULL, NULL},
	{"never-used-byte", never_used_byte, NULL, NULL},
	{"deep-nesting", deep_nesting, NULL, NULL},
	{"many-elements", many_elements, NULL, NULL},
	{"long-text-declared", long_text_declared, NULL, NULL},
	{"not-a-map", not_a_map, NULL, NULL},
	{"bare-text", bare_text, NULL, NULL},
	{"long-array", long_array, NULL, NULL},
	{"boolean-keys", boolean_keys, NULL, NULL},
	{"random-bytes", random_bytes, NULL, NULL},
	{NULL, NULL, NULL, NULL},
};
