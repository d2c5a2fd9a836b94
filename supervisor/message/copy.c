#include "message/copy.h"

#include "amqp/table.h"
#include "core/tasks/settle.h"
#include "message/copy_headers.h"
#include "message/names.h"
#include "message/rest.h"

#include <assert.h>

#define PERSISTENT         TEXT("\2")
#define FRAME_OVERHEAD     8  /* type, channel, length and end octet of a frame */
#define HEADER_FRAME_FIXED 12 /* class, weight and body size, in front of the properties */

typedef uint32_t property_set;
#define BIT(property)  (UINT32_C(1) << (property))
#define ALL_PROPERTIES (~UINT32_C(0))

bool reply_headers_fit(struct text table)
{
	return table_check(table) == RC_OK && table_count(table, true) <= REPLY_FIELDS_MAX;
}

static property_set kept_in(enum parcel_kind kind)
{
	switch (kind) {
	case PARCEL_REPLY:
	case PARCEL_REFUSAL:
		return BIT(PROPERTY_CONTENT_TYPE) | BIT(PROPERTY_CORRELATION_ID) |
		       BIT(PROPERTY_TYPE) | BIT(PROPERTY_PRIORITY);
	case PARCEL_HAND_BACK:
		return BIT(PROPERTY_CONTENT_TYPE) | BIT(PROPERTY_CONTENT_ENCODING) |
		       BIT(PROPERTY_PRIORITY) | BIT(PROPERTY_CORRELATION_ID) |
		       BIT(PROPERTY_REPLY_TO) | BIT(PROPERTY_MESSAGE_ID) | BIT(PROPERTY_TIMESTAMP) |
		       BIT(PROPERTY_TYPE) | BIT(PROPERTY_APP_ID);
	case PARCEL_RETRY:
	case PARCEL_DEAD_LETTER:
	case PARCEL_RENEW:
	case PARCEL_POSTPONE:
	case PARCEL_LATER:
		break;
	}
	return ALL_PROPERTIES;
}

void copy_make_safe(struct properties *properties)
{
	properties_clear(properties, PROPERTY_EXPIRATION);
	properties_clear(properties, PROPERTY_USER_ID);
	if (text_is(properties->value[PROPERTY_REPLY_TO], DIRECT_REPLY_TO))
		properties_clear(properties, PROPERTY_REPLY_TO);
}

/* Set *ret to the delivery's properties that this parcel keeps, without headers. Return a name for
 * what could not be read, or TEXT_NONE. */
static struct text inherit(const struct parcel *parcel, struct properties *ret)
{
	struct text lost = TEXT_NONE;
	if (properties_parse(parcel->delivery->properties, ret) != RC_OK) {
		*ret = (struct properties){0};
		lost = TEXT("(all properties)");
	} else if (ret->value[PROPERTY_HEADERS].len > 0 && parcel->delivery->headers.len == 0) {
		lost = TEXT("(all headers)");
	}
	rest_set_properties(parcel->delivery, ret);
	property_set kept = kept_in(parcel->kind);
	for (int property = 0; property < PROPERTY_COUNT; property++) {
		if (!(kept & BIT(property)))
			properties_clear(ret, (enum property)property);
	}
	properties_clear(ret, PROPERTY_HEADERS);
	copy_make_safe(ret);
	return parcel_is_copy(parcel) ? lost : TEXT_NONE;
}

static bool waits(const struct parcel *parcel, const struct copy_options *options)
{
	return parcel_may_wait(parcel) && parcel->delay > 0 && options->retry_queue.len > 0;
}

void copy_set_number(struct properties *properties, uint64_t number, char digits[TEXT_DECIMAL_MAX])
{
	properties_set(properties, PROPERTY_CLUSTER_ID, text_decimal(number, digits));
}

static void write_properties(const struct parcel *parcel, const struct copy_options *options,
	struct buf *table, struct buf *scratch)
{
	char digits[TEXT_DECIMAL_MAX];
	struct properties properties;
	struct text lost = inherit(parcel, &properties);
	properties_set(&properties, PROPERTY_DELIVERY_MODE, PERSISTENT);
	if (parcel_is_answer(parcel) && parcel->output->content_type.len > 0)
		properties_set(&properties, PROPERTY_CONTENT_TYPE, parcel->output->content_type);
	if (waits(parcel, options))
		properties_set(&properties, PROPERTY_EXPIRATION, options->expiration);
	copy_set_number(&properties, parcel->seq.number, digits);
	/* What these properties and the table's length leave of the frame. */
	size_t taken = FRAME_OVERHEAD + HEADER_FRAME_FIXED + properties_size(&properties) +
		       sizeof(uint32_t);
	size_t size_max = UINT32_MAX;
	if (options->frame_max > 0)
		size_max = options->frame_max > taken ? options->frame_max - taken : 0;
	copy_write_headers(parcel, options, lost, size_max, table);
	if (buf_len(table) > 0)
		properties_set(&properties, PROPERTY_HEADERS, buf_text(table));
	properties_write(&properties, scratch);
}

static struct text target_of(const struct parcel *parcel, const struct copy_options *options)
{
	switch (parcel->kind) {
	case PARCEL_REPLY:
	case PARCEL_HAND_BACK:
		return settle_reply_target(parcel->delivery, parcel->output);
	case PARCEL_REFUSAL:
		return parcel->delivery->reply_to;
	case PARCEL_RETRY:
	case PARCEL_POSTPONE:
		return waits(parcel, options) ? options->retry_queue : options->queue;
	case PARCEL_LATER: /* early, in the pool's queue it would come back at once */
		return parcel->delay > 0 ? options->retry_queue : options->queue;
	case PARCEL_RENEW:
		return options->queue;
	case PARCEL_DEAD_LETTER:
		break;
	}
	return options->dead_letter;
}

enum rc copy_build(const struct parcel *parcel, const struct copy_options *options,
	struct buf *scratch, struct amqp_publish *ret_publish)
{
	struct text target = target_of(parcel, options);
	struct text body = TEXT_NONE;
	if (parcel_is_answer(parcel))
		body = parcel->output->body;
	else if (parcel_is_copy(parcel))
		body = rest_body(parcel->delivery);
	assert(target.len <= SHORT_STRING_MAX); /* an answer that names more is invalid */
	struct buf table;
	buf_init(&table, SIZE_MAX);
	buf_clear(scratch);
	write_properties(parcel, options, &table, scratch);
	bool has_failed = table.failed || scratch->failed;
	buf_release(&table);
	if (has_failed)
		return RC_MEMORY;
	*ret_publish = (struct amqp_publish){
		.exchange = TEXT_NONE,
		.routing_key = target,
		/* The broker delivers a mandatory direct reply and returns it as well. */
		.mandatory = !text_starts(target, SETTLE_DIRECT_REPLY_TO),
		.properties = buf_text(scratch),
		.body = body,
	};
	return RC_OK;
}

uint64_t copy_returned_number(struct text raw)
{
	struct properties properties;
	if (properties_parse(raw, &properties) != RC_OK)
		return 0;
	uint64_t number;
	bool is_ours =
		text_read_decimal(properties.value[PROPERTY_CLUSTER_ID], UINT64_MAX, &number);
	return is_ours ? number : 0;
}
