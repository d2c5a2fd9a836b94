/* Tables on raw bytes, compared with rabbitmq-c's codec, and hostile tables. */
#include "amqp/table.h"
#include "unit/support/amqp/peer.h"
#include "unit/unit.h"

static struct buf bytes;

static void set_up(void)
{
	buf_init(&bytes, 1u << 22);
}

static void tear_down(void)
{
	ck_assert(!bytes.failed);
	buf_release(&bytes);
}

/* Copied to memory of exactly its length, so that the sanitizer sees a read past the end. */
static enum rc check_exact(struct text table)
{
	char *exact = malloc(table.len + 1);
	enum rc rc;

	ck_assert_ptr_nonnull(exact);
	if (table.len)
		memcpy(exact + 1, table.ptr, table.len);
	rc = table_check(text_of(exact + 1, table.len));
	free(exact);
	return rc;
}

static amqp_field_value_t of_bytes(uint8_t kind, const char *string)
{
	return (amqp_field_value_t){.kind = kind, .value.bytes = peer_string(string)};
}

#define SCALARS 17
/* One of every type that is not a container. */
static void scalars(amqp_table_entry_t *e)
{
	const amqp_field_value_t values[SCALARS] = {
		{.kind = 't', .value.boolean = 1},
		{.kind = 'b', .value.i8 = -5},
		{.kind = 'B', .value.u8 = 250},
		{.kind = 's', .value.i16 = -30000},
		{.kind = 'u', .value.u16 = 60000},
		{.kind = 'I', .value.i32 = INT32_MIN},
		{.kind = 'i', .value.u32 = UINT32_MAX},
		{.kind = 'l', .value.i64 = INT64_MIN},
		{.kind = 'L', .value.u64 = UINT64_MAX},
		{.kind = 'f', .value.f32 = 1.5f},
		{.kind = 'd', .value.f64 = -2.25},
		{.kind = 'D', .value.decimal = {2, 314}},
		of_bytes('S', "long string"),
		of_bytes('x', "bytes"),
		{.kind = 'T', .value.u64 = 1700000000},
		{.kind = 'V'},
		of_bytes('S', ""),
	};
	static const char *const keys[SCALARS] = {"t", "b", "B", "s", "u", "I", "i", "l", "L", "f",
		"d", "D", "S", "x", "T", "V", "empty"};

	for (size_t i = 0; i < SCALARS; i++)
		e[i] = (amqp_table_entry_t){peer_string(keys[i]), values[i]};
}

/* rabbitmq-c's bytes of a table with every type, nested ones included; without the length. */
static struct text every_type(char *buffer, size_t len)
{
	amqp_table_entry_t entries[SCALARS + 2], inner[SCALARS];
	amqp_field_value_t items[SCALARS];
	amqp_table_t table = {SCALARS + 2, entries};
	size_t offset = 0;

	scalars(entries);
	scalars(inner);
	for (size_t i = 0; i < SCALARS; i++)
		items[i] = inner[i].value;
	entries[SCALARS] = (amqp_table_entry_t){
		peer_string("A"), {.kind = 'A', .value.array = {SCALARS, items}}};
	entries[SCALARS + 1] = (amqp_table_entry_t){
		peer_string("F"), {.kind = 'F', .value.table = {SCALARS, inner}}};
	ck_assert_int_eq(
		amqp_encode_table((amqp_bytes_t){len, buffer}, &table, &offset), AMQP_STATUS_OK);
	return text_of(buffer + 4, offset - 4);
}

START_TEST(table_next_reads_every_type)
{
	static const char types[] = "tbBsuIilLfdDSxTVSAF";
	char buffer[4096];
	struct text table = every_type(buffer, sizeof buffer), rest = table;
	struct table_field field;
	size_t count = 0;

	ck_assert_int_eq(check_exact(table), RC_OK);
	while (table_next(&rest, true, &field)) {
		ck_assert_int_eq(field.type, types[count++]);
		if (field.type == 'A' || field.type == 'F') {
			struct text inside = field.value;
			struct table_field item;
			size_t items = 0;

			while (table_next(&inside, field.type == 'F', &item))
				ck_assert_int_eq(item.type, types[items++]);
			ck_assert_uint_eq(items, SCALARS);
		}
	}
	ck_assert_uint_eq(rest.len, 0);
	ck_assert_uint_eq(count, SCALARS + 2);
}
END_TEST

START_TEST(copied_fields_are_the_same_bytes)
{
	char buffer[4096];
	struct text table = every_type(buffer, sizeof buffer), rest = table;
	struct table_field field;

	while (table_next(&rest, true, &field))
		table_put_field(&bytes, &field);
	ck_assert(text_is(buf_text(&bytes), table));
}
END_TEST

START_TEST(every_cut_is_malformed)
{
	char buffer[4096];
	struct text table = every_type(buffer, sizeof buffer), rest = table;
	struct table_field field;
	size_t whole = 0;

	for (size_t len = 0; len < table.len; len++) {
		enum rc expected = len == whole ? RC_OK : RC_MALFORMED;

		ck_assert_int_eq(check_exact(text_of(table.ptr, len)), expected);
		if (len == whole && table_next(&rest, true, &field))
			whole = table.len - rest.len;
	}
}
END_TEST

