#include "client/top/top_requests.h"

#include "client/json_cells.h"
#include "os/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <sysexits.h>

#define INTERVAL MTIME_SECOND

/* ---------- orders ---------- */

bool top_orders_add(
	struct top_orders *orders, const struct api_verb *verb, int by, const char *pool)
{
	char *copy = orders->count < TOP_ORDERS_MAX ? strdup(pool) : NULL;

	if (!copy)
		return false;
	orders->list[orders->count++] = (struct top_order){.verb = verb, .by = by, .pool = copy};
	return true;
}

/* The number of the task makes sure that no later one is killed. */
bool top_orders_add_kill(struct top_orders *orders, const struct api_verb *verb, const char *pool,
	const char *slot, double task, bool gives_up)
{
	char number[JSON_CELL_SIZE];

	snprintf(number, sizeof number, "%.0f", task);
	if (!top_orders_add(orders, verb, 0, pool))
		return false;
	verb_path_of_slot(verb, slot, number, gives_up, orders->list[orders->count - 1].path);
	return true;
}

void top_orders_path(const struct top_orders *orders, const json_t *pool, char path[VERB_PATH_SIZE])
{
	const struct top_order *order = &orders->list[0];
	char workers[JSON_CELL_SIZE];

	if (*order->path) {
		snprintf(path, VERB_PATH_SIZE, "%s", order->path);
		return;
	}
	snprintf(workers, sizeof workers, "%.0f",
		json_cell_value(pool, "workers.wanted") + order->by);
	verb_path(order->verb, true, order->verb->takes_workers ? workers : NULL, path);
}

void top_orders_drop(struct top_orders *orders)
{
	free(orders->list[0].pool);
	orders->count--;
	memmove(&orders->list[0], &orders->list[1], orders->count * sizeof orders->list[0]);
}

void top_orders_release(struct top_orders *orders)
{
	while (orders->count > 0)
		top_orders_drop(orders);
}

void top_requests_order(
	struct top_requests *requests, struct top_model *model, const struct api_verb *verb, int by)
{
	if (!model->chosen)
		snprintf(model->message, sizeof model->message, "%s",
			model->knows_pools ? "there is no pool" : "the pools are not known yet");
	else if (!top_orders_add(&requests->orders, verb, by, model->chosen))
		snprintf(model->message, sizeof model->message,
			"too many keys at once: the supervisor has not answered yet");
}

void top_requests_kill(struct top_requests *requests, struct top_model *model,
	const struct api_verb *verb, bool gives_up)
{
	if (!top_model_worker(model, model->slot))
		snprintf(model->message, sizeof model->message, "there is no worker in slot %s",
			model->slot);
	else if (model->task < 0)
		snprintf(model->message, sizeof model->message,
			"the worker in slot %s had no task when it was chosen", model->slot);
	else if (!top_orders_add_kill(&requests->orders, verb, model->chosen, model->slot,
			 model->task, gives_up))
		snprintf(model->message, sizeof model->message,
			"too many keys at once: the supervisor has not answered yet");
}

/* ---------- life ---------- */

enum rc top_requests_init(struct top_requests *requests, const char *socket, const char **ret_why)
{
	*requests = (struct top_requests){0};
	return api_client_init(&requests->client, socket, ret_why);
}

void top_requests_release(struct top_requests *requests)
{
	api_client_release(&requests->client);
	top_orders_release(&requests->orders);
	free(requests->asked);
}

/* ---------- requests ---------- */

/* False: there is nothing to ask. */
static bool send_question(struct top_requests *requests, const struct top_model *model)
{
	static const char *const paths[] = {
		[TOP_ASK_POOLS] = "/v1/pools?status=true", [TOP_ASK_WORKERS] = "/v1/workers"};
	struct api_request request = {.path = paths[requests->question]};

	if (requests->question == TOP_ASK_WORKERS) {
		free(requests->asked);
		requests->asked = model->chosen ? strdup(model->chosen) : NULL;
		if (!requests->asked)
			return false;
		request.pool = requests->asked;
	}
	api_client_send(&requests->client, &request);
	return true;
}

