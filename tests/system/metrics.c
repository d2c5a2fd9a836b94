/* /metrics in use: Debian's Prometheus accepts it, the rules and the Grafana dashboard name
 * existing metrics, and each of their queries has a result. */
#include "harness/command.h"
#include "harness/control.h"
#include "harness/deadline.h"
#include "harness/http.h"
#include "harness/page.h"
#include "system/system.h"

#include <ctype.h>
#include <poll.h>
#include <string.h>

#define NAME_SIZE 128

static char *file_of_tree(const char *path)
{
	char *text = scratch_read(path, NULL);

	ck_assert_msg(text != NULL, "no %s", path);
	return text;
}

/* A copy with each `from` replaced; frees the text. */
static char *replaced(char *text, const char *from, const char *to)
{
	char *found;

	while ((found = strstr(text, from))) {
		char *next = scratch_text(
			"%.*s%s%s", (int)(found - text), text, to, found + strlen(from));
		free(text);
		text = next;
	}
	return text;
}

/* ---------- a supervisor to whom everything has happened ---------- */

static void post_status(const char *status)
{
	client_post(fixture.client, fixture.queue,
		&(struct letter){.body = "x", .headers = {{"X-Status", status}}});
}

/* Done, retried, given up; and a pool with a session, which is paused. */
static void serve_some(void)
{
	struct proc *serve = page_serve(
		scratch_text("%s- {name: ordered, queue: '%s.ordered', declare: on, "
			     "command: ['%s'], session: {key: 'header:session'}}\n",
			page_echo_pool("first", 2), fixture.queue, fixture_built("workers/echo")),
		0);
	control_await("/readyz", 200);
	proc_expect(serve, "active: has the token"); /* a standby is ready, too */
	RUN(0, "session", "pause", "ordered", "a key");
	control_post_many(0, 50);
	post_status("400");
	post_status("500");
	client_expect_ready(fixture.client, fixture.dead, 2);
	control_expect_done(50);
}

/* ---------- names ---------- */

