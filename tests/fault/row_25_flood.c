/* Metrics and the page are requested ten thousand times a second, on connections that are opened
 * faster than they can be served: the rate of tasks stays the same. Windows without a flood, with a
 * flood at a port without a server, and with a flood at the supervisor follow each other, under the
 * same load. The second kind shows what the flood itself takes of the processors; the difference to
 * the third is the supervisor's share. */
#include "fault/account.h"
#include "fault/fault.h"
#include "fault/watch.h"

#include "harness/child.h"
#include "harness/http.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define LOAD       600 /* in the queue, about */
#define PROGRESS   150
#define TASK_MS    2
#define WINDOW_MS  3000
#define A_TICK     10 /* requests a millisecond */
#define IN_THE_AIR 1000
#define TURNS_MAX  100
/* The minimum, as a part of the rate with the same flood at a port without a server. It is nearly 1
 * if no other program needs the processors, but other tests may run. */
#define SHARE_MIN 0.5

static const char *const delays[] = {"100ms", NULL};

/* Of all floods; shared with their processes. */
static struct count {
	volatile long asked, answered;
} * flood_count;

/* ---------- the flood ---------- */

/* What has come by now, if anything has; and the connection ends. */
static void look(int fd)
{
	char head[64];
	if (fd < 0)
		return;
	flood_count->answered += recv(fd, head, sizeof head, MSG_DONTWAIT) > 0;
	close(fd);
}

/* Send a request, without waiting. One that the kernel refuses is lost, but counts as sent. */
static int ask(const struct sockaddr_in *address, const char *path)
{
	char request[64];
	int len = snprintf(request, sizeof request, "GET %s HTTP/1.0\r\n\r\n", path);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -1;
	flood_count->asked++;
	connect(fd, (const struct sockaddr *)address, sizeof *address);
	if (send(fd, request, (size_t)len, MSG_NOSIGNAL) == len)
		return fd;
	close(fd);
	return -1;
}

_Noreturn static void ask_for_ever(int port)
{
	static int air[IN_THE_AIR];
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
	const struct timespec tick = {.tv_nsec = 1000000};
	int64_t begun = deadline_now_ms();
	long sent = 0;
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	memset(air, -1, sizeof air);
	for (;; nanosleep(&tick, NULL)) {
		long due = A_TICK * (long)(deadline_now_ms() - begun);
		for (; sent < due; sent++) {
			look(air[sent % IN_THE_AIR]);
			air[sent % IN_THE_AIR] = ask(&address, sent % 2 ? "/" : "/metrics");
		}
	}
}

static pid_t begin_flood(int port)
{
	pid_t pid = child_fork();
	if (pid == 0)
		ask_for_ever(port);
	return pid;
}

/* ---------- the load ---------- */

static struct proc *serve(int *ret_port)
{
	static const char *const environment[] = {"WPOOL_HTTP_LISTEN=127.0.0.1:0", NULL};
	struct proc *proc = fixture_serve_program("wpool", environment,
		scratch_text("- {queue: %s, command: [\"%s\"], workers: 8, prefetch: 300}\n",
			fixture.queue, fixture_built("workers/echo")));
	proc_expect(proc, "(port ");
	char *said = proc_stderr(proc);
	*ret_port = atoi(strstr(said, "(port ") + strlen("(port "));
	free(said);
	client_expect_consumers(fixture.client, fixture.queue, 1);
	return proc;
}

/* Tasks a second. */
static double flow(struct account *account)
{
	int64_t begun = deadline_now_ms(), end = deadline_in(WINDOW_MS);
	long before = account_witnessed(account);
	while (deadline_left(end) > 0) {
		account_fill(account, LOAD, "d", TASK_MS);
		account_await_progress(account, PROGRESS);
	}
	return 1000 * (double)(account_witnessed(account) - before) /
	       (double)(deadline_now_ms() - begun);
}

/* ---------- the comparison ---------- */

struct comparison {
	double of_plain[TURNS_MAX], of_decoy[TURNS_MAX], plain;
	size_t count;
	long asked, answered; /* by the supervisor */
	double flood_s;
};

/* Listen on a port and never accept a connection. */
static int open_decoy(int *ret_port)
{
	struct sockaddr_in address = {.sin_family = AF_INET};
	socklen_t len = sizeof address;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	ck_assert_int_eq(bind(fd, (const struct sockaddr *)&address, sizeof address), 0);
	ck_assert_int_eq(listen(fd, 32), 0);
	ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&address, &len), 0);
	*ret_port = ntohs(address.sin_port);
	return fd;
}

static double flow_under_flood(struct account *account, int port)
{
	pid_t flood = begin_flood(port);
	double rate = flow(account);
	child_end(flood);
	return rate;
}

static void compare(struct comparison *all, struct account *account, int port)
{
	int decoy_port, fd = open_decoy(&decoy_port);
	double without = flow(account), decoy = flow_under_flood(account, decoy_port);
	close(fd);
	*flood_count = (struct count){all->asked, all->answered};
	int64_t begun = deadline_now_ms();
	double with = flow_under_flood(account, port);
	all->flood_s += (double)(deadline_now_ms() - begun) / 1000;
	all->asked = flood_count->asked;
	all->answered = flood_count->answered;
	all->plain += without;
	all->of_plain[all->count] = with / without;
	all->of_decoy[all->count++] = with / decoy;
}

static int compare_numbers(const void *a, const void *b)
{
	double left = *(const double *)a, right = *(const double *)b;
	return (left > right) - (left < right);
}

static double median(double *numbers, size_t count)
{
	qsort(numbers, count, sizeof *numbers, compare_numbers);
	return numbers[count / 2];
}

static void note(struct comparison *all, struct tally *tally)
{
	double *plain = all->of_plain, *decoy = all->of_decoy;
	size_t last = all->count - 1;
	double of_plain = median(plain, all->count), of_decoy = median(decoy, all->count);
	snprintf(tally->note, sizeof tally->note,
		"%.2f (%.2f to %.2f) of the rate without it, %.0f tasks a second, and %.2f (%.2f to "
		"%.2f) of that with the same flood at a port without a server; %.0f requests a second, %.0f "
		"of them answered within 0.1 s",
		of_plain, plain[0], plain[last], all->plain / (double)all->count, of_decoy,
		decoy[0], decoy[last], (double)all->asked / all->flood_s,
		(double)all->answered / all->flood_s);
}

static void run(struct tally *tally)
{
	struct account *account = account_new(delays);
	struct comparison all = {0};
	int port;
	flood_count = mmap(NULL, sizeof *flood_count, PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ck_assert_ptr_ne(flood_count, MAP_FAILED);
	struct proc *proc = serve(&port);
	tally->unit = "floods";
	flow(account); /* until it is warm */
	while (all.count < TURNS_MAX && fault_next(tally))
		compare(&all, account, port);
	account_await_settled(account);
	ck_assert_int_gt(all.answered, 0);
	fixture_stop(proc);
	watch_note_turns(proc, tally);
	ck_assert_int_eq(account_close(account, tally), 0);
	note(&all, tally);
	ck_assert_msg(median(all.of_decoy, all.count) >= SHARE_MIN, "%s", tally->note);
	account_free(account);
}

int main(void)
{
	return fault_main(&(struct fault){.row = 25,
		.name = "asked 10,000 times a second",
		.few = 2,
		.full = 15,
		.run = run});
}
