#include "os/descriptors.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* Five descriptors for each of 10,000 workers in twenty pools. A higher limit only slows the
 * walk over all descriptors where close_range does not exist. */
#define DESCRIPTORS_WANTED 1048576

static enum rc fill_standard(void)
{
	for (int fd = 0; fd <= 2; fd++) {
		if (fcntl(fd, F_GETFD) >= 0 || errno != EBADF)
			continue;
		if (open("/dev/null", O_RDWR) <
			0) /* open returns the lowest free number, which is fd */
			return RC_SYSTEM;
	}
	return RC_OK;
}

enum rc descriptors_prepare(struct rlimit *ret_original)
{
	if (fill_standard() != RC_OK)
		return RC_SYSTEM;
	struct rlimit limit;
	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return RC_SYSTEM;
	*ret_original = limit;
	rlim_t wanted = limit.rlim_max < DESCRIPTORS_WANTED ? limit.rlim_max : DESCRIPTORS_WANTED;
	if (limit.rlim_cur < wanted) {
		limit.rlim_cur = wanted;
		(void)setrlimit(RLIMIT_NOFILE, &limit); /* otherwise the present limit stays */
	}
	return RC_OK;
}

/* For kernels before 5.11 and sandboxes that refuse the call. No descriptor is above the hard
 * limit, but that may be 10^9, far above any of ours. */
static int last_number(void)
{
	struct rlimit limit;
	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_max > DESCRIPTORS_WANTED)
		return DESCRIPTORS_WANTED - 1;
	return (int)limit.rlim_max - 1;
}

void descriptors_range(int first, unsigned flags)
{
	if (close_range((unsigned)first, ~0U, (int)flags) == 0)
		return;
	for (int fd = first, last = last_number(); fd <= last; fd++) {
		if (flags & CLOSE_RANGE_CLOEXEC)
			fcntl(fd, F_SETFD, FD_CLOEXEC);
		else
			close(fd);
	}
}

void descriptor_close(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

size_t descriptor_waiting(int fd)
{
	int waiting = 0;
	if (ioctl(fd, FIONREAD, &waiting) < 0 || waiting < 0)
		return 0;
	return (size_t)waiting;
}
