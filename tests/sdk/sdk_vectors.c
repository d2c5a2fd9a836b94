/* Both SDKs read the tasks of worker-sdk/vectors as the index says. SDK_TEST_BUILD names the build
 * folder; run from the project's top. */
#include "sdk/stage.h"
#include "unit/unit.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

#define FOLDER     "worker-sdk/vectors/"
#define FRAME_MAX  4096
#define OUTPUT_MAX 4096

static const char *const probes[][3] = {
	{SDK_TEST_BUILD "/sdk/probe", NULL},
	{"/usr/bin/python3", "tests/sdk/probe.py", NULL},
	{"/usr/bin/python3", "tests/sdk/async_probe.py", NULL},
};

static const char *string_of(const json_t *entry, const char *key)
{
	const char *text = json_string_value(json_object_get(entry, key));
	return text ? text : "";
}

static void send_frame(struct stage *stage, const json_t *entry)
{
	char path[200], bytes[FRAME_MAX];
	snprintf(path, sizeof path, FOLDER "%s", string_of(entry, "file"));
	FILE *file = fopen(path, "re");
	ck_assert_msg(file != NULL, "%s", path);
	size_t len = fread(bytes, 1, sizeof bytes, file);
	fclose(file);
	stage_write(stage, bytes, len);
}

/* As stage_read shows it: up to a NUL. */
static void print_body(FILE *out, const json_t *entry)
{
	const char *hex = string_of(entry, "body_hex");
	unsigned byte;
	fputs(string_of(entry, "body"), out);
	for (; sscanf(hex, "%2x", &byte) == 1 && byte; hex += 2)
		fputc((int)byte, out);
}

/* What the probe answers, as stage_read shows it: "h." stands between the others. The index has the
 * headers in the order of their names. */
static void print_expected(FILE *out, json_t *entry)
{
	const char *key;
	json_t *value;
	fputs("201 '", out);
	print_body(out, entry);
	fprintf(out, "' correlation_id=%s", string_of(entry, "correlation_id"));
	json_object_foreach(json_object_get(entry, "headers"), key, value)
		fprintf(out, " h.%s=%s", key, json_string_value(value));
	fprintf(out, " queue=%s", string_of(entry, "queue"));
	if (json_object_get(entry, "session"))
		fprintf(out, " session=%s", string_of(entry, "session"));
	fprintf(out, " type=%s", string_of(entry, "type"));
	if (json_object_get(entry, "id"))
		fprintf(out, " #%lld", json_integer_value(json_object_get(entry, "id")));
}

START_TEST(tasks_are_read_as_the_index_says)
{
	struct stage stage;
	json_t *index = json_load_file(FOLDER "index.json", 0, NULL), *entry;
	size_t i;
	ck_assert_ptr_nonnull(index);
	setenv("PROBE_REPORTS", "yes", 1);
	stage_open(&stage, STAGE_PATH, probes[_i]);
	json_array_foreach(json_object_get(index, "tasks"), i, entry)
	{
		char expected[OUTPUT_MAX] = "";
		FILE *out = fmemopen(expected, sizeof expected, "w");
		print_expected(out, entry);
		fclose(out);
		send_frame(&stage, entry);
		ck_assert_str_eq(stage_read(&stage), expected);
	}
	ck_assert_uint_gt(i, 0);
	stage_quit(&stage);
	json_decref(index);
}
END_TEST

static Suite *vectors_suite(void)
{
	Suite *suite = suite_create("sdk vectors");
	TCase *tcase = tcase_create("in both languages");
	tcase_add_loop_test(
		tcase, tasks_are_read_as_the_index_says, 0, (int)(sizeof probes / sizeof *probes));
	tcase_set_timeout(tcase, 60);
	suite_add_tcase(suite, tcase);
	return suite;
}

UNIT_MAIN(vectors_suite)
