#include "process/mark.h"

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

/* 0: the entry is not a mark of that run. */
static uint64_t life_in(const char *entry, const char *run)
{
	static const char name[] = MARK_NAME "=";
	size_t run_len = strlen(run);
	if (strncmp(entry, name, sizeof name - 1) != 0)
		return 0;
	entry += sizeof name - 1;
	if (strncmp(entry, run, run_len) != 0 || entry[run_len] != '/')
		return 0;
	return strtoull(entry + run_len + 1, NULL, 10);
}

uint64_t mark_read(pid_t pid, const char *run)
{
	char path[32], *entry = NULL;
	size_t size = 0;
	uint64_t life = 0;
	snprintf(path, sizeof path, "/proc/%d/environ", (int)pid);
	FILE *environment = fopen(path, "re");
	if (!environment)
		return 0;
	while (!life && getdelim(&entry, &size, '\0', environment) > 0)
		life = life_in(entry, run);
	free(entry);
	fclose(environment);
	return life;
}

static bool read_real_user(pid_t pid, uid_t *ret)
{
	char path[32], line[256];
	unsigned user;
	bool is_found = false;
	snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
	FILE *status = fopen(path, "re");
	if (!status)
		return false;
	while (!is_found && fgets(line, sizeof line, status))
		is_found = sscanf(line, "Uid: %u", &user) == 1;
	fclose(status);
	if (is_found)
		*ret = (uid_t)user;
	return is_found;
}

static bool is_of(pid_t pid, const uid_t *users, size_t count)
{
	uid_t user;
	if (!read_real_user(pid, &user))
		return false;
	for (size_t i = 0; i < count; i++)
		if (users[i] == user)
			return true;
	return false;
}

static bool kill_marked(pid_t pid, const char *run, const uid_t *users, size_t count)
{
	struct held held = held_open(pid);
	bool is_ours = mark_read(pid, run) > 0 && is_of(pid, users, count);
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
