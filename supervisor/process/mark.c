#include "process/mark.h"

#include "os/proc_stat.h"
#include "process/held.h"
#include <dirent.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

enum rc mark_draw_run(char ret[MARK_RUN_SIZE])
{
	unsigned char bytes[(MARK_RUN_SIZE - 1) / 2];
	if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
		return RC_SYSTEM;
	for (size_t i = 0; i < sizeof bytes; i++)
		snprintf(ret + 2 * i, 3, "%02x", bytes[i]);
	return RC_OK;
}

void mark_write(char ret[MARK_SIZE], const char *run, uint64_t life)
{
	snprintf(ret, MARK_SIZE, MARK_NAME "=%s/%" PRIu64, run, life);
}

/* False: the entry is not a mark of that run. */
static bool read_entry(const char *entry, const char *run, uint64_t *ret_life)
{
	static const char name[] = MARK_NAME "=";
	size_t run_len = strlen(run);
	if (strncmp(entry, name, sizeof name - 1) != 0)
		return false;
	entry += sizeof name - 1;
	if (strncmp(entry, run, run_len) != 0 || entry[run_len] != '/')
		return false;
	*ret_life = strtoull(entry + run_len + 1, NULL, 10);
	return true;
}

bool mark_read(pid_t pid, const char *run, uint64_t *ret_life)
{
	char path[32], *entry = NULL;
	size_t size = 0;
	bool is_found = false;
	snprintf(path, sizeof path, "/proc/%d/environ", (int)pid);
	FILE *environment = fopen(path, "re");
	if (!environment)
		return false;
	while (!is_found && getdelim(&entry, &size, '\0', environment) > 0)
		is_found = read_entry(entry, run, ret_life);
	free(entry);
	fclose(environment);
	return is_found;
}

static bool is_of(pid_t pid, const uid_t *users, size_t count)
{
	uid_t user;
	if (!proc_stat_real_user(pid, &user))
		return false;
	for (size_t i = 0; i < count; i++)
		if (users[i] == user)
			return true;
	return false;
}

static bool kill_marked(pid_t pid, const char *run, const uid_t *users, size_t count)
{
	struct held held = held_open(pid);
	uint64_t life;
	bool is_ours = mark_read(pid, run, &life) && is_of(pid, users, count);
	if (is_ours)
		held_signal(&held, SIGKILL);
	held_close(&held);
	return is_ours;
}

int mark_kill_all(const char *run, const uid_t *users, size_t count)
{
	int killed = 0;
	DIR *processes = opendir("/proc");
	const struct dirent *entry;
	while (processes && (entry = readdir(processes))) {
		pid_t pid = (pid_t)atol(entry->d_name);
		if (pid > 1)
			killed += kill_marked(pid, run, users, count);
	}
	if (processes)
		closedir(processes);
	return killed;
}
