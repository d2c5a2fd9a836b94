/* Everything, long: four pools on quorum and classic queues under a steady load of all kinds of
 * messages, and a fault by chance every ten seconds. In the first half of the time whole
 * supervisors end and are followed by others; the second half is one life, so that memory and
 * descriptors can be compared. Where it is quiet, the account is closed, and the next part begins.
 */
#include "fault/fault.h"
#include "fault/traffic.h"
#include "fault/watch.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#define PACE_MS       10000 /* from fault to fault */
#define HURT_MS       3000  /* how long those last that nothing ends by itself */
#define FAULTS_A_PART 20
#define MOST_A_PART   300000 /* messages */
#define SPREAD_FD     4
#define MOST_WORKERS  64

/* Below, all that was counted was a few pages in a short time. */
#define LONG_LIFE_MS  600000
#define DRIFT_PERCENT 3.0

/* Of one supervisor, from its first quiet moment on. */
struct life {
	long memory_kib; /* 0: it was not quiet yet */
	int descriptors;
	int64_t since;
};

struct soak {
	struct tally *tally;
	struct proc *proc;
	struct traffic *traffic;
	struct life life;
	int64_t longest_ms; /* of the lives, with what its memory became */
	double drift_percent;
	long lives, parts, most_repeats; /* repeats: that are allowed */
};

static void serve(struct soak *soak)
{
	soak->proc = traffic_serve(soak->traffic);
	soak->life = (struct life){0};
	soak->lives++;
}

/* ---------- quiet moments ---------- */

static void compare_life(struct soak *soak)
{
	struct life *life = &soak->life;
	pid_t pid = proc_pid(soak->proc);
	long memory = watch_memory_kib(pid);
	int descriptors = watch_descriptors(pid);
	int64_t now = deadline_now_ms(), age_ms = now - life->since;
	fprintf(stderr, "life %ld, part %ld: %ld KiB, %d descriptors\n", soak->lives, soak->parts,
		memory, descriptors);
	if (!life->memory_kib) {
		*life = (struct life){memory, descriptors, now};
		return;
	}
	ck_assert_int_le(descriptors, life->descriptors + SPREAD_FD);
	if (age_ms < soak->longest_ms)
		return;
	soak->longest_ms = age_ms;
	soak->tally->drift_kib = memory - life->memory_kib;
	soak->drift_percent = 100.0 * (double)soak->tally->drift_kib / (double)life->memory_kib;
}

static void be_quiet(struct soak *soak)
{
	traffic_settle(soak->traffic);
	watch_expect_children(proc_pid(soak->proc), "echo", traffic_workers(soak->traffic));
	traffic_close(soak->traffic, soak->tally);
	soak->parts++;
	ck_assert_int_le(soak->tally->repeats, soak->most_repeats);
	compare_life(soak);
}

/* ---------- the faults ---------- */

static pid_t random_worker(struct soak *soak)
{
	pid_t workers[MOST_WORKERS];
	int count = watch_children(proc_pid(soak->proc), "echo", workers, MOST_WORKERS);
	ck_assert_int_gt(count, 0);
	return workers[fault_random_below(count < MOST_WORKERS ? count : MOST_WORKERS)];
}

static void kill_worker(struct soak *soak)
{
	kill(random_worker(soak), SIGKILL);
}

/* Over its time limit with the task that it has, or else with its next one. */
static void freeze_worker(struct soak *soak)
{
	kill(random_worker(soak), SIGSTOP);
}

static void cut_connections(struct soak *soak)
{
	(void)soak;
	broker_close_connections(site.broker); /* our own client's, too */
	site_reconnect();
}

static void suspend_supervisor(struct soak *soak)
{
	proc_signal(soak->proc, SIGSTOP);
	traffic_flow(soak->traffic, HURT_MS);
	proc_signal(soak->proc, SIGCONT);
}

/* Nothing tells when a broker has been silent for long enough: this wait is the fault. */
static void suspend_broker(struct soak *soak)
{
	(void)soak;
	broker_command(site.broker, "pause");
	poll(NULL, 0, HURT_MS);
	broker_command(site.broker, "resume");
}

static void set_watermark(const char *level)
{
	char *expression =
		scratch_text("vm_memory_monitor:set_vm_memory_high_watermark(%s)", level);
	free(broker_eval(site.broker, expression));
	free(expression);
}

/* It reads no publishes meanwhile, ours neither. */
static void raise_alarm(struct soak *soak)
{
	(void)soak;
	set_watermark("0.00001");
	poll(NULL, 0, HURT_MS);
	set_watermark("0.4");
}

static void restart_broker(struct soak *soak)
{
	(void)soak;
	broker_command(site.broker, "restart");
	site_reconnect();
}

static void kill_broker(struct soak *soak)
{
	broker_command(site.broker, "kill");
	restart_broker(soak);
}

