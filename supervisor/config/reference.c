#include "config/config.h"

#include "config/value/values.h"

static const char introduction[] =
	"# Configuration\n"
	"\n"
	"<!-- Made by `wpool check-config --reference` from the table of settings. -->\n"
	"\n"
	"`wpool serve --config FILE` reads a YAML file. One pool needs no file: `wpool\n"
	"serve --queue NAME -- COMMAND [ARG...]`, with the other settings from flags or\n"
	"from the environment. `wpool check-config FILE` reports what is wrong, or\n"
	"prints the settings that would be in force. `wpool declare FILE` makes the\n"
	"queues that are missing.\n"
	"\n"
	"- A flag overrides the file, the file overrides the environment, the\n"
	"  environment overrides the default. If there is a file, it has the pools: then\n"
	"  variables for pools are ignored, and flags for pools are an error. An empty\n"
	"  variable counts as not set.\n"
	"- A variable that is set and has no effect is a warning of `check-config` and of\n"
	"  the start: `AMQP_URL` and `RABBITMQ_HOSTNAME` and its like below if something\n"
	"  else has the address, each `WPOOL_...` that is overridden, and each that wpool\n"
	"  does not have. What Kubernetes sets for Services (`RABBITMQ_PORT=tcp://...`,\n"
	"  `WPOOL_SERVICE_HOST`) causes no warning.\n"
	"- In the file, `${NAME}` is a variable of the environment and\n"
	"  `${NAME:-default}` one that may be unset or empty; the default is plain text\n"
	"  without variables and without `{`, and ends at the first `}`. `$$` is a\n"
	"  dollar. They are expanded after the YAML is parsed, so a password may contain\n"
	"  any character. An error shows the value, unless it is an address or the\n"
	"  variable may be a secret: it is in a password of `broker.url`, or its name has\n"
	"  `PASS`, `PWD`, `SECRET`, `TOKEN`, `KEY` or `CREDENTIAL` in it.\n"
	"- `wpool reload` (or `SIGHUP`) reads all of this again. Depending on the\n"
	"  setting, a change *holds* at once, needs *new workers* (replaced one by one)\n"
	"  or a *new pool* (started beside the old one, which works until the new one\n"
	"  does and then finishes its tasks), or *needs a restart* of wpool.\n"
	"- Durations have a unit: `us`, `ms`, `s`, `min` (or `m`), `h`, `d`. So do\n"
	"  sizes: `B`, `kB`, `MB`, `GB`, `KiB`, `MiB`, `GiB`. Both may have a fraction:\n"
	"  `1.5s`.\n"
	"- An unknown key and a key that appears twice are errors. YAML's anchors,\n"
	"  aliases and tags are not supported.\n"
	"- `defaults` has settings for all pools, except `name` and `queue`. A pool's own\n"
	"  setting replaces that of `defaults` as a whole, so its `env` is not added to\n"
	"  the `env` there; of `limits`, `recycle`, `retry` and `session` each key counts\n"
	"  alone. Settings of sessions in `defaults` hold for the pools with a\n"
	"  `session.key`. A reload compares what each pool has in the end, wherever it\n"
	"  is written, and `check-config` prints that.\n"
	"- `throttles` is a list of limits for task starts. A pool names those that hold\n"
	"  for its tasks; several pools may share one. All of them together may take\n"
	"  64MiB for starts: `limit` x `max_keys` x 8 bytes each.\n"
	"\n"
	"```yaml\n"
	"broker:\n"
	"  url: ${AMQP_URL:-amqp://guest:guest@localhost:5672/%2f}\n"
	"defaults:\n"
	"  nice: 5\n"
	"  env: {LANG: C.UTF-8}\n"
	"  limits: {hard: 5min, grace: 20s}\n"
	"pools:\n"
	"  - queue: fibonacci\n"
	"    command: [python3, samples/python/fibonacci.py]\n"
	"    workers: 4\n"
	"  - name: reports\n"
	"    queue: reports\n"
	"    command: ./render --out \"/srv/my reports\"\n"
	"    limits: {hard: 10min}\n"
	"    retry: {attempts: 5, delay: [30s, 5min], dead_letter: reports.failed}\n"
	"  - name: accounts\n"
	"    queue: accounts\n"
	"    command: [./book]\n"
	"    session: {key: header:account}\n"
	"    throttle: [erp, tenant]\n"
	"throttles:\n"
	"  - name: erp # 100 calls in any 10 seconds\n"
	"    limit: 100\n"
	"    period: 10s\n"
	"  - {name: tenant, limit: 20, period: 1s, key: header:tenant}\n"
	"```\n"
	"\n"
	"## Addresses\n"
	"\n"
	"`amqp[s]://user:password@host:port/vhost?option=value&...`, as in RabbitMQ's\n"
	"URI specification. The defaults are `guest`, `guest`, `localhost`, 5672 (5671\n"
	"with `amqps`) and the vhost `/`, which is written `%2f`; `amqp://host/` means\n"
	"it, too. An IPv6 address is in brackets. In names and passwords `@`, `/`, `?`,\n"
	"`#`, `%`, `,` and blanks are percent-encoded. Several addresses, tried in\n"
	"turn, are a list in the file, or comma-separated elsewhere. Without\n"
	"`broker.url` in the file, `AMQP_URL` is used, or else `RABBITMQ_HOSTNAME`,\n"
	"`RABBITMQ_PORT`, `RABBITMQ_USERNAME`, `RABBITMQ_PASSWORD` and `RABBITMQ_VHOST` (with\n"
	"`RABBITMQ_HOSTNAME` also `USERNAME` and `PASSWORD`). Of a `RABBITMQ_PORT` like\n"
	"`tcp://10.0.0.1:5672` the port counts, and only beside `RABBITMQ_HOSTNAME`.\n"
	"\n"
	"| option | meaning |\n"
	"|---|---|\n"
	"| `heartbeat` | seconds; overrides `broker.heartbeat`; 0: none |\n"
	"| `connection_timeout` | milliseconds until a connection attempt is given up |\n"
	"| `cacertfile` | `amqps`: PEM file of trusted authorities instead of the system's |\n"
	"| `certfile`, `keyfile` | `amqps`: our certificate and its key, PEM files |\n"
	"| `verify` | `amqps`: `verify_peer` (the default) or `verify_none` |\n"
	"| `server_name_indication` | `amqps`: the name to request and verify instead of the host |\n"
	"| `auth_mechanism` | `plain` (the default), or with `amqps` `external`: by certificate |\n";

