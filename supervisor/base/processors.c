#include "base/processors.h"

#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WHOLE 1000 /* a processor, in thousandths */

/* ---------- files of the kernel, read without an allocation, which could fail ---------- */

/* Far longer than any file that is read whole. */
#define FILE_SIZE 4096

/* Longer than a line of mountinfo, which has three paths. */
#define LINES_SIZE (4 * PATH_MAX)

struct lines {
	int fd; /* -1: there is no file */
	size_t len, next;
	char text[LINES_SIZE];
};

/* folder and name make the path. */
static int open_file(const char *folder, const char *name)
{
	char path[PATH_MAX];
	bool fits = snprintf(path, sizeof path, "%s%s", folder, name) < PATH_MAX;
	return fits ? open(path, O_RDONLY | O_CLOEXEC) : -1;
}

static void open_lines(struct lines *lines, const char *folder, const char *name)
{
	lines->fd = open_file(folder, name);
	lines->len = lines->next = 0;
}

static bool read_more(struct lines *lines)
{
	memmove(lines->text, lines->text + lines->next, lines->len - lines->next);
	lines->len -= lines->next;
	lines->next = 0;
	size_t space = LINES_SIZE - 1 - lines->len;
	ssize_t count = space > 0 ? read(lines->fd, lines->text + lines->len, space) : 0;
	lines->len += count > 0 ? (size_t)count : 0;
	return count > 0;
}

/* The next line, without its end; valid until the next call. NULL: there is none, or no file. */
static char *next_line(struct lines *lines)
{
	char *end;
	if (lines->fd < 0)
		return NULL;
	while (!(end = memchr(lines->text + lines->next, '\n', lines->len - lines->next)))
		if (!read_more(lines))
			return NULL;
	char *line = lines->text + lines->next;
	lines->next = (size_t)(end - lines->text) + 1;
	*end = '\0';
	return line;
}

static void close_lines(struct lines *lines)
{
	if (lines->fd >= 0)
		close(lines->fd);
}

static bool read_file(const char *folder, const char *name, char ret[FILE_SIZE])
{
	int fd = open_file(folder, name);
	ssize_t len = fd < 0 ? 0 : read(fd, ret, FILE_SIZE - 1);
	if (fd >= 0)
		close(fd);
	ret[len > 0 ? len : 0] = '\0';
	return len > 0;
}

/* ---------- control groups ---------- */

/* A folder of a group; its first mount_len bytes are where its hierarchy is mounted. */
struct group {
	char folder[PATH_MAX];
	size_t mount_len;
};

/* list: words between commas, up to any of the ends. */
static bool has_word(const char *list, const char *ends, const char *word)
{
	size_t len = strlen(word), list_len = strcspn(list, ends);
	const char *end = list + list_len;
	for (const char *at = list; at < end; at += strcspn(at, ",") + 1) {
		size_t word_len = strcspn(at, ",");
		if (word_len > (size_t)(end - at))
			word_len = (size_t)(end - at);
		if (word_len == len && strncmp(at, word, len) == 0)
			return true;
	}
	return false;
}

/* Find the path of our group in a line "number:controllers:path"; NULL: of another hierarchy. */
static const char *own_path(char *line, const char *controller)
{
	const char *list = strchr(line, ':');
	char *path = list ? strchr(list + 1, ':') : NULL;
	if (!path)
		return NULL;
	bool is_it =
		controller ? has_word(list + 1, ":", controller) : strncmp(line, "0::", 3) == 0;
	return is_it ? path + 1 : NULL;
}

static bool read_own_path(const char *root, const char *controller, char ret[PATH_MAX])
{
	struct lines lines;
	char *line;
	const char *path = NULL;
	open_lines(&lines, root, "/proc/self/cgroup");
	while (!path && (line = next_line(&lines)))
		path = own_path(line, controller);
	bool is_found = path && strlen(path) < PATH_MAX;
	if (is_found)
		strcpy(ret, path);
	close_lines(&lines);
	return is_found;
}

