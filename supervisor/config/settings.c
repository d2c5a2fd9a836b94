#include "config/settings.h"

#include "base/rate.h"
#include "config/config.h"
#include "config/url/addresses.h"
#include "config/value/session_key.h"
#include "config/value/words.h"

#include <string.h>

#define ROOT(member)     offsetof(struct config, member)
#define POOL(member)     offsetof(struct config_pool, member)
#define THROTTLE(member) offsetof(struct config_throttle, member)

#define KIB ((int64_t)1024)
#define MIB (1024 * KIB)
#define GIB (1024 * MIB)
#define DAY (24 * 60 * MTIME_MINUTE)

/* In the order of their enums. */
static const char *const levels[] = {
#define X(level, name) name,
	LOG_LEVELS(X)
#undef X
		NULL};
#define X(choice, word) word,
static const char *const formats[] = {CONFIG_LOG_FORMATS(X) NULL};
static const char *const pipes[] = {CONFIG_PIPES(X) NULL};
static const char *const declares[] = {CONFIG_DECLARES(X) NULL};
static const char *const bodies[] = {CONFIG_BODIES(X) NULL};
static const char *const headers[] = {CONFIG_HEADERS(X) NULL};
static const char *const unroutables[] = {CONFIG_UNROUTABLES(X) NULL};
static const char *const soft_actions[] = {CONFIG_SOFT_ACTIONS(X) NULL};
static const char *const retried[] = {CONFIG_RETRIES(X) NULL};
static const char *const without_keys[] = {CONFIG_WITHOUT_KEYS(X) NULL};
static const char *const session_failures[] = {CONFIG_SESSION_FAILURES(X) NULL};
static const char *const delivery_limits[] = {CONFIG_DELIVERY_LIMITS(X) NULL};
static const char *const throttle_scopes[] = {CONFIG_THROTTLE_SCOPES(X) NULL};
static const char *const when_exceeded[] = {CONFIG_WHEN_EXCEEDED(X) NULL};
#undef X

static const struct setting root_settings[] = {
	{.key = "broker.url",
		.type = SETTING_ADDRESSES,
		.default_words = ADDRESSES_DEFAULT,
		.variable = "AMQP_URL",
		.flag = "--broker",
		.help = "The broker's address, or a list of addresses to try in turn."},
	{.key = "broker.password_file",
		.type = SETTING_TEXT,
		.offset = ROOT(password_file),
		.min = 1,
		.max = 4095,
		.default_words = "none",
		.variable = "WPOOL_PASSWORD_FILE",
		.help = "A file that has the broker's password in its only line, instead of the "
			"addresses. A path without a slash at its beginning is below "
			"`$CREDENTIALS_DIRECTORY`, where systemd puts credentials. It is read for "
			"every login: a new password needs neither a restart nor a reload. Also for "
			"`publish`, `request` and `dead-letters`."},
	{.key = "broker.heartbeat",
		.type = SETTING_DURATION,
		.offset = ROOT(heartbeat),
		.min = MTIME_SECOND,
		.max = 65535 * MTIME_SECOND,
		.fallback = "15s",
		.variable = "WPOOL_HEARTBEAT",
		.help = "How long the broker may be silent before its connection counts as lost; "
			"rounded up to whole seconds. The option heartbeat of an address overrides it."},
	{.key = "drain",
		.type = SETTING_DURATION,
		.offset = ROOT(drain),
		.min = 0,
		.max = CONFIG_DRAIN_MAX,
		.default_words = "the longest `limits.hard` of a pool and twice its `limits.grace`",
		.variable = "WPOOL_DRAIN",
		.reload = SETTING_LIVE,
		.help = "The deadline of a graceful stop: tasks that are not done by then are cut "
			"short and go back to the broker (accepted ones are lost). Limits that workers "
			"set for their tasks do not count. What ends wpool after a time of its own, "
			"such as a container's grace period, must wait for longer."},
	{.key = "log.level",
		.type = SETTING_CHOICE,
		.offset = ROOT(log_level),
		.choices = levels,
		.fallback = "info",
		.variable = "WPOOL_LOG_LEVEL",
		.flag = "--log-level",
		.reload = SETTING_LIVE,
		.help = "The lowest level that is written; `wpool log-level` changes it at run "
			"time. Lines of workers count as info; those that are JSON objects have "
			"their own level."},
	{.key = "log.format",
		.type = SETTING_CHOICE,
		.offset = ROOT(log_format),
		.choices = formats,
		.fallback = "auto",
		.variable = "WPOOL_LOG_FORMAT",
		.flag = "--log-format",
		.reload = SETTING_LIVE,
		.help = "Lines for people or JSON for programs; auto: text on a terminal, else "
			"json."},
	{.key = "control.socket",
		.type = SETTING_TEXT,
		.offset = ROOT(control_socket),
		.min = 1,
		.max = CONFIG_SOCKET_MAX,
		.fallback = "auto",
		.variable = "WPOOL_CONTROL_SOCKET",
		.help = "The Unix socket for `wpool status` and the other commands that ask a "
			"supervisor (docs/control.md): a path, or off; auto: "
			"`$XDG_RUNTIME_DIR/wpool/control.sock`, else `/run/wpool/control.sock`, else "
			"`/tmp/wpool-UID/control.sock` with the number of the user, in a folder that "
			"only this user can use. Each supervisor needs its own."},
	{.key = "control.group",
		.type = SETTING_TEXT,
		.offset = ROOT(control_group),
		.min = 1,
		.max = 64,
		.default_words = "none",
		.variable = "WPOOL_CONTROL_GROUP",
		.help = "A group, by name or number, whose members may use the control socket, "
			"too, and so do all that an operator can. wpool must be root or in that "
			"group, and the group must be able to enter the socket's folder."},
	{.key = "http.listen",
		.type = SETTING_TEXT,
		.offset = ROOT(http_listen),
		.min = 1,
		.max = 64,
		.fallback = "off",
		.variable = "WPOOL_HTTP_LISTEN",
		.help = "The TCP address that serves the page, metrics and health: "
			"`127.0.0.1:9464`, `[::1]:9464`, or off."},
	{.key = "http.hosts",
		.type = SETTING_WORDS,
		.offset = ROOT(http_hosts),
		.min = 1,
		.max = WORDS_MAX,
		.default_words = "none",
		.variable = "WPOOL_HTTP_HOSTS",
		.reload = SETTING_LIVE,
		.help = "The names by which clients may reach the API, such as "
			"`[wpool.example.org]`. A request whose Host is not one of them, nor an IP "
			"address, localhost or wpool, is answered by 421: it may come from a web "
			"page that has pointed a name of its own at this address."},
	{.key = "http.token_file",
		.type = SETTING_TEXT,
		.offset = ROOT(http_token_file),
		.min = 1,
		.max = 4095,
		.default_words = "none",
		.variable = "WPOOL_HTTP_TOKEN_FILE",
		.reload = SETTING_LIVE,
		.help = "A file that has a secret of at least 16 characters in its only line. A "
			"client that sends it (`Authorization: Bearer SECRET`) may control pools "
			"and see dead letters over TCP, too, and so may the page after it was "
			"entered there (docs/control.md). A path without a slash at its beginning "
			"is below `$CREDENTIALS_DIRECTORY`. It is read at the start and at "
			"each reload."},
};