static void delete_queue(struct soak *soak)
{
	int pool = (int)fault_random_below(TRAFFIC_POOLS);
	traffic_lose_queue(soak->traffic, pool);
	proc_expect(soak->proc, "looking for it again");
	traffic_restore_queue(soak->traffic, pool);
}

static void end_life(struct soak *soak)
{
	watch_note_turns(soak->proc, soak->tally);
	site_forget(soak->proc);
}

static void kill_supervisor(struct soak *soak)
{
	proc_signal(soak->proc, SIGKILL);
	ck_assert_int_eq(proc_wait(soak->proc), 128 + SIGKILL);
	end_life(soak);
	serve(soak);
}

static void stop_supervisor(struct soak *soak)
{
	site_stop(soak->proc);
	end_life(soak);
	serve(soak);
}

enum cost { ONE_TASK, WHAT_IS_PREFETCHED, NOTHING };

/* Those that end a supervisor stand last. What a fault may cost is what is worked twice. */
static const struct hurt {
	const char *name;
	void (*inflict)(struct soak *);
	enum cost cost;
} hurts[] = {
	{"worker killed", kill_worker, ONE_TASK},
	{"worker frozen", freeze_worker, ONE_TASK},
	{"connections cut", cut_connections, WHAT_IS_PREFETCHED},
	{"supervisor suspended", suspend_supervisor, WHAT_IS_PREFETCHED},
	{"broker suspended", suspend_broker, WHAT_IS_PREFETCHED},
	{"memory alarm", raise_alarm, WHAT_IS_PREFETCHED},
	{"broker restarted", restart_broker, WHAT_IS_PREFETCHED},
	{"broker killed", kill_broker, WHAT_IS_PREFETCHED},
	{"queue deleted", delete_queue, NOTHING},
	{"supervisor killed", kill_supervisor, WHAT_IS_PREFETCHED},
	{"supervisor stopped", stop_supervisor, NOTHING},
};
#define HURTS (long)(sizeof hurts / sizeof *hurts)
#define FATAL 2 /* of them */

static void hurt(struct soak *soak)
{
	bool is_last_life = fault_share(soak->tally) >= 0.5;
	const struct hurt *hurt = &hurts[fault_random_below(HURTS - (is_last_life ? FATAL : 0))];
	fprintf(stderr, "%ld: %s\n", soak->tally->trials, hurt->name);
	if (hurt->cost == ONE_TASK)
		soak->most_repeats++;
	else if (hurt->cost == WHAT_IS_PREFETCHED)
		soak->most_repeats += traffic_prefetched(soak->traffic);
	hurt->inflict(soak);
}

/* ---------- the row ---------- */

static bool is_part_full(const struct soak *soak, int faults)
{
	return faults >= FAULTS_A_PART || traffic_posted(soak->traffic) >= MOST_A_PART;
}

/* Whether there is time for another one. */
static bool play_part(struct soak *soak)
{
	bool goes_on = true;
	for (int faults = 0; goes_on && !is_part_full(soak, faults); faults++) {
		traffic_flow(soak->traffic, PACE_MS);
		hurt(soak);
		goes_on = fault_next(soak->tally);
	}
	traffic_flow(soak->traffic, HURT_MS);
	be_quiet(soak);
	return goes_on;
}

static void warm_up(struct soak *soak)
{
	serve(soak);
	traffic_await_consumers(soak->traffic);
	traffic_flow(soak->traffic, 1);
	be_quiet(soak);
	broker_write_all(site.broker);
}

static void report(struct soak *soak, double seconds)
{
	if (soak->longest_ms >= LONG_LIFE_MS)
		ck_assert_double_le(soak->drift_percent, DRIFT_PERCENT);
	snprintf(soak->tally->note, sizeof soak->tally->note,
		"%.0f messages/s; %ld supervisors, %ld parts; memory %+.1f %% in the %lld s of the "
		"longest life; at most %ld repeats allowed",
		(double)soak->tally->asked / seconds, soak->lives, soak->parts, soak->drift_percent,
		(long long)soak->longest_ms / 1000, soak->most_repeats);
}

static void run(struct tally *tally)
{
	struct soak soak = {.tally = tally};
	tally->unit = "faults";
	tally->suspends = true;
	site_move_to_own_broker();
	soak.traffic = traffic_new();
	warm_up(&soak);
	int64_t begun = deadline_now_ms();
	for (bool goes_on = fault_next(tally); goes_on;)
		goes_on = play_part(&soak);
	double seconds = (double)(deadline_now_ms() - begun) / 1000;
	site_stop(soak.proc);
	end_life(&soak);
	report(&soak, seconds);
	traffic_free(soak.traffic);
}

int main(void)
{
	return fault_main(&(struct fault){
		.row = 21, .name = "everything, long", .few = 2, .full = 1440, .run = run});
}
