/* `wpool declare`: make the queues of a configuration that are missing, and show what the order of
 * sessions rests on. Like `wpool serve`, it never changes a queue. */
#include "broker/queue/queue_probe.h"
#include "broker/throttle/throttle_channel.h"
#include "broker/topology.h"
#include "commands.h"
#include "config/config.h"
#include "os/clock.h"
#include "publish/broker_client.h"
#include "tty/cli_options.h"
#include "tty/console.h"

#include "amqp/channel.h"
#include <stdio.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#define COMMAND      "declare"
#define WAIT_DEFAULT (10 * MTIME_SECOND)
#define CHANNEL      1
#define QUEUE_MAX    255

static const char help[] =
	"usage: wpool declare [OPTION]... FILE [POOL]...\n"
	"\n"
	"Declare the queues that the pools of the configuration FILE need and that are missing: of\n"
	"each pool its own, that of its dead letters, those of its retries, those in which tasks\n"
	"wait for their time, and for sessions that of the token; the bindings of its own; and the\n"
	"queues of throttles with scope: cluster. A queue that exists is never changed: where it\n"
	"differs from queue_arguments, that is printed. Prints a line for each such throttle, and\n"
	"for each pool (with sessions it shows whether the queue has a single active consumer and a\n"
	"delivery limit), one for each of its queues (declared, exists, differs, unsuitable) and\n"
	"bindings (bound, refused), and one for all its wait queues.\n"
	"Policies are not visible to it; `rabbitmqctl list_policies` shows them.\n"
	"\n"
	"  --wait DURATION  give up after so long without the broker, or while it fails; default 10s\n"
	"  --help           this text\n"
	"\n"
	"Exit status: 0 all queues are as they must be, 64 usage, 65 no such pool, 69 no broker,\n"
	"75 the broker fails, or interrupted, 77 login or a declaration refused, 78 the\n"
	"configuration is wrong, or a queue or an exchange does not suit it.\n";

static const struct option options[] = {
	{"wait", required_argument, NULL, 'w'},
	{"help", no_argument, NULL, 'h'},
	{NULL, 0, NULL, 0},
};

/* Of a queue with arguments of our own: that of a pool's token, which is declared after all others,
 * or that of a throttle. */
enum step {
	STEP_NONE,    /* not there yet, or the pool has none */
	STEP_LOOK,    /* whether it exists: declared passively */
	STEP_COMPARE, /* it does; the broker refuses another declaration than its own */
	STEP_MAKE,    /* it does not */
};

struct declaration {
	struct broker_client client;
	struct config *config;   /* owned */
	char *const *names;      /* of the pools; none: all of them */
	size_t at;               /* the pool whose queues are declared; then all are */
	size_t throttle;         /* after the pools: whose queue is declared */
	struct retry_plan retry; /* of this pool, as what follows */
	struct topology topology;
	struct queue_settings settings;
	struct queue_probe probe, token_probe;
	/* The wait queues, after the topology: the step that is asked for; WAIT_STEPS_MAX: none. */
	size_t wait_at;
	bool is_wait_missing; /* and it is made */
	unsigned waits_there, waits_made;
	char own[QUEUE_MAX + 1]; /* that wait queue, or the queue of the token or of the throttle */
	enum step step;          /* of the last two */
	bool is_asking;          /* the answer to a request for this pool or throttle is to come */
	bool is_resumed;         /* on the next connection this pool continues without a binding */
	mtime wait;
	mtime failing_since; /* the broker answers with errors of its own; 0: it does not */
	int exit_code;
};

static const struct config_pool *current_pool(const struct declaration *d)
{
	return &d->config->pools[d->at];
}

static bool is_at_throttles(const struct declaration *d)
{
	return d->at == d->config->pool_count;
}

static const struct config_throttle *current_throttle(const struct declaration *d)
{
	return &d->config->throttles[d->throttle];
}

/* ---------- what is printed ---------- */

static void fail_declaration(struct declaration *d, int exit_code)
{
	if (d->exit_code == EX_OK)
		d->exit_code = exit_code;
}

static void on_log_line(void *ctx, enum log_level level, const char *message)
{
	(void)ctx, (void)level, (void)message; /* of serve, which continues */
}

static const struct channel_log no_log = {.on_log_line = on_log_line};

