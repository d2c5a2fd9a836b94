/* The kernel watches folders, not files: editors save by renaming another file over the old one,
 * which a watch of the file itself would lose. */
#include "os/source_watch.h"

#include "base/log.h"
#include "base/text.h"
#include "os/clock.h"
#include "os/loop.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdalign.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#define EVENTS                                                                                     \
	(IN_CLOSE_WRITE | IN_ATTRIB | IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO |        \
		IN_ONLYDIR | IN_EXCL_UNLINK)
#define BUFFER_SIZE (16 * 1024)

struct watched {
	int id; /* inotify's; several may have the same */
	char *folder;
	char *only; /* NULL: all sources in the folder, and its folders; else this name alone */
};

struct source_watch {
	struct ev_loop *loop;
	struct ev_io io;
	struct ev_timer quiet;
	struct watched *watched;
	size_t count, space;
	char *changed; /* NULL: nothing is to be reported */
	bool has_others;
	bool is_moved; /* changed has another name by now */
	mtime first;
	void (*on_change)(void *ctx, const char *path, bool has_others);
	void *ctx;
};

/* ---------- what counts ---------- */

bool source_watch_is_source(const char *name)
{
	/* 4913: vim tries whether it may write into the folder. */
	static const char *const names[] = {"__pycache__", "4913"};
	static const char *const ends[] = {
		"~", "#", ".pyc", ".pyo", ".swp", ".swx", "___jb_tmp___", "___jb_old___"};

	if (name[0] == '.')
		return false;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (strcmp(name, names[i]) == 0)
			return false;
	for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
		if (text_ends(text_from(name), text_from(ends[i])))
			return false;
	return true;
}

bool source_watch_is_code(const char *name, bool is_executable)
{
	static const char *const languages[] = {".py", ".pyi", ".pyx", ".rb", ".erb", ".php", ".pl",
		".pm", ".t", ".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".cts", ".tsx", ".vue",
		".lua", ".sh", ".bash", ".tcl", ".r", ".R", ".jl", ".go", ".rs", ".zig", ".nim",
		".d", ".c", ".h", ".cc", ".cpp", ".cxx", ".hh", ".hpp", ".hxx", ".m", ".swift",
		".java", ".kt", ".kts", ".scala", ".groovy", ".clj", ".cljs", ".edn", ".cs", ".fs",
		".vb", ".ml", ".mli", ".hs", ".ex", ".exs", ".eex", ".erl", ".hrl", ".lisp", ".scm",
		".rkt", ".sql", ".proto", NULL};
	static const char *const others[] = {".so", ".jar", ".class", ".beam", ".dll", ".wasm",
		".j2", ".jinja", ".jinja2", ".tmpl", ".tpl", ".mustache", ".hbs", ".html", ".yaml",
		".yml", ".toml", ".ini", ".cfg", ".conf", ".env", NULL};
	const char *end = strrchr(name, '.');

	return is_executable || (end && (languages[text_index(text_from(end), languages)] ||
						others[text_index(text_from(end), others)]));
}

mtime source_watch_wait(mtime first, mtime now)
{
	mtime left = first + SOURCE_WATCH_LIMIT - now;

	return left < 0 ? 0 : mtime_min(left, SOURCE_WATCH_QUIET);
}

/* Of what is gone, another one has taken the place: editors write a file beside it and rename. */
static void name_change(struct source_watch *watch, const char *path)
{
	bool is_better =
		watch->is_moved || (access(path, F_OK) == 0 && access(watch->changed, F_OK) != 0);

	if (!is_better) {
		watch->has_others = true;
		return;
	}
	watch->has_others = watch->has_others || !watch->is_moved;
	free(watch->changed);
	watch->changed = strdup(path);
}

/* is_moved: it has no longer this name. */
static void record_change(struct source_watch *watch, const char *path, bool is_moved)
{
	mtime now = clock_now();

	if (!watch->changed) {
		watch->changed = strdup(path);
		watch->has_others = false;
		watch->first = now;
	} else if (strcmp(watch->changed, path) != 0) {
		name_change(watch, path);
	}
	if (watch->changed && strcmp(watch->changed, path) == 0)
		watch->is_moved = is_moved;
	loop_start_timer(watch->loop, &watch->quiet, source_watch_wait(watch->first, now));
}

static void on_quiet(struct ev_loop *loop, struct ev_timer *timer, int events)
{
	struct source_watch *watch = timer->data;
	char *changed = watch->changed;

	(void)loop;
	(void)events;
	watch->changed = NULL;
	watch->on_change(watch->ctx, changed ? changed : "a source file", watch->has_others);
	free(changed);
}

/* ---------- watches ---------- */

static char *join(const char *folder, const char *name)
{
	char *path;

	return asprintf(&path, "%s/%s", strcmp(folder, "/") == 0 ? "" : folder, name) < 0 ? NULL
											  : path;
}

static void log_refusal(const char *folder, int error)
{
	if (error == ENOSPC)
		log_error("cannot watch %s: the kernel has no more watches for this user; raise "
			  "them (sysctl fs.inotify.max_user_watches=524288), or give --watch a "
			  "smaller folder",
			folder);
	else
		log_error("cannot watch %s: %s", folder, strerror(error));
}

