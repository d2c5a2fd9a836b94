#include "sim/account.h"

#include "sim/cover.h"
#include "sim/fail.h"
#include "sim/order.h"
#include "sim/order_later.h"
#include "sim/settings.h"

const char *const temper_names[TEMPER_COUNT] = {
#define X(temper) #temper,
	TEMPERS(X)
#undef X
};

void account_clear(struct account *account)
{
	uint64_t used = account->instances + 1, aliases = account->aliases;

	memset(account->message, 0, (account->messages + 1) * sizeof *account->message);
	memset(account->id_of, 0, used * sizeof *account->id_of);
	memset(account->id_of + ACCOUNT_INSTANCES_MAX - aliases, 0,
		aliases * sizeof *account->id_of);
	memset(account->may_ack, 0, used * sizeof *account->may_ack);
	memset(account->may_ack + ACCOUNT_INSTANCES_MAX - aliases, 0,
		aliases * sizeof *account->may_ack);
	memset(account->accepted, 0, used * sizeof *account->accepted);
	memset(account->facts, 0, used * sizeof *account->facts);
	memset(account->requeues, 0, used * sizeof *account->requeues);
	memset(account->suspected, 0, used * sizeof *account->suspected);
	memset(account->ended, 0, used * sizeof *account->ended);
	account->messages = 0;
	account->instances = account->aliases = account->redeliveries = 0;
	account->stops = 0;
	account->refusals = 0;
	account->drops_unroutable = account->channels_fail = false;
}

uint32_t account_id(struct text body)
{
	const uint8_t *bytes = (const uint8_t *)body.ptr;

	sim_require(body.len >= 4, "a body that lost its id");
	return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 |
	       bytes[3];
}

static struct message_account *message_of(struct account *account, uint32_t id)
{
	sim_require(id >= 1 && id <= account->messages, "a message that was never published");
	return &account->message[id];
}

static void on_stored(void *ctx, uint64_t instance, const struct copy_facts *facts,
	const char *queue, struct text body)
{
	struct account *account = ctx;
	uint32_t id;

	if (!instance) /* a token */
		return;
	order_later_stored(account, instance, queue, body);
	id = facts->refuses ? facts->refuses : account_id(body);
	sim_require(!facts->refuses || body.len == 0, "a refusal has a body");
	sim_require(instance < ACCOUNT_INSTANCES_MAX - account->aliases,
		"a message that never stops being copied");
	account->instances = instance;
	account->id_of[instance] = id;
	account->facts[instance] = *facts;
	if (facts->refuses)
		message_of(account, id)->refused++;
	else if (strcmp(queue, account->replies) == 0)
		message_of(account, id)->replied++;
	else if (strcmp(queue, account->dead) == 0)
		message_of(account, id)->dead++;
}

static void on_requeued(struct account *account, uint64_t instance)
{
	uint8_t supervisor = account->ended[instance];

	sim_require(supervisor == 0 || !((account->stops & ~account->refusals) >> supervisor & 1),
		"message %u had its attempt, and is handed back in a stop in good order",
		account->id_of[instance]);
	if (account->accepted[instance]) /* its ack came too late */
		message_of(account, account->id_of[instance])->accepted_by = 0;
	account->accepted[instance] = false;
	account->redeliveries++;
	account->requeues[instance]++;
	account->ended[instance] = 0;
}

static void on_settled(void *ctx, uint64_t instance, bool acked, bool requeued)
{
	struct account *account = ctx;
	uint32_t id = account->id_of[instance];

	if (!id)
		return;
	sim_trace("broker: message %u, copy %llu: %s", id, (unsigned long long)instance,
		acked      ? "acked"
		: requeued ? "requeued"
			   : "rejected");
	order_settled(account->order, id, instance, requeued);
	if (requeued)
		on_requeued(account, instance);
	else if (acked)
		sim_require(account->may_ack[instance] || account->accepted[instance],
			"message %u was acked although nothing of it is safe", id);
	else
		message_of(account, id)->dead++; /* the queue's own policy: our runs count it so */
}

static void on_confirm(void *ctx, uint64_t for_instance, enum publish_fate fate)
{
	struct account *account = ctx;

	if (!for_instance)
		return;
	if (fate == PUBLISH_RETURNED)
		message_of(account, account->id_of[for_instance])->returned++;
	if (fate == PUBLISH_STORED)
		account->may_ack[for_instance] = true;
}

static void on_delivered(
	void *ctx, uint64_t instance, uint64_t tag, const struct broker_connection *connection)
{
	struct account *account = ctx;

	if (account->id_of[instance])
		order_delivered(
			account->order, instance, account->requeues[instance], tag, connection);
}

/* The broker's own policy, and no promise of ours. */
static void on_limit(void *ctx, uint64_t instance)
{
	struct account *account = ctx;

	sim_require(account->id_of[instance], "the broker drops a token");
	cover_mark(COVER_TROUBLE, TROUBLE_LIMIT, 0);
	message_of(account, account->id_of[instance])->forgiven = true;
	order_dropped(account->order, account->id_of[instance]);
}

struct broker_watch account_watch(struct account *account)
{
	return (struct broker_watch){
		on_stored, on_settled, on_confirm, on_delivered, on_limit, account};
}

