/* The lines on a worker's standard input, as the C SDK reads them. */
#include "c/control.h"
#include "fuzz/feed.h"
#include "fuzz/fuzz.h"

#include <fcntl.h>
#include <unistd.h>

/* It allocates nothing; base is what the C library may want for itself. */
const struct fuzz_memory fuzz_memory = {.base = 1024, .multiple = 0};

void fuzz_one(struct text input)
{
	static struct control control;
	struct control_line line;
	char address[CONTROL_LINE_MAX];
	int ends[2];
	FUZZ_REQUIRE(pipe2(ends, O_NONBLOCK | O_CLOEXEC) == 0);
	FUZZ_REQUIRE(write(ends[1], input.ptr, input.len) == (ssize_t)input.len);
	close(ends[1]);
	control = (struct control){.fd = ends[0]};
	bool has_address = control_read_address(&control, address);
	FUZZ_REQUIRE(!has_address || (*address && strlen(address) < sizeof address));
	FUZZ_REQUIRE(!has_address || text_starts(input, text_of(address, strlen(address))));
	while (has_address && !control.closed) {
		FUZZ_REQUIRE(control_is_readable(&control));
		control_read(&control);
		while (control_next(&control, &line))
			FUZZ_REQUIRE(line.kind != CONTROL_QUIT || line.task_id == 0);
		FUZZ_REQUIRE(control.used < sizeof control.line);
	}
	control_release(&control);
}
