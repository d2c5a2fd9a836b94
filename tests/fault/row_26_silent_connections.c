/* Hundreds of connections that are opened again as soon as they are closed, and send nothing, or a
 * header a byte at a time: a probe over TCP is answered in time. Each trial is one probe of /livez
 * and one of /readyz, in turn against both kinds. */
#include "fault/account.h"
#include "fault/fault.h"
#include "fault/watch.h"

#include "harness/child.h"
#include "harness/http.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define CONNECTIONS 500
#define BYTE_MS     200 /* between two bytes of a slow header */
#define BETWEEN_MS  20  /* two trials */
#define PROBES_MAX  4000
#define MEDIAN_MAX  100.0 /* ms */
#define LOAD        50
#define TASK_MS     2

static const char *const delays[] = {"100ms", NULL};

/* ---------- the connections ---------- */

static int open_one(const struct sockaddr_in *address)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd >= 0)
		connect(fd, (const struct sockaddr *)address, sizeof *address);
	return fd;
}

/* Open what was closed. slow: send each a byte. */
_Noreturn static void occupy(int port, bool slow)
{
	static struct pollfd all[CONNECTIONS];
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
	int64_t next = deadline_in(BYTE_MS);
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	for (size_t i = 0; i < CONNECTIONS; i++)
		all[i] = (struct pollfd){.fd = open_one(&address), .events = POLLRDHUP};
	for (;;) {
		poll(all, CONNECTIONS, deadline_left(next));
		for (size_t i = 0; i < CONNECTIONS; i++) {
			if (all[i].fd >= 0 && !all[i].revents)
				continue;
			close(all[i].fd);
			all[i].fd = open_one(&address);
		}
		if (deadline_left(next) > 0)
			continue;
		next = deadline_in(BYTE_MS);
		for (size_t i = 0; i < CONNECTIONS && slow; i++)
			(void)!send(all[i].fd, "G", 1, MSG_NOSIGNAL);
	}
}

static pid_t begin(int port, bool slow)
{
	pid_t pid = child_fork();
	if (pid == 0)
		occupy(port, slow);
	return pid;
}

/* ---------- the probes ---------- */

struct probes {
	double ms[PROBES_MAX];
	size_t count;
};

static double now_ms(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static void probe(struct probes *probes, const char *where, const char *path)
{
	double begun = now_ms();
	free(http_get(where, path, 200));
	if (probes->count < PROBES_MAX)
		probes->ms[probes->count++] = now_ms() - begun;
}

static int compare_numbers(const void *a, const void *b)
{
	double left = *(const double *)a, right = *(const double *)b;
	return (left > right) - (left < right);
}

static double part(struct probes *probes, double share)
{
	qsort(probes->ms, probes->count, sizeof *probes->ms, compare_numbers);
	return probes->ms[(size_t)(share * (double)(probes->count - 1))];
}

/* ---------- the row ---------- */

static struct proc *serve(char **ret_where)
{
	static const char *const environment[] = {"WPOOL_HTTP_LISTEN=127.0.0.1:0", NULL};
	struct proc *proc = fixture_serve_program("wpool", environment,
		scratch_text("- {queue: %s, command: [\"%s\"], workers: 4}\n", fixture.queue,
			fixture_built("workers/echo")));
	proc_expect(proc, "(port ");
	char *said = proc_stderr(proc);
	*ret_where = scratch_text("127.0.0.1:%d", atoi(strstr(said, "(port ") + strlen("(port ")));
	free(said);
	client_expect_consumers(fixture.client, fixture.queue, 1);
	return proc;
}

/* Half of the trials against each kind. */
static void trial(struct tally *tally, struct account *account, const char *where,
	struct probes probes[2], bool slow, long count)
{
	pid_t crowd = begin(atoi(strchr(where, ':') + 1), slow);
	struct pollfd nothing = {.fd = -1};
	for (long i = 0; i < count && fault_next(tally); i++) {
		account_fill(account, LOAD, "d", TASK_MS);
		poll(&nothing, 1, BETWEEN_MS);
		probe(&probes[slow], where, "/livez");
		probe(&probes[slow], where, "/readyz");
	}
	child_end(crowd);
}

static void run(struct tally *tally)
{
	static struct probes probes[2], calm;
	struct account *account = account_new(delays);
	char *where;
	struct proc *proc = serve(&where);
	tally->unit = "probes of each path";
	for (int i = 0; i < 20; i++)
		probe(&calm, where, "/livez");
	trial(tally, account, where, probes, false, fault_trials() / 2);
	trial(tally, account, where, probes, true, fault_trials() - fault_trials() / 2);
	account_await_settled(account);
	fixture_stop(proc);
	watch_note_turns(proc, tally);
	ck_assert_int_eq(account_close(account, tally), 0);
	for (int slow = 0; slow < 2; slow++)
		ck_assert_uint_gt(probes[slow].count, 0);
	snprintf(tally->note, sizeof tally->note,
		"answered after %.1f ms in the median (99 in 100 within %.0f ms) beside %d silent "
		"connections, %.1f ms (%.0f) beside as many slow ones, %.1f ms without",
		part(&probes[0], 0.5), part(&probes[0], 0.99), CONNECTIONS, part(&probes[1], 0.5),
		part(&probes[1], 0.99), part(&calm, 0.5));
	ck_assert_msg(part(&probes[0], 0.5) <= MEDIAN_MAX && part(&probes[1], 0.5) <= MEDIAN_MAX,
		"%s", tally->note);
	account_free(account);
	free(where);
}

int main(void)
{
	return fault_main(&(struct fault){.row = 26,
		.name = "500 silent or slow connections",
		.few = 200,
		.full = 2000,
		.run = run});
}