static const struct setting pool_settings[] = {
	{.key = "name",
		.type = SETTING_TEXT,
		.offset = POOL(name),
		.min = 1,
		.max = 64,
		.is_own = true,
		.default_words = "the queue's name",
		.variable = "WPOOL_NAME",
		.help = "The pool's name in logs: letters, digits, '.', '_' and '-'. In a name "
			"derived from the queue's, any other character becomes '-'."},
	{.key = "queue",
		.type = SETTING_TEXT,
		.offset = POOL(queue),
		.min = 1,
		.max = 255,
		.is_own = true,
		.default_words = "required",
		.variable = "QUEUENAME",
		.flag = "--queue",
		.help = "The queue whose messages are the pool's tasks."},
	{.key = "command",
		.type = SETTING_WORDS,
		.offset = POOL(command),
		.min = 1,
		.max = WORDS_MAX,
		.default_words = "required, or `preload`",
		.variable = "WORKER_COMMAND",
		.reload = SETTING_ROLLS,
		.help = "The worker program and its arguments: a list, or one text that is split "
			"at blanks as a shell does (quotes and backslashes; nothing is expanded)."},
	{.key = "preload",
		.type = SETTING_WORDS,
		.offset = POOL(preload),
		.min = 1,
		.max = WORDS_MAX,
		.default_words = "none",
		.variable = "WORKER_PRELOAD",
		.reload = SETTING_ROLLS,
		.help = "In place of `command`: a program that loads what is heavy once and forks "
			"the workers, which share its memory (docs/workers.md). A restart and a "
			"reload replace it. `limits.boot` is also the time that it has to load."},
	{.key = "cwd",
		.type = SETTING_TEXT,
		.offset = POOL(cwd),
		.min = 1,
		.max = 4095,
		.default_words = "wpool's own",
		.variable = "WPOOL_CWD",
		.reload = SETTING_ROLLS,
		.help = "The folder that workers start in. A command that has a slash but does "
			"not begin with one is relative to it."},
	{.key = "env",
		.type = SETTING_PAIRS,
		.offset = POOL(env),
		.is_hidden = true,
		.default_words = "nothing more",
		.variable = "WPOOL_ENV",
		.reload = SETTING_ROLLS,
		.help = "Variables of the workers' environment, in addition to those that "
			"`env_pass` passes on; they override those. check-config does not print "
			"the values."},
	{.key = "env_pass",
		.type = SETTING_WORDS,
		.offset = POOL(env_pass),
		.fallback = "auto",
		.variable = "WPOOL_ENV_PASS",
		.reload = SETTING_ROLLS,
		.help = "The variables of wpool's own environment that workers get: auto, all, "
			"none, or names, where a * at the end stands for any characters. auto: all "
			"but those that hold the broker's password: `AMQP_URL`, "
			"`RABBITMQ_PASSWORD`, with `RABBITMQ_HOSTNAME` also `PASSWORD`, each "
			"variable that the file expands into a password in `broker.url` or into a "
			"whole address, and each that contains an address with the password or, if "
			"it has at least 8 characters, the password."},
	{.key = "user",
		.type = SETTING_TEXT,
		.offset = POOL(user),
		.min = 1,
		.max = 64,
		.default_words = "wpool's own",
		.variable = "WPOOL_USER",
		.reload = SETTING_ROLLS,
		.help = "The user that workers run as, by name or number, with all groups of that "
			"user, no capabilities and a session keyring of their own. HOME, USER and "
			"LOGNAME are that user's. wpool must be root."},
	{.key = "group",
		.type = SETTING_TEXT,
		.offset = POOL(group),
		.min = 1,
		.max = 64,
		.default_words = "the user's own",
		.variable = "WPOOL_GROUP",
		.reload = SETTING_ROLLS,
		.help = "The group that workers run in, by name or number; without `user` it is "
			"their only one. wpool must be root."},
	{.key = "new_privs",
		.type = SETTING_BOOLEAN,
		.offset = POOL(new_privs),
		.fallback = "false",
		.variable = "WPOOL_NEW_PRIVS",
		.reload = SETTING_ROLLS,
		.help = "Whether programs that workers start may gain rights, as sudo and other "
			"set-user-ID programs do. Without it workers have no_new_privs."},
	{.key = "umask",
		.type = SETTING_TEXT,
		.offset = POOL(umask),
		.min = 1,
		.max = 16,
		.fallback = "022",
		.variable = "WPOOL_UMASK",
		.reload = SETTING_ROLLS,
		.help = "The umask of workers, in octal digits, whatever that of wpool is."},
	{.key = "nice",
		.type = SETTING_INTEGER,
		.offset = POOL(nice),
		.min = -20,
		.max = 19,
		.fallback = "0",
		.variable = "WPOOL_NICE",
		.reload = SETTING_ROLLS,
		.help = "Added to wpool's own nice value for workers: 19 is the lowest priority. "
			"Below 0 the priority is higher, which needs root."},
	{.key = "rlimits",
		.type = SETTING_PAIRS,
		.offset = POOL(rlimits),
		.default_words = "wpool's own",
		.variable = "WPOOL_RLIMITS",
		.reload = SETTING_ROLLS,
		.help = "Limits for each worker process, by their names in prlimit(1): `{nofile: "
			"1024:4096, core: 0, as: 2GiB, cpu: 10min}`. A single value sets both "
			"soft and hard; `unlimited` is none."},
	{.key = "workers",
		.type = SETTING_RANGE,
		.offset = POOL(workers),
		.min = 1,
		.max = CONFIG_WORKERS_MAX,
		.may_be_auto = true,
		.fallback = "auto",
		.variable = "WORKER_COUNT",
		.flag = "--workers",
		.reload = SETTING_LIVE,
		.help = "How many worker processes; auto: as many as there are processors, or as the "
			"CPU quota of a container allows, rounded up. From "
			"min to max (`{min: 2, max: 32}` in a file, else `2..32`): as many as the "
			"tasks need."},
	{.key = "prefetch",
		.type = SETTING_INTEGER,
		.offset = POOL(prefetch),
		.min = 1,
		.max = CONFIG_PREFETCH_MAX,
		.may_be_auto = true,
		.fallback = "auto",
		.variable = "PREFETCH",
		.flag = "--prefetch",
		.reload = SETTING_LIVE,
		.help = "How many messages the broker hands over before the first is acked; auto "
			"follows workers, pipeline, concurrency and what was done in the last tenth "
			"of a second. With sessions it is a number, 2000 by default, and a change "
			"takes effect when no message is unacked; until then, and after a takeover "
			"from a supervisor with a larger one, the larger one is used."},
	{.key = "pipeline",
		.type = SETTING_INTEGER,
		.offset = POOL(pipeline),
		.min = 1,
		.max = CONFIG_PIPELINE_MAX,
		.may_be_auto = true,
		.fallback = "auto",
		.variable = "WPOOL_PIPELINE",
		.flag = "--pipeline",
		.reload = SETTING_LIVE,
		.help = "How many tasks may be in one worker's pipe; auto follows how long tasks "
			"take, so that a worker with short ones need not wait for the next. A "
			"worker gets a tenth of a millisecond of work before another one is "
			"woken."},
	{.key = "concurrency",
		.type = SETTING_INTEGER,
		.offset = POOL(concurrency),
		.min = 1,
		.max = CONFIG_CONCURRENCY_MAX,
		.fallback = "1",
		.variable = "WORKER_CONCURRENCY", /* workers get WPOOL_CONCURRENCY */
		.flag = "--concurrency",
		.help = "How many tasks one worker works on at once (docs/workers.md). Above 1 its "
			"outputs must name their tasks, and no task is sent ahead, as with "
			"pipeline: 1. The worker finds the number in its variable "
			"WPOOL_CONCURRENCY."},
	{.key = "throttle",
		.type = SETTING_NAMES,
		.offset = POOL(throttle),
		.max = CONFIG_POOL_THROTTLES_MAX,
		.default_words = "none",
		.reload = SETTING_LIVE,
		.help = "The throttles that each task must pass before it starts, by their names in "
			"`throttles`, in the order in which they are asked: the first that refuses "
			"decides what happens. Only a file can have them. With them no task is sent "
			"ahead, as with pipeline: 1. []: none, also where `defaults` has some."},
	{.key = "pipe_wait",
		.type = SETTING_DURATION,
		.offset = POOL(pipe_wait),
		.min = MTIME_MS,
		.max = MTIME_MINUTE,
		.fallback = "5ms",
		.variable = "WPOOL_PIPE_WAIT",
		.reload = SETTING_LIVE,
		.help = "With pipeline: auto a task is sent behind others only if it is expected "
			"to wait no longer than this, and never behind one that has run for so "
			"long."},
	{.key = "pipe",
		.type = SETTING_CHOICE,
		.offset = POOL(pipe),
		.choices = pipes,
		.fallback = "path",
		.variable = "WPOOL_PIPE",
		.flag = "--pipe",
		.help = "What a worker opens: a Unix socket by its path, two FIFOs, or the socket "
			"that workers written for the C# MessageWorkerPool expect (corefx; it "
			"implies body: str, headers: text and pipeline: 1)."},
	{.key = "declare",
		.type = SETTING_CHOICE,
		.offset = POOL(declare),
		.choices = declares,
		.fallback = "passive",
		.variable = "WPOOL_DECLARE",
		.flag = "--declare",
		.help = "off: the queue is consumed without a check; passive: it must exist; on: "
			"it is created (durable, quorum) if it does not exist, and bound as in "
			"bindings."},
	{.key = "queue_arguments",
		.type = SETTING_PAIRS,
		.offset = POOL(queue_arguments),
		.default_words = "none",
		.variable = "WPOOL_QUEUE_ARGUMENTS",
		.help = "Arguments of the queue where wpool creates it, beside its own "
			"(x-queue-type: quorum, x-delivery-limit, and x-single-active-consumer for "
			"sessions): `{x-max-length: 100000, x-overflow: reject-publish, "
			"x-dead-letter-exchange: lost}`. A queue that exists is not changed; `wpool "
			"declare`, and a pool with `declare: on`, name what differs."},
	{.key = "bindings",
		.type = SETTING_BINDINGS,
		.offset = POOL(bindings),
		.default_words = "none",
		.variable = "WPOOL_BINDINGS",
		.help = "Bindings of the queue, made with `declare: on` and by `wpool declare`, "
			"never removed: `[{exchange: events, routing_key: [order.new, order.paid]}, "
			"{exchange: audit, headers: {kind: order}, match: any}]`. An exchange with "
			"a type (`type: topic`) is created if it does not exist."},
	{.key = "body",
		.type = SETTING_CHOICE,
		.offset = POOL(body),
		.choices = bodies,
		.fallback = "auto",
		.variable = "WPOOL_BODY",
		.help = "How a worker gets a task's body: as text if it is UTF-8 and otherwise as "
			"bytes (auto), always as text, or always as bytes."},
	{.key = "headers",
		.type = SETTING_CHOICE,
		.offset = POOL(headers),
		.choices = headers,
		.fallback = "text",
		.variable = "WPOOL_HEADERS",
		.help = "All headers as text, or with their AMQP types."},
	{.key = "properties",
		.type = SETTING_BOOLEAN,
		.offset = POOL(properties),
		.fallback = "false",
		.variable = "WPOOL_PROPERTIES",
		.help = "Whether a task carries the message's properties."},
	{.key = "unroutable",
		.type = SETTING_CHOICE,
		.offset = POOL(unroutable),
		.choices = unroutables,
		.fallback = "reject",
		.variable = "WPOOL_UNROUTABLE",
		.reload = SETTING_LIVE,
		.help = "What happens to a task whose reply reaches no queue: it is "
			"dead-lettered, its reply is dropped, or it is retried."},
	{.key = "reply_queues",
		.type = SETTING_WORDS,
		.offset = POOL(reply_queues),
		.default_words = "any",
		.variable = "WPOOL_REPLY_QUEUES",
		.reload = SETTING_LIVE,
		.help = "The queues that replies may go to: names, where a * stands for any "
			"characters; [\"\"] names none (as a variable '\"\"'). The pool's own queue and direct reply-to are always allowed; "
			"any other reply is treated as one that reaches no queue (`unroutable`). "
			"Without this setting a publisher (reply_to) or a worker chooses any queue "
			"that wpool's user at the broker may write to."},
	{.key = "max_body",
		.type = SETTING_SIZE,
		.offset = POOL(max_body),
		.min = 1,
		.max = 512 * MIB,
		.fallback = "16MiB",
		.variable = "WPOOL_MAX_BODY",
		.help = "The largest body that a worker is given; a larger message is "
			"dead-lettered."},
	{.key = "memory",
		.type = SETTING_SIZE,
		.offset = POOL(memory),
		.min = MIB,
		.max = 1024 * GIB,
		.fallback = "512MiB",
		.variable = "WPOOL_MEMORY",
		.reload = SETTING_LIVE,
		.help = "If messages are large, fewer than prefetch are requested, so that those in "
			"hand take no more than this, but always at least one. Messages that were "
			"requested while others were small come in addition until they are done. "
			"If more than twice this and one max_body is in hand, the channel is "
			"closed, the broker takes its messages back, and fewer are requested. A pool "
			"with sessions always requests prefetch, because fewer would break the "
			"order; above that bound it is not ready."},
	{.key = "outbox",
		.type = SETTING_SIZE,
		.offset = POOL(outbox),
		.min = 64 * KIB,
		.max = 64 * GIB,
		.fallback = "16MiB",
		.variable = "WPOOL_OUTBOX",
		.reload = SETTING_LIVE,
		.help = "No task is started while unconfirmed replies and copies take more than "
			"this."},
	{.key = "log_rate",
		.type = SETTING_LOG_RATE,
		.offset = POOL(log_rate),
		.min = 1,
		.max = RATE_MAX,
		.fallback = "[10000, 1MiB]",
		.variable = "WPOOL_LOG_RATE",
		.reload = SETTING_LIVE,
		.help = "How many lines a second all workers of the pool together may log, and "
			"how many bytes these lines may take in the log (a control character "
			"takes six); further lines are dropped, and their number is logged. A "
			"number alone leaves the size at 1MiB."},
	{.key = "interrupt",
		.type = SETTING_BOOLEAN,
		.offset = POOL(interrupt),
		.fallback = "false",
		.variable = "WPOOL_INTERRUPT",
		.help = "The older spelling of limits.on_soft: context-switch."},
	{.key = "limits.soft",
		.type = SETTING_DURATION,
		.offset = POOL(limits.soft),
		.min = MTIME_MS,
		.max = 365 * DAY,
		.may_be_none = true,
		.fallback = "none",
		.variable = "WPOOL_LIMITS_SOFT",
		.reload = SETTING_LIVE,
		.help = "How long one task should take before its worker saves its state and "
			"hands the rest back: the header TimeoutMilliseconds of a task that has "
			"none."},
	{.key = "limits.on_soft",
		.type = SETTING_CHOICE,
		.offset = POOL(limits.on_soft),
		.choices = soft_actions,
		.fallback = "nothing",
		.variable = "WPOOL_LIMITS_ON_SOFT",
		.help = "What a worker is sent when a task has run for its soft limit (its "
			"TimeoutMilliseconds, else limits.soft): nothing; the control line "
			"`__context_switch__`, which asks it to save its state and hand the rest "
			"back; or `__cancel__`, which asks it to give the task up. The last two "
			"imply pipeline: 1."},
	{.key = "limits.hard",
		.type = SETTING_DURATION,
		.offset = POOL(limits.hard),
		.min = MTIME_MS,
		.max = 365 * DAY,
		.fallback = "25min",
		.variable = "WPOOL_LIMITS_HARD",
		.reload = SETTING_LIVE,
		.help = "How long one task may take before its worker is killed and the attempt "
			"has failed, unless the worker sets another limit for the task in hand "
			"(PROTOCOL.md, section 9). Keep it below the broker's acknowledgement "
			"timeout (30min)."},
	{.key = "limits.boot",
		.type = SETTING_DURATION,
		.offset = POOL(limits.boot),
		.min = MTIME_MS,
		.max = DAY,
		.fallback = "10s",
		.variable = "WPOOL_LIMITS_BOOT",
		.reload = SETTING_LIVE,
		.help = "How long a worker may take from its start until it opens its pipe. Time in "
			"which it waits for a processor does not count."},
	{.key = "limits.grace",
		.type = SETTING_DURATION,
		.offset = POOL(limits.grace),
		.min = 0,
		.max = DAY,
		.fallback = "10s",
		.variable = "WPOOL_LIMITS_GRACE",
		.reload = SETTING_LIVE,
		.help = "How long a worker may take to exit when it is asked to, and again after "
			"SIGTERM, before the next, harder step."},
	{.key = "limits.slices",
		.type = SETTING_INTEGER,
		.offset = POOL(limits.slices),
		.min = 1,
		.max = 1000000000,
		.fallback = "10000",
		.variable = "WPOOL_LIMITS_SLICES",
		.reload = SETTING_LIVE,
		.help = "How many times one task may hand the rest of its work back to its own "
			"queue."},
	{.key = "limits.group_processes",
		.type = SETTING_INTEGER,
		.offset = POOL(limits.group_processes),
		.min = 1,
		.max = 4194304,
		.may_be_none = true,
		.fallback = "none",
		.variable = "WPOOL_LIMITS_GROUP_PROCESSES",
		.reload = SETTING_ROLLS,
		.help = "How many processes and threads a worker and all that it started may be "
			"together; above that they cannot start more. Needs control groups "
			"(docs/operations.md); without them it does not hold, and a warning says "
			"so."},
	{.key = "limits.group_memory",
		.type = SETTING_SIZE,
		.offset = POOL(limits.group_memory),
		.min = MIB,
		.max = 1024 * GIB,
		.may_be_none = true,
		.fallback = "none",
		.variable = "WPOOL_LIMITS_GROUP_MEMORY",
		.reload = SETTING_ROLLS,
		.help = "How much memory (without swap) a worker and all that it started may use "
			"together; above that the kernel kills all of them, and the task has "
			"crashed. Needs control groups, as group_processes."},
	{.key = "recycle.tasks",
		.type = SETTING_INTEGER,
		.offset = POOL(recycle.tasks),
		.min = 1,
		.max = 1000000000,
		.may_be_none = true,
		.fallback = "none",
		.variable = "WPOOL_RECYCLE_TASKS",
		.reload = SETTING_LIVE,
		.help = "How many tasks a worker gets before it is replaced, up to an eighth "
			"fewer at random, so that workers are not replaced all at once. From "
			"seven eighths of them on it leaves as soon as its replacement is ready. After "
			"a reload that lowers this, workers that are over it leave like that, too, "
			"a few at a time."},
	{.key = "recycle.age",
		.type = SETTING_DURATION,
		.offset = POOL(recycle.age),
		.min = MTIME_SECOND,
		.max = 365 * DAY,
		.may_be_none = true,
		.fallback = "none",
		.variable = "WPOOL_RECYCLE_AGE",
		.reload = SETTING_LIVE,
		.help = "How old a worker may become, up to an eighth less at random, so that "
			"workers started together are not replaced together. The replacement is "
			"ready before it leaves."},
	{.key = "recycle.memory",
		.type = SETTING_SIZE,
		.offset = POOL(recycle.memory),
		.min = MIB,
		.max = 1024 * GIB,
		.may_be_none = true,
		.fallback = "none",
		.variable = "WPOOL_RECYCLE_MEMORY",
		.reload = SETTING_LIVE,
		.help = "A worker whose process has more resident memory than this (its children "
			"do not count; checked once a second, less often with more than a hundred "
			"workers) finishes its tasks and leaves when its replacement is ready."},
	{.key = "recycle.memory_kill",
		.type = SETTING_SIZE,
		.offset = POOL(recycle.memory_kill),
		.min = MIB,
		.max = 1024 * GIB,
		.may_be_none = true,
		.fallback = "none",
		.variable = "WPOOL_RECYCLE_MEMORY_KILL",
		.reload = SETTING_LIVE,
		.help = "A worker with more resident memory than this is killed; its task has "
			"crashed."},
	{.key = "retry.attempts",
		.type = SETTING_INTEGER,
		.offset = POOL(retry.attempts),
		.min = 1,
		.max = 65535,
		.fallback = "3",
		.variable = "WPOOL_RETRY_ATTEMPTS",
		.reload = SETTING_LIVE,
		.help = "How many times a task is tried in all before it is dead-lettered."},
	{.key = "retry.delay",
		.type = SETTING_DELAYS,
		.offset = POOL(retry.delay),
		.min = 100 * MTIME_MS,
		.max = DAY,
		.fallback = "[1s, 10s, 1min]",
		.variable = "WPOOL_RETRY_DELAY",
		.help = "How long a task waits after its first failed attempt, after its second "
			"and so on; the last delay repeats. []: no wait, it goes to the tail of "
			"its queue at once. Each delay has a queue, named after the pool's queue "
			"and the delay."},
	{.key = "retry.jitter",
		.type = SETTING_INTEGER,
		.offset = POOL(retry.jitter),
		.min = 0,
		.max = 100,
		.fallback = "10",
		.variable = "WPOOL_RETRY_JITTER",
		.help = "By how many percent a delay may be longer, at random, so that tasks that failed "
			"together are not retried together."},
	{.key = "retry.on",
		.type = SETTING_SET,
		.offset = POOL(retry.on),
		.choices = retried,
		.fallback = "[failed, crashed, timed-out, protocol-error, unroutable]",
		.variable = "WPOOL_RETRY_ON",
		.reload = SETTING_LIVE,
		.help = "The outcomes after which a task is retried; after others it is dead-lettered "
			"at once. A rejected task (4xx) is never retried, an unroutable one only with "
			"unroutable: retry."},
	{.key = "retry.dead_letter",
		.type = SETTING_TEXT,
		.offset = POOL(retry.dead_letter),
		.min = 1,
		.max = 255,
		.default_words = "the queue's name and \".dead\"",
		.variable = "WPOOL_RETRY_DEAD_LETTER",
		.help = "The queue for tasks that are given up; broker: they are left to the queue's "
			"own dead-letter policy."},
	{.key = "session.key",
		.type = SETTING_TEXT,
		.offset = POOL(session.key),
		.min = 1,
		.max = SESSION_KEY_SETTING_MAX,
		.default_words = "none",
		.variable = "WPOOL_SESSION_KEY",
		.help = "Where a message has the key of its session: `header:NAME`, "
			"`property:correlation_id` (or message_id, type, app_id, reply_to, "
			"content_type, content_encoding), or `routing_key`. Messages with the same key run one at a time and in order "
			"(docs/ordering.md). A key is UTF-8 of 1 to 255 bytes, or an integer. "
			"Without this setting the pool has no sessions. With routing_key, a dead letter "
			"that is replayed has the queue's name as its key."},
	{.key = "session.without_key",
		.type = SETTING_CHOICE,
		.offset = POOL(session.without_key),
		.choices = without_keys,
		.fallback = "unordered",
		.variable = "WPOOL_SESSION_WITHOUT_KEY",
		.help = "Messages without a key run in any order beside the sessions, and all of "
			"them together take one turn, as one session does; or they are "
			"dead-lettered (reject, reason no-session)."},
	{.key = "session.quantum",
		.type = SETTING_QUANTUM,
		.offset = POOL(session.quantum),
		.min = 1,
		.max = 1000000000,
		.fallback = "10",
		.variable = "WPOOL_SESSION_QUANTUM",
		.reload = SETTING_LIVE,
		.help = "How many tasks of a session run, or how long its tasks run, before other "
			"sessions get their turn. A session that is the only one that can run "
			"simply continues."},
	{.key = "session.on_failure",
		.type = SETTING_CHOICE,
		.offset = POOL(session.on_failure),
		.choices = session_failures,
		.fallback = "skip",
		.variable = "WPOOL_SESSION_ON_FAILURE",
		.reload = SETTING_LIVE,
		.help = "What happens when the message at the front of a session is given up: "
			"skip: it is dead-lettered, and the session continues with the next; "
			"block: the session stops until an operator orders `retry` or `skip`, "
			"which needs `session.delivery_limit: none`."},
	{.key = "session.idle",
		.type = SETTING_DURATION,
		.offset = POOL(session.idle),
		.min = MTIME_MS,
		.max = 365 * DAY,
		.may_be_none = true,
		.fallback = "none",
		.variable = "WPOOL_SESSION_IDLE",
		.reload = SETTING_LIVE,
		.help = "How long after its last task a session ends; none: as soon as it is "
			"empty."},
	{.key = "session.max_active",
		.type = SETTING_INTEGER,
		.offset = POOL(session.max_active),
		.min = 1,
		.max = CONFIG_SESSIONS_MAX,
		.may_be_none = true,
		.fallback = "none",
		.variable = "WPOOL_SESSION_MAX_ACTIVE",
		.reload = SETTING_LIVE,
		.help = "How many sessions may have begun and not ended; others wait for a place."},
	{.key = "session.max_sessions",
		.type = SETTING_INTEGER,
		.offset = POOL(session.max_sessions),
		.min = 1,
		.max = CONFIG_SESSIONS_MAX,
		.fallback = "100000",
		.variable = "WPOOL_SESSION_MAX_SESSIONS",
		.reload = SETTING_LIVE,
		.help = "How many sessions are remembered; of the idle ones, the least recently "
			"used are forgotten first."},
	{.key = "session.max_unacked_age",
		.type = SETTING_DURATION,
		.offset = POOL(session.max_unacked_age),
		.min = MTIME_SECOND,
		.max = 365 * DAY,
		.may_be_none = true,
		.fallback = "10min",
		.variable = "WPOOL_SESSION_MAX_UNACKED_AGE",
		.reload = SETTING_LIVE,
		.help = "The channel is renewed before a message stays unacked for longer than "
			"this. Keep it well below the broker's acknowledgement timeout (30min)."},
	{.key = "session.takeover_delay",
		.type = SETTING_DURATION,
		.offset = POOL(session.takeover_delay),
		.min = 10 * MTIME_SECOND,
		.max = CONFIG_TAKEOVER_DELAY_MAX,
		.may_be_none = true,
		.fallback = "30s",
		.variable = "WPOOL_SESSION_TAKEOVER_DELAY",
		.reload = SETTING_LIVE,
		.none_replaces = true,
		.help = "How long a standby waits, after the active supervisor is gone without an "
			"orderly leave, before it runs what that one may still run. An active "
			"supervisor that has not reached the broker for half of it kills its "
			"workers, so this is also how long a broker may be away without costing "
			"running tasks. none: no other supervisor ever runs this pool."},
	{.key = "session.delivery_limit",
		.type = SETTING_CHOICE,
		.offset = POOL(session.delivery_limit),
		.choices = delivery_limits,
		.fallback = "unknown",
		.variable = "WPOOL_SESSION_DELIVERY_LIMIT",
		.reload = SETTING_LIVE,
		.help = "Whether the queue limits how often a message is delivered. wpool cannot "
			"see a policy; none: you have made sure that neither an argument of the "
			"queue nor a policy limits it (docs/ordering.md). unknown: wpool renews the "
			"channel by choice only while no message has come back more than 10 "
			"times."},
};

