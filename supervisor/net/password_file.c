#include "net/password_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* NULL, or why it is no password. bytes: of len bytes, with place for a NUL. */
static const char *take_password(char *bytes, size_t len)
{
	if (len > 0 && bytes[len - 1] == '\n')
		len--;
	if (len > 0 && bytes[len - 1] == '\r')
		len--;
	bytes[len] = '\0';
	if (len == 0)
		return "it is empty";
	if (len >= PASSWORD_SIZE)
		return "it is longer than 1024 bytes";
	if (memchr(bytes, '\0', len) || memchr(bytes, '\n', len))
		return "it is not a single line";
	return NULL;
}

bool password_file_read(
	const char *path, char ret_password[PASSWORD_SIZE], const char **ret_problem)
{
	char bytes[PASSWORD_SIZE + 3]; /* a newline, and one byte too many */
	struct stat status;
	const char *problem = NULL;
	ssize_t len = -1;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd >= 0 && fstat(fd, &status) == 0 && !S_ISREG(status.st_mode))
		problem = "it is not a regular file";
	else if (fd >= 0)
		len = read(fd, bytes, sizeof bytes - 1);
	if (!problem)
		problem = len < 0 ? strerror(errno) : take_password(bytes, (size_t)len);
	if (fd >= 0)
		close(fd);
	if (problem)
		*ret_problem = problem;
	else
		memcpy(ret_password, bytes, strlen(bytes) + 1);
	explicit_bzero(bytes, sizeof bytes);
	return !problem;
}