void account_done(struct account *account, uint64_t instance, uint32_t id)
{
	message_of(account, id)->done++;
	account->may_ack[instance] = true;
}

void account_accepted(struct account *account, uint64_t instance, uint32_t id, uint8_t supervisor)
{
	struct message_account *message = message_of(account, id);

	message->excused = true;
	message->accepted_by |= 1u << supervisor;
	account->accepted[instance] = true;
}

void account_lose_accepted(struct account *account, uint8_t supervisor)
{
	for (uint32_t id = 1; id <= account->messages; id++)
		account->message[id].forgiven |= account->message[id].accepted_by >> supervisor & 1;
}

void account_ended(
	struct account *account, uint64_t instance, uint32_t requeues, uint8_t supervisor)
{
	if (account->requeues[instance] == requeues)
		account->ended[instance] = supervisor;
}

void account_forgive(struct account *account)
{
	for (uint32_t id = 1; id <= account->messages; id++)
		account->message[id].forgiven = true;
	order_vanished(account->order);
}

void account_purged(struct account *account, struct text body)
{
	message_of(account, account_id(body))->forgiven = true;
	order_dropped(account->order, account_id(body));
}

void account_dropped(struct account *account, uint64_t instance, enum reason reason)
{
	uint32_t id = account->id_of[instance];
	struct message_account *message;
	bool fair = account->drops_unroutable;

	if (instance == 0)
		return; /* its channel is already closed on the broker's side: it comes again */
	message = message_of(account, id);
	fair = fair && (reason != REASON_UNROUTABLE || message->returned > 0);
	fair = fair && (reason != REASON_REPLY_REFUSED || account->channels_fail ||
			       message->temper == TEMPER_COSTS_CHANNEL ||
			       message->temper == TEMPER_COSTS_CONNECTION);
	fair = fair && (reason != REASON_REPLY_INVALID || message->temper == TEMPER_REPLY_INVALID);
	sim_require(fair, "the reply of message %u was dropped (%s)", id, reason_name(reason));
	message->dropped++;
	account->may_ack[instance] = true;
}

uint64_t account_publish(struct account *account, uint64_t instance, uint32_t id)
{
	message_of(account, id)->published++;
	if (instance == 0) {
		instance = ACCOUNT_INSTANCES_MAX - ++account->aliases;
		account->id_of[instance] = id;
	}
	return instance;
}

/* May a message whose worker would have done it be in the dead letters? */
static bool may_be_dead(
	const struct account *account, const struct message_account *message, uint32_t attempts)
{
	if (message->failures >= attempts || message->returned > 0 || message->excused)
		return true;
	return account->channels_fail && message->published > 0;
}

static uint32_t count_ends(const struct message_account *message)
{
	return message->done + message->replied + message->dead + message->dropped +
	       message->refused;
}

static void mark_ends(const struct message_account *message)
{
	uint32_t ends = count_ends(message);
	bool how[] = {[END_DONE] = message->done,
		[END_REPLIED] = message->replied,
		[END_DEAD] = message->dead,
		[END_DROPPED] = message->dropped,
		[END_TWICE] = ends > 1,
		[END_LOST] = ends == 0,
		[END_REFUSED] = message->refused};

	for (unsigned i = 0; i < sizeof how / sizeof *how; i++)
		if (how[i])
			cover_mark(COVER_TEMPER, message->temper, i);
}

static void close_message(const struct account *account, uint32_t id, uint32_t attempts)
{
	const struct message_account *message = &account->message[id];
	const char *temper = temper_names[message->temper];
	uint32_t ends = count_ends(message);

	mark_ends(message);
	sim_require(ends > 0 || message->forgiven, "message %u (%s) is lost", id, temper);
	switch (message->temper) {
	case TEMPER_DONE:
	case TEMPER_REPLY:
	case TEMPER_REPLY_NOWHERE:
	case TEMPER_FAIL_ONCE:
	case TEMPER_LONG:
	case TEMPER_SLICES:
	case TEMPER_POSTPONE:
	case TEMPER_TWICE:
	case TEMPER_IGNORED:
		sim_require(message->dead == 0 || may_be_dead(account, message, attempts),
			"message %u (%s) is in the dead letters after %u failures of %u", id,
			temper, message->failures, attempts);
		break;
	case TEMPER_REJECT:
	case TEMPER_FAIL:
	case TEMPER_POISON:
	case TEMPER_HANG:
	case TEMPER_BLOCK:
	case TEMPER_BREAK:
	case TEMPER_UNKNOWN:
	case TEMPER_TOO_LARGE:
	case TEMPER_INVALID:
		sim_require(message->done + message->replied == 0 &&
				    (message->dead + message->refused > 0 || message->forgiven),
			"message %u (%s) can not have been done", id, temper);
		break;
	case TEMPER_REPLY_UNROUTABLE:
	case TEMPER_REPLY_INVALID:
	case TEMPER_COSTS_CHANNEL:
	case TEMPER_COSTS_CONNECTION:
		sim_require(message->replied == 0, "message %u (%s) was replied to", id, temper);
		break;
	case TEMPER_COUNT:
		break;
	}
}

void account_close(const struct account *account, uint32_t attempts)
{
	for (uint32_t id = 1; id <= account->messages; id++)
		close_message(account, id, attempts);
}
