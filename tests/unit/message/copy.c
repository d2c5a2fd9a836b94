/* copy_build: each property and header of what is published for a delivery. */
#include "unit/support/message/trial.h"
#include <stdio.h>

/* Each property in each kind of parcel; NULL: it is absent. */
#define KIND_REPLY     0
#define KIND_HAND_BACK 1
#define KIND_COPY      2
static const struct {
	enum property property;
	const char *expected[3];
} property_cases[] = {
	{PROPERTY_CONTENT_TYPE, {"text/plain", "text/plain", "text/plain"}},
	{PROPERTY_CONTENT_ENCODING, {NULL, "gzip", "gzip"}},
	{PROPERTY_DELIVERY_MODE, {"\2", "\2", "\2"}},
	{PROPERTY_PRIORITY, {"\7", "\7", "\7"}},
	{PROPERTY_CORRELATION_ID, {"corr", "corr", "corr"}},
	{PROPERTY_REPLY_TO, {NULL, "answers", "answers"}},
	{PROPERTY_EXPIRATION, {NULL, NULL, NULL}},
	{PROPERTY_MESSAGE_ID, {NULL, "m-1", "m-1"}},
	{PROPERTY_TYPE, {"order", "order", "order"}},
	{PROPERTY_USER_ID, {NULL, NULL, NULL}},
	{PROPERTY_APP_ID, {NULL, "shop", "shop"}},
	{PROPERTY_CLUSTER_ID, {"42", "42", "42"}},
};

static const struct {
	enum parcel_kind kind;
	int column;
	const char *reply_queue, *target, *body;
	bool has_timestamp;
} kind_cases[] = {
	{PARCEL_REPLY, KIND_REPLY, "", "answers", "new", false},
	{PARCEL_REPLY, KIND_REPLY, "elsewhere", "elsewhere", "new", false},
	{PARCEL_HAND_BACK, KIND_HAND_BACK, "orders", "orders", "new", true},
	{PARCEL_RETRY, KIND_COPY, "elsewhere", "orders", "old", true},
	{PARCEL_DEAD_LETTER, KIND_COPY, "elsewhere", "orders.dead", "old", true},
	{PARCEL_RENEW, KIND_COPY, "elsewhere", "orders", "old", true},
	{PARCEL_POSTPONE, KIND_COPY, "elsewhere", "orders", "old", true},
	{PARCEL_LATER, KIND_COPY, "elsewhere", "orders", "old", true}, /* its time has come */
	{PARCEL_REFUSAL, KIND_REPLY, "elsewhere", "answers", "", false},
};

START_TEST(each_kind_has_its_target_and_properties)
{
	for (size_t i = 0; i < sizeof kind_cases / sizeof *kind_cases; i++) {
		struct trial t;
		trial_init(&t);
		t.output->reply_queue = text_from(kind_cases[i].reply_queue);
		trial_run(&t, kind_cases[i].kind);
		ck_assert_uint_eq(t.publish.exchange.len, 0);
		ck_assert_text_eq(t.publish.routing_key, text_from(kind_cases[i].target));
		ck_assert_text_eq(t.publish.body, text_from(kind_cases[i].body));
		ck_assert(t.publish.mandatory);
		for (size_t p = 0; p < sizeof property_cases / sizeof *property_cases; p++) {
			const char *expected = property_cases[p].expected[kind_cases[i].column];
			enum property property = property_cases[p].property;
			ck_assert_msg(properties_has(&t.properties, property) == (expected != NULL),
				"case %zu, property %d", i, property);
			ck_assert_text_eq(t.properties.value[property], text_from(expected));
		}
		ck_assert_uint_eq(
			properties_timestamp(&t.properties), kind_cases[i].has_timestamp ? 256 : 0);
		trial_release(&t);
	}
}
END_TEST

START_TEST(a_task_without_properties_adds_none)
{
	static const enum parcel_kind kinds[] = {PARCEL_REPLY, PARCEL_HAND_BACK};
	for (size_t i = 0; i < 2; i++) {
		struct trial t;
		trial_init(&t);
		t.output->reply_queue = TEXT("q");
		trial_run_with(&t, kinds[i], &(struct properties){0}, &trial_options);
		uint16_t expected = 1u << PROPERTY_DELIVERY_MODE | 1u << PROPERTY_CLUSTER_ID;
		if (kinds[i] == PARCEL_HAND_BACK)
			expected |= 1u << PROPERTY_HEADERS;
		ck_assert_uint_eq(t.properties.present, expected);
		trial_release(&t);
	}
}
END_TEST