static const struct setting throttle_settings[] = {
	{.key = "name",
		.type = SETTING_TEXT,
		.offset = THROTTLE(name),
		.min = 1,
		.max = CONFIG_THROTTLE_NAME_MAX,
		.is_own = true,
		.default_words = "required",
		.help = "The name by which pools refer to it: letters, digits, '.', '_' and '-'."},
	{.key = "limit",
		.type = SETTING_INTEGER,
		.offset = THROTTLE(limit),
		.min = 1,
		.max = CONFIG_THROTTLE_LIMIT_MAX,
		.default_words = "required",
		.reload = SETTING_LIVE,
		.help = "How many tasks may start in any `period`: those of all pools that name the "
			"throttle together, retries included. A changed figure applies to the "
			"starts of before, too."},
	{.key = "period",
		.type = SETTING_DURATION,
		.offset = THROTTLE(period),
		.min = CONFIG_PERIOD_MIN,
		.max = CONFIG_PERIOD_MAX,
		.default_words = "required",
		.reload = SETTING_LIVE,
		.help = "The length of the window. It slides: there is no moment at which the count "
			"begins again."},
	{.key = "scope",
		.type = SETTING_CHOICE,
		.offset = THROTTLE(scope),
		.choices = throttle_scopes,
		.fallback = "supervisor",
		.help = "Whose starts count together. supervisor: those of this one, so with three "
			"supervisors there may be three times as many. cluster: those of all "
			"supervisors of the broker's vhost that have a throttle of this name, which "
			"ask each other through the queue wpool.throttle.NAME: `period` is at least "
			"500ms then, a task may wait for an answer, and for `period` while another "
			"supervisor takes over. The limits of all must be the same, and `key`."},
	{.key = "key",
		.type = SETTING_TEXT,
		.offset = THROTTLE(key),
		.min = 1,
		.max = SESSION_KEY_SETTING_MAX,
		.default_words = "none",
		.help = "Each key has the limit for itself: `header:NAME`, `property:correlation_id` "
			"and its like or `routing_key`, as in `session.key`; or `session`: the key "
			"of the pool's sessions. All messages without the key share one limit. "
			"Without this setting there is one limit for all messages."},
	{.key = "max_keys",
		.type = SETTING_INTEGER,
		.offset = THROTTLE(max_keys),
		.min = 1,
		.max = CONFIG_THROTTLE_KEYS_MAX,
		.fallback = "10000",
		.reload = SETTING_LIVE,
		.help = "How many keys are remembered. The one whose latest start is the oldest is "
			"forgotten first, but none that has started a task within `period`: a new "
			"key waits until there is one to forget. A key takes 8 bytes for each start of "
			"`limit` and about 130 bytes: with `limit` 100 these 10000 take 9MiB."},
	{.key = "when_exceeded",
		.type = SETTING_CHOICE,
		.offset = THROTTLE(when_exceeded),
		.choices = when_exceeded,
		.fallback = "delay",
		.reload = SETTING_LIVE,
		.help = "What happens to a task that may not start yet. delay: it waits, without a "
			"worker; reply: its caller (reply_to) gets an empty reply with the headers "
			"Status (429) and RetryAfterMilliseconds, and the task is done, or it waits "
			"if it has no caller; dead-letter: it is dead-lettered (reason throttled)."},
};

