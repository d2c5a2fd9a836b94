#include "io/cgroups.h"

#include "base/list.h"
#include "base/log.h"
#include "io/descriptors.h"
#include "io/fork_into.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NAME         "wpool-XXXXXX" /* of a run, as rundir_new has it */
#define NUMBER_BYTES 24             /* an uint64_t as text */

#define TRIES 3

/* Groups within groups that are looked into. */
#define DEPTH 8

/* What a dead run left is gone within so many looks, or let be. */
#define STALE_ROUNDS   50
#define STALE_PAUSE_NS 2000000L

/* A group whose processes were still dying when it was to be removed. */
struct leftover {
	struct link link;
	char name[NUMBER_BYTES];
};

struct cgroups {
	int folder; /* of the run, locked */
	struct link leftovers;
	char path[PATH_MAX];
};

/* ---------- to end what is in one ---------- */

/* Before Linux 5.14 there was no file for it: one by one, as long as there are new ones. */
static void kill_each(int group)
{
	int fd = openat(group, "cgroup.procs", O_RDONLY | O_CLOEXEC), pid;
	FILE *list = fd >= 0 ? fdopen(fd, "r") : NULL;
	while (list && fscanf(list, "%d", &pid) == 1)
		if (pid > 1)
			kill(pid, SIGKILL);
	if (list)
		fclose(list);
	else if (fd >= 0)
		close(fd);
}

static void kill_all_in(int parent, const char *name)
{
	int group = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (group < 0)
		return;
	int file = openat(group, "cgroup.kill", O_WRONLY | O_CLOEXEC);
	if (file < 0 || write(file, "1", 1) != 1)
		kill_each(group);
	descriptor_close(&file);
	close(group);
}

/* False: something is in it. What is not there, or not ours to remove, is none of our business. */
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

/* The groups in a group; those of a run may have some of their own, if a worker may make them. */
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

bool cgroups_remove(const char *path)
{
	int folder = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (folder < 0)
		return true;
	bool is_empty = end_members(folder, DEPTH);
	close(folder);
	return is_empty && remove_empty(AT_FDCWD, path);
}

/* ---------- what others left ---------- */

/* Nobody holds its lock: its wpool is dead, and so is the guard's work. */
static bool is_abandoned(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	bool is_free = fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0;
	descriptor_close(&fd);
	return is_free;
}

static void remove_abandoned(const char *path)
{
	if (!is_abandoned(path))
		return;
	log_info("removing %s, which a killed wpool left behind, with all that runs in it", path);
	for (int round = 0; round < STALE_ROUNDS && !cgroups_remove(path); round++)
		nanosleep(&(struct timespec){0, STALE_PAUSE_NS}, NULL);
}

static bool is_runs(const char *name)
{
	return strlen(name) == sizeof NAME - 1 && strncmp(name, NAME, 6) == 0;
}

static void remove_all_abandoned(const char *own)
{
	char path[PATH_MAX];
	DIR *dir = opendir(own);
	const struct dirent *entry;
	while (dir && (entry = readdir(dir))) {
		int len = snprintf(path, sizeof path, "%s/%s", own, entry->d_name);
		if (entry->d_type == DT_DIR && is_runs(entry->d_name) && len > 0 &&
			(size_t)len < sizeof path)
			remove_abandoned(path);
	}
	if (dir)
		closedir(dir);
}

/* ---------- the run's ---------- */

/* Not everybody who may make a group may start processes in it (a group of threads, a limit on
 * their number): better to know now. */
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

static bool open_run(struct cgroups *cgroups)
{
	if (mkdir(cgroups->path, 0755) < 0 && errno != EEXIST)
		return false;
	descriptor_close(&cgroups->folder);
	cgroups->folder = open(cgroups->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return cgroups->folder >= 0 && flock(cgroups->folder, LOCK_EX | LOCK_NB) == 0 &&
	       can_start_into(cgroups->folder);
}

enum rc cgroups_new(const char *own, const char *run, struct cgroups **ret)
{
	const char *base = strrchr(run, '/');
	struct cgroups *cgroups = calloc(1, sizeof *cgroups);
	if (!cgroups)
		return RC_MEMORY;
	list_init(&cgroups->leftovers);
	cgroups->folder = -1;
	int len = snprintf(cgroups->path, PATH_MAX, "%s/%s", own, base ? base + 1 : run);
	remove_all_abandoned(own);
	/* Another wpool that starts may take it for abandoned while it is not locked yet. */
	for (int tries = 0; tries < TRIES && len < PATH_MAX; tries++)
		if (open_run(cgroups)) {
			*ret = cgroups;
			return RC_OK;
		}
	int error = len < PATH_MAX ? errno : ENAMETOOLONG;
	cgroups_free(cgroups);
	errno = error;
	return RC_SYSTEM;
}

const char *cgroups_path(const struct cgroups *cgroups)
{
	return cgroups->path;
}

int cgroups_begin(struct cgroups *cgroups, uint64_t life)
{
	char name[NUMBER_BYTES];
	snprintf(name, sizeof name, "%" PRIu64, life);
	if (mkdirat(cgroups->folder, name, 0755) < 0)
		return -1;
	return openat(cgroups->folder, name, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

void cgroups_end(struct cgroups *cgroups, uint64_t life)
{
	char name[NUMBER_BYTES];
	snprintf(name, sizeof name, "%" PRIu64, life);
	if (end_group(cgroups->folder, name, DEPTH))
		return;
	struct leftover *leftover = malloc(sizeof *leftover);
	if (!leftover)
		return; /* it stays, empty, until the run's group goes */
	memcpy(leftover->name, name, sizeof name);
	list_append(&cgroups->leftovers, &leftover->link);
}

static void forget(struct leftover *leftover)
{
	list_remove(&leftover->link);
	free(leftover);
}

void cgroups_sweep(struct cgroups *cgroups)
{
	struct link *next;
	for (struct link *link = cgroups->leftovers.next; link != &cgroups->leftovers;
		link = next) {
		struct leftover *leftover = CONTAINER_OF(link, struct leftover, link);
		next = link->next;
		if (end_group(cgroups->folder, leftover->name, DEPTH))
			forget(leftover);
	}
}

void cgroups_free(struct cgroups *cgroups)
{
	struct link *link;
	if (!cgroups)
		return;
	while ((link = list_first(&cgroups->leftovers)))
		forget(CONTAINER_OF(link, struct leftover, link));
	if (cgroups->folder >= 0)
		(void)cgroups_remove(cgroups->path);
	descriptor_close(&cgroups->folder);
	free(cgroups);
}
