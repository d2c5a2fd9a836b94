#include "config/value/lists.h"

#include "config/problems.h"
#include "config/value/quantity.h"
#include "config/value/words.h"

#include <inttypes.h>

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n';
}

static struct text trimmed(struct text t)
{
	while (t.len > 0 && is_blank(t.ptr[0]))
		t = text_of(t.ptr + 1, t.len - 1);
	while (t.len > 0 && is_blank(t.ptr[t.len - 1]))
		t.len--;
	return t;
}

static struct text without_brackets(struct text t)
{
	t = trimmed(t);
	if (t.len >= 2 && t.ptr[0] == '[' && t.ptr[t.len - 1] == ']')
		t = trimmed(text_of(t.ptr + 1, t.len - 2));
	return t;
}

/* Take the first member off a list that is not empty; *rest is what follows its comma, *ret_more
 * is false if there was no comma. */
static struct text take_member(struct text *rest, bool *ret_more)
{
	const char *comma = memchr(rest->ptr, ',', rest->len);
	struct text member = text_of(rest->ptr, comma ? (size_t)(comma - rest->ptr) : rest->len);
	size_t used = member.len + (comma != NULL);
	*ret_more = comma != NULL;
	*rest = text_of(rest->ptr + used, rest->len - used);
	return trimmed(member);
}

bool list_read_delays(struct text t, int64_t min, int64_t max, struct config_delays *ret)
{
	struct config_delays delays = {0};
	struct text rest = without_brackets(t);
	bool is_empty = rest.len == 0, more = !is_empty;
	/* an empty text is refused: an empty list is written [] */
	if (is_empty && trimmed(t).len == 0)
		return false;
	while (more) {
		int64_t delay;
		struct text member = take_member(&rest, &more);
		if (delays.count == CONFIG_DELAYS_MAX || !quantity_read_duration(member, &delay) ||
			delay < min || delay > max || delay % MTIME_MS != 0)
			return false;
		delays.each[delays.count++] = delay;
	}
	*ret = delays;
	return true;
}

bool list_append_unit_problem(struct buf *out, struct text t)
{
	struct text rest = without_brackets(t);
	bool more = rest.len > 0;
	while (more) {
		int64_t delay;
		struct text member = take_member(&rest, &more);
		char shown[PROBLEMS_QUOTED_SIZE];
		struct buf why;
		if (quantity_read_duration(member, &delay))
			continue;
		buf_init(&why, 1024);
		bool found = quantity_append_unit_problem(&why, member, QUANTITY_DURATION);
		if (found) {
			buf_printf(out, ", where %s stands", problems_quote(member, shown));
			buf_append_text(out, buf_text(&why));
		}
		buf_release(&why);
		return found;
	}
	return false;
}

void list_append_delays(struct buf *out, const struct config_delays *delays)
{
	buf_append_byte(out, '[');
	for (size_t i = 0; i < delays->count; i++) {
		buf_append_text(out, i > 0 ? TEXT(", ") : TEXT_NONE);
		quantity_append_duration(out, delays->each[i]);
	}
	buf_append_byte(out, ']');
}

bool list_read_log_rate(struct text t, int64_t max_lines, int64_t ret[2])
{
	struct text rest = without_brackets(t);
	int64_t lines, bytes = CONFIG_LOG_BYTES_DEFAULT;
	bool more;
	if (rest.len == 0 || !quantity_read_integer(take_member(&rest, &more), &lines) ||
		lines < 1 || lines > max_lines)
		return false;
	if (more && (!quantity_read_size(take_member(&rest, &more), &bytes) || more ||
			    bytes < CONFIG_LOG_BYTES_MIN || bytes > CONFIG_LOG_BYTES_MAX))
		return false;
	ret[0] = lines;
	ret[1] = bytes;
	return true;
}

bool list_append_size_problem(struct buf *out, struct text t)
{
	struct text rest = without_brackets(t), second;
	bool more = false;
	if (rest.len > 0)
		(void)take_member(&rest, &more);
	if (!more)
		return false;
	second = take_member(&rest, &more);
	if (!more)
		return quantity_append_unit_problem(out, second, QUANTITY_SIZE);
	buf_append_text(out, TEXT(", which has more than two values"));
	return true;
}

void list_append_log_rate(struct buf *out, const int64_t rate[2])
{
	buf_printf(out, "[%" PRId64 ", ", rate[0]);
	quantity_append_size(out, rate[1]);
	buf_append_byte(out, ']');
}

bool list_read_set(struct text t, const char *const *choices, uint32_t *ret)
{
	uint32_t set = 0;
	struct text rest = without_brackets(t);
	bool more = rest.len > 0;
	if (!more && trimmed(t).len == 0)
		return false;
	while (more) {
		size_t i = text_index(take_member(&rest, &more), choices);
		if (!choices[i])
			return false;
		set |= UINT32_C(1) << i;
	}
	*ret = set;
	return true;
}

void list_append_set(struct buf *out, const char *const *choices, uint32_t set)
{
	bool is_first = true;
	buf_append_byte(out, '[');
	for (unsigned i = 0; choices[i]; i++) {
		if (!(set & UINT32_C(1) << i))
			continue;
		buf_append_text(out, is_first ? TEXT_NONE : TEXT(", "));
		buf_append_text(out, text_from(choices[i]));
		is_first = false;
	}
	buf_append_byte(out, ']');
}

enum rc list_read_names(struct text t, int64_t max, char ***ret)
{
	char **names = NULL;
	struct text rest = without_brackets(t);
	bool more = rest.len > 0;
	enum rc rc = more || trimmed(t).len > 0 ? RC_OK : RC_MALFORMED;
	for (int64_t count = 0; more && rc == RC_OK; count++) {
		struct text name = take_member(&rest, &more);
		if (name.len == 0 || count == max)
			rc = RC_MALFORMED;
		else
			rc = words_append(&names, name);
	}
	if (rc == RC_OK)
		*ret = names;
	else
		words_free(names);
	return rc;
}

void list_append_names(struct buf *out, char *const *names)
{
	buf_append_byte(out, '[');
	for (size_t i = 0; names && names[i]; i++)
		buf_printf(out, "%s%s", i > 0 ? ", " : "", names[i]);
	buf_append_byte(out, ']');
}
