/* What the holder of a token hands over about its sessions, as bytes. Layer: message. MessagePack:
 * an array of arrays of HANDOVER_MEMBERS. Any publisher that may write to the token's queue can
 * forge it, so everything is checked when it is read. */
#ifndef MESSAGE_HANDOVER_H
#define MESSAGE_HANDOVER_H

#include "base/buf.h"
#include "core/session_handover.h"
#include "message/key_source.h"

/* Key, flags, reason, wait in milliseconds, attempt, slice, and the rest's body, headers and
 * content type; without a rest these are nil. */
#define HANDOVER_MEMBERS 9
/* Bytes of one without a rest: its key and at most 64 more. */
#define HANDOVER_NAME_MAX (SESSION_KEY_MAX + 64)

enum handover_part {
	HANDOVER_FIRST, /* paused, blocked or named: without it more would run than may */
	HANDOVER_OTHERS,
	HANDOVER_WITH_REST, /* of either kind */
	HANDOVER_PARTS
};

struct handover_loss {
	uint32_t count;
	char key[SESSION_KEY_MAX]; /* of the first one */
	size_t len;
};

/* The functions below change it. */
struct handover_writer {
	size_t size_max;                  /* of the parts together, in bytes */
	struct buf parts[HANDOVER_PARTS]; /* owned */
	uint32_t count;                   /* in all parts */
	struct handover_loss left_out, without_rest;
};

void handover_init(struct handover_writer *, size_t size_max);
void handover_release(struct handover_writer *);
void handover_clear(struct handover_writer *);
/* What does not fit is left out and counted: of all first the rests, then those that are not
 * HANDOVER_FIRST. */
void handover_add(struct handover_writer *, const struct session_handover *);
/* Append all of it to out. False: out of memory, or over out's limit; out is as before, and not
 * failed. */
bool handover_write(const struct handover_writer *, struct buf *out) MUST_CHECK;
/* Append what is to be read as only this one, which has no rest: at most HANDOVER_NAME_MAX bytes.
 * False as above. */
bool handover_write_name(const struct session_handover *, struct buf *out) MUST_CHECK;

/* Read the bytes. *ret is allocated, owned by the caller; its texts are borrowed from bytes.
 * RC_MALFORMED: handover_write has not written them; RC_MEMORY. */
enum rc handover_read(
	struct text bytes, struct session_handover **ret, size_t *ret_count) MUST_CHECK;

#endif