/* proc_pid_mountinfo(5). ret_top: the group that is seen at the mount point. */
static bool read_mount(
	const char *line, const char *controller, char ret_top[PATH_MAX], char ret_point[PATH_MAX])
{
	char type[16], options[FILE_SIZE];
	const char *rest = strstr(line, " - ");
	_Static_assert(PATH_MAX == 4096 && FILE_SIZE == 4096, "the widths below");
	if (!rest || sscanf(rest, " - %15s %*s %4095s", type, options) != 2 ||
		sscanf(line, "%*s %*s %*s %4095s %4095s", ret_top, ret_point) != 2)
		return false;
	return controller ? strcmp(type, "cgroup") == 0 && has_word(options, "", controller)
			  : strcmp(type, "cgroup2") == 0;
}

/* Inside a container the path may be that of the host, or lead out of what is mounted: then the
 * mount point is our group, or the next one above it. */
static bool join(
	struct group *group, const char *root, const char *top, const char *point, const char *path)
{
	size_t top_len = strcmp(top, "/") == 0 ? 0 : strlen(top);
	const char *below = path + top_len;
	if (strncmp(path, top, top_len) != 0 || *below != '/' || strstr(below, "/..") ||
		strcmp(below, "/") == 0)
		below = "";
	int mount_len = snprintf(group->folder, PATH_MAX, "%s%s", root, point);
	int len = snprintf(group->folder, PATH_MAX, "%s%s%s", root, point, below);
	group->mount_len = (size_t)mount_len;
	return len < PATH_MAX;
}

/* controller: of version 1; NULL: version 2. */
static bool find_group(const char *root, const char *controller, struct group *ret)
{
	char path[PATH_MAX], top[PATH_MAX], point[PATH_MAX];
	struct lines lines;
	const char *line;
	bool is_found = false;
	if (!read_own_path(root, controller, path))
		return false;
	open_lines(&lines, root, "/proc/self/mountinfo");
	while (!is_found && (line = next_line(&lines)))
		is_found = read_mount(line, controller, top, point) &&
			   join(ret, root, top, point, path);
	close_lines(&lines);
	return is_found;
}

/* False: it is the highest that is mounted. */
static bool go_up(struct group *group)
{
	char *last = strrchr(group->folder, '/');
	if (strlen(group->folder) <= group->mount_len || !last)
		return false;
	*last = '\0';
	return true;
}

/* ---------- quotas ---------- */

/* In thousandths; UINT32_MAX: none. */
static uint32_t share_of(int64_t quota, int64_t period)
{
	if (quota <= 0 || period <= 0 || quota / period >= UINT32_MAX / WHOLE)
		return UINT32_MAX;
	int64_t share = quota / period * WHOLE + quota % period * WHOLE / period;
	return share > 0 ? (uint32_t)share : 1;
}

static uint32_t quota_1(const char *folder)
{
	char quota[FILE_SIZE], period[FILE_SIZE];
	if (!read_file(folder, "/cpu.cfs_quota_us", quota) ||
		!read_file(folder, "/cpu.cfs_period_us", period))
		return UINT32_MAX;
	return share_of(strtoll(quota, NULL, 10), strtoll(period, NULL, 10));
}

static uint32_t quota_2(const char *folder)
{
	char text[FILE_SIZE];
	int64_t quota, period;
	if (!read_file(folder, "/cpu.max", text) ||
		sscanf(text, "%" SCNd64 " %" SCNd64, &quota, &period) != 2)
		return UINT32_MAX;
	return share_of(quota, period);
}

/* Find the smallest quota of a group and those above it; a quota of a group holds for all below.
 * ret_above: how many levels above our own group. */
static uint32_t find_quota(
	struct group group, uint32_t (*read_quota)(const char *folder), unsigned *ret_above)
{
	uint32_t share = UINT32_MAX;
	unsigned above = 0;
	do {
		uint32_t quota = read_quota(group.folder);
		if (quota < share) {
			share = quota;
			*ret_above = above;
		}
		above++;
	} while (go_up(&group));
	return share;
}