static void append_default(struct buf *out, const struct setting *setting)
{
	if (setting->type == SETTING_ADDRESSES)
		buf_printf(out, "`%s`", setting->default_words);
	else if (setting->fallback)
		buf_printf(out, "`%s`", setting->fallback);
	else
		buf_append_text(out, text_from(setting->default_words));
}

/* What the setting accepts, without the example that a problem message has. */
static void append_takes(struct buf *out, const struct setting *setting)
{
	struct buf needed;
	buf_init(&needed, 1024);
	value_append_needed(setting, &needed);
	struct text words = buf_text(&needed);
	const char *example = words.len ? memmem(words.ptr, words.len, ", such as", 9) : NULL;
	size_t len = example ? (size_t)(example - words.ptr) : words.len;
	while (len > 0 && words.ptr[len - 1] == ',')
		len--;
	buf_append(out, words.ptr, len);
	buf_release(&needed);
}

static const char *on_reload(enum setting_scope scope, const struct setting *setting)
{
	static const char *const words[] = {
		[SETTING_REPLACES] = "new pool",
		[SETTING_ROLLS] = "new workers",
		[SETTING_LIVE] = "holds",
	};

	if (scope == SETTING_ROOT && setting->reload == SETTING_REPLACES)
		return "needs a restart";
	if (scope == SETTING_THROTTLE && setting->reload == SETTING_REPLACES)
		return setting->is_own ? "another throttle" : "new pools";
	return words[setting->reload];
}

