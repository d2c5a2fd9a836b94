#include "os/proc_waited.h"

#include "os/proc_stat.h"
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

/* How many generations below the process, and how many threads of all, are read. */
#define DEPTH       8
#define THREADS_MAX 256
#define TEXT_SIZE   1024 /* of about a hundred children */

struct search {
	unsigned left; /* threads to read */
	mtime longest;
};

static void read_text(pid_t pid, const char *thread, const char *name, char ret[TEXT_SIZE])
{
	char path[48];
	snprintf(path, sizeof path, "task/%.16s/%s", thread, name);
	(void)proc_stat_text(pid, path, ret, TEXT_SIZE);
}

/* Time on a processor, time waiting for one, in nanoseconds, and how often it ran. */
static mtime read_wait(pid_t pid, const char *thread)
{
	char text[TEXT_SIZE];
	char *wait;
	read_text(pid, thread, "schedstat", text);
	(void)strtoull(text, &wait, 10);
	return (mtime)(strtoull(wait, NULL, 10) / 1000);
}

static void look_at(struct search *search, pid_t pid, unsigned depth);

static void look_at_children(struct search *search, pid_t pid, const char *thread, unsigned depth)
{
	char text[TEXT_SIZE], *end;
	read_text(pid, thread, "children", text);
	for (char *at = text;; at = end) {
		pid_t child = (pid_t)strtol(at, &end, 10);
		if (child <= 0 || *end != ' ') /* a number that was cut has no blank behind it */
			return;
		look_at(search, child, depth);
	}
}

static void look_at(struct search *search, pid_t pid, unsigned depth)
{
	char path[32];
	const struct dirent *entry;
	snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
	DIR *dir = opendir(path);
	while (dir && search->left > 0 && (entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		search->left--;
		search->longest = mtime_max(search->longest, read_wait(pid, entry->d_name));
		if (depth > 0)
			look_at_children(search, pid, entry->d_name, depth - 1);
	}
	if (dir)
		closedir(dir);
}

mtime proc_waited(pid_t pid)
{
	struct search search = {.left = THREADS_MAX};
	look_at(&search, pid, DEPTH);
	return search.longest;
}
