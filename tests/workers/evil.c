/* A worker with bad manners, each of which the supervisor must survive and none of which may cost a
 * message. `evil BEHAVIOUR [MARKER]`: with a marker, only tasks whose body holds it are treated so,
 * and others are done in order, each with its correlation id as a line in the file named by
 * WITNESS. `evil --list` names the behaviours. What $EVIL_SAYS holds it writes to stderr before it
 * behaves. */
#include "workers/evil.h"

#include <msgpack.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct evil_behaviour *const tables[] = {evil_frames, evil_answers, evil_process};

#define TABLES (sizeof tables / sizeof *tables)

void evil_done(struct evil *evil)
{
	SEND(evil, "\x81\xa1\x31\xcc\xc8");
}

void evil_wait(void)
{
	for (;;)
		pause();
}

static const struct evil_behaviour *find(const char *name)
{
	for (size_t i = 0; i < TABLES; i++)
		for (const struct evil_behaviour *at = tables[i]; at->name; at++)
			if (strcmp(at->name, name) == 0)
				return at;
	return NULL;
}

static void list(void)
{
	for (size_t i = 0; i < TABLES; i++)
		for (const struct evil_behaviour *at = tables[i]; at->name; at++)
			printf("%s\n", at->name);
}

static bool holds(const struct raw_frame *frame, const char *marker)
{
	return !marker || memmem(frame->bytes, frame->len, marker, strlen(marker));
}

static bool is_correlation_id(const msgpack_object_kv *at)
{
	return at->key.type == MSGPACK_OBJECT_STR && at->key.via.str.size == 1 &&
	       *at->key.via.str.ptr == '1' && at->val.type == MSGPACK_OBJECT_STR;
}

static void append_witness(const struct raw_frame *task)
{
	msgpack_unpacked unpacked;
	msgpack_unpacked_init(&unpacked);
	if (msgpack_unpack_next(&unpacked, (const char *)task->bytes, task->len, NULL) !=
			MSGPACK_UNPACK_SUCCESS ||
		unpacked.data.type != MSGPACK_OBJECT_MAP)
		_exit(70);
	const msgpack_object_map *map = &unpacked.data.via.map;
	for (uint32_t i = 0; i < map->size; i++)
		if (is_correlation_id(&map->ptr[i]))
			raw_append_witness(
				map->ptr[i].val.via.str.ptr, map->ptr[i].val.via.str.size);
	msgpack_unpacked_destroy(&unpacked);
}

void evil_answer_tasks(struct evil *evil)
{
	append_witness(&evil->task);
	evil_done(evil);
}

static void say(void)
{
	const char *words = getenv("EVIL_SAYS");
	if (words)
		fprintf(stderr, "%s\n\n", words);
}

static void work(struct evil *evil, const struct evil_behaviour *behaviour, const char *marker)
{
	while (raw_read_frame(&evil->raw, &evil->task)) {
		if (behaviour->on_task && holds(&evil->task, marker)) {
			say();
			behaviour->on_task(evil);
		} else {
			evil_answer_tasks(evil);
		}
		free(evil->task.bytes);
	}
}

int main(int argc, char **argv)
{
	if (argc > 1 && strcmp(argv[1], "--list") == 0) {
		list();
		return 0;
	}
	const struct evil_behaviour *behaviour = argc > 1 ? find(argv[1]) : NULL;
	if (!behaviour) {
		fputs("usage: evil BEHAVIOUR [MARKER] | --list\n", stderr);
		return 64;
	}
	struct evil evil = {0};
	char address[4096];
	signal(SIGPIPE, SIG_IGN);
	raw_read_address(address, sizeof address);
	if (behaviour->before_connect)
		behaviour->before_connect(&evil);
	raw_connect(&evil.raw, address);
	if (behaviour->after_connect)
		behaviour->after_connect(&evil);
	work(&evil, behaviour, argc > 2 ? argv[2] : NULL);
	return 0;
}