/* "`WORKER_COUNT`, `--workers`" */
static void append_sources(struct buf *out, const struct setting *setting)
{
	if (setting->variable)
		buf_printf(out, "`%s`", setting->variable);
	if (setting->flag)
		buf_printf(out, ", `%s`", setting->flag);
}

static void append_table(struct buf *out, enum setting_scope scope)
{
	size_t count;
	const struct setting *settings = settings_of(scope, &count);
	buf_append_text(
		out, TEXT("| key | takes | default | variable, flag | on reload | meaning |\n"
			  "|---|---|---|---|---|---|\n"));
	for (size_t i = 0; i < count; i++) {
		buf_printf(out, "| `%s` | ", settings[i].key);
		append_takes(out, &settings[i]);
		buf_append_text(out, TEXT(" | "));
		append_default(out, &settings[i]);
		buf_append_text(out, TEXT(" | "));
		append_sources(out, &settings[i]);
		buf_printf(out, " | %s%s | %s |\n", on_reload(scope, &settings[i]),
			settings[i].none_replaces ? ", from or to none: new pool" : "",
			settings[i].help);
	}
}

void config_print_reference(struct buf *out)
{
	buf_append_text(out, text_from(introduction));
	buf_append_text(
		out, TEXT("\n## Global settings\n\nA dot stands for a level: `broker.url` is "
			  "`url` under `broker`.\n\n"));
	append_table(out, SETTING_ROOT);
	buf_append_text(out, TEXT("\n## Settings of each pool, under `pools`\n\n"));
	append_table(out, SETTING_POOL);
	buf_append_text(out,
		TEXT("\n## Settings of each throttle, under `throttles`\n\n"
		     "Only a file has them. Another key or scope needs new pools: those that name the throttle are "
		     "replaced.\n\n"));
	append_table(out, SETTING_THROTTLE);
}

/* ---------- flags ---------- */

enum { MARGIN = 26, WIDTH = 100 };

/* "--pipe path|fifo|corefx" */
static void append_flag(struct buf *out, const struct setting *setting)
{
	buf_printf(out, "%s ", setting->flag);
	if (setting->type == SETTING_ADDRESSES)
		buf_append_text(out, TEXT("URL"));
	else if (setting->type == SETTING_RANGE)
		buf_append_text(out, TEXT("N|MIN..MAX|auto"));
	else if (setting->type == SETTING_INTEGER)
		buf_append_text(out, setting->may_be_auto ? TEXT("N|auto") : TEXT("N"));
	else if (setting->type == SETTING_CHOICE)
		for (size_t i = 0; setting->choices[i]; i++)
			buf_printf(out, "%s%s", i > 0 ? "|" : "", setting->choices[i]);
	else
		buf_append_text(out, TEXT("NAME"));
}

/* Append words from column MARGIN on, wrapped at blanks; the line already has column bytes. */
static void append_wrapped(struct buf *out, size_t column, struct text words)
{
	while (words.len > 0) {
		size_t len = words.len;
		if (len > WIDTH - MARGIN)
			for (len = WIDTH - MARGIN; len > 1 && words.ptr[len] != ' ';)
				len--;
		buf_printf(out, "%*s%.*s\n", (int)(MARGIN - column), "", (int)len, words.ptr);
		while (len < words.len && words.ptr[len] == ' ')
			len++;
		words = text_of(words.ptr + len, words.len - len);
		column = 0;
	}
}

static void append_flag_and_help(struct buf *out, const struct setting *setting)
{
	size_t start = buf_len(out);
	buf_append_text(out, TEXT("  "));
	append_flag(out, setting);
	size_t column = buf_len(out) - start;
	if (column + 2 > MARGIN) {
		buf_append_byte(out, '\n');
		column = 0;
	}
	append_wrapped(out, column, text_from(setting->help));
}

void config_print_flags(struct buf *out)
{
	for (enum setting_scope scope = SETTING_ROOT; scope <= SETTING_POOL; scope++) {
		size_t count;
		const struct setting *settings = settings_of(scope, &count);
		for (size_t i = 0; i < count; i++)
			if (settings[i].flag)
				append_flag_and_help(out, &settings[i]);
	}
}
