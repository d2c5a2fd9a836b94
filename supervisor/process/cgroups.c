#include "process/cgroups.h"

#include "base/list.h"
#include "base/log.h"
#include "os/descriptors.h"
#include "process/fork_into.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#define NUMBER_SIZE 24   /* an uint64_t as text */
#define OWN_SIZE    4096 /* of /proc/self/cgroup */

/* How deep the groups that a worker made below its own are removed. */
#define DEPTH 8

/* A group whose processes were still dying when it was to be removed. */
struct leftover {
	struct link link;
	char name[NUMBER_SIZE];
};

struct cgroups {
	int folder; /* of the run */
	bool has_limits;
	struct link leftovers;
	char path[PATH_MAX];
};

/* ---------- where they are ---------- */

/* Read the path behind "0::" (cgroups(7)) of a process; pid 0: this one. */
static bool read_group(pid_t pid, char list[OWN_SIZE], const char **ret)
{
	char path[32] = "/proc/self/cgroup";
	*ret = NULL;
	if (pid)
		snprintf(path, sizeof path, "/proc/%d/cgroup", (int)pid);
	FILE *file = fopen(path, "re");
	size_t len = file ? fread(list, 1, OWN_SIZE - 1, file) : 0;
	list[len] = '\0';
	if (file)
		fclose(file);
	for (char *line = strtok(list, "\n"); line && !*ret; line = strtok(NULL, "\n"))
		if (strncmp(line, "0::/", 4) == 0)
			*ret = line + 3;
	return *ret != NULL;
}

