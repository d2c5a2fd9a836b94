/* What a service manager gets to read: a socket of the test's own plays it. */
#include "os/notify.h"
#include "os/loop.h"
#include "unit/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

static char folder[] = "/tmp/wpool-notify-XXXXXX";
static char path[sizeof folder + 16];
static struct ev_loop *loop;
static struct notify notify;
static int manager = -1;

static int listen_at(const char *name, bool is_abstract)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	size_t len = strlen(name);
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	ck_assert_int_ge(fd, 0);
	memcpy(address.sun_path, name, len);
	if (is_abstract)
		address.sun_path[0] = '\0';
	socklen_t size = is_abstract ? (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len)
				     : (socklen_t)sizeof address;
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&address, size), 0);
	return fd;
}

static void set_up(void)
{
	ck_assert_ptr_nonnull(mkdtemp(folder));
	snprintf(path, sizeof path, "%s/manager", folder);
	manager = listen_at(path, false);
	loop = loop_default();
	setenv("NOTIFY_SOCKET", path, 1);
}

static void tear_down(void)
{
	notify_close(&notify);
	notify_close(&notify);
	close(manager);
	unlink(path);
	rmdir(folder);
	ev_loop_destroy(loop);
}

/* The next datagram, which must be there. */
static const char *heard(int fd)
{
	static char message[2048];
	ssize_t len = recv(fd, message, sizeof message - 1, 0);
	ck_assert_msg(len >= 0, "nothing was said: %s", strerror(errno));
	message[len] = '\0';
	return message;
}

static void expect_silence(int fd)
{
	char byte;
	ck_assert_int_eq(recv(fd, &byte, 1, 0), -1);
	ck_assert_int_eq(errno, EAGAIN);
}

static void say_status(const char *words)
{
	notify_status(&notify, text_from(words));
	notify_flush(&notify);
}

START_TEST(pending_messages_go_in_one_datagram)
{
	notify_open(&notify, loop);
	ck_assert(notify_has_socket(&notify));
	notify_flush(&notify);
	expect_silence(manager);
	notify_ready(&notify);
	say_status("serving");
	ck_assert_str_eq(heard(manager), "READY=1\nSTATUS=serving\n");
	notify_stopping(&notify, 45 * MTIME_SECOND);
	say_status("draining");
	ck_assert_str_eq(
		heard(manager), "STOPPING=1\nEXTEND_TIMEOUT_USEC=45000000\nSTATUS=draining\n");
	notify_flush(&notify);
	expect_silence(manager);
}
END_TEST

START_TEST(an_abstract_address_is_accepted)
{
	char name[64];
	snprintf(name, sizeof name, "@wpool-notify-%d", (int)getpid());
	int fd = listen_at(name, true);
	setenv("NOTIFY_SOCKET", name, 1);
	notify_open(&notify, loop);
	say_status("x");
	ck_assert_str_eq(heard(fd), "STATUS=x\n");
	close(fd);
}
END_TEST

