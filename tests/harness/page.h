/* A supervisor of the site with its page, and a browser that looks at it. Fails the test rather
 * than returning an error. */
#ifndef HARNESS_PAGE_H
#define HARNESS_PAGE_H

#include "harness/browser.h"
#include "harness/site.h"

/* `wpool serve` with these pools (the lines of the configuration's list), seen at this port of
 * 127.0.0.1; 0: any that is free. */
struct proc *page_serve(const char *pools, int port);
/* Where the last one is: "127.0.0.1:PORT". */
const char *page_where(void);
/* A line of the configuration: echo workers on the site's queue. Owned by the caller. */
char *page_echo_pool(const char *name, int workers);

/* As it comes, and once it says that all is well. */
struct browser *page_look(void);
struct browser *page_look_when_ready(void);
/* The console is silent. */
void page_expect_no_complaints(const struct browser *);

#endif
