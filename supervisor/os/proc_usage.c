#include "os/proc_usage.h"

#include "os/proc_stat.h"
#include <time.h>
#include <unistd.h>

static mtime of_ticks(uint64_t ticks)
{
	long a_second = sysconf(_SC_CLK_TCK);

	return (mtime)(ticks * (uint64_t)MTIME_SECOND / (uint64_t)a_second);
}

bool proc_usage_read(pid_t pid, struct proc_usage *ret)
{
	struct proc_stat stat;
	struct timespec now;

	if (!proc_stat_read(pid, &stat))
		return false;
	clock_gettime(CLOCK_BOOTTIME, &now);
	*ret = (struct proc_usage){.memory_bytes = stat.resident * (uint64_t)sysconf(_SC_PAGESIZE),
		.computed = of_ticks(stat.computed),
		.age = now.tv_sec * MTIME_SECOND + now.tv_nsec / 1000 - of_ticks(stat.start)};
	return true;
}

mtime proc_usage_computed(pid_t pid)
{
	clockid_t clock;
	struct timespec time;

	if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &time) < 0)
		return MTIME_NEVER;
	return time.tv_sec * MTIME_SECOND + time.tv_nsec / 1000;
}