START_TEST(only_an_output_changes_the_content_type)
{
	static const enum parcel_kind kinds[] = {
		PARCEL_REPLY, PARCEL_HAND_BACK, PARCEL_RETRY, PARCEL_DEAD_LETTER};
	for (size_t i = 0; i < 4; i++) {
		struct trial t;
		trial_init(&t);
		t.output->content_type = TEXT("text/html");
		trial_run(&t, kinds[i]);
		ck_assert_text_eq(t.properties.value[PROPERTY_CONTENT_TYPE],
			i < 2 ? TEXT("text/html") : TEXT("text/plain"));
		trial_release(&t);
	}
}
END_TEST

/* In the pool's queue it would come back at once. */
START_TEST(an_early_copy_without_a_wait_queue_finds_no_queue)
{
	struct trial t;
	trial_init(&t);
	t.parcel.delay = MTIME_SECOND;
	trial_run(&t, PARCEL_LATER);
	ck_assert_uint_eq(t.publish.routing_key.len, 0);
	trial_release(&t);
}
END_TEST

static const struct {
	const char *queue;
	bool mandatory;
} mandatory_cases[] = {
	{"amq.rabbitmq.reply-to.g1h2AA5yZXBseUAyNzU", false},
	{"amq.rabbitmq.reply-t", true},
	{"amq.rabbitmq.reply-tomorrow", true},
	{"answers", true},
};

START_TEST(only_a_direct_reply_is_not_mandatory)
{
	for (size_t i = 0; i < sizeof mandatory_cases / sizeof *mandatory_cases; i++) {
		struct properties all = all_properties();
		struct trial t;
		properties_set(&all, PROPERTY_REPLY_TO, text_from(mandatory_cases[i].queue));
		trial_init(&t);
		trial_run_with(&t, PARCEL_REPLY, &all, &trial_options);
		ck_assert_text_eq(t.publish.routing_key, text_from(mandatory_cases[i].queue));
		ck_assert_int_eq(t.publish.mandatory, mandatory_cases[i].mandatory);
		/* the copy of that task is a message like any other, and keeps its reply_to */
		trial_run_with(&t, PARCEL_RETRY, &all, &trial_options);
		ck_assert(t.publish.mandatory);
		ck_assert_text_eq(
			t.properties.value[PROPERTY_REPLY_TO], text_from(mandatory_cases[i].queue));
		trial_release(&t);
	}
}
END_TEST

/* A reply_to of the bare name would close the channel. As a target it is no queue: without
 * mandatory the broker would confirm the reply and drop it. */
START_TEST(the_bare_name_of_direct_reply_to_is_dropped)
{
	struct properties all = all_properties();
	struct trial t;
	properties_set(&all, PROPERTY_REPLY_TO, TEXT("amq.rabbitmq.reply-to"));
	trial_init(&t);
	trial_run_with(&t, PARCEL_RETRY, &all, &trial_options);
	ck_assert(!properties_has(&t.properties, PROPERTY_REPLY_TO));
	trial_run(&t, PARCEL_REPLY);
	ck_assert(t.publish.mandatory);
	trial_release(&t);
}
END_TEST

static const struct {
	const char *task, *worker, *expected; /* fields by one letter: see put_trace */
} trace_cases[] = {
	{"", "", ""},
	{"ps", "", "traceparent:S=\"task\" tracestate:S=\"task\" "},
	{"p", "", "traceparent:S=\"task\" "},
	{"ps", "p", "traceparent:S=\"worker\" "},
	{"ps", "s", "tracestate:S=\"worker\" traceparent:S=\"task\" "},
	{"ps", "ps", "traceparent:S=\"worker\" tracestate:S=\"worker\" "},
	{"op", "o", "other:S=\"worker\" traceparent:S=\"task\" "},
	{"o", "", ""},
};

static void put_trace(struct buf *table, const char *letters, const char *value)
{
	for (; *letters; letters++)
		table_put_string(table,
			*letters == 'p'   ? TEXT("traceparent")
			: *letters == 's' ? TEXT("tracestate")
					  : TEXT("other"),
			text_from(value));
}

START_TEST(the_trace_of_the_worker_replaces_that_of_the_task)
{
	for (size_t i = 0; i < sizeof trace_cases / sizeof *trace_cases; i++) {
		struct trial t;
		trial_init(&t);
		put_trace(&t.task_headers, trace_cases[i].task, "task");
		put_trace(&t.reply_headers, trace_cases[i].worker, "worker");
		trial_run(&t, PARCEL_REPLY);
		ck_assert_int_eq(properties_has(&t.properties, PROPERTY_HEADERS),
			trace_cases[i].expected[0] != '\0');
		assert_table(t.properties.value[PROPERTY_HEADERS], trace_cases[i].expected);
		trial_release(&t);
	}
}
END_TEST