static unsigned made_queues(const struct declaration *d)
{
	unsigned count = 0;
	for (size_t i = 0; i < TOPOLOGY_MAX; i++)
		count += d->topology.sights[i] == TOPOLOGY_MADE;
	return count + d->waits_made + (d->step == STEP_MAKE);
}

/* A negative limit is none, except that 3.10 drops at the first return. */
static void print_limit(struct declaration *d)
{
	int64_t limit = queue_probe_limit(&d->probe);
	bool is_none = current_pool(d)->session.delivery_limit == CONFIG_DELIVERY_LIMIT_NONE;

	if (topology_order(&d->topology) == QUEUE_ORDER_HIDDEN) {
		printf(", delivery limit unknown");
	} else if (!queue_probe_has_limit(&d->probe)) {
		printf(", no x-delivery-limit: none before RabbitMQ 4, then 20 unless a policy "
		       "sets -1");
	} else if (limit >= INT32_MAX) {
		printf(", no delivery limit of its own");
	} else {
		printf(", x-delivery-limit %lld", (long long)limit);
		if (is_none) {
			console_problem(COMMAND,
				"pool %s: session.delivery_limit is none, but the queue has the "
				"x-delivery-limit %lld",
				current_pool(d)->name, (long long)limit);
			fail_declaration(d, EX_CONFIG);
		}
	}
}

static void print_queue(struct declaration *d, enum topology_step step, struct text name)
{
	static const char *const sights[] = {
		[TOPOLOGY_UNSEEN] = NULL, /* it needs none */
		[TOPOLOGY_THERE] = "exists",
		[TOPOLOGY_MADE] = "declared",
	};
	const char *sight = sights[d->topology.sights[step]];
	bool is_compared =
		d->probe.order != QUEUE_ORDER_HIDDEN && d->probe.order != QUEUE_ORDER_UNKNOWN;

	if (step == TOPOLOGY_QUEUE && d->topology.difference.kind && is_compared)
		sight = "differs";
	if (step == TOPOLOGY_QUEUE && topology_order(&d->topology) == QUEUE_ORDER_NONE)
		sight = "unsuitable";
	if (sight)
		printf("  queue \"%.*s\": %s\n", TEXT_ARGS(name), sight);
}

static bool is_at_waits(const struct declaration *d)
{
	return d->wait_at < WAIT_STEPS_MAX;
}

/* Those after a refused one were not tried. */
static void print_waits(const struct declaration *d)
{
	if (d->waits_made + d->waits_there > 0)
		printf("  wait queues \"%.*s.wait.*\": %u declared, %u exist\n",
			TEXT_ARGS(d->topology.queue), d->waits_made, d->waits_there);
	if (is_at_waits(d))
		printf("  queue \"%s\": refused\n", d->own);
}

/* token_sight: of the token's queue, if it was reached. */
static void print_queues(struct declaration *d, const char *token_sight)
{
	char name[RETRY_QUEUE_NAME_MAX + 1];

	print_queue(d, TOPOLOGY_QUEUE, d->topology.queue);
	print_queue(d, TOPOLOGY_DEAD_LETTER, d->topology.dead_letter);
	for (size_t i = 0; i < d->retry.count; i++)
		print_queue(d, TOPOLOGY_RETRY + i,
			retry_queue_name(d->topology.queue, d->retry.delays[i], name, sizeof name));
	print_waits(d);
	if (d->step != STEP_NONE)
		printf("  queue \"%s\": %s\n", d->own, token_sight);
}

/* Those after a refused one were not tried. The broker does not tell whether one was there. */
static void print_bindings(struct declaration *d)
{
	struct queue_binding binding;

	for (size_t i = 0; queue_settings_binding(&d->settings, i, &binding); i++) {
		const char *state = "bound";
		if (i == d->topology.refused_binding)
			state = "refused";
		else if (i > d->topology.refused_binding)
			state = "not tried";
		printf("  exchange \"%.*s\"", TEXT_ARGS(binding.exchange));
		if (binding.routing_key.len > 0)
			printf(", routing key \"%.*s\"", TEXT_ARGS(binding.routing_key));
		printf(": %s\n", state);
	}
}

