#include "config/settings.h"

#include "base/rate.h"
#include "config/addresses.h"
#include "config/config.h"
#include "config/words.h"

#include <string.h>

#define ROOT(member) offsetof(struct config, member)
#define POOL(member) offsetof(struct config_pool, member)

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
static const char *const formats[] = {"auto", "text", "json", NULL};
static const char *const pipes[] = {"path", "fifo", "corefx", NULL};
static const char *const declares[] = {"off", "passive", "on", NULL};
static const char *const bodies[] = {"auto", "str", "bin", NULL};
static const char *const headers[] = {"text", "typed", NULL};
static const char *const unroutables[] = {"reject", "drop", "retry", NULL};
static const char *const retried[] = {
	"failed", "crashed", "timed-out", "protocol-error", "unroutable", NULL};

static const struct setting root_settings[] = {
	{.key = "broker.url",
		.type = SETTING_ADDRESSES,
		.default_words = ADDRESSES_DEFAULT,
		.variable = "AMQP_URL",
		.flag = "--broker",
		.help = "The broker's address, or a list of addresses to try in turn."},
	{.key = "broker.heartbeat",
		.type = SETTING_DURATION,
		.offset = ROOT(heartbeat),
		.least = MTIME_SECOND,
		.most = 65535 * MTIME_SECOND,
		.fallback = "15s",
		.variable = "WPOOL_HEARTBEAT",
		.help = "How long the broker may be silent before its connection counts as lost; "
			"rounded up to whole seconds. An address's own option heartbeat wins."},
	{.key = "drain",
		.type = SETTING_DURATION,
		.offset = ROOT(drain),
		.least = 0,
		.most = 30 * DAY,
		.fallback = "30s",
		.variable = "WPOOL_DRAIN",
		.reload = RELOAD_LIVE,
		.help = "The one deadline of a graceful stop: tasks not done by then are cut short "
			"and go back to the broker."},
	{.key = "log.level",
		.type = SETTING_CHOICE,
		.offset = ROOT(log_level),
		.choices = levels,
		.fallback = "info",
		.variable = "WPOOL_LOG_LEVEL",
		.flag = "--log-level",
		.reload = RELOAD_LIVE,
		.help = "The least level that is written; `wpool log-level` changes it at run time. Lines of "
			"workers count as info, those that are JSON objects as what their level says."},
	{.key = "log.format",
		.type = SETTING_CHOICE,
		.offset = ROOT(log_format),
		.choices = formats,
		.fallback = "auto",
		.variable = "WPOOL_LOG_FORMAT",
		.flag = "--log-format",
		.reload = RELOAD_LIVE,
		.help = "Lines for people or JSON for programs; auto: text on a terminal, else "
			"json."},
	{.key = "control.socket",
		.type = SETTING_TEXT,
		.offset = ROOT(control_socket),
		.least = 1,
		.most = CONFIG_SOCKET_MAX,
		.fallback = "auto",
		.variable = "WPOOL_CONTROL_SOCKET",
		.help = "The Unix socket that `wpool status` and its like ask (docs/control.md): a path, or off; "
			"auto: `$XDG_RUNTIME_DIR/wpool/control.sock`, else "
			"`/run/wpool/control.sock`. Each supervisor needs its own."},
	{.key = "http.listen",
		.type = SETTING_TEXT,
		.offset = ROOT(http_listen),
		.least = 1,
		.most = 64,
		.fallback = "off",
		.variable = "WPOOL_HTTP_LISTEN",
		.help = "Where the page, metrics and health can be asked for over TCP: `127.0.0.1:9464`, "
			"`[::1]:9464`, or off."},
};

