/* The pipe protocol's frames, for both ends. Part of the worker SDK and of the supervisor; needs
 * msgpack-c only. See worker-sdk/PROTOCOL.md, section 4.
 * Nothing is decoded before wire_check accepted it: a few hostile bytes can make a MessagePack
 * decoder allocate gigabytes. */
#ifndef WIRE_FRAME_H
#define WIRE_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WIRE_LENGTH_BYTES 4
#define WIRE_DEPTH_MAX    16
#define WIRE_OBJECTS_MAX  65536

enum wire_check_result {
	WIRE_OK,
	WIRE_CUT,      /* ends in the middle of an object */
	WIRE_TRAILING, /* bytes after the one object */
	WIRE_TOO_DEEP, /* nested deeper than WIRE_DEPTH_MAX */
	WIRE_TOO_MANY, /* more elements declared than bytes left, or than WIRE_OBJECTS_MAX */
	WIRE_BAD_BYTE, /* 0xc1, which MessagePack never uses */
};

/* Check that the len bytes are exactly one MessagePack object, without recursion or allocation. */
enum wire_check_result wire_check(const uint8_t *bytes, size_t len);
const char *wire_check_words(enum wire_check_result);

/* The 4-byte big-endian length in front of every frame. */
uint32_t wire_get_length(const uint8_t bytes[WIRE_LENGTH_BYTES]);
void wire_put_length(uint8_t bytes[WIRE_LENGTH_BYTES], uint32_t length);

#endif
