/* Fill a queue before the clock starts: durable, each message persistent and confirmed.
 *   fill [--classic] [--reply-to QUEUE] [--celery TASK] URL QUEUE COUNT SIZE
 * It is a quorum queue, or with --classic a classic one. COUNT 0 only declares it. Bodies are SIZE
 * bytes of text. With --celery the message is one of Celery's (protocol 2, JSON) that calls TASK
 * without arguments, and SIZE is ignored. */
#include "bench/link.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WINDOW_MESSAGES 2000
#define WINDOW_BYTES    (64L << 20)
#define CELERY_HEADERS  5
#define TASK_ID         "6b1d2c6e-0000-4000-8000-000000000000"

struct filler {
	amqp_connection_state_t link;
	const char *queue, *type, *reply_to, *celery_task;
	char *bytes; /* owned */
	amqp_bytes_t body;
	amqp_basic_properties_t properties;
	amqp_table_entry_t headers[CELERY_HEADERS];
	uint64_t count, published, confirmed;
};

static void set_body(struct filler *filler, size_t size)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz ";
	filler->bytes = malloc(size);
	if (!filler->bytes)
		link_fail("body", "out of memory");
	for (size_t i = 0; i < size; i++)
		filler->bytes[i] = letters[i % (sizeof letters - 1)];
	filler->body = (amqp_bytes_t){size, filler->bytes};
}

static void set_properties(struct filler *filler)
{
	filler->properties = (amqp_basic_properties_t){
		._flags = AMQP_BASIC_DELIVERY_MODE_FLAG, .delivery_mode = AMQP_DELIVERY_PERSISTENT};
	if (!filler->reply_to)
		return;
	filler->properties._flags |= AMQP_BASIC_REPLY_TO_FLAG | AMQP_BASIC_CORRELATION_ID_FLAG;
	filler->properties.reply_to = amqp_cstring_bytes(filler->reply_to);
	filler->properties.correlation_id = amqp_cstring_bytes(TASK_ID);
}

static void set_header(struct filler *filler, int index, const char *name, const char *value)
{
	filler->headers[index] = (amqp_table_entry_t){.key = amqp_cstring_bytes(name),
		.value = {.kind = AMQP_FIELD_KIND_UTF8, .value.bytes = amqp_cstring_bytes(value)}};
}

static void set_celery_message(struct filler *filler)
{
	amqp_basic_properties_t *properties = &filler->properties;
	set_header(filler, 0, "lang", "py");
	set_header(filler, 1, "task", filler->celery_task);
	set_header(filler, 2, "id", TASK_ID);
	set_header(filler, 3, "root_id", TASK_ID);
	set_header(filler, 4, "origin", "bench");
	properties->_flags |= AMQP_BASIC_HEADERS_FLAG | AMQP_BASIC_CONTENT_TYPE_FLAG |
			      AMQP_BASIC_CONTENT_ENCODING_FLAG | AMQP_BASIC_CORRELATION_ID_FLAG;
	properties->headers = (amqp_table_t){CELERY_HEADERS, filler->headers};
	properties->content_type = amqp_cstring_bytes("application/json");
	properties->content_encoding = amqp_cstring_bytes("utf-8");
	properties->correlation_id = amqp_cstring_bytes(TASK_ID);
	filler->body = amqp_cstring_bytes(
		"[[], {}, {\"callbacks\": null, \"errbacks\": null, \"chain\": null, \"chord\": null}]");
}

static uint64_t window(const struct filler *filler)
{
	uint64_t by_bytes = WINDOW_BYTES / filler->body.len;
	if (by_bytes < 1)
		return 1;
	return by_bytes < WINDOW_MESSAGES ? by_bytes : WINDOW_MESSAGES;
}

static void fill(struct filler *filler)
{
	uint64_t max = window(filler);
	while (filler->confirmed < filler->count) {
		bool may_publish = filler->published < filler->count &&
				   filler->published - filler->confirmed < max;
		if (!may_publish) {
			filler->confirmed = link_await_confirm(filler->link);
			continue;
		}
		link_must_send(amqp_basic_publish(filler->link, LINK_CHANNEL, amqp_empty_bytes,
				       amqp_cstring_bytes(filler->queue), false, false,
				       &filler->properties, filler->body),
			"publish");
		filler->published++;
	}
}

static int usage(void)
{
	fprintf(stderr, "usage: fill [--classic] [--reply-to QUEUE] [--celery TASK] URL QUEUE "
			"COUNT SIZE\n");
	return 64;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {{"reply-to", required_argument, NULL, 'r'},
		{"celery", required_argument, NULL, 'c'}, {"classic", no_argument, NULL, 'q'}, {0}};
	struct filler filler = {.type = "quorum"};
	int option;
	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option == 'r')
			filler.reply_to = optarg;
		else if (option == 'c')
			filler.celery_task = optarg;
		else if (option == 'q')
			filler.type = "classic";
		else
			return usage();
	}
	if (argc - optind != 4)
		return usage();
	filler.queue = argv[optind + 1];
	filler.count = (uint64_t)link_number(argv[optind + 2], "COUNT", 0);
	set_body(&filler, (size_t)link_number(argv[optind + 3], "SIZE", 1));
	set_properties(&filler);
	if (filler.celery_task)
		set_celery_message(&filler);
	filler.link = link_open(argv[optind]);
	link_select_confirms(filler.link);
	link_declare_tasks(filler.link, filler.queue, filler.type);
	fill(&filler);
	link_close(filler.link);
	free(filler.bytes);
	return EXIT_SUCCESS;
}
