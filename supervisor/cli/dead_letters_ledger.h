/* Publishes on one channel that have no answer yet, and the delivery that each was made of. Layer:
 * cli. Without I/O and without allocation: one that is not answered keeps the place of all after
 * it. */
#ifndef CLI_DEAD_LETTERS_LEDGER_H
#define CLI_DEAD_LETTERS_LEDGER_H

#include <stdbool.h>
#include <stdint.h>

#define LEDGER_MAX 65536

struct ledger_entry {
	uint64_t delivery; /* its tag; 0: answered */
	bool was_returned;
};

struct ledger {
	uint64_t first; /* the oldest number that may be without an answer */
	uint64_t next;  /* the coming publish's number, from 1: what its confirm will say */
	struct ledger_entry of[LEDGER_MAX]; /* by number, modulo */
};

void ledger_init(struct ledger *);
/* There is no place for one more: the oldest has no answer, and LEDGER_MAX were put since. */
bool ledger_is_full(const struct ledger *);
/* For a publish that follows at once, where it is not full. Its number. */
uint64_t ledger_put(struct ledger *, uint64_t delivery);
/* It came back. False: none of those without an answer. */
bool ledger_return(struct ledger *, uint64_t number);
/* Takes out one that a confirm means, the oldest first. False: no more. multiple with number 0
 * means all. */
bool ledger_take(struct ledger *, uint64_t number, bool multiple, struct ledger_entry *ret);

#endif
