#include "config/value/environment.h"

const char *environment_find(char *const *environment, struct text name)
{
	for (; environment && *environment; environment++) {
		struct text variable = text_from(*environment);
		if (text_starts(variable, name) && variable.ptr[name.len] == '=')
			return variable.ptr + name.len + 1;
	}
	return NULL;
}

const char *environment_value(char *const *environment, const char *name)
{
	const char *value = environment_find(environment, text_from(name));
	return value && *value ? value : NULL;
}

bool environment_is_name(struct text t)
{
	for (size_t i = 0; i < t.len; i++) {
		char c = t.ptr[i];
		bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
		if (!is_letter && (i == 0 || c < '0' || c > '9'))
			return false;
	}
	return t.len > 0;
}

bool environment_next_name(struct text *t, struct text *ret_name)
{
	while (t->len > 1) {
		const char *dollar = memchr(t->ptr, '$', t->len - 1);
		size_t before = dollar ? (size_t)(dollar - t->ptr) : t->len;
		if (!dollar)
			return false;
		*t = text_of(dollar + 1, t->len - before - 1);
		if (t->ptr[0] == '$') {
			*t = text_of(t->ptr + 1, t->len - 1);
		} else if (t->ptr[0] == '{') {
			size_t len = 1;
			while (len < t->len && !strchr(":}", t->ptr[len]))
				len++;
			*ret_name = text_of(t->ptr + 1, len - 1);
			*t = text_of(t->ptr + len, t->len - len);
			return true;
		}
	}
	return false;
}

static enum rc append(struct buf *out, struct text t)
{
	if (t.len > out->limit - buf_len(out))
		return RC_LIMIT;
	buf_append_text(out, t);
	return out->failed ? RC_MEMORY : RC_OK;
}

/* inside: the text between the braces. */
static enum rc append_variable(
	struct text inside, char *const *environment, struct buf *out, struct text *ret_name)
{
	const char *mark = inside.len ? memmem(inside.ptr, inside.len, ":-", 2) : NULL;
	struct text name = text_of(inside.ptr, mark ? (size_t)(mark - inside.ptr) : inside.len);
	if (!environment_is_name(name)) {
		*ret_name = TEXT_NONE;
		return RC_MALFORMED;
	}
	if (mark && memchr(mark, '{', inside.len - name.len)) {
		*ret_name = name;
		return RC_REFUSED;
	}
	const char *value = environment_find(environment, name);
	if (mark && (!value || !*value))
		return append(out, text_of(mark + 2, inside.len - name.len - 2));
	if (value)
		return append(out, text_from(value));
	*ret_name = name;
	return RC_MALFORMED;
}

/* t begins with a dollar; *ret_len is the length of what was replaced. */
static enum rc append_dollar(struct text t, char *const *environment, struct buf *out,
	size_t *ret_len, struct text *ret_name)
{
	char next = t.len > 1 ? t.ptr[1] : '\0';
	*ret_len = next == '$' ? 2 : 1;
	if (next != '{')
		return append(out, TEXT("$"));
	const char *end = memchr(t.ptr, '}', t.len);
	if (!end) {
		*ret_name = TEXT_NONE;
		return RC_MALFORMED;
	}
	*ret_len = (size_t)(end - t.ptr) + 1;
	return append_variable(text_of(t.ptr + 2, *ret_len - 3), environment, out, ret_name);
}

enum rc environment_expand(
	struct text t, char *const *environment, struct buf *out, struct text *ret_name)
{
	while (t.len > 0) {
		const char *dollar = memchr(t.ptr, '$', t.len);
		size_t len = dollar ? (size_t)(dollar - t.ptr) : t.len;
		enum rc rc = append(out, text_of(t.ptr, len));
		t = text_of(t.ptr + len, t.len - len);
		if (rc == RC_OK && t.len > 0)
			rc = append_dollar(t, environment, out, &len, ret_name);
		else
			len = 0;
		if (rc != RC_OK)
			return rc;
		t = text_of(t.ptr + len, t.len - len);
	}
	return RC_OK;
}
