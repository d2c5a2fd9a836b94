/* A token for tests: each effect is recorded as a word. takeover_delay is 30 s, so the lease is 15
 * s and a renewal is due every 5 s. */
#ifndef UNIT_SUPPORT_CORE_TOKEN_RIG_H
#define UNIT_SUPPORT_CORE_TOKEN_RIG_H

#include "core/token.h"
#include "unit/unit.h"

#define DELAY  (30 * MTIME_SECOND)
#define LEASE  (DELAY / 2)
#define PERIOD (DELAY / TOKEN_RENEWALS)
#define WINDOW 2000

extern struct token *token;
extern char effects_log[512];
extern mtime lease_until;
extern mtime waits_for;   /* of the latest takeover */
extern mtime passed_wait; /* in the latest publish */
extern uint32_t passed_window, granted_window;
extern mtime min_delay; /* that a token names, and a takeover waits for; DELAY at first */
extern const struct token_config token_test_config;
extern const struct token_effects token_test_effects;

/* Fixture of a test case. */
void token_set_up(void);
void token_tear_down(void);

/* What was done since the last look. */
void expect_effects(const char *log);
void forget_effects(void);
struct token_content token_content_of(const char *holder, uint64_t epoch, uint64_t counter);
void offer_token(uint64_t tag, const char *holder, uint64_t epoch, uint64_t counter, mtime now);
void offer_orderly_token(uint64_t tag, uint64_t epoch, uint64_t counter);
/* The first supervisor of a queue: it holds the token 1.0 as delivery 2 from 0 on. */
void become_holder(void);
/* Renewals, each sent at its deadline, with both answers at once. The tags count on. */
void renew_token_until(mtime end, uint64_t *tag);

#endif
