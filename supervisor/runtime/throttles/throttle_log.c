#include "runtime/throttles/throttle_log.h"

#include "base/crash_point.h"
#include "base/keyed_hash.h"
#include "base/log.h"
#include "runtime/throttles/throttle_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_NAME_SIZE 160
/* A file that is smaller is not left for the other one. */
#define ROTATE_MIN ((size_t)64 * 1024)
/* Far more than the starts of two windows with the most places take. */
#define FILE_MAX ((off_t)1024 * 1024 * 1024)
/* What is left of a file that does not have all starts: no header, so that it counts as damaged. */
#define MARK_SIZE 8
/* How long after a failure the file is tried again. */
#define RETRY_AFTER (5 * MTIME_SECOND)

#define BOOT_ID "/proc/sys/kernel/random/boot_id"

struct throttle_log {
	struct throttle_log_place place;
	char name[FILE_NAME_SIZE]; /* of the files, without their ends */
	int fds[2];                /* -1: not open; the first is locked */
	uint64_t boot;
	mtime shift;       /* the files' time minus that of throttles */
	bool is_recording; /* false: it failed, and is tried again at retry_at */
	bool has_failed;   /* and that was logged */
	mtime retry_at;
	/* Of the file that is appended to. */
	int current;
	struct throttle_file_header header;
	size_t size, rotate_size; /* from which it is left for the other one */
	mtime latest;             /* in the files' time */
	bool has_started;         /* in this turn */
	mtime written_at;         /* of the last starts in it; MTIME_NEVER: that is in it */
	struct buf out;
	/* What was read; none after throttle_log_restore or throttle_log_begin. */
	struct throttle_file files[2]; /* the older one first */
	int file_count;
};

/* ---------- files ---------- */

/* "throttle-tenant+5f2e8d0c.0": no name has a "+". */
static void set_name(struct throttle_log *log)
{
	struct text key = text_from(log->place.key);
	int len = snprintf(log->name, sizeof log->name, "throttle-%s", log->place.name);

	if (log->place.key)
		snprintf(log->name + len, sizeof log->name - (size_t)len, "+%08" PRIx32,
			(uint32_t)keyed_hash(0, key));
}

static const char *file_name(const struct throttle_log *log, int which, const char *end,
	char buffer[FILE_NAME_SIZE + 16])
{
	snprintf(buffer, FILE_NAME_SIZE + 16, "%s.%d%s", log->name, which, end);
	return buffer;
}

/* False: see errno. */
static bool read_boot(uint64_t *ret)
{
	char id[64];
	int fd = open(BOOT_ID, O_RDONLY | O_CLOEXEC);
	ssize_t len = fd >= 0 ? read(fd, id, sizeof id) : -1;
	int error = errno;

	if (fd >= 0)
		close(fd);
	errno = len == 0 ? ENODATA : error;
	if (len > 0)
		*ret = keyed_hash(0, text_of(id, (size_t)len));
	return len > 0;
}

