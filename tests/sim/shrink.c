#include "sim/shrink.h"

#include <ctype.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define SEEDS_TRIED 200
#define SWEEPS_MAX  3

static const char *const names[] = {
#define X(trouble, name) name,
	TROUBLES(X)
#undef X
};

/* The same words, whatever the numbers in them. */
static bool is_same(const char *a, const char *b)
{
	while (*a && *b) {
		if (isdigit((unsigned char)*a) && isdigit((unsigned char)*b)) {
			a += strspn(a, "0123456789");
			b += strspn(b, "0123456789");
		} else if (*a++ != *b++) {
			return false;
		}
	}
	return *a == *b;
}

static bool fails_with(
	struct failure *failure, uint64_t first, uint64_t count, const struct settings *settings)
{
	struct failure other;
	uint64_t end = first + count;

	while (first < end && !batch_try(first, end - first, settings, &other)) {
		if (is_same(failure->words, other.words)) {
			*failure = other;
			return true;
		}
		first = other.seed + 1;
	}
	return false;
}

static bool try_settings(struct failure *failure, const struct settings *settings)
{
	return fails_with(failure, failure->seed, 1, settings) ||
	       fails_with(failure, 1, SEEDS_TRIED, settings);
}

static bool take_out_troubles(struct failure *failure)
{
	bool found = false;

	for (unsigned i = 0; i < TROUBLE_COUNT; i++) {
		struct settings settings = failure->settings;

		if (!settings_has(&settings, i))
			continue;
		settings.without |= UINT64_C(1) << i;
		found = try_settings(failure, &settings) || found;
	}
	return found;
}

/* offset: of one of the numbers in struct settings. */
static bool make_smaller(struct failure *failure, size_t offset, uint32_t max, uint32_t min)
{
	bool found = false;
	uint32_t present;

	do {
		struct settings settings = failure->settings;
		uint32_t *number = (uint32_t *)((char *)&settings + offset);

		present = *number < max ? *number : max;
		if (present <= min)
			break;
		*number = present / 2 > min ? present / 2 : min;
		if (!try_settings(failure, &settings))
			break;
		found = true;
	} while (true);
	return found;
}

struct failure shrink_failure(const struct failure *failure)
{
	struct failure smallest = *failure;
	bool found = true;

	for (int sweep = 0; found && sweep < SWEEPS_MAX; sweep++) {
		found = make_smaller(&smallest, offsetof(struct settings, supervisors), 4, 1);
		found = make_smaller(&smallest, offsetof(struct settings, pools), 2, 1) || found;
		found = take_out_troubles(&smallest) || found;
		found = make_smaller(&smallest, offsetof(struct settings, messages), 512, 1) ||
			found;
		found = make_smaller(&smallest, offsetof(struct settings, workers), 8, 1) || found;
		found = make_smaller(&smallest, offsetof(struct settings, rounds), 2048, 1) ||
			found;
	}
	return smallest;
}

static void print_number(const char *name, uint32_t number)
{
	if (number != UINT32_MAX)
		printf(" %s=%u", name, number);
}

void shrink_print_command(const struct failure *failure)
{
	const struct settings *settings = &failure->settings;
	const char *before = " WITHOUT=";

	printf("make sim SEED=%llu", (unsigned long long)failure->seed);
	for (unsigned i = 0; i < TROUBLE_COUNT; i++)
		if (!settings_has(settings, i)) {
			printf("%s%s", before, names[i]);
			before = ",";
		}
	print_number("MESSAGES", settings->messages);
	print_number("ROUNDS", settings->rounds);
	print_number("SUPERVISORS", settings->supervisors);
	print_number("POOLS", settings->pools);
	print_number("WORKERS", settings->workers);
	putchar('\n');
}
