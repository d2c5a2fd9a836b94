#include "harness/rude_broker.h"

#include "harness/child.h"
#include "harness/scratch.h"

#include <arpa/inet.h>
#include <check.h>
#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define METHOD(class_id, method_id) ((uint32_t)(class_id) << 16 | (method_id))
#define CONTENT                     60 /* class basic */
#define WORDS_MAX                   255
#define FRAME_MAX                   (128 * 1024)

enum {
	START = METHOD(10, 10),
	START_OK = METHOD(10, 11),
	TUNE = METHOD(10, 30),
	TUNE_OK = METHOD(10, 31),
	OPEN = METHOD(10, 40),
	OPEN_OK = METHOD(10, 41),
	CLOSE = METHOD(10, 50),
	CLOSE_OK = METHOD(10, 51),
	BLOCKED = METHOD(10, 60),
	CHANNEL_OPEN = METHOD(20, 10),
	CHANNEL_OPEN_OK = METHOD(20, 11),
	CHANNEL_FLOW = METHOD(20, 20),
	CHANNEL_CLOSE = METHOD(20, 40),
	CHANNEL_CLOSE_OK = METHOD(20, 41),
	QUEUE_DECLARE = METHOD(50, 10),
	QUEUE_DECLARE_OK = METHOD(50, 11),
	CONSUME = METHOD(60, 20),
	CONSUME_OK = METHOD(60, 21),
	RETURN = METHOD(60, 50),
	ACK = METHOD(60, 80),
	SELECT = METHOD(85, 10),
	SELECT_OK = METHOD(85, 11)
};

struct rude_broker {
	pid_t pid;
	enum rude how;
	char words[WORDS_MAX];
	size_t len;
	char *url;
};

/* ---------- bytes ---------- */

struct out {
	uint8_t bytes[1024];
	size_t len;
};

static void put(struct out *out, const void *bytes, size_t len)
{
	if (len > sizeof out->bytes - out->len)
		_exit(1);
	memcpy(out->bytes + out->len, bytes, len);
	out->len += len;
}

static void put_number(struct out *out, uint64_t number, unsigned width)
{
	while (width-- > 0)
		put(out, &(uint8_t){(uint8_t)(number >> 8 * width)}, 1);
}

static void put_short_string(struct out *out, const char *text, size_t len)
{
	put_number(out, len, 1);
	put(out, text, len);
}

static void send_frame(int fd, uint8_t type, uint16_t channel, const struct out *payload)
{
	struct out frame = {0};
	put_number(&frame, type, 1);
	put_number(&frame, channel, 2);
	put_number(&frame, payload->len, 4);
	put(&frame, payload->bytes, payload->len);
	put_number(&frame, 0xce, 1);
	if (send(fd, frame.bytes, frame.len, MSG_NOSIGNAL) != (ssize_t)frame.len)
		_exit(0);
}

static void send_method(int fd, uint16_t channel, uint32_t method, const void *fields, size_t len)
{
	struct out payload = {0};
	put_number(&payload, method, 4);
	put(&payload, fields, len);
	send_frame(fd, 1, channel, &payload);
}

static uint64_t number_at(const uint8_t *bytes, unsigned width)
{
	uint64_t number = 0;
	while (width-- > 0)
		number = number << 8 | *bytes++;
	return number;
}

static void receive(int fd, uint8_t *bytes, size_t len)
{
	while (len > 0) {
		ssize_t got = recv(fd, bytes, len, 0);
		if (got <= 0)
			_exit(0);
		bytes += got;
		len -= (size_t)got;
	}
}

/* ---------- what it says ---------- */

static void send_close(
	const struct rude_broker *broker, int fd, uint16_t channel, uint32_t method, uint16_t code)
{
	struct out fields = {0};
	put_number(&fields, code, 2);
	put_short_string(&fields, broker->words, broker->len);
	put_number(&fields, 0, 4);
	send_method(fd, channel, method, fields.bytes, fields.len);
}

static void send_start(int fd)
{
	static const char fields[] = "\0\11\0\0\0\0\0\0\0\5PLAIN\0\0\0\5en_US";
	send_method(fd, 0, START, fields, sizeof fields - 1);
}

static void send_tune(int fd)
{
	struct out fields = {0};
	put_number(&fields, 2047, 2);
	put_number(&fields, FRAME_MAX, 4);
	put_number(&fields, 0, 2);
	send_method(fd, 0, TUNE, fields.bytes, fields.len);
}

static void send_open_ok(const struct rude_broker *broker, int fd)
{
	struct out words = {0};
	send_method(fd, 0, OPEN_OK, "", 1);
	put_short_string(&words, broker->words, broker->len);
	if (broker->how == RUDE_BLOCKS)
		send_method(fd, 0, BLOCKED, words.bytes, words.len);
}

/* A return has the properties of what was published; here no body. The confirm comes after it. */
static void send_return(const struct rude_broker *broker, int fd, uint16_t channel,
	const uint8_t *header, size_t len)
{
	static uint64_t published;
	struct out fields = {0}, content = {0}, ack = {0};
	put_number(&fields, 312, 2);
	put_short_string(&fields, broker->words, broker->len);
	put_short_string(&fields, "", 0);
	put_short_string(&fields, broker->words, broker->len);
	send_method(fd, channel, RETURN, fields.bytes, fields.len);
	put_number(&content, (uint64_t)CONTENT << 48, 8);
	put_number(&content, 0, 4);
	put(&content, header + 12, len - 12);
	send_frame(fd, 2, channel, &content);
	put_number(&ack, ++published, 8);
	put_number(&ack, 0, 1);
	send_method(fd, channel, ACK, ack.bytes, ack.len);
}

