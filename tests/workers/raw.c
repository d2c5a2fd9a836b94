#include "workers/raw.h"

#include "wire/frame.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static void die(const char *what)
{
	perror(what);
	exit(70);
}

void raw_read_address(char *ret_line, size_t size)
{
	size_t used = 0;
	while (used + 1 < size && read(STDIN_FILENO, ret_line + used, 1) == 1) {
		if (ret_line[used] == '\n') {
			ret_line[used] = '\0';
			return;
		}
		used++;
	}
	fputs("no address on standard input\n", stderr);
	exit(70);
}

static bool open_fifos(struct raw *raw, const char *address)
{
	char name[PATH_MAX];
	snprintf(name, sizeof name, "%s.in", address);
	raw->in = open(name, O_RDONLY | O_CLOEXEC);
	if (raw->in < 0)
		return false;
	snprintf(name, sizeof name, "%s.out", address);
	raw->out = open(name, O_WRONLY | O_CLOEXEC);
	if (raw->out < 0)
		die(name);
	return true;
}

void raw_connect(struct raw *raw, const char *address)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX};
	if (*address == '/' && open_fifos(raw, address))
		return;
	snprintf(name.sun_path, sizeof name.sun_path, "%s%s",
		*address == '/' ? "" : "/tmp/CoreFxPipe_", address);
	raw->in = raw->out = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (raw->in < 0 || connect(raw->in, (struct sockaddr *)&name, sizeof name) < 0)
		die(name.sun_path);
}

bool raw_read_exactly(int fd, void *bytes, size_t len)
{
	for (size_t have = 0; have < len;) {
		ssize_t got = read(fd, (char *)bytes + have, len - have);
		if (got == 0 || (got < 0 && errno != EINTR))
			return false;
		have += got > 0 ? (size_t)got : 0;
	}
	return true;
}

bool raw_read_frame(struct raw *raw, struct raw_frame *ret_frame)
{
	uint8_t length[WIRE_LENGTH_BYTES];
	if (!raw_read_exactly(raw->in, length, sizeof length))
		return false;
	size_t len = wire_get_length(length);
	uint8_t *bytes = malloc(len);
	if (!bytes)
		die("malloc");
	if (!raw_read_exactly(raw->in, bytes, len)) {
		free(bytes);
		return false;
	}
	*ret_frame = (struct raw_frame){bytes, len};
	return true;
}

void raw_write(struct raw *raw, const void *bytes, size_t len)
{
	for (size_t done = 0; done < len;) {
		ssize_t put = write(raw->out, (const char *)bytes + done, len - done);
		if (put < 0 && errno == EPIPE)
			exit(0);
		if (put < 0 && errno != EINTR)
			die("write");
		done += put > 0 ? (size_t)put : 0;
	}
}

void raw_write_frame(struct raw *raw, const void *frame, size_t len)
{
	uint8_t length[WIRE_LENGTH_BYTES];
	wire_put_length(length, (uint32_t)len);
	raw_write(raw, length, sizeof length);
	raw_write(raw, frame, len);
}

/* One write, because several processes share the file. */
void raw_append_witness(const char *text, size_t len)
{
	const char *path = getenv("WITNESS");
	char line[256];
	if (!path)
		return;
	int size = snprintf(line, sizeof line, "%.*s\n", (int)len, text);
	int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
	if (fd < 0 || size >= (int)sizeof line || write(fd, line, (size_t)size) != size ||
		fsync(fd) < 0)
		die(path);
	close(fd);
}