static const struct setting pool_settings[] = {
	{.key = "name",
		.type = SETTING_TEXT,
		.offset = POOL(name),
		.least = 1,
		.most = 64,
		.default_words = "the queue's name",
		.variable = "WPOOL_NAME",
		.help = "The pool's name in logs: letters, digits, '.', '_' and '-'. Made from the "
			"queue's name, anything else becomes '-'."},
	{.key = "queue",
		.type = SETTING_TEXT,
		.offset = POOL(queue),
		.least = 1,
		.most = 255,
		.default_words = "required",
		.variable = "QUEUENAME",
		.flag = "--queue",
		.help = "The queue whose messages are the pool's tasks."},
	{.key = "command",
		.type = SETTING_WORDS,
		.offset = POOL(command),
		.least = 1,
		.most = WORDS_MAX,
		.default_words = "required",
		.variable = "WORKER_COMMAND",
		.reload = RELOAD_ROLLS,
		.help = "The worker program and its arguments: a list, or one text that is split "
			"at "
			"blanks as a shell would (quotes and backslashes; nothing is expanded)."},
#include "config/settings_rights.def"
	{.key = "workers",
		.type = SETTING_RANGE,
		.offset = POOL(workers),
		.least = 1,
		.most = CONFIG_WORKERS_MAX,
		.may_be_auto = true,
		.fallback = "auto",
		.variable = "WORKER_COUNT",
		.flag = "--workers",
		.reload = RELOAD_LIVE,
		.help = "How many worker processes; auto: as many as there are processors. From min to "
			"max (`{min: 2, max: 32}` in a file, else `2..32`): as many as the tasks need."},
	{.key = "prefetch",
		.type = SETTING_INTEGER,
		.offset = POOL(prefetch),
		.least = 1,
		.most = CONFIG_PREFETCH_MAX,
		.may_be_auto = true,
		.fallback = "auto",
		.variable = "PREFETCH",
		.flag = "--prefetch",
		.reload = RELOAD_LIVE,
		.help = "How many messages the broker hands over before the first is acked; auto "
			"follows workers, pipeline and what was done in the last tenth of a second."},
	{.key = "pipeline",
		.type = SETTING_INTEGER,
		.offset = POOL(pipeline),
		.least = 1,
		.most = CONFIG_PIPELINE_MAX,
		.may_be_auto = true,
		.fallback = "auto",
		.variable = "WPOOL_PIPELINE",
		.flag = "--pipeline",
		.reload = RELOAD_LIVE,
		.help = "How many tasks may be in one worker's pipe; auto follows how long tasks "
			"take, so that a worker with short ones need not wait for the next; and one gets a "
			"tenth of a millisecond of work before another one is woken."},
	{.key = "pipe_wait",
		.type = SETTING_DURATION,
		.offset = POOL(pipe_wait),
		.least = MTIME_MS,
		.most = MTIME_MINUTE,
		.fallback = "5ms",
		.variable = "WPOOL_PIPE_WAIT",
		.reload = RELOAD_LIVE,
		.help = "pipeline: auto sends a task behind others only if, as tasks go, it waits "
			"there no longer than this; and none behind one that has run so long."},
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
		.help = "off: the queue is consumed without a look; passive: it must exist; on: it "
			"is created (durable, quorum) where it does not exist."},
	{.key = "body",
		.type = SETTING_CHOICE,
		.offset = POOL(body),
		.choices = bodies,
		.fallback = "auto",
		.variable = "WPOOL_BODY",
		.help = "How a task's body reaches a worker: as text where it is UTF-8 and else as "
			"bytes (auto), always as text, or always as bytes."},
	{.key = "headers",
		.type = SETTING_CHOICE,
		.offset = POOL(headers),
		.choices = headers,
		.fallback = "text",
		.variable = "WPOOL_HEADERS",
		.help = "Headers all as text, or with the types that they have in AMQP."},
	{.key = "properties",
		.type = SETTING_BOOLEAN,
		.offset = POOL(properties),
		.fallback = "false",
		.variable = "WPOOL_PROPERTIES",
		.help = "Whether a task carries the message's properties, too."},
	{.key = "unroutable",
		.type = SETTING_CHOICE,
		.offset = POOL(unroutable),
		.choices = unroutables,
		.fallback = "reject",
		.variable = "WPOOL_UNROUTABLE",
		.reload = RELOAD_LIVE,
		.help = "What becomes of a task whose reply reaches no queue: it is dead-lettered, "
			"its reply is dropped, or it is tried again."},
	{.key = "max_body",
		.type = SETTING_SIZE,
		.offset = POOL(max_body),
		.least = 1,
		.most = 512 * MIB,
		.fallback = "16MiB",
		.variable = "WPOOL_MAX_BODY",
		.help = "The largest body a worker is given; a larger message is dead-lettered."},
	{.key = "memory",
		.type = SETTING_SIZE,
		.offset = POOL(memory),
		.least = MIB,
		.most = 1024 * GIB,
		.fallback = "512MiB",
		.variable = "WPOOL_MEMORY",
		.reload = RELOAD_LIVE,
		.help = "Where bodies are large, fewer messages than prefetch are asked for, so "
			"that those in hand take no more than this; but one always. What came "
			"while the bodies were small is there beside until it is done."},
	{.key = "outbox",
		.type = SETTING_SIZE,
		.offset = POOL(outbox),
		.least = 64 * KIB,
		.most = 64 * GIB,
		.fallback = "16MiB",
		.variable = "WPOOL_OUTBOX",
		.reload = RELOAD_LIVE,
		.help = "The bytes of replies and copies not yet confirmed above which no task is "
			"begun."},
	{.key = "log_rate",
		.type = SETTING_INTEGER,
		.offset = POOL(log_rate),
		.least = 1,
		.most = RATE_MAX,
		.fallback = "10000",
		.variable = "WPOOL_LOG_RATE",
		.reload = RELOAD_LIVE,
		.help = "How many lines its workers together may write into the log in a second; "
			"what is more is dropped, and how much that was is told."},
	{.key = "interrupt",
		.type = SETTING_BOOLEAN,
		.offset = POOL(interrupt),
		.fallback = "false",
		.variable = "WPOOL_INTERRUPT",
		.help = "Whether a worker is told by the control line __context_switch__ when the "
			"task in hand has run for its soft limit; implies pipeline: 1."},
	{.key = "limits.soft",
		.type = SETTING_DURATION,
		.offset = POOL(limits.soft),
		.least = MTIME_MS,
		.most = 365 * DAY,
		.may_be_none = true,
		.fallback = "none",
		.variable = "WPOOL_LIMITS_SOFT",
		.reload = RELOAD_LIVE,
		.help = "How long one task should take before its worker saves what it has and "
			"hands the rest back: the header TimeoutMilliseconds of a task that "
			"brings none itself."},
	{.key = "limits.hard",
		.type = SETTING_DURATION,
		.offset = POOL(limits.hard),
		.least = MTIME_MS,
		.most = 365 * DAY,
		.fallback = "25min",
		.variable = "WPOOL_LIMITS_HARD",
		.reload = RELOAD_LIVE,
		.help = "How long one task may take before its worker is killed and the attempt "
			"has "
			"failed. Keep it below the broker's acknowledgement timeout (30min)."},
	{.key = "limits.boot",
		.type = SETTING_DURATION,
		.offset = POOL(limits.boot),
		.least = MTIME_MS,
		.most = DAY,
		.fallback = "10s",
		.variable = "WPOOL_LIMITS_BOOT",
		.reload = RELOAD_LIVE,
		.help = "How long a worker may take from its start until it has opened its pipe."},
	{.key = "limits.grace",
		.type = SETTING_DURATION,
		.offset = POOL(limits.grace),
		.least = 0,
		.most = DAY,
		.fallback = "10s",
		.variable = "WPOOL_LIMITS_GRACE",
		.reload = RELOAD_LIVE,
		.help = "How long a worker may take to leave when it is told to, and again after "
			"SIGTERM, before the next, harder means."},
	{.key = "limits.slices",
		.type = SETTING_INTEGER,
		.offset = POOL(limits.slices),
		.least = 1,
		.most = 1000000000,
		.fallback = "10000",
		.variable = "WPOOL_LIMITS_SLICES",
		.reload = RELOAD_LIVE,
		.help = "How often one task may hand its rest back to its own queue."},