enum rc cgroups_find_own(char ret[PATH_MAX])
{
	static const char *const mounts[] = {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"};
	char list[OWN_SIZE];
	const char *own;
	if (!read_group(0, list, &own))
		return RC_NOT_FOUND;
	for (size_t i = 0; i < sizeof mounts / sizeof *mounts; i++) {
		struct statfs status;
		int path_len = snprintf(ret, PATH_MAX, "%s%s", mounts[i], own);
		if (path_len < PATH_MAX && statfs(ret, &status) == 0 &&
			status.f_type == CGROUP2_SUPER_MAGIC)
			return RC_OK;
	}
	return RC_NOT_FOUND;
}

bool cgroups_holds(const struct cgroups *cgroups, pid_t pid)
{
	const char *name = strrchr(cgroups->path, '/'), *group, *found;
	size_t len = strlen(name);
	char list[OWN_SIZE];
	if (!read_group(pid, list, &group))
		return false;
	found = strstr(group, name);
	return found && found[len] == '/';
}

/* ---------- the end of a group ---------- */

static void kill_all_in(int parent, const char *name)
{
	char path[NAME_MAX + sizeof "/cgroup.kill"];
	snprintf(path, sizeof path, "%s/cgroup.kill", name);
	int file = openat(parent, path, O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
	if (file < 0)
		return;
	ssize_t written = write(file, "1", 1);
	(void)written; /* the group stays, and is looked at again */
	close(file);
}

/* False: something is in it. A group that is not there, or not ours to remove, counts as removed.
 */
static bool remove_empty(int parent, const char *name)
{
	return unlinkat(parent, name, AT_REMOVEDIR) == 0 || (errno != EBUSY && errno != ENOTEMPTY);
}

static bool end_members(int folder, int depth);

static bool end_group(int parent, const char *name, int depth)
{
	if (remove_empty(parent, name))
		return true;
	kill_all_in(parent, name);
	int group = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (group >= 0 && depth > 0)
		(void)end_members(group, depth - 1);
	descriptor_close(&group);
	return remove_empty(parent, name);
}

/* End the groups in a group. A worker may have made some below its own. */
static bool end_members(int folder, int depth)
{
	bool are_gone = true;
	int copy = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = copy >= 0 ? fdopendir(copy) : NULL;
	const struct dirent *entry;
	while (dir && (entry = readdir(dir)))
		if (entry->d_type == DT_DIR && entry->d_name[0] != '.')
			are_gone &= end_group(folder, entry->d_name, depth);
	if (dir)
		closedir(dir);
	else
		descriptor_close(&copy);
	return are_gone;
}

/* The folder above a run's group, and the name of the leaf there for supervisor and guard; -1: it
 * cannot be opened. */
static int open_above(const char *path, char ret_leaf[NAME_MAX])
{
	const char *base = strrchr(path, '/');
	char above[PATH_MAX];
	snprintf(above, sizeof above, "%.*s", (int)(base - path), path);
	snprintf(ret_leaf, NAME_MAX, "%s-supervisor", base + 1);
	return open(above, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static void leave_leaf(const char *path)
{
	char leaf[NAME_MAX];
	int above = open_above(path, leaf);
	if (above < 0)
		return;
	cgroup_controllers_disable_above(above, CGROUP_LIMITS_CONTROLLERS, leaf);
	close(above);
}

bool cgroups_remove(const char *path)
{
	int folder = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (folder < 0)
		return true;
	bool is_empty = end_members(folder, DEPTH);
	close(folder);
	if (!is_empty || !remove_empty(AT_FDCWD, path))
		return false;
	leave_leaf(path);
	return true;
}

/* ---------- the run's group ---------- */

/* A process that may make a group may still be refused to start others in it (a group of threads, a
 * limit on their number): better to know now. */
static bool can_start_into(int group)
{
	bool is_inside;
	int status = 0;
	pid_t pid = fork_into(group, &is_inside);
	if (pid == 0)
		_exit(is_inside ? 0 : errno);
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (pid > 0)
		errno = WEXITSTATUS(status);
	return pid > 0 && status == 0;
}

enum rc cgroups_new(const char *own, const char *run, struct cgroups **ret)
{
	const char *base = strrchr(run, '/');
	struct cgroups *cgroups = calloc(1, sizeof *cgroups);
	if (!cgroups)
		return RC_MEMORY;
	list_init(&cgroups->leftovers);
	cgroups->folder = -1;
	int len = snprintf(cgroups->path, PATH_MAX, "%s/%s-workers", own, base ? base + 1 : run);
	errno = ENAMETOOLONG;
	if (len < PATH_MAX && mkdir(cgroups->path, 0700) == 0)
		cgroups->folder = open(cgroups->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	/* cgroup.kill came with Linux 5.14. */
	if (cgroups->folder >= 0 && faccessat(cgroups->folder, "cgroup.kill", W_OK, 0) == 0 &&
		can_start_into(cgroups->folder)) {
		*ret = cgroups;
		return RC_OK;
	}
	int error = errno;
	cgroups_free(cgroups);
	errno = error;
	return RC_SYSTEM;
}

const char *cgroups_path(const struct cgroups *cgroups)
{
	return cgroups->path;
}

/* ---------- limits ---------- */

const char *cgroups_why_no_limits(void)
{
	char own[PATH_MAX];
	if (cgroups_find_own(own) != RC_OK)
		return "no control groups of version 2 are mounted here";
	int folder = open(own, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (folder < 0)
		return "wpool cannot open its control group here";
	bool is_available = cgroup_controllers_are_available(folder, CGROUP_LIMITS_CONTROLLERS);
	bool is_ours = faccessat(folder, ".", W_OK, 0) == 0 &&
		       faccessat(folder, "cgroup.procs", W_OK, 0) == 0;
	close(folder);
	if (!is_available)
		return "its control group here does not have the controllers pids and memory";
	return is_ours ? NULL : "wpool may not make control groups here";
}

enum rc cgroups_allow_limits(struct cgroups *cgroups, pid_t guard)
{
	char leaf[NAME_MAX];
	const pid_t others[] = {guard > 0 ? guard : 0, 0};
	if (cgroups->has_limits)
		return RC_OK;
	int above = open_above(cgroups->path, leaf);
	if (above < 0)
		return RC_SYSTEM;
	errno = EOPNOTSUPP;
	cgroups->has_limits =
		cgroup_controllers_are_available(above, CGROUP_LIMITS_CONTROLLERS) &&
		cgroup_controllers_enable_above(above, CGROUP_LIMITS_CONTROLLERS, leaf, others) &&
		cgroup_controllers_enable(cgroups->folder, CGROUP_LIMITS_CONTROLLERS);
	int error = errno;
	if (!cgroups->has_limits)
		cgroup_controllers_disable_above(above, CGROUP_LIMITS_CONTROLLERS, leaf);
	close(above);
	errno = error;
	return cgroups->has_limits ? RC_OK : RC_SYSTEM;
}

static void set_limits(int parent, const char *name, const struct cgroup_limits *limits)
{
	int group = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (group < 0 || !cgroup_limits_write(group, limits))
		log_warn("limits of a worker's control group cannot be set: %s", strerror(errno));
	descriptor_close(&group);
}

bool cgroups_was_over_memory(const struct cgroups *cgroups, uint64_t life)
{
	char name[NUMBER_SIZE];
	if (!cgroups->has_limits)
		return false;
	snprintf(name, sizeof name, "%" PRIu64, life);
	int group = openat(cgroups->folder, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	bool was_over = group >= 0 && cgroup_limits_was_over_memory(group);
	descriptor_close(&group);
	return was_over;
}

/* ---------- the groups of workers ---------- */

int cgroups_begin(struct cgroups *cgroups, uint64_t life, const struct cgroup_limits *limits)
{
	char name[NUMBER_SIZE];
	snprintf(name, sizeof name, "%" PRIu64, life);
	bool is_limited = cgroups->has_limits && cgroup_limits_are_set(limits);
	if (mkdirat(cgroups->folder, name, 0755) < 0) {
		if (is_limited)
			log_warn("a worker has no control group, so its limits do not hold: %s",
				strerror(errno));
		return -1;
	}
	if (is_limited)
		set_limits(cgroups->folder, name, limits);
	return openat(cgroups->folder, name, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

void cgroups_end(struct cgroups *cgroups, uint64_t life)
{
	char name[NUMBER_SIZE];
	snprintf(name, sizeof name, "%" PRIu64, life);
	if (end_group(cgroups->folder, name, DEPTH))
		return;
	struct leftover *leftover = malloc(sizeof *leftover);
	if (!leftover)
		return; /* it stays, empty, until the run ends */
	memcpy(leftover->name, name, sizeof name);
	list_append(&cgroups->leftovers, &leftover->link);
}

void cgroups_sweep(struct cgroups *cgroups)
{
	struct link *next;
	for (struct link *link = cgroups->leftovers.next; link != &cgroups->leftovers;
		link = next) {
		struct leftover *leftover = CONTAINER_OF(link, struct leftover, link);
		next = link->next;
		if (end_group(cgroups->folder, leftover->name, DEPTH)) {
			list_remove(link);
			free(leftover);
		}
	}
}

void cgroups_free(struct cgroups *cgroups)
{
	struct link *link;
	if (!cgroups)
		return;
	while ((link = list_first(&cgroups->leftovers))) {
		list_remove(link);
		free(CONTAINER_OF(link, struct leftover, link));
	}
	if (cgroups->folder >= 0)
		(void)cgroups_remove(cgroups->path);
	descriptor_close(&cgroups->folder);
	free(cgroups);
}
