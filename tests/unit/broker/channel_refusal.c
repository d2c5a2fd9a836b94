/* Which right is missing, from the operation and the broker's text. The texts are those of RabbitMQ
 * 3.10.8, which does not name the right, and 4.0.5. */
#include "broker/channel_refusal.h"

#include "unit/unit.h"

static const struct {
	enum refused_operation operation;
	uint16_t code;
	const char *reason, *text, *kind;
} cases[] = {
	{REFUSED_DECLARE, 403,
		"ACCESS_REFUSED - access to queue 'q' in vhost '/' refused for user 'clerk'",
		"queue \"q\" does not exist, and the broker refuses its declaration: the user has "
		"no right to configure it (",
		"no right to configure a missing queue"},
	{REFUSED_DECLARE, 403,
		"ACCESS_REFUSED - configure access to queue 'q' in vhost '/' refused for user 'u'",
		"queue \"q\" does not exist, and the broker refuses its declaration: the user has "
		"no right to configure it (",
		"no right to configure a missing queue"},
	{REFUSED_DECLARE_RETRY, 403,
		"ACCESS_REFUSED - access to queue 'q' in vhost '/' refused for user 'clerk'",
		"queue \"q\" does not exist, and the broker refuses its declaration: the user has "
		"no right to configure, or read, it (",
		"no right to configure or read a missing queue"},
	{REFUSED_DECLARE_RETRY, 403,
		"ACCESS_REFUSED - read access to queue 'q' in vhost '/' refused for user 'clerk'",
		"queue \"q\" does not exist, and the broker refuses its declaration: the user has "
		"no right to read it (",
		"no right to read a queue"},
	{REFUSED_DECLARE_RETRY, 403,
		"ACCESS_REFUSED - access to exchange 'amq.default' in vhost '/' refused for user "
		"'clerk'",
		"queue \"q\" does not exist, and the broker refuses its declaration: the user has "
		"no right to write exchange \"amq.default\" (",
		"no right to write an exchange"},
	{REFUSED_CONSUME, 403,
		"ACCESS_REFUSED - access to queue 'q' in vhost '/' refused for user 'clerk'",
		"the broker refuses to let us consume queue \"q\": the user has no right to read "
		"it (ACCESS_REFUSED - access to queue 'q' in vhost '/' refused for user 'clerk'); "
		"give it that right",
		"no right to read a queue"},
	{REFUSED_CONSUME, 403,
		"ACCESS_REFUSED - read access to queue 'q' in vhost '/' refused for user 'clerk'",
		"the broker refuses to let us consume queue \"q\": the user has no right to read "
		"it (",
		"no right to read a queue"},
	{REFUSED_CONSUME, 403, "ACCESS_REFUSED - queue 'q' in vhost '/' in exclusive use",
		"the broker refuses to let us consume queue \"q\": it is in exclusive use by "
		"another consumer (",
		"the queue is in exclusive use by another consumer"},
	{REFUSED_CHECK, 405,
		"RESOURCE_LOCKED - cannot obtain exclusive access to locked queue 'q' in vhost '/'",
		"the broker refuses to let us check queue \"q\": it is exclusive to another "
		"connection (",
		"the queue is exclusive to another connection"},
	{REFUSED_PUBLISH, 403,
		"ACCESS_REFUSED - write access to exchange 'amq.default' in vhost '/' refused for "
		"user 'clerk'",
		"the broker refuses publishes: the user has no right to write exchange "
		"\"amq.default\" (",
		"no right to write an exchange"},
	{REFUSED_CHECK, 404, "NOT_FOUND - no queue 'q' in vhost '/'",
		"queue \"q\" does not exist; declare it, or set declare: on",
		"the queue does not exist"},
	{REFUSED_CONSUME, 406, "PRECONDITION_FAILED - delivery acknowledgement timed out",
		"the broker closed the channel of queue \"q\" (406 PRECONDITION_FAILED - ",
		"the broker closed the channel"},
};

START_TEST(operation_and_right_are_named)
{
	struct channel_refusal refusal = {.kind = NULL};
	ck_assert(channel_refusal_set(&refusal, cases[_i].operation, TEXT("q"), cases[_i].code,
		text_from(cases[_i].reason)));
	ck_assert_msg(text_starts(text_from(refusal.text), text_from(cases[_i].text)), "%s",
		refusal.text);
	ck_assert_str_eq(refusal.kind, cases[_i].kind);
}
END_TEST

/* A log line for each change only. */
START_TEST(the_same_refusal_is_not_new)
{
	struct channel_refusal refusal = {.kind = NULL};
	struct text reason = TEXT("NOT_FOUND - no queue 'q' in vhost '/'");
	ck_assert(channel_refusal_set(&refusal, REFUSED_CHECK, TEXT("q"), 404, reason));
	ck_assert(!channel_refusal_set(&refusal, REFUSED_CHECK, TEXT("q"), 404, reason));
	ck_assert(channel_refusal_set(&refusal, REFUSED_CHECK, TEXT("r"), 404, reason));
	channel_refusal_clear(&refusal);
	ck_assert_ptr_null(refusal.kind);
	ck_assert(channel_refusal_set(&refusal, REFUSED_CHECK, TEXT("r"), 404, reason));
}
END_TEST

START_TEST(longest_names_fit)
{
	struct channel_refusal refusal = {.kind = NULL};
	char name[255];
	memset(name, '\x1b', sizeof name);
	struct text longest = text_of(name, sizeof name);
	for (enum refused_operation i = REFUSED_CHECK; i <= REFUSED_PUBLISH; i++) {
		ck_assert(channel_refusal_set(&refusal, i, longest, 403, longest));
		ck_assert_uint_lt(strlen(refusal.text), sizeof refusal.text);
	}
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("broker/channel_refusal");
	TCase *texts = tcase_create("texts");
	tcase_add_loop_test(texts, operation_and_right_are_named, 0, sizeof cases / sizeof *cases);
	suite_add_tcase(s, texts);
	UNIT_CASE(s, "state", the_same_refusal_is_not_new, longest_names_fit);
	return s;
}

UNIT_MAIN(suite)
