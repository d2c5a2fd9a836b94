/* The settings of one scope while they are collected: their values, where each was given, and
 * the problems found. Layer: config. */
#ifndef CONFIG_DRAFT_H
#define CONFIG_DRAFT_H

#include "config/problems.h"
#include "config/settings.h"

struct draft {
	enum setting_scope scope;
	void *base;                /* borrowed: struct config, config_pool or config_throttle */
	struct problems *problems; /* borrowed */
	char *const *secrets;      /* borrowed: variables whose values are not shown; or NULL */
	const char *prefix;        /* borrowed; "pools[0]." or "defaults." in a file, else "" */
	struct place place;        /* of the whole scope: where something missing is reported */
	struct place places[SETTINGS_MAX]; /* of each setting; name is NULL if it was not given */
	/* Of a pool's own section session, which may be empty; name is NULL: it has none. */
	struct place session_place;
};

/* Set all defaults. base is zeroed or already filled in. */
void draft_init(struct draft *, enum setting_scope, void *base, struct problems *, struct place);
/* Where the setting with this key was given; NULL: it was not given. */
const struct place *draft_given(const struct draft *, const char *key);
/* Where a problem with the setting is reported: its own place, or that of the whole scope. */
struct place draft_place(const struct draft *, const char *key);
/* A line of the file that gives these settings. */
struct place draft_line(const struct draft *, size_t line);
/* What is before the key in a problem with its value: the prefix, or "defaults." if it was given
 * there, where it is wrong for all pools alike. */
const char *draft_prefix(const struct draft *, const char *key);
/* If the setting with this key was given, report that it contradicts the setting `by`, which needs
 * something else: "pools[0].pipeline contradicts pipe: corefx, which needs 1". */
void draft_contradiction(struct draft *, const char *key, const char *by, const char *needed);
void draft_note(struct draft *, const struct setting *, struct place);
/* Set a value, or report the problem, which shows the value. written: the text in a file that was
 * expanded to it; TEXT_NONE: none. If it has a secret, it is shown instead of the value. */
void draft_set(struct draft *, const struct setting *, struct text value, struct text written,
	struct place);
/* Report "pools[0].workers is a list; a number ... is needed", where `is` describes the value. Of a
 * flag "--workers: the value is". */
void draft_wrong(struct draft *, const struct setting *, const char *is, struct place);
/* Set values from environment variables, except addresses. */
void draft_add_environment(struct draft *, char *const *environment);

#endif