START_TEST(a_hand_back_counts_slices_and_has_the_headers_of_the_output)
{
	struct trial t;
	trial_init(&t);
	table_put_integer(&t.task_headers, TEXT("x-wpool-attempt"), 2);
	table_put_integer(&t.task_headers, TEXT("x-wpool-slice"), 7);
	table_put_integer(&t.task_headers, TEXT("x-wpool-first-failed"), 7);
	table_put_string(&t.task_headers, TEXT("x-wpool-reason"), TEXT("crashed"));
	table_put_string(&t.task_headers, TEXT("old"), TEXT("v"));
	put_trace(&t.task_headers, "p", "task");
	table_put_string(&t.reply_headers, TEXT("mine"), TEXT("v"));
	trial_run(&t, PARCEL_HAND_BACK);
	assert_table(t.properties.value[PROPERTY_HEADERS],
		"x-wpool-slice:l=8 mine:S=\"v\" traceparent:S=\"task\" ");
	trial_release(&t);

	trial_init(&t);
	table_put_string(&t.task_headers, TEXT("x-wpool-queue"), TEXT("first"));
	trial_run(&t, PARCEL_HAND_BACK);
	assert_table(t.properties.value[PROPERTY_HEADERS], "x-wpool-slice:l=1 ");
	trial_release(&t);
}
END_TEST

#define NOW "x-wpool-first-failed:T=1700000000 "

/* A header of the task, and the table of its copy. */
static const struct {
	const char *key;
	char type;
	const char *hex;
	const char *expected; /* beside attempt, reason, queue and first-failed */
} copy_header_cases[] = {
	{"a", 'I', "00 00 00 05", "a:I=5 "},
	{"a", 'B', "ff", "a:B=255 "},
	{"a", 'D', "02 00 00 04 d2", "a:D=12.34 "},
	{"a", 'x', "'raw'", "a:x=\"raw\" "},
	{"a", 'T', SEVEN_ZEROS " 09", "a:T=9 "},
	{"a", 'V', "", "a:V=null "},
	{"a", 'A', "'b' 01 'V'", "a:A=[1,null] "},
	{"a", 'F', "01 'k' 't' 01", "a:F={\"k\":true} "},
	{"x-death", 'A', "'F' 00 00 00 00", ""},
	{"x-first-death-queue", 'S', "'q'", ""},
	{"x-last-death-queue", 'S', "'q'", ""},
	{"x-delivery-count", 'l', SEVEN_ZEROS " 05", ""},
	{"x-acquired-count", 'l', SEVEN_ZEROS " 05", ""},
	{"CC", 'A', "'S' 00 00 00 01 'q'", "x-wpool-cc:A=[\"q\"] "},
	{"CC", 'S', "'q'", "x-wpool-cc:S=\"q\" "},
	{"BCC", 'A', "'S' 00 00 00 01 'q'", "x-wpool-bcc:A=[\"q\"] "},
	{"x-wpool-cc", 'A', "'S' 00 00 00 01 'q'", "x-wpool-cc:A=[\"q\"] "},
	{"x-wpool-slice", 'b', "03", "x-wpool-slice:l=3 "},
	{"x-wpool-reason", 'S', "'forged'", ""},
	{"x-wpool-exit", 'S', "'signal 6'", ""},
	{"x-wpool-status", 'I', "00 00 00 01", ""},
	{"x-wpool-accepted", 't', "01", ""},
	{"x-wpool-attempt", 'S', "'many'", ""},
	{"x-wpool-first-failed", 'S', "'long ago'", ""},
	{"x-wpool-cut", 'S', "'gone'", "x-wpool-cut:S=\"gone\" "},
	{"traceparent", 'S', "'00-1'", "traceparent:S=\"00-1\" "},
};

START_TEST(a_copy_keeps_or_removes_each_header)
{
	for (size_t i = 0; i < sizeof copy_header_cases / sizeof *copy_header_cases; i++) {
		struct trial t;
		char expected[512];
		trial_init(&t);
		put_hex(&t.task_headers, copy_header_cases[i].key, copy_header_cases[i].type,
			copy_header_cases[i].hex);
		t.parcel.reason = REASON_CRASHED;
		trial_run(&t, PARCEL_RETRY);
		snprintf(expected, sizeof expected,
			"x-wpool-attempt:l=1 x-wpool-reason:S=\"crashed\" "
			"x-wpool-queue:S=\"orders\" " NOW "%s",
			copy_header_cases[i].expected);
		assert_table(t.properties.value[PROPERTY_HEADERS], expected);
		trial_release(&t);
	}
}
END_TEST

