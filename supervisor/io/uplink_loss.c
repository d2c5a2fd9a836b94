#include "io/uplink_state.h"

#include "io/clock.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define CODE_OK          200
#define CODE_FORCED      320 /* an operator closed it, or the broker stops */
#define CODE_REFUSED     403
#define CODE_NOT_ALLOWED 530 /* the vhost: unknown, or not for this user */

static const struct broker_url *uplink_host(const struct uplink *u)
{
	return &u->config.hosts[u->reconnect.host];
}

const char *uplink_shown(const struct uplink *u, char *buffer)
{
	const struct broker_url *url = uplink_host(u);
	bool is_ipv6 = strchr(url->host, ':') != NULL;
	snprintf(buffer, UPLINK_HOST_ROOM, "%s%s%s:%u", is_ipv6 ? "[" : "", url->host,
		is_ipv6 ? "]" : "", (unsigned)url->port);
	return buffer;
}

struct log_origin uplink_origin(const struct uplink *u)
{
	return (struct log_origin){.pool = u->config.pool, .slot = -1};
}

/* Its last failure is what another said, who is not open since. */
static bool uplink_repeats(const struct uplink *u)
{
	const struct uplink *latest = u->config.voice->latest;
	return latest && latest != u && strcmp(latest->failure, u->failure) == 0;
}

void uplink_be_silent(struct uplink *u)
{
	if (u->config.voice->latest == u)
		u->config.voice->latest = NULL;
}

/* Who gives up after a while says why in the end: until then each try is a detail; and so is one of
 * two connections that the same broker does not take. One that was open is lost but once. */
static enum log_level uplink_loudness(struct uplink *u, mtime open_for)
{
	if (open_for == 0 && (u->config.reconnect_limit > 0 || uplink_repeats(u)))
		return LOG_DEBUG;
	u->config.voice->latest = u;
	return LOG_WARN;
}

/* open_for: how long the connection was open; 0: it never was. */
static void uplink_plan(struct uplink *u, mtime open_for)
{
	char host[UPLINK_HOST_ROOM], next[UPLINK_HOST_ROOM];
	enum log_level level;
	uplink_shown(u, host);
	snprintf(u->failure, sizeof u->failure, "%s: %s", host, u->why);
	if (u->is_refused && u->config.refusal_is_final) { /* on_end will say why */
		uplink_enter(u, UPLINK_GIVING_UP, 0);
		return;
	}
	level = uplink_loudness(u, open_for);
	mtime wait = reconnect_failed(&u->reconnect, u->is_refused, open_for);
	if (wait == 0)
		log_line(level, uplink_origin(u), "broker %s (%s): %s; trying %s next", host,
			u->config.name, u->why, uplink_shown(u, next));
	else
		log_line(level, uplink_origin(u), "broker %s (%s): %s; again in %.1f s", host,
			u->config.name, u->why, (double)wait / MTIME_SECOND);
	uplink_enter(u, UPLINK_WAITING, wait);
}

/* The owner may call uplink_close in on_down: then it is over, and nothing is planned. */
void uplink_lose(struct uplink *u)
{
	bool was_closing = u->state == UPLINK_CLOSING;
	bool was_open = u->state == UPLINK_UP || was_closing;

	uplink_stop_watchers(u);
	uplink_enter(
		u, was_closing ? UPLINK_ENDING : UPLINK_WAITING, was_closing ? 0 : MTIME_NEVER);
	if (was_open) {
		if (!was_closing)
			uplink_arm_limit(u);
		u->handler.on_down(u->ctx, u->close_code != 0 && u->close_code != CODE_OK &&
						   u->close_code != CODE_FORCED);
	}
	uplink_drop(u);
	if (u->state == UPLINK_WAITING)
		uplink_plan(u, was_open ? clock_now() - u->opened : 0);
}

void uplink_fail(struct uplink *u, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	vsnprintf(u->why, sizeof u->why, format, args);
	va_end(args);
	uplink_lose(u);
}

void uplink_say_late(struct uplink *u)
{
	snprintf(u->why, sizeof u->why, "no answer within %.3g s (%s)",
		(double)uplink_connect_span(u) / MTIME_SECOND,
		u->dialer ? dialer_stage(u->dialer) : "AMQP handshake");
}

static void uplink_refused(struct uplink *u, const char *what, const char *details)
{
	const struct broker_url *url = uplink_host(u);
	u->is_refused = true;
	if (url->external)
		uplink_fail(u, "%s by certificate%s", what, details);
	else
		uplink_fail(u, "%s of user %s%s", what, url->user, details);
}

/* A broker that does not know authentication_failure_close just hangs up on a wrong password. */
void uplink_hung_up(struct uplink *u)
{
	if (u->state != UPLINK_OPENING)
		uplink_fail(u, "the broker hung up");
	else if (connection_peer_product(u->connection).len > 0)
		uplink_refused(u, "refused the login", ", it seems: hung up on it");
	else
		uplink_fail(u, "hung up in the handshake (does that port speak plain AMQP?)");
}

static void uplink_closed_by_broker(struct uplink *u)
{
	char details[220];
	snprintf(details, sizeof details, ": %u %s", (unsigned)u->close_code, u->close_text);
	if (u->state == UPLINK_OPENING && u->close_code == CODE_REFUSED)
		uplink_refused(u, "refused the login", details);
	else if (u->state == UPLINK_OPENING && u->close_code == CODE_NOT_ALLOWED)
		uplink_refused(u, "refused the virtual host to the login", details);
	else
		uplink_fail(u, "the broker closed the connection%s", details);
}

void uplink_lose_by(struct uplink *u, enum rc rc)
{
	uplink_send(u); /* connection.close or its answer, if the socket takes it */
	if (rc == RC_CLOSED) {
		uplink_closed_by_broker(u);
		return;
	}
	unsigned code = u->close_code;
	u->close_code = 0; /* ours, not the broker's */
	if (rc == RC_MALFORMED)
		uplink_fail(u, "the peer broke the protocol: %u %s", code, u->close_text);
	else
		uplink_fail(u, "%s%s%s", rc_words(rc), *u->close_text ? ": " : "", u->close_text);
}
