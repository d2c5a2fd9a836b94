#include "sdk/stage.h"

#include "wire/frame.h"
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <msgpack.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATIENCE_MS 20000
#define HEADERS_MAX 16

static void wait_for(int fd, short events, const char *what)
{
	struct pollfd wait = {.fd = fd, .events = events};
	int ready;
	do
		ready = poll(&wait, 1, PATIENCE_MS);
	while (ready < 0 && errno == EINTR);
	ck_assert_msg(ready == 1, "waited too long: %s", what);
}

void stage_start(struct stage *stage, const char *const *argv)
{
	int control[2], life[2];
	*stage = (struct stage){.control = -1, .to = -1, .from = -1, .listener = -1};
	signal(SIGPIPE, SIG_IGN);
	ck_assert_int_eq(pipe2(control, O_CLOEXEC), 0);
	ck_assert_int_eq(pipe2(life, O_CLOEXEC), 0);
	stage->pid = fork();
	ck_assert_int_ge(stage->pid, 0);
	if (stage->pid == 0) {
		signal(SIGPIPE, SIG_DFL);
		dup2(control[0], STDIN_FILENO);
		fcntl(life[1], F_SETFD, 0);
		execvp(argv[0], (char *const *)argv);
		_exit(127);
	}
	close(control[0]);
	close(life[1]);
	stage->control = control[1];
	stage->life = life[0];
}

static void listen_at(struct stage *stage, const char *path)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX};
	ck_assert_uint_lt(strlen(path), sizeof name.sun_path);
	strcpy(name.sun_path, path);
	stage->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	ck_assert_int_eq(bind(stage->listener, (struct sockaddr *)&name, sizeof name), 0);
	ck_assert_int_eq(listen(stage->listener, 1), 0);
}

static void accept_worker(struct stage *stage)
{
	wait_for(stage->listener, POLLIN, "for the worker to connect");
	stage->to = stage->from = accept4(stage->listener, NULL, NULL, SOCK_CLOEXEC);
	ck_assert_int_ge(stage->to, 0);
	close(stage->listener);
}

static void make_fifos(const struct stage *stage)
{
	char name[128];
	snprintf(name, sizeof name, "%s.in", stage->address);
	ck_assert_int_eq(mkfifo(name, 0600), 0);
	snprintf(name, sizeof name, "%s.out", stage->address);
	ck_assert_int_eq(mkfifo(name, 0600), 0);
}

static int open_fifo(const struct stage *stage, const char *suffix, int mode)
{
	char name[128];
	snprintf(name, sizeof name, "%s%s", stage->address, suffix);
	int fd = open(name, mode | O_CLOEXEC);
	ck_assert_int_ge(fd, 0);
	return fd;
}

