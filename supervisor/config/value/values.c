#include "config/value/values.h"
#include "config/value/binding.h"

#include "base/utf8.h"
#include "config/config.h"
#include "config/value/lists.h"
#include "config/value/quantity.h"
#include "config/value/words.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

static void *member(const struct setting *setting, void *base)
{
	return (char *)base + setting->offset;
}

static const void *member_of(const struct setting *setting, const void *base)
{
	return (const char *)base + setting->offset;
}

/* ---------- from text ---------- */

static enum rc set_text(const struct setting *setting, char **target, struct text value)
{
	if (value.len < (size_t)setting->min || value.len > (size_t)setting->max ||
		!utf8_is_valid(value))
		return RC_MALFORMED;
	char *copy = strndup(value.ptr, value.len);
	if (!copy)
		return RC_MEMORY;
	free(*target);
	*target = copy;
	return RC_OK;
}

static enum rc set_words(char ***target, struct text value)
{
	char **words;
	enum rc rc = words_split(value, &words);
	if (rc == RC_MEMORY)
		return rc;
	if (rc == RC_OK && words_count(words) > 0) {
		words_free(*target);
		*target = words;
		return RC_OK;
	}
	if (rc == RC_OK)
		words_free(words);
	return RC_MALFORMED;
}

static enum rc set_names(const struct setting *setting, char ***target, struct text value)
{
	char **names;
	enum rc rc = list_read_names(value, setting->max, &names);
	if (rc != RC_OK)
		return rc;
	words_free(*target);
	*target = names;
	return RC_OK;
}

static enum rc set_pairs(char ***target, struct text value)
{
	char **pairs = NULL;
	enum rc rc = set_words(&pairs, value);
	if (rc != RC_OK)
		return rc;
	for (size_t i = 0; pairs[i]; i++) {
		if (!strchr(pairs[i], '=')) {
			words_free(pairs);
			return RC_MALFORMED;
		}
	}
	words_free(*target);
	*target = pairs;
	return RC_OK;
}

/* Only a setting that allows negative values accepts a sign. */
static bool read_integer(const struct setting *setting, struct text value, int64_t *ret)
{
	bool is_negative = setting->min < 0 && text_starts(value, TEXT("-"));
	if (is_negative)
		value = text_of(value.ptr + 1, value.len - 1);
	if (!quantity_read_integer(value, ret))
		return false;
	if (is_negative)
		*ret = -*ret;
	return true;
}

static enum rc set_number(const struct setting *setting, int64_t *target, struct text value)
{
	int64_t number;
	bool good = false;
	if (setting->may_be_auto && text_is(value, TEXT("auto"))) {
		*target = 0;
		return RC_OK;
	}
	if (setting->may_be_none && text_is(value, TEXT("none"))) {
		*target = MTIME_NEVER;
		return RC_OK;
	}
	if (setting->type == SETTING_INTEGER)
		good = read_integer(setting, value, &number);
	else if (setting->type == SETTING_DURATION)
		good = quantity_read_duration(value, &number);
	else
		good = quantity_read_size(value, &number);
	if (!good || number < setting->min || number > setting->max)
		return RC_MALFORMED;
	*target = number;
	return RC_OK;
}

static enum rc set_range(const struct setting *setting, int64_t target[2], struct text value)
{
	int64_t min = 0, max = 0;
	if ((!setting->may_be_auto || !text_is(value, TEXT("auto"))) &&
		(!quantity_read_range(value, &min, &max) || min < setting->min ||
			max > setting->max))
		return RC_MALFORMED;
	target[0] = min;
	target[1] = max;
	return RC_OK;
}

/* "10" or "50ms" */
static enum rc set_quantum(
	const struct setting *setting, struct config_quantum *target, struct text value)
{
	struct config_quantum quantum = {0};
	bool good = false;

	if (quantity_read_integer(value, &quantum.tasks))
		good = quantum.tasks >= setting->min && quantum.tasks <= setting->max;
	else if (quantity_read_duration(value, &quantum.time))
		good = quantum.time >= CONFIG_QUANTUM_TIME_MIN &&
		       quantum.time <= CONFIG_QUANTUM_TIME_MAX;
	if (!good)
		return RC_MALFORMED;
	*target = quantum;
	return RC_OK;
}

