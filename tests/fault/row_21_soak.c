/* Everything, long: four pools on quorum and classic queues under a steady load of all kinds of
 * messages, and a fault by chance every ten seconds. In the first quarter of the time whole
 * supervisors end and are followed by others; the rest is one life, whose memory and descriptors
 * are compared. Where it is quiet, the account is closed, and the next part begins. */
#include "fault/fault.h"
#include "fault/traffic.h"
#include "fault/watch.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#define PACE_MS       10000 /* from fault to fault */
#define SUSPENDED_MS  5000  /* long enough for the supervisor to know it for what it is */
#define HURT_MS       3000  /* how long those last that nothing ends by itself */
#define FAULTS_A_PART 20
#define PART_MAX      300000 /* messages */
#define SPREAD_FD     4
#define WORKERS_LIMIT 64

/* In a shorter time all that was counted was a few pages. */
#define LONG_MS       600000
#define DRIFT_PERCENT 3.0
#define LAST_LIFE     0.25 /* from this share of the row on */

/* Of one supervisor. What it allocates when it first meets a kind of fault is no drift, so the
 * comparison begins at the first quiet moment after it has met all that do not end it. In the 40
 * minutes that are then left of an hour, 3 % of 1.25 MiB are a byte in fifty messages, 300 bytes
 * for each fault, or 3 KiB for each of one kind. A leak of fewer bytes by one kind of fault is for
 * the rows that put in thousands of it. */
struct life {
	unsigned met; /* kinds of fault in this round */
	bool met_all;
	long faults;
	long memory_kib; /* 0: it was not quiet since it has met all */
	int descriptors; /* 0: it was not quiet yet */
	int64_t since;
	long faults_before, asked_before;
};

struct soak {
	struct tally *tally;
	struct proc *proc;
	struct traffic *traffic;
	struct life life;
	/* What became of the memory of the life that was compared for longest. */
	struct span {
		int64_t ms;
		long faults, asked;
		double percent;
	} span;
	int64_t settled_ms; /* the longest wait for empty queues */
	long lives, parts;
};

static void serve(struct soak *soak)
{
	soak->proc = traffic_serve(soak->traffic);
	soak->life = (struct life){0};
	soak->lives++;
}

/* ---------- quiet moments ---------- */

static void begin_comparison(struct soak *soak, long memory)
{
	struct life *life = &soak->life;
	life->memory_kib = memory;
	life->since = deadline_now_ms();
	life->faults_before = life->faults;
	life->asked_before = soak->tally->asked;
}

static void compare_memory(struct soak *soak, long memory)
{
	struct life *life = &soak->life;
	int64_t span_ms = deadline_now_ms() - life->since;
	if (span_ms < soak->span.ms)
		return;
	soak->tally->drift_kib = memory - life->memory_kib;
	soak->span = (struct span){
		.ms = span_ms,
		.faults = life->faults - life->faults_before,
		.asked = soak->tally->asked - life->asked_before,
		.percent = 100.0 * (double)soak->tally->drift_kib / (double)life->memory_kib,
	};
}

static void compare_life(struct soak *soak)
{
	struct life *life = &soak->life;
	pid_t pid = proc_pid(soak->proc);
	long memory = watch_memory_kib(pid);
	int descriptors = watch_descriptors(pid);
	fprintf(stderr, "life %ld, part %ld, %ld faults: %ld KiB, %d descriptors, %ld messages\n",
		soak->lives, soak->parts, life->faults, memory, descriptors, soak->tally->asked);
	if (!life->descriptors)
		life->descriptors = descriptors;
	ck_assert_int_le(descriptors, life->descriptors + SPREAD_FD);
	if (life->memory_kib)
		compare_memory(soak, memory);
	else if (life->met_all)
		begin_comparison(soak, memory);
}

static void be_quiet(struct soak *soak)
{
	int64_t begun = deadline_now_ms();
	traffic_settle(soak->traffic);
	int64_t took = deadline_now_ms() - begun;
	soak->settled_ms = took > soak->settled_ms ? took : soak->settled_ms;
	watch_expect_children(proc_pid(soak->proc), "echo", traffic_workers(soak->traffic));
	traffic_close(soak->traffic, soak->tally);
	soak->parts++;
	compare_life(soak);
}

/* ---------- the faults ---------- */

static pid_t random_worker(struct soak *soak)
{
	pid_t workers[WORKERS_LIMIT];
	int count = watch_children(proc_pid(soak->proc), "echo", workers, WORKERS_LIMIT);
	ck_assert_int_gt(count, 0);
	return workers[fault_random_below(count < WORKERS_LIMIT ? count : WORKERS_LIMIT)];
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
	broker_close_connections(fixture.broker); /* our own client's, too */
	fixture_reconnect();
}

static void suspend_supervisor(struct soak *soak)
{
	proc_signal(soak->proc, SIGSTOP);
	traffic_flow(soak->traffic, SUSPENDED_MS);
	proc_signal(soak->proc, SIGCONT);
}

