/* Hostile configurations and addresses, made from good ones by a seeded hand: nothing breaks, every
 * refusal says why, and what is accepted prints and loads again. WPOOL_SEED=N WPOOL_ROUNDS=M make
 * it another or a longer run. */
#include "unit/support/config/loading.h"
#include <stdio.h>

static const char *const seeds[] = {
	"broker:\n  url: [\"amqp://u:p@h/v\", ${A:-amqps://h?heartbeat=3}]\n  heartbeat: 15s\n"
	"drain: 30s\nlog: {level: debug, format: json}\n"
	"pools:\n  - name: n\n    queue: 'q'\n    command: [w, \"a\\x41\\u00e9\", $$x]\n"
	"    workers: auto\n    limits: {hard: 1.5s, slices: 3}\n    max_body: 16MiB\n",
	"# comment\npools:\n- {queue: q, command: \"w 'a b' \\\"c\\\" d\\\\ e\", pipe: corefx}\n"
	"- queue: |\n    block\n    text\n  command: >-\n    folded\n    text\n"
	"  retry:\n    attempts: 3\n    dead_letter: broker\n",
	"pools: [{queue: r, command: [w], limits: , declare: on, properties: true, body: bin}]\n",
	"throttles:\n- {name: a, limit: 10, period: 1s}\n- name: b\n  limit: 1\n  period: 1.5h\n"
	"  key: 'header:k'\n  max_keys: 9\n  when_exceeded: reply\n"
	"defaults: {throttle: [b]}\npools:\n- {queue: q, command: w, throttle: [a, b]}\n"
	"- {queue: r, command: w, throttle: []}\n- {queue: s, command: w}\n",
};

static const char *const addresses[] = {
	"amqp://user:pa%40ss@host:5672/v%2fhost?heartbeat=5&connection_timeout=1000",
	"amqps://[fe80::1%25eth0]:5671/?verify=verify_none&cacertfile=/a&certfile=b&keyfile=c",
	"amqp://a,amqps://b:1,amqp://:@/",
};

static uint64_t state;

/* xorshift64* (Marsaglia 2003; Vigna 2014). */
static size_t random_below(size_t limit)
{
	state ^= state >> 12;
	state ^= state << 25;
	state ^= state >> 27;
	return (size_t)((state * UINT64_C(0x2545f4914f6cdd1d)) >> 33) % limit;
}

static char random_byte(void)
{
	static const char likely[] = "\n\n  :-,[]{}'\"\\#&*!|>%@`?$/=~.0195smhaxMiB\t\r\x80\xff";
	if (random_below(8) == 0)
		return (char)random_below(256);
	return likely[random_below(sizeof likely - 1)];
}

enum { MUTANT_MAX = 4096 };

/* One change of text, in place; returns the new length. */
static size_t mutate(char *text, size_t len)
{
	size_t at = random_below(len + 1), count = random_below(8) + 1;
	switch (random_below(4)) {
	case 0:
		if (at < len)
			text[at] = random_byte();
		return len;
	case 1:
		if (len + 1 > MUTANT_MAX)
			return len;
		memmove(text + at + 1, text + at, len - at);
		text[at] = random_byte();
		return len + 1;
	case 2:
		if (at + count > len)
			return len;
		memmove(text + at, text + at + count, len - at - count);
		return len - count;
	default: /* a piece of it once more */
		count = random_below(40) + 1;
		if (at + count > len || len + count > MUTANT_MAX)
			return len;
		memmove(text + at + count, text + at, len - at);
		return len + count;
	}
}

static size_t mutant_of(const char *seed, char *text)
{
	size_t len = strlen(seed);
	memcpy(text, seed, len);
	for (size_t i = random_below(4) + 1; i > 0; i--)
		len = mutate(text, len);
	return len;
}

static unsigned long number_from(const char *variable, unsigned long otherwise)
{
	const char *value = getenv(variable);
	return value ? strtoul(value, NULL, 0) : otherwise;
}

static unsigned long start(unsigned long rounds)
{
	unsigned long seed = number_from("WPOOL_SEED", 1);
	printf("config_mutation: WPOOL_SEED=%lu\n", seed);
	fflush(stdout);
	state = seed * UINT64_C(0x9e3779b97f4a7c15) | 1;
	return number_from("WPOOL_ROUNDS", rounds);
}

START_TEST(test_files)
{
	static char text[MUTANT_MAX], first[LOADING_PROBLEMS_SIZE];
	unsigned long accepted = 0, rounds = start(4000);
	for (unsigned long i = 0; i < rounds; i++) {
		size_t len = mutant_of(seeds[random_below(sizeof seeds / sizeof *seeds)], text);
		loading_load_yaml(text_of(text, len), NULL);
		if (loaded.rc != RC_OK) {
			ck_assert_int_eq(loaded.rc, RC_MALFORMED);
			ck_assert(strncmp(loaded.problems, LOADING_FILE ":", 11) == 0);
			continue;
		}
		accepted++;
		strcpy(first, loaded.printed);
		loading_load_yaml(text_from(first), NULL);
		ck_assert_msg(
			loaded.rc == RC_OK, "%.*s\n%s\n%s", (int)len, text, first, loaded.problems);
		ck_assert_str_eq(loaded.printed, first);
	}
	ck_assert_uint_gt(accepted, rounds / 50);
	ck_assert_uint_lt(accepted, rounds);
}
END_TEST

START_TEST(test_addresses)
{
	static char text[MUTANT_MAX + 1];
	unsigned long accepted = 0, rounds = start(40000);
	for (unsigned long i = 0; i < rounds; i++) {
		struct broker_url *urls;
		size_t count;
		struct problems problems = {0};
		const char *seed = addresses[random_below(sizeof addresses / sizeof *addresses)];
		size_t len = mutant_of(seed, text);
		/* Exactly as long as it is, so that a sanitizer sees a step beyond. */
		char *exact = strndup(text, len);
		ck_assert_ptr_nonnull(exact);
		enum rc rc = config_load_broker(exact, NULL, &urls, &count, &problems);
		if (rc == RC_OK) {
			accepted++;
			broker_urls_free(urls, count);
		} else {
			ck_assert_int_eq(rc, RC_REFUSED);
			ck_assert_uint_gt(problems.count, 0);
		}
		problems_release(&problems);
		free(exact);
	}
	ck_assert_uint_gt(accepted, rounds / 20);
	ck_assert_uint_lt(accepted, rounds);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("config/mutation");
	TCase *mutants = tcase_create("mutants");
	tcase_add_checked_fixture(mutants, loading_set_up, loading_tear_down);
	tcase_set_timeout(mutants, 600);
	tcase_add_test(mutants, test_files);
	tcase_add_test(mutants, test_addresses);
	suite_add_tcase(s, mutants);
	return s;
}

UNIT_MAIN(suite)
