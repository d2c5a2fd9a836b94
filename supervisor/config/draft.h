/* The settings of one scope while they come together: who gave each, and what was wrong. Layer:
 * config. */
#ifndef CONFIG_DRAFT_H
#define CONFIG_DRAFT_H

#include "config/problems.h"
#include "config/settings.h"

struct draft {
	enum setting_scope scope;
	void *base;                         /* borrowed: struct config or config_pool */
	struct problems *problems;          /* borrowed */
	char prefix[32];                    /* "pools[0]." in a file */
	struct place place;                 /* of the whole: where to tell what is missing */
	struct place places[SETTINGS_MOST]; /* of each setting that was given, else name NULL */
};

/* All defaults; base is zeroed memory or set already. */
void draft_init(struct draft *, enum setting_scope, void *base, struct problems *, struct place);
/* Where the setting with this key was given; NULL: it was not. */
const struct place *draft_given(const struct draft *, const char *key);
void draft_note(struct draft *, const struct setting *, struct place);
/* Sets, or tells the problem. shown is the value for people. */
void draft_set(
	struct draft *, const struct setting *, struct text value, struct text shown, struct place);
/* "pools[0].workers is a list; a number ... is needed", where is says what it is. */
void draft_wrong(struct draft *, const struct setting *, const char *is, struct place);
/* From the variables of the environment; addresses excepted. */
void draft_add_environment(struct draft *, char *const *environment);

#endif
