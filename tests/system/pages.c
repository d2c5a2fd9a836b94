/* What is generated from the help: completion in bash, of words, of running pools and their
 * throttles, and manual pages. */
#include "harness/control.h"
#include "system/system.h"

#include <string.h>

/* The completions that bash offers for the last of these words, with the built wpool. */
static char *offered(const char *words)
{
	char *script = scratch_text("set -u; . '%s' && PATH=%s:$PATH && COMP_WORDS=(%s) && "
				    "COMP_CWORD=$((${#COMP_WORDS[@]} - 1)) && "
				    "export WPOOL_CONTROL_SOCKET=%s && _wpool && "
				    "printf '<%%s>' ${COMPREPLY+\"${COMPREPLY[@]}\"}",
		fixture_built("pages/wpool.bash"), fixture_built(""), words, control_socket());
	const char *const argv[] = {"bash", "-c", script, NULL};
	struct proc *proc = proc_start(fixture.folder, argv, NULL);
	int code = proc_wait(proc);

	ck_assert_msg(code == 0, "%s: %d: %s", words, code, proc_stderr(proc));
	ck_assert_str_eq(proc_stderr(proc), "");
	return proc_stdout(proc);
}

static const struct {
	const char *words, *offered;
} cases[] = {
	{"wpool st", "<status><stop>"},
	{"wpool --v", "<--version>"},
	{"wpool serve --de", "<--declare>"},
	{"wpool serve --declare ''", "<off><passive><on>"},
	{"wpool serve --declare = p", "<passive>"},
	{"wpool serve --declare =", "<off><passive><on>"},
	{"wpool serve --workers ''", "<auto>"},
	{"wpool serve --queue ''", "<>"},
	{"wpool serve --queue q --pip", "<--pipeline><--pipe>"},
	{"wpool serve --queue q -- mapfi", "<mapfile>"},
	{"wpool dead-letters re", "<replay>"},
	{"wpool dead-letters replay --y", "<--yes>"},
	{"wpool check-config samples/wpo", "<samples/wpool.yaml>"},
	{"wpool check-config --c", "<--config>"},
	{"wpool scale --so", "<--socket>"},
	{"wpool nonsense ''", "<>"},
};

enum { CASES = sizeof cases / sizeof *cases };

START_TEST(completion_offers_words)
{
	ck_assert_str_eq(offered(cases[_i].words), cases[_i].offered);
}
END_TEST

START_TEST(completion_offers_what_runs)
{
	struct proc *serve;

	ck_assert_str_eq(offered("wpool scale ''"), "<>");
	serve = fixture_serve_pools(
		scratch_text("- {name: one, queue: %s, command: [%s]}\n"
			     "- {name: two, queue: %s, command: [%s], throttle: [erp]}\n"
			     "throttles: [{name: erp, limit: 1, period: 1s}]\n",
			fixture.queue, fixture_built("workers/echo"), fixture.queue,
			fixture_built("workers/echo")));
	client_expect_consumers(fixture.client, fixture.queue, 2);
	ck_assert_str_eq(offered("wpool scale ''"), "<one><two>");
	ck_assert_str_eq(offered("wpool workers --json t"), "<two>");
	ck_assert_str_eq(offered("wpool throttle ''"), "<erp>");
	fixture_stop(serve);
}
END_TEST

START_TEST(each_command_has_a_manual_page)
{
	char *commands = offered("wpool ''"), *page, *name = strtok(commands, "<>");

	for (; name && *name != '-'; name = strtok(NULL, "<>")) {
		page = scratch_read(fixture_built(scratch_text("pages/wpool-%s.1", name)), NULL);
		ck_assert_msg(page != NULL, "%s has none", name);
		control_expect_text(page, "\n.SH NAME\nwpool-");
		control_expect_text(page, "\n.SH SYNOPSIS\n.B wpool\n");
		control_expect_text(page, "\n.SH OPTIONS\n");
		control_expect_text(page, "\n\\fB\\-\\-help\\fR\n");
		control_expect_text(page, "\n.SH \"EXIT STATUS\"\n0 ");
		page = scratch_read(fixture_built("pages/wpool.1"), NULL);
		control_expect_text(page, "\n.BR wpool\\-scale (1),\n");
	}
	ck_assert_str_eq(name, "--help");
}
END_TEST

/* Of the same source as docs/configuration.md: each setting has its entry. */
START_TEST(the_configuration_has_a_manual_page)
{
	char *page = scratch_read(fixture_built("pages/wpool.yaml.5"), NULL), *key, *end;
	const char *reference = scratch_read("docs/configuration.md", NULL);
	int settings = 0;

	control_expect_text(page, "\n.SH NAME\nwpool.yaml \\- ");
	control_expect_text(page, "\n.SH \"GLOBAL SETTINGS\"\n");
	while ((key = strstr(reference, "\n| `"))) {
		key += strlen("\n| `");
		end = strchr(key, '`');
		reference = end;
		control_expect_text(
			page, scratch_text("\n.TP\n\\fB%.*s\\fR", (int)(end - key), key));
		settings++;
	}
	ck_assert_int_gt(settings, 60);
}
END_TEST

int main(void)
{
	return SYSTEM_RUN("pages", {completion_offers_words, CASES},
		{completion_offers_what_runs, 1}, {each_command_has_a_manual_page, 1},
		{the_configuration_has_a_manual_page, 1});
}
