/* Memory runs out at the n-th allocation, for every n: the load says so, and gives all of it back.
 */
#include "config/config.h"
#include "unit/unit.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__)
#define HAS_OWN_MALLOC 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HAS_OWN_MALLOC 1
#endif
#endif

static long countdown = -1; /* allocations until one fails; below 0: none does */
static long living;         /* allocated since it was last set to 0, not yet freed */
static bool is_watching;

#ifndef HAS_OWN_MALLOC
/* The program's own allocator, in front of glibc's: the manual's "Replacing malloc". */
void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void __libc_free(void *);

static bool fails_now(void)
{
	if (!is_watching || countdown < 0 || countdown-- > 0)
		return false;
	errno = ENOMEM;
	return true;
}

static void *counted(void *memory)
{
	living += is_watching && memory;
	return memory;
}

void *malloc(size_t size)
{
	return fails_now() ? NULL : counted(__libc_malloc(size));
}

void *calloc(size_t count, size_t size)
{
	return fails_now() ? NULL : counted(__libc_calloc(count, size));
}

void *realloc(void *old, size_t size)
{
	if (fails_now())
		return NULL;
	void *memory = __libc_realloc(old, size);
	return old ? memory : counted(memory);
}

void free(void *memory)
{
	living -= is_watching && memory;
	__libc_free(memory);
}
#endif

static const char yaml[] =
	"broker: {url: [\"amqp://u:p@h/v\", 'amqps://[::1]?cacertfile=a&certfile=b&keyfile=c']}\n"
	"control: {socket: /run/x}\n"
	"http: {listen: '127.0.0.1:1'}\n"
	"throttles: [{name: a, limit: 1, period: 1s}, {name: b, limit: 2, period: 3s, key: session}]\n"
	"pools:\n"
	"  - {queue: q, command: [w, a, b], limits: {hard: 3s}, throttle: [a, b],\n"
	"     bindings: [{exchange: e, type: topic, routing_key: [k, l]}, {exchange: f, headers: {a: x, b: y}}],\n"
	"     session: {key: routing_key, max_unacked_age: 2s}}\n"
	"  - {queue: '${Q:-r}', command: \"w 'a b'\", name: x}\n";

static const char *const environment[] = {
	"RABBITMQ_HOSTNAME=h", "QUEUENAME=q", "WORKER_COMMAND=w a", "WPOOL_DRIAN=1s", NULL};

/* One load with its problems, print and release; returns how it went. What fails in the load is the
 * load's to report. */
static enum rc load(const struct config_flags *flags)
{
	struct config *config;
	struct problems problems = {0};
	struct buf out;
	buf_init(&out, 100000);
	enum rc rc = config_load(flags, (char *const *)environment, &config, &problems);
	bool is_for_print = countdown >= 0;
	if (rc == RC_OK) {
		config_print(config, &out);
		if (out.failed && is_for_print)
			rc = RC_MEMORY;
		config_free(config);
	}
	buf_release(&out);
	problems_release(&problems);
	return rc;
}

/* Every allocation of a load fails once. */
static void exhaust(const struct config_flags *flags, enum rc otherwise)
{
	long n = 0;
	for (bool failed = true; failed; n++) {
		is_watching = true;
		living = 0;
		countdown = n;
		enum rc rc = load(flags);
		failed = countdown < 0;
		is_watching = false;
		ck_assert_msg(rc == (failed ? RC_MEMORY : otherwise), "allocation %ld: %s", n,
			rc_text(rc));
		ck_assert_msg(living == 0, "allocation %ld: %ld not freed", n, living);
	}
	ck_assert_int_gt(n, 10);
}

START_TEST(test_file)
{
	char name[] = "/tmp/wpool-memory-XXXXXX";
	int fd = mkstemp(name);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, yaml, sizeof yaml - 1), sizeof yaml - 1);
	close(fd);
	exhaust(&(struct config_flags){.file = name}, RC_OK);
	unlink(name);
}
END_TEST

START_TEST(test_flags)
{
	static const char *const command[] = {"w", "a", NULL};
	exhaust(&(struct config_flags){.queue = "q",
			.command = (char *const *)command,
			.workers = "3",
			.broker = "amqp://a,amqp://b"},
		RC_OK);
}
END_TEST

START_TEST(test_problems)
{
	exhaust(&(struct config_flags){.queue = "q", .workers = "many", .pipe = "none"},
		RC_REFUSED);
}
END_TEST

START_TEST(test_environment)
{
	exhaust(&(struct config_flags){0}, RC_OK);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("config/memory");
#ifdef HAS_OWN_MALLOC /* the sanitizer's: one allocation cannot be made to fail */
	(void)test_file, (void)test_flags, (void)test_environment, (void)test_problems,
		(void)is_watching;
#else
	UNIT_CASE(s, "memory", test_file, test_flags, test_environment, test_problems);
#endif
	return s;
}

UNIT_MAIN(suite)