static void print_pool(struct declaration *d)
{
	static const char *const orders[] = {
		[QUEUE_ORDER_UNKNOWN] = "unknown",
		[QUEUE_ORDER_SINGLE] = "a single active consumer",
		[QUEUE_ORDER_ALONE] = "no single active consumer (docs/ordering.md)",
		[QUEUE_ORDER_HIDDEN] = "does not show how it was declared",
		[QUEUE_ORDER_NONE] = "not a quorum queue",
	};

	unsigned made = made_queues(d);

	printf("%s: %u queue%s made", current_pool(d)->name, made, made == 1 ? "" : "s");
	if (current_pool(d)->session.key) {
		printf("; %s", orders[topology_order(&d->topology)]);
		print_limit(d);
	}
	putchar('\n');
	print_queues(d, d->step == STEP_MAKE ? "declared" : "exists");
	print_bindings(d);
}

/* Before the reason, which is a line on stderr. */
static void print_refused_pool(struct declaration *d)
{
	printf("%s: refused\n", current_pool(d)->name);
	print_queues(d, "refused");
}

/* ---------- the throttles, after the pools ---------- */

static bool is_chosen(const struct declaration *d, const char *name)
{
	char *const *chosen = d->names;
	while (*chosen && strcmp(*chosen, name) != 0)
		chosen++;
	return !*d->names || *chosen;
}

static bool is_used(const struct declaration *d, const struct config_throttle *throttle)
{
	for (size_t i = 0; i < d->config->pool_count; i++) {
		const struct config_pool *pool = &d->config->pools[i];
		char **name = pool->throttle;
		while (name && *name && strcmp(*name, throttle->name) != 0)
			name++;
		if (name && *name && is_chosen(d, pool->name))
			return true;
	}
	return false;
}

/* Continue with the throttle at d->throttle, or the next one that needs a queue; then leave. */
static void next_throttle(struct declaration *d)
{
	while (d->throttle < d->config->throttle_count &&
		(current_throttle(d)->scope != CONFIG_SCOPE_CLUSTER ||
			!is_used(d, current_throttle(d))))
		d->throttle++;
	if (d->throttle == d->config->throttle_count) {
		broker_client_close(&d->client);
		return;
	}
	snprintf(d->own, sizeof d->own, THROTTLE_QUEUE_PREFIX "%s", current_throttle(d)->name);
	d->step = STEP_LOOK;
	d->is_asking = true;
	channel_open(d->client.connection, CHANNEL);
}

static void leave_throttle(struct declaration *d)
{
	d->throttle++;
	d->is_asking = false;
	d->failing_since = 0;
}

static void declare_throttle(struct declaration *d)
{
	throttle_queue_declare(
		d->client.connection, CHANNEL, text_from(d->own), d->step == STEP_LOOK);
}

static void refuse_throttle(struct declaration *d, uint16_t code, struct text text)
{
	if (code == CODE_PRECONDITION_FAILED)
		console_problem(COMMAND,
			"throttle %s: queue \"%s\" is no quorum queue with a single active "
			"consumer, which it needs: delete it, and declare again (%.*s)",
			current_throttle(d)->name, d->own, TEXT_ARGS(text));
	else
		console_problem(COMMAND, "throttle %s: the broker refuses: %u %.*s",
			current_throttle(d)->name, code, TEXT_ARGS(text));
	fail_declaration(d, code == CODE_ACCESS_REFUSED ? EX_NOPERM : EX_CONFIG);
	leave_throttle(d);
	next_throttle(d);
}

static void on_throttle_event(struct declaration *d, const struct amqp_event *event)
{
	switch (event->kind) {
	case AMQP_CHANNEL_OPENED:
		declare_throttle(d);
		break;
	case AMQP_QUEUE_DECLARED:
		if (d->step == STEP_LOOK) {
			d->step = STEP_COMPARE;
			declare_throttle(d);
			break;
		}
		printf("throttle %s: queue \"%s\" %s\n", current_throttle(d)->name, d->own,
			d->step == STEP_MAKE ? "declared" : "exists");
		leave_throttle(d);
		channel_close(d->client.connection, CHANNEL);
		break;
	case AMQP_CHANNEL_CLOSED:
		if (d->step == STEP_LOOK && event->code == CODE_NOT_FOUND) {
			d->step = STEP_MAKE;
			channel_open(d->client.connection, CHANNEL);
		} else {
			refuse_throttle(d, event->code, event->text);
		}
		break;
	default:
		break;
	}
}

/* ---------- one pool after the other ---------- */