/* Behind a reserved number. */
static void send_declare_ok(int fd, uint16_t channel, const uint8_t *fields)
{
	struct out answer = {0};
	put_short_string(&answer, (const char *)fields + 3, fields[2]);
	put_number(&answer, 0, 8);
	send_method(fd, channel, QUEUE_DECLARE_OK, answer.bytes, answer.len);
}

/* Behind a reserved number and the queue's name. */
static void send_consume_ok(int fd, uint16_t channel, const uint8_t *fields)
{
	const uint8_t *tag = fields + 3 + fields[2];
	send_method(fd, channel, CONSUME_OK, tag, 1 + (size_t)*tag);
}

/* Until the peer hangs up. */
static _Noreturn void ask(int fd, uint16_t channel)
{
	for (;;)
		send_method(fd, channel, CHANNEL_FLOW, "\1", 1);
}

static void answer_in_channel(const struct rude_broker *broker, int fd, uint16_t channel,
	uint32_t method, const uint8_t *fields)
{
	if (method == CHANNEL_OPEN) {
		send_method(fd, channel, CHANNEL_OPEN_OK, "\0\0\0", 4);
		if (broker->how == RUDE_ASKS)
			ask(fd, channel);
	} else if (method == CHANNEL_CLOSE && broker->how == RUDE_FAILS_BETWEEN) {
		send_close(broker, fd, 0, CLOSE, 503);
	} else if (method == CHANNEL_CLOSE) {
		send_method(fd, channel, CHANNEL_CLOSE_OK, "", 0);
	} else if (method == CHANNEL_CLOSE_OK || broker->how == RUDE_BLOCKS) {
		return;
	} else if (broker->how == RUDE_CLOSES_CHANNELS) {
		send_close(broker, fd, channel, CHANNEL_CLOSE, 403);
	} else if (broker->how == RUDE_FAILS) {
		send_close(broker, fd, 0, CLOSE, 541);
	} else if (method == QUEUE_DECLARE && broker->how == RUDE_FAILS_BETWEEN) {
		send_declare_ok(fd, channel, fields);
	} else if (method == SELECT) {
		send_method(fd, channel, SELECT_OK, "", 0);
	} else if (method == CONSUME) {
		send_consume_ok(fd, channel, fields);
	}
}

static void answer(const struct rude_broker *broker, int fd, uint16_t channel, uint32_t method,
	const uint8_t *fields)
{
	if (channel > 0)
		answer_in_channel(broker, fd, channel, method, fields);
	else if (method == START_OK && broker->how == RUDE_REFUSES_LOGIN)
		send_close(broker, fd, 0, CLOSE, 403);
	else if (method == START_OK)
		send_tune(fd);
	else if (method == OPEN)
		send_open_ok(broker, fd);
	else if (method == CLOSE)
		send_method(fd, 0, CLOSE_OK, "", 0);
	else if (method == CLOSE_OK)
		_exit(0);
}

/* ---------- processes ---------- */

static _Noreturn void talk(const struct rude_broker *broker, int fd)
{
	static uint8_t payload[FRAME_MAX];
	uint8_t head[8], end;
	receive(fd, head, sizeof head);
	send_start(fd);
	for (;;) {
		receive(fd, head, 7);
		size_t len = number_at(head + 3, 4);
		if (len > sizeof payload)
			_exit(1);
		receive(fd, payload, len);
		receive(fd, &end, 1);
		if (*head == 1 && len >= 4)
			answer(broker, fd, (uint16_t)number_at(head + 1, 2),
				(uint32_t)number_at(payload, 4), payload + 4);
		else if (*head == 2 && len > 12 && broker->how == RUDE_RETURNS)
			send_return(broker, fd, (uint16_t)number_at(head + 1, 2), payload, len);
	}
}

/* A process for each connection. */
static _Noreturn void listen_for(const struct rude_broker *broker, int listener)
{
	signal(SIGCHLD, SIG_IGN);
	for (;;) {
		int fd = accept(listener, NULL, NULL);
		if (fd >= 0 && fork() == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			close(listener);
			talk(broker, fd);
		}
		close(fd);
	}
}

static int listen_somewhere(int *ret_port)
{
	struct sockaddr_in name = {
		.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof name;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	ck_assert_int_ge(fd, 0);
	/* What its connections hold unread, so that a flood need not be long. */
	ck_assert_int_eq(setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &(int){64 * 1024}, sizeof(int)), 0);
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&name, size), 0);
	ck_assert_int_eq(listen(fd, 16), 0);
	ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&name, &size), 0);
	*ret_port = ntohs(name.sin_port);
	return fd;
}

struct rude_broker *rude_broker_start(enum rude how, const char *words, size_t len)
{
	struct rude_broker *broker = calloc(1, sizeof *broker);
	int port, listener = listen_somewhere(&port);
	ck_assert_ptr_nonnull(broker);
	ck_assert_uint_le(len, WORDS_MAX);
	broker->how = how;
	broker->len = len;
	memcpy(broker->words, words, len);
	broker->url = scratch_text("amqp://guest:guest@127.0.0.1:%d", port);
	broker->pid = child_fork();
	if (broker->pid == 0)
		listen_for(broker, listener);
	close(listener);
	return broker;
}

void rude_broker_free(struct rude_broker *broker)
{
	kill(broker->pid, SIGKILL);
	ck_assert_int_eq(waitpid(broker->pid, NULL, 0), broker->pid);
	free(broker->url);
	free(broker);
}

const char *rude_broker_url(const struct rude_broker *broker)
{
	return broker->url;
}