static enum rc set_choice(const struct setting *setting, unsigned *target, struct text value)
{
	size_t i = text_index(value, setting->choices);
	if (!setting->choices[i])
		return RC_MALFORMED;
	*target = (unsigned)i;
	return RC_OK;
}

static enum rc set_boolean(bool *target, struct text value)
{
	bool is_true = text_is(value, TEXT("true"));
	if (!is_true && !text_is(value, TEXT("false")))
		return RC_MALFORMED;
	*target = is_true;
	return RC_OK;
}

/* EXCHANGE=ROUTING_KEY. */
static enum rc append_short_binding(char ***bindings, struct text word)
{
	struct text exchange = text_of(word.ptr, strcspn(word.ptr, "="));
	bool has_key = exchange.len < word.len;
	struct buf text;
	enum rc rc = RC_MALFORMED;

	buf_init(&text, SIZE_MAX);
	if (exchange.len > 0 && !binding_append(&text, "exchange", exchange) &&
		(!has_key ||
			!binding_append(&text, "routing_key",
				text_of(word.ptr + exchange.len + 1, word.len - exchange.len - 1))))
		rc = text.failed ? RC_MEMORY : words_append(bindings, buf_text(&text));
	buf_release(&text);
	return rc;
}

static enum rc set_bindings(char ***target, struct text value)
{
	char **words, **bindings = NULL;
	enum rc rc = words_split(value, &words);

	if (rc != RC_OK)
		return rc == RC_LIMIT ? RC_MALFORMED : rc;
	for (size_t i = 0; words[i] && rc == RC_OK; i++)
		rc = append_short_binding(&bindings, text_from(words[i]));
	words_free(words);
	words_free(rc == RC_OK ? *target : bindings);
	if (rc == RC_OK)
		*target = bindings;
	return rc == RC_LIMIT ? RC_MALFORMED : rc;
}

enum rc value_set(const struct setting *setting, void *base, struct text value)
{
	switch (setting->type) {
	case SETTING_TEXT:
		return set_text(setting, member(setting, base), value);
	case SETTING_WORDS:
		return set_words(member(setting, base), value);
	case SETTING_NAMES:
		return set_names(setting, member(setting, base), value);
	case SETTING_PAIRS:
		return set_pairs(member(setting, base), value);
	case SETTING_BINDINGS:
		return set_bindings(member(setting, base), value);
	case SETTING_INTEGER:
	case SETTING_DURATION:
	case SETTING_SIZE:
		return set_number(setting, member(setting, base), value);
	case SETTING_RANGE:
		return set_range(setting, member(setting, base), value);
	case SETTING_LOG_RATE:
		return list_read_log_rate(value, setting->max, member(setting, base))
			       ? RC_OK
			       : RC_MALFORMED;
	case SETTING_QUANTUM:
		return set_quantum(setting, member(setting, base), value);
	case SETTING_CHOICE:
		return set_choice(setting, member(setting, base), value);
	case SETTING_BOOLEAN:
		return set_boolean(member(setting, base), value);
	case SETTING_DELAYS:
		return list_read_delays(value, setting->min, setting->max, member(setting, base))
			       ? RC_OK
			       : RC_MALFORMED;
	case SETTING_SET:
		return list_read_set(value, setting->choices, member(setting, base)) ? RC_OK
										     : RC_MALFORMED;
	case SETTING_ADDRESSES:
		break;
	}
	assert(false);
	return RC_MALFORMED;
}

/* ---------- to text ---------- */

static void append_integer(const struct setting *setting, int64_t number, struct buf *out)
{
	if (number == 0 && setting->may_be_auto)
		buf_append_text(out, TEXT("auto"));
	else if (number == MTIME_NEVER && setting->may_be_none)
		buf_append_text(out, TEXT("none"));
	else
		buf_printf(out, "%" PRId64, number);
}

static void append_bounds(const struct setting *setting, const int64_t bounds[2], struct buf *out)
{
	append_integer(setting, bounds[0], out);
	if (bounds[1] > bounds[0])
		buf_printf(out, "..%" PRId64, bounds[1]);
}

static void append_quantity(const struct setting *setting, int64_t number, struct buf *out)
{
	if (number == MTIME_NEVER && setting->may_be_none)
		buf_append_text(out, TEXT("none"));
	else if (setting->type == SETTING_DURATION)
		quantity_append_duration(out, number);
	else
		quantity_append_size(out, number);
}

