/* tasks_append: each kind of task is one whole frame within the limits of the protocol. */
#include "check_worker/tasks.h"
#include "unit/unit.h"
#include "wire/frame.h"
#include "wire/value.h"

static const struct task_options options = {
	.frame_limit = TASK_BODY_MAX + (1 << 20), .queue = {"check", 5}, .has_id = true};

START_TEST(each_kind_is_one_frame)
{
	struct buf out;
	const struct text file = TEXT("a file");
	size_t head = WIRE_LENGTH_BYTES;
	buf_init(&out, SIZE_MAX);
	ck_assert_int_eq(tasks_append(&out, (enum task_kind)_i, 7, &options, &file, 1), RC_OK);
	const uint8_t *bytes = (const uint8_t *)buf_text(&out).ptr, *at = bytes + head;
	ck_assert_uint_eq(wire_get_length(bytes), buf_len(&out) - head);
	ck_assert_int_eq(wire_check(bytes + head, buf_len(&out) - head), WIRE_OK);
	struct wire_value value;
	ck_assert_int_eq(wire_take(&at, bytes + buf_len(&out), &value), WIRE_OK);
	ck_assert_int_eq(value.type, WIRE_MAP);
	ck_assert_uint_eq(value.count, _i == TASK_UNKNOWN_KEYS    ? 8
				       : _i == TASK_TYPED_HEADERS ? 6
				       : _i == TASK_SESSION       ? 6
								  : 5);
	buf_release(&out);
}
END_TEST

/* The id is the last member, unless the pool's tasks have none (pipe: corefx). */
START_TEST(a_task_has_its_id)
{
	struct task_options without = options;
	struct buf out;
	without.has_id = false;
	buf_init(&out, SIZE_MAX);
	ck_assert_int_eq(tasks_append(&out, TASK_PLAIN, 200, &options, NULL, 0), RC_OK);
	ck_assert(text_ends(buf_text(&out), TEXT("\xa1\x37\xcc\xc8")));
	buf_clear(&out);
	ck_assert_int_eq(tasks_append(&out, TASK_PLAIN, 200, &without, NULL, 0), RC_OK);
	ck_assert(!text_ends(buf_text(&out), TEXT("\xcc\xc8")));
	buf_release(&out);
}
END_TEST

/* None of the AMQP types is lost on the way: 22 headers, of which the worker does not see two. */
START_TEST(headers_of_every_type_reach_the_worker)
{
	static const char *const names[] = {"text", "empty", "bad", "true", "int8", "uint8",
		"int16", "uint16", "int32", "uint32", "int64", "float", "double", "decimal",
		"bytes", "time", "void", "array", "table", "TimeoutMilliseconds"};
	struct buf out;
	buf_init(&out, SIZE_MAX);
	ck_assert_int_eq(tasks_append(&out, TASK_HEADERS, 1, &options, NULL, 0), RC_OK);
	struct text frame = buf_text(&out);
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		ck_assert_msg(memmem(frame.ptr, frame.len, names[i], strlen(names[i])) != NULL,
			"%s", names[i]);
	ck_assert_ptr_null(memmem(frame.ptr, frame.len, "x-death", 7));
	buf_release(&out);
}
END_TEST

static Suite *tasks_suite(void)
{
	Suite *suite = suite_create("check_worker/tasks");
	TCase *tcase = tcase_create("tasks");
	tcase_add_loop_test(tcase, each_kind_is_one_frame, TASK_NONE + 1, TASK_FILES + 1);
	tcase_add_test(tcase, a_task_has_its_id);
	tcase_add_test(tcase, headers_of_every_type_reach_the_worker);
	suite_add_tcase(suite, tcase);
	return suite;
}

UNIT_MAIN(tasks_suite)
