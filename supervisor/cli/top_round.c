#include "cli/top_round.h"

#include "cli/figures.h"
#include "io/clock.h"

#include <stdio.h>
#include <stdlib.h>

#define EVERY   MTIME_SECOND
#define HTTP_OK 200

enum rc top_round_init(struct top_round *round, const char *socket, const char **ret_why)
{
	*round = (struct top_round){0};
	return top_link_init(&round->link, socket, ret_why);
}

void top_round_release(struct top_round *round)
{
	top_link_release(&round->link);
	top_orders_release(&round->orders);
	free(round->asked);
}

/* ---------- questions ---------- */

static void ask_order(struct top_round *round, const struct top_model *model)
{
	const struct top_order *order = &round->orders.list[0];

	top_orders_path(&round->orders, top_model_pool(model, order->pool), round->path);
	top_link_ask(&round->link, "POST", round->path, order->pool);
	round->is_order = true;
}

/* False: there is no such question now. */
static bool ask_question(struct top_round *round, const struct top_model *model)
{
	switch (round->question) {
	case TOP_ASK_STATUS:
		top_link_ask(&round->link, NULL, "/v1/status", NULL);
		return true;
	case TOP_ASK_POOLS:
		top_link_ask(&round->link, NULL, "/v1/pools", NULL);
		return true;
	case TOP_ASK_WORKERS:
		free(round->asked);
		round->asked = model->chosen ? strdup(model->chosen) : NULL;
		if (round->asked)
			top_link_ask(&round->link, NULL, "/v1/workers", round->asked);
		return round->asked;
	}
	__builtin_unreachable();
}

/* From the first question again, at this time. */
static void begin_round(struct top_round *round, mtime due)
{
	round->question = TOP_ASK_STATUS;
	round->due = due;
}

static void ask_next(struct top_round *round, const struct top_model *model, mtime now)
{
	if (round->is_waiting)
		return;
	if (round->orders.count > 0) {
		ask_order(round, model);
		round->is_waiting = true;
		return;
	}
	if (now < round->due)
		return;
	if (round->question == TOP_ASK_STATUS)
		round->due = now; /* the next round is reckoned from here */
	round->is_waiting = ask_question(round, model);
	if (!round->is_waiting)
		begin_round(round, round->due + EVERY);
}

/* ---------- replies ---------- */

static void take_order(
	struct top_round *round, struct top_model *model, const struct top_reply *reply)
{
	const struct top_order *order = &round->orders.list[0];
	const json_t *pool;

	if (reply->json && reply->status == HTTP_OK) {
		pool = json_array_get(json_object_get(reply->json, "pools"), 0);
		top_orders_words(order, pool, model->message, sizeof model->message);
		top_model_correct(model, reply->json);
	} else {
		snprintf(
			model->message, sizeof model->message, "%s: %s", order->pool, reply->words);
	}
	top_orders_drop(&round->orders);
	round->is_order = false;
	begin_round(round, 0);
}

/* What comes after it; another pool may have been chosen meanwhile. */
static void go_on(struct top_round *round)
{
	if (round->question == TOP_ASK_WORKERS)
		begin_round(round, round->due + EVERY);
	else
		round->question++;
}

static bool is_of_another_pool(const struct top_round *round, const struct top_model *model)
{
	return round->question == TOP_ASK_WORKERS &&
	       (!model->chosen || strcmp(round->asked, model->chosen) != 0);
}

static void take_reply(
	struct top_round *round, struct top_model *model, const struct top_reply *reply, mtime now)
{
	if (round->is_order) {
		take_order(round, model, reply);
		return;
	}
	if (is_of_another_pool(round, model))
		return; /* the question is asked again */
	if (!reply->json || reply->status != HTTP_OK) {
		snprintf(model->trouble, sizeof model->trouble, "%s", reply->words);
		begin_round(round, now + EVERY);
		return;
	}
	if (top_model_take(model, round->question, reply->json, now) == RC_OK)
		go_on(round);
	else
		begin_round(round, now + EVERY); /* without memory, all stays as it is */
}

/* ---------- for who holds it ---------- */

void top_round_order(struct top_round *round, struct top_model *model, enum top_verb verb, int by)
{
	if (!model->chosen)
		snprintf(model->message, sizeof model->message, "%s",
			model->knows_pools ? "there is no pool"
					   : "the supervisor has not told its pools yet");
	else if (!top_orders_add(&round->orders, verb, by, model->chosen))
		snprintf(model->message, sizeof model->message,
			"too much is asked at once; the supervisor has not answered yet");
}

void top_round_hurry(struct top_round *round)
{
	if (round->is_waiting)
		return; /* for what comes before it, or for what is thrown away */
	round->question = TOP_ASK_WORKERS;
	round->due = 0;
}

/* With trouble the line about it counts the seconds. */
static int milliseconds_left(const struct top_round *round, mtime now)
{
	mtime left = round->is_waiting ? EVERY : round->due - now;

	return left <= 0 ? 0 : (int)(mtime_min(left, EVERY) / MTIME_MS) + 1;
}

void top_round_turn(
	struct top_round *round, struct top_model *model, struct curl_waitfd fds[], unsigned count)
{
	struct top_reply reply;

	ask_next(round, model, clock_now());
	if (!top_link_wait(&round->link, fds, count, milliseconds_left(round, clock_now()), &reply))
		return;
	round->is_waiting = false;
	take_reply(round, model, &reply, clock_now());
	json_decref(reply.json);
}
