/* A library to be preloaded under which the wall clock can be stepped, as an operator or a time
 * server steps it: CLOCK_REALTIME, gettimeofday and time are off by as many seconds as the file
 * named by WPOOL_CLOCK_SHIFT holds, a 64-bit integer of this machine. The file is mapped: a change
 * counts at once, in every process that has it. The other clocks are left alone, as a step leaves
 * them. What the C library asks for within itself is not shifted. */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const volatile int64_t unshifted, *shift = &unshifted;

__attribute__((constructor)) static void map_shift(void)
{
	const char *path = getenv("WPOOL_CLOCK_SHIFT");
	int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	void *memory =
		fd < 0 ? MAP_FAILED : mmap(NULL, sizeof *shift, PROT_READ, MAP_SHARED, fd, 0);
	if (memory == MAP_FAILED) {
		fprintf(stderr, "shifted_clock: WPOOL_CLOCK_SHIFT names no file: %s\n",
			strerror(errno));
		_exit(120);
	}
	close(fd);
	shift = memory;
}

int clock_gettime(clockid_t which, struct timespec *now)
{
	int result = (int)syscall(SYS_clock_gettime, which, now);
	if (result == 0 && (which == CLOCK_REALTIME || which == CLOCK_REALTIME_COARSE))
		now->tv_sec += *shift;
	return result;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone)
{
	struct timespec precise;
	(void)zone;
	clock_gettime(CLOCK_REALTIME, &precise);
	*now = (struct timeval){precise.tv_sec, precise.tv_nsec / 1000};
	return 0;
}

time_t time(time_t *ret_now)
{
	struct timespec precise;
	clock_gettime(CLOCK_REALTIME, &precise);
	if (ret_now)
		*ret_now = precise.tv_sec;
	return precise.tv_sec;
}
