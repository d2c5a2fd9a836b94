/* A client of the broker: what it leaves behind when it is released. */
#include "unit/unit.h"

#include "publish/broker_client.h"

#include <signal.h>
#include <sysexits.h>

static const struct client_handler handler = {0};

static bool is_default(int signal)
{
	struct sigaction action;
	ck_assert_int_eq(sigaction(signal, NULL, &action), 0);
	return action.sa_handler == SIG_DFL;
}

/* `drop` asks the operator between two clients: Ctrl-C must end it then. */
START_TEST(a_released_client_restores_signal_handling)
{
	struct client clients[2];
	for (size_t i = 0; i < 2; i++) {
		ck_assert_int_eq(client_init(&clients[i], "test", "amqp://127.0.0.1:1",
					 MTIME_SECOND, &handler, NULL),
			EX_OK);
		ck_assert(!is_default(SIGINT) && !is_default(SIGTERM));
		client_release(&clients[i]);
		ck_assert(is_default(SIGINT) && is_default(SIGTERM));
	}
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("publish/broker_client");
	UNIT_CASE(s, "signals", a_released_client_restores_signal_handling);
	return s;
}

UNIT_MAIN(suite)
