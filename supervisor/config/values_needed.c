/* What a setting would take, in words. */
#include "config/config.h"
#include "config/lists.h"
#include "config/quantity.h"
#include "config/values.h"

#include <inttypes.h>

static void append_range(struct buf *out, const struct setting *setting, const char *what,
	void (*append)(struct buf *, int64_t))
{
	buf_printf(out, "%s from ", what);
	append(out, setting->least);
	buf_append_text(out, TEXT(" to "));
	append(out, setting->most);
	if (setting->may_be_none)
		buf_append_text(out, TEXT(" or none"));
	else
		buf_printf(out, ", such as %s,", setting->fallback);
}

void value_append_unit_problem(const struct setting *setting, struct text value, struct buf *out)
{
	if (setting->type == SETTING_DURATION)
		quantity_append_unit_problem(out, value, QUANTITY_DURATION);
	else if (setting->type == SETTING_SIZE)
		quantity_append_unit_problem(out, value, QUANTITY_SIZE);
	else if (setting->type == SETTING_DELAYS)
		list_append_unit_problem(out, value);
}

static void append_choices(struct buf *out, const char *const *choices, struct text last)
{
	for (size_t i = 0; choices[i]; i++) {
		if (i > 0)
			buf_append_text(out, choices[i + 1] ? TEXT(", ") : last);
		buf_append_text(out, text_from(choices[i]));
	}
}

void value_append_needed(const struct setting *setting, struct buf *out)
{
	switch (setting->type) {
	case SETTING_ADDRESSES:
		buf_append_text(out, TEXT("an address or a list of addresses"));
		break;
	case SETTING_TEXT:
		buf_printf(out, "a text of %" PRId64 " to %" PRId64 " bytes", setting->least,
			setting->most);
		break;
	case SETTING_WORDS:
		buf_append_text(out, TEXT("a list of texts, or one text with its quotes closed,"));
		break;
	case SETTING_INTEGER:
		buf_printf(out, "a number from %" PRId64 " to %" PRId64 "%s", setting->least,
			setting->most,
			setting->may_be_auto   ? " or auto"
			: setting->may_be_none ? " or none"
					       : "");
		break;
	case SETTING_RANGE:
		buf_printf(out, "a number from %" PRId64 " to %" PRId64 ", min and max%s",
			setting->least, setting->most, setting->may_be_auto ? " or auto" : "");
		break;
	case SETTING_DURATION:
		append_range(out, setting, "a duration", quantity_append_duration);
		break;
	case SETTING_SIZE:
		append_range(out, setting, "a size", quantity_append_size);
		break;
	case SETTING_CHOICE:
		append_choices(out, setting->choices, TEXT(" or "));
		break;
	case SETTING_BOOLEAN:
		buf_append_text(out, TEXT("true or false"));
		break;
	case SETTING_DELAYS:
		buf_printf(out, "a list of at most %d durations", CONFIG_DELAYS_MAX);
		append_range(out, setting, ", each", quantity_append_duration);
		break;
	case SETTING_PAIRS:
		buf_append_text(
			out, TEXT("a map of names and values, in a variable NAME=VALUE words,"));
		break;
	case SETTING_SET:
		buf_append_text(out, TEXT("a list out of "));
		append_choices(out, setting->choices, TEXT(" and "));
		break;
	}
}
