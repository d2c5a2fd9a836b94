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

#define BACKLOG 128
/* A burst of connections over TCP, where one that finds no place is late by a second. */
#define BACKLOG_TCP 1024
#define STREAM      (SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC)
#define MASK_OWN    0177 /* umask: mode 0600 */
#define MASK_GROUP  0117 /* mode 0660 */
#define MODE_LOCK   0600
#define LOCK_TRIES  10

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

/* PATH.lock, locked against another wpool that starts. Others cannot open it, as they could the
 * folder. */
struct path_lock {
	char name[LISTENER_PATH_BYTES + sizeof ".lock"];
	int fd; /* -1: none */
};

static bool is_same_file(int fd, const char *name)
{
	struct stat open_one, named;

	return fstat(fd, &open_one) == 0 && lstat(name, &named) == 0 &&
	       open_one.st_dev == named.st_dev && open_one.st_ino == named.st_ino;
}

/* Open the file, made if there is none. Another user's could be held by that user for ever; one
 * with two names may be any file of ours, to which that user has made a link. */
static int open_lock(const char *name)
{
	struct stat status;
	int fd = open(name, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, MODE_LOCK);

	if (fd >= 0 && (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode) ||
			       status.st_uid != geteuid() || status.st_nlink > 1 ||
			       fchmod(fd, MODE_LOCK) != 0)) {
		descriptor_close(&fd);
		errno = EPERM;
	}
	return fd;
}

/* RC_REFUSED: another process has it. RC_SYSTEM: see errno. */
static enum rc acquire_lock(const char *path, struct path_lock *lock)
{
	snprintf(lock->name, sizeof lock->name, "%s.lock", path);
	for (int i = 0; i < LOCK_TRIES; i++) {
		lock->fd = open_lock(lock->name);
		if (lock->fd < 0)
			return RC_SYSTEM;
		if (flock(lock->fd, LOCK_EX | LOCK_NB) != 0) {
			int error = errno;
			descriptor_close(&lock->fd);
			errno = error;
			return error == EWOULDBLOCK ? RC_REFUSED : RC_SYSTEM;
		}
		if (is_same_file(lock->fd, lock->name))
			return RC_OK;
		descriptor_close(&lock->fd); /* its last holder has just removed it */
	}
	return RC_REFUSED;
}

static void release_lock(struct path_lock *lock)
{
	int error = errno;

	unlink(lock->name);
	descriptor_close(&lock->fd);
	errno = error;
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

/* Until listen() no peer can connect, so the group may be set after the mode. */
static enum rc bind_path(const struct sockaddr_un *name, gid_t group, struct listener *listener)
{
	struct stat status;
	mode_t mask;
	int bound;

	unlink(name->sun_path);
	listener->fd = socket(AF_UNIX, STREAM, 0);
	if (listener->fd < 0)
		return RC_SYSTEM;
	mask = umask(group == LISTENER_NO_GROUP ? MASK_OWN : MASK_GROUP);
	bound = bind(listener->fd, (const struct sockaddr *)name, sizeof *name);
	umask(mask);
	if (bound != 0)
		return RC_SYSTEM;
	memcpy(listener->path, name->sun_path, sizeof listener->path);
	if (lstat(listener->path, &status) != 0)
		return RC_SYSTEM;
	listener->device = status.st_dev;
	listener->inode = status.st_ino;
	if (group != LISTENER_NO_GROUP && lchown(listener->path, (uid_t)-1, group) != 0)
		return RC_SYSTEM;
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

/* The lock is held from the check to the bind. */
enum rc listener_open_path(const char *path, gid_t group, struct listener *ret)
{
	struct listener listener = LISTENER_NONE;
	struct sockaddr_un name;
	struct path_lock lock;
	enum rc rc = make_name(path, &name);

	if (rc == RC_OK)
		rc = acquire_lock(path, &lock);
	if (rc != RC_OK)
		return rc;
	rc = find_listener(&name);
	if (rc == RC_NOT_FOUND)
		rc = bind_path(&name, group, &listener);
	rc = hand_out(rc, &listener, ret);
	release_lock(&lock);
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
		listen(listener->fd, BACKLOG_TCP) != 0)
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