/* Begin with the first question again at this time. */
static void restart(struct top_requests *requests, mtime due)
{
	requests->question = TOP_ASK_POOLS;
	requests->due = due;
}

static void send_next(struct top_requests *requests, const struct top_model *model, mtime now)
{
	const struct top_order *order = &requests->orders.list[0];

	if (requests->is_waiting)
		return;
	if (requests->orders.count > 0) {
		top_orders_path(
			&requests->orders, top_model_pool(model, order->pool), requests->path);
		api_client_send(&requests->client,
			&(struct api_request){
				.is_post = true, .path = requests->path, .pool = order->pool});
		requests->is_order = requests->is_waiting = true;
		return;
	}
	if (now < requests->due)
		return;
	if (requests->question == TOP_ASK_POOLS)
		requests->due = now; /* the next round is counted from here */
	requests->is_waiting = send_question(requests, model);
	if (!requests->is_waiting)
		restart(requests, requests->due + INTERVAL);
}

/* ---------- answers ---------- */

/* NULL: there is none; then text has the reason. */
static json_t *take_answer(struct api_client *client, char *text, size_t size)
{
	json_t *answer = client->exit_code == EX_OK ? api_client_json(client) : NULL;

	if (client->exit_code != EX_OK)
		snprintf(text, size, "%.*s", TEXT_ARGS(buf_text(&client->problem)));
	else if (!answer)
		snprintf(text, size, "the answer is not JSON");
	return answer;
}

static void take_order_answer(struct top_requests *requests, struct top_model *model)
{
	char problem[TOP_TEXT_MAX];
	json_t *answer = take_answer(&requests->client, problem, sizeof problem);
	const json_t *pool = json_array_get(json_object_get(answer, "pools"), 0);
	struct top_order *order = &requests->orders.list[0];
	struct buf done;

	if (answer) {
		buf_init(&done, SIZE_MAX);
		verb_append_done(order->verb, pool, &done);
		verb_append_end_of_choice(top_model_pool(model, order->pool), pool, &done);
		snprintf(model->message, sizeof model->message, "%.*s", TEXT_ARGS(buf_text(&done)));
		buf_release(&done);
		top_model_correct(model, answer);
	} else {
		snprintf(model->message, sizeof model->message, "%s: %s", order->pool, problem);
	}
	json_decref(answer);
	top_orders_drop(&requests->orders);
	requests->is_order = false;
	restart(requests, 0);
}

static void take_question_answer(struct top_requests *requests, struct top_model *model, mtime now)
{
	bool is_of_workers = requests->question == TOP_ASK_WORKERS;
	json_t *answer;

	if (is_of_workers && (!model->chosen || strcmp(requests->asked, model->chosen) != 0))
		return; /* another pool was chosen meanwhile: ask again */
	answer = take_answer(&requests->client, model->trouble, sizeof model->trouble);
	if (!answer || top_model_take(model, requests->question, answer, now) != RC_OK)
		restart(requests, now + INTERVAL); /* without memory the model stays as it is */
	else if (is_of_workers)
		restart(requests, requests->due + INTERVAL);
	else
		requests->question = TOP_ASK_WORKERS;
	json_decref(answer);
}

void top_requests_hurry(struct top_requests *requests)
{
	if (requests->is_waiting)
		return; /* its answer comes first, or is thrown away */
	requests->question = TOP_ASK_WORKERS;
	requests->due = 0;
}

void top_requests_turn(struct top_requests *requests, struct top_model *model,
	struct curl_waitfd fds[], unsigned count)
{
	mtime now = clock_now(), left;

	send_next(requests, model, now);
	/* At most a second: a line about trouble counts the seconds. */
	left = requests->is_waiting ? INTERVAL
				    : mtime_min(mtime_max(requests->due - now, 0), INTERVAL);
	if (!api_client_wait(&requests->client, fds, count, (int)(left / MTIME_MS) + (left > 0)))
		return;
	requests->is_waiting = false;
	if (requests->is_order)
		take_order_answer(requests, model);
	else
		take_question_answer(requests, model, clock_now());
}
