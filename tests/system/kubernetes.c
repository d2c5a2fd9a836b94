/* The manifests of env/kubernetes at work, without Kubernetes: tests/kube/pod starts a supervisor
 * with the ConfigMap's configuration, the Deployment's environment and, where the tests may make a
 * mount namespace, its restrictions. */
#include "harness/control.h"
#include "harness/deadline.h"
#include "harness/http.h"
#include "system/system.h"

#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct pod {
	struct proc *proc;
	char *address; /* "127.0.0.1:PORT" of its probes */
	const char *wpool;
	bool is_restricted;
};

/* Probes and Prometheus name the pod by its address. */
static int get(const struct pod *pod, const char *path)
{
	struct http_reply reply =
		http_request_with(pod->address, "GET", path, "Host: 10.244.1.7:9464\r\n");
	int status = reply.status;
	http_release(&reply);
	return status;
}

static void await_status(const struct pod *pod, const char *path, int status)
{
	int64_t deadline = deadline_in(DEADLINE_DEFAULT_MS);
	while (get(pod, path) != status)
		fixture_poll(deadline, 20, scratch_text("%s answers %d", path, status));
}

static struct pod start_pod(void)
{
	if (access(fixture.witness, F_OK) != 0)
		scratch_write(fixture.witness, "");
	ck_assert_int_eq(chmod(fixture.witness, 0666), 0);
	struct pod pod = {
		.wpool = fixture_public_copy("wpool"),
		.is_restricted = fixture_can_run((const char *const[]){
			"unshare", "--mount", "--propagation=private", "true", NULL}),
	};
	const char *const argv[] = {"tests/kube/pod", fixture.folder, broker_url(fixture.broker),
		fixture.queue, pod.wpool, fixture_public_copy("workers/echo"),
		pod.is_restricted ? "--restricted" : NULL, NULL};
	const char *const environment[] = {scratch_text("WITNESS=%s", fixture.witness), NULL};
	pod.proc = proc_start(fixture.folder, argv, environment);
	proc_expect(pod.proc, "page, metrics and health: ");
	const char *port = strstr(proc_stderr(pod.proc), "(port ");
	ck_assert_ptr_nonnull(port);
	pod.address = scratch_text("127.0.0.1:%d", atoi(port + strlen("(port ")));
	await_status(&pod, "/readyz", 200);
	return pod;
}

static void stop_pod(struct pod *pod)
{
	fixture_stop(pod->proc);
	proc_free(pod->proc);
}

/* Run a command in the pod, as `kubectl exec` does. Return its exit code. */
static int exec_in(const struct pod *pod, const char *program, const char *argument)
{
	const char *const entered[] = {"nsenter", "--mount", "--target",
		scratch_text("%d", (int)proc_pid(pod->proc)), "--setuid", "10001", "--setgid",
		"10001", "--", program, argument, NULL};
	const char *const plain[] = {program, argument, NULL};
	const char *const environment[] = {
		scratch_text("WPOOL_CONTROL_SOCKET=%s/control.sock", fixture.folder), NULL};
	struct proc *proc = pod->is_restricted ? proc_start(fixture.folder, entered, NULL)
					       : proc_start(fixture.folder, plain, environment);
	int code = proc_wait(proc);
	proc_free(proc);
	return code;
}

static void expect_in_status(const struct pod *pod, const char *line)
{
	char *path = scratch_text("/proc/%d/status", (int)proc_pid(pod->proc));
	char *text = scratch_read(path, NULL);
	ck_assert_msg(text && strstr(text, line), "'%s' is not in %s:\n%s", line, path, text);
	free(text);
	free(path);
}

START_TEST(pod_works_with_the_restrictions_of_the_deployment)
{
	struct pod pod = start_pod();
	ck_assert_int_gt(fixture_worker_pid(), 1);
	ck_assert_int_eq(get(&pod, "/livez"), 200);
	ck_assert_int_eq(get(&pod, "/metrics"), 200);
	ck_assert_int_eq(exec_in(&pod, pod.wpool, "status"), 0);
	if (pod.is_restricted) {
		expect_in_status(&pod, "\nUid:\t10001\t10001\t10001\t10001\n");
		expect_in_status(&pod, "\nCapBnd:\t0000000000000000\n");
		expect_in_status(&pod, "\nNoNewPrivs:\t1\n");
		ck_assert_int_eq(exec_in(&pod, "ls", "/run/wpool/control.sock"), 0);
		ck_assert_int_eq(exec_in(&pod, "mkdir", "/run/wpool-test"), 1);
		ck_assert_int_eq(exec_in(&pod, "mkdir", "/wpool-test"), 1);
	} else {
		fixture_not_run(
			"the restrictions of a pod", "the tests may not make a mount namespace");
	}
	stop_pod(&pod);
}
END_TEST

/* The old pod gets SIGTERM when the new one is ready. A task that it has, and that ends before the
 * deadline of the drain, is done once; what comes meanwhile, the new one does. */
START_TEST(rolling_update_repeats_nothing)
{
	enum { MEANWHILE = 200 };
	struct pod old = start_pod();
	fixture_post_held(old.proc, "in-hand");
	struct pod new = start_pod();
	proc_signal(old.proc, SIGTERM);
	proc_expect(old.proc, "draining");
	await_status(&old, "/readyz", 503);
	ck_assert_int_eq(get(&old, "/livez"), 200);
	ck_assert_int_eq(get(&new, "/readyz"), 200);
	control_post_many(0, MEANWHILE);
	broker_expect_messages(fixture.broker, fixture.queue, 1);
	fixture_release("in-hand");
	ck_assert_int_eq(proc_wait(old.proc), 0);
	ck_assert(proc_has_logged(old.proc, "stopped, everything is settled"));
	broker_expect_messages(fixture.broker, fixture.queue, 0);
	stop_pod(&new);
	ck_assert_int_eq(fixture_witnessed("in-hand"), 1);
	ck_assert_int_eq(fixture_witnessed(NULL), MEANWHILE + 1);
	proc_free(old.proc);
}
END_TEST

/* Give the folder of the ConfigMap a new version, as the kubelet does. */
static void change_configuration(const struct pod *pod, const char *edit)
{
	const char *const argv[] = {"sh", "-euc",
		"cd \"$1\"; mkdir ..2; sed \"$2\" ..1/wpool.yaml >..2/wpool.yaml; "
		"ln -s ..2 ..data_tmp; mv -T ..data_tmp ..data",
		"sh", scratch_text("%s/config-%d", fixture.folder, (int)proc_pid(pod->proc)), edit,
		NULL};
	struct proc *proc = proc_start(fixture.folder, argv, NULL);
	ck_assert_int_eq(proc_wait(proc), 0);
	proc_free(proc);
}

START_TEST(new_version_of_the_configmap_is_reloaded)
{
	struct pod pod = start_pod();
	change_configuration(&pod, "s/workers: 4/workers: 1/");
	ck_assert_int_eq(exec_in(&pod, pod.wpool, "reload"), 0);
	char *metrics = http_get(pod.address, "/metrics", 200);
	ck_assert_ptr_nonnull(strstr(metrics, "wpool_workers_wanted{pool=\"task-"));
	ck_assert_ptr_nonnull(
		strstr(strstr(metrics, "wpool_workers_wanted{pool=\"task-"), "\"} 1\n"));
	free(metrics);
	stop_pod(&pod);
}
END_TEST

int main(void)
{
	return SYSTEM_RUN("kubernetes", {pod_works_with_the_restrictions_of_the_deployment, 1},
		{rolling_update_repeats_nothing, 1}, {new_version_of_the_configmap_is_reloaded, 1});
}