static void begin_pool(struct declaration *d)
{
	const struct config_pool *pool = current_pool(d);
	bool is_retried = pool->retry.attempts > 1 && pool->retry.on;
	bool has_dead_letter = strcmp(pool->retry.dead_letter, "broker") != 0;

	d->retry = (struct retry_plan){.jitter = (unsigned)pool->retry.jitter,
		.count = is_retried ? pool->retry.delay.count : 0};
	memcpy(d->retry.delays, pool->retry.delay.each, sizeof d->retry.delays);
	topology_init(&d->topology, text_from(pool->queue),
		has_dead_letter ? text_from(pool->retry.dead_letter) : TEXT_NONE, DECLARE_ON,
		&d->retry);
	d->settings = (struct queue_settings){pool->queue_arguments, pool->bindings};
	topology_set_settings(&d->topology, &d->settings);
	if (pool->session.key || topology_has_arguments(&d->topology))
		topology_set_probe(&d->topology, &d->probe, pool->session.key);
	d->step = STEP_NONE;
	d->wait_at = WAIT_STEPS_MAX;
	d->waits_there = d->waits_made = 0;
}

/* Continue with the pool at d->at, or the next one that is chosen; after the last one, leave. */
static void next_pool(struct declaration *d)
{
	while (d->at < d->config->pool_count && !is_chosen(d, current_pool(d)->name))
		d->at++;
	if (is_at_throttles(d)) {
		next_throttle(d);
		return;
	}
	begin_pool(d);
	d->is_asking = true;
	channel_open(d->client.connection, CHANNEL);
}

static void report_difference(struct declaration *d)
{
	if (!d->topology.difference.kind)
		return;
	console_problem(COMMAND, "pool %s: %s", current_pool(d)->name, d->topology.difference.text);
	fail_declaration(d, EX_CONFIG);
}

static void leave_pool(struct declaration *d)
{
	d->at++;
	d->is_asking = false;
	d->failing_since = 0;
}

static void end_pool(struct declaration *d)
{
	print_pool(d);
	report_difference(d);
	leave_pool(d);
	channel_close(d->client.connection, CHANNEL);
}

static void declare_token(struct declaration *d, enum step step)
{
	d->step = step;
	queue_probe_declare(&d->token_probe, d->client.connection, CHANNEL, text_from(d->own));
}

static void declare_wait(struct declaration *d)
{
	if (d->is_wait_missing)
		topology_make_retry(d->client.connection, CHANNEL, text_from(d->own),
			d->topology.queue, wait_steps[d->wait_at], 0);
	else
		channel_declare_queue(d->client.connection, CHANNEL,
			&(struct amqp_queue){.name = text_from(d->own), .passive = true});
}

static bool has_name(struct declaration *d)
{
	mtime step = wait_steps[d->wait_at];

	return wait_queue_name(d->topology.queue, step, d->own, sizeof d->own).len > 0;
}

/* Continue with the wait queue at d->wait_at, or the next one whose name is not too long. False:
 * all exist. */
static bool next_wait(struct declaration *d)
{
	while (is_at_waits(d) && !has_name(d))
		d->wait_at++;
	d->is_wait_missing = false;
	if (is_at_waits(d))
		declare_wait(d);
	return is_at_waits(d);
}

/* All queues but these exist. */
static void look_for_token(struct declaration *d)
{
	const struct config_session *session = &current_pool(d)->session;

	if (!session->key || session->takeover_delay == MTIME_NEVER) {
		end_pool(d);
		return;
	}
	snprintf(d->own, sizeof d->own, "%s" TOKEN_QUEUE_SUFFIX, current_pool(d)->queue);
	d->step = STEP_LOOK;
	queue_probe_init(&d->token_probe);
	channel_declare_queue(d->client.connection, CHANNEL,
		&(struct amqp_queue){.name = text_from(d->own), .passive = true});
}

/* The queues of the topology exist. */
static void begin_waits(struct declaration *d)
{
	d->wait_at = 0;
	if (!next_wait(d))
		look_for_token(d);
}

static void on_wait_declared(struct declaration *d)
{
	d->waits_made += d->is_wait_missing;
	d->waits_there += !d->is_wait_missing;
	d->wait_at++;
	if (!next_wait(d))
		look_for_token(d);
}

