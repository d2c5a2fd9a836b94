/* Calls a queue's workers many times concurrently and prints every reply. Used by the demo.
 *   caller [--header NAME=VALUE] [--title TEXT] [--account FILE] [--keyed] URL QUEUE [FILE...]
 * Makes one call for each file, or for each line of stdin, which with --keyed begins with the value
 * of the header session and a space. stdout: one line "<number of the call>
 * <reply>" for each, in the order of the replies. stderr: progress. FILE of --account gets
 * "confirmed replied repeated". Exit 0: all were confirmed and answered exactly once. */
#include <amqp.h>
#include <amqp_tcp_socket.h>

#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#define CHANNEL      1
#define WINDOW       500 /* calls open at once */
#define SILENCE_SECS 60  /* give up after this time without a frame */

struct call {
	char *body, *key; /* key NULL: without the header session */
	size_t size;
	bool is_confirmed, is_answered;
};

struct caller {
	amqp_connection_state_t connection;
	const char *queue, *title, *account, *header;
	bool is_keyed;
	amqp_bytes_t reply_queue;
	struct call *calls;
	size_t count;
	size_t sent, confirmed, replied, repeated;
	int shown_percent;
};

static _Noreturn void fail(const char *what, const char *detail)
{
	fprintf(stderr, "caller: %s: %s\n", what, detail);
	exit(EXIT_FAILURE);
}

static void must(amqp_rpc_reply_t reply, const char *what)
{
	if (reply.reply_type == AMQP_RESPONSE_LIBRARY_EXCEPTION)
		fail(what, amqp_error_string2(reply.library_error));
	if (reply.reply_type != AMQP_RESPONSE_NORMAL)
		fail(what, "the broker refused");
}

/* ---- the calls ---- */

static void add_call(struct caller *caller, char *body, size_t size)
{
	if ((caller->count & (caller->count + 1)) == 0) {
		size_t room = 2 * caller->count + 2;
		caller->calls = realloc(caller->calls, room * sizeof *caller->calls);
		if (!caller->calls)
			fail("calls", "out of memory");
	}
	caller->calls[caller->count++] = (struct call){.body = body, .size = size};
}

static void read_file(struct caller *caller, const char *path)
{
	char *body = NULL;
	size_t room = 0;
	FILE *file = fopen(path, "r");
	if (!file)
		fail("cannot read", path);
	/* No text holds a NUL, so this is the whole file. */
	ssize_t size = getdelim(&body, &room, '\0', file);
	fclose(file);
	add_call(caller, body, size > 0 ? (size_t)size : 0);
}

static void read_lines(struct caller *caller)
{
	for (;;) {
		char *line = NULL;
		size_t room = 0;
		ssize_t size = getline(&line, &room, stdin);
		if (size <= 0) {
			free(line);
			return;
		}
		size -= line[size - 1] == '\n';
		char *body = caller->is_keyed ? memchr(line, ' ', (size_t)size) : NULL;
		if (caller->is_keyed && !body)
			fail("no key in a line", line);
		if (body)
			*body++ = '\0';
		add_call(caller, body ? body : line, (size_t)(line + size - (body ? body : line)));
		caller->calls[caller->count - 1].key = body ? line : NULL;
	}
}

/* ---- the broker ---- */

static void open_connection(struct caller *caller, const char *url)
{
	struct amqp_connection_info parts;
	char *copy = strdup(url);
	amqp_default_connection_info(&parts);
	if (!copy || amqp_parse_url(copy, &parts) != AMQP_STATUS_OK)
		fail("bad address", "not an amqp:// URL");
	caller->connection = amqp_new_connection();
	amqp_socket_t *socket = amqp_tcp_socket_new(caller->connection);
	if (!socket || amqp_socket_open(socket, parts.host, parts.port) != AMQP_STATUS_OK)
		fail("cannot connect to", parts.host);
	must(amqp_login(caller->connection, parts.vhost, 0, 131072, 30, AMQP_SASL_METHOD_PLAIN,
		     parts.user, parts.password),
		"login");
	free(copy);
	amqp_channel_open(caller->connection, CHANNEL);
	must(amqp_get_rpc_reply(caller->connection), "channel");
	amqp_confirm_select(caller->connection, CHANNEL);
	must(amqp_get_rpc_reply(caller->connection), "confirms");
}