static const struct {
	const char *key;
	int64_t value;
} integers[] = {{"b", -5}, {"B", 250}, {"s", -30000}, {"u", 60000}, {"I", INT32_MIN},
	{"i", UINT32_MAX}, {"l", INT64_MIN}, {"L", INT64_MAX}, {"T", 1700000000}};

START_TEST(integers_are_read)
{
	char buffer[4096];
	struct text table = every_type(buffer, sizeof buffer);
	struct table_field field;
	int64_t value = 0;

	ck_assert(table_find(table, text_from(integers[_i].key), &field));
	ck_assert(table_field_integer(&field, &value));
	ck_assert_int_eq(value, integers[_i].value);
}
END_TEST

START_TEST(other_types_are_no_integers)
{
	static const char *const keys[] = {"t", "f", "d", "D", "S", "x", "V", "A", "F", "empty"};
	char buffer[4096];
	struct text table = every_type(buffer, sizeof buffer);
	struct table_field field;
	int64_t value = 7;

	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
		ck_assert(table_find(table, text_from(keys[i]), &field));
		ck_assert(!table_field_integer(&field, &value));
	}
	ck_assert_int_eq(value, 7);
	ck_assert(!table_find(table, TEXT("absent"), &field));
}
END_TEST

START_TEST(last_field_of_a_name_is_found)
{
	struct table_field field;
	int64_t value = 0;

	table_put_integer(&bytes, TEXT("n"), 1);
	table_put_bool(&bytes, TEXT("other"), true);
	table_put_integer(&bytes, TEXT("n"), 2);
	ck_assert_int_eq(check_exact(buf_text(&bytes)), RC_OK);
	ck_assert(table_find(buf_text(&bytes), TEXT("n"), &field));
	ck_assert(table_field_integer(&field, &value));
	ck_assert_int_eq(value, 2);
}
END_TEST

START_TEST(rabbitmq_c_reads_our_tables)
{
	amqp_pool_t pool;
	amqp_table_t table;
	size_t offset = 0;

	buf_append_be32(&bytes, 0);
	table_put_string(&bytes, TEXT("name"), TEXT("v\0alue"));
	table_put_integer(&bytes, TEXT("number"), -42);
	table_put_bool(&bytes, TEXT("yes"), true);
	octets_put32(bytes.bytes + bytes.head, (uint32_t)buf_len(&bytes) - 4);
	init_amqp_pool(&pool, 4096);
	ck_assert_int_eq(amqp_decode_table(peer_bytes(buf_text(&bytes)), &pool, &table, &offset),
		AMQP_STATUS_OK);
	ck_assert_int_eq(table.num_entries, 3);
	ck_assert_int_eq(table.entries[0].value.kind, 'S');
	ck_assert_uint_eq(table.entries[0].value.value.bytes.len, 6);
	ck_assert_int_eq(table.entries[1].value.kind, 'l');
	ck_assert_int_eq(table.entries[1].value.value.i64, -42);
	ck_assert_int_eq(table.entries[2].value.kind, 't');
	ck_assert(table.entries[2].value.value.boolean);
	empty_amqp_pool(&pool);
}
END_TEST

/* depth nested containers; the table itself is the first. */
static void nest(char type, size_t depth)
{
	size_t each = type == 'F' ? 6 : 5;

	buf_append_text(&bytes, TEXT("\1k"));
	for (size_t left = depth - 1; left-- > 0;) {
		buf_append_byte(&bytes, (uint8_t)type);
		buf_append_be32(&bytes, (uint32_t)(left * each));
		if (type == 'F' && left > 0)
			buf_append_byte(&bytes, 0); /* an empty key */
	}
}

static const struct {
	char type;
	size_t depth;
	enum rc rc;
} depths[] = {{'A', 2, RC_OK}, {'A', TABLE_DEPTH_MAX, RC_OK}, {'A', TABLE_DEPTH_MAX + 1, RC_LIMIT},
	{'F', TABLE_DEPTH_MAX, RC_OK}, {'F', TABLE_DEPTH_MAX + 1, RC_LIMIT}, {'A', 26208, RC_LIMIT},
	{'F', 26208, RC_LIMIT}};

START_TEST(depth_is_bounded)
{
	nest(depths[_i].type, depths[_i].depth);
	ck_assert_int_eq(check_exact(buf_text(&bytes)), depths[_i].rc);
}
END_TEST

static const struct {
	size_t fields;
	enum rc rc;
} counts[] = {{TABLE_FIELDS_MAX, RC_OK}, {TABLE_FIELDS_MAX + 1, RC_LIMIT}, {43690, RC_LIMIT}};