static bool open_file(struct throttle_log *log, int which)
{
	char name[FILE_NAME_SIZE + 16];
	struct stat status;

	if (log->fds[which] >= 0)
		return true;
	log->fds[which] = openat(log->place.folder, file_name(log, which, "", name),
		O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
	if (log->fds[which] < 0)
		return false;
	bool is_file = fstat(log->fds[which], &status) == 0 && S_ISREG(status.st_mode);
	if (is_file && status.st_size <= FILE_MAX)
		return true;
	close(log->fds[which]);
	log->fds[which] = -1;
	errno = is_file ? EFBIG : EINVAL;
	return false;
}

/* EWOULDBLOCK: another process has them. */
static bool open_files(struct throttle_log *log)
{
	return open_file(log, 0) && open_file(log, 1) && flock(log->fds[0], LOCK_EX | LOCK_NB) == 0;
}

static void close_files(struct throttle_log *log)
{
	for (int i = 0; i < 2; i++) {
		if (log->fds[i] >= 0)
			close(log->fds[i]);
		log->fds[i] = -1;
	}
}

/* ctx: the file. A file that is cut meanwhile has fewer bytes. */
static bool read_at(void *ctx, uint64_t offset, void *ret_bytes, size_t len)
{
	const int *fd = ctx;
	uint8_t *bytes = ret_bytes;
	ssize_t n;

	for (size_t done = 0; done < len; done += (size_t)n) {
		n = pread(*fd, bytes + done, len - done, (off_t)(offset + done));
		if (n <= 0)
			return false;
	}
	return true;
}

static enum rc read_file(struct throttle_log *log, int which, struct throttle_file *ret)
{
	struct throttle_file_source source = {.read = read_at, .ctx = &log->fds[which]};
	struct stat status;

	if (fstat(log->fds[which], &status) != 0)
		return RC_MALFORMED;
	source.size = (uint64_t)status.st_size;
	return throttle_file_read(&source, ret);
}

static bool write_at(int fd, size_t offset, struct text bytes)
{
	ssize_t n = pwrite(fd, bytes.ptr, bytes.len, (off_t)offset);

	if (n >= 0 && (size_t)n < bytes.len)
		errno = ENOSPC;
	return n == (ssize_t)bytes.len;
}

/* ---------- failures ---------- */

/* What it has is not all any more. */
static void mark(struct throttle_log *log)
{
	if (log->fds[log->current] >= 0 && ftruncate(log->fds[log->current], MARK_SIZE) != 0)
		log_error("throttle %s: cannot cut %s/%s.%d: %s: remove it before wpool starts "
			  "again, or tasks start too early then",
			log->place.name, log->place.path, log->name, log->current, strerror(errno));
}

/* Each failure is logged once, until it works again. */
static void fail(struct throttle_log *log, int error, mtime now)
{
	log->is_recording = false;
	log->retry_at = mtime_after(now, RETRY_AFTER);
	log->written_at = MTIME_NEVER;
	buf_clear(&log->out);
	if (log->has_failed)
		return;
	log->has_failed = true;
	if (error == EWOULDBLOCK)
		log_warn("throttle %s: another supervisor records its starts in %s/%s.0, so this "
			 "one's are not recorded; give each a $STATE_DIRECTORY of its own",
			log->place.name, log->place.path, log->name);
	else
		log_warn("throttle %s: cannot record its starts in %s/%s.%d: %s; trying again, and "
			 "tasks start as before",
			log->place.name, log->place.path, log->name, log->current, strerror(error));
}

/* ---------- reading ---------- */

/* False: it was recorded later than now. */
static bool ends_by_now(const struct throttle_log *log, const struct throttle_file *file, mtime now)
{
	mtime shift = file->boot_began - log->place.boot_began;

	return file->boot != log->boot || file->latest <= now + shift;
}

/* The newer one goes on where the older one ends. */
static bool are_in_order(const struct throttle_file *older, const struct throttle_file *newer)
{
	return newer->header.generation == older->header.generation + 1 &&
	       newer->header.seed == older->header.seed && !older->has_unwritten &&
	       newer->header.before == older->latest;
}

static enum throttle_past judge(struct throttle_log *log, mtime now)
{
	for (int i = 0; i < 2; i++) {
		enum rc rc = read_file(log, i, &log->files[log->file_count]);
		if (rc == RC_MALFORMED)
			return THROTTLE_PAST_DAMAGED;
		if (rc == RC_OK) {
			log->current = i;
			log->file_count++;
		}
	}
	if (log->file_count == 0)
		return THROTTLE_PAST_UNKNOWN;
	if (log->file_count == 2 &&
		log->files[0].header.generation > log->files[1].header.generation) {
		struct throttle_file newer = log->files[0];
		log->files[0] = log->files[1];
		log->files[1] = newer;
		log->current = 0;
	}
	if (log->file_count == 2 && !are_in_order(&log->files[0], &log->files[1]))
		return THROTTLE_PAST_DAMAGED;
	return ends_by_now(log, &log->files[log->file_count - 1], now) ? THROTTLE_PAST_KNOWN
								       : THROTTLE_PAST_DAMAGED;
}

/* Keep both under another name, and begin new ones. */
static void put_aside(struct throttle_log *log)
{
	char from[FILE_NAME_SIZE + 16], to[FILE_NAME_SIZE + 16];
	bool is_done = true;

	close_files(log);
	for (int i = 0; i < 2; i++)
		is_done &= renameat(log->place.folder, file_name(log, i, "", from),
				   log->place.folder, file_name(log, i, ".damaged", to)) == 0;
	log->current = 0;
	if (is_done)
		log_warn("throttle %s: the record of its starts, %s/%s.*, is damaged, and now "
			 "%s.*.damaged: nothing starts for one period",
			log->place.name, log->place.path, log->name, log->name);
	else
		log_warn(
			"throttle %s: the record of its starts, %s/%s.*, is damaged, and cannot be "
			"renamed: %s; nothing starts for one period",
			log->place.name, log->place.path, log->name, strerror(errno));
}

struct throttle_log *throttle_log_open(
	const struct throttle_log_place *place, mtime now, enum throttle_past *ret_past)
{
	struct throttle_log *log = calloc(1, sizeof *log);

	if (!log)
		return NULL;
	log->place = *place;
	log->fds[0] = log->fds[1] = -1;
	log->written_at = MTIME_NEVER;
	log->rotate_size = ROTATE_MIN;
	buf_init(&log->out, SIZE_MAX);
	set_name(log);
	*ret_past = THROTTLE_PAST_UNKNOWN;
	if (!read_boot(&log->boot) || !open_files(log)) {
		fail(log, errno, now);
		close_files(log);
		return log;
	}
	*ret_past = judge(log, now);
	if (*ret_past == THROTTLE_PAST_DAMAGED) {
		put_aside(log);
		log->file_count = 0;
	}
	return log;
}

uint64_t throttle_log_seed(const struct throttle_log *log)
{
	return log->files[0].header.seed;
}

/* ---------- writing ---------- */

static void put(struct throttle_log *log, struct throttle_file_entry entry)
{
	throttle_file_append(&log->out, &log->header, log->size + buf_len(&log->out), &entry);
}

static void put_boot(struct throttle_log *log)
{
	put(log, (struct throttle_file_entry){.kind = THROTTLE_FILE_BOOT,
			 .id = log->boot,
			 .at = log->place.boot_began + log->shift});
}

static void put_written(struct throttle_log *log, mtime at)
{
	log->latest = mtime_max(log->latest, at + log->shift);
	put(log, (struct throttle_file_entry){.kind = THROTTLE_FILE_WRITTEN, .at = log->latest});
}

static void on_charged(void *ctx, uint64_t key, uint32_t starts)
{
	struct throttle_log *log = ctx;

	log->has_started = true;
	put(log, (struct throttle_file_entry){
			 .kind = THROTTLE_FILE_START, .id = key, .starts = starts});
}

/* Append what is in out. */
static bool flush(struct throttle_log *log, mtime now)
{
	struct text bytes = buf_text(&log->out);

	if (!log->out.failed && write_at(log->fds[log->current], log->size, bytes)) {
		log->size += bytes.len;
		buf_clear(&log->out);
		return true;
	}
	int error = log->out.failed ? ENOMEM : errno;
	mark(log);
	fail(log, error, now);
	return false;
}

/* Make the file with this number the one that is appended to; what it has is not needed. The other
 * one stays as it is. False: it is as it was before, or empty. */
static bool begin_file(struct throttle_log *log, int which, mtime before)
{
	struct throttle_file_header header = log->header;
	size_t size = log->size;

	log->header.generation++;
	log->header.before = before;
	log->size = 0;
	throttle_file_append_header(&log->out, &log->header);
	put_boot(log);
	if (!log->out.failed && write_at(log->fds[which], 0, buf_text(&log->out))) {
		log->size = buf_len(&log->out);
		log->current = which;
		log->latest = mtime_max(before, log->place.boot_began + log->shift);
		buf_clear(&log->out);
		return true;
	}
	int error = log->out.failed ? ENOMEM : errno;
	log->header = header;
	log->size = size;
	buf_clear(&log->out);
	errno = ftruncate(log->fds[which], 0) == 0 ? error : errno;
	return false;
}

static bool is_empty(const struct throttle_log *log, int which)
{
	struct stat status;

	return fstat(log->fds[which], &status) == 0 && status.st_size == 0;
}

/* While both are changed, the first one cannot be read. */
static bool begin(struct throttle_log *log, uint64_t seed, mtime before)
{
	bool are_new = is_empty(log, 0) && is_empty(log, 1);

	log->current = 0;
	log->header.seed = seed;
	if ((are_new ||
		    (ftruncate(log->fds[0], MARK_SIZE) == 0 && ftruncate(log->fds[1], 0) == 0)) &&
		begin_file(log, 0, before + log->shift))
		return true;
	int error = errno;
	mark(log);
	errno = error;
	return false;
}

void throttle_log_begin(
	struct throttle_log *log, const struct throttle *throttle, mtime before, mtime now)
{
	log->file_count = 0;
	if (log->has_failed) /* it could not be opened */
		return;
	if (open_files(log) && begin(log, throttle_seed(throttle), before))
		log->is_recording = true;
	else
		fail(log, errno, now);
}

/* ---------- the time before ---------- */

struct restored {
	struct throttle *throttle;
	mtime shift;
};

static void on_starts(void *ctx, uint64_t key, uint32_t starts, mtime at)
{
	const struct restored *restored = ctx;

	throttle_restore(restored->throttle, key, starts, mtime_max(at - restored->shift, 0));
}

/* False: they could be read a moment ago, and cannot any more. */
static bool replay(const struct throttle_log *log, struct restored *restored, mtime now)
{
	bool is_read = true;

	for (int i = 0; is_read && i < log->file_count; i++)
		is_read =
			throttle_file_replay(&log->files[i], now + log->shift, on_starts, restored);
	if (!is_read)
		log_warn("throttle %s: the record of its starts, %s/%s.*, cannot be read any more: "
			 "nothing starts for one period",
			log->place.name, log->place.path, log->name);
	return is_read;
}

/* Over a boot, or on another machine, the files' time goes on at this moment: how long nothing was
 * recorded is not known. */
void throttle_log_restore(struct throttle_log *log, struct throttle *throttle, mtime now)
{
	const struct throttle_file *last = &log->files[log->file_count - 1];
	bool is_same_boot = last->boot == log->boot, has_unwritten = last->has_unwritten;
	struct restored restored = {.throttle = throttle,
		.shift = is_same_boot ? last->boot_began - log->place.boot_began
				      : last->latest - now};

	log->shift = restored.shift;
	log->header = last->header;
	log->size = last->size;
	log->latest = last->latest;
	throttle_missed(throttle, mtime_max(log->files[0].header.before - log->shift, 0));
	if (!replay(log, &restored, now))
		throttle_missed(throttle, now);
	log->file_count = 0;
	log->is_recording = true;
	if (has_unwritten)
		put_written(log, now);
	if (!is_same_boot)
		put_boot(log);
	if (ftruncate(log->fds[log->current], (off_t)log->size) != 0) {
		int error = errno;
		mark(log);
		fail(log, error, now);
	} else if (buf_len(&log->out) > 0) {
		(void)flush(log, now);
	}
}

/* ---------- turns ---------- */

/* Nothing in the other file can be in a window, and the last starts have their time. */
static bool can_rotate(const struct throttle_log *log, const struct throttle *throttle, mtime now)
{
	mtime period = throttle_figures(throttle)->period;

	return log->size >= log->rotate_size &&
	       mtime_after(log->header.before, period) <= now + log->shift;
}

static void rotate(struct throttle_log *log)
{
	int other = 1 - log->current;

	if (ftruncate(log->fds[other], 0) == 0 && begin_file(log, other, log->latest))
		log->rotate_size = ROTATE_MIN;
	else
		log->rotate_size = log->size + ROTATE_MIN; /* later; it can grow meanwhile */
}

/* Starts were not recorded until now. */
static bool try_again(struct throttle_log *log, const struct throttle *throttle, mtime now)
{
	if (now < log->retry_at)
		return false;
	if (!open_files(log) || !begin(log, throttle_seed(throttle), now)) {
		fail(log, errno, now);
		return false;
	}
	log->has_failed = false;
	log->is_recording = true;
	log_info("throttle %s: its starts are recorded again in %s/%s.*", log->place.name,
		log->place.path, log->name);
	return true;
}

void throttle_log_save(struct throttle_log *log, const struct throttle *throttle, mtime now)
{
	log->has_started = false;
	if (!log->is_recording && !try_again(log, throttle, now))
		return;
	if (log->written_at != MTIME_NEVER) {
		put_written(log, log->written_at);
		log->written_at = MTIME_NEVER;
		if (can_rotate(log, throttle, now)) {
			if (!flush(log, now))
				return;
			rotate(log);
		}
	}
	throttle_each_charged(throttle, on_charged, log);
	if (buf_len(&log->out) > 0 && flush(log, now) && log->has_started)
		CRASH_POINT("throttle-saved");
}

void throttle_log_end_turn(struct throttle_log *log, mtime now)
{
	if (!log->has_started || !log->is_recording)
		return;
	CRASH_POINT("throttle-started");
	log->written_at = now;
}

void throttle_log_close(struct throttle_log *log)
{
	if (!log)
		return;
	if (log->is_recording && log->written_at != MTIME_NEVER) {
		put_written(log, log->written_at);
		(void)flush(log, log->written_at);
	}
	close_files(log);
	buf_release(&log->out);
	free(log);
}

void throttle_log_remove(struct throttle_log *log)
{
	char name[FILE_NAME_SIZE + 16];

	for (int i = 0; log->fds[0] >= 0 && i < 2; i++)
		unlinkat(log->place.folder, file_name(log, i, "", name), 0);
	log->is_recording = false;
	throttle_log_close(log);
}

/* ---------- files without a writer ---------- */

/* "throttle-NAME.0" or "throttle-NAME+KEY.0", or the same with ".1". */
static bool is_of_throttle(struct text file, struct text name)
{
	const size_t key_len = strlen("+5f2e8d0c"), end_len = strlen(".0");
	struct text start = TEXT("throttle-");

	if (!text_starts(file, start) ||
		!text_starts(text_of(file.ptr + start.len, file.len - start.len), name))
		return false;
	const char *rest = file.ptr + start.len + name.len;
	size_t len = file.len - start.len - name.len;
	if (len == key_len + end_len && rest[0] == '+') {
		rest += key_len;
		len -= key_len;
	}
	return len == end_len && rest[0] == '.' && (rest[1] == '0' || rest[1] == '1');
}

/* The first one of each two is locked. What cannot be opened is in no log here. */
static bool is_locked(int folder, const char *file)
{
	char first[NAME_MAX + 1];

	snprintf(first, sizeof first, "%.*s0", (int)(strlen(file) - 1), file);
	int fd = openat(folder, first, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	bool is_free = fd < 0 || flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK;

	if (fd >= 0)
		close(fd);
	return !is_free;
}

static void forget_file(int folder, const char *path, const char *name, const char *file)
{
	struct stat status;

	if (fstatat(folder, file, &status, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(status.st_mode) ||
		is_locked(folder, file))
		return;
	if (unlinkat(folder, file, 0) == 0)
		log_info("throttle %s: %s/%s is removed: its starts are not recorded there any "
			 "more",
			name, path, file);
	else
		log_warn("throttle %s: cannot remove %s/%s: %s: remove it before the throttle is "
			 "recorded there again, or tasks start too early then",
			name, path, file, strerror(errno));
}

void throttle_log_forget(int folder, const char *path, const char *name)
{
	int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *list = fd >= 0 ? fdopendir(fd) : NULL;
	const struct dirent *entry;

	if (!list) {
		log_warn("throttle %s: cannot list %s: %s; its old records stay", name, path,
			strerror(errno));
		if (fd >= 0)
			close(fd);
		return;
	}
	while ((entry = readdir(list)))
		if (is_of_throttle(text_from(entry->d_name), text_from(name)))
			forget_file(folder, path, name, entry->d_name);
	closedir(list);
}
