#include "harness/peers.h"

#include "harness/control.h"
#include "harness/deadline.h"
#include "harness/fixture.h"
#include "harness/http.h"
#include "harness/scratch.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

struct peer peer_make(int number)
{
	return (struct peer){.file = scratch_text("%s/peer-%d.yaml", fixture.folder, number),
		.socket = scratch_text("%s/peer-%d.sock", fixture.folder, number)};
}

void peer_configure(const struct peer *peer, const char *broker, const char *lists)
{
	char *text = scratch_text(
		"broker: {%s}\ncontrol: {socket: '%s'}\n%s", broker, peer->socket, lists);
	scratch_write(peer->file, text);
	free(text);
}

void peer_start(struct peer *peer)
{
	const char *const arguments[] = {
		"serve", "--config", peer->file, "--log-format", "text", NULL};
	peer->proc = fixture_wpool_with(arguments, peer->environment);
	peer->is_stopped = false;
	proc_expect(peer->proc, "control socket: ");
}

void peer_signal(struct peer *peer, int signal)
{
	peer->is_stopped = signal == SIGSTOP;
	proc_signal(peer->proc, signal);
}

void peer_end(struct peer *peer, int signal, int code)
{
	proc_signal(peer->proc, signal);
	ck_assert_int_eq(proc_wait(peer->proc), code);
	fixture_free_program(peer->proc);
	peer->proc = NULL;
}

/* ---------- figures ---------- */

json_t *peer_throttle(const struct peer *peer, const char *name)
{
	json_t *answer = control_parse(http_get(peer->socket, "/v1/throttles", 200));
	json_t *throttle, *found = NULL;
	size_t i;
	json_array_foreach(json_object_get(answer, "throttles"), i, throttle)
	{
		if (strcmp(control_text(throttle, "name"), name) == 0)
			found = json_incref(throttle);
	}
	ck_assert_msg(found != NULL, "there is no throttle %s", name);
	json_decref(answer);
	return found;
}

json_int_t peer_figure(const struct peer *peer, const char *name, const char *member)
{
	json_t *throttle = peer_throttle(peer, name);
	const json_t *found = json_object_get(throttle, member);
	if (!found)
		found = json_object_get(json_object_get(throttle, "totals"), member);
	ck_assert_msg(json_is_number(found) || json_is_null(found), "%s", member);
	json_int_t value = json_is_null(found) ? -1 : (json_int_t)json_number_value(found);
	json_decref(throttle);
	return value;
}

void peer_await_figure(
	const struct peer *peer, const char *name, const char *member, json_int_t value)
{
	int64_t deadline = deadline_in(DEADLINE_DEFAULT_MS);
	char *what = scratch_text("%s of the throttle %s is %lld", member, name, (long long)value);
	while (peer_figure(peer, name, member) != value)
		fixture_poll(deadline, 20, what);
	free(what);
}

static bool leads(const struct peer *peer, const char *name)
{
	if (!peer->proc || peer->is_stopped)
		return false;
	json_t *throttle = peer_throttle(peer, name);
	bool is_here = strcmp(control_text(throttle, "leader"), "here") == 0;
	json_decref(throttle);
	return is_here;
}

int peers_await_leader(const struct peer peers[], int count, const char *name, int but)
{
	int64_t deadline = deadline_in(DEADLINE_DEFAULT_MS);
	for (;; fixture_poll(deadline, 10, "a supervisor leads the throttle"))
		for (int i = 0; i < count; i++)
			if (i != but && leads(&peers[i], name))
				return i;
}
