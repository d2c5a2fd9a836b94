/* The bytes of a file with the starts of a throttle. Layer: runtime, without I/O. A header, then
 * entries of one size, which are only appended:
 *   BOOT     the boot of the machine in which the next ones were made, and when it began
 *   START    tasks with this key are about to be written to workers
 *   WRITTEN  all before it were written at this time at the latest
 * So a process that is killed between START and the write, or between that and WRITTEN, leaves a
 * start of which only the time is not known. Times are those of the file's own clock. Where
 * another boot, or another machine, goes on with the file, that clock goes on where it was: BOOT
 * stands behind WRITTEN, and its boot began as long before the latest time as the machine is up.
 * Each entry has a checksum over its place, too. */
#ifndef RUNTIME_THROTTLE_FILE_H
#define RUNTIME_THROTTLE_FILE_H

#include "base/buf.h"
#include "base/mtime.h"

#define THROTTLE_FILE_HEADER 48
#define THROTTLE_FILE_ENTRY  24

/* The starts of one throttle are in two files, one generation after the other. */
struct throttle_file_header {
	uint64_t generation; /* from 1 */
	uint64_t seed;       /* throttle_seed: of the keys' numbers */
	mtime before;        /* starts that are in neither file were not after this */
};

enum throttle_file_kind { THROTTLE_FILE_BOOT = 1, THROTTLE_FILE_START, THROTTLE_FILE_WRITTEN };

struct throttle_file_entry {
	enum throttle_file_kind kind;
	uint32_t starts; /* START: how many, at most THROTTLE_LIMIT_MAX in a turn */
	uint64_t id;     /* START: the key; BOOT: which one */
	mtime at;        /* BOOT: its begin; WRITTEN */
};

void throttle_file_append_header(struct buf *, const struct throttle_file_header *);
/* offset: where it stands in the file. */
void throttle_file_append(struct buf *, const struct throttle_file_header *, uint64_t offset,
	const struct throttle_file_entry *);

/* Where the bytes of a file are. They are read in small pieces, as a file may be larger than the
 * memory. */
struct throttle_file_source {
	/* Read so many bytes, which are below size. False: they cannot be read. */
	bool (*read)(void *ctx, uint64_t offset, void *ret_bytes, size_t len);
	void *ctx; /* borrowed, until the file is replayed */
	uint64_t size;
};

/* What a file has. */
struct throttle_file {
	struct throttle_file_source source;
	uint64_t size; /* of the header and whole entries */
	struct throttle_file_header header;
	uint64_t boot; /* of its last BOOT */
	mtime boot_began;
	mtime latest;       /* the latest time in it */
	bool has_unwritten; /* there are starts behind the last WRITTEN */
};

/* Check a file. RC_NOT_FOUND: it is empty. RC_MALFORMED: something in it is not what was written,
 * or cannot be read. An entry at the end of which only a part is there was not written as a whole,
 * so its tasks did not start: it is left out. */
enum rc throttle_file_read(
	const struct throttle_file_source *, struct throttle_file *ret) MUST_CHECK;
/* Call on_starts for each START, in the order of times. unwritten_at: the time of those behind the
 * last WRITTEN. False: the rest cannot be read any more. */
bool throttle_file_replay(const struct throttle_file *, mtime unwritten_at,
	void (*on_starts)(void *ctx, uint64_t key, uint32_t starts, mtime at),
	void *ctx) MUST_CHECK;

#endif