_Static_assert(POOL(log_bytes) == POOL(log_rate) + sizeof(int64_t), "lines and bytes");
_Static_assert(POOL(workers_max) == POOL(workers) + sizeof(int64_t), "a range");
_Static_assert(sizeof root_settings / sizeof *root_settings <= SETTINGS_MAX, "fits");
_Static_assert(sizeof pool_settings / sizeof *pool_settings <= SETTINGS_MAX, "fits");
_Static_assert(sizeof throttle_settings / sizeof *throttle_settings <= SETTINGS_MAX, "fits");

const struct setting *settings_of(enum setting_scope scope, size_t *ret_count)
{
	switch (scope) {
	case SETTING_ROOT:
		*ret_count = sizeof root_settings / sizeof *root_settings;
		return root_settings;
	case SETTING_POOL:
	case SETTING_DEFAULTS:
		break;
	case SETTING_THROTTLE:
		*ret_count = sizeof throttle_settings / sizeof *throttle_settings;
		return throttle_settings;
	}
	*ret_count = sizeof pool_settings / sizeof *pool_settings;
	return pool_settings;
}

const struct setting *settings_find(enum setting_scope scope, const char *key)
{
	size_t count;
	const struct setting *setting = settings_of(scope, &count);
	for (; count > 0; count--, setting++)
		if (strcmp(setting->key, key) == 0)
			return scope == SETTING_DEFAULTS && setting->is_own ? NULL : setting;
	return NULL;
}
