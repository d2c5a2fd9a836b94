/* worker-sdk/vectors: the tasks are what task_write writes, the outputs mean what answer_read
 * reads, and every file is in the index. */
#include "amqp/properties.h"
#include "amqp/table.h"
#include "check_worker/fault.h"
#include "message/answer.h"
#include "message/task.h"
#include "unit/unit.h"
#include "wire/frame.h"

#include <dirent.h>
#include <jansson.h>
#include <stdio.h>

#define FOLDER "worker-sdk/vectors/"

static const struct answer_limits limits = {.header_bytes = 4096, .body_bytes = 4096};

static json_t *read_list(const char *name)
{
	json_error_t error;
	json_t *index = json_load_file(FOLDER "index.json", 0, &error);
	ck_assert_msg(index != NULL, "%s, line %d", error.text, error.line);
	json_t *list = json_incref(json_object_get(index, name));
	ck_assert_uint_gt(json_array_size(list), 0);
	json_decref(index);
	return list;
}

static const char *string_of(const json_t *entry, const char *key)
{
	const char *text = json_string_value(json_object_get(entry, key));
	return text ? text : "";
}

static void read_frame(const json_t *entry, struct buf *ret)
{
	char path[200];
	snprintf(path, sizeof path, FOLDER "%s", string_of(entry, "file"));
	FILE *file = fopen(path, "re");
	ck_assert_msg(file != NULL, "%s", path);
	buf_init(ret, 65536);
	uint8_t *place = buf_reserve(ret, 4096);
	ck_assert_ptr_nonnull(place);
	buf_commit(ret, fread(place, 1, 4096, file));
	fclose(file);
}

/* .body, or the bytes of .body_hex. */
static void append_body(struct buf *out, const json_t *entry)
{
	const char *hex = string_of(entry, "body_hex");
	unsigned byte;
	buf_append_text(out, text_from(string_of(entry, "body")));
	for (; sscanf(hex, "%2x", &byte) == 1; hex += 2)
		buf_append_byte(out, (uint8_t)byte);
}

static void append_headers(struct buf *out, json_t *entry)
{
	const char *key;
	json_t *value;
	json_object_foreach(json_object_get(entry, "headers"), key, value)
		table_put_string(out, text_from(key), text_from(json_string_value(value)));
}

/* 0: none. */
static uint64_t id_of(const json_t *entry)
{
	return (uint64_t)json_integer_value(json_object_get(entry, "id"));
}

static struct delivery *delivery_of(json_t *entry)
{
	struct properties properties = {0};
	struct buf body, table, raw;
	buf_init(&body, 65536);
	buf_init(&table, 65536);
	buf_init(&raw, 65536);
	append_body(&body, entry);
	append_headers(&table, entry);
	properties_set(&properties, PROPERTY_CORRELATION_ID,
		text_from(string_of(entry, "correlation_id")));
	if (buf_len(&table) > 0)
		properties_set(&properties, PROPERTY_HEADERS, buf_text(&table));
	properties_write(&properties, &raw);
	struct delivery *delivery = delivery_new(buf_len(&body) + buf_len(&raw));
	ck_assert_ptr_nonnull(delivery);
	if (buf_len(&body) > 0)
		memcpy(delivery->bytes, buf_text(&body).ptr, buf_len(&body));
	memcpy(delivery->bytes + buf_len(&body), buf_text(&raw).ptr, buf_len(&raw));
	delivery->body = text_of(delivery->bytes, buf_len(&body));
	delivery->properties = text_of(delivery->bytes + buf_len(&body), buf_len(&raw));
	struct key_source key = {.kind = json_object_get(entry, "session") ? KEY_HEADER : KEY_NONE,
		.header = TEXT("session")};
	task_read_facts(delivery, &(struct task_facts_options){.body_limit = 65536, .key = &key});
	delivery->id = id_of(entry);
	buf_release(&body);
	buf_release(&table);
	buf_release(&raw);
	return delivery;
}

START_TEST(tasks_are_what_wpool_writes)
{
	json_t *list = read_list("tasks"), *entry;
	size_t i;
	json_array_foreach(list, i, entry)
	{
		struct buf frame, written;
		if (json_is_true(json_object_get(entry, "later")))
			continue; /* of no version that exists */
		read_frame(entry, &frame);
		buf_init(&written, 65536);
		struct delivery *delivery = delivery_of(entry);
		struct task_options options = {.has_id = true,
			.frame_limit = 65536,
			.queue = text_from(string_of(entry, "queue"))};
		ck_assert_int_eq(task_write(delivery, &options, 1, 0, &written, NULL), RC_OK);
		ck_assert_msg(text_is(buf_text(&written), buf_text(&frame)), "%s",
			string_of(entry, "file"));
		delivery_free(delivery);
		buf_release(&written);
		buf_release(&frame);
	}
	json_decref(list);
}
END_TEST

