/* What `wpool throttle` asks a supervisor for. */
#include "commands.h"
#include "unit/unit.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sysexits.h>
#include <unistd.h>

static char folder[] = "/tmp/wpool-unit-XXXXXX";
static struct sockaddr_un address = {.sun_family = AF_UNIX};
static int listener;

static void set_up(void)
{
	ck_assert_ptr_nonnull(mkdtemp(folder));
	snprintf(address.sun_path, sizeof address.sun_path, "%s/socket", folder);
	listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	ck_assert_int_eq(bind(listener, (const struct sockaddr *)&address, sizeof address), 0);
	ck_assert_int_eq(listen(listener, 1), 0);
}

static void tear_down(void)
{
	close(listener);
	unlink(address.sun_path);
	rmdir(folder);
}

/* A supervisor that wants this request. */
static _Noreturn void serve(const char *expected)
{
	static const char answer[] = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
				     "Content-Length: 16\r\nConnection: close\r\n\r\n"
				     "{\"throttles\":[]}";
	char request[4096];
	size_t len = 0;
	ssize_t n;
	int fd = accept(listener, NULL, NULL);
	do {
		n = read(fd, request + len, sizeof request - 1 - len);
		len += n > 0 ? (size_t)n : 0;
		request[len] = '\0';
	} while (n > 0 && !strstr(request, "\r\n\r\n"));
	bool is_sent = write(fd, answer, sizeof answer - 1) == (ssize_t)sizeof answer - 1;
	bool is_expected = strncmp(request, expected, strlen(expected)) == 0;
	if (!is_expected)
		fprintf(stderr, "%s", request);
	_exit(is_sent && is_expected ? 0 : 1);
}

static void expect(char *limit, char *period, const char *expected)
{
	char command[] = "throttle", socket_flag[] = "--socket", name[] = "erp";
	char *words[] = {command, socket_flag, address.sun_path, name, limit, period, NULL};
	int status;
	pid_t pid = fork();
	if (pid == 0)
		serve(expected);
	ck_assert_int_eq(throttle_main(period ? 6 : 5, words), EX_OK);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFEXITED(status));
	ck_assert_int_eq(WEXITSTATUS(status), 0);
}

START_TEST(one_figure_is_sent_as_a_number)
{
	char limit[] = "--limit=050", period[] = "--period=1.5s";
	if (_i == 0)
		expect(limit, NULL, "POST /v1/throttles/erp?limit=50 ");
	else
		expect(period, NULL, "POST /v1/throttles/erp?period=1500000us ");
}
END_TEST

/* The text itself would not fit, and its begin is another figure. */
START_TEST(a_long_text_is_not_cut)
{
	char limit[] = "--limit=1000000", period[300];
	snprintf(period, sizeof period, "--period=1.%0250dh", 0);
	expect(limit, period, "POST /v1/throttles/erp?limit=1000000&period=3600000000us ");
}
END_TEST

static Suite *throttle_suite(void)
{
	Suite *suite = suite_create("client/throttle");
	TCase *tcase = tcase_create("request");
	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_loop_test(tcase, one_figure_is_sent_as_a_number, 0, 2);
	tcase_add_test(tcase, a_long_text_is_not_cut);
	suite_add_tcase(suite, tcase);
	return suite;
}

UNIT_MAIN(throttle_suite)