static void open_reply_queue(struct caller *caller)
{
	amqp_queue_declare_ok_t *declared = amqp_queue_declare(caller->connection, CHANNEL,
		amqp_empty_bytes, false, false, true, true, amqp_empty_table);
	must(amqp_get_rpc_reply(caller->connection), "reply queue");
	caller->reply_queue = amqp_bytes_malloc_dup(declared->queue);
	amqp_basic_consume(caller->connection, CHANNEL, caller->reply_queue, amqp_empty_bytes,
		false, true, true, amqp_empty_table);
	must(amqp_get_rpc_reply(caller->connection), "reply queue");
}

/* name: of len bytes. Both are borrowed. */
static amqp_table_entry_t header_of(const char *name, size_t len, const char *value)
{
	return (amqp_table_entry_t){
		.key = {len, (void *)(uintptr_t)name},
		.value = {.kind = AMQP_FIELD_KIND_UTF8, .value.bytes = amqp_cstring_bytes(value)},
	};
}

static void send_next(struct caller *caller)
{
	struct call *call = &caller->calls[caller->sent];
	char number[24];
	snprintf(number, sizeof number, "%zu", caller->sent);
	amqp_basic_properties_t properties = {
		._flags = AMQP_BASIC_DELIVERY_MODE_FLAG | AMQP_BASIC_REPLY_TO_FLAG |
			  AMQP_BASIC_CORRELATION_ID_FLAG,
		.delivery_mode = AMQP_DELIVERY_PERSISTENT,
		.reply_to = caller->reply_queue,
		.correlation_id = amqp_cstring_bytes(number),
	};
	amqp_table_entry_t headers[2];
	int count = 0;
	const char *value = caller->header ? strchr(caller->header, '=') : NULL;
	if (value)
		headers[count++] =
			header_of(caller->header, (size_t)(value - caller->header), value + 1);
	if (call->key)
		headers[count++] = header_of("session", strlen("session"), call->key);
	properties.headers = (amqp_table_t){count, headers};
	properties._flags |= count > 0 ? AMQP_BASIC_HEADERS_FLAG : 0;
	int rc = amqp_basic_publish(caller->connection, CHANNEL, amqp_empty_bytes,
		amqp_cstring_bytes(caller->queue), true, false, &properties,
		(amqp_bytes_t){call->size, call->body});
	if (rc != AMQP_STATUS_OK)
		fail("publish", amqp_error_string2(rc));
	caller->sent++;
}

/* ---- replies and confirms ---- */

/* The tag of a call's publish is its number + 1. */
static void confirm(struct caller *caller, uint64_t tag)
{
	if (tag == 0 || tag > caller->sent || caller->calls[tag - 1].is_confirmed)
		return;
	caller->calls[tag - 1].is_confirmed = true;
	caller->confirmed++;
}

static void handle_confirm(struct caller *caller, const amqp_basic_ack_t *ack)
{
	confirm(caller, ack->delivery_tag);
	for (uint64_t tag = ack->delivery_tag; ack->multiple && tag > 1; tag--)
		confirm(caller, tag - 1);
}

static void print_reply(size_t number, amqp_bytes_t body)
{
	const char *text = body.bytes;
	printf("%zu ", number);
	for (size_t i = 0; i < body.len; i++)
		putchar(text[i] == '\n' ? ' ' : text[i]);
	putchar('\n');
}

static void handle_reply(struct caller *caller)
{
	amqp_message_t message;
	amqp_rpc_reply_t rc = amqp_read_message(caller->connection, CHANNEL, &message, 0);
	if (rc.reply_type != AMQP_RESPONSE_NORMAL)
		fail("reply", "cut short");
	char id[24] = "";
	amqp_bytes_t given = message.properties.correlation_id;
	if ((message.properties._flags & AMQP_BASIC_CORRELATION_ID_FLAG) && given.len < sizeof id)
		memcpy(id, given.bytes, given.len);
	char *end;
	size_t number = strtoul(id, &end, 10);
	if (end == id || *end || number >= caller->sent)
		fail("reply", "for an unknown call");
	if (caller->calls[number].is_answered) {
		caller->repeated++;
	} else {
		caller->calls[number].is_answered = true;
		caller->replied++;
		print_reply(number, message.body);
	}
	amqp_destroy_message(&message);
}

