#include "unit/support/net/fake.h"

#include "unit/unit.h"
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#define FAKE_METHOD(class_id, method_id) ((uint32_t)(class_id) << 16 | (method_id))

enum {
	START = FAKE_METHOD(10, 10),
	START_OK = FAKE_METHOD(10, 11),
	TUNE = FAKE_METHOD(10, 30),
	OPEN = FAKE_METHOD(10, 40),
	OPEN_OK = FAKE_METHOD(10, 41),
	CLOSE = FAKE_METHOD(10, 50),
	CLOSE_OK = FAKE_METHOD(10, 51)
};

static bool tls_greet(SSL *session)
{
	return SSL_is_init_finished(session) || SSL_do_handshake(session) == 1;
}

static void fake_write(struct fake *f, struct text bytes)
{
	if (f->session)
		SSL_write(f->session, bytes.ptr, (int)bytes.len);
	else
		send(f->fd, bytes.ptr, bytes.len, MSG_NOSIGNAL);
}

static void fake_send_frame(struct fake *f, uint8_t type, struct text payload)
{
	struct buf frame;
	buf_init(&frame, 4096);
	buf_append_byte(&frame, type);
	buf_append_be16(&frame, 0);
	buf_append_be32(&frame, (uint32_t)payload.len);
	buf_append_text(&frame, payload);
	buf_append_byte(&frame, 0xce);
	fake_write(f, buf_text(&frame));
	buf_release(&frame);
}

static void fake_send_method(struct fake *f, uint32_t method, struct text arguments)
{
	struct buf payload;
	buf_init(&payload, 4096);
	buf_append_be32(&payload, method);
	buf_append_text(&payload, arguments);
	fake_send_frame(f, 1, buf_text(&payload));
	buf_release(&payload);
}

static void fake_send_start(struct fake *f)
{
	fake_send_method(f, START,
		TEXT("\x00\x09\x00\x00\x00\x21"
		     "\x07productS\x00\x00\x00\x04"
		     "Fake"
		     "\x07versionS\x00\x00\x00\x03"
		     "1.2"
		     "\x00\x00\x00\x0ePLAIN EXTERNAL\x00\x00\x00\x05"
		     "en_US"));
}

static void fake_send_tune(struct fake *f)
{
	struct buf arguments;
	buf_init(&arguments, 64);
	buf_append_be16(&arguments, 2047);
	buf_append_be32(&arguments, 131072);
	buf_append_be16(&arguments, f->heartbeat_s);
	fake_send_method(f, TUNE, buf_text(&arguments));
	buf_release(&arguments);
}

void fake_send_close(struct fake *f, uint16_t code)
{
	struct buf arguments;
	buf_init(&arguments, 512);
	buf_append_be16(&arguments, code);
	buf_append_byte(&arguments, (uint8_t)f->words.len);
	buf_append_text(&arguments, f->words);
	buf_append_be32(&arguments, 0);
	fake_send_method(f, CLOSE, buf_text(&arguments));
	buf_release(&arguments);
}

void fake_send_heartbeat(struct fake *f)
{
	fake_send_frame(f, 8, TEXT_NONE);
}

void fake_cut(struct fake *f)
{
	if (f->fd < 0)
		return;
	ev_io_stop(f->loop, &f->readable);
	SSL_free(f->session);
	f->session = NULL;
	close(f->fd);
	f->fd = -1;
	buf_clear(&f->input);
}

static void fake_answer_start_ok(struct fake *f)
{
	switch (f->script) {
	case FAKE_REFUSES:
		fake_send_close(f, 403);
		break;
	case FAKE_HANGS_UP:
		fake_cut(f);
		break;
	default:
		fake_send_tune(f);
	}
}

static void fake_answer_open(struct fake *f)
{
	if (f->script == FAKE_FORBIDS_VHOST) {
		fake_send_close(f, 530);
		return;
	}
	f->opened++;
	fake_send_method(f, OPEN_OK, TEXT("\0"));
	if (f->script == FAKE_IS_DEAF) {
		f->is_deaf = true;
		ev_io_stop(f->loop, &f->readable);
	}
}

static void fake_on_method(struct fake *f, uint32_t method)
{
	if (method == START_OK)
		fake_answer_start_ok(f);
	else if (method == OPEN)
		fake_answer_open(f);
	else if (method == CLOSE && f->script != FAKE_IS_SILENT)
		fake_send_method(f, CLOSE_OK, TEXT_NONE);
	else if (method == CLOSE_OK)
		fake_cut(f);
}

static uint32_t be32(const uint8_t *bytes)
{
	return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 |
	       bytes[3];
}

