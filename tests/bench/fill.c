/* Fill a queue before the clock starts: durable, each message persistent and confirmed.
 *   fill [--classic | --single] [--reply-to QUEUE] [--celery TASK] [--keys N [--zipf]]
 *        URL QUEUE COUNT SIZE
 * It is a quorum queue, with --single one with a single active consumer, or with --classic a
 * classic one. With --keys each message has one of N keys of 20 bytes in its header `session`, in
 * turn, or with --zipf by chance: the k-th one k times more rarely than the first, in the same
 * sequence each time. COUNT 0 only declares the queue. Bodies are SIZE bytes of text. With --celery
 * the message is one of Celery's (protocol 2, JSON, the headers of Celery 5.2) that calls TASK
 * without arguments, with an id of its own, and SIZE is ignored. */
#include "bench/link.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WINDOW_MESSAGES 2000
#define WINDOW_BYTES    (64L << 20)
#define CELERY_HEADERS  16
#define KEY_SIZE        20
#define TASK_ID         "6b1d2c6e-0000-4000-8000-%012" PRIu64
#define TASK_ID_SIZE    36

struct filler {
	amqp_connection_state_t link;
	const char *queue, *type, *reply_to, *celery_task;
	char *bytes; /* owned */
	amqp_bytes_t body;
	amqp_basic_properties_t properties;
	amqp_table_entry_t headers[CELERY_HEADERS];
	uint32_t keys;  /* 0: none */
	double *shares; /* owned; of the keys up to each, of all messages; NULL: all the same */
	uint64_t random;
	char key[KEY_SIZE + 1], task_id[TASK_ID_SIZE + 1];
	bool is_single, is_zipf;
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

static void set_task_id(struct filler *filler)
{
	snprintf(filler->task_id, sizeof filler->task_id, TASK_ID, filler->published);
}

static void set_properties(struct filler *filler)
{
	set_task_id(filler);
	filler->properties = (amqp_basic_properties_t){
		._flags = AMQP_BASIC_DELIVERY_MODE_FLAG, .delivery_mode = AMQP_DELIVERY_PERSISTENT};
	if (!filler->reply_to)
		return;
	filler->properties._flags |= AMQP_BASIC_REPLY_TO_FLAG | AMQP_BASIC_CORRELATION_ID_FLAG;
	filler->properties.reply_to = amqp_cstring_bytes(filler->reply_to);
	filler->properties.correlation_id = amqp_cstring_bytes(filler->task_id);
}

static void set_header(struct filler *filler, int index, const char *name, const char *value)
{
	filler->headers[index] = (amqp_table_entry_t){.key = amqp_cstring_bytes(name),
		.value = {.kind = AMQP_FIELD_KIND_UTF8, .value.bytes = amqp_cstring_bytes(value)}};
}

static void set_celery_headers(struct filler *filler)
{
	static amqp_field_value_t no_limits[] = {
		{.kind = AMQP_FIELD_KIND_VOID}, {.kind = AMQP_FIELD_KIND_VOID}};
	const char *const texts[][2] = {{"lang", "py"}, {"task", filler->celery_task},
		{"id", filler->task_id}, {"root_id", filler->task_id}, {"argsrepr", "()"},
		{"kwargsrepr", "{}"}, {"origin", "gen1@bench"}};
	static const char *const empty[] = {
		"shadow", "eta", "expires", "group", "group_index", "parent_id"};
	int count = 0;
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		set_header(filler, count++, texts[i][0], texts[i][1]);
	for (size_t i = 0; i < sizeof empty / sizeof *empty; i++)
		filler->headers[count++] = (amqp_table_entry_t){.key = amqp_cstring_bytes(empty[i]),
			.value = {.kind = AMQP_FIELD_KIND_VOID}};
	filler->headers[count++] = (amqp_table_entry_t){
		.key = amqp_cstring_bytes("retries"), .value = {.kind = AMQP_FIELD_KIND_I32}};
	filler->headers[count++] = (amqp_table_entry_t){.key = amqp_cstring_bytes("timelimit"),
		.value = {.kind = AMQP_FIELD_KIND_ARRAY, .value.array = {2, no_limits}}};
	filler->headers[count] = (amqp_table_entry_t){.key = amqp_cstring_bytes("ignore_result"),
		.value = {.kind = AMQP_FIELD_KIND_BOOLEAN}};
}

static void set_celery_message(struct filler *filler)
{
	amqp_basic_properties_t *properties = &filler->properties;
	set_celery_headers(filler);
	properties->_flags |= AMQP_BASIC_HEADERS_FLAG | AMQP_BASIC_CONTENT_TYPE_FLAG |
			      AMQP_BASIC_CONTENT_ENCODING_FLAG | AMQP_BASIC_CORRELATION_ID_FLAG;
	properties->headers = (amqp_table_t){CELERY_HEADERS, filler->headers};
	properties->content_type = amqp_cstring_bytes("application/json");
	properties->content_encoding = amqp_cstring_bytes("utf-8");
	properties->correlation_id = amqp_cstring_bytes(filler->task_id);
	filler->body = amqp_cstring_bytes(
		"[[], {}, {\"callbacks\": null, \"errbacks\": null, \"chain\": null, \"chord\": null}]");
}

/* ---------- keys ---------- */

static void set_shares(struct filler *filler)
{
	double sum = 0;
	filler->shares = calloc(filler->keys, sizeof *filler->shares);
	if (!filler->shares)
		link_fail("keys", "out of memory");
	for (uint32_t i = 0; i < filler->keys; i++)
		filler->shares[i] = sum += 1.0 / (i + 1);
	for (uint32_t i = 0; i < filler->keys; i++)
		filler->shares[i] /= sum;
}

static uint32_t key_by_chance(struct filler *filler)
{
	filler->random =
		filler->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	double chance = (double)(filler->random >> 11) / (double)(UINT64_C(1) << 53);
	uint32_t low = 0, high = filler->keys - 1;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		if (filler->shares[middle] > chance)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

static void set_key(struct filler *filler)
{
	uint32_t key = filler->shares ? key_by_chance(filler)
				      : (uint32_t)(filler->published % filler->keys);
	snprintf(filler->key, sizeof filler->key, "customer-%011u", key);
	set_header(filler, 0, "session", filler->key);
	filler->properties._flags |= AMQP_BASIC_HEADERS_FLAG;
	filler->properties.headers = (amqp_table_t){1, filler->headers};
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
		if (filler->keys)
			set_key(filler);
		set_task_id(filler);
		link_must_send(amqp_basic_publish(filler->link, LINK_CHANNEL, amqp_empty_bytes,
				       amqp_cstring_bytes(filler->queue), false, false,
				       &filler->properties, filler->body),
			"publish");
		filler->published++;
	}
}

static int usage(void)
{
	fprintf(stderr, "usage: fill [--classic | --single] [--reply-to QUEUE] [--celery TASK] "
			"[--keys N [--zipf]] URL QUEUE COUNT SIZE\n");
	return 64;
}

/* False: an option is unknown. */
static bool read_options(struct filler *filler, int argc, char **argv)
{
	static const struct option options[] = {{"reply-to", required_argument, NULL, 'r'},
		{"celery", required_argument, NULL, 'c'}, {"classic", no_argument, NULL, 'q'},
		{"single", no_argument, NULL, 's'}, {"keys", required_argument, NULL, 'k'},
		{"zipf", no_argument, NULL, 'z'}, {0}};
	int option;
	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option == 'r')
			filler->reply_to = optarg;
		else if (option == 'c')
			filler->celery_task = optarg;
		else if (option == 'q')
			filler->type = "classic";
		else if (option == 's')
			filler->is_single = true;
		else if (option == 'k')
			filler->keys = (uint32_t)link_number(optarg, "--keys", 1);
		else if (option == 'z')
			filler->is_zipf = true;
		else
			return false;
	}
	return !filler->is_zipf || filler->keys > 0;
}

int main(int argc, char **argv)
{
	struct filler filler = {.type = "quorum"};
	if (!read_options(&filler, argc, argv) || argc - optind != 4)
		return usage();
	filler.queue = argv[optind + 1];
	filler.count = (uint64_t)link_number(argv[optind + 2], "COUNT", 0);
	set_body(&filler, (size_t)link_number(argv[optind + 3], "SIZE", 1));
	set_properties(&filler);
	if (filler.is_zipf)
		set_shares(&filler);
	if (filler.celery_task)
		set_celery_message(&filler);
	filler.link = link_open(argv[optind]);
	link_select_confirms(filler.link);
	link_declare_tasks(filler.link, filler.queue, filler.type, filler.is_single);
	fill(&filler);
	link_close(filler.link);
	free(filler.bytes);
	free(filler.shares);
	return EXIT_SUCCESS;
}
