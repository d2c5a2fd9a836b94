#include "unit/support/base/written.h"

#include <check.h>
#include <poll.h>
#include <unistd.h>

const struct log_origin written_worker = {
	.pool = "fibonacci", .slot = 3, .pid = 4711, .stream = "stderr"};

char *written_taken(int fd)
{
	static char bytes[256 * 1024];
	size_t len = 0;
	struct pollfd readable = {.fd = fd, .events = POLLIN};
	while (len < sizeof bytes - 1 && poll(&readable, 1, 0) == 1 &&
		(readable.revents & POLLIN)) {
		ssize_t count = read(fd, bytes + len, sizeof bytes - 1 - len);
		ck_assert_int_gt(count, 0);
		len += (size_t)count;
	}
	bytes[len] = '\0';
	return bytes;
}

void written_tell(struct log_origin origin, struct text text)
{
	struct log_worker_line line = log_worker_line(text, false);
	log_write_worker_line(origin, &line);
}

int written_open(enum log_format format, bool colour)
{
	int ends[2];
	ck_assert_int_eq(pipe(ends), 0);
	log_setup(ends[1], LOG_INFO, format, colour);
	return ends[0];
}

const char *written_after_time(const char *line)
{
	static const char form[] = "0000-00-00 00:00:00.000 ";
	size_t size = sizeof form - 1;
	ck_assert_uint_ge(strlen(line), size);
	for (size_t i = 0; i < size; i++)
		ck_assert(form[i] == '0' ? line[i] >= '0' && line[i] <= '9' : line[i] == form[i]);
	return line + size;
}