START_TEST(children_do_not_inherit_the_variables)
{
	setenv("WATCHDOG_USEC", "1000000", 1);
	setenv("WATCHDOG_PID", "1", 1);
	notify_open(&notify, loop);
	ck_assert_ptr_null(getenv("NOTIFY_SOCKET"));
	ck_assert_ptr_null(getenv("WATCHDOG_USEC"));
	ck_assert_ptr_null(getenv("WATCHDOG_PID"));
	ck_assert_int_eq(fcntl(notify.fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
}
END_TEST

static const char *const no_managers[] = {NULL, "", "/", "@", "relative", "vsock:2:1234"};

START_TEST(nothing_is_sent_without_a_manager)
{
	const char *name = no_managers[_i];
	if (name)
		setenv("NOTIFY_SOCKET", name, 1);
	else
		unsetenv("NOTIFY_SOCKET");
	setenv("WATCHDOG_USEC", "1000000", 1);
	notify_open(&notify, loop);
	ck_assert(!notify_has_socket(&notify));
	ck_assert(!ev_is_active(&notify.beat));
	notify_ready(&notify);
	notify_stopping(&notify, 1);
	say_status("x");
	expect_silence(manager);
	ck_assert_ptr_null(getenv("NOTIFY_SOCKET"));
	ck_assert_ptr_null(getenv("WATCHDOG_USEC"));
}
END_TEST

START_TEST(a_path_that_is_too_long_is_refused)
{
	char longest[sizeof((struct sockaddr_un *)NULL)->sun_path + 1];
	memset(longest, 'x', sizeof longest - 1);
	longest[0] = '/';
	longest[sizeof longest - 1] = '\0';
	setenv("NOTIFY_SOCKET", longest, 1);
	notify_open(&notify, loop);
	ck_assert(!notify_has_socket(&notify));
	longest[sizeof longest - 2] = '\0';
	setenv("NOTIFY_SOCKET", longest, 1);
	notify_open(&notify, loop);
	ck_assert(notify_has_socket(&notify));
}
END_TEST

START_TEST(only_a_changed_status_is_sent)
{
	notify_open(&notify, loop);
	say_status("one");
	ck_assert_str_eq(heard(manager), "STATUS=one\n");
	say_status("one");
	expect_silence(manager);
	say_status("two");
	say_status("one");
	ck_assert_str_eq(heard(manager), "STATUS=two\n");
	ck_assert_str_eq(heard(manager), "STATUS=one\n");
}
END_TEST

/* A line that begins with READY=1 must not come from a broker's words. */
START_TEST(a_status_is_one_line_of_text)
{
	notify_open(&notify, loop);
	say_status("a\nREADY=1\n\xff");
	ck_assert_str_eq(heard(manager), "STATUS=a\\nREADY=1\\n\xef\xbf\xbd\n");
}
END_TEST

/* 2 bytes each, so that a half one would have room. */
START_TEST(a_long_status_is_cut_between_characters)
{
	char words[2 * NOTIFY_STATUS_BYTES + 1] = "", expected[sizeof words + 16] = "STATUS=";
	for (size_t i = 0; i < NOTIFY_STATUS_BYTES; i++)
		strcat(words, "\xc3\xa4");
	for (size_t i = 0; i < (NOTIFY_STATUS_BYTES - 1) / 2; i++)
		strcat(expected, "\xc3\xa4");
	strcat(expected, "\n");
	notify_open(&notify, loop);
	say_status(words);
	ck_assert_str_eq(heard(manager), expected);
}
END_TEST

static int awaited; /* datagrams */
static char last[2048];

static void on_datagram(struct ev_loop *l, struct ev_io *io, int events)
{
	(void)events;
	strcpy(last, heard(io->fd));
	if (--awaited <= 0)
		ev_break(l, EVBREAK_ALL);
}

/* Runs the loop until so many came. */
static void await(int fd, int count)
{
	struct ev_io io;
	awaited = count;
	ev_io_init(&io, on_datagram, fd, EV_READ);
	ev_io_start(loop, &io);
	ev_run(loop, 0);
	ev_io_stop(loop, &io);
}

START_TEST(a_running_loop_sends_keep_alives)
{
	char pid[24];
	snprintf(pid, sizeof pid, "%d", (int)getpid());
	setenv("WATCHDOG_USEC", "50000", 1);
	setenv("WATCHDOG_PID", pid, 1);
	notify_open(&notify, loop);
	ck_assert_double_eq(notify.beat.repeat, 0.025);
	expect_silence(manager);
	await(manager, 5);
	ck_assert_str_eq(last, "WATCHDOG=1\n");
}
END_TEST

START_TEST(the_watchdog_interval_has_a_minimum)
{
	setenv("WATCHDOG_USEC", "3", 1);
	notify_open(&notify, loop);
	ck_assert_double_eq(notify.beat.repeat, 0.01);
}
END_TEST

static const struct {
	const char *span, *pid;
} no_watchdogs[] = {{NULL, NULL}, {"", NULL}, {"0", NULL}, {"1", NULL}, {"-1000000", NULL},
	{"1000000x", NULL}, {"99999999999999999999", NULL}, {"1000000", "1"}, {"1000000", "x"}};

START_TEST(other_watchdog_values_are_ignored)
{
	if (no_watchdogs[_i].span)
		setenv("WATCHDOG_USEC", no_watchdogs[_i].span, 1);
	if (no_watchdogs[_i].pid)
		setenv("WATCHDOG_PID", no_watchdogs[_i].pid, 1);
	notify_open(&notify, loop);
	ck_assert(notify_has_socket(&notify));
	ck_assert(!ev_is_active(&notify.beat));
}
END_TEST

/* How many datagrams one socket can still send. */
static int send_all(void)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	int count = 0;
	strcpy(address.sun_path, path);
	while (sendto(fd, "x", 1, 0, (struct sockaddr *)&address, sizeof address) == 1)
		count++;
	ck_assert_int_eq(errno, EAGAIN);
	close(fd);
	return count;
}

/* What ends one sender's may be its own limit, not the manager's. */
static int fill_queue(void)
{
	int count = 0, more;
	while ((more = send_all()) > 0)
		count += more;
	return count;
}

/* Its queue is full: what it did not take is said when there is room, as it is by then, and only
 * that. */
START_TEST(a_busy_manager_gets_the_message_later)
{
	int filled = fill_queue();
	ck_assert_int_gt(filled, 0);
	notify_open(&notify, loop);
	notify_ready(&notify);
	say_status("one");
	say_status("two");
	for (int i = 0; i < filled; i++)
		ck_assert_str_eq(heard(manager), "x");
	notify_flush(&notify);
	expect_silence(manager);
	await(manager, 1);
	ck_assert_str_eq(last, "READY=1\nSTATUS=two\n");
	say_status("three");
	ck_assert_str_eq(heard(manager), "STATUS=three\n");
}
END_TEST

START_TEST(a_missing_manager_is_retried)
{
	close(manager);
	unlink(path);
	notify_open(&notify, loop);
	notify_ready(&notify);
	notify_flush(&notify);
	manager = listen_at(path, false);
	await(manager, 1);
	ck_assert_str_eq(last, "READY=1\n");
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("os/notify");
	TCase *tcase = tcase_create("notify");
	static const TTest *const *const tests[] = {&pending_messages_go_in_one_datagram,
		&an_abstract_address_is_accepted, &children_do_not_inherit_the_variables,
		&a_path_that_is_too_long_is_refused, &only_a_changed_status_is_sent,
		&a_status_is_one_line_of_text, &a_long_status_is_cut_between_characters,
		&a_running_loop_sends_keep_alives, &the_watchdog_interval_has_a_minimum,
		&a_busy_manager_gets_the_message_later, &a_missing_manager_is_retried};
	tcase_add_checked_fixture(tcase, set_up, tear_down);
	for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
		tcase_add_test(tcase, *tests[i]);
	tcase_add_loop_test(tcase, nothing_is_sent_without_a_manager, 0,
		sizeof no_managers / sizeof *no_managers);
	tcase_add_loop_test(tcase, other_watchdog_values_are_ignored, 0,
		sizeof no_watchdogs / sizeof *no_watchdogs);
	suite_add_tcase(s, tcase);
	return s;
}

UNIT_MAIN(suite)
