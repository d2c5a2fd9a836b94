#include "os/proc_stat.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define STAT_SIZE   1024
#define NANOSECONDS 1000000000L

/* Fields count from 1; the first after the name is 3. */
enum { STATE = 3, PARENT = 4, UTIME = 14, STIME = 15, START = 22, RESIDENT = 24, LAST = RESIDENT };

bool proc_stat_text(pid_t pid, const char *name, char *ret, size_t size)
{
	char path[64];
	ssize_t len;
	int fd;

	snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	len = fd >= 0 ? read(fd, ret, size - 1) : 0;
	ret[len > 0 ? len : 0] = '\0';
	if (fd >= 0)
		close(fd);
	return len > 0;
}

/* The name is in parentheses and may contain any character. */
static bool split(const char *text, char *ret_state, uint64_t fields[LAST + 1])
{
	const char *at = strrchr(text, ')');

	for (int i = STATE; at && i <= LAST; i++) {
		at = strchr(at, ' ');
		if (at && i == STATE)
			*ret_state = at[1];
		else if (at)
			fields[i] = strtoull(at, NULL, 10);
		at = at ? at + 1 : NULL;
	}
	return at != NULL;
}

bool proc_stat_read(pid_t pid, struct proc_stat *ret)
{
	char text[STAT_SIZE], state = '?';
	uint64_t fields[LAST + 1];

	if (!proc_stat_text(pid, "stat", text, sizeof text) || !split(text, &state, fields))
		return false;
	*ret = (struct proc_stat){.state = state,
		.parent = (pid_t)fields[PARENT],
		.start = fields[START],
		.computed = fields[UTIME] + fields[STIME],
		.resident = fields[RESIDENT]};
	return true;
}

bool proc_stat_real_user(pid_t pid, uid_t *ret)
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

uint64_t proc_stat_now(void)
{
	struct timespec now;
	long ticks = sysconf(_SC_CLK_TCK);

	clock_gettime(CLOCK_BOOTTIME, &now);
	return (uint64_t)now.tv_sec * (uint64_t)ticks +
	       (uint64_t)(now.tv_nsec / (NANOSECONDS / ticks));
}
