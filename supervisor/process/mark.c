#include "process/mark.h"

#include <dirent.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

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

/* A descriptor holds the process, so that its number cannot pass to another one before the kill. */
static bool kill_marked(pid_t pid, const char *run)
{
	int held = (int)syscall(SYS_pidfd_open, pid, 0);
	bool is_ours = mark_read(pid, run) > 0;
	if (is_ours && held >= 0)
		syscall(SYS_pidfd_send_signal, held, SIGKILL, NULL, 0);
	else if (is_ours)
		kill(pid, SIGKILL);
	if (held >= 0)
		close(held);
	return is_ours;
}

int mark_kill_all(const char *run)
{
	int killed = 0;
	DIR *processes = opendir("/proc");
	const struct dirent *entry;
	while (processes && (entry = readdir(processes))) {
		pid_t pid = (pid_t)atol(entry->d_name);
		if (pid > 1)
			killed += kill_marked(pid, run);
	}
	if (processes)
		closedir(processes);
	return killed;
}
