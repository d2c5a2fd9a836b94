#include "config/value/quantity.h"

#include "base/mtime.h"
#include "config/problems.h"

#include <inttypes.h>

struct unit {
	struct text name;
	int64_t factor;
};

/* The largest first. Of several names of a factor the first one is printed. */
static const struct unit durations[] = {
	{TEXT("d"), 24 * 60 * MTIME_MINUTE},
	{TEXT("h"), 60 * MTIME_MINUTE},
	{TEXT("min"), MTIME_MINUTE},
	{TEXT("m"), MTIME_MINUTE},
	{TEXT("s"), MTIME_SECOND},
	{TEXT("ms"), MTIME_MS},
	{TEXT("us"), 1},
	{TEXT_NONE, 0},
};
static const struct unit sizes[] = {
	{TEXT("GiB"), 1 << 30},
	{TEXT("MiB"), 1 << 20},
	{TEXT("KiB"), 1 << 10},
	{TEXT("B"), 1},
	{TEXT("GB"), 1000000000},
	{TEXT("MB"), 1000000},
	{TEXT("kB"), 1000},
	{TEXT_NONE, 0},
};

static size_t count_digits(struct text t)
{
	size_t count = 0;
	while (count < t.len && t.ptr[count] >= '0' && t.ptr[count] <= '9')
		count++;
	return count;
}

bool quantity_read_integer(struct text t, int64_t *ret)
{
	int64_t number = 0;
	if (t.len == 0 || t.len > 18 || count_digits(t) != t.len)
		return false;
	for (size_t i = 0; i < t.len; i++)
		number = number * 10 + (t.ptr[i] - '0');
	*ret = number;
	return true;
}

bool quantity_read_range(struct text t, int64_t *ret_min, int64_t *ret_max)
{
	const char *dots = t.len ? memmem(t.ptr, t.len, "..", 2) : NULL;
	size_t len = dots ? (size_t)(dots - t.ptr) : t.len;
	struct text max = dots ? text_of(dots + 2, t.len - len - 2) : t;
	int64_t first, second;
	if (!quantity_read_integer(text_of(t.ptr, len), &first) ||
		!quantity_read_integer(max, &second) || second < first)
		return false;
	*ret_min = first;
	*ret_max = second;
	return true;
}

static int64_t factor_of(const struct unit *units, struct text name)
{
	while (units->factor && !text_is(units->name, name))
		units++;
	return units->factor;
}

/* The digits after the point as a fraction of factor, rounded down. */
static int64_t fraction_of(struct text digits, int64_t factor)
{
	int64_t sum = 0, scale = 1;
	for (size_t i = 0; i < digits.len && i < 6; i++) {
		sum = sum * 10 + (digits.ptr[i] - '0');
		scale *= 10;
	}
	return sum * factor / scale; /* at most 10^6 times a day in microseconds: far below 2^63 */
}

/* Take a number such as "1" or "1.5" off *t. False: it does not begin with one. */
static bool take_number(struct text *t, int64_t *ret_number, struct text *ret_fraction)
{
	size_t len = count_digits(*t);
	*ret_fraction = TEXT_NONE;
	if (!quantity_read_integer(text_of(t->ptr, len), ret_number))
		return false;
	*t = text_of(t->ptr + len, t->len - len);
	if (t->len == 0 || t->ptr[0] != '.')
		return true;
	*ret_fraction = text_of(t->ptr + 1, t->len - 1);
	ret_fraction->len = count_digits(*ret_fraction);
	*t = text_of(ret_fraction->ptr + ret_fraction->len, t->len - 1 - ret_fraction->len);
	return ret_fraction->len > 0;
}

static bool read_quantity(struct text t, const struct unit *units, int64_t *ret)
{
	int64_t number;
	struct text fraction;
	if (!take_number(&t, &number, &fraction))
		return false;
	int64_t factor = factor_of(units, t);
	if (factor == 0 || __builtin_mul_overflow(number, factor, &number) ||
		__builtin_add_overflow(number, fraction_of(fraction, factor), &number))
		return false;
	*ret = number;
	return true;
}

bool quantity_read_duration(struct text t, int64_t *ret)
{
	return read_quantity(t, durations, ret);
}

bool quantity_read_size(struct text t, int64_t *ret)
{
	return read_quantity(t, sizes, ret);
}

/* The smallest first. */
static void append_units(struct buf *out, const struct unit *units)
{
	size_t count = 0;
	while (units[count].factor)
		count++;
	buf_append_text(out, TEXT(" ("));
	for (size_t i = count; i > 0; i--)
		buf_printf(out, "%.*s%s", TEXT_ARGS(units[i - 1].name), i > 1 ? ", " : ")");
}

bool quantity_append_unit_problem(struct buf *out, struct text t, enum quantity quantity)
{
	const struct unit *units = quantity == QUANTITY_SIZE ? sizes : durations;
	int64_t number;
	struct text fraction, unit;
	char shown[PROBLEMS_QUOTED_SIZE];
	if (!take_number(&t, &number, &fraction) || factor_of(units, t) != 0)
		return false;
	for (unit = t; unit.len > 0 && unit.ptr[0] == ' ';)
		unit = text_of(unit.ptr + 1, unit.len - 1);
	if (unit.len == 0) {
		buf_append_text(out, TEXT(", which has no unit"));
	} else if (factor_of(units, unit) != 0) {
		buf_append_text(out, TEXT(", with a blank in front of the unit"));
		return true;
	} else {
		buf_printf(out, ", and %s is no unit", problems_quote(unit, shown));
	}
	append_units(out, units);
	return true;
}

static void append_quantity(
	struct buf *out, int64_t number, const struct unit *units, const char *zero)
{
	if (number == 0) {
		buf_append_text(out, text_from(zero));
		return;
	}
	while (number % units->factor != 0)
		units++;
	buf_printf(out, "%" PRId64 "%.*s", number / units->factor, TEXT_ARGS(units->name));
}

void quantity_append_duration(struct buf *out, int64_t duration)
{
	append_quantity(out, duration, durations, "0s");
}

void quantity_append_size(struct buf *out, int64_t size)
{
	append_quantity(out, size, sizes, "0B");
}
