#include "harness/control.h"

#include "harness/deadline.h"
#include "harness/fixture.h"
#include "harness/http.h"
#include "harness/scratch.h"

#include <poll.h>
#include <string.h>

const char *control_socket(void)
{
	return scratch_path(fixture.folder, "control.sock");
}

char *control_get(const char *path, int status)
{
	return http_get(control_socket(), path, status);
}

json_t *control_parse(char *text)
{
	json_error_t error;
	json_t *json = json_loads(text, JSON_REJECT_DUPLICATES, &error);
	ck_assert_msg(json != NULL, "%s: %s", error.text, text);
	free(text);
	return json;
}

json_t *control_get_json(const char *path)
{
	return control_parse(control_get(path, 200));
}

const json_t *control_member(const json_t *json, const char *list, size_t i)
{
	const json_t *found = json_array_get(json_object_get(json, list), i);
	ck_assert_ptr_nonnull(found);
	return found;
}

json_int_t control_number(const json_t *json, const char *first, const char *second)
{
	const json_t *found = json_object_get(json_object_get(json, first), second);
	ck_assert_msg(json_is_integer(found), "%s.%s", first, second);
	return json_integer_value(found);
}

const char *control_text(const json_t *json, const char *key)
{
	const char *found = json_string_value(json_object_get(json, key));
	ck_assert_msg(found != NULL, "%s", key);
	return found;
}

/* A thousand workers take a minute to start on a busy machine. */
void control_await(const char *path, int status)
{
	int64_t deadline = deadline_in(3 * DEADLINE_DEFAULT_MS);
	struct http_reply reply = http_request(control_socket(), "GET", path);
	while (reply.status != status) {
		if (deadline_left(deadline) <= 0)
			fixture_fail(scratch_text(
				"%s stays %d: %.2000s", path, reply.status, reply.body));
		http_release(&reply);
		poll(NULL, 0, 20);
		reply = http_request(control_socket(), "GET", path);
	}
	http_release(&reply);
}

void control_expect_text(const char *text, const char *needle)
{
	/* messages of check have a maximum length */
	ck_assert_msg(strstr(text, needle) != NULL, "'%s' is not in: %.2000s", needle, text);
}

json_int_t control_figure(const char *first, const char *second)
{
	json_t *answer = control_get_json("/v1/pools");
	json_int_t is = control_number(control_member(answer, "pools", 0), first, second);
	json_decref(answer);
	return is;
}

void control_await_figure(const char *first, const char *second, json_int_t value)
{
	int64_t deadline = deadline_in(DEADLINE_DEFAULT_MS);
	json_int_t is;
	while ((is = control_figure(first, second)) != value) {
		if (deadline_left(deadline) <= 0)
			fixture_fail(scratch_text("%s.%s stays %lld, not %lld", first, second,
				(long long)is, (long long)value));
		poll(NULL, 0, 20);
	}
}

void control_post_many(int from, int to)
{
	for (int i = from; i < to; i++) {
		char *id = scratch_text("%d", i);
		client_post(fixture.client, fixture.queue,
			&(struct letter){.body = "x", .correlation_id = id});
		free(id);
	}
}

void control_expect_done(int count)
{
	broker_expect_messages(fixture.broker, fixture.queue, 0);
	ck_assert_int_eq(fixture_witnessed(NULL), count);
}
