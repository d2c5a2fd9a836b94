#include "fault/proxy.h"

#include "fault/proxy_link.h"
#include "harness/deadline.h"

#include <arpa/inet.h>
#include <check.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#define LINKS_MAX 512
#define PLANS_MAX 512

struct proxy {
	pthread_t thread;
	pthread_mutex_t lock; /* all below; let go while the thread waits for its sockets */
	pthread_cond_t news;
	int listener, wake, port, broker_port;
	bool is_ending;
	struct link *links[LINKS_MAX]; /* the newest last */
	size_t link_count;
	struct proxy_plan plans[PLANS_MAX], rest; /* of the next links, in turn */
	size_t plan_count;
	long cuts;
	struct pollfd asked[2 + 2 * LINKS_MAX]; /* the thread's own */
};

/* ---------- links ---------- */

static void wake(struct proxy *proxy)
{
	uint64_t one = 1;
	ssize_t sent = write(proxy->wake, &one, sizeof one);
	(void)sent; /* a counter that is full has woken it already */
}

static void drop_link(struct proxy *proxy, size_t i)
{
	link_free(proxy->links[i]);
	proxy->link_count--;
	memmove(&proxy->links[i], &proxy->links[i + 1],
		(proxy->link_count - i) * sizeof *proxy->links);
	pthread_cond_broadcast(&proxy->news);
}