/* Once for each pool; the bindings after it were not tried. */
static void report_binding(struct declaration *d, uint16_t code)
{
	if (!d->topology.binding.kind)
		return;
	console_problem(COMMAND, "pool %s: %s", current_pool(d)->name, d->topology.binding.text);
	channel_refusal_clear(&d->topology.binding);
	fail_declaration(d, code == CODE_ACCESS_REFUSED ? EX_NOPERM : EX_CONFIG);
}

/* True: the wait queue or that of the token does not exist, and is made on the next channel. */
static bool is_missing_own(struct declaration *d, uint16_t code)
{
	if (code != CODE_NOT_FOUND)
		return false;
	if (d->step == STEP_LOOK) {
		d->step = STEP_MAKE;
		return true;
	}
	bool is_new = is_at_waits(d) && !d->is_wait_missing;
	d->is_wait_missing |= is_new;
	return is_new;
}

static void on_refused(struct declaration *d, const struct amqp_event *event)
{
	bool is_at_token = d->step != STEP_NONE;
	bool is_in_topology = !is_at_token && !is_at_waits(d);
	bool is_again =
		is_in_topology && topology_closed(&d->topology, event->code, event->text, &no_log);
	if (is_missing_own(d, event->code)) {
		channel_open(d->client.connection, CHANNEL);
		return;
	}
	report_binding(d, event->code);
	if (is_again) {
		if (d->topology.difference.kind && event->code == CODE_ACCESS_REFUSED)
			fail_declaration(d, EX_NOPERM);
		channel_open(d->client.connection, CHANNEL);
		return;
	}
	print_refused_pool(d);
	if (!is_in_topology)
		report_difference(d);
	if (is_in_topology && topology_order(&d->topology) == QUEUE_ORDER_NONE)
		console_problem(COMMAND,
			"pool %s: queue \"%s\" is not a quorum queue, which sessions need "
			"(docs/ordering.md)",
			current_pool(d)->name, current_pool(d)->queue);
	else if (is_at_token && event->code == CODE_PRECONDITION_FAILED)
		console_problem(COMMAND,
			"pool %s: queue \"%s\" is no quorum queue with a single active consumer and "
			"without a delivery limit, which the token needs: delete it while no "
			"supervisor of the pool runs, and declare again (%.*s)",
			current_pool(d)->name, d->own, TEXT_ARGS(event->text));
	else
		console_problem(COMMAND, "pool %s: the broker refuses: %u %.*s",
			current_pool(d)->name, event->code, TEXT_ARGS(event->text));
	fail_declaration(d, event->code == CODE_ACCESS_REFUSED ? EX_NOPERM : EX_CONFIG);
	leave_pool(d);
	next_pool(d);
}

static void on_event(void *ctx, const struct amqp_event *event)
{
	struct declaration *d = ctx;
	struct connection *connection = d->client.connection;

	if (is_at_throttles(d) && d->is_asking) {
		on_throttle_event(d, event);
		return;
	}
	switch (event->kind) {
	case AMQP_CHANNEL_OPENED:
		if (d->step == STEP_MAKE)
			declare_token(d, STEP_MAKE);
		else if (is_at_waits(d))
			declare_wait(d);
		else if (topology_begin(&d->topology, connection, CHANNEL, false))
			begin_waits(d);
		break;
	case AMQP_QUEUE_DECLARED:
	case AMQP_EXCHANGE_DECLARED:
	case AMQP_QUEUE_BOUND:
		if (d->step == STEP_LOOK)
			declare_token(d, STEP_COMPARE);
		else if (d->step != STEP_NONE)
			end_pool(d);
		else if (is_at_waits(d))
			on_wait_declared(d);
		else if (topology_next(&d->topology, connection, CHANNEL))
			begin_waits(d);
		break;
	case AMQP_CHANNEL_CLOSE_OK:
		next_pool(d);
		break;
	case AMQP_CHANNEL_CLOSED:
		on_refused(d, event);
		break;
	default:
		break;
	}
}

/* ---------- connection ---------- */

/* After a lost connection this pool's queues are declared again. */
static void on_up(void *ctx, struct connection *connection)
{
	struct declaration *d = ctx;

	if (!d->is_resumed) {
		next_pool(d);
		return;
	}
	d->is_resumed = false;
	topology_on_connected(&d->topology);
	channel_open(connection, CHANNEL);
}

static bool is_answer(uint16_t code)
{
	return code == CODE_COMMAND_INVALID || code == CODE_NOT_ALLOWED ||
	       code == CODE_NOT_IMPLEMENTED;
}

