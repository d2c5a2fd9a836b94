/* Where the groups are: as the kernel tells a process of its mounts and of its own group. */
#include "io/cgroups.h"

#include "base/text.h"
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PROC_BYTES (256 * 1024) /* more mounts than that are not read */

/* The next of what stands between blanks; empty: there is none. */
static struct text take_field(struct text *line)
{
	size_t skipped = 0, len = 0;
	while (skipped < line->len && line->ptr[skipped] == ' ')
		skipped++;
	while (skipped + len < line->len && line->ptr[skipped + len] != ' ')
		len++;
	struct text field = text_of(line->ptr + skipped, len);
	*line = text_of(line->ptr + skipped + len, line->len - skipped - len);
	return field;
}

static struct text take_line(const char **at)
{
	struct text line = text_of(*at, strcspn(*at, "\n"));
	*at += line.len + ((*at)[line.len] == '\n');
	return line;
}

/* "0::/a/group": the one of version 2. */
static struct text own_group(const char *own)
{
	while (*own) {
		struct text line = take_line(&own);
		if (text_starts(line, TEXT("0::/")))
			return text_of(line.ptr + 3, line.len - 3);
	}
	return TEXT_NONE;
}

/* proc(5): number, parent, device, root, mount point, options, more options until "-", type. */
static bool read_mount(struct text line, struct text *ret_root, struct text *ret_point)
{
	for (int skipped = 0; skipped < 3; skipped++)
		take_field(&line);
	*ret_root = take_field(&line);
	*ret_point = take_field(&line);
	while (line.len > 0 && !text_is(take_field(&line), TEXT("-")))
		;
	/* Blanks in a path stand as \040; nobody mounts it there. */
	return text_is(take_field(&line), TEXT("cgroup2")) && ret_point->len > 0 &&
	       !memchr(ret_point->ptr, '\\', ret_point->len);
}

/* What of the group's path lies below the root of the mount. */
static bool is_below(struct text root, struct text group, struct text *ret)
{
	if (text_is(root, TEXT("/")))
		root.len = 0;
	if (!text_starts(group, root) || (group.len > root.len && group.ptr[root.len] != '/'))
		return false;
	*ret = text_of(group.ptr + root.len, group.len - root.len);
	return true;
}

enum rc cgroups_find(const char *mounts, const char *own, char ret[PATH_MAX])
{
	struct text group = own_group(own), root, point, rest;
	/* Of a process outside its namespace of groups. */
	if (group.len == 0 || memmem(group.ptr, group.len, "/..", 3))
		return RC_NOT_FOUND;
	while (*mounts) {
		if (!read_mount(take_line(&mounts), &root, &point) || !is_below(root, group, &rest))
			continue;
		if (text_is(rest, TEXT("/")))
			rest.len = 0;
		int len = snprintf(ret, PATH_MAX, "%.*s%.*s", TEXT_ARGS(point), TEXT_ARGS(rest));
		return len > 0 && len < PATH_MAX ? RC_OK : RC_NOT_FOUND;
	}
	return RC_NOT_FOUND;
}

static bool read_whole(const char *path, char *ret, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t len = 0;
	ssize_t n = 0;
	while (fd >= 0 && len < size - 1 && (n = read(fd, ret + len, size - 1 - len)) > 0)
		len += (size_t)n;
	ret[len] = '\0';
	if (fd >= 0)
		close(fd);
	return fd >= 0 && n >= 0;
}

enum rc cgroups_find_own(char ret[PATH_MAX])
{
	static char mounts[PROC_BYTES], own[8192];
	if (!read_whole("/proc/self/mountinfo", mounts, sizeof mounts) ||
		!read_whole("/proc/self/cgroup", own, sizeof own))
		return RC_NOT_FOUND;
	return cgroups_find(mounts, own, ret);
}
