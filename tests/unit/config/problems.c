/* Every mistake in a file is told: line, what is wrong, what would be right, and never a secret. */
#include "config/settings.h"
#include "config/yaml/tree.h"
#include "unit/support/config/loading.h"
#include <stdio.h>

#define POOL "pools:\n  - queue: q\n    command: [w]\n"

struct problem_case {
	const char *yaml, *problems;
};

#define POOL_KEYS "name, queue, " SHARED_KEYS
#define SHARED_KEYS                                                                                                                               \
	"command, preload, cwd, env, env_pass, user, group, new_privs, umask, nice, rlimits, workers, "                                           \
	"prefetch, pipeline, concurrency, throttle, pipe_wait, pipe, declare, queue_arguments, bindings, body, headers, properties, unroutable, " \
	"reply_queues, max_body, memory, outbox, log_rate, interrupt, limits, recycle, retry, session"

/* What is appended to POOL, and the problem, which must be the only one. */
static const struct problem_case pool_cases[] = {
	{"    preload: [p]\n",
		"4: pools[0].preload is given together with command; one of them is needed"},
	{"    workers: many\n",
		"4: pools[0].workers is \"many\"; a number from 1 to 10000, MIN..MAX (MIN <= MAX) or auto is needed"},
	{"    workers: 4 # four\n    prefetch: -1\n",
		"5: pools[0].prefetch is \"-1\"; a number from 1 to 65535 or auto is needed"},
	{"    workers: {min: 5, max: 4}\n",
		"4: pools[0].workers is \"5..4\"; a number from 1 to 10000, MIN..MAX (MIN <= MAX) or auto is needed"},
	{"    workers: {max: '${N}', min: 1}\n",
		"4: the variable N is not set; ${N:-default} would give it a default"},
	{"    workers: {min: 1, most: 4}\n",
		"4: pools[0].workers: \"most\" is unknown; there are min, max"},
	{"    workers: {min: 1, max: [4]}\n",
		"4: pools[0].workers.max is a list; a number is needed"},
	{"    workers: {min: 1}\n", "4: pools[0].workers.max is missing"},
	{"    workers: {max: 1}\n", "4: pools[0].workers.min is missing"},
	{"    workers: {}\n", "4: pools[0].workers.min is missing"},
	{"    workers:\n",
		"4: pools[0].workers is empty; a number from 1 to 10000, MIN..MAX (MIN <= MAX) or auto is needed"},
	{"    workers: ''\n",
		"4: pools[0].workers is \"\"; a number from 1 to 10000, MIN..MAX (MIN <= MAX) or auto is needed"},
	{"    pipeline: [1]\n",
		"4: pools[0].pipeline is a list; a number from 1 to 64 or auto is needed"},
	{"    log_rate: [10, 1]\n",
		"4: pools[0].log_rate is \"[10, 1]\", which has no unit (kB, MB, GB, B, KiB, MiB, "
		"GiB); a number from 1 to 1000000000, or a list of it "
		"and of a size from 128KiB to 512MiB, such as [10000, 1MiB], is needed"},
	{"    log_rate: [1, 2, 3]\n",
		"4: pools[0].log_rate is \"[1, 2, 3]\", which has more than two values; a number "
		"from 1 to 1000000000, or a list of it and of a size from 128KiB to 512MiB, such as "
		"[10000, 1MiB], is needed"},
	{"    limits: {slices: auto}\n",
		"4: pools[0].limits.slices is \"auto\"; a number from 1 to 1000000000 is needed"},
	{"    pipe: Path\n", "4: pools[0].pipe is \"Path\"; path, fifo or corefx is needed"},
	{"    headers: tables\n", "4: pools[0].headers is \"tables\"; text or typed is needed"},
	{"    properties: yes\n", "4: pools[0].properties is \"yes\"; true or false is needed"},
	{"    max_body: 16\n",
		"4: pools[0].max_body is \"16\", which has no unit (kB, MB, GB, B, KiB, MiB, GiB); a size from 1B to 512MiB, such as 16MiB, is needed"},
	{"    limits:\n      hard: 60\n",
		"5: pools[0].limits.hard is \"60\", which has no unit (us, ms, s, m, min, h, d); a duration from 1ms to 365d, such as 25min, is "
		"needed"},
	{"    limits: 60s\n",
		"4: pools[0].limits is a text; keys are needed: soft, on_soft, hard, boot, grace, slices, group_processes, group_memory"},
	{"    retry: []\n",
		"4: pools[0].retry is a list; keys are needed: attempts, delay, jitter, on, dead_letter"},
	{"    wrokers: 4\n", "4: pools[0].wrokers is unknown; the nearest is workers"},
	{"    hard: 4s\n", "4: pools[0].hard is unknown; the key is limits.hard"},
	{"    limits: {workers: 4}\n", "4: pools[0].limits.workers is unknown; the key is workers"},
	{"    limits: {grase: 4s}\n", "4: pools[0].limits.grase is unknown; the nearest is grace"},
	{"    limits.hard: 4s\n",
		"4: pools[0].limits.hard is unknown; the key is hard, under limits"},
	{"    retry: {nothing: 1}\n",
		"4: pools[0].retry.nothing is unknown; there are attempts, delay, jitter, on, dead_letter"},
	{"    retry: {soft: 1}\n", "4: pools[0].retry.soft is unknown; the key is limits.soft"},
	{"    retry: {delay: [1s, 10]}\n",
		"4: pools[0].retry.delay is \"[1s, 10]\", where \"10\" stands, which has no unit (us, ms, s, m, min, h, d); a list of at most 16 durations, each from 100ms to 1d, such as [1s, 10s, 1min], is needed"},
	{"    retry: {delay: [5 sec]}\n",
		"4: pools[0].retry.delay is \"[5 sec]\", where \"5 sec\" stands, and \"sec\" is no unit (us, ms, s, m, min, h, d); a list of at most 16 durations, each from 100ms to 1d, such as [1s, 10s, 1min], is needed"},
	{"    retries: 3\n", "4: pools[0].retries is unknown; the nearest is retry"},
	{"retries: {attempts: 3}\n", "4: retries is unknown; the nearest is retry, of a pool"},
	{"    retry: {delay: {a: 1s}}\n",
		"4: pools[0].retry.delay is a map; a list of at most 16 durations, each from 100ms to 1d, such as [1s, 10s, 1min], is needed"},
	{"    retry: {delay: }\n",
		"4: pools[0].retry.delay is empty; a list of at most 16 durations, each from 100ms to 1d, such as [1s, 10s, 1min], is needed"},
	{"    retry: {on: [failed, rejected]}\n",
		"4: pools[0].retry.on is \"[failed, rejected]\"; a list out of failed, crashed, timed-out, protocol-error and unroutable is needed"},
	{"    limits: {soft: never}\n",
		"4: pools[0].limits.soft is \"never\"; a duration from 1ms to 365d or none is needed"},
	{"    interrupt: true\n    pipeline: 2\n",
		"5: pools[0].pipeline contradicts interrupt: true, which needs 1"},
	{"    interrupt: true\n    pipeline: auto\n",
		"5: pools[0].pipeline contradicts interrupt: true, which needs 1"},
	{"    interrupt: true\n    limits: {on_soft: cancel}\n",
		"5: pools[0].limits.on_soft contradicts interrupt: true, which needs "
		"context-switch"},
	{"    limits: {on_soft: nothing}\n    interrupt: true\n",
		"4: pools[0].limits.on_soft contradicts interrupt: true, which needs "
		"context-switch"},
	{"    limits: {on_soft: cancel}\n    pipeline: 2\n",
		"5: pools[0].pipeline contradicts limits.on_soft: cancel, which needs 1"},
	{"    limits: {on_soft: context-switch}\n    pipeline: auto\n",
		"5: pools[0].pipeline contradicts limits.on_soft: context-switch, which needs 1"},
	{"    limits: {on_soft: stop}\n",
		"4: pools[0].limits.on_soft is \"stop\"; nothing, context-switch or cancel is "
		"needed"},
	{"    pipe: corefx\n    limits: {on_soft: cancel}\n",
		"5: pools[0].limits.on_soft contradicts pipe: corefx, which needs nothing or "
		"context-switch"},
	{"    concurrency: 0\n",
		"4: pools[0].concurrency is \"0\"; a number from 1 to 10000 is needed"},
	{"    concurrency: 10001\n",
		"4: pools[0].concurrency is \"10001\"; a number from 1 to 10000 is needed"},
	{"    concurrency: auto\n",
		"4: pools[0].concurrency is \"auto\"; a number from 1 to 10000 is needed"},
	{"    concurrency: 2\n    pipeline: 2\n",
		"5: pools[0].pipeline contradicts a concurrency above 1, which needs 1"},
	{"    pipeline: auto\n    concurrency: 2\n",
		"4: pools[0].pipeline contradicts a concurrency above 1, which needs 1"},
	{"    pipe: corefx\n    concurrency: 2\n",
		"5: pools[0].concurrency contradicts pipe: corefx, which needs 1"},
	{"    workers: 1\n    workers: 2\n", "5: \"workers\" is there twice, first on line 4"},
	{"    queue: r\n", "4: \"queue\" is there twice, first on line 2"},
	{"    name: a b\n",
		"4: pools[0].name has a character other than letters, digits, '.', '_' and '-'"},
	{"    name: 123456789012345678901234567890123456789012345678901234567890abcde\n",
		"4: pools[0].name is "
		"\"123456789012345678901234567890123456789012345678901234567890...\"; a text of 1 "
		"to 64 bytes is needed"},
	{"    retry: {dead_letter: q}\n",
		"4: pools[0].retry.dead_letter is the pool's own queue; another one or broker is "
		"needed"},
	{"    recycle: {memory: 2MiB, memory_kill: 1MiB}\n",
		"4: pools[0].recycle.memory_kill is less than recycle.memory; at least as much is "
		"needed"},
	{"    queue_arguments: {x-queue-type: classic}\n",
		"4: pools[0].queue_arguments: \"x-queue-type\" is set by wpool itself, which declares "
		"a quorum queue"},
	{"    queue_arguments: {x-max-priority: 5}\n",
		"4: pools[0].queue_arguments: \"x-max-priority\" is of classic queues; a quorum queue "
		"has two priorities without it, from RabbitMQ 4 on"},
	{"    queue_arguments: {max-length: 5}\n",
		"4: pools[0].queue_arguments: \"max-length\" is no argument of a queue: their names "
		"begin with x-"},
	{"    queue_arguments: [x]\n",
		"4: pools[0].queue_arguments is a list; a map of names and values (in a variable: "
		"NAME=VALUE words) is needed"},
	{"    bindings: x\n",
		"4: pools[0].bindings is no list; a list of maps with exchange, routing_key, headers, "
		"match, type (in a variable: EXCHANGE=ROUTING_KEY words) is needed"},
	{"    bindings: [x]\n",
		"4: pools[0].bindings[0] is no map; keys are needed: exchange, routing_key, headers, "
		"match, type"},
	{"    bindings: [{exchange: e}, {routing_key: k}]\n",
		"4: pools[0].bindings[1].exchange is missing"},
	{"    bindings:\n      - exchange: e\n        routing_keys: k\n",
		"6: pools[0].bindings[0]: \"routing_keys\" is unknown; the nearest is routing_key"},
	{"    bindings: [{exchange: e, type: fanuot}]\n",
		"4: pools[0].bindings[0].type is \"fanuot\"; direct, fanout, topic, headers or the "
		"x-... of a plugin is needed; the nearest is fanout"},
	{"    bindings: [{exchange: e, match: some}]\n",
		"4: pools[0].bindings[0].match is neither all nor any"},
	{"    bindings: [{exchange: e, headers: {k: [v]}}]\n",
		"4: pools[0].bindings[0].headers has a value that is no text, or a name with a \"=\""},
	{"    bindings: [{exchange: e, headers: k}]\n",
		"4: pools[0].bindings[0].headers is no map"},
	{"    bindings: [{exchange: e, headers: {a: x, b: x, c: x, d: x, e: x, f: x, g: x, h: x, i: x, j: x, "
	 "k: x, l: x, m: x, n: x, o: x, p: x, q: x}}]\n",
		"4: pools[0].bindings[0].headers are more than 16 together with match"},
	{"    bindings: [{exchange: e, match: any, headers: {a: x, b: x, c: x, d: x, e: x, f: x, g: x, h: x, "
	 "i: x, j: x, k: x, l: x, m: x, n: x, o: x, p: x}}]\n",
		"4: pools[0].bindings[0].headers are more than 16 together with match"},
	{"    recycle: {tasks: 0}\n",
		"4: pools[0].recycle.tasks is \"0\"; a number from 1 to 1000000000 or none is needed"},
	{"    recycle: {memory: 5}\n",
		"4: pools[0].recycle.memory is \"5\", which has no unit (kB, MB, GB, B, KiB, "
		"MiB, GiB); a size from 1MiB to 1024GiB or none is needed"},
	{"    pipe: corefx\n    body: bin\n",
		"5: pools[0].body contradicts pipe: corefx, which needs str"},
	{"    pipe: corefx\n    body: auto\n",
		"5: pools[0].body contradicts pipe: corefx, which needs str"},
	{"    headers: typed\n    pipe: corefx\n",
		"4: pools[0].headers contradicts pipe: corefx, which needs text"},
	{"    pipe: corefx\n    pipeline: 2\n",
		"5: pools[0].pipeline contradicts pipe: corefx, which needs 1"},
	{"    workers: \"\\e[2J\\x7f\\x85\"\n",
		"4: pools[0].workers is \"?[2J??\"; a number from 1 to 10000, MIN..MAX (MIN <= MAX) or auto is needed"},
	{"    workers: ${N}\n",
		"4: the variable N is not set; ${N:-default} would give it a default"},
	{"    workers: ${N\n",
		"4: a \"${\" names no variable; ${NAME} or ${NAME:-default} is needed ($$ is a "
		"dollar)"},
	{"    workers: ${N:-${M}}\n",
		"4: the default of ${N:-default} has a \"{\"; a default is plain text and ends at the "
		"first \"}\""},
	{"    workers: ${SECRET}\n",
		"4: pools[0].workers is \"${SECRET}\"; a number from 1 to 10000, MIN..MAX (MIN <= MAX) or auto is needed"},
	{"    workers: ${WORKER_COUNT:-2}\n",
		"4: pools[0].workers is \"abc\" (from \"${WORKER_COUNT:-2}\"); a number from 1 to 10000, MIN..MAX (MIN <= MAX) or auto is needed"},
	{"    workers: ${UNSET:-none}\n",
		"4: pools[0].workers is \"none\" (from \"${UNSET:-none}\"); a number from 1 to 10000, MIN..MAX (MIN <= MAX) or auto is needed"},
	{"    workers: {min: 1, max: '2${WORKER_COUNT}'}\n",
		"4: pools[0].workers is \"1..2abc\" (from \"1..2${WORKER_COUNT}\"); a number from 1 to 10000, MIN..MAX (MIN <= MAX) or auto is needed"},
	{"    retry: {delay: [1s, \"${DELAY}\"]}\n",
		"4: pools[0].retry.delay is \"[1s, 10]\" (from \"[1s, ${DELAY}]\"), where \"10\" stands, which has no unit (us, ms, s, m, min, h, d); a list of at most 16 durations, each from 100ms to 1d, such as [1s, 10s, 1min], is needed"},
	{"    prefetch: $${WORKER_COUNT}\n",
		"4: pools[0].prefetch is \"${WORKER_COUNT}\"; a number from 1 to 65535 or auto is needed"},
	{"    prefetch: ${SIZE}\n",
		"4: pools[0].prefetch is \"?[2J\" (from \"${SIZE}\"); a number from 1 to 65535 or auto is needed"},
	{"    prefetch: ${ADDRESS}\n",
		"4: pools[0].prefetch is \"***\" (from \"${ADDRESS}\"); a number from 1 to 65535 or auto is needed"},
	{"    prefetch: 1${DB_PASSWD}\n",
		"4: pools[0].prefetch is \"1${DB_PASSWD}\"; a number from 1 to 65535 or auto is needed"},
	{"    limits: {hard: '5${SECRET}'}\n",
		"4: pools[0].limits.hard is \"5${SECRET}\"; a duration from 1ms to 365d, such as 25min, is needed"},
	{"    workers: amqp://u:secret@h\n",
		"4: pools[0].workers is \"***\"; a number from 1 to 10000, MIN..MAX (MIN <= MAX) or auto is needed"},
	{"    {amqp://u:secret@h}: 1\n", "4: a key must be a text"},
	{"    amqp://u:secret@h: 1\n",
		"4: a key here is unknown, and no name; there are " POOL_KEYS},
	{"  - queue: r\n", "4: pools[1].command is missing"},
	{"  - command: w\n", "4: pools[1].queue is missing"},
	{"  - {queue: q, command: w}\n",
		"4: pools[1].name is \"q\", as that of pools[0]; it comes from the queue, so set name"},
	{"  - {queue: r, command: w, name: q}\n",
		"4: pools[1].name is \"q\", as that of pools[0]; each pool needs its own"},
	{"  - {queue: r, command: [[w]]}\n",
		"4: pools[1].command is a list; a list of texts, or one text with its quotes closed, "
		"is needed"},
	{"  - {queue: r, command: []}\n",
		"4: pools[1].command is a list; a list of texts, or one text with its quotes closed, "
		"is needed"},
	{"  - {queue: r, command: ['', a]}\n",
		"4: pools[1].command begins with an empty text; a program is needed"},
	{"  - {queue: r, command: \"w 'secret\"}\n",
		"4: pools[1].command is invalid; a list of texts, or one text with its quotes "
		"closed, is needed"},
	{"  - {queue: '', command: w}\n",
		"4: pools[1].queue is \"\"; a text of 1 to 255 bytes is needed"},
	{"  - text\n", "4: pools[1] is a text; keys are needed: " POOL_KEYS "\n"
		       "wpool.yaml:4: pools[1].queue is missing\n"
		       "wpool.yaml:4: pools[1].command is missing"},
	{"broker: amqp://u:secret@h\n",
		"4: broker is a text; keys are needed: url, password_file, heartbeat"},
	{"broker: {amqp://u:secret@h}\n",
		"4: a key here is unknown, and no name; there are url, password_file, heartbeat"},
	{"broker: {url: {host: h}}\n",
		"4: broker.url is a map; an address or a list of addresses is needed"},
	{"broker: {url: []}\n",
		"4: broker.url is a list; an address or a list of addresses is needed"},
	{"broker: {url: ~}\n",
		"4: broker.url is empty; an address or a list of addresses is needed"},
	{"broker:\n  url:\n    - amqp://a\n    - u:secret@h\n",
		"7: broker.url is not an address: the address must begin with amqp:// or amqps://"},
	{"broker: {urls: 'amqp://u:secret@h'}\n", "4: broker.urls is unknown; the nearest is url"},
	{"broker: {heartbeat: 0s}\n",
		"4: broker.heartbeat is \"0s\"; a duration from 1s to 65535s, such as 15s, is needed"},
	{"http: {listen: 'localhost:80'}\n",
		"4: http.listen is \"localhost:80\"; a numeric address and a port, such as "
		"127.0.0.1:9464 or [::1]:9464, or off is needed"},
	{"http: {hosts: ['a:80']}\n",
		"4: http.hosts: \"a:80\" is no host name; a whole name without a port is needed, "
		"such as wpool.example.org"},
	{"http: {hosts: ['']}\n",
		"4: http.hosts: \"\" is no host name; a whole name without a port is needed, "
		"such as wpool.example.org"},
	{"control: {socket: ''}\n",
		"4: control.socket is \"\"; a text of 1 to 107 bytes is needed"},
	{"log: {level: loud}\n", "4: log.level is \"loud\"; debug, info, warn or error is needed"},
	{"log: debug\n", "4: log is a text; keys are needed: level, format"},
	{"drian: 3s\n", "4: drian is unknown; the nearest is drain"},
	{"pool: []\n", "4: pool is unknown; the nearest is pools"},
	{"pools: []\n", "4: \"pools\" is there twice, first on line 1"},
	{"metrics: {}\n",
		"4: metrics is unknown; there are broker, drain, log, control, http, throttles, "
		"defaults, pools"},
};

