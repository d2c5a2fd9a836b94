#include "control/control.h"

#include "base/backoff.h"
#include "config/rights.h"
#include "control/access.h"
#include "control/routes.h"
#include "http/control_path.h"
#include "os/ancestry.h"
#include "os/loop.h"
#include "os/peer_process.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* Connections have one descriptor in this many, at least PLACES_MIN and at most HTTP_CLIENTS_MAX.
 */
#define DESCRIPTOR_SHARE 8
#define PLACES_MIN       32
/* A deployment may start the new supervisor before the old one has ended. Most are gone at once. */
#define RETRY_FIRST (20 * MTIME_MS)
#define RETRY_MAX   (5 * MTIME_SECOND)
/* How long control_finish waits for open answers. */
#define LAST_ANSWERS (200 * MTIME_MS)

struct control {
	struct ev_loop *loop;
	const struct supervisor_view *view;
	struct http *http;
	struct listener local, remote;
	struct access_token token;
	struct ev_timer retry; /* another process has our socket or address */
	struct backoff backoff;
	char wanted_path[LISTENER_PATH_BYTES];
	bool wants_remote;
};

/* A line was logged. */
static void on_line(void *ctx)
{
	const struct control *control = ctx;

	http_wake(control->http);
}

static void on_request(void *ctx, const struct http_request *request)
{
	const struct control *control = ctx;

	control_answer(control->view, &control->token, request);
}

static unsigned connection_places(void)
{
	struct rlimit limit;
	rlim_t places = PLACES_MIN;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0)
		places = limit.rlim_cur / DESCRIPTOR_SHARE;
	if (places < PLACES_MIN)
		return PLACES_MIN;
	return places < HTTP_CLIENTS_MAX ? (unsigned)places : HTTP_CLIENTS_MAX;
}

/* A worker of our own user, or of control.group, could open the socket, and then stop us or read
 * what others log. */
static bool admits(void *ctx, int fd)
{
	(void)ctx;
	return !ancestry_peer_may_be_ours(fd, rights_may_change_user());
}

/* ---------- the socket ---------- */

/* LISTENER_NO_GROUP: our user alone. A group that is gone since the check has no members. */
static gid_t socket_group(const struct control *control)
{
	const char *name = control->view->config->control_group;
	gid_t group;

	return name && rights_find_group(name, &group) ? group : LISTENER_NO_GROUP;
}

/* The commands that an operator types reach the other one: say which one, and what to do. */
static void log_refused(const char *path)
{
	pid_t pid = peer_process_at(path);
	char command[256] = "", who[320] = "";

	if (pid > 0) {
		peer_process_read_command(pid, command, sizeof command);
		snprintf(who, sizeof who, ": pid %d%s%s%s", (int)pid, *command ? " (" : "", command,
			*command ? ")" : "");
	}
	log_warn(
		"another supervisor has the control socket %s%s; wpool status, stop and the others "
		"reach that one, and this one serves without until it is free: give each its own "
		"(control.socket or WPOOL_CONTROL_SOCKET, and --socket for the commands)",
		path, who);
}

/* Use the first path that works. A path where another supervisor listens ends the search: no
 * command would find us at the next one. */
static void open_local(struct control *control)
{
	struct control_paths paths = control_paths_of(control->view->config->control_socket);
	enum rc rc = RC_SYSTEM;
	const char *path;
	size_t i = 0;

	if (paths.count == 0)
		return;
	for (; rc != RC_OK && rc != RC_REFUSED && i < paths.count; i++) {
		rc = paths.is_default ? control_path_prepare(paths.list[i], socket_group(control))
				      : RC_OK;
		if (rc == RC_OK)
			rc = listener_open_path(
				paths.list[i], socket_group(control), &control->local);
	}
	path = paths.list[i - 1];
	if (rc == RC_OK) {
		http_listen(control->http, control->local.fd);
	} else if (rc == RC_REFUSED) {
		memcpy(control->wanted_path, path, sizeof control->wanted_path);
		log_refused(path);
	} else {
		log_warn("no control socket at %s: %s; serving without (see control.socket)", path,
			rc == RC_MALFORMED ? "the file there is not a socket"
			: rc == RC_SYSTEM  ? strerror(errno)
					   : rc_text(rc));
	}
}

