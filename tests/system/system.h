/* What every system test program shares: a fixture for each test (a scratch folder, queues of its
 * own, a client) and a main around one suite. */
#ifndef SYSTEM_SYSTEM_H
#define SYSTEM_SYSTEM_H

#include "harness/broker.h"
#include "harness/client.h"
#include "harness/fixture.h"
#include "harness/proc.h"
#include "harness/scratch.h"

#include <check.h>
#include <stdlib.h>

/* Run these tests, {test, loops}, each with a fixture of its own. The value is main's exit code. */
#define SYSTEM_RUN(name, ...)                                                                      \
	fixture_run_suite(name, (const struct fixture_test[]){__VA_ARGS__, {NULL, 0}})

#endif