static void fake_greet(struct fake *f)
{
	if (f->script == FAKE_IS_NO_BROKER)
		fake_write(f, TEXT("HTTP/1.1 400 Bad Request\r\n\r\n"));
	else if (f->script != FAKE_SAYS_NOTHING)
		fake_send_start(f);
}

/* False: no whole frame (or protocol header) is there. */
static bool fake_take(struct fake *f)
{
	const uint8_t *bytes = (const uint8_t *)buf_text(&f->input).ptr;
	size_t len = buf_len(&f->input);
	if (len >= 8 && memcmp(bytes, "AMQP", 4) == 0) {
		buf_consume(&f->input, 8);
		fake_greet(f);
		return true;
	}
	if (len < 8 || len < 8 + be32(bytes + 3))
		return false;
	uint8_t type = bytes[0];
	uint32_t method = type == 1 ? be32(bytes + 7) : 0;
	buf_consume(&f->input, 8 + be32(bytes + 3));
	f->heartbeats += type == 8;
	fake_on_method(f, method);
	return true;
}

/* False: nothing more for now, or the connection is over. */
static bool fake_read(struct fake *f)
{
	char piece[65536];
	ssize_t got;
	if (f->session && !tls_greet(f->session))
		return false;
	if (f->session)
		got = SSL_read(f->session, piece, sizeof piece);
	else
		got = recv(f->fd, piece, sizeof piece, 0);
	if (got == 0 || (got < 0 && !f->session && errno != EAGAIN))
		fake_cut(f);
	if (got <= 0)
		return false;
	f->received += (size_t)got;
	buf_append(&f->input, piece, (size_t)got);
	return true;
}

static void fake_on_readable(struct ev_loop *loop, ev_io *watcher, int events)
{
	(void)loop, (void)events;
	struct fake *f = watcher->data;
	while (f->fd >= 0 && !f->is_deaf && fake_read(f))
		while (f->fd >= 0 && fake_take(f))
			;
	if (f->session && SSL_is_init_finished(f->session)) {
		const char *sni = SSL_get_servername(f->session, TLSEXT_NAMETYPE_host_name);
		snprintf(f->sni, sizeof f->sni, "%s", sni ? sni : "");
		f->client_had_certificate = SSL_get0_peer_certificate(f->session) != NULL;
	}
}

static void fake_on_acceptable(struct ev_loop *loop, ev_io *watcher, int events)
{
	(void)events;
	struct fake *f = watcher->data;
	fake_cut(f);
	f->fd = accept4(f->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	f->accepted++;
	if (f->context) {
		f->session = SSL_new(f->context);
		SSL_set_fd(f->session, f->fd);
		SSL_set_accept_state(f->session);
	}
	ev_io_set(&f->readable, f->fd, EV_READ);
	ev_io_start(loop, &f->readable);
	if (f->greets_at_once)
		fake_greet(f);
}

void fake_init(struct fake *f, struct ev_loop *loop, enum fake_script script)
{
	struct sockaddr_in address = {
		.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof address;
	*f = (struct fake){.loop = loop, .fd = -1, .script = script, .words = TEXT("words")};
	buf_init(&f->input, 64 * 1024 * 1024);
	f->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	ck_assert(bind(f->listener, (struct sockaddr *)&address, sizeof address) == 0);
	ck_assert(listen(f->listener, 8) == 0);
	ck_assert(getsockname(f->listener, (struct sockaddr *)&address, &len) == 0);
	f->port = ntohs(address.sin_port);
	ev_init(&f->readable, fake_on_readable);
	ev_io_init(&f->acceptable, fake_on_acceptable, f->listener, EV_READ);
	f->readable.data = f->acceptable.data = f;
	ev_io_start(loop, &f->acceptable);
}

void fake_use_tls(struct fake *f, X509 *x509, EVP_PKEY *key)
{
	f->context = SSL_CTX_new(TLS_server_method());
	ck_assert(SSL_CTX_use_certificate(f->context, x509) == 1);
	ck_assert(SSL_CTX_use_PrivateKey(f->context, key) == 1);
	X509_STORE_add_cert(SSL_CTX_get_cert_store(f->context), x509);
	SSL_CTX_set_verify(f->context, SSL_VERIFY_PEER, NULL);
}

void fake_listen(struct fake *f)
{
	f->is_deaf = false;
	ev_io_start(f->loop, &f->readable);
}

void fake_release(struct fake *f)
{
	fake_cut(f);
	ev_io_stop(f->loop, &f->acceptable);
	close(f->listener);
	SSL_CTX_free(f->context);
	buf_release(&f->input);
}