static void append_quantum(const struct config_quantum *quantum, struct buf *out)
{
	if (quantum->time)
		quantity_append_duration(out, quantum->time);
	else
		buf_printf(out, "%" PRId64, quantum->tasks);
}

void value_append(const struct setting *setting, const void *base, struct buf *out)
{
	const void *value = member_of(setting, base);
	switch (setting->type) {
	case SETTING_TEXT:
		buf_append_text(out, text_from(*(char *const *)value));
		break;
	case SETTING_INTEGER:
		append_integer(setting, *(const int64_t *)value, out);
		break;
	case SETTING_RANGE:
		append_bounds(setting, value, out);
		break;
	case SETTING_DURATION:
	case SETTING_SIZE:
		append_quantity(setting, *(const int64_t *)value, out);
		break;
	case SETTING_LOG_RATE:
		list_append_log_rate(out, value);
		break;
	case SETTING_QUANTUM:
		append_quantum(value, out);
		break;
	case SETTING_CHOICE:
		buf_append_text(out, text_from(setting->choices[*(const unsigned *)value]));
		break;
	case SETTING_BOOLEAN:
		buf_append_text(out, *(const bool *)value ? TEXT("true") : TEXT("false"));
		break;
	case SETTING_DELAYS:
		list_append_delays(out, value);
		break;
	case SETTING_SET:
		list_append_set(out, setting->choices, *(const uint32_t *)value);
		break;
	case SETTING_NAMES:
		list_append_names(out, *(char **const *)value);
		break;
	case SETTING_WORDS:
	case SETTING_PAIRS:
	case SETTING_BINDINGS:
	case SETTING_ADDRESSES:
		assert(false); /* lists: printed elsewhere */
		break;
	}
}

/* True: a char ** of texts that are owned, or NULL. */
static bool is_array(const struct setting *setting)
{
	return setting->type == SETTING_WORDS || setting->type == SETTING_PAIRS ||
	       setting->type == SETTING_BINDINGS || setting->type == SETTING_NAMES;
}

void value_release(const struct setting *setting, void *base)
{
	if (setting->type == SETTING_TEXT) {
		char **text = member(setting, base);
		free(*text);
		*text = NULL;
	} else if (is_array(setting)) {
		char ***words = member(setting, base);
		words_free(*words);
		*words = NULL;
	}
}

/* ---------- one beside another ---------- */

static bool are_same_words(char *const *words, char *const *others)
{
	if (!words || !others)
		return words == others;
	while (*words && *others && strcmp(*words, *others) == 0) {
		words++;
		others++;
	}
	return !*words && !*others;
}

static bool are_same_delays(const struct config_delays *delays, const struct config_delays *others)
{
	return delays->count == others->count &&
	       memcmp(delays->each, others->each, delays->count * sizeof *delays->each) == 0;
}

static size_t size_of(const struct setting *setting)
{
	static const size_t sizes[] = {
		[SETTING_TEXT] = sizeof(char *),
		[SETTING_WORDS] = sizeof(char **),
		[SETTING_INTEGER] = sizeof(int64_t),
		[SETTING_RANGE] = 2 * sizeof(int64_t),
		[SETTING_LOG_RATE] = 2 * sizeof(int64_t),
		[SETTING_DURATION] = sizeof(mtime),
		[SETTING_SIZE] = sizeof(int64_t),
		[SETTING_CHOICE] = sizeof(unsigned),
		[SETTING_BOOLEAN] = sizeof(bool),
		[SETTING_DELAYS] = sizeof(struct config_delays),
		[SETTING_SET] = sizeof(uint32_t),
		[SETTING_PAIRS] = sizeof(char **),
		[SETTING_BINDINGS] = sizeof(char **),
		[SETTING_QUANTUM] = sizeof(struct config_quantum),
		[SETTING_NAMES] = sizeof(char **),
	};

	return sizes[setting->type];
}

bool value_is_same(const struct setting *setting, const void *base, const void *other)
{
	const void *value = member_of(setting, base), *others = member_of(setting, other);

	assert(setting->type != SETTING_ADDRESSES);
	if (setting->type == SETTING_TEXT)
		return text_is(text_from(*(char *const *)value), text_from(*(char *const *)others));
	if (is_array(setting))
		return are_same_words(*(char **const *)value, *(char **const *)others);
	if (setting->type == SETTING_DELAYS)
		return are_same_delays(value, others);
	return memcmp(value, others, size_of(setting)) == 0;
}