/* 43,690 of them are 128 KiB. */
START_TEST(empty_fields_are_bounded)
{
	for (size_t i = 0; i < counts[_i].fields; i++)
		buf_append_text(&bytes, TEXT("\1kV"));
	ck_assert_int_eq(check_exact(buf_text(&bytes)), counts[_i].rc);
	ck_assert_uint_eq(table_count(buf_text(&bytes), true), counts[_i].fields);
}
END_TEST

START_TEST(nested_fields_are_counted)
{
	for (size_t i = 0; i <= TABLE_FIELDS_MAX / 2; i++)
		buf_append_text(&bytes, TEXT("\1kA\0\0\0\1V"));
	ck_assert_int_eq(check_exact(buf_text(&bytes)), RC_LIMIT);
	ck_assert_uint_eq(table_count(buf_text(&bytes), true), TABLE_FIELDS_MAX + 2);
	ck_assert_uint_eq(table_count(TEXT("VA\0\0\0\2VVt\1"), false), 5);
}
END_TEST

static const struct text malformed[] = {
	{"\5abc", 4},                    /* key over the end */
	{"\1", 1},                       /* key missing */
	{"\1k", 2},                      /* type missing */
	{"\1kZ", 3},                     /* unknown type */
	{"\1k\0", 3},                    /* type 0 */
	{"\1kl\0\0\0\0\0\0\0", 10},      /* one octet short */
	{"\1kS\0\0\0\4abc", 10},         /* string over the end */
	{"\1kS\377\377\377\377abc", 10}, /* far over the end */
	{"\1kS\0\0", 5},                 /* length cut */
	{"\1kF\0\0\0\1", 7},             /* table over the end */
	{"\1kF\0\0\0\3\1jt\1", 11},      /* inner field over its table, within the outer */
	{"\1kA\0\0\0\2S\0\0\0\0", 12},   /* inner length over its array */
	{"\1kA\0\0\0\1Z", 8},            /* unknown type inside */
};

START_TEST(malformed_bytes_are_rejected)
{
	ck_assert_int_eq(check_exact(malformed[_i]), RC_MALFORMED);
}
END_TEST

/* rabbitmq-c decodes each table that table_check passes. The reverse does not hold: rabbitmq-c lets
 * a nested field exceed its container. */
static enum rc agrees_with_rabbitmq_c(struct text prefixed)
{
	struct text rest = text_of(prefixed.ptr + 4, prefixed.len - 4);
	struct table_field field;
	amqp_pool_t pool;
	amqp_table_t table;
	size_t offset = 0;
	enum rc rc = check_exact(rest);

	if (rc != RC_OK)
		return rc;
	init_amqp_pool(&pool, 4096);
	ck_assert_int_eq(
		amqp_decode_table(peer_bytes(prefixed), &pool, &table, &offset), AMQP_STATUS_OK);
	empty_amqp_pool(&pool);
	ck_assert_uint_eq(offset, prefixed.len);
	while (table_next(&rest, true, &field))
		;
	ck_assert_uint_eq(rest.len, 0);
	return rc;
}

#define MUTATIONS 20000

START_TEST(mutations_agree_with_rabbitmq_c)
{
	char buffer[4096], mutant[4096];
	struct text table = every_type(buffer, sizeof buffer);
	size_t len = table.len + 4;
	unsigned seed = 20240611, passed = 0;

	for (int i = 0; i < MUTATIONS; i++) {
		memcpy(mutant, buffer, len);
		for (int changes = rand_r(&seed) % 4; changes >= 0; changes--)
			mutant[4 + (size_t)rand_r(&seed) % table.len] = (char)rand_r(&seed);
		passed += agrees_with_rabbitmq_c(text_of(mutant, len)) == RC_OK;
	}
	ck_assert_uint_gt(passed, MUTATIONS / 20);
	ck_assert_uint_lt(passed, MUTATIONS);
}
END_TEST

#define LOOP(tcase, test, cases) tcase_add_loop_test(tcase, test, 0, sizeof cases / sizeof *cases)

static Suite *table_suite(void)
{
	Suite *suite = suite_create("amqp/table");
	TCase *walk = tcase_create("walk");

	tcase_add_checked_fixture(walk, set_up, tear_down);
	tcase_add_test(walk, table_next_reads_every_type);
	tcase_add_test(walk, copied_fields_are_the_same_bytes);
	tcase_add_test(walk, every_cut_is_malformed);
	LOOP(walk, integers_are_read, integers);
	tcase_add_test(walk, other_types_are_no_integers);
	tcase_add_test(walk, last_field_of_a_name_is_found);
	tcase_add_test(walk, rabbitmq_c_reads_our_tables);
	LOOP(walk, depth_is_bounded, depths);
	LOOP(walk, empty_fields_are_bounded, counts);
	tcase_add_test(walk, nested_fields_are_counted);
	LOOP(walk, malformed_bytes_are_rejected, malformed);
	tcase_add_test(walk, mutations_agree_with_rabbitmq_c);
	suite_add_tcase(suite, walk);
	return suite;
}

UNIT_MAIN(table_suite)
