/* A long task in slices: sums 1 to TotalCount, at most BatchExecutedCount numbers at a time or as
 * far as TimeoutMilliseconds allows, and hands the rest back to its own queue. The state travels in
 * the body, so any worker of the pool, in any language, can do the next slice:
 *   {"TotalCount": 1000, "BatchExecutedCount": 100, "Done": 300, "Sum": 45150}
 * Done and Sum are absent at first. The last slice answers the caller with the sum. */
#include <jansson.h>
#include <stdio.h>
#include <wpool/worker.h>

#define TOTAL_MAX    4294967295 /* the largest whose sum an int64 holds */
#define NOT_A_BATCH  400
#define OUT_OF_RANGE 422
#define CLOCK_EVERY  4096 /* numbers between two looks at the clock */

struct batch {
	long long total;
	long long slice;
	long long done;
	long long sum;
};

static bool read_batch(struct wpool_text body, struct batch *ret_batch)
{
	json_t *json = json_loadb(body.data, body.len, 0, NULL);
	json_int_t total, slice, done = 0, sum = 0;
	bool is_good =
		json && json_unpack(json, "{s:I, s:I, s?I, s?I}", "TotalCount", &total,
				"BatchExecutedCount", &slice, "Done", &done, "Sum", &sum) == 0;
	if (is_good)
		*ret_batch = (struct batch){total, slice, done, sum};
	json_decref(json);
	return is_good;
}

/* The sum must be the one of the numbers done so far. */
static bool is_sound(const struct batch *batch)
{
	if (batch->total < 0 || batch->total > TOTAL_MAX || batch->slice < 1)
		return false;
	if (batch->done < 0 || batch->done > batch->total)
		return false;
	unsigned long long done = (unsigned long long)batch->done;
	return batch->sum >= 0 && (unsigned long long)batch->sum == done * (done + 1) / 2;
}

/* Adds at least one number, so that every slice makes progress. */
static void add_slice(struct wpool_task *task, struct batch *batch)
{
	long long left = batch->total - batch->done;
	long long count = left < batch->slice ? left : batch->slice;
	for (long long i = 1; i <= count; i++) {
		batch->done++;
		batch->sum += batch->done;
		if ((i == 1 || i % CLOCK_EVERY == 0) && wpool_should_stop(task))
			break;
	}
}

static void answer(struct wpool_task *task, const struct batch *batch)
{
	char text[32];
	int len = snprintf(text, sizeof text, "%lld", batch->sum);
	wpool_reply(task, text, (size_t)len);
}

static void hand_back(struct wpool_task *task, const struct batch *batch)
{
	char rest[256];
	int len = snprintf(rest, sizeof rest,
		"{\"TotalCount\": %lld, \"BatchExecutedCount\": %lld, \"Done\": %lld, \"Sum\": "
		"%lld}",
		batch->total, batch->slice, batch->done, batch->sum);
	wpool_hand_back(task, rest, (size_t)len);
}

static void handle(struct wpool_task *task, void *context)
{
	(void)context;
	struct batch batch = {0};
	if (!read_batch(wpool_task_body(task), &batch)) {
		wpool_reject(task, NOT_A_BATCH);
		return;
	}
	if (!is_sound(&batch)) {
		wpool_reject(task, OUT_OF_RANGE);
		return;
	}
	add_slice(task, &batch);
	if (batch.done == batch.total)
		answer(task, &batch);
	else
		hand_back(task, &batch);
}

int main(void)
{
	return wpool_worker_run(handle, NULL);
}