static bool is_watched(const struct source_watch *watch, int id, const char *only)
{
	for (size_t i = 0; i < watch->count; i++) {
		const struct watched *watched = &watch->watched[i];

		if (watched->id == id &&
			(only ? watched->only && strcmp(watched->only, only) == 0 : !watched->only))
			return true;
	}
	return false;
}

/* errno says why not. *ret_is_new: it was not watched before; else false. */
static bool watch_folder(
	struct source_watch *watch, const char *folder, const char *only, bool *ret_is_new)
{
	int id = inotify_add_watch(watch->io.fd, folder, EVENTS);
	struct watched watched = {.id = id};

	*ret_is_new = false;
	if (id < 0)
		return false;
	if (is_watched(watch, id, only))
		return true;
	if (watch->count == watch->space) {
		size_t space = watch->space ? 2 * watch->space : 16;
		struct watched *more = realloc(watch->watched, space * sizeof *more);

		if (!more)
			return false;
		watch->watched = more;
		watch->space = space;
	}
	watched.folder = strdup(folder);
	watched.only = only ? strdup(only) : NULL;
	if (!watched.folder || (only && !watched.only)) {
		free(watched.folder);
		free(watched.only);
		return false;
	}
	watch->watched[watch->count++] = watched;
	*ret_is_new = true;
	return true;
}

static void forget(struct source_watch *watch, size_t at)
{
	free(watch->watched[at].folder);
	free(watch->watched[at].only);
	watch->watched[at] = watch->watched[--watch->count];
}

/* The folder is no longer there under this path. */
static void forget_tree(struct source_watch *watch, const char *folder)
{
	size_t len = strlen(folder), i = 0;

	while (i < watch->count) {
		struct watched *watched = &watch->watched[i];
		int id = watched->id;

		if (watched->only || strncmp(watched->folder, folder, len) != 0 ||
			(watched->folder[len] != '/' && watched->folder[len] != '\0')) {
			i++;
			continue;
		}
		forget(watch, i);
		for (i = 0; i < watch->count && watch->watched[i].id != id; i++)
			continue;
		if (i == watch->count)
			inotify_rm_watch(watch->io.fd, id);
		i = 0;
	}
}

/* Below a folder of the command line. A link may be to anything. */
static bool is_code(const char *path, const struct stat *status)
{
	bool is_executable = S_ISREG(status->st_mode) && (status->st_mode & S_IXUSR);

	return S_ISLNK(status->st_mode) ||
	       source_watch_is_code(strrchr(path, '/') + 1, is_executable);
}

static bool watch_tree(struct source_watch *watch, const char *folder, bool is_start);

/* A member of a folder that is watched from now on. What is found later is a change: it may have
 * been written before the watch began. */
static bool watch_member(struct source_watch *watch, const char *path, bool is_start)
{
	struct stat status;

	if (lstat(path, &status) != 0)
		return true; /* gone again */
	if (S_ISDIR(status.st_mode))
		return watch_tree(watch, path, is_start);
	if (!is_start && is_code(path, &status))
		record_change(watch, path, false);
	return true;
}

/* False: logged. A folder that is gone meanwhile, or that we must not read, is left out. */
static bool watch_tree(struct source_watch *watch, const char *folder, bool is_start)
{
	bool is_new, is_watched = true;
	struct dirent *entry;
	DIR *dir;

	if (!watch_folder(watch, folder, NULL, &is_new)) {
		if (errno == ENOENT || errno == ENOTDIR || errno == EACCES)
			return true;
		log_refusal(folder, errno);
		return false;
	}
	dir = is_new ? opendir(folder) : NULL;
	while (is_watched && dir && (entry = readdir(dir))) {
		char *path =
			source_watch_is_source(entry->d_name) ? join(folder, entry->d_name) : NULL;

		is_watched = !path || watch_member(watch, path, is_start);
		free(path);
	}
	if (dir)
		closedir(dir);
	return is_watched;
}

/* A path of the command line, and its folder, in which it may be replaced. False: logged. */
static bool watch_path(struct source_watch *watch, const char *given)
{
	char path[PATH_MAX], *name;
	bool is_new, is_watched;

	if (!realpath(given, path)) {
		log_refusal(given, errno);
		return false;
	}
	if (strcmp(path, "/") == 0)
		return watch_tree(watch, path, true);
	if (!watch_member(watch, path, true))
		return false;
	name = strrchr(path, '/');
	*name++ = '\0';
	is_watched = watch_folder(watch, *path ? path : "/", name, &is_new);
	if (!is_watched)
		log_refusal(*path ? path : "/", errno);
	return is_watched;
}

/* ---------- events ---------- */

/* is_given: the file is one of the command line. A linker makes a program executable after it has
 * written it. */
static void on_file(struct source_watch *watch, const char *path, uint32_t mask, bool is_given)
{
	struct stat status = {.st_mode = S_IFREG};
	bool is_there = lstat(path, &status) == 0;

	/* A new file is still to be written; but a link is complete. */
	if ((mask & IN_CREATE) && S_ISREG(status.st_mode))
		return;
	if ((mask & IN_ATTRIB) && (!is_there || !(status.st_mode & S_IXUSR)))
		return;
	if (is_given || is_code(path, &status))
		record_change(watch, path, mask & IN_MOVED_FROM);
}

