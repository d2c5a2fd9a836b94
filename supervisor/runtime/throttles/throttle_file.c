#include "runtime/throttles/throttle_file.h"

#include "base/keyed_hash.h"

#include <assert.h>
#include <endian.h>

/* The last byte is the version of the format. */
static const char magic[8] = {'w', 'p', 'o', 'o', 'l', 't', 'h', 1};

/* Numbers are in network order. */
struct header_bytes {
	char magic[8];
	uint64_t generation, seed, before, unused;
	uint64_t check; /* of all before it */
};

struct entry_bytes {
	uint32_t check; /* of all behind it */
	uint32_t head;  /* kind, and starts */
	uint64_t id, at;
};

_Static_assert(sizeof(struct header_bytes) == THROTTLE_FILE_HEADER, "header");
_Static_assert(sizeof(struct entry_bytes) == THROTTLE_FILE_ENTRY, "entry");

#define STARTS_BITS 24
#define STARTS_MAX  ((1u << STARTS_BITS) - 1)

#define PIECE (170 * THROTTLE_FILE_ENTRY) /* a page of memory */

/* ---------- writing ---------- */

static uint64_t header_check(const struct header_bytes *bytes)
{
	return htobe64(keyed_hash(0, text_of(bytes, offsetof(struct header_bytes, check))));
}

void throttle_file_append_header(struct buf *out, const struct throttle_file_header *header)
{
	struct header_bytes bytes = {.generation = htobe64(header->generation),
		.seed = htobe64(header->seed),
		.before = htobe64((uint64_t)header->before)};

	memcpy(bytes.magic, magic, sizeof magic);
	bytes.check = header_check(&bytes);
	buf_append(out, &bytes, sizeof bytes);
}

/* What an older generation left in the same place has another one. */
static uint32_t entry_check(
	const struct throttle_file_header *header, uint64_t offset, const struct entry_bytes *bytes)
{
	uint64_t secret = header->seed ^ header->generation << 40 ^ offset;

	return htobe32((uint32_t)keyed_hash(
		secret, text_of(&bytes->head, sizeof *bytes - sizeof bytes->check)));
}

void throttle_file_append(struct buf *out, const struct throttle_file_header *header,
	uint64_t offset, const struct throttle_file_entry *entry)
{
	struct entry_bytes bytes = {
		.head = htobe32((uint32_t)entry->kind << STARTS_BITS | entry->starts),
		.id = htobe64(entry->id),
		.at = htobe64((uint64_t)entry->at)};

	assert(entry->starts <= STARTS_MAX);
	bytes.check = entry_check(header, offset, &bytes);
	buf_append(out, &bytes, sizeof bytes);
}

/* ---------- reading ---------- */

/* The piece of a file that was read last. */
struct piece {
	const struct throttle_file *file;
	uint64_t begin, end;
	uint8_t bytes[PIECE];
};

static bool read_header(const struct throttle_file_source *source, struct throttle_file_header *ret)
{
	struct header_bytes bytes;

	if (source->size < sizeof bytes || !source->read(source->ctx, 0, &bytes, sizeof bytes))
		return false;
	if (memcmp(bytes.magic, magic, sizeof magic) != 0 || bytes.check != header_check(&bytes))
		return false;
	*ret = (struct throttle_file_header){.generation = be64toh(bytes.generation),
		.seed = be64toh(bytes.seed),
		.before = (mtime)be64toh(bytes.before)};
	return true;
}

/* Read the piece that begins with this entry. */
static bool read_piece(struct piece *piece, uint64_t offset)
{
	const struct throttle_file *file = piece->file;
	uint64_t left = file->size - offset;
	size_t len = left < PIECE ? (size_t)left : PIECE;

	piece->begin = offset;
	piece->end = offset + len;
	return file->source.read(file->source.ctx, offset, piece->bytes, len);
}

/* False: it cannot be read, or is not one that was written there; then the piece is not used any
 * more. */
