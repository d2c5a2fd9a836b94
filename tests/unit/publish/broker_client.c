/* A client of the broker: what it leaves behind when it is released, and what an interrupt does to
 * it. The link to the broker is a fake of this test. */
#include "unit/unit.h"

#include "publish/broker_client.h"

#include <signal.h>
#include <sysexits.h>

static unsigned interrupts, closes;
static const struct broker_link_handler *link_handler;
static void *link_ctx;

struct broker_link *broker_link_new(struct ev_loop *loop, const struct broker_link_config *config,
	const struct broker_link_handler *of_client, void *ctx)
{
	(void)loop;
	(void)config;
	link_handler = of_client;
	link_ctx = ctx;
	return (struct broker_link *)&link_handler;
}

void broker_link_flush(struct broker_link *link)
{
	(void)link;
}

void broker_link_close(struct broker_link *link)
{
	(void)link;
	closes++;
}

void broker_link_free(struct broker_link *link)
{
	(void)link;
}

bool broker_link_is_refused(const struct broker_link *link)
{
	(void)link;
	return false;
}

static void ignore_event(void *ctx, const struct amqp_event *event)
{
	(void)ctx;
	(void)event;
}

static void count_interrupt(void *ctx)
{
	(void)ctx;
	interrupts++;
}

static const struct broker_client_handler handler = {
	.on_event = ignore_event, .on_interrupt = count_interrupt};

static bool is_default(int signal)
{
	struct sigaction action;
	ck_assert_int_eq(sigaction(signal, NULL, &action), 0);
	return action.sa_handler == SIG_DFL;
}

/* `drop` asks the operator between two clients: Ctrl-C must end it then. */
START_TEST(a_released_client_restores_signal_handling)
{
	struct broker_client clients[2];
	for (size_t i = 0; i < 2; i++) {
		ck_assert_int_eq(broker_client_init(&clients[i], "test", "amqp://127.0.0.1:1",
					 MTIME_SECOND, &handler, NULL),
			EX_OK);
		ck_assert(!is_default(SIGINT) && !is_default(SIGTERM));
		broker_client_release(&clients[i]);
		ck_assert(is_default(SIGINT) && is_default(SIGTERM));
	}
}
END_TEST

/* A blocked broker confirms nothing, so the client does not wait for it. */
START_TEST(an_interrupt_closes_a_blocked_client)
{
	static const struct {
		enum amqp_event_kind kinds[2];
		const char *reason;
		unsigned closes;
	} cases[] = {
		{{AMQP_BLOCKED, AMQP_BLOCKED}, "low on memory", 1},
		{{AMQP_BLOCKED, AMQP_BLOCKED}, "", 1},
		{{AMQP_BLOCKED, AMQP_UNBLOCKED}, "low on memory", 0},
	};
	struct broker_client client;

	ck_assert_int_eq(broker_client_init(&client, "test", "amqp://127.0.0.1:1", MTIME_SECOND,
				 &handler, NULL),
		EX_OK);
	for (size_t i = 0; i < 2; i++)
		link_handler->on_event(link_ctx, &(struct amqp_event){.kind = cases[_i].kinds[i],
							 .text = text_from(cases[_i].reason)});
	raise(SIGINT);
	while (interrupts == 0)
		ev_run(client.loop, EVRUN_ONCE);
	ck_assert_uint_eq(closes, cases[_i].closes);
	broker_client_release(&client);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("publish/broker_client");
	UNIT_CASE(s, "signals", a_released_client_restores_signal_handling);
	TCase *tcase = tcase_create("interrupt");
	tcase_add_loop_test(tcase, an_interrupt_closes_a_blocked_client, 0, 3);
	suite_add_tcase(s, tcase);
	return s;
}

UNIT_MAIN(suite)