static void prepare_address(struct stage *stage, enum stage_form form)
{
	char path[128];
	snprintf(stage->folder, sizeof stage->folder, "/tmp/wpool-stage-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(stage->folder));
	if (form == STAGE_COREFX)
		snprintf(stage->address, sizeof stage->address, "%s",
			strrchr(stage->folder, '/') + 1);
	else
		snprintf(stage->address, sizeof stage->address, "%s/pipe", stage->folder);
	snprintf(path, sizeof path, "%s%s", form == STAGE_COREFX ? "/tmp/CoreFxPipe_" : "",
		stage->address);
	if (form == STAGE_FIFO)
		make_fifos(stage);
	else
		listen_at(stage, path);
}

static void remove_name(const char *before, const char *address, const char *behind)
{
	char name[160];
	snprintf(name, sizeof name, "%s%s%s", before, address, behind);
	unlink(name);
}

static void remove_names(struct stage *stage)
{
	if (!*stage->folder)
		return;
	remove_name("", stage->address, "");
	remove_name("", stage->address, ".in");
	remove_name("", stage->address, ".out");
	remove_name("/tmp/CoreFxPipe_", stage->address, "");
	rmdir(stage->folder);
	*stage->folder = '\0';
}

void stage_open(struct stage *stage, enum stage_form form, const char *const *argv)
{
	stage_start(stage, argv);
	prepare_address(stage, form);
	if (form == STAGE_FIFO)
		stage->from = open_fifo(stage, ".out", O_RDONLY | O_NONBLOCK);
	stage_write_control(stage, stage->address);
	if (form == STAGE_FIFO) {
		stage->to = open_fifo(stage, ".in", O_WRONLY); /* waits for the worker's open */
		return; /* the worker still has to open the second one by its name */
	}
	accept_worker(stage);
	remove_names(stage);
}

void stage_abandon(struct stage *stage, const char *const *argv)
{
	stage_start(stage, argv);
	prepare_address(stage, STAGE_FIFO);
	stage->from = open_fifo(stage, ".out", O_RDONLY | O_NONBLOCK);
	stage_write_control(stage, stage->address);
	stage_close_control(stage);
}

void stage_write_control(struct stage *stage, const char *line)
{
	ck_assert_int_eq(dprintf(stage->control, "%s\n", line), (int)strlen(line) + 1);
}

void stage_write(struct stage *stage, const void *bytes, size_t len)
{
	for (size_t done = 0; done < len;) {
		wait_for(stage->to, POLLOUT, "to write to the worker");
		ssize_t put = write(stage->to, (const char *)bytes + done, len - done);
		ck_assert_msg(put > 0 || errno == EINTR, "cannot write: %s", strerror(errno));
		done += put > 0 ? (size_t)put : 0;
	}
}

static void pack_text(msgpack_packer *packer, const char *text, size_t len)
{
	msgpack_pack_str_with_body(packer, text, len);
}

static size_t count_parts(const char *headers)
{
	size_t count = *headers != '\0';
	for (; *headers; headers++)
		count += *headers == ';';
	return count;
}

static void pack_headers(msgpack_packer *packer, const char *headers)
{
	msgpack_pack_map(packer, count_parts(headers));
	while (*headers) {
		size_t name = strcspn(headers, "="), len = strcspn(headers, ";");
		pack_text(packer, headers, name);
		pack_text(packer, headers + name + 1, len - name - 1);
		headers += len + (headers[len] == ';');
	}
}

#define SESSION_HEADER "session="
#define OLDER_HEADER   "older=" /* as a supervisor that does not say how many attempts there are */

static void pack_properties(msgpack_packer *packer, bool is_older)
{
	msgpack_pack_map(packer, is_older ? 2 : 4);
	pack_text(packer, "message_id", 10);
	pack_text(packer, "id-1", 4);
	pack_text(packer, "nested", 6);
	msgpack_pack_array(packer, 1);
	pack_text(packer, "x", 1);
	if (is_older)
		return;
	pack_text(packer, "attempt", 7);
	msgpack_pack_int(packer, 2);
	pack_text(packer, "attempts", 8);
	msgpack_pack_int(packer, 65535);
}

/* With a nested property and a key of a later version, which workers must pass over. */
static void pack_task(msgpack_packer *packer, unsigned long long id, const char *body, size_t len,
	const char *headers)
{
	size_t key = strlen(SESSION_HEADER);
	bool has_session = strncmp(headers, SESSION_HEADER, key) == 0;
	msgpack_pack_map(packer, 6 + (id > 0) + has_session);
	pack_text(packer, "0", 1);
	if (memchr(body, '\xff', len))
		msgpack_pack_bin_with_body(packer, body, len);
	else
		pack_text(packer, body, len);
	pack_text(packer, "1", 1);
	pack_text(packer, "call-7", 6);
	pack_text(packer, "9", 1);
	msgpack_pack_nil(packer);
	pack_text(packer, "3", 1);
	pack_headers(packer, headers);
	if (has_session) {
		pack_text(packer, "4", 1);
		pack_text(packer, headers + key, strcspn(headers + key, ";"));
	}
	pack_text(packer, "6", 1);
	pack_properties(packer, strncmp(headers, OLDER_HEADER, strlen(OLDER_HEADER)) == 0);
	if (id) {
		pack_text(packer, "7", 1);
		msgpack_pack_uint64(packer, id);
	}
	pack_text(packer, "2", 1);
	pack_text(packer, "queue", 5); /* at the frame's very end */
}

static void send_task(struct stage *stage, unsigned long long id, const char *body, size_t len,
	const char *headers)
{
	msgpack_sbuffer buffer;
	msgpack_packer packer;
	uint8_t length[WIRE_LENGTH_BYTES];
	msgpack_sbuffer_init(&buffer);
	msgpack_packer_init(&packer, &buffer, msgpack_sbuffer_write);
	msgpack_sbuffer_write(&buffer, "\0\0\0", WIRE_LENGTH_BYTES);
	pack_task(&packer, id, body, len, headers);
	wire_put_length(length, (uint32_t)(buffer.size - WIRE_LENGTH_BYTES));
	memcpy(buffer.data, length, sizeof length);
	stage_write(stage, buffer.data, buffer.size);
	msgpack_sbuffer_destroy(&buffer);
}

void stage_send(struct stage *stage, const char *body, size_t len, const char *headers)
{
	send_task(stage, 0, body, len, headers);
}

void stage_send_id(struct stage *stage, unsigned long long id, const char *body)
{
	send_task(stage, id, body, strlen(body), "");
}

void stage_request(struct stage *stage, const char *word, unsigned long long id)
{
	char line[64];
	snprintf(line, sizeof line, "%s %llu", word, id);
	stage_write_control(stage, line);
}

void stage_send_text(struct stage *stage, const char *body, const char *headers)
{
	stage_send(stage, body, strlen(body), headers);
}

static void read_exactly(struct stage *stage, void *bytes, size_t len)
{
	for (size_t have = 0; have < len;) {
		wait_for(stage->from, POLLIN, "for the worker's output");
		ssize_t got = read(stage->from, (char *)bytes + have, len - have);
		ck_assert_msg(got > 0 || (got < 0 && (errno == EINTR || errno == EAGAIN)),
			"the worker closed its pipe");
		have += got > 0 ? (size_t)got : 0;
	}
}

/* str or bin, both printed as text; a long one as its length. */
static void print_text(FILE *out, const msgpack_object *object)
{
	if (object->type == MSGPACK_OBJECT_NEGATIVE_INTEGER)
		fprintf(out, "%lld", (long long)object->via.i64);
	else if (object->type == MSGPACK_OBJECT_POSITIVE_INTEGER)
		fprintf(out, "%llu", (unsigned long long)object->via.u64);
	else if (object->via.str.size > 1000)
		fprintf(out, "(%u bytes)", object->via.str.size);
	else
		fprintf(out, "%.*s", (int)object->via.str.size, object->via.str.ptr);
}

static int by_name(const void *left, const void *right)
{
	const msgpack_object_str *a = &((const msgpack_object_kv *)left)->key.via.str;
	const msgpack_object_str *b = &((const msgpack_object_kv *)right)->key.via.str;
	int order = memcmp(a->ptr, b->ptr, a->size < b->size ? a->size : b->size);
	return order ? order : (int)a->size - (int)b->size;
}

static void print_headers(FILE *out, msgpack_object_map map)
{
	qsort(map.ptr, map.size, sizeof *map.ptr, by_name);
	for (uint32_t i = 0; i < map.size; i++) {
		fputc(' ', out);
		print_text(out, &map.ptr[i].key);
		fputc('=', out);
		print_text(out, &map.ptr[i].val);
	}
}

static void print_output(FILE *out, msgpack_object_map map)
{
	const msgpack_object *fields[8] = {NULL};
	for (uint32_t i = 0; i < map.size; i++) {
		const msgpack_object *key = &map.ptr[i].key;
		ck_assert_int_eq(key->type, MSGPACK_OBJECT_STR);
		ck_assert_uint_eq(key->via.str.size, 1);
		ck_assert_ptr_nonnull(memchr("01237", *key->via.str.ptr, 5));
		fields[*key->via.str.ptr - '0'] = &map.ptr[i].val;
	}
	ck_assert_ptr_nonnull(fields[1]);
	print_text(out, fields[1]);
	if (fields[0]) {
		fputs(" '", out);
		print_text(out, fields[0]);
		fputc('\'', out);
	}
	if (fields[3]) {
		fputs(" to ", out);
		print_text(out, fields[3]);
	}
	if (fields[2])
		print_headers(out, fields[2]->via.map);
	if (fields[7]) {
		fputs(" #", out);
		print_text(out, fields[7]);
	}
}

const char *stage_read(struct stage *stage)
{
	static char words[4096];
	uint8_t length[WIRE_LENGTH_BYTES];
	read_exactly(stage, length, sizeof length);
	size_t len = wire_get_length(length);
	char *bytes = malloc(len);
	ck_assert_ptr_nonnull(bytes);
	read_exactly(stage, bytes, len);
	ck_assert_int_eq(wire_check((uint8_t *)bytes, len), WIRE_OK);
	msgpack_unpacked unpacked;
	msgpack_unpacked_init(&unpacked);
	ck_assert_int_eq(msgpack_unpack_next(&unpacked, bytes, len, NULL), MSGPACK_UNPACK_SUCCESS);
	ck_assert_int_eq(unpacked.data.type, MSGPACK_OBJECT_MAP);
	FILE *out = fmemopen(words, sizeof words, "w");
	print_output(out, unpacked.data.via.map);
	fclose(out);
	msgpack_unpacked_destroy(&unpacked);
	free(bytes);
	return words;
}

void stage_exchange(struct stage *stage, const struct stage_exchange *cases, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		stage_send_text(stage, cases[i].body, cases[i].headers);
		ck_assert_str_eq(stage_read(stage), cases[i].output);
	}
}