/* ---------- the address ---------- */

static void open_remote(struct control *control)
{
	const char *address = control->view->config->http_listen;
	enum rc rc;

	if (strcmp(address, "off") == 0)
		return;
	rc = listener_open_address(address, &control->remote);
	if (rc == RC_OK) {
		http_listen(control->http, control->remote.fd);
		return;
	}
	control->wants_remote = rc == RC_REFUSED;
	log_warn("cannot listen at %s: %s; serving without the page and metrics over TCP%s",
		address, rc == RC_REFUSED ? "it is in use" : strerror(errno),
		rc == RC_REFUSED ? " until it is free" : "");
}

/* ---------- life ---------- */

/* Log where to look, in one line: what has just been opened. */
static void log_opened(const struct control *control, bool is_local, bool is_remote)
{
	const char *address = control->view->config->http_listen;
	const char *port = strrchr(address, ':');
	char local[LISTENER_PATH_BYTES + 64] = "", remote[128] = "", chosen[32] = "";

	if (is_local)
		snprintf(local, sizeof local, "control socket: %s (wpool status asks it)%s",
			control->local.path, is_remote ? "; " : "");
	if (is_remote && port && strcmp(port, ":0") == 0) /* the kernel chooses one */
		snprintf(chosen, sizeof chosen, " (port %u)", listener_port(&control->remote));
	if (is_remote)
		snprintf(remote, sizeof remote, "page, metrics and health: http://%s%s", address,
			chosen);
	if (is_local || is_remote)
		log_info("%s%s", local, remote);
}

static void retry_later(struct control *control)
{
	if (*control->wanted_path || control->wants_remote)
		loop_start_timer(control->loop, &control->retry, backoff_next(&control->backoff));
}

/* open_local and open_remote have logged that they are in use. */
static void on_retry(struct ev_loop *loop, struct ev_timer *timer, int events)
{
	struct control *control = timer->data;
	const char *address = control->view->config->http_listen;

	(void)loop;
	(void)events;
	if (*control->wanted_path && listener_open_path(control->wanted_path, socket_group(control),
					     &control->local) == RC_OK) {
		log_warn(
			"took over the control socket %s, which is free now: wpool status, stop and "
			"the others reach this supervisor from here on (control.socket gives each "
			"its own)",
			control->wanted_path);
		*control->wanted_path = '\0';
		http_listen(control->http, control->local.fd);
	}
	if (control->wants_remote && listener_open_address(address, &control->remote) == RC_OK) {
		control->wants_remote = false;
		http_listen(control->http, control->remote.fd);
		log_opened(control, false, true);
	}
	retry_later(control);
}

struct control *control_new(struct ev_loop *loop, const struct supervisor_view *view)
{
	const struct config *config = view->config;
	struct control *control;

	if (strcmp(config->control_socket, "off") == 0 && strcmp(config->http_listen, "off") == 0)
		return NULL;
	control = calloc(1, sizeof *control);
	if (control)
		*control = (struct control){.loop = loop,
			.view = view,
			.http = http_new(loop, connection_places(), on_request, control),
			.local = LISTENER_NONE,
			.remote = LISTENER_NONE};
	if (!control || !control->http) {
		log_warn("no memory or descriptors for the control API; serving without");
		free(control);
		return NULL;
	}
	ev_timer_init(&control->retry, on_retry, 0, 0);
	control->retry.data = control;
	backoff_init(&control->backoff, RETRY_FIRST, RETRY_MAX, (uint32_t)getpid());
	http_set_admission(control->http, admits);
	access_read_token(&control->token, config);
	open_local(control);
	open_remote(control);
	log_opened(control, control->local.fd >= 0, control->remote.fd >= 0);
	retry_later(control);
	log_watch(on_line, control);
	return control;
}

void control_reloaded(struct control *control)
{
	if (control)
		access_read_token(&control->token, control->view->config);
}

void control_finish(struct control *control)
{
	if (control)
		http_finish(control->http, LAST_ANSWERS);
}

void control_free(struct control *control)
{
	if (!control)
		return;
	log_watch(NULL, NULL);
	ev_timer_stop(control->loop, &control->retry);
	http_free(control->http);
	listener_close(&control->local);
	listener_close(&control->remote);
	access_forget_token(&control->token);
	free(control);
}
