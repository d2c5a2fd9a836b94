/* A supervisor of the fixture with its page, and a browser that shows it. Errors fail the test. */
#ifndef HARNESS_PAGE_H
#define HARNESS_PAGE_H

#include "harness/browser.h"
#include "harness/fixture.h"

/* Start `wpool serve` with these pools (lines of the configuration's list), with its page on
 * this port of 127.0.0.1; 0: any free port. */
struct proc *page_serve(const char *pools, int port);
/* The same with one more variable of the environment ("NAME=value"). */
struct proc *page_serve_with(const char *variable, const char *pools, int port);
/* The address of the last one: "127.0.0.1:PORT". */
const char *page_address(void);
/* A line of the configuration: echo workers on the fixture's queue. Moves out. */
char *page_echo_pool(const char *name, int workers);

/* Open the page; page_await_ready: wait until it shows that everything is ready. */
struct browser *page_open(void);
struct browser *page_open_ready(void);
/* The console must have no warnings. */
void page_expect_no_warnings(const struct browser *);

#endif
