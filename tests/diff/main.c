/* Compare the fake broker with a real one: `broker-diff --port N --release 3.10|4.0 [--seeds N]
 * [--seed FIRST] [--shrink] [--trace]`. A script whose events differ is printed with both. */
#include "diff/generate.h"
#include "diff/run.h"
#include "sim/fail.h"

#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define REPEATS 2

struct task {
	int port;
	enum broker_release release;
	const char *release_name;
	uint64_t first, count;
	bool shrinks, traces;
	uint64_t commands, events, differences, unsteady;
};

bool sim_is_traced;
mtime sim_now;

static uint64_t current_seed;

void sim_fail(const char *format, ...)
{
	va_list arguments;

	fflush(stdout);
	fprintf(stderr, "seed %llu: ", (unsigned long long)current_seed);
	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fprintf(stderr, "\nreplay: make broker-diff SEED=%llu\n", (unsigned long long)current_seed);
	exit(70);
}

void sim_trace_line(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vprintf(format, arguments);
	va_end(arguments);
	putchar('\n');
}

static size_t compare(
	const struct task *task, struct script *script, struct trace *fake, struct trace *real)
{
	run_on_fake(script, task->release, NULL, NULL, fake);
	run_on_port(script, task->port, task->release_name, fake, real);
	return trace_compare(fake, real);
}

static bool differs(const struct task *task, struct script *script)
{
	struct trace fake, real;
	size_t step = compare(task, script, &fake, &real);

	trace_release(&fake);
	trace_release(&real);
	return step != SIZE_MAX;
}

/* Leave out each command without which the script still differs, from the end. */
static void shrink(const struct task *task, struct script *script)
{
	for (size_t i = script->count; i-- > 0;) {
		script->left_out[i] = true;
		if (!differs(task, script))
			script->left_out[i] = false;
	}
}

static void show(const struct task *task, const struct script *script, const struct trace *fake,
	const struct trace *real)
{
	size_t step = trace_compare(fake, real);
	char line[128];

	for (size_t i = 0; i < SCRIPT_QUEUES; i++) {
		script_describe_queue(&script->queues[i], line, sizeof line);
		printf("queue %zu: %s\n", i, line);
	}
	for (size_t i = 0; i < step && i < fake->count; i++)
		trace_print_step(fake->steps[i], i ? fake->steps[i - 1] : NULL, script);
	if (step < fake->count) {
		printf("---- here they differ; the fake broker:\n");
		trace_print_step(fake->steps[step], NULL, script);
	}
	if (step < real->count) {
		printf("---- RabbitMQ %s:\n", task->release_name);
		trace_print_step(real->steps[step], NULL, script);
	}
}

static void show_shrunk(const struct task *task, struct script *script)
{
	struct trace fake, real;

	shrink(task, script);
	if (compare(task, script, &fake, &real) == SIZE_MAX)
		printf("what was left of it differs only now and then\n");
	show(task, script, &fake, &real);
	trace_release(&fake);
	trace_release(&real);
}

static void print_difference(struct task *task, struct script *script, const struct trace *fake,
	const struct trace *real)
{
	unsigned long long seed = script->seed;

	printf("seed %llu differs; replay: make broker-diff RELEASES=%s SEED=%llu\n", seed,
		task->release_name, seed);
	if (++task->differences == 1)
		show(task, script, fake, real);
	if (task->shrinks) {
		printf("---- as short as it gets:\n");
		show_shrunk(task, script);
	}
	fflush(stdout);
}

/* A difference that does not repeat comes from chance in the real broker, which a script should
 * exclude. */
static bool is_steady(struct task *task, struct script *script)
{
	for (int i = 0; i < REPEATS; i++)
		if (!differs(task, script)) {
			task->unsteady++;
			return false;
		}
	return true;
}

static void run_seed(struct task *task, uint64_t seed)
{
	struct script script;
	struct generator generator;
	struct trace fake, real;

	current_seed = seed;
	generate_begin(&generator, &script, seed);
	run_on_fake(&script, task->release, generate_step, &generator, &fake);
	run_on_port(&script, task->port, task->release_name, &fake, &real);
	task->commands += script.count;
	task->events += real.events;
	if (trace_compare(&fake, &real) != SIZE_MAX && is_steady(task, &script))
		print_difference(task, &script, &fake, &real);
	else if (task->traces)
		show(task, &script, &fake, &real);
	trace_release(&fake);
	trace_release(&real);
}

static bool parse(struct task *task, int argc, char **argv)
{
	static const struct option options[] = {{"seeds", required_argument, NULL, 'n'},
		{"seed", required_argument, NULL, 's'}, {"port", required_argument, NULL, 'p'},
		{"release", required_argument, NULL, 'r'}, {"shrink", no_argument, NULL, 'k'},
		{"trace", no_argument, NULL, 't'}, {NULL, 0, NULL, 0}};
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option == 'n')
			task->count = strtoull(optarg, NULL, 10);
		else if (option == 's')
			task->first = strtoull(optarg, NULL, 10);
		else if (option == 'p')
			task->port = atoi(optarg);
		else if (option == 'r')
			task->release_name = optarg;
		else if (option == 'k')
			task->shrinks = true;
		else if (option == 't')
			task->traces = true;
		else
			return false;
	}
	task->release = strncmp(task->release_name, "3.10", 4) ? BROKER_4_0 : BROKER_3_10;
	return task->port > 0;
}

int main(int argc, char **argv)
{
	struct task task = {.release_name = "3.10", .first = 1, .count = 1};

	if (!parse(&task, argc, argv))
		return 64;
	sim_is_traced = task.traces;
	for (uint64_t seed = task.first; seed < task.first + task.count; seed++)
		run_seed(&task, seed);
	printf("RabbitMQ %s: %llu scripts, %llu commands, %llu events compared, "
	       "%llu differences (%llu more came only once)\n",
		task.release_name, (unsigned long long)task.count,
		(unsigned long long)task.commands, (unsigned long long)task.events,
		(unsigned long long)task.differences, (unsigned long long)task.unsteady);
	return task.differences > 0;
}
