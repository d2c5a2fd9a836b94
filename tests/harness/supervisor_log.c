#include "harness/supervisor_log.h"

#include "harness/control.h"
#include "harness/deadline.h"
#include "harness/scratch.h"

#include <poll.h>
#include <string.h>

struct proc *supervisor_log_serve_script(const char *script, const char *settings)
{
	char *pools = scratch_text("- {name: p, queue: %s, workers: 1, pipeline: 1, %s\n"
				   "   command: [sh, -c, '%s; exec \"$0\"', \"%s\"]}\n",
		fixture.queue, settings, script, fixture_built("workers/echo"));
	struct proc *serve = fixture_serve_pools(pools);
	free(pools);
	proc_expect(serve, "control socket: ");
	control_await("/readyz", 200);
	return serve;
}

char *supervisor_log_await(const char *needle)
{
	int64_t deadline = deadline_in(DEADLINE_DEFAULT_MS);
	for (;;) {
		char *lines = control_get("/v1/logs", 200);
		if (strstr(lines, needle))
			return lines;
		ck_assert_msg(deadline_left(deadline) > 0, "'%s' is not in: %s", needle, lines);
		free(lines);
		poll(NULL, 0, 20);
	}
}

json_t *supervisor_log_find_line(const char *lines, const char *needle)
{
	const char *at = strstr(lines, needle);
	ck_assert_msg(at != NULL, "'%s' is not in: %s", needle, lines);
	while (at > lines && at[-1] != '\n')
		at--;
	return control_parse(strndup(at, strcspn(at, "\n")));
}
