#include "dead_letters/show.h"

#include "amqp/table.h"
#include "base/utf8.h"
#include "dead_letters/json.h"
#include "message/field_text.h"
#include "message/names.h"
#include "tty/cli_options.h"

#include <stdio.h>
#include <time.h>

#define HEX_COLUMNS 16

void append_time(struct buf *out, int64_t seconds)
{
	time_t when = (time_t)seconds;
	struct tm parts;
	char text[32];
	if (gmtime_r(&when, &parts) && strftime(text, sizeof text, "%Y-%m-%d %H:%M:%SZ", &parts))
		buf_append_text(out, text_from(text));
	else
		buf_printf(out, "%lld", (long long)seconds);
}

/* Keep the lines of a text, and indent each. */
static void append_indented(struct buf *out, struct text t)
{
	while (t.len > 0) {
		const char *end = memchr(t.ptr, '\n', t.len);
		size_t len = end ? (size_t)(end - t.ptr) : t.len;
		buf_append_text(out, TEXT("    "));
		utf8_append_escaped(out, text_of(t.ptr, len));
		buf_append_byte(out, '\n');
		len += end != NULL;
		t = text_of(t.ptr + len, t.len - len);
	}
}

static void append_hex(struct buf *out, struct text t)
{
	for (size_t at = 0; at < t.len; at += HEX_COLUMNS) {
		buf_printf(out, "    %06zx ", at);
		for (size_t i = at; i < at + HEX_COLUMNS; i++) {
			if (i < t.len)
				buf_printf(out, " %02x", (uint8_t)t.ptr[i]);
			else
				buf_append_text(out, TEXT("   "));
		}
		buf_append_text(out, TEXT("  "));
		for (size_t i = at; i < at + HEX_COLUMNS && i < t.len; i++) {
			bool is_shown = t.ptr[i] >= ' ' && t.ptr[i] <= '~';
			buf_append_byte(out, is_shown ? (uint8_t)t.ptr[i] : '.');
		}
		buf_append_byte(out, '\n');
	}
}

static void append_body(struct buf *out, struct text body)
{
	char number[32];
	bool is_text = utf8_is_valid(body);
	size_t len = is_text ? SHOWN_TEXT_MAX : SHOWN_BYTES_MAX;
	if (body.len <= len)
		len = body.len;
	else if (is_text) /* cut at the end of a character */
		while (len > 0 && ((uint8_t)body.ptr[len] & 0xc0) == 0x80)
			len--;
	buf_printf(out, "  body: %s byte%s%s\n", cli_number(body.len, number),
		body.len == 1 ? "" : "s", is_text ? "" : ", not UTF-8");
	if (is_text)
		append_indented(out, text_of(body.ptr, len));
	else
		append_hex(out, text_of(body.ptr, len));
	if (len < body.len)
		buf_printf(out, "    ... %s more bytes; --json has them all\n",
			cli_number(body.len - len, number));
}

static void append_header(struct buf *out, const struct table_field *field)
{
	struct buf value;
	int64_t seconds;
	buf_init(&value, SIZE_MAX);
	buf_append_text(out, TEXT("    "));
	utf8_append_escaped(out, field->key);
	buf_printf(out, " (%s): ", field_type_name(field->type));
	if (field->type == 'T' && table_field_integer(field, &seconds))
		append_time(&value, seconds);
	else
		field_append_text(&value, field);
	utf8_append_escaped(out, buf_text(&value));
	buf_append_byte(out, '\n');
	out->failed |= value.failed;
	buf_release(&value);
}

static void append_properties(struct buf *out, const struct properties *properties)
{
	for (int i = 0; i < PROPERTY_COUNT; i++) {
		enum property property = (enum property)i;
		struct buf value;
		if (!property_name(property) || !properties_has(properties, property))
			continue;
		buf_init(&value, SIZE_MAX);
		property_append(properties, property, &value);
		buf_printf(out, "    %s: ", property_name(property));
		utf8_append_escaped(out, buf_text(&value));
		buf_append_byte(out, '\n');
		out->failed |= value.failed;
		buf_release(&value);
	}
}

void dead_letter_write_text(struct buf *out, const struct dead_letter *letter)
{
	struct text headers = letter->headers;
	struct table_field field;
	dead_letter_name(letter, out);
	buf_append_text(out, TEXT("\n  properties:\n"));
	append_properties(out, &letter->properties);
	buf_append_text(out, letter->is_unreadable
				     ? TEXT("  headers or properties: cannot be read\n")
				     : TEXT("  headers:\n"));
	while (table_next(&headers, true, &field))
		append_header(out, &field);
	append_body(out, letter->body);
}
