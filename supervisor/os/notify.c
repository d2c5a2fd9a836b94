#include "os/notify.h"

#include "base/log.h"
#include "base/utf8.h"
#include "os/descriptors.h"
#include "os/loop.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define RETRY_SPAN MTIME_SECOND
/* A shorter interval of the watchdog would take too much of the time. */
#define BEAT_MIN     (10 * MTIME_MS)
#define REPAIRED_MAX (16 * 1024)

enum { READY = 1, STATUS = 2, STOPPING = 4, BEAT = 8, RELOADING = 16 };

/* ---------- messages ---------- */

static size_t message_printf(char *message, size_t size, size_t len, const char *format, ...)
	PRINTF_LIKE(4, 5);

/* message has space for everything that may be pending. */
static size_t message_printf(char *message, size_t size, size_t len, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	len += (size_t)vsnprintf(message + len, size - len, format, arguments);
	va_end(arguments);
	return len;
}

/* The manager's clock does not leave out suspensions. */
static int64_t monotonic_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * MTIME_SECOND + now.tv_nsec / 1000;
}

static size_t compose(const struct notify *notify, char *message, size_t size)
{
	size_t len = 0;

	if (notify->pending & RELOADING)
		len = message_printf(message, size, len,
			"RELOADING=1\nMONOTONIC_USEC=%" PRId64 "\n", monotonic_us());
	if (notify->pending & READY)
		len = message_printf(message, size, len, "READY=1\n");
	if (notify->pending & STOPPING)
		len = message_printf(message, size, len,
			"STOPPING=1\nEXTEND_TIMEOUT_USEC=%" PRId64 "\n", notify->stop_span);
	if (notify->pending & STATUS)
		len = message_printf(message, size, len, "STATUS=%s\n", notify->status);
	if (notify->pending & BEAT)
		len = message_printf(message, size, len, "WATCHDOG=1\n");
	return len;
}

static void send_pending(struct notify *notify)
{
	char message[NOTIFY_STATUS_BYTES + 128];
	size_t len = compose(notify, message, sizeof message);

	if (sendto(notify->fd, message, len, MSG_DONTWAIT | MSG_NOSIGNAL,
		    (const struct sockaddr *)&notify->manager, notify->manager_len) < 0) {
		if (!notify->was_refused) /* the manager may be restarting */
			log_warn("the service manager takes no message: %s; retrying each second",
				strerror(errno));
		notify->was_refused = true;
		if (!ev_is_active(&notify->again))
			loop_start_timer(notify->loop, &notify->again, RETRY_SPAN);
		return;
	}
	notify->pending = 0;
	notify->was_refused = false;
	ev_timer_stop(notify->loop, &notify->again);
}

static void on_again(struct ev_loop *loop, struct ev_timer *timer, int events)
{
	(void)loop;
	(void)events;
	send_pending(timer->data);
}

static void on_beat(struct ev_loop *loop, struct ev_timer *timer, int events)
{
	struct notify *notify = timer->data;

	(void)loop;
	(void)events;
	notify->pending |= BEAT;
	send_pending(notify);
}

/* ---------- the address and the watchdog ---------- */

/* False: not an address. */
static bool read_address(const char *text, struct notify *notify)
{
	size_t len = text ? strlen(text) : 0;
	bool is_abstract = len > 1 && text[0] == '@';

	if (len < 2 || len >= sizeof notify->manager.sun_path || (!is_abstract && text[0] != '/'))
		return false;
	notify->manager = (struct sockaddr_un){.sun_family = AF_UNIX};
	memcpy(notify->manager.sun_path, text, len);
	if (is_abstract)
		notify->manager.sun_path[0] = '\0';
	/* An abstract name has no terminating NUL; a path has one. */
	notify->manager_len =
		(socklen_t)(offsetof(struct sockaddr_un, sun_path) + len + !is_abstract);
	return true;
}

/* 0: not a number, or too large. */
static int64_t read_number(const char *text)
{
	char *end;
	long long number;

	if (!text || !isdigit((unsigned char)*text))
		return 0;
	errno = 0;
	number = strtoll(text, &end, 10);
	return *end || errno ? 0 : number;
}

/* 0: no watchdog. Half the interval, so that one keep-alive may be late. */
static mtime read_beat(const char *span, const char *pid)
{
	mtime half = read_number(span) / 2;

	if (half == 0 || (pid && read_number(pid) != getpid()))
		return 0;
	return half < BEAT_MIN ? BEAT_MIN : half;
}

void notify_open(struct notify *notify, struct ev_loop *loop)
{
	const char *address = getenv("NOTIFY_SOCKET");
	mtime beat = read_beat(getenv("WATCHDOG_USEC"), getenv("WATCHDOG_PID"));
	double beat_s = (double)beat / MTIME_SECOND;

	*notify = (struct notify){.fd = -1};
	if (read_address(address, notify))
		notify->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	else if (address && *address)
		errno = EAFNOSUPPORT;
	if (notify->fd >= 0) {
		notify->loop = loop;
		ev_timer_init(&notify->again, on_again, 0, 0);
		ev_timer_init(&notify->beat, on_beat, beat_s, beat_s);
		notify->again.data = notify->beat.data = notify;
		if (beat)
			ev_timer_start(loop, &notify->beat);
	} else if (address && *address) {
		log_warn("cannot notify the service manager at NOTIFY_SOCKET=%s: %s", address,
			strerror(errno));
	}
	unsetenv("NOTIFY_SOCKET");
	unsetenv("WATCHDOG_USEC");
	unsetenv("WATCHDOG_PID");
}

bool notify_has_socket(const struct notify *notify)
{
	return notify->loop != NULL;
}

void notify_close(struct notify *notify)
{
	if (!notify_has_socket(notify))
		return;
	ev_timer_stop(notify->loop, &notify->again);
	ev_timer_stop(notify->loop, &notify->beat);
	descriptor_close(&notify->fd);
	notify->loop = NULL;
}

/* ---------- notifications ---------- */

void notify_ready(struct notify *notify)
{
	notify->pending |= READY;
}

/* If it were sent after a retry, it would carry an old time. */
void notify_reloading(struct notify *notify)
{
	if (!notify_has_socket(notify) || ev_is_active(&notify->again))
		return;
	notify->pending |= RELOADING;
	send_pending(notify);
	notify->pending &= ~(unsigned)RELOADING;
}

void notify_stopping(struct notify *notify, mtime span)
{
	notify->stop_span = span;
	notify->pending |= STOPPING;
}

/* Return the length of as many whole characters as fit: the manager drops a line with invalid
 * UTF-8. */
static size_t fitting(struct text text, size_t size)
{
	size_t len = 0, next;

	while (len < text.len) {
		utf8_first(text_of(text.ptr + len, text.len - len), &next);
		if (len + next > size)
			break;
		len += next;
	}
	return len;
}

void notify_status(struct notify *notify, struct text text)
{
	char status[NOTIFY_STATUS_BYTES];
	struct buf repaired;

	buf_init(&repaired, REPAIRED_MAX);
	utf8_append_escaped(&repaired, text);
	text = buf_text(&repaired);
	snprintf(status, sizeof status, "%.*s", (int)fitting(text, sizeof status - 1),
		text.len ? text.ptr : "");
	buf_release(&repaired);
	if (strcmp(status, notify->status) == 0)
		return;
	memcpy(notify->status, status, sizeof status);
	notify->pending |= STATUS;
}

void notify_flush(struct notify *notify)
{
	if (notify_has_socket(notify) && notify->pending && !ev_is_active(&notify->again))
		send_pending(notify);
}