/* This wait is the fault under test; no event ends it. */
static void suspend_broker(struct soak *soak)
{
	(void)soak;
	broker_command(fixture.broker, "pause");
	poll(NULL, 0, HURT_MS);
	broker_command(fixture.broker, "resume");
}

static void set_watermark(const char *level)
{
	char *expression =
		scratch_text("vm_memory_monitor:set_vm_memory_high_watermark(%s)", level);
	free(broker_eval(fixture.broker, expression));
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
	broker_command(fixture.broker, "restart");
	fixture_reconnect();
}

static void kill_broker(struct soak *soak)
{
	broker_command(fixture.broker, "kill");
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
	fixture_free_program(soak->proc);
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
	fixture_stop(soak->proc);
	end_life(soak);
	serve(soak);
}

/* Those that end the supervisor stand last. */
static const struct hurt {
	const char *name;
	void (*inflict)(struct soak *);
	enum traffic_cost cost;
} hurts[] = {
	{"worker killed", kill_worker, TRAFFIC_ONE_TASK},
	{"worker frozen", freeze_worker, TRAFFIC_ONE_TASK},
	{"connections cut", cut_connections, TRAFFIC_UNACKED},
	{"supervisor suspended", suspend_supervisor, TRAFFIC_UNACKED},
	{"broker suspended", suspend_broker, TRAFFIC_UNACKED},
	{"memory alarm", raise_alarm, TRAFFIC_UNACKED},
	{"broker restarted", restart_broker, TRAFFIC_UNACKED},
	{"broker killed", kill_broker, TRAFFIC_UNWRITTEN},
	{"queue deleted", delete_queue, TRAFFIC_NOTHING},
	{"supervisor killed", kill_supervisor, TRAFFIC_UNACKED},
	{"supervisor stopped", stop_supervisor, TRAFFIC_NOTHING},
};
#define HURTS (long)(sizeof hurts / sizeof *hurts)
#define FATAL 2 /* of them */

/* One of the first count by chance; of those that do not end the supervisor each comes once in a
 * round. */
static const struct hurt *choose_hurt(struct life *life, long count)
{
	const unsigned all = (1U << (HURTS - FATAL)) - 1;
	long chosen = fault_random_below(count);
	while (life->met & 1U << chosen)
		chosen = (chosen + 1) % count;
	life->met |= 1U << chosen;
	life->faults++;
	if ((life->met & all) == all) {
		life->met_all = true;
		life->met = 0;
	}
	return &hurts[chosen];
}

static void hurt(struct soak *soak)
{
	bool is_last_life = fault_share(soak->tally) >= LAST_LIFE;
	const struct hurt *hurt = choose_hurt(&soak->life, HURTS - (is_last_life ? FATAL : 0));
	fprintf(stderr, "%ld: %s\n", soak->tally->trials, hurt->name);
	traffic_allow(soak->traffic, hurt->cost);
	hurt->inflict(soak);
}

/* ---------- the row ---------- */

static bool is_part_full(const struct soak *soak, int faults)
{
	return faults >= FAULTS_A_PART || traffic_posted(soak->traffic) >= PART_MAX;
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
	broker_write_all(fixture.broker);
}

static void report(struct soak *soak, double seconds)
{
	const struct span *span = &soak->span;
	struct traffic_repeats quorum = traffic_repeats(soak->traffic, CLIENT_QUORUM);
	struct traffic_repeats classic = traffic_repeats(soak->traffic, CLIENT_CLASSIC);
	if (span->ms >= LONG_MS)
		ck_assert_double_le(span->percent, DRIFT_PERCENT);
	snprintf(soak->tally->note, sizeof soak->tally->note,
		"%.0f messages/s; %ld supervisors; memory %+.1f %% in %ld faults and %ld messages "
		"of one life that had met all kinds; quorum %ld of %ld repeats allowed, "
		"classic %ld of %ld; empty within %lld s",
		(double)soak->tally->asked / seconds, soak->lives, span->percent, span->faults,
		span->asked, quorum.seen, quorum.allowed, classic.seen, classic.allowed,
		(long long)soak->settled_ms / 1000);
}

static void run(struct tally *tally)
{
	struct soak soak = {.tally = tally};
	tally->unit = "faults";
	tally->suspends = true;
	fixture_use_own_broker();
	soak.traffic = traffic_new();
	warm_up(&soak);
	int64_t begun = deadline_now_ms();
	for (bool goes_on = fault_next(tally); goes_on;)
		goes_on = play_part(&soak);
	double seconds = (double)(deadline_now_ms() - begun) / 1000;
	fixture_stop(soak.proc);
	end_life(&soak);
	report(&soak, seconds);
	traffic_free(soak.traffic);
}

int main(void)
{
	return fault_main(&(struct fault){
		.row = 21, .name = "everything, long", .few = 2, .full = 1440, .run = run});
}
