#include "broker/token_message.h"

#include "base/json_walk.h"
#include "message/copy.h"

/* Of the line of JSON: a token of a later version may have more members, but no other meaning. */
#define VERSION 1

enum member { VERSION_MEMBER, HOLDER, EPOCH, COUNTER, WINDOW, WAIT, ORDERLY, DEATHS, MEMBERS };

static const char *const names[MEMBERS + 1] = {"wpool_token", "holder", "epoch", "counter",
	"window", "wait_ms", "orderly", "deaths", NULL};

bool token_holder_is_valid(struct text holder)
{
	if (holder.len > TOKEN_HOLDER_MAX)
		return false;
	for (size_t i = 0; i < holder.len; i++) {
		char character = holder.ptr[i];
		if (character <= ' ' || character > '~' || character == '"' || character == '\\')
			return false;
	}
	return true;
}

enum rc token_message_write(const struct token_content *content, uint64_t number, struct text queue,
	struct buf *scratch, struct amqp_publish *ret_publish)
{
	struct properties properties = {0};
	char digits[TEXT_DECIMAL_MAX];
	size_t len;

	properties_set(&properties, PROPERTY_DELIVERY_MODE, TEXT("\2"));
	properties_set(&properties, PROPERTY_TYPE, TEXT("wpool-token"));
	copy_set_number(&properties, number, digits);
	buf_clear(scratch);
	properties_write(&properties, scratch);
	len = buf_len(scratch);
	buf_printf(scratch,
		"{\"wpool_token\":%d,\"holder\":\"%.*s\",\"epoch\":%llu,\"counter\":%llu,"
		"\"window\":%u,\"wait_ms\":%llu,\"orderly\":%s,\"deaths\":%u}\n",
		VERSION, TEXT_ARGS(content->holder), (unsigned long long)content->epoch,
		(unsigned long long)content->counter, content->window,
		(unsigned long long)((content->delay + MTIME_MS - 1) / MTIME_MS),
		content->is_orderly ? "true" : "false", content->deaths);
	buf_append_text(scratch, content->handover);
	if (scratch->failed)
		return RC_MEMORY;
	*ret_publish = (struct amqp_publish){.routing_key = queue,
		.mandatory = true,
		.properties = text_of(buf_text(scratch).ptr, len),
		.body = text_of(buf_text(scratch).ptr + len, buf_len(scratch) - len)};
	return RC_OK;
}

/* Each member once; false: one is missing or there twice. */
static bool take_members(struct text line, struct text values[MEMBERS])
{
	struct json_member member;
	size_t index;

	while (json_walk_next(&line, &member)) {
		index = text_index(member.key, names);
		if (index == MEMBERS)
			continue;
		if (values[index].len > 0)
			return false;
		values[index] = member.value;
	}
	for (size_t i = 0; i < MEMBERS; i++)
		if (values[i].len == 0)
			return false;
	return true;
}

static bool read_bool(struct text value, bool *ret)
{
	*ret = text_is(value, TEXT("true"));
	return *ret || text_is(value, TEXT("false"));
}

static const char *read_values(const struct text values[MEMBERS], struct token_content *ret)
{
	struct token_content content = {0};
	uint64_t version, window, wait_ms, deaths;

	if (!text_read_decimal(values[VERSION_MEMBER], VERSION, &version) || version != VERSION)
		return "it is of another version of wpool";
	if (!json_walk_string(values[HOLDER], &content.holder) ||
		!token_holder_is_valid(content.holder))
		return "its holder is no valid name";
	if (!text_read_decimal(values[EPOCH], TOKEN_NUMBER_MAX - 1, &content.epoch) ||
		!text_read_decimal(values[COUNTER], TOKEN_NUMBER_MAX - 1, &content.counter))
		return "its epoch or counter is no number, or too large";
	if (content.epoch > 0 && content.holder.len == 0)
		return "it has an epoch, but no holder";
	if (!text_read_decimal(values[WINDOW], UINT16_MAX, &window) || window == 0)
		return "its window is no number from 1 to 65535";
	if (!text_read_decimal(values[WAIT], (uint64_t)(TOKEN_DELAY_MAX / MTIME_MS), &wait_ms))
		return "its wait_ms is no number, or too large";
	if (!text_read_decimal(values[DEATHS], UINT32_MAX, &deaths) ||
		!read_bool(values[ORDERLY], &content.is_orderly))
		return "its orderly or deaths has another type";
	content.window = (uint32_t)window;
	content.delay = (mtime)wait_ms * MTIME_MS;
	content.deaths = (uint32_t)deaths;
	*ret = content;
	return NULL;
}

const char *token_message_read(struct text body, struct token_content *ret)
{
	struct text values[MEMBERS] = {0}, rest = body, line;
	struct token_content content;
	const char *why;

	if (body.len > TOKEN_BODY_MAX)
		return "it is too large";
	if (!text_take_line(&rest, &line) || line.len > TOKEN_LINE_MAX ||
		rest.len > TOKEN_HANDOVER_MAX || !json_walk_is_object(line))
		return "it does not begin with a line of JSON";
	if (!take_members(line, values))
		return "a member is missing, or there twice";
	why = read_values(values, &content);
	if (why)
		return why;
	content.handover = rest;
	*ret = content;
	return NULL;
}
