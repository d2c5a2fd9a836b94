#include "unit/support/net/linked.h"

#include "base/log.h"
#include <dirent.h>
#include <poll.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#define LINKED_GUARD 20.0 /* seconds after which a test that waits has failed */

static void linked_on_up(void *ctx, struct connection *connection)
{
	struct linked *l = ctx;
	l->ups++;
	l->connection = connection;
}

static void linked_on_down(void *ctx, bool by_error)
{
	struct linked *l = ctx;
	l->downs++;
	l->errors += by_error;
	l->connection = NULL;
	if (l->closes_on_down)
		broker_link_close(l->broker_link);
}

static void linked_on_event(void *ctx, const struct amqp_event *event)
{
	(void)ctx, (void)event;
}

static void linked_on_end(void *ctx, const char *why)
{
	struct linked *l = ctx;
	l->ends++;
	snprintf(l->why, sizeof l->why, "%s", why ? why : "");
}

void linked_set_host(struct linked *l, size_t i, const char *url)
{
	char problem[256] = "";
	broker_url_release(&l->hosts[i]);
	ck_assert_msg(broker_url_parse(url, &l->hosts[i], problem, sizeof problem) == RC_OK,
		"%s: %s", url, problem);
}

void linked_init(struct linked *l, struct ev_loop *loop)
{
	*l = (struct linked){.loop = loop};
	for (size_t i = 0; i < LINKED_HOSTS; i++)
		linked_set_host(l, i, "amqp://somebody:verysecret@127.0.0.1:1");
	l->config = (struct broker_link_config){.hosts = l->hosts,
		.host_count = 1,
		.heartbeat = 10 * MTIME_SECOND,
		.name = "test",
		.output_limit = 16 * 1024 * 1024,
		.body_limit = 1024 * 1024};
	l->log_fd = memfd_create("log", MFD_CLOEXEC);
	log_setup(l->log_fd, LOG_DEBUG, LOG_TEXT, false);
}

void linked_start(struct linked *l)
{
	static const struct broker_link_handler handler = {.on_up = linked_on_up,
		.on_down = linked_on_down,
		.on_event = linked_on_event,
		.on_end = linked_on_end};
	l->broker_link = broker_link_new(l->loop, &l->config, &handler, l);
	ck_assert_ptr_nonnull(l->broker_link);
}

static void linked_on_guard(struct ev_loop *loop, ev_timer *watcher, int events)
{
	(void)loop, (void)watcher, (void)events;
	ck_abort_msg("what the test waited for did not come");
}

void linked_wait(struct linked *l, const unsigned *count, unsigned wanted)
{
	ev_timer guard;
	ev_timer_init(&guard, linked_on_guard, LINKED_GUARD, 0);
	ev_timer_start(l->loop, &guard);
	while (*count < wanted)
		ev_run(l->loop, EVRUN_ONCE);
	ev_timer_stop(l->loop, &guard);
}

const char *linked_log(struct linked *l)
{
	ssize_t len = pread(l->log_fd, l->log, sizeof l->log - 1, 0);
	l->log[len > 0 ? len : 0] = '\0';
	return l->log;
}

static int count_threads(void)
{
	int count = -2; /* "." and ".." */
	DIR *threads = opendir("/proc/self/task");
	ck_assert_ptr_nonnull(threads);
	while (readdir(threads))
		count++;
	closedir(threads);
	return count;
}

/* Those that look up names end by themselves; check's own limit ends this. */
static void await_threads(void)
{
	while (count_threads() > 1)
		poll(NULL, 0, 1);
}

void linked_release(struct linked *l)
{
	ck_assert_ptr_null(strstr(linked_log(l), "verysecret"));
	broker_link_free(l->broker_link);
	await_threads();
	for (size_t i = 0; i < LINKED_HOSTS; i++)
		broker_url_release(&l->hosts[i]);
	log_setup(STDERR_FILENO, LOG_INFO, LOG_TEXT, false);
	close(l->log_fd);
}
