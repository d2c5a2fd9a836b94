#include "process/cgroup_limits.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_SIZE 4096

static bool write_file(int group, const char *name, const char *text)
{
	int file = openat(group, name, O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
	if (file < 0)
		return false;
	size_t len = strlen(text);
	bool is_written = write(file, text, len) == (ssize_t)len;
	int error = errno;
	close(file);
	errno = error;
	return is_written;
}

static void read_file(int group, const char *name, char ret[FILE_SIZE])
{
	int file = openat(group, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	ssize_t len = file >= 0 ? read(file, ret, FILE_SIZE - 1) : 0;
	ret[len > 0 ? len : 0] = '\0';
	if (file >= 0)
		close(file);
}

/* ---------- the limits ---------- */

static bool write_number(int group, const char *name, int64_t number)
{
	char text[24];
	snprintf(text, sizeof text, "%" PRId64, number);
	return write_file(group, name, text);
}

bool cgroup_limits_write(int group, const struct cgroup_limits *limits)
{
	if (limits->processes > 0 && !write_number(group, "pids.max", limits->processes))
		return false;
	return limits->memory_bytes <= 0 ||
	       (write_file(group, "memory.oom.group", "1") &&
		       write_number(group, "memory.max", limits->memory_bytes));
}

/* The number of an event in memory.events: lines with a name and a number. */
static uint64_t count_of(const char *events, const char *name)
{
	size_t len = strlen(name);
	for (const char *line = events; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, name, len) == 0 && line[len] == ' ')
			return strtoull(line + len, NULL, 10);
	}
	return 0;
}

/* "oom" counts this group's own limit; "oom_kill" alone may have been the whole machine's. */
bool cgroup_limits_was_over_memory(int group)
{
	char events[FILE_SIZE];
	read_file(group, "memory.events", events);
	return count_of(events, "oom") > 0 && count_of(events, "oom_kill") > 0;
}

/* ---------- the controllers ---------- */

static bool is_in_list(const char *list, const char *name, size_t len)
{
	for (const char *word = list; *word; word += strcspn(word, " \n")) {
		word += strspn(word, " \n");
		if (strcspn(word, " \n") == len && strncmp(word, name, len) == 0 && len > 0)
			return true;
	}
	return false;
}

static bool lists_all(int group, const char *file, const char *controllers)
{
	char list[FILE_SIZE];
	read_file(group, file, list);
	for (const char *name = controllers; *name;) {
		size_t len = strcspn(name, " ");
		if (!is_in_list(list, name, len))
			return false;
		name += len + strspn(name + len, " ");
	}
	return true;
}

bool cgroup_controllers_are_available(int group, const char *controllers)
{
	return lists_all(group, "cgroup.controllers", controllers);
}

/* "pids memory" with a sign before each. */
static bool switch_them(int group, const char *controllers, char sign)
{
	char text[128];
	size_t len = 0;
	for (const char *name = controllers; *name && len + 2 < sizeof text; name++) {
		if (name == controllers || name[-1] == ' ')
			text[len++] = sign;
		text[len++] = *name;
	}
	text[len] = '\0';
	return write_file(group, "cgroup.subtree_control", text);
}

bool cgroup_controllers_enable(int group, const char *controllers)
{
	return lists_all(group, "cgroup.subtree_control", controllers) ||
	       switch_them(group, controllers, '+');
}

static bool move_into(int group, pid_t pid)
{
	return write_number(group, "cgroup.procs", pid);
}

/* One read is enough: only this process, the guard and strays were in it. */
static void move_back(int group, const char *leaf)
{
	char path[FILE_SIZE], list[FILE_SIZE];
	snprintf(path, sizeof path, "%s/cgroup.procs", leaf);
	read_file(group, path, list);
	for (char *pid = strtok(list, "\n"); pid; pid = strtok(NULL, "\n"))
		(void)move_into(group, atoi(pid));
	(void)unlinkat(group, leaf, AT_REMOVEDIR);
}

bool cgroup_controllers_enable_above(
	int group, const char *controllers, const char *leaf, const pid_t others[])
{
	if (cgroup_controllers_enable(group, controllers))
		return true;
	if (errno != EBUSY || mkdirat(group, leaf, 0700) < 0)
		return false;
	int folder = openat(group, leaf, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	bool is_done = folder >= 0 && move_into(folder, getpid());
	for (; is_done && *others; others++)
		is_done = move_into(folder, *others);
	is_done = is_done && cgroup_controllers_enable(group, controllers);
	int error = errno;
	if (!is_done)
		move_back(group, leaf);
	if (folder >= 0)
		close(folder);
	errno = error;
	return is_done;
}

/* With controllers handed down, a group takes no processes: first they are taken back. */
void cgroup_controllers_disable_above(int group, const char *controllers, const char *leaf)
{
	struct stat status;
	if (fstatat(group, leaf, &status, AT_SYMLINK_NOFOLLOW) < 0)
		return;
	(void)switch_them(group, controllers, '-');
	move_back(group, leaf);
}
