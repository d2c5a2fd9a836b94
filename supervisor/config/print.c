#include "config/config.h"

#include "base/utf8.h"
#include "config/value/binding.h"
#include "config/value/values.h"

#include <stdio.h>
#include <strings.h>

/* The state of printing one scope. */
struct page {
	struct buf *out;
	const char *indent;
	char section[64]; /* of the last line: "limits" or "" */
	bool first;       /* no line yet; the first line of a list's member has the dash */
};

/* ---------- texts ---------- */

/* True for words that some YAML reader does not take as text. */
static bool is_special(struct text t)
{
	static const char *const words[] = {
		"null", "true", "false", "yes", "no", "on", "off", "y", "n"};
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (strlen(words[i]) == t.len && strncasecmp(words[i], t.ptr, t.len) == 0)
			return true;
	return false;
}

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '/';
}

static bool is_plain(struct text t)
{
	for (size_t i = 0; i < t.len; i++) {
		char c = t.ptr[i];
		bool inside = (c >= '0' && c <= '9') || c == '-' || c == '.';
		if (!is_letter(c) && (i == 0 || !inside))
			return false;
	}
	return t.len > 0 && !is_special(t);
}

/* Printable by YAML 1.1, 5.1, without the byte order mark and what terminals obey. */
static bool is_printable(uint32_t code)
{
	return !utf8_is_control(code) &&
	       (code < 0xd800 || (code >= 0xe000 && code < 0xfffe && code != 0xfeff) ||
		       code >= 0x10000);
}

static void append_character(struct buf *out, struct text t)
{
	uint32_t code = utf8_code(t);
	if (code == '"' || code == '\\')
		buf_append_byte(out, '\\');
	if (code == '$') /* variables are expanded in quotes, too */
		buf_append_byte(out, '$');
	if (is_printable(code))
		buf_append_text(out, t);
	else
		buf_printf(out, "\\U%08x", (unsigned)code);
}

static void append_quoted(struct buf *out, struct text t)
{
	buf_append_byte(out, '"');
	while (t.len > 0 && !out->failed) {
		size_t len;
		if (utf8_first(t, &len))
			append_character(out, text_of(t.ptr, len));
		else
			buf_append_text(out, UTF8_REPLACEMENT);
		t = text_of(t.ptr + len, t.len - len);
	}
	buf_append_byte(out, '"');
}

static void append_text(struct buf *out, struct text t)
{
	if (is_plain(t))
		buf_append_text(out, t);
	else
		append_quoted(out, t);
}

/* ---------- values ---------- */

/* Workers are often passed the broker's address: hide its password. */
static void append_word(struct buf *out, struct text word)
{
	struct text password = broker_url_password(word);
	struct buf shown;
	if (password.len == 0 || !memmem(word.ptr, word.len, "://", 3)) {
		append_text(out, word);
		return;
	}
	const char *behind = password.ptr + password.len;
	buf_init(&shown, word.len + 3);
	buf_append(&shown, word.ptr, (size_t)(password.ptr - word.ptr));
	buf_append_text(&shown, TEXT("***"));
	buf_append(&shown, behind, (size_t)(word.ptr + word.len - behind));
	append_text(out, buf_text(&shown));
	out->failed |= shown.failed;
	buf_release(&shown);
}

static void append_words(struct buf *out, char *const *words)
{
	buf_append_byte(out, '[');
	for (size_t i = 0; words[i]; i++) {
		buf_append_text(out, i > 0 ? TEXT(", ") : TEXT_NONE);
		append_word(out, text_from(words[i]));
	}
	buf_append_byte(out, ']');
}

/* Append {NAME: value}; is_hidden: without the values. */
static void append_pairs(struct buf *out, char *const *pairs, bool is_hidden)
{
	buf_append_byte(out, '{');
	for (size_t i = 0; pairs[i]; i++) {
		struct text name = text_of(pairs[i], strcspn(pairs[i], "="));
		buf_append_text(out, i > 0 ? TEXT(", ") : TEXT_NONE);
		append_text(out, name);
		buf_append_text(out, TEXT(": "));
		append_text(out, is_hidden ? TEXT("***") : text_from(pairs[i] + name.len + 1));
	}
	buf_append_byte(out, '}');
}

/* The fields before the headers, then the headers, then the others; each where it was written. */
static void append_binding(struct buf *out, struct text rest)
{
	struct text name, value;
	bool is_in_headers = false;
	const char *separator = "{";

	while (binding_next(&rest, &name, &value)) {
		bool is_header = text_is(name, TEXT("header"));
		if (is_in_headers && !is_header)
			buf_append_byte(out, '}');
		buf_append_text(out, text_from(separator));
		if (is_header && !is_in_headers)
			buf_append_text(out, TEXT("headers: {"));
		if (is_header) {
			name = text_of(value.ptr, strcspn(value.ptr, "="));
			value = text_of(value.ptr + name.len + 1, value.len - name.len - 1);
		}
		append_text(out, name);
		buf_append_text(out, TEXT(": "));
		append_text(out, value);
		is_in_headers = is_header;
		separator = ", ";
	}
	buf_append_text(out, is_in_headers ? TEXT("}}") : TEXT("}"));
}