START_TEST(test_pool_problem)
{
	static const char *const environment[] = {"SECRET=secret", "DB_PASSWD=secret",
		"ADDRESS=amqp://u:secret@h", "WORKER_COUNT=abc", "DELAY=10", "SIZE=\x1b[2J", NULL};
	const struct problem_case *c = &pool_cases[_i];
	char yaml[1000], expected[2000];
	snprintf(yaml, sizeof yaml, "%s%s", POOL, c->yaml);
	snprintf(expected, sizeof expected, "wpool.yaml:%s\n", c->problems);
	loading_load_yaml(text_from(yaml), environment);
	ck_assert_int_eq(loaded.rc, RC_MALFORMED);
	ck_assert_str_eq(loaded.problems, expected);
	ck_assert_ptr_null(strstr(loaded.problems, "secret"));
}
END_TEST

/* A variable is a secret, whatever its name, if broker.url has it as a password. */
START_TEST(test_value_of_a_password)
{
	static const char *const environment[] = {"B=secret", "RABBITMQ_PASSWORD=secret", NULL};
	loading_load_yaml(
		TEXT("drain: ${B}\nbroker: {url: 'amqp://u:${B}@h', heartbeat: '${RABBITMQ_PASSWORD}'}\n"
		     "pools: [{queue: q, command: w, workers: '${B}'}]\n"),
		environment);
	ck_assert_int_eq(loaded.rc, RC_MALFORMED);
	ck_assert_ptr_nonnull(strstr(loaded.problems, "drain is \"${B}\"; "));
	ck_assert_ptr_nonnull(
		strstr(loaded.problems, "broker.heartbeat is \"${RABBITMQ_PASSWORD}\"; "));
	ck_assert_ptr_nonnull(strstr(loaded.problems, "pools[0].workers is \"${B}\"; "));
	ck_assert_ptr_null(strstr(loaded.problems, "secret"));
}
END_TEST

