#include "fuzz/memory.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#if defined(__SANITIZE_ADDRESS__)
#define HAS_HOOKS 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HAS_HOOKS 1
#endif
#endif

static struct {
	bool is_counting;
	struct fuzz_memory allowed;
	size_t input;
	long long held; /* since memory_begin; below 0: older blocks were freed */
	long long peak;
} run;

/* Of all inputs. */
static struct {
	bool is_started;
	long long peak;
	size_t peak_input;
	double multiple; /* the largest (peak - base) / input */
} worst;

static void give_up(void)
{
	run.is_counting = false;
	fprintf(stderr,
		"fuzz: %lld bytes held for an input of %zu; allowed are %zu + %zu x input\n",
		run.held, run.input, run.allowed.base, run.allowed.multiple);
	abort();
}

static void add(size_t size)
{
	run.held += (long long)size;
	if (run.held <= run.peak)
		return;
	run.peak = run.held;
	if ((size_t)run.peak > run.allowed.base + run.allowed.multiple * run.input)
		give_up();
}

#ifdef HAS_HOOKS
/* The sanitizers' allocator interface; gcc brings the functions, but not their header. */
int __sanitizer_install_malloc_and_free_hooks(
	void (*)(const volatile void *, size_t), void (*)(const volatile void *));
int __sanitizer_get_ownership(const volatile void *);
size_t __sanitizer_get_allocated_size(const volatile void *);

static void on_malloc(const volatile void *block, size_t size)
{
	(void)block;
	if (run.is_counting)
		add(size);
}

static void on_free(const volatile void *block)
{
	if (run.is_counting && block && __sanitizer_get_ownership(block))
		run.held -= (long long)__sanitizer_get_allocated_size(block);
}

static void install(void)
{
	if (!__sanitizer_install_malloc_and_free_hooks(on_malloc, on_free))
		fuzz_fail(__FILE__, __LINE__, "the sanitizer takes our hooks");
}
#else
#include <malloc.h>

/* The glibc manual's "Replacing malloc". */
void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void __libc_free(void *);

static void *counted(void *block)
{
	if (run.is_counting && block)
		add(malloc_usable_size(block));
	return block;
}

static void uncount(void *block)
{
	if (run.is_counting && block)
		run.held -= (long long)malloc_usable_size(block);
}

void *malloc(size_t size)
{
	return counted(__libc_malloc(size));
}

void *calloc(size_t count, size_t size)
{
	return counted(__libc_calloc(count, size));
}

void *realloc(void *old, size_t size)
{
	uncount(old);
	void *block = __libc_realloc(old, size);
	return counted(block || size == 0 ? block : old);
}

void free(void *block)
{
	uncount(block);
	__libc_free(block);
}

static void install(void)
{
}
#endif

static void report(void)
{
	fprintf(stderr,
		"fuzz: memory: peak %lld bytes (input %zu), multiple %.1f of %zu, base %zu\n",
		worst.peak, worst.peak_input, worst.multiple, run.allowed.multiple,
		run.allowed.base);
}

static void start(void)
{
	worst.is_started = true;
	tzset(); /* the C library keeps what it read about the time zone */
	install();
	atexit(report);
}

void memory_begin(const struct fuzz_memory *allowed, size_t input)
{
	if (!worst.is_started)
		start();
	run.allowed = *allowed;
	run.input = input;
	run.held = run.peak = 0;
	run.is_counting = true;
}

void memory_end(void)
{
	run.is_counting = false;
	if (run.held > (long long)run.allowed.kept) {
		fprintf(stderr, "fuzz: %lld bytes are held after the input\n", run.held);
		abort();
	}
	long long over = run.peak - (long long)run.allowed.base;
	double multiple = over > 0 && run.input > 0 ? (double)over / (double)run.input : 0;
	if (run.peak > worst.peak) {
		worst.peak = run.peak;
		worst.peak_input = run.input;
	}
	if (multiple > worst.multiple)
		worst.multiple = multiple;
}

void memory_pause(void)
{
	run.is_counting = false;
}

void memory_resume(void)
{
	run.is_counting = true;
}