START_TEST(a_copy_of_a_copy_counts_on)
{
	struct trial t;
	trial_init(&t);
	table_put_integer(&t.task_headers, TEXT("x-wpool-attempt"), 1);
	table_put_string(&t.task_headers, TEXT("x-wpool-queue"), TEXT("first"));
	put_hex(&t.task_headers, "x-wpool-first-failed", 'T', SEVEN_ZEROS " 09");
	put_hex(&t.task_headers, "x-wpool-cc", 'S', "'old'");
	put_hex(&t.task_headers, "CC", 'S', "'new'");
	put_hex(&t.task_headers, "x-wpool-bcc", 'S', "'old'");
	put_hex(&t.task_headers, "BCC", 'S', "'new'");
	t.parcel.reason = REASON_TIMED_OUT;
	trial_run(&t, PARCEL_RETRY);
	assert_table(t.properties.value[PROPERTY_HEADERS],
		"x-wpool-attempt:l=2 x-wpool-reason:S=\"timed-out\" x-wpool-queue:S=\"orders\" "
		"x-wpool-first-failed:T=9 x-wpool-cc:S=\"new\" x-wpool-bcc:S=\"new\" ");
	trial_release(&t);
}
END_TEST

/* The headers for each reason and each end of the worker. */
static const struct {
	enum parcel_kind kind;
	enum reason reason;
	struct exit_info exit;
	int32_t status; /* 0: no answer */
	uint16_t attempt;
	bool is_accepted;
	const char *expected; /* but for x-wpool-queue and x-wpool-first-failed */
} account_cases[] = {
	{PARCEL_RETRY, REASON_FAILED, {0}, 503, 0, false,
		"x-wpool-attempt:l=1 x-wpool-reason:S=\"failed\" x-wpool-status:l=503 "},
	{PARCEL_RETRY, REASON_CRASHED, {EXIT_SIGNAL, 11, NULL}, 0, 65534, false,
		"x-wpool-attempt:l=65535 x-wpool-reason:S=\"crashed\" "
		"x-wpool-exit:S=\"signal 11\" "},
	{PARCEL_RETRY, REASON_CRASHED, {EXIT_SIGNAL, 11, NULL}, 0, 65535, false,
		"x-wpool-attempt:l=65535 x-wpool-reason:S=\"crashed\" "
		"x-wpool-exit:S=\"signal 11\" "},
	{PARCEL_DEAD_LETTER, REASON_CRASHED, {EXIT_SIGNAL, 11, NULL}, 0, 2, false,
		"x-wpool-attempt:l=3 x-wpool-reason:S=\"crashed\" x-wpool-exit:S=\"signal 11\" "},
	{PARCEL_DEAD_LETTER, REASON_CRASHED, {EXIT_STATUS, 3, NULL}, 0, 2, false,
		"x-wpool-attempt:l=3 x-wpool-reason:S=\"crashed\" "
		"x-wpool-exit:S=\"exit status 3\" "},
	{PARCEL_DEAD_LETTER, REASON_CRASHED, {EXIT_NOT_STARTED, 2, "exec"}, 0, 2, false,
		"x-wpool-attempt:l=3 x-wpool-reason:S=\"crashed\" "
		"x-wpool-exit:S=\"not started: exec, errno 2\" "},
	{PARCEL_DEAD_LETTER, REASON_REJECTED, {0}, 422, 0, false,
		"x-wpool-attempt:l=1 x-wpool-reason:S=\"rejected\" x-wpool-status:l=422 "},
	{PARCEL_DEAD_LETTER, REASON_UNROUTABLE, {0}, 201, 0, false,
		"x-wpool-attempt:l=1 x-wpool-reason:S=\"unroutable\" "},
	/* the copy for its retry was refused: it still has the status of the worker */
	{PARCEL_DEAD_LETTER, REASON_REPLY_REFUSED, {0}, 503, 0, false,
		"x-wpool-attempt:l=1 x-wpool-reason:S=\"reply-refused\" x-wpool-status:l=503 "},
	{PARCEL_DEAD_LETTER, REASON_RENEWAL_REFUSED, {0}, 0, 1, false,
		"x-wpool-attempt:l=1 x-wpool-reason:S=\"renewal-refused\" "},
	{PARCEL_DEAD_LETTER, REASON_TOO_LARGE, {0}, 0, 0, false,
		"x-wpool-attempt:l=0 x-wpool-reason:S=\"too-large\" "},
	{PARCEL_DEAD_LETTER, REASON_CRASHED, {EXIT_SIGNAL, 11, NULL}, 0, 0, true,
		"x-wpool-attempt:l=1 x-wpool-reason:S=\"crashed\" "
		"x-wpool-exit:S=\"signal 11\" x-wpool-accepted:t=true "},
	{PARCEL_DEAD_LETTER, REASON_FAILED, {0}, 500, 1, true,
		"x-wpool-attempt:l=2 x-wpool-reason:S=\"failed\" x-wpool-status:l=500 "
		"x-wpool-accepted:t=true "},
};

