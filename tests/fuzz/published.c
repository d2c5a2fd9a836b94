#include "fuzz/published.h"

#include "fuzz/fuzz.h"
#include "message/names.h"

#define NUMBER      77
#define HEADER_SIZE (8 + 12) /* a header frame but for its properties */

static void check_table(struct text table, bool is_reply)
{
	struct table_field field;
	FUZZ_REQUIRE(table_check(table) == RC_OK);
	FUZZ_REQUIRE(table_count(table, true) <= COPY_FIELDS_MAX);
	while (table_next(&table, true, &field)) {
		FUZZ_REQUIRE(!name_is_brokers(field.key));
		FUZZ_REQUIRE(!text_is(field.key, HEADER_CC) && !text_is(field.key, HEADER_BCC));
		FUZZ_REQUIRE(!is_reply || !text_is(field.key, HEADER_ATTEMPT));
	}
}

struct amqp_publish published_build(const struct parcel *given, struct buf *scratch)
{
	struct copy_options options = {.queue = TEXT("work"),
		.dead_letter = TEXT("work.dead"),
		.frame_max = PUBLISHED_FRAME_MAX,
		.now_s = 1700000000};
	struct parcel parcel = *given;
	struct amqp_publish publish;
	struct properties properties;
	parcel.seq.number = NUMBER;
	FUZZ_REQUIRE(copy_build(&parcel, &options, scratch, &publish) == RC_OK);
	FUZZ_REQUIRE(HEADER_SIZE + publish.properties.len <= PUBLISHED_FRAME_MAX);
	FUZZ_REQUIRE(publish.exchange.len <= 255 && publish.routing_key.len <= 255);
	FUZZ_REQUIRE(properties_parse(publish.properties, &properties) == RC_OK);
	FUZZ_REQUIRE(!properties_has(&properties, PROPERTY_USER_ID));
	FUZZ_REQUIRE(!properties_has(&properties, PROPERTY_EXPIRATION));
	FUZZ_REQUIRE(copy_returned_number(publish.properties) == NUMBER);
	check_table(properties.value[PROPERTY_HEADERS],
		parcel.kind == PARCEL_REPLY || parcel.kind == PARCEL_REFUSAL);
	return publish;
}

void published_check_answer(struct output *output)
{
	static const char properties[2];
	struct delivery *delivery = delivery_new(0);
	struct buf scratch;
	FUZZ_REQUIRE(delivery);
	delivery->properties = text_of(properties, sizeof properties);
	delivery->reply_to = TEXT("answers");
	buf_init(&scratch, SIZE_MAX);
	/* What its header frame bears was judged by the limits: only then does it go out. */
	for (int kind = PARCEL_REPLY; kind <= PARCEL_HAND_BACK; kind++)
		published_build(&(struct parcel){.kind = (enum parcel_kind)kind,
					.delivery = delivery,
					.output = output},
			&scratch);
	buf_release(&scratch);
	delivery_free(delivery);
}
