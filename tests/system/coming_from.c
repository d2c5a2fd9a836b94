/* Each configuration of docs/coming-from.md works a message as it is printed. Trivial workers stand
 * for the programs that it names, and the fixture's folder for /srv. */
#include "harness/control.h"
#include "system/system.h"

#include <string.h>
#include <sys/stat.h>

#define BLOCK     "\n```yaml\n"
#define BLOCK_END "\n```\n"
#define OWN_ROOT  "/srv/"

static const struct {
	const char *queue;
	bool is_there; /* a classic queue of the former system; else the configuration declares it
			*/
	const char *program,
		*arguments;     /* the worker's, as printed; the program is in the folder */
	const char *stand_in;   /* built */
	const char *publish[8]; /* where to, and what the worker needs to reply */
	const char *body;
} systems[] = {
	{"integrationTesting_fibonacciQ", true, "dotnet", "/app/FibonacciWorker.dll",
		"workers/legacy_dotnet", {"--queue", "integrationTesting_fibonacciQ"},
		"reply moved"},
	{"emails", false, "php", "consumer.php", "workers/echo",
		{"--exchange", "amqp.default", "--routing-key", "emails", "--header",
			"X-Status=201"},
		"moved"},
	{"orders", true, "orders/venv/bin/python", "%s/orders/worker.py", "workers/echo",
		{"--queue", "orders", "--header", "X-Status=201"}, "moved"},
};
#define SYSTEMS (sizeof systems / sizeof *systems)

/* Write configuration `number` of the page to a file and return its path. */
static char *write_printed(int number)
{
	char *page = scratch_read("docs/coming-from.md", NULL);
	const char *begin = page;
	ck_assert_ptr_nonnull(page);
	for (int i = 0; i <= number; i++) {
		begin = strstr(begin, BLOCK);
		ck_assert_msg(begin != NULL, "the page has no configuration %d", i);
		begin += strlen(BLOCK);
	}
	const char *end = strstr(begin, BLOCK_END);
	ck_assert_ptr_nonnull(end);
	if (number == SYSTEMS - 1)
		ck_assert_msg(!strstr(end, BLOCK), "the page has one more configuration");
	char *text = scratch_text("%.*s\n", (int)(end - begin), begin);
	for (char *at = text; (at = strstr(at, OWN_ROOT)) != NULL;) {
		size_t before = (size_t)(at - text);
		char *moved = scratch_text(
			"%.*s%s/%s", (int)before, text, fixture.folder, at + strlen(OWN_ROOT));
		free(text);
		text = moved;
		at = text + before + strlen(fixture.folder);
	}
	char *file = scratch_path(fixture.folder, "printed.yaml");
	scratch_write(file, text);
	free(text);
	free(page);
	return file;
}

/* Create the program that the configuration names: it must get the arguments that are printed. */
static void write_program(int number)
{
	char *path = scratch_path(fixture.folder, systems[number].program);
	for (char *slash = path + strlen(fixture.folder) + 1; (slash = strchr(slash, '/'));
		slash++) {
		*slash = '\0';
		ck_assert_int_eq(mkdir(path, 0755), 0);
		*slash = '/';
	}
	char *arguments = strstr(systems[number].arguments, "%s")
				  ? scratch_text("%s%s", fixture.folder,
					    systems[number].arguments + strlen("%s"))
				  : scratch_text("%s", systems[number].arguments);
	scratch_write(path, scratch_text("#!/bin/sh\n[ \"$*\" = '%s' ] || exit 64\nexec '%s'\n",
				    arguments, fixture_built(systems[number].stand_in)));
	ck_assert_int_eq(chmod(path, 0755), 0);
	free(arguments);
	free(path);
}

/* Start wpool with the broker's address. */
static struct proc *start(const char *const arguments[])
{
	const char *argv[16] = {fixture_built("wpool")};
	for (size_t i = 0; arguments[i]; i++) {
		ck_assert_uint_lt(i + 2, sizeof argv / sizeof *argv);
		argv[i + 1] = arguments[i];
	}
	const char *const environment[] = {scratch_text("AMQP_URL=%s", broker_url(fixture.broker)),
		scratch_text("WPOOL_CONTROL_SOCKET=%s/control.sock", fixture.folder), NULL};
	return proc_start(fixture.folder, argv, environment);
}

static void run(const char *const arguments[])
{
	struct proc *proc = start(arguments);
	int code = proc_wait(proc);
	ck_assert_msg(
		code == 0, "wpool %s ended with %d: %s", arguments[0], code, proc_stderr(proc));
	proc_free(proc);
}

static void publish(int number)
{
	char *file = scratch_path(fixture.folder, "body");
	scratch_write(file, systems[number].body);
	const char *arguments[16] = {"publish", "--reply-to", fixture.replies};
	size_t count = 3;
	for (size_t i = 0; systems[number].publish[i]; i++)
		arguments[count++] = systems[number].publish[i];
	arguments[count] = file;
	run(arguments);
	free(file);
}

START_TEST(printed_configuration_works)
{
	const char *queue = systems[_i].queue;
	char *file = write_printed(_i);
	write_program(_i);
	char *path = scratch_text("%s:%s", fixture.folder, getenv("PATH"));
	setenv("PATH", path, 1);
	if (systems[_i].is_there)
		client_declare(fixture.client, queue, CLIENT_CLASSIC);
	run((const char *const[]){"check-config", file, NULL});
	struct proc *serve = start((const char *const[]){"serve", "--config", file, NULL});
	client_expect_consumers(fixture.client, queue, 1);
	publish(_i);
	client_expect(fixture.client, fixture.replies, "moved");
	broker_expect_messages(fixture.broker, queue, 0);
	fixture_stop(serve);
	proc_free(serve);
	client_delete(fixture.client, queue);
	free(path);
	free(file);
}
END_TEST

int main(void)
{
	return SYSTEM_RUN("coming_from", {printed_configuration_works, SYSTEMS});
}