static void handle_frame(struct caller *caller)
{
	amqp_frame_t frame;
	struct timeval limit = {.tv_sec = SILENCE_SECS};
	amqp_maybe_release_buffers(caller->connection);
	int rc = amqp_simple_wait_frame_noblock(caller->connection, &frame, &limit);
	if (rc == AMQP_STATUS_TIMEOUT)
		fail("no reply", "given up");
	if (rc != AMQP_STATUS_OK)
		fail("connection", amqp_error_string2(rc));
	if (frame.frame_type != AMQP_FRAME_METHOD)
		return;
	if (frame.payload.method.id == AMQP_BASIC_ACK_METHOD)
		handle_confirm(caller, frame.payload.method.decoded);
	else if (frame.payload.method.id == AMQP_BASIC_DELIVER_METHOD)
		handle_reply(caller);
	else
		fail("the broker sent", amqp_method_name(frame.payload.method.id));
}

/* ---- progress ---- */

static void show_bar(const struct caller *caller, int percent)
{
	static const char hashes[] = "##############################";
	fprintf(stderr, "\r  %-24s [%-30.*s] %3d %%  %zu of %zu", caller->title, percent * 30 / 100,
		hashes, percent, caller->replied, caller->count);
}

/* A moving bar on a terminal, else a line for each quarter. */
static void show_progress(struct caller *caller)
{
	int percent = caller->count ? (int)(caller->replied * 100 / caller->count) : 100;
	if (isatty(STDERR_FILENO)) {
		if (percent != caller->shown_percent)
			show_bar(caller, percent);
		if (percent == 100 && caller->shown_percent != 100)
			fputc('\n', stderr);
		caller->shown_percent = percent;
	} else if (percent / 25 != caller->shown_percent / 25) {
		fprintf(stderr, "  %-24s %3d %%  %zu of %zu\n", caller->title, percent,
			caller->replied, caller->count);
		caller->shown_percent = percent;
	}
}

static void write_account(const struct caller *caller)
{
	FILE *file = caller->account ? fopen(caller->account, "w") : NULL;
	if (caller->account && !file)
		fail("cannot write", caller->account);
	if (!file)
		return;
	fprintf(file, "%zu %zu %zu\n", caller->confirmed, caller->replied, caller->repeated);
	if (fclose(file) != 0)
		fail("cannot write", caller->account);
}

static void call_all(struct caller *caller)
{
	while (caller->replied < caller->count || caller->confirmed < caller->count) {
		while (caller->sent < caller->count && caller->sent - caller->replied < WINDOW)
			send_next(caller);
		handle_frame(caller);
		show_progress(caller);
	}
}

static void read_options(struct caller *caller, int argc, char **argv)
{
	static const struct option options[] = {{"header", required_argument, NULL, 'h'},
		{"title", required_argument, NULL, 't'}, {"account", required_argument, NULL, 'a'},
		{"keyed", no_argument, NULL, 'k'}, {0}};
	int option;
	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option == 'h')
			caller->header = optarg;
		else if (option == 't')
			caller->title = optarg;
		else if (option == 'a')
			caller->account = optarg;
		else if (option == 'k')
			caller->is_keyed = true;
		else
			exit(64);
	}
	if (argc - optind < 2) {
		fprintf(stderr, "usage: caller [--header NAME=VALUE] [--title TEXT] "
				"[--account FILE] [--keyed] URL QUEUE [FILE...]\n");
		exit(64);
	}
}

int main(int argc, char **argv)
{
	struct caller caller = {0};
	read_options(&caller, argc, argv);
	caller.queue = argv[optind + 1];
	if (!caller.title)
		caller.title = caller.queue;
	for (int i = optind + 2; i < argc; i++)
		read_file(&caller, argv[i]);
	if (argc == optind + 2)
		read_lines(&caller);
	open_connection(&caller, argv[optind]);
	open_reply_queue(&caller);
	call_all(&caller);
	write_account(&caller);
	amqp_connection_close(caller.connection, AMQP_REPLY_SUCCESS);
	return caller.repeated ? EXIT_FAILURE : EXIT_SUCCESS;
}