START_TEST(reason_exit_and_status_are_in_the_headers)
{
	for (size_t i = 0; i < sizeof account_cases / sizeof *account_cases; i++) {
		struct trial t;
		trial_init(&t);
		t.delivery = delivery_of(&(struct properties){0}, TEXT_NONE, TEXT("old"), 100);
		t.delivery->attempt = account_cases[i].attempt;
		t.delivery->is_accepted = account_cases[i].is_accepted;
		t.output->status = account_cases[i].status;
		if (!account_cases[i].status)
			t.output->body = TEXT_NONE;
		t.parcel.reason = account_cases[i].reason;
		t.parcel.exit = account_cases[i].exit;
		trial_run(&t, account_cases[i].kind);
		struct text table = t.properties.value[PROPERTY_HEADERS];
		struct table_field field;
		struct buf got;
		buf_init(&got, SIZE_MAX);
		while (table_next(&table, true, &field)) {
			struct buf one;
			buf_init(&one, SIZE_MAX);
			table_put_field(&one, &field);
			if (text_is(field.key, TEXT("x-wpool-queue")))
				ck_assert_text_eq(field.value, TEXT("orders"));
			else if (!text_is(field.key, TEXT("x-wpool-first-failed")))
				append_words(&got, buf_text(&one));
			buf_release(&one);
		}
		ck_assert_text_eq(buf_text(&got), text_from(account_cases[i].expected));
		buf_release(&got);
		trial_release(&t);
	}
}
END_TEST

START_TEST(unreadable_headers_are_left_out_and_named)
{
	struct trial t;
	trial_init(&t);
	buf_append_text(&t.task_headers, TEXT("\1k?"));
	t.parcel.reason = REASON_BAD_HEADERS;
	trial_run(&t, PARCEL_DEAD_LETTER);
	ck_assert_text_eq(t.properties.value[PROPERTY_MESSAGE_ID], TEXT("m-1"));
	assert_table(t.properties.value[PROPERTY_HEADERS],
		"x-wpool-attempt:l=0 x-wpool-reason:S=\"bad-headers\" "
		"x-wpool-queue:S=\"orders\" " NOW "x-wpool-cut:S=\"(all headers)\" ");
	trial_release(&t);

	trial_init(&t);
	t.delivery = delivery_of(&(struct properties){0}, TEXT_NONE, TEXT("old"), 100);
	t.delivery->properties = TEXT("\x80");
	task_read_facts(t.delivery, &(struct task_facts_options){.body_limit = 100});
	t.parcel.reason = t.delivery->invalid;
	trial_run(&t, PARCEL_DEAD_LETTER);
	assert_table(t.properties.value[PROPERTY_HEADERS],
		"x-wpool-attempt:l=0 x-wpool-reason:S=\"bad-headers\" "
		"x-wpool-queue:S=\"orders\" " NOW "x-wpool-cut:S=\"(all properties)\" ");
	trial_release(&t);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("message/copy");
	UNIT_CASE(s, "properties", each_kind_has_its_target_and_properties,
		an_early_copy_without_a_wait_queue_finds_no_queue,
		a_task_without_properties_adds_none, only_an_output_changes_the_content_type,
		only_a_direct_reply_is_not_mandatory, the_bare_name_of_direct_reply_to_is_dropped);
	UNIT_CASE(s, "headers", the_trace_of_the_worker_replaces_that_of_the_task,
		a_hand_back_counts_slices_and_has_the_headers_of_the_output,
		a_copy_keeps_or_removes_each_header, a_copy_of_a_copy_counts_on,
		reason_exit_and_status_are_in_the_headers,
		unreadable_headers_are_left_out_and_named);
	return s;
}

UNIT_MAIN(suite)
