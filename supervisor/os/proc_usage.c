#include "os/proc_usage.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define STAT_SIZE 1024

/* proc(5), /proc/[pid]/stat: fields count from 1; the first after the name is 3. */
enum { FIRST = 3, UTIME = 14, STIME = 15, START = 22, RESIDENT = 24, LAST = RESIDENT };

static bool read_stat(pid_t pid, char text[STAT_SIZE])
{
	char path[32];
	ssize_t len;
	int fd;

	snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	len = read(fd, text, STAT_SIZE - 1);
	close(fd);
	text[len > 0 ? len : 0] = '\0';
	return len > 0;
}

/* The name is in parentheses and may contain any character. */
static bool split(const char *text, uint64_t fields[LAST + 1])
{
	const char *at = strrchr(text, ')');

	for (int i = FIRST; at && i <= LAST; i++) {
		at = strchr(at, ' ');
		if (at && i > FIRST)
			fields[i] = strtoull(at, NULL, 10);
		at = at ? at + 1 : NULL;
	}
	return at != NULL;
}

static mtime of_ticks(uint64_t ticks)
{
	long a_second = sysconf(_SC_CLK_TCK);

	return (mtime)(ticks * (uint64_t)MTIME_SECOND / (uint64_t)a_second);
}

bool proc_usage_read(pid_t pid, struct proc_usage *ret)
{
	char text[STAT_SIZE];
	uint64_t fields[LAST + 1];
	struct timespec now;

	if (!read_stat(pid, text) || !split(text, fields))
		return false;
	clock_gettime(CLOCK_BOOTTIME, &now);
	*ret = (struct proc_usage){
		.memory_bytes = fields[RESIDENT] * (uint64_t)sysconf(_SC_PAGESIZE),
		.computed = of_ticks(fields[UTIME] + fields[STIME]),
		.age = now.tv_sec * MTIME_SECOND + now.tv_nsec / 1000 - of_ticks(fields[START])};
	return true;
}