static void append_bindings(struct buf *out, char *const *bindings)
{
	buf_append_byte(out, '[');
	for (size_t i = 0; bindings[i]; i++) {
		buf_append_text(out, i > 0 ? TEXT(", ") : TEXT_NONE);
		append_binding(out, text_from(bindings[i]));
	}
	buf_append_byte(out, ']');
}

static void append_addresses(struct page *page, const struct config *config)
{
	for (size_t i = 0; i < config->host_count; i++) {
		buf_printf(page->out, "\n%s    - \"", page->indent);
		broker_url_print(&config->hosts[i], page->out);
		buf_append_byte(page->out, '"');
	}
}

static void append_value(struct page *page, const struct setting *setting, const void *base)
{
	const char *member = (const char *)base + setting->offset;
	switch (setting->type) {
	case SETTING_ADDRESSES:
		append_addresses(page, base);
		break;
	case SETTING_WORDS:
	case SETTING_NAMES:
		buf_append_byte(page->out, ' ');
		append_words(page->out, *(char **const *)(const void *)member);
		break;
	case SETTING_PAIRS:
		buf_append_byte(page->out, ' ');
		append_pairs(page->out, *(char **const *)(const void *)member, setting->is_hidden);
		break;
	case SETTING_BINDINGS:
		buf_append_byte(page->out, ' ');
		append_bindings(page->out, *(char **const *)(const void *)member);
		break;
	case SETTING_TEXT:
		buf_append_byte(page->out, ' ');
		append_text(page->out, text_from(*(char *const *)(const void *)member));
		break;
	default:
		buf_append_byte(page->out, ' ');
		value_append(setting, base, page->out);
	}
}

/* ---------- the page ---------- */

static void append_indent(struct page *page)
{
	if (page->first && *page->indent)
		buf_append_text(page->out, TEXT("  - "));
	else
		buf_append_text(page->out, text_from(page->indent));
	page->first = false;
}

/* The settings of sessions have no meaning in a pool without them, and max_keys has none in a
 * throttle without key. */
static bool has_no_meaning(enum setting_scope scope, const char *key, const void *base)
{
	if (scope == SETTING_THROTTLE)
		return strcmp(key, "max_keys") == 0 && !((const struct config_throttle *)base)->key;
	return scope == SETTING_POOL && text_starts(text_from(key), TEXT("session.")) &&
	       !((const struct config_pool *)base)->session.key;
}

/* True for a text or list that was not given and has no default: there is nothing to print. */
static bool is_unset(const struct setting *setting, const void *base)
{
	bool may_be = setting->type == SETTING_TEXT || setting->type == SETTING_WORDS ||
		      setting->type == SETTING_PAIRS || setting->type == SETTING_BINDINGS ||
		      setting->type == SETTING_NAMES;
	const char *member = (const char *)base + setting->offset;
	return may_be && !*(void *const *)(const void *)member;
}

static void append_setting(struct page *page, const struct setting *setting, const void *base)
{
	const char *dot = strchr(setting->key, '.');
	struct text section = text_of(setting->key, dot ? (size_t)(dot - setting->key) : 0);
	if (dot && !text_is(section, text_from(page->section))) {
		append_indent(page);
		buf_printf(page->out, "%.*s:\n", TEXT_ARGS(section));
	}
	snprintf(page->section, sizeof page->section, "%.*s", TEXT_ARGS(section));
	append_indent(page);
	buf_printf(page->out, "%s%s:", dot ? "  " : "", dot ? dot + 1 : setting->key);
	append_value(page, setting, base);
	buf_append_byte(page->out, '\n');
}

static void append_scope(
	struct buf *out, enum setting_scope scope, const void *base, const char *indent)
{
	size_t count;
	const struct setting *settings = settings_of(scope, &count);
	struct page page = {.out = out, .indent = indent, .first = true};
	for (size_t i = 0; i < count; i++)
		if (!is_unset(&settings[i], base) && !has_no_meaning(scope, settings[i].key, base))
			append_setting(&page, &settings[i], base);
}

void config_print(const struct config *config, struct buf *out)
{
	append_scope(out, SETTING_ROOT, config, "");
	if (config->throttle_count > 0)
		buf_append_text(out, TEXT("throttles:\n"));
	for (size_t i = 0; i < config->throttle_count; i++)
		append_scope(out, SETTING_THROTTLE, &config->throttles[i], "    ");
	buf_append_text(out, TEXT("pools:\n"));
	for (size_t i = 0; i < config->pool_count; i++)
		append_scope(out, SETTING_POOL, &config->pools[i], "    ");
}