/* Whole files that cannot be read any further. */
static const struct {
	struct text yaml;
	const char *problems;
} file_cases[] = {
	{TEXT(""), ":1: the file is empty; pools with a queue and a command are needed"},
	{TEXT("# nothing\n"), ":1: the file is empty; pools with a queue and a command are needed"},
	{TEXT("~"), ": pools is missing; a list of pools is needed, each with queue and command"},
	{TEXT("{}"), ": pools is missing; a list of pools is needed, each with queue and command"},
	{TEXT("\npools:\n"),
		":2: pools is no list, or empty; a list of pools is needed, each with queue and "
		"command"},
	{TEXT("pools: {}"),
		":1: pools is no list, or empty; a list of pools is needed, each with queue and "
		"command"},
	{TEXT("text"),
		":1: the file is a text; keys are needed: broker, drain, log, control, http, "
		"throttles, defaults, pools\n"
		"wpool.yaml: pools is missing; a list of pools is needed, each with queue and "
		"command"},
	{TEXT("a: 1\nb: [\n"),
		":3: not YAML: did not find expected node content, while parsing a flow node "
		"in what begins on line 2"},
	{TEXT("a: 1\n\tb: 2\n"),
		":2: not YAML: found a tab character that violates indentation, while scanning a "
		"plain scalar that begins on line 1 (a tab? YAML is indented with blanks)"},
	{TEXT("pools:\n \t- queue: q\n"),
		":2: not YAML: found character that cannot start any token, while scanning for the "
		"next token (a tab? YAML is indented with blanks)"},
	/* on a line that is one only for YAML */
	{TEXT("a: [\r\r"), ":3: not YAML: did not find expected node content, while parsing a flow "
			   "node in what begins on line 1"},
	{TEXT("a: [1,\n2,\nb: 3\n"),
		":4: not YAML: did not find expected ',' or ']', while parsing a flow sequence that "
		"begins on line 1"},
	{TEXT("pools:\n- env: {A: ${HOME}}\n"),
		":2: not YAML: did not find expected ',' or '}', while parsing a flow mapping (inside "
		"{ } and [ ] a ${NAME} needs quotes: \"${NAME}\")"},
	{TEXT("a: b: c\n"), ":1: not YAML: mapping values are not allowed in this context"},
	{TEXT("a: 'b\n"), ":2: not YAML: found unexpected end of stream, while scanning a quoted "
			  "scalar that begins on line 1"},
	{TEXT("a: &x 1\n"),
		":1: anchors, aliases and tags (&, *, !) are not supported; write the value out, in "
		"quotes if it begins so"},
	{TEXT("a: 1\nb: *x\n"),
		":2: anchors, aliases and tags (&, *, !) are not supported; write the value out, in "
		"quotes if it begins so"},
	{TEXT("a: !!str 1\n"),
		":1: anchors, aliases and tags (&, *, !) are not supported; write the value out, in "
		"quotes if it begins so"},
	{TEXT("a: !x {}\n"),
		":1: anchors, aliases and tags (&, *, !) are not supported; write the value out, in "
		"quotes if it begins so"},
	{TEXT("a: 1\n---\nb: 1\n"), ":2: there is a second document"},
	{TEXT("? [a]\n: 1\n"), ":1: a key must be a text"},
	{TEXT("a: \"x\\0y\"\n"), ":1: a text holds a NUL character"},
	{TEXT("a: 1\nb: \xff\n"), ":2: not UTF-8"},
	{TEXT("\xff\xfe"
	      "a\0:\0 \0b\0"),
		":1: not UTF-8"},
	{TEXT("a: b\0c\n"), ":1: not YAML: control characters are not allowed"},
	{TEXT("[[[[[[[[[[[[[[[[[[[[[["), ":1: lists and maps are nested too deeply"},
};

