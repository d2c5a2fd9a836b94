#include "harness/bad_worker.h"

#include "harness/fixture.h"
#include "harness/proc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const harmless[] = {"byte-by-byte", "exit-after-answer", "flood-stdout",
	"flood-stderr", "endless-line", "binary-stdout", "close-outputs", "outstay",
	"leave-grandchild", "leave-group-member", "header-not-utf8", "header-ours", "header-cc",
	"header-bcc", "two-answers", NULL};
static const char *const never_work[] = {"never-connect", "exit-before-connect",
	"crash-before-connect", "exit-after-connect", "answer-without-task", "never-read", NULL};

static bool is_in(const char *const list[], const char *name)
{
	for (size_t i = 0; list[i]; i++)
		if (strcmp(list[i], name) == 0)
			return true;
	return false;
}

bool bad_worker_is_harmless(const char *name)
{
	return is_in(harmless, name);
}

bool bad_worker_never_works(const char *name)
{
	return is_in(never_work, name);
}

void bad_worker_read(struct bad_behaviours *manners)
{
	const char *argv[] = {fixture_built("workers/evil"), "--list", NULL};
	struct proc *lister = proc_start(fixture.folder, argv, NULL);
	ck_assert_int_eq(proc_wait(lister), 0);
	char *text = proc_stdout(lister);
	manners->count = 0;
	for (char *at = strtok(text, "\n"); at; at = strtok(NULL, "\n")) {
		ck_assert_int_lt(manners->count, MANNERS_MAX);
		snprintf(manners->names[manners->count++], sizeof *manners->names, "%s", at);
	}
	free(text);
	proc_free(lister);
	ck_assert_int_gt(manners->count, 40);
}