static void report_lost(struct declaration *d, uint16_t code, struct text text, int exit_code)
{
	console_problem(COMMAND, "%s %s: the broker closed the connection: %u %.*s",
		is_at_throttles(d) ? "throttle" : "pool",
		is_at_throttles(d) ? current_throttle(d)->name : current_pool(d)->name, code,
		TEXT_ARGS(text));
	fail_declaration(d, exit_code);
}

/* The broker fails, whatever was asked: the next connection retries. */
static void retry_within_wait(struct declaration *d, uint16_t code, struct text text)
{
	mtime now = clock_now();

	if (d->failing_since == 0)
		d->failing_since = now;
	if (now - d->failing_since < d->wait)
		return;
	report_lost(d, code, text, EX_TEMPFAIL);
	broker_client_close(&d->client);
}

/* Some errors are the answer to the last request. */
static void on_down(void *ctx, bool by_error)
{
	struct declaration *d = ctx;
	struct text text;
	uint16_t code = broker_link_close_reason(d->client.broker_link, &text);

	if (!by_error || !d->is_asking)
		return;
	if (is_at_throttles(d)) {
		retry_within_wait(d, code, text);
		return;
	}
	d->is_resumed = topology_connection_closed(&d->topology, code, text, &no_log);
	if (d->is_resumed) {
		report_binding(d, code);
	} else if (is_answer(code)) {
		print_refused_pool(d);
		report_lost(d, code, text, EX_CONFIG);
		leave_pool(d);
	} else {
		retry_within_wait(d, code, text);
	}
}

static void on_interrupt(void *ctx)
{
	struct declaration *d = ctx;
	fail_declaration(d, EX_TEMPFAIL);
	broker_client_close(&d->client);
}

static const struct broker_client_handler handler = {
	.on_up = on_up,
	.on_down = on_down,
	.on_event = on_event,
	.on_interrupt = on_interrupt,
};

static int run_client(struct declaration *d, mtime wait)
{
	struct config *config = d->config;
	int exit_code = broker_client_init_hosts(
		&d->client, COMMAND, config->hosts, config->host_count, wait, &handler, d);

	config->hosts = NULL;
	config->host_count = 0;
	if (exit_code == EX_OK) {
		broker_client_run(&d->client);
		exit_code = broker_client_verdict(&d->client, COMMAND);
	}
	broker_client_release(&d->client);
	return exit_code == EX_OK ? d->exit_code : exit_code;
}

/* ---------- the command ---------- */

static int unknown_pool(const struct declaration *d)
{
	for (char *const *name = d->names; *name; name++) {
		size_t i = 0;
		while (i < d->config->pool_count && strcmp(d->config->pools[i].name, *name) != 0)
			i++;
		if (i < d->config->pool_count)
			continue;
		console_problem(COMMAND, "there is no pool %s", *name);
		return EX_DATAERR;
	}
	return EX_OK;
}

static int declare_all(char *const *names, const char *file, mtime wait)
{
	struct config_flags flags = {.is_for_other_process = true, .file = file};
	struct declaration d = {.names = names, .wait = wait};
	struct problems problems = {0};
	enum rc rc = config_load(&flags, environ, &d.config, &problems);
	int exit_code;

	if (rc != RC_OK) {
		exit_code = console_problems(COMMAND, rc, &problems);
	} else {
		exit_code = unknown_pool(&d);
		if (exit_code == EX_OK)
			exit_code = run_client(&d, wait);
	}
	config_free(d.config);
	problems_release(&problems);
	return exit_code;
}

int declare_main(int argc, char **argv)
{
	mtime wait = WAIT_DEFAULT;
	int option, exit_code = -1;

	while (exit_code < 0 &&
		(option = cli_next_option(COMMAND, ":", argc, argv, options)) != -1) {
		if (option == 'w')
			exit_code = cli_read_duration(COMMAND, "--wait", &wait);
		else if (option == 'h')
			exit_code = fputs(help, stdout) >= 0 ? EX_OK : EX_IOERR;
		else
			exit_code = EX_USAGE;
	}
	if (exit_code >= 0)
		return exit_code;
	if (optind == argc)
		return cli_problem(COMMAND, "a FILE is needed");
	return declare_all(argv + optind + 1, argv[optind], wait);
}