static void use_quota(struct processors *processors, uint32_t share, enum processors_usage usage,
	struct group group, unsigned above)
{
	while (above-- > 0 && go_up(&group))
		;
	processors->share = share;
	processors->usage = usage;
	strcpy(processors->group, group.folder);
}

static uint32_t count_own(void)
{
	cpu_set_t own;
	long count = sched_getaffinity(0, sizeof own, &own) == 0 ? CPU_COUNT(&own)
								 : sysconf(_SC_NPROCESSORS_ONLN);
	return count < 1 ? 1 : (uint32_t)count;
}

void processors_find(struct processors *processors, const char *root)
{
	struct group group, usage;
	unsigned above = 0;
	uint32_t share;
	*processors = (struct processors){.share = count_own() * WHOLE};
	snprintf(processors->root, PATH_MAX, "%s", root);
	if (find_group(root, NULL, &group) &&
		(share = find_quota(group, quota_2, &above)) < processors->share)
		use_quota(processors, share, PROCESSORS_OF_GROUP_2, group, above);
	if (find_group(root, "cpu", &group) &&
		(share = find_quota(group, quota_1, &above)) < processors->share)
		use_quota(processors, share, PROCESSORS_OF_GROUP_1,
			find_group(root, "cpuacct", &usage) ? usage : group, above);
}

/* ---------- idle ---------- */

/* False: unknown. */
static bool read_usage(const struct processors *processors, mtime *ret)
{
	char text[FILE_SIZE];
	const char *usage;
	if (processors->usage == PROCESSORS_OF_GROUP_1) {
		if (!read_file(processors->group, "/cpuacct.usage", text))
			return false;
		*ret = strtoll(text, NULL, 10) / 1000; /* nanoseconds */
		return true;
	}
	if (!read_file(processors->group, "/cpu.stat", text) ||
		!(usage = strstr(text, "usage_usec ")))
		return false;
	*ret = strtoll(usage + strlen("usage_usec "), NULL, 10);
	return true;
}

/* Read a line of /proc/stat (proc_stat(5)). number: of the processor; -1: all. ret_idle: in ticks.
 * False: another line, or one of a kernel that does not count. */
static bool read_processor(const char *line, int *ret_number, int64_t *ret_idle)
{
	int64_t user, nice, system, idle, wait = 0;
	int start = 0;
	if (sscanf(line, "cpu%n", &start) != 0 || start == 0)
		return false;
	*ret_number = line[start] == ' ' ? -1 : atoi(line + start);
	line += start + strcspn(line + start, " ");
	if (sscanf(line, "%" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNd64, &user, &nice,
		    &system, &idle, &wait) < 4)
		return false;
	*ret_idle = idle + wait;
	return user + nice + system + idle > 0;
}

/* In ticks; -1: unknown. A container may see other numbers than those of its affinity. */
static int64_t read_machine(const char *root)
{
	int64_t total = -1, own = 0, idle;
	int number, count = 0;
	struct lines lines;
	const char *line;
	cpu_set_t set;
	bool has_set = sched_getaffinity(0, sizeof set, &set) == 0;
	open_lines(&lines, root, "/proc/stat");
	while ((line = next_line(&lines)) && read_processor(line, &number, &idle)) {
		if (number < 0) {
			total = idle;
		} else if (has_set && number < CPU_SETSIZE && CPU_ISSET((size_t)number, &set)) {
			own += idle;
			count++;
		}
	}
	close_lines(&lines);
	return has_set && count == CPU_COUNT(&set) ? own : total;
}

mtime processors_idle(const struct processors *processors, mtime now)
{
	mtime all = now / WHOLE * processors->share, used;
	if (processors->usage != PROCESSORS_OF_MACHINE)
		return read_usage(processors, &used) ? all - used : all;
	int64_t idle = read_machine(processors->root);
	return idle < 0 ? all : idle * (MTIME_SECOND / sysconf(_SC_CLK_TCK));
}