static void on_member(struct source_watch *watch, const char *path, uint32_t mask, bool is_given)
{
	if (!(mask & IN_ISDIR))
		on_file(watch, path, mask, is_given);
	else if (mask & (IN_DELETE | IN_MOVED_FROM))
		forget_tree(watch, path);
	else if (mask & (IN_CREATE | IN_MOVED_TO))
		(void)watch_tree(watch, path, false);
}

/* The list of folders may change meanwhile, so that its strings are copied. */
static void on_named(struct source_watch *watch, const struct inotify_event *event)
{
	char *path = NULL;
	bool is_given = false;

	for (size_t i = 0; i < watch->count; i++) {
		const struct watched *watched = &watch->watched[i];

		if (watched->id != event->wd ||
			(watched->only ? strcmp(watched->only, event->name) != 0
				       : !source_watch_is_source(event->name)))
			continue;
		is_given = is_given || watched->only;
		if (!path)
			path = join(watched->folder, event->name);
	}
	if (path)
		on_member(watch, path, event->mask, is_given);
	free(path);
}

static void on_event(struct source_watch *watch, const struct inotify_event *event)
{
	size_t i = 0;

	if (event->len > 0)
		on_named(watch, event);
	while ((event->mask & IN_IGNORED) && i < watch->count)
		if (watch->watched[i].id == event->wd)
			forget(watch, i);
		else
			i++;
}

/* The folders of a watch that began before are watched again, with all that is there now. */
static void watch_again(struct source_watch *watch, const struct watched *before)
{
	bool is_new;
	char *path;

	if (!before->only) {
		if (strcmp(before->folder, "/") == 0)
			(void)watch_tree(watch, "/", true);
		return; /* another one is below a path of the command line */
	}
	path = join(before->folder, before->only);
	if (path)
		(void)watch_member(watch, path, true);
	free(path);
	if (!watch_folder(watch, before->folder, before->only, &is_new))
		log_refusal(before->folder, errno);
}

/* Events were dropped: folders may have come, moved or gone since, of which we do not know. */
static void start_over(struct source_watch *watch)
{
	struct source_watch before = *watch; /* of which the list is used */
	int fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);

	record_change(watch, "a source file", false);
	if (fd < 0) {
		log_error("some changes of source files were lost, and new folders may be "
			  "unwatched: %s",
			strerror(errno));
		return;
	}
	ev_io_stop(watch->loop, &watch->io);
	close(watch->io.fd);
	ev_io_set(&watch->io, fd, EV_READ);
	ev_io_start(watch->loop, &watch->io);
	watch->watched = NULL;
	watch->count = watch->space = 0;
	for (size_t i = 0; i < before.count; i++)
		watch_again(watch, &before.watched[i]);
	while (before.count > 0)
		forget(&before, 0);
	free(before.watched);
}

static void on_readable(struct ev_loop *loop, struct ev_io *io, int events)
{
	alignas(struct inotify_event) char buffer[BUFFER_SIZE];
	ssize_t size;

	loop_keep_watching(loop, io, events);
	size = read(io->fd, buffer, sizeof buffer);
	for (ssize_t at = 0; at < size;) {
		const struct inotify_event *event = (const void *)(buffer + at);

		if (event->mask & IN_Q_OVERFLOW) {
			start_over(io->data);
			return;
		}
		on_event(io->data, event);
		at += (ssize_t)(sizeof *event + event->len);
	}
}

struct source_watch *source_watch_new(struct ev_loop *loop, const char *const *paths,
	void (*on_change)(void *ctx, const char *path, bool has_others), void *ctx)
{
	struct source_watch *watch = calloc(1, sizeof *watch);
	int fd = watch ? inotify_init1(IN_NONBLOCK | IN_CLOEXEC) : -1;
	bool is_watched = true;

	if (fd < 0) {
		log_error("cannot watch source files: %s%s", strerror(errno),
			errno == EMFILE ? "; raise fs.inotify.max_user_instances" : "");
		free(watch);
		return NULL;
	}
	*watch = (struct source_watch){.loop = loop, .on_change = on_change, .ctx = ctx};
	ev_io_init(&watch->io, on_readable, fd, EV_READ);
	ev_timer_init(&watch->quiet, on_quiet, 0, 0);
	watch->io.data = watch->quiet.data = watch;
	ev_io_start(loop, &watch->io);
	for (; is_watched && *paths; paths++)
		is_watched = watch_path(watch, *paths);
	if (is_watched)
		return watch;
	source_watch_free(watch);
	return NULL;
}

void source_watch_free(struct source_watch *watch)
{
	if (!watch)
		return;
	ev_io_stop(watch->loop, &watch->io);
	ev_timer_stop(watch->loop, &watch->quiet);
	close(watch->io.fd);
	while (watch->count > 0)
		forget(watch, 0);
	free(watch->watched);
	free(watch->changed);
	free(watch);
}