START_TEST(test_file_problem)
{
	char expected[2000];
	snprintf(expected, sizeof expected, "wpool.yaml%s\n", file_cases[_i].problems);
	loading_load_yaml(file_cases[_i].yaml, NULL);
	ck_assert_int_eq(loaded.rc, RC_MALFORMED);
	ck_assert_str_eq(loaded.problems, expected);
}
END_TEST

START_TEST(test_all_at_once)
{
	loading_load_yaml(TEXT("broker: {url: x, heartbeat: x}\n"
			       "pools:\n"
			       "  - {queue: q, command: w, workers: x}\n"
			       "  - {queue: r, nothing: x}\n"
			       "drain: x\n"),
		NULL);
	ck_assert_str_eq(loaded.problems,
		"wpool.yaml:1: broker.url is not an address: the address must begin with amqp:// or "
		"amqps://\n"
		"wpool.yaml:1: broker.heartbeat is \"x\"; a duration from 1s to 65535s, such as 15s, "
		"is needed\n"
		"wpool.yaml:5: drain is \"x\"; a duration from 0s to 30d, such as 30s, is needed\n"
		"wpool.yaml:3: pools[0].workers is \"x\"; a number from 1 to 10000, MIN..MAX (MIN <= MAX) or auto is needed\n"
		"wpool.yaml:4: pools[1].nothing is unknown; there are " POOL_KEYS "\n"
		"wpool.yaml:4: pools[1].command is missing\n");
}
END_TEST

