/* A remote call: {"Value": n} is answered with the n-th Fibonacci number, for n from -20 to 20.
 * Below zero the sequence continues backwards: F(-n) = (-1)^(n+1) F(n), so F(-8) is -21. */
#include <jansson.h>
#include <stdio.h>
#include <wpool/worker.h>

#define VALUE_MAX    20
#define NOT_A_CALL   400
#define OUT_OF_RANGE 422

static long long fibonacci(long long n)
{
	long long current = 0, next = 1;
	for (long long i = n < 0 ? -n : n; i > 0; i--) {
		long long sum = current + next;
		current = next;
		next = sum;
	}
	return n < 0 && n % 2 == 0 ? -current : current;
}

static void answer(struct wpool_task *task, long long n)
{
	char text[32];
	int len = snprintf(text, sizeof text, "%lld", fibonacci(n));
	wpool_reply(task, text, (size_t)len);
}

static void handle(struct wpool_task *task, void *context)
{
	(void)context;
	struct wpool_text body = wpool_task_body(task);
	json_t *call = json_loadb(body.data, body.len, 0, NULL);
	json_t *value = json_object_get(call, "Value");
	long long n = json_integer_value(value);
	if (!json_is_integer(value))
		wpool_reject(task, NOT_A_CALL);
	else if (n < -VALUE_MAX || n > VALUE_MAX)
		wpool_reject(task, OUT_OF_RANGE);
	else
		answer(task, n);
	json_decref(call);
}

int main(void)
{
	return wpool_worker_run(handle, NULL);
}
