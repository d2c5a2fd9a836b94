#include "fault/watch.h"

#include <dirent.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static bool is_child(pid_t pid, pid_t parent, const char *name)
{
	char *path = scratch_text("/proc/%d/stat", (int)pid);
	char *stat = scratch_read(path, NULL);
	char *end = stat ? strrchr(stat, ')') : NULL;
	char state = 0;
	int owner = 0;
	bool fits = end && sscanf(end, ") %c %d", &state, &owner) == 2 && owner == parent &&
		    state != 'Z';
	if (fits) {
		*end = 0;
		fits = strcmp(strchr(stat, '(') + 1, name) == 0;
	}
	free(stat);
	free(path);
	return fits;
}

int watch_children(pid_t parent, const char *name, pid_t pids[], int capacity)
{
	int count = 0;
	DIR *proc = opendir("/proc");
	ck_assert_ptr_nonnull(proc);
	for (struct dirent *entry; (entry = readdir(proc));) {
		pid_t pid = (pid_t)atol(entry->d_name);
		if (pid <= 0 || !is_child(pid, parent, name))
			continue;
		if (count < capacity)
			pids[count] = pid;
		count++;
	}
	closedir(proc);
	return count;
}

void watch_expect_children(pid_t parent, const char *name, int count)
{
	int64_t deadline = deadline_in(3 * DEADLINE_DEFAULT_MS);
	int seen;
	while ((seen = watch_children(parent, name, NULL, 0)) != count) {
		ck_assert_msg(deadline_left(deadline) > 0, "%d has %d children %s, not %d",
			(int)parent, seen, name, count);
		poll(NULL, 0, 20);
	}
}

int watch_descriptors(pid_t pid)
{
	int count = -2; /* "." and ".." */
	char *path = scratch_text("/proc/%d/fd", (int)pid);
	struct stat status;
	/* The folder's size is their number since Linux 6.2, and before that 0. Only root may list
	 * those of wpool. */
	if (stat(path, &status) == 0 && status.st_size > 0) {
		free(path);
		return (int)status.st_size;
	}
	DIR *folder = opendir(path);
	ck_assert_ptr_nonnull(folder);
	while (readdir(folder))
		count++;
	closedir(folder);
	free(path);
	return count;
}

long watch_memory_kib(pid_t pid)
{
	char *path = scratch_text("/proc/%d/status", (int)pid);
	char *status = scratch_read(path, NULL);
	char *line = status ? strstr(status, "\nRssAnon:") : NULL;
	ck_assert_ptr_nonnull(line);
	long kib = atol(line + strlen("\nRssAnon:"));
	free(status);
	free(path);
	return kib;
}

/* The highest number that follows this text in a line of the log, in units of so many ms. */
static void note_highest(const char *said, const char *words, double unit_ms, struct tally *tally)
{
	for (const char *at = said; (at = strstr(at, words));) {
		at += strlen(words);
		double longest = unit_ms * strtod(at, NULL);
		const char *comma = strchr(at, ',');
		if (longest <= tally->longest_ms)
			continue;
		tally->longest_ms = longest;
		tally->computing_ms = comma ? strtod(comma + 1, NULL) : 0;
	}
}

void watch_note_turns(struct proc *proc, struct tally *tally)
{
	char *said = proc_stderr(proc);
	note_highest(said, "longest turn of the loop: ", 1, tally);
	note_highest(said, "a turn of the loop took ", 1, tally);
	if (!tally->suspends)
		note_highest(said, "wpool was not running for ", 1000, tally);
	free(said);
}