START_TEST(test_files_that_are_not_there)
{
	loading_load(&(struct config_flags){.file = "no/such.yaml"}, NULL);
	ck_assert_int_eq(loaded.rc, RC_NOT_FOUND);
	ck_assert_str_eq(loaded.problems, "no/such.yaml: No such file or directory\n");
	loading_load(&(struct config_flags){.file = "/"}, NULL);
	ck_assert_int_eq(loaded.rc, RC_NOT_FOUND);
	ck_assert_str_eq(loaded.problems, "/: Is a directory\n");
}
END_TEST

/* What is wrong in defaults is reported once, however many pools have it. */
static const struct problem_case default_cases[] = {
	{"{workers: many}",
		"1: defaults.workers is \"many\"; a number from 1 to 10000, MIN..MAX (MIN <= MAX) or auto is needed"},
	{"{wrokers: 4}", "1: defaults.wrokers is unknown; the nearest is workers"},
	{"\n  limits: {grase: 4s}", "2: defaults.limits.grase is unknown; the nearest is grace"},
	{"{limits: 4s}",
		"1: defaults.limits is a text; keys are needed: soft, on_soft, hard, boot, grace, slices, group_processes, group_memory"},
	{"\n  queue: q",
		"2: defaults.queue cannot be a default; each pool has its own, under pools"},
	{"{name: n}", "1: defaults.name cannot be a default; each pool has its own, under pools"},
	{"{limits: {queue: q}}",
		"1: defaults.limits.queue is unknown; there are soft, on_soft, hard, boot, grace, slices, group_processes, group_memory"},
	{"{qu: 4}", "1: defaults.qu is unknown; there are " SHARED_KEYS},
	{"[workers]", "1: defaults is a list; keys are needed: " SHARED_KEYS},
	{"{env: {A: [1]}}", "1: defaults.env: A is a list; a text is needed, such as \"\""},
	{"\n  umask: 99",
		"2: defaults.umask is \"99\"; three octal digits, or four that begin with 0, are needed, such as 027"},
	{"{session: {key: none}}",
		"1: defaults.session.key is \"none\"; header:NAME, property:NAME or routing_key is needed"},
	{"{workers: '${N}'}",
		"1: the variable N is not set; ${N:-default} would give it a default"},
};

