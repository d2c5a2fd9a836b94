/* What a worker sent where the protocol wants something else, for people. Layer: message.
 * Each function writes a short string that is safe to show: one line, bytes as hexadecimal digits,
 * texts cut and escaped. */
#ifndef MESSAGE_FAULT_DETAIL_H
#define MESSAGE_FAULT_DETAIL_H

#include "base/text.h"
#include "wire/value.h"

#define FAULT_DETAIL_SIZE 160

/* What bytes look like that come where a frame begins. */
enum fault_look {
	LOOK_UNKNOWN,
	LOOK_HTTP,
	LOOK_JSON,
	LOOK_TEXT,
	LOOK_NO_LENGTH,     /* a MessagePack map without its length in front */
	LOOK_LITTLE_ENDIAN, /* the length is in the wrong order of bytes */
	LOOK_LONG_LENGTH,   /* the length has 8 bytes */
};

/* head: their beginning, 16 bytes if there are as many; len: how many came; limit: the maximum of
 * a length, 0: not known. */
enum fault_look fault_look(struct text head, size_t len, uint64_t limit);

/* bytes: all that came; their length is 0 or over limit. "48 54 54 50 is 1213486160, max_frame is
 * 17825792; this looks like HTTP: "HTTP/1.1 400 Bad Reque"" */
void fault_detail_length(char ret[FAULT_DETAIL_SIZE], struct text bytes, uint64_t limit);
/* A frame that is not whole; head as above. "12 of the 300 bytes of a frame came: 00 00 01 28 82 …"
 */
void fault_detail_half(char ret[FAULT_DETAIL_SIZE], struct text head, size_t len);
/* A frame that is not one MessagePack object: "32 bytes: 82 a1 31 cc …" */
void fault_detail_frame(char ret[FAULT_DETAIL_SIZE], struct text frame);
/* "999", "the text "200"", "a map of 2". value: of the members of a map or array only the head. */
void fault_detail_value(char ret[FAULT_DETAIL_SIZE], const struct wire_value *value);
/* The keys of a map: "its keys are "code", "body"". at: behind the head of the map. */
void fault_detail_keys(
	char ret[FAULT_DETAIL_SIZE], const uint8_t *at, const uint8_t *end, uint32_t count);

#endif