static bool read_entry(struct piece *piece, uint64_t offset, struct throttle_file_entry *ret_entry)
{
	struct entry_bytes bytes;

	if ((offset < piece->begin || offset >= piece->end) && !read_piece(piece, offset))
		return false;
	memcpy(&bytes, piece->bytes + (offset - piece->begin), sizeof bytes);
	*ret_entry = (struct throttle_file_entry){.kind = be32toh(bytes.head) >> STARTS_BITS,
		.starts = be32toh(bytes.head) & STARTS_MAX,
		.id = be64toh(bytes.id),
		.at = (mtime)be64toh(bytes.at)};
	return bytes.check == entry_check(&piece->file->header, offset, &bytes);
}

/* Time does not go on with it. */
static bool take_boot(struct throttle_file *file, const struct throttle_file_entry *entry)
{
	if (entry->at > file->latest || file->has_unwritten)
		return false;
	file->boot = entry->id;
	file->boot_began = entry->at;
	return true;
}

/* False: it makes no sense where it stands. */
static bool take_entry(
	struct throttle_file *file, uint64_t offset, const struct throttle_file_entry *entry)
{
	switch (entry->kind) {
	case THROTTLE_FILE_BOOT:
		/* A file that begins in the middle of a boot has the begin of it before its own. */
		if (offset > THROTTLE_FILE_HEADER)
			return take_boot(file, entry);
		file->boot = entry->id;
		file->boot_began = entry->at;
		file->latest = mtime_max(file->latest, entry->at);
		return true;
	case THROTTLE_FILE_START:
		file->has_unwritten = true;
		return offset > THROTTLE_FILE_HEADER && entry->starts > 0;
	case THROTTLE_FILE_WRITTEN:
		if (offset == THROTTLE_FILE_HEADER || entry->at < file->latest)
			return false;
		file->latest = entry->at;
		file->has_unwritten = false;
		return true;
	}
	return false;
}

enum rc throttle_file_read(const struct throttle_file_source *source, struct throttle_file *ret)
{
	struct throttle_file file = {.source = *source, .size = source->size};
	struct piece piece = {.file = &file};
	struct throttle_file_entry entry;

	if (source->size == 0)
		return RC_NOT_FOUND;
	if (!read_header(source, &file.header) ||
		source->size < THROTTLE_FILE_HEADER + THROTTLE_FILE_ENTRY)
		return RC_MALFORMED;
	file.size -= (file.size - THROTTLE_FILE_HEADER) % THROTTLE_FILE_ENTRY;
	file.latest = file.header.before;
	for (uint64_t at = THROTTLE_FILE_HEADER; at < file.size; at += THROTTLE_FILE_ENTRY)
		if (!read_entry(&piece, at, &entry) || !take_entry(&file, at, &entry))
			return RC_MALFORMED;
	*ret = file;
	return RC_OK;
}

bool throttle_file_replay(const struct throttle_file *file, mtime unwritten_at,
	void (*on_starts)(void *ctx, uint64_t key, uint32_t starts, mtime at), void *ctx)
{
	struct piece piece = {.file = file};
	struct throttle_file_entry entry;
	uint64_t from = THROTTLE_FILE_HEADER;

	for (uint64_t to = from; to <= file->size; to += THROTTLE_FILE_ENTRY) {
		struct throttle_file_entry last = {
			.kind = THROTTLE_FILE_WRITTEN, .at = unwritten_at};
		if (to < file->size && !read_entry(&piece, to, &last))
			return false;
		if (last.kind == THROTTLE_FILE_START)
			continue;
		for (; from < to; from += THROTTLE_FILE_ENTRY) {
			if (!read_entry(&piece, from, &entry))
				return false;
			on_starts(ctx, entry.id, entry.starts, last.at);
		}
		from = to + THROTTLE_FILE_ENTRY;
	}
	return true;
}