bool value_is_none(const struct setting *setting, const void *base)
{
	assert(setting->may_be_none);
	return *(const int64_t *)member_of(setting, base) == MTIME_NEVER;
}

void value_swap(const struct setting *setting, void *base, void *other)
{
	char kept[sizeof(struct config_delays)];
	size_t size = size_of(setting);

	assert(setting->type != SETTING_ADDRESSES && size <= sizeof kept);
	memcpy(kept, member(setting, base), size);
	memcpy(member(setting, base), member(setting, other), size);
	memcpy(member(setting, other), kept, size);
}

/* ---------- what a setting takes, for people ---------- */

static void append_range(struct buf *out, const struct setting *setting, const char *what,
	void (*append)(struct buf *, int64_t))
{
	buf_printf(out, "%s from ", what);
	append(out, setting->min);
	buf_append_text(out, TEXT(" to "));
	append(out, setting->max);
	if (setting->may_be_none)
		buf_append_text(out, TEXT(" or none"));
	else
		buf_printf(out, ", such as %s,", setting->fallback ? setting->fallback : "30s");
}

void value_append_unit_problem(const struct setting *setting, struct text value, struct buf *out)
{
	if (setting->type == SETTING_DURATION || setting->type == SETTING_QUANTUM)
		quantity_append_unit_problem(out, value, QUANTITY_DURATION);
	else if (setting->type == SETTING_SIZE)
		quantity_append_unit_problem(out, value, QUANTITY_SIZE);
	else if (setting->type == SETTING_DELAYS)
		list_append_unit_problem(out, value);
	else if (setting->type == SETTING_LOG_RATE)
		list_append_size_problem(out, value);
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
		buf_printf(out, "a text of %" PRId64 " to %" PRId64 " bytes", setting->min,
			setting->max);
		break;
	case SETTING_WORDS:
		buf_append_text(out, TEXT("a list of texts, or one text with its quotes closed,"));
		break;
	case SETTING_INTEGER:
		buf_printf(out, "a number from %" PRId64 " to %" PRId64 "%s", setting->min,
			setting->max,
			setting->may_be_auto   ? " or auto"
			: setting->may_be_none ? " or none"
					       : "");
		break;
	case SETTING_RANGE:
		buf_printf(out, "a number from %" PRId64 " to %" PRId64 ", MIN..MAX (MIN <= MAX)%s",
			setting->min, setting->max, setting->may_be_auto ? " or auto" : "");
		break;
	case SETTING_DURATION:
		append_range(out, setting, "a duration", quantity_append_duration);
		break;
	case SETTING_SIZE:
		append_range(out, setting, "a size", quantity_append_size);
		break;
	case SETTING_LOG_RATE:
		buf_printf(out,
			"a number from %" PRId64 " to %" PRId64
			", or a list of it and of a size from ",
			setting->min, setting->max);
		quantity_append_size(out, CONFIG_LOG_BYTES_MIN);
		buf_append_text(out, TEXT(" to "));
		quantity_append_size(out, CONFIG_LOG_BYTES_MAX);
		buf_printf(out, ", such as %s,", setting->fallback);
		break;
	case SETTING_QUANTUM:
		buf_printf(out,
			"a number of tasks from %" PRId64 " to %" PRId64 ", or a time from ",
			setting->min, setting->max);
		quantity_append_duration(out, CONFIG_QUANTUM_TIME_MIN);
		buf_append_text(out, TEXT(" to "));
		quantity_append_duration(out, CONFIG_QUANTUM_TIME_MAX);
		buf_append_text(out, TEXT(", such as 50ms,"));
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
			out, TEXT("a map of names and values (in a variable: NAME=VALUE words)"));
		break;
	case SETTING_BINDINGS:
		buf_append_text(out,
			TEXT("a list of maps with exchange, routing_key, headers, match, type (in a "
			     "variable: EXCHANGE=ROUTING_KEY words)"));
		break;
	case SETTING_NAMES:
		buf_printf(out, "a list of at most %" PRId64 " names", setting->max);
		break;
	case SETTING_SET:
		buf_append_text(out, TEXT("a list out of "));
		append_choices(out, setting->choices, TEXT(" and "));
		break;
	}
}
