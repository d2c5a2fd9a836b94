#include "harness/broker.h"

#include "harness/deadline.h"
#include "harness/fixture.h"
#include "harness/scratch.h"

#include <check.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct broker {
	char *folder;
	char *url, *tls_url, *tls_folder, *log_path;
	int port, tls_port;
};

static const char *node_script(void)
{
	const char *script = getenv("WPOOL_TEST_NODE_SCRIPT");
	return script ? script : "tests/broker/node";
}

/* Not by child_fork: a script does not stop half-way when the test dies. */
char *broker_run(const char *const argv[])
{
	int ends[2];
	ck_assert_int_eq(pipe(ends), 0);
	pid_t pid = fork();
	ck_assert_int_ge(pid, 0);
	if (pid == 0) {
		dup2(ends[1], STDOUT_FILENO);
		close(ends[0]);
		close(ends[1]);
		execv(argv[0], (char *const *)argv);
		perror(argv[0]);
		_exit(127);
	}
	close(ends[1]);
	FILE *from = fdopen(ends[0], "r");
	ck_assert_ptr_nonnull(from);
	char *printed = NULL;
	size_t size = 0;
	if (getdelim(&printed, &size, '\0', from) < 0) {
		free(printed);
		printed = scratch_text("%s", "");
	}
	fclose(from);
	int status;
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_msg(status == 0, "%s %s failed: %s", argv[0], argv[1], printed);
	return printed;
}

/* The value of NAME in the node's env file, without quotes; NULL if unset. Moves out. */
static char *read_setting(const char *env, const char *name)
{
	size_t length = strlen(name);
	for (const char *line = env; *line; line += strcspn(line, "\n"), line += *line == '\n') {
		if (strncmp(line, name, length) != 0 || line[length] != '=')
			continue;
		const char *value = line + length + 1;
		value += *value == '\'';
		return strndup(value, strcspn(value, "'\n"));
	}
	return NULL;
}

static int read_port(const char *env, const char *name)
{
	char *value = read_setting(env, name);
	int port = value ? atoi(value) : 0;
	free(value);
	return port;
}

struct broker *broker_at(const char *folder)
{
	struct broker *broker = calloc(1, sizeof *broker);
	ck_assert_ptr_nonnull(broker);
	broker->folder = scratch_text("%s", folder);
	char *path = scratch_path(folder, "env");
	char *env = scratch_read(path, NULL);
	ck_assert_msg(env != NULL, "no node has written %s", path);
	broker->url = read_setting(env, "AMQP_URL");
	broker->tls_url = read_setting(env, "AMQPS_URL");
	broker->tls_folder = read_setting(env, "TLS_DIR");
	broker->log_path = read_setting(env, "NODE_LOG");
	broker->port = read_port(env, "AMQP_PORT");
	broker->tls_port = read_port(env, "AMQPS_PORT");
	free(env);
	free(path);
	return broker;
}

static void start_node(const char *folder)
{
	char *owner = scratch_text("%d", (int)getpid());
	const char *argv[] = {node_script(), "start", folder, "--tls", "--owner", owner, NULL};
	free(broker_run(argv));
	free(owner);
}

struct broker *broker_start(const char *folder)
{
	start_node(folder);
	return broker_at(folder);
}

static struct broker *shared;
/* Set when the program was started by hand, without the runner's node. */
static char *own_folder;

void broker_share(void)
{
	const char *folder = getenv("WPOOL_TEST_NODE");
	if (!folder) {
		own_folder = scratch_make();
		start_node(own_folder);
		folder = own_folder;
	}
	shared = broker_at(folder);
}

void broker_unshare(void)
{
	if (own_folder)
		broker_command(shared, "stop");
	scratch_remove(own_folder);
}

struct broker *broker_shared(void)
{
	ck_assert_ptr_nonnull(shared);
	return shared;
}

void broker_free(struct broker *broker)
{
	if (!broker)
		return;
	broker_command(broker, "stop");
	free(broker->folder);
	free(broker->url);
	free(broker->tls_url);
	free(broker->tls_folder);
	free(broker->log_path);
	free(broker);
}

const char *broker_url(const struct broker *broker)
{
	return broker->url;
}

const char *broker_tls_url(const struct broker *broker)
{
	return broker->tls_url;
}

int broker_port(const struct broker *broker)
{
	return broker->port;
}

int broker_tls_port(const struct broker *broker)
{
	return broker->tls_port;
}

char *broker_tls_file(const struct broker *broker, const char *name)
{
	return scratch_path(broker->tls_folder, name);
}

void broker_command(struct broker *broker, const char *verb)
{
	const char *argv[] = {node_script(), verb, broker->folder, NULL};
	free(broker_run(argv));
}