static bool is_name(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* A metric exists if a line begins with its name, or TYPE names it: a counter may have no series
 * yet. */
static bool has_metric(const char *exposition, const char *name)
{
	char *type = scratch_text("\n# TYPE %s ", name);
	char *sample = scratch_text("\n%s{", name);
	bool is_there = strstr(exposition, type) || strstr(exposition, sample);

	free(type);
	free(sample);
	return is_there;
}

static int expect_names(const char *path, const char *exposition)
{
	const char *text = file_of_tree(path), *at = text;
	int count = 0;

	for (; (at = strstr(at, "wpool_")); at++) {
		char name[NAME_SIZE];
		size_t len = 0;
		while (is_name(at[len]))
			len++;
		snprintf(name, sizeof name, "%.*s", (int)len, at);
		ck_assert_msg(has_metric(exposition, name), "%s: there is no %s", path, name);
		count++;
		at += len - 1;
	}
	return count;
}

START_TEST(dashboard_and_rules_use_existing_metrics)
{
	char *exposition;
	serve_some();
	exposition = control_get("/metrics", 200);
	ck_assert_int_ge(expect_names("env/grafana/dashboards/wpool.json", exposition), 30);
	ck_assert_int_ge(expect_names("env/prometheus/wpool.rules.yml", exposition), 7);
	ck_assert(!has_metric(exposition, "wpool_nothing"));
}
END_TEST

/* ---------- promtool ---------- */

static void run(const char *command)
{
	const char *const argv[] = {"sh", "-c", command, NULL};
	struct proc *proc = proc_start(fixture.folder, argv, NULL);
	int code = proc_wait(proc);

	ck_assert_msg(
		code == 0, "%s: %d: %s%s", command, code, proc_stdout(proc), proc_stderr(proc));
}

START_TEST(promtool_accepts_the_rules)
{
	char *path = scratch_path(fixture.folder, "exposition");
	serve_some();
	scratch_write(path, control_get("/metrics", 200));
	run(scratch_text("promtool check metrics <%s", path));
	run("promtool check config env/prometheus/prometheus.yml");
	run("promtool test rules env/prometheus/wpool.rules.test.yml");
	run("promtool test rules env/prometheus/broker.rules.test.yml");
}
END_TEST

/* ---------- Prometheus ---------- */

static char *prometheus; /* "127.0.0.1:PORT" */

static void start_prometheus(void)
{
	static const char listening[] = "msg=\"Listening on\" address=";
	char *config = file_of_tree("env/prometheus/prometheus.yml");
	char *path = scratch_path(fixture.folder, "prometheus.yml");
	struct proc *proc;

	config = replaced(config, "dns_sd_configs", "static_configs");
	config =
		replaced(config, "{names: [supervisor], type: A, port: 9464, refresh_interval: 5s}",
			scratch_text("{targets: [\"%s\"]}", page_address()));
	config = replaced(config, "rabbitmq:15692", "127.0.0.1:1"); /* nobody is there */
	config = replaced(config, "scrape_interval: 5s", "scrape_interval: 500ms");
	config = replaced(config, "evaluation_interval: 15s", "evaluation_interval: 1s");
	scratch_write(path, config);
	scratch_write(scratch_path(fixture.folder, "wpool.rules.yml"),
		file_of_tree("env/prometheus/wpool.rules.yml"));
	const char *const argv[] = {"prometheus", scratch_text("--config.file=%s", path),
		scratch_text("--storage.tsdb.path=%s/tsdb", fixture.folder),
		"--web.listen-address=127.0.0.1:0", NULL};
	proc = proc_start(fixture.folder, argv, NULL);
	proc_expect(proc, "Server is ready to receive web requests");
	prometheus = strstr(proc_stderr(proc), listening) + strlen(listening);
	prometheus[strcspn(prometheus, "\n")] = '\0';
}

static char *encoded(const char *text)
{
	char *out = malloc(3 * strlen(text) + 1), *end = out;

	for (; *text; text++)
		end += isalnum((unsigned char)*text) ? sprintf(end, "%c", *text)
						     : sprintf(end, "%%%02X", (unsigned char)*text);
	*end = '\0';
	return out;
}

/* The expression with Grafana's variables filled in. */
static char *filled(const char *expression)
{
	char *text = replaced(strdup(expression), "$__rate_interval", "1m");

	text = replaced(text, "$__range", "15m");
	text = replaced(text, "$instance", ".*");
	return replaced(text, "$pool", ".*");
}

static size_t series_of(const char *expression)
{
	char *path = scratch_text("/api/v1/query?query=%s", encoded(expression));
	struct http_reply reply = http_request(prometheus, "GET", path);
	json_t *answer;
	size_t count;

	ck_assert_msg(reply.status == 200, "%s: %d: %s", expression, reply.status, reply.body);
	answer = control_parse(reply.body);
	count = json_array_size(json_object_get(json_object_get(answer, "data"), "result"));
	json_decref(answer);
	free(path);
	return count;
}

static void await_series(const char *expression)
{
	int64_t deadline = deadline_in(DEADLINE_DEFAULT_MS);

	while (series_of(expression) == 0) {
		ck_assert_msg(deadline_left(deadline) > 0, "nothing comes of %s", expression);
		poll(NULL, 0, 200);
	}
}

START_TEST(each_query_of_the_dashboard_has_a_result)
{
	json_t *dashboard, *panel, *target;
	size_t i, k;
	int count = 0;
	serve_some();
	start_prometheus();
	await_series("wpool_ready == 1");
	await_series("changes(wpool_deliveries_total[5s]) == 0"); /* at least two scrapes */
	control_post_many(50, 90);
	post_status("400");
	post_status("500");
	dashboard = control_parse(file_of_tree("env/grafana/dashboards/wpool.json"));
	json_array_foreach(json_object_get(dashboard, "panels"), i, panel)
		json_array_foreach(json_object_get(panel, "targets"), k, target)
	{
		await_series(filled(json_string_value(json_object_get(target, "expr"))));
		count++;
	}
	ck_assert_int_ge(count, 30);
	await_series("ALERTS{alertname=\"WpoolDeadLetters\", alertstate=\"firing\"}");
	ck_assert_uint_eq(series_of("ALERTS{alertname!~\"WpoolDeadLetters.*\"}"), 0);
}
END_TEST

int main(void)
{
	return SYSTEM_RUN("metrics", {dashboard_and_rules_use_existing_metrics, 1},
		{promtool_accepts_the_rules, 1}, {each_query_of_the_dashboard_has_a_result, 1});
}