START_TEST(test_problem_of_defaults)
{
	const struct problem_case *c = &default_cases[_i];
	char yaml[1000], expected[2000];
	snprintf(yaml, sizeof yaml,
		"defaults: %s\npools: [{queue: q, command: w}, {queue: r, command: w}]\n", c->yaml);
	snprintf(expected, sizeof expected, "wpool.yaml:%s\n", c->problems);
	loading_load_yaml(text_from(yaml), NULL);
	ck_assert_int_eq(loaded.rc, RC_MALFORMED);
	ck_assert_str_eq(loaded.problems, expected);
}
END_TEST

/* Of a default that does not go with a pool's own setting: the line of the default, and the pool.
 */
START_TEST(test_default_that_contradicts)
{
	loading_load_yaml(TEXT("defaults:\n"
			       "  pipeline: 4\n"
			       "  recycle: {memory_kill: 1MiB}\n"
			       "pools:\n"
			       "  - {queue: q, command: w}\n"
			       "  - {queue: r, command: w, pipe: corefx, recycle: {memory: 2MiB}}\n"
			       "  - {queue: s, command: w, pipe: corefx, pipeline: 1}\n"),
		NULL);
	ck_assert_str_eq(loaded.problems,
		"wpool.yaml:3: pools[1].recycle.memory_kill is less than recycle.memory; at least as much is needed\n"
		"wpool.yaml:2: pools[1].pipeline, a default, contradicts pipe: corefx, which needs 1\n");
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("config/problems");
	TCase *files = tcase_create("files");
	tcase_add_checked_fixture(files, loading_set_up, loading_tear_down);
	tcase_add_test(files, test_value_of_a_password);
	tcase_add_loop_test(files, test_pool_problem, 0, sizeof pool_cases / sizeof *pool_cases);
	tcase_add_loop_test(files, test_file_problem, 0, sizeof file_cases / sizeof *file_cases);
	tcase_add_loop_test(
		files, test_problem_of_defaults, 0, sizeof default_cases / sizeof *default_cases);
	tcase_add_test(files, test_default_that_contradicts);
	tcase_add_test(files, test_all_at_once);
	tcase_add_test(files, test_files_that_are_not_there);
	suite_add_tcase(s, files);
	return s;
}

UNIT_MAIN(suite)