char *broker_eval(struct broker *broker, const char *expression)
{
	const char *argv[] = {node_script(), "eval", broker->folder, expression, NULL};
	return broker_run(argv);
}

void broker_set_ack_timeout(struct broker *broker, long timeout_ms)
{
	char *expression = scratch_text("application:set_env(rabbit, channel_tick_interval, 200), "
					"application:set_env(rabbit, consumer_timeout, %ld)",
		timeout_ms);
	free(broker_eval(broker, expression));
	free(expression);
}

/* A quorum queue's own statistics lag by seconds; its log machine is asked instead, which for a
 * moment after its birth cannot answer. */
#define COUNT_MESSAGES                                                                             \
	"Count = fun(Name) -> "                                                                    \
	"case rabbit_amqqueue:lookup(rabbit_misc:r(<<\"/\">>, queue, Name)) of "                   \
	"{ok, Q} -> case amqqueue:get_type(Q) of "                                                 \
	"rabbit_quorum_queue -> (fun Ask(0) -> -1; Ask(Times) -> "                                 \
	"case ra:leader_query(amqqueue:get_pid(Q), fun rabbit_fifo:query_messages_total/1) of "    \
	"{ok, {_, N}, _} -> N; _ -> timer:sleep(20), Ask(Times - 1) end end)(200); "               \
	"_ -> [{messages, N}] = rabbit_amqqueue:info(Q, [messages]), N end; "                      \
	"_ -> -1 end end, "

static long eval_number(struct broker *broker, char *expression)
{
	char *printed = broker_eval(broker, expression);
	long number = 0;
	ck_assert_msg(sscanf(printed, "{ok, %ld}", &number) == 1, "eval printed %s", printed);
	free(printed);
	free(expression);
	return number;
}

long broker_messages(struct broker *broker, const char *queue)
{
	return eval_number(broker, scratch_text(COUNT_MESSAGES "Count(<<\"%s\">>)", queue));
}

bool broker_has_messages(struct broker *broker, const char *const queues[], int limit_ms)
{
	char *names = scratch_text("<<\"%s\">>", queues[0]);
	for (size_t i = 1; queues[i]; i++) {
		char *more = scratch_text("%s, <<\"%s\">>", names, queues[i]);
		free(names);
		names = more;
	}
	char *expression = scratch_text(COUNT_MESSAGES
		"Began = erlang:monotonic_time(millisecond), "
		"Total = lists:sum([max(0, Count(Name)) || Name <- [%s]]), "
		"case erlang:monotonic_time(millisecond) - Began < %d of true -> Total; _ -> 1 end",
		names, limit_ms);
	free(names);
	return eval_number(broker, expression) > 0;
}

/* Where the messages are: with the queue or with a consumer. */
static char *queue_state(struct broker *broker, const char *queue)
{
	char *expression = scratch_text(
		"case rabbit_amqqueue:lookup(rabbit_misc:r(<<\"/\">>, queue, <<\"%s\">>)) of "
		"{ok, Q} -> rabbit_amqqueue:info(Q, "
		"[messages_ready, messages_unacknowledged, consumers]); "
		"Error -> Error end",
		queue);
	char *state = broker_eval(broker, expression);
	free(expression);
	return state;
}

void broker_expect_messages(struct broker *broker, const char *queue, long count)
{
	int64_t deadline = deadline_in(DEADLINE_DEFAULT_MS);
	/* A broker does not report a changed count, so it is polled. */
	for (;;) {
		/* Before the count, which may take long on a busy machine. */
		bool is_late = deadline_left(deadline) <= 0;
		long seen = broker_messages(broker, queue);
		if (seen == count)
			return;
		if (is_late)
			fixture_fail(scratch_text("%s has %ld messages, not %ld: %s", queue, seen,
				count, queue_state(broker, queue)));
		poll(NULL, 0, 50);
	}
}

void broker_control_queue(struct broker *broker, const char *queue, const char *verb)
{
	char *expression = scratch_text("{ok, Q} = rabbit_amqqueue:lookup(rabbit_misc:r(<<\"/\">>, "
					"queue, <<\"%s\">>)), sys:%s(amqqueue:get_pid(Q))",
		queue, verb);
	free(broker_eval(broker, expression));
	free(expression);
}

void broker_write_all(struct broker *broker)
{
	free(broker_eval(broker, "[dets:sync(T) || T <- dets:all()]"));
}

void broker_close_connections(struct broker *broker)
{
	free(broker_eval(broker, "[rabbit_networking:close_connection(P, \"test\") || "
				 "P <- rabbit_networking:connections(), node(P) =:= node()], ok"));
}

char *broker_log(const struct broker *broker)
{
	return scratch_read(broker->log_path, NULL);
}