static struct sockaddr_in loopback(int port)
{
	return (struct sockaddr_in){.sin_family = AF_INET,
		.sin_port = htons((uint16_t)port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

/* On loopback a connect does not wait: the kernel answers for the listener. -1: there is none.
 */
static int connect_to(int port)
{
	struct sockaddr_in address = loopback(port);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof address) == 0)
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

static struct proxy_plan take_plan(struct proxy *proxy)
{
	if (proxy->plan_count == 0)
		return proxy->rest;
	struct proxy_plan plan = proxy->plans[0];
	memmove(proxy->plans, proxy->plans + 1, --proxy->plan_count * sizeof plan);
	return plan;
}

/* A client is let in when the broker is there. */
static struct link *make_link(struct proxy *proxy, int client)
{
	int broker = connect_to(proxy->broker_port);
	if (broker < 0)
		return NULL;
	struct proxy_plan plan = take_plan(proxy);
	struct link *link = link_new(client, broker, &plan);
	if (!link)
		close(broker);
	return link;
}

static void accept_link(struct proxy *proxy)
{
	int client = accept4(proxy->listener, NULL, NULL, SOCK_CLOEXEC);
	if (client < 0)
		return;
	struct link *link = proxy->link_count < LINKS_MAX ? make_link(proxy, client) : NULL;
	if (!link) {
		close(client);
		return;
	}
	proxy->links[proxy->link_count++] = link;
	wake(proxy); /* its cut may be at 0 */
	pthread_cond_broadcast(&proxy->news);
}

/* ---------- the thread ---------- */

static void tend(struct proxy *proxy, const struct pollfd asked[], size_t link_count)
{
	/* From the last, as drop_link moves those behind it. */
	for (size_t i = link_count; i-- > 0;) {
		struct link *link = proxy->links[i];
		bool goes_on = link_move(link, asked + 2 * i);
		bool is_cut = link_is_at_its_cut(link);
		proxy->cuts += is_cut;
		if (!goes_on || is_cut || link->is_doomed)
			drop_link(proxy, i);
	}
}

static void *work(void *argument)
{
	struct proxy *proxy = argument;
	struct pollfd *asked = proxy->asked;
	uint64_t drained;

	pthread_mutex_lock(&proxy->lock);
	while (!proxy->is_ending) {
		size_t count = proxy->link_count;
		asked[0] = (struct pollfd){.fd = proxy->listener, .events = POLLIN};
		asked[1] = (struct pollfd){.fd = proxy->wake, .events = POLLIN};
		for (size_t i = 0; i < count; i++)
			link_poll(proxy->links[i], asked + 2 + 2 * i);
		pthread_mutex_unlock(&proxy->lock);
		poll(asked, 2 + 2 * count, -1);
		pthread_mutex_lock(&proxy->lock);
		if (asked[1].revents && read(proxy->wake, &drained, sizeof drained) < 0)
			continue;
		tend(proxy, asked + 2, count);
		if (asked[0].revents)
			accept_link(proxy);
	}
	while (proxy->link_count > 0)
		drop_link(proxy, proxy->link_count - 1);
	pthread_mutex_unlock(&proxy->lock);
	return NULL;
}

/* ---------- the test's side ---------- */

static void listen_somewhere(struct proxy *proxy)
{
	struct sockaddr_in address = loopback(0);
	socklen_t size = sizeof address;
	proxy->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	ck_assert_int_ge(proxy->listener, 0);
	ck_assert_int_eq(bind(proxy->listener, (struct sockaddr *)&address, sizeof address), 0);
	ck_assert_int_eq(listen(proxy->listener, 128), 0);
	ck_assert_int_eq(getsockname(proxy->listener, (struct sockaddr *)&address, &size), 0);
	proxy->port = ntohs(address.sin_port);
}

struct proxy *proxy_start(int broker_port)
{
	struct proxy *proxy = calloc(1, sizeof *proxy);
	pthread_condattr_t clock;
	ck_assert_ptr_nonnull(proxy);
	pthread_condattr_init(&clock);
	pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
	pthread_cond_init(&proxy->news, &clock);
	pthread_condattr_destroy(&clock);
	pthread_mutex_init(&proxy->lock, NULL);
	proxy->broker_port = broker_port;
	proxy->rest = PROXY_CLEAN;
	proxy->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	ck_assert_int_ge(proxy->wake, 0);
	listen_somewhere(proxy);
	ck_assert_int_eq(pthread_create(&proxy->thread, NULL, work, proxy), 0);
	return proxy;
}

void proxy_free(struct proxy *proxy)
{
	if (!proxy)
		return;
	pthread_mutex_lock(&proxy->lock);
	proxy->is_ending = true;
	pthread_mutex_unlock(&proxy->lock);
	wake(proxy);
	pthread_join(proxy->thread, NULL);
	close(proxy->listener);
	close(proxy->wake);
	pthread_cond_destroy(&proxy->news);
	pthread_mutex_destroy(&proxy->lock);
	free(proxy);
}

int proxy_port(const struct proxy *proxy)
{
	return proxy->port;
}

void proxy_plan_next(struct proxy *proxy, const struct proxy_plan *plan)
{
	pthread_mutex_lock(&proxy->lock);
	bool fits = proxy->plan_count < PLANS_MAX;
	if (fits)
		proxy->plans[proxy->plan_count++] = *plan;
	pthread_mutex_unlock(&proxy->lock);
	ck_assert(fits);
}

void proxy_plan_rest(struct proxy *proxy, const struct proxy_plan *plan)
{
	pthread_mutex_lock(&proxy->lock);
	proxy->rest = *plan;
	pthread_mutex_unlock(&proxy->lock);
}

static bool is_any_doomed(const struct proxy *proxy)
{
	for (size_t i = 0; i < proxy->link_count; i++)
		if (proxy->links[i]->is_doomed)
			return true;
	return false;
}

/* Only the thread closes: it may be waiting for these very sockets. The lock is held. */
static void await_doom(struct proxy *proxy)
{
	wake(proxy);
	while (is_any_doomed(proxy))
		pthread_cond_wait(&proxy->news, &proxy->lock);
}

void proxy_set_flow(
	struct proxy *proxy, const char *name, enum proxy_flow to_broker, enum proxy_flow to_client)
{
	pthread_mutex_lock(&proxy->lock);
	for (size_t i = 0; i < proxy->link_count; i++) {
		if (!link_has_name(proxy->links[i], name))
			continue;
		proxy->links[i]->plan.flow[PROXY_TO_BROKER] = to_broker;
		proxy->links[i]->plan.flow[PROXY_TO_CLIENT] = to_client;
	}
	pthread_mutex_unlock(&proxy->lock);
	wake(proxy);
}

void proxy_cut(struct proxy *proxy, const char *name, bool is_reset)
{
	pthread_mutex_lock(&proxy->lock);
	for (size_t i = 0; i < proxy->link_count; i++) {
		if (!link_has_name(proxy->links[i], name))
			continue;
		proxy->links[i]->plan.is_reset = is_reset;
		proxy->links[i]->is_doomed = true;
	}
	await_doom(proxy);
	pthread_mutex_unlock(&proxy->lock);
}

void proxy_cut_held(struct proxy *proxy)
{
	pthread_mutex_lock(&proxy->lock);
	for (size_t i = 0; i < proxy->link_count; i++)
		proxy->links[i]->is_doomed |= link_is_held(proxy->links[i]);
	await_doom(proxy);
	pthread_mutex_unlock(&proxy->lock);
}

/* ---------- waits ---------- */

/* The lock is held; false: the time is over. */
static bool wait_for_output(struct proxy *proxy, int64_t deadline)
{
	struct timespec until = {deadline / 1000, deadline % 1000 * 1000000};
	return pthread_cond_timedwait(&proxy->news, &proxy->lock, &until) == 0;
}

long proxy_cuts(struct proxy *proxy)
{
	pthread_mutex_lock(&proxy->lock);
	long cuts = proxy->cuts;
	pthread_mutex_unlock(&proxy->lock);
	return cuts;
}

bool proxy_await_cuts(struct proxy *proxy, long count, int timeout_ms)
{
	int64_t deadline = deadline_in(timeout_ms);
	pthread_mutex_lock(&proxy->lock);
	while (proxy->cuts < count && wait_for_output(proxy, deadline))
		;
	bool is_reached = proxy->cuts >= count;
	pthread_mutex_unlock(&proxy->lock);
	return is_reached;
}

bool proxy_await_plans(struct proxy *proxy, size_t left, int timeout_ms)
{
	int64_t deadline = deadline_in(timeout_ms);
	pthread_mutex_lock(&proxy->lock);
	while (proxy->plan_count > left && wait_for_output(proxy, deadline))
		;
	bool is_reached = proxy->plan_count <= left;
	pthread_mutex_unlock(&proxy->lock);
	return is_reached;
}

static int count_links(const struct proxy *proxy, const char *name)
{
	int count = 0;
	for (size_t i = 0; i < proxy->link_count; i++)
		count += link_has_name(proxy->links[i], name);
	return count;
}

int proxy_links(struct proxy *proxy, const char *name)
{
	pthread_mutex_lock(&proxy->lock);
	int count = count_links(proxy, name);
	pthread_mutex_unlock(&proxy->lock);
	return count;
}

void proxy_expect_links(struct proxy *proxy, const char *name, int count)
{
	int64_t deadline = deadline_in(DEADLINE_DEFAULT_MS);
	pthread_mutex_lock(&proxy->lock);
	while (count_links(proxy, name) != count && wait_for_output(proxy, deadline))
		;
	int seen = count_links(proxy, name);
	pthread_mutex_unlock(&proxy->lock);
	ck_assert_msg(seen == count, "%d links of %s, not %d", seen, name ? name : "all", count);
}

uint64_t proxy_passed(struct proxy *proxy, const char *name, enum proxy_way way)
{
	uint64_t passed = 0;
	pthread_mutex_lock(&proxy->lock);
	for (size_t i = 0; i < proxy->link_count; i++)
		if (link_has_name(proxy->links[i], name))
			passed = proxy->links[i]->ways[way].passed;
	pthread_mutex_unlock(&proxy->lock);
	return passed;
}