static void expect_output(json_t *entry, const struct output *output)
{
	const char *name = string_of(entry, "file");
	struct buf body, headers;
	const json_t *delay = json_object_get(entry, "retry_after_ms");
	const json_t *limit = json_object_get(entry, "hard_limit_ms");
	buf_init(&body, 65536);
	buf_init(&headers, 65536);
	append_body(&body, entry);
	append_headers(&headers, entry);
	ck_assert_msg(
		output->status == json_integer_value(json_object_get(entry, "status")), "%s", name);
	ck_assert_msg(text_is(output->body, buf_text(&body)), "%s", name);
	ck_assert_msg(
		text_is(output->reply_queue, text_from(string_of(entry, "queue"))), "%s", name);
	ck_assert_msg(
		output->retry_after_ms == (delay ? json_integer_value(delay) : -1), "%s", name);
	ck_assert_msg(
		output->hard_limit_ms == (limit ? json_integer_value(limit) : -1), "%s", name);
	if (!delay && !limit) /* these headers are among those of the output */
		ck_assert_msg(text_is(output->headers, buf_text(&headers)), "%s", name);
	ck_assert_int_eq(output->invalid, REASON_NONE);
	ck_assert_msg(output->task_id == id_of(entry), "%s", name);
	buf_release(&body);
	buf_release(&headers);
}

/* Whatever a frame is refused for, check-worker has a likely cause. */
static void expect_cause(struct text whole, const char *what)
{
	struct fault fault = {.kind = FAULT_NONE};
	fault_set(&fault, FAULT_BAD_OUTPUT, whole, "%s", what);
	ck_assert_msg(fault_cause_in_bytes(&fault) != NULL, "%s", what);
}

START_TEST(outputs_mean_what_wpool_reads)
{
	json_t *list = read_list("outputs"), *entry;
	size_t i;
	json_array_foreach(list, i, entry)
	{
		struct buf bytes;
		struct output *output = NULL;
		struct answer_fault fault = {0};
		const char *refused = string_of(entry, "refused");
		read_frame(entry, &bytes);
		struct text frame = buf_text(&bytes);
		ck_assert_uint_eq(
			wire_get_length((const uint8_t *)frame.ptr), frame.len - WIRE_LENGTH_BYTES);
		frame = text_of(frame.ptr + WIRE_LENGTH_BYTES, frame.len - WIRE_LENGTH_BYTES);
		enum rc rc = answer_read(frame, &limits, &output, &fault);
		if (*refused) {
			ck_assert_int_eq(rc, RC_MALFORMED);
			ck_assert_msg(text_starts(text_from(fault.what), text_from(refused)),
				"%s: %s", string_of(entry, "file"), fault.what);
			ck_assert_msg(
				fault.task_id == id_of(entry), "%s", string_of(entry, "file"));
			expect_cause(buf_text(&bytes), fault.what);
		} else {
			ck_assert_msg(rc == RC_OK, "%s: %s", string_of(entry, "file"), fault.what);
			expect_output(entry, output);
			output_free(output);
		}
		buf_release(&bytes);
	}
	json_decref(list);
}
END_TEST

static bool has_file(const json_t *list, const char *name)
{
	const json_t *entry;
	size_t i;
	json_array_foreach(
		list, i, entry) if (strcmp(string_of(entry, "file"), name) == 0) return true;
	return false;
}

START_TEST(every_file_is_in_the_index)
{
	json_t *tasks = read_list("tasks"), *outputs = read_list("outputs");
	DIR *folder = opendir(FOLDER);
	const struct dirent *entry;
	ck_assert_ptr_nonnull(folder);
	while ((entry = readdir(folder)))
		if (text_ends(text_from(entry->d_name), TEXT(".frame")))
			ck_assert_msg(
				has_file(tasks, entry->d_name) || has_file(outputs, entry->d_name),
				"%s", entry->d_name);
	closedir(folder);
	json_decref(tasks);
	json_decref(outputs);
}
END_TEST

static Suite *vectors_suite(void)
{
	Suite *suite = suite_create("check_worker/vectors");
	TCase *tcase = tcase_create("vectors");
	tcase_add_test(tcase, tasks_are_what_wpool_writes);
	tcase_add_test(tcase, outputs_mean_what_wpool_reads);
	tcase_add_test(tcase, every_file_is_in_the_index);
	suite_add_tcase(suite, tcase);
	return suite;
}

UNIT_MAIN(vectors_suite)
