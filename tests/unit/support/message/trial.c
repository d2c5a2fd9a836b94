#include "unit/support/message/trial.h"

const struct copy_options trial_options = {
	.queue = {"orders", 6},
	.dead_letter = {"orders.dead", 11},
	.frame_max = TRIAL_FRAME_MAX,
	.now_s = 1700000000,
};

struct properties all_properties(void)
{
	struct properties p = {0};
	properties_set(&p, PROPERTY_CONTENT_TYPE, TEXT("text/plain"));
	properties_set(&p, PROPERTY_CONTENT_ENCODING, TEXT("gzip"));
	properties_set(&p, PROPERTY_DELIVERY_MODE, TEXT("\1"));
	properties_set(&p, PROPERTY_PRIORITY, TEXT("\7"));
	properties_set(&p, PROPERTY_CORRELATION_ID, TEXT("corr"));
	properties_set(&p, PROPERTY_REPLY_TO, TEXT("answers"));
	properties_set(&p, PROPERTY_EXPIRATION, TEXT("60000"));
	properties_set(&p, PROPERTY_MESSAGE_ID, TEXT("m-1"));
	properties_set(&p, PROPERTY_TIMESTAMP, text_of("\0\0\0\0\0\0\1\0", 8));
	properties_set(&p, PROPERTY_TYPE, TEXT("order"));
	properties_set(&p, PROPERTY_USER_ID, TEXT("guest"));
	properties_set(&p, PROPERTY_APP_ID, TEXT("shop"));
	properties_set(&p, PROPERTY_CLUSTER_ID, TEXT("theirs"));
	return p;
}

void trial_init(struct trial *t)
{
	*t = (struct trial){.delivery = NULL};
	buf_init(&t->task_headers, SIZE_MAX);
	buf_init(&t->reply_headers, SIZE_MAX);
	buf_init(&t->scratch, SIZE_MAX);
	t->output = output_new(0);
	t->output->status = STATUS_REPLY;
	t->output->body = TEXT("new");
}

void trial_run_with(struct trial *t, enum parcel_kind kind, const struct properties *given,
	const struct copy_options *with)
{
	if (!t->delivery)
		t->delivery = delivery_of(given,
			buf_len(&t->task_headers) ? buf_text(&t->task_headers) : TEXT_NONE,
			TEXT("old"), 100);
	t->output->headers = buf_text(&t->reply_headers);
	t->parcel.kind = kind;
	t->parcel.seq.number = 42;
	t->parcel.delivery = t->delivery;
	t->parcel.output = t->output;
	ck_assert_int_eq(copy_build(&t->parcel, with, &t->scratch, &t->publish), RC_OK);
	ck_assert_int_eq(properties_parse(t->publish.properties, &t->properties), RC_OK);
	if (with->frame_max)
		ck_assert_uint_le(8 + 12 + t->publish.properties.len, with->frame_max);
	ck_assert_uint_eq(copy_returned_number(t->publish.properties), 42);
}

void trial_run(struct trial *t, enum parcel_kind kind)
{
	struct properties all = all_properties();
	trial_run_with(t, kind, &all, &trial_options);
}

void trial_release(struct trial *t)
{
	delivery_free(t->delivery);
	output_free(t->output);
	buf_release(&t->task_headers);
	buf_release(&t->reply_headers);
	buf_release(&t->scratch);
}
