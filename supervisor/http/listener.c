#include "http/listener.h"

#include "config/url/listen.h"
#include "os/descriptors.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define BACKLOG  128
#define STREAM   (SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC)
#define MASK_OWN 0177 /* umask: mode 0600 */

/* ---------- a path ---------- */

static enum rc make_name(const char *path, struct sockaddr_un *name)
{
	size_t len = strlen(path);

	*name = (struct sockaddr_un){.sun_family = AF_UNIX};
	if (len == 0 || len >= sizeof name->sun_path)
		return RC_LIMIT;
	memcpy(name->sun_path, path, len + 1);
	return RC_OK;
}

/* The folder of path, locked against another wpool that starts; -1: see errno. */
static int lock_folder(const char *path)
{
	char folder[LISTENER_PATH_BYTES];
	const char *slash = strrchr(path, '/');
	int fd;

	snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - path + 1) : 1,
		slash ? path : ".");
	fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0)
		descriptor_close(&fd);
	return fd;
}

/* RC_NOT_FOUND: no process listens there. */
static enum rc find_listener(const struct sockaddr_un *name)
{
	struct stat status;
	int fd, error;

	if (lstat(name->sun_path, &status) != 0)
		return errno == ENOENT ? RC_NOT_FOUND : RC_SYSTEM;
	if (!S_ISSOCK(status.st_mode))
		return RC_MALFORMED;
	fd = socket(AF_UNIX, STREAM, 0);
	if (fd < 0)
		return RC_SYSTEM;
	error = connect(fd, (const struct sockaddr *)name, sizeof *name) == 0 ? 0 : errno;
	close(fd);
	/* EAGAIN: it listens, and its backlog is full. */
	if (error == 0 || error == EAGAIN)
		return RC_REFUSED;
	errno = error;
	return error == ECONNREFUSED ? RC_NOT_FOUND : RC_SYSTEM;
}

static enum rc bind_path(const struct sockaddr_un *name, struct listener *listener)
{
	struct stat status;
	mode_t mask;
	int bound;

	unlink(name->sun_path);
	listener->fd = socket(AF_UNIX, STREAM, 0);
	if (listener->fd < 0)
		return RC_SYSTEM;
	mask = umask(MASK_OWN);
	bound = bind(listener->fd, (const struct sockaddr *)name, sizeof *name);
	umask(mask);
	if (bound != 0)
		return RC_SYSTEM;
	memcpy(listener->path, name->sun_path, sizeof listener->path);
	if (lstat(listener->path, &status) != 0)
		return RC_SYSTEM;
	listener->device = status.st_dev;
	listener->inode = status.st_ino;
	return listen(listener->fd, BACKLOG) == 0 ? RC_OK : RC_SYSTEM;
}

/* Move the listener to *ret, or close it after a failure; errno stays. */
static enum rc hand_out(enum rc rc, struct listener *listener, struct listener *ret)
{
	int error = errno;

	if (rc == RC_OK)
		*ret = *listener;
	else
		listener_close(listener);
	errno = error;
	return rc;
}

/* The folder is locked from the check to the bind. */
enum rc listener_open_path(const char *path, struct listener *ret)
{
	struct listener listener = LISTENER_NONE;
	struct sockaddr_un name;
	enum rc rc = make_name(path, &name);
	int folder;

	if (rc != RC_OK)
		return rc;
	folder = lock_folder(path);
	if (folder < 0)
		return errno == EWOULDBLOCK ? RC_REFUSED : RC_SYSTEM;
	rc = find_listener(&name);
	if (rc == RC_NOT_FOUND)
		rc = bind_path(&name, &listener);
	rc = hand_out(rc, &listener, ret);
	descriptor_close(&folder);
	return rc;
}

/* ---------- an address ---------- */

static enum rc bind_address(const struct listen_address *address, struct listener *listener)
{
	int yes = 1;

	listener->fd = socket(address->storage.ss_family, STREAM, 0);
	if (listener->fd < 0)
		return RC_SYSTEM;
	if (setsockopt(listener->fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) != 0)
		return RC_SYSTEM;
	if (bind(listener->fd, (const struct sockaddr *)&address->storage, address->len) != 0 ||
		listen(listener->fd, BACKLOG) != 0)
		return errno == EADDRINUSE ? RC_REFUSED : RC_SYSTEM;
	return RC_OK;
}

enum rc listener_open_address(const char *text, struct listener *ret)
{
	struct listener listener = LISTENER_NONE;
	struct listen_address address;

	if (!listen_parse(text_from(text), &address))
		return RC_MALFORMED;
	return hand_out(bind_address(&address, &listener), &listener, ret);
}

unsigned listener_port(const struct listener *listener)
{
	struct sockaddr_storage name;
	socklen_t len = sizeof name;

	if (listener->fd < 0 || getsockname(listener->fd, (struct sockaddr *)&name, &len) != 0)
		return 0;
	if (name.ss_family == AF_INET)
		return ntohs(((const struct sockaddr_in *)&name)->sin_port);
	if (name.ss_family == AF_INET6)
		return ntohs(((const struct sockaddr_in6 *)&name)->sin6_port);
	return 0;
}

void listener_close(struct listener *listener)
{
	struct stat status;

	if (*listener->path && lstat(listener->path, &status) == 0 &&
		status.st_dev == listener->device && status.st_ino == listener->inode)
		unlink(listener->path);
	descriptor_close(&listener->fd);
	*listener = LISTENER_NONE;
}