#include "config/settings_recycle.def"
	{.key = "retry.attempts",
		.type = SETTING_INTEGER,
		.offset = POOL(retry.attempts),
		.least = 1,
		.most = 65535,
		.fallback = "3",
		.variable = "WPOOL_RETRY_ATTEMPTS",
		.reload = RELOAD_LIVE,
		.help = "How often a task is tried in all before it is dead-lettered."},
	{.key = "retry.delay",
		.type = SETTING_DELAYS,
		.offset = POOL(retry.delay),
		.least = 100 * MTIME_MS,
		.most = DAY,
		.fallback = "[1s, 10s, 1min]",
		.variable = "WPOOL_RETRY_DELAY",
		.help = "How long a task waits after its first failed attempt, after its second "
			"and so on; the last one holds for all that follow. []: no wait, it goes "
			"to the tail of its queue at once. For each there is a queue, named after "
			"the pool's queue and the wait."},
	{.key = "retry.jitter",
		.type = SETTING_INTEGER,
		.offset = POOL(retry.jitter),
		.least = 0,
		.most = 100,
		.fallback = "10",
		.variable = "WPOOL_RETRY_JITTER",
		.help = "By how many percent a wait may be longer, at random, so that what failed "
			"together does not come back together."},
	{.key = "retry.on",
		.type = SETTING_SET,
		.offset = POOL(retry.on),
		.choices = retried,
		.fallback = "[failed, crashed, timed-out, protocol-error, unroutable]",
		.variable = "WPOOL_RETRY_ON",
		.reload = RELOAD_LIVE,
		.help = "After which outcomes a task is tried again; after the others it is "
			"dead-lettered at once. What is rejected (4xx) never is, and what is "
			"unroutable only with unroutable: retry."},
	{.key = "retry.dead_letter",
		.type = SETTING_TEXT,
		.offset = POOL(retry.dead_letter),
		.least = 1,
		.most = 255,
		.default_words = "the queue's name and \".dead\"",
		.variable = "WPOOL_RETRY_DEAD_LETTER",
		.help = "The queue for tasks that were given up; broker leaves them to the queue's "
			"own dead-letter policy."},
};

_Static_assert(POOL(workers_most) == POOL(workers) + sizeof(int64_t), "a range");
_Static_assert(sizeof root_settings / sizeof *root_settings <= SETTINGS_MOST, "fits");
_Static_assert(sizeof pool_settings / sizeof *pool_settings <= SETTINGS_MOST, "fits");

const struct setting *settings_of(enum setting_scope scope, size_t *ret_count)
{
	*ret_count = scope == SETTING_ROOT ? sizeof root_settings / sizeof *root_settings
					   : sizeof pool_settings / sizeof *pool_settings;
	return scope == SETTING_ROOT ? root_settings : pool_settings;
}

const struct setting *settings_find(enum setting_scope scope, const char *key)
{
	size_t count;
	const struct setting *setting = settings_of(scope, &count);
	for (; count > 0; count--, setting++)
		if (strcmp(setting->key, key) == 0)
			return setting;
	return NULL;
}