void stage_end_data(struct stage *stage)
{
	if (stage->to == stage->from)
		ck_assert_int_eq(shutdown(stage->to, SHUT_WR), 0);
	else
		close(stage->to);
	stage->to = stage->to == stage->from ? stage->to : -1;
}

void stage_close_data(struct stage *stage)
{
	if (stage->to >= 0 && stage->to != stage->from)
		close(stage->to);
	if (stage->from >= 0)
		close(stage->from);
	stage->to = stage->from = -1;
}

void stage_close_control(struct stage *stage)
{
	close(stage->control);
	stage->control = -1;
}

int stage_wait(struct stage *stage)
{
	int status;
	wait_for(stage->life, POLLHUP, "for the worker to exit");
	close(stage->life);
	ck_assert_int_eq(waitpid(stage->pid, &status, 0), stage->pid);
	stage_close_data(stage);
	if (stage->control >= 0)
		stage_close_control(stage);
	remove_names(stage);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int stage_refuse(const char *const *argv, char *ret_text, size_t size)
{
	struct stage stage;
	int errors = memfd_create("standard error", MFD_CLOEXEC), own = dup(STDERR_FILENO);
	ck_assert_int_ge(dup2(errors, STDERR_FILENO), 0);
	stage_start(&stage, argv);
	dup2(own, STDERR_FILENO);
	close(own);
	int status = stage_wait(&stage);
	ssize_t len = pread(errors, ret_text, size - 1, 0);
	ck_assert_int_ge(len, 0);
	ret_text[len] = '\0';
	close(errors);
	return status;
}

void stage_quit(struct stage *stage)
{
	stage_write_control(stage, "__quit__");
	ck_assert_int_eq(stage_wait(stage), 0);
}
