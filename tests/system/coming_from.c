/* The configurations of docs/coming-from.md are accepted as they are printed. */
#include "harness/control.h"
#include "system/system.h"

#include <string.h>

#define BLOCK     "\n```yaml\n"
#define BLOCK_END "\n```\n"
/* MessageWorkerPool, RoadRunner, a consumer of one's own. */
#define SYSTEMS 3

START_TEST(configurations_are_accepted)
{
	char *page = scratch_read("docs/coming-from.md", NULL);
	char *file = scratch_path(fixture.folder, "printed.yaml");
	const char *at = page;
	int count = 0;
	ck_assert_ptr_nonnull(page);
	while ((at = strstr(at, BLOCK))) {
		const char *begin = at + strlen(BLOCK), *end = strstr(begin, BLOCK_END);
		ck_assert_ptr_nonnull(end);
		scratch_write(file, scratch_text("%.*s\n", (int)(end - begin), begin));
		const char *const check[] = {"check-config", file, NULL};
		struct proc *proc = fixture_wpool(check);
		int code = proc_wait(proc);
		ck_assert_msg(code == 0, "configuration %d: %s", count, proc_stderr(proc));
		control_expect_text(proc_stdout(proc), "pools:");
		count++;
		at = end;
	}
	ck_assert_int_eq(count, SYSTEMS);
	free(file);
	free(page);
}
END_TEST

int main(void)
{
	return SYSTEM_RUN("coming_from", {configurations_are_accepted, 1});
}
