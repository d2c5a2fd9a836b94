#include "config/check_rights.h"

#include "config/environment.h"
#include "config/nearest.h"

/* Where to tell what is wrong with a setting: its own place, or the pool's. */
static struct place place_of(const struct draft *draft, const char *key)
{
	const struct place *given = draft_given(draft, key);
	return given ? *given : draft->place;
}

/* `pools[0].umask is "99"`, or, of one member, `pools[0].rlimits: "x"`; then the words. */
static void tell(
	struct draft *draft, const char *key, const char *is, struct text value, const char *words)
{
	struct buf shown;
	buf_init(&shown, 1024);
	problems_quote(&shown, value);
	if (shown.failed)
		draft->problems->memory = true;
	else
		problems_add(draft->problems, place_of(draft, key), "%s%s%s %.*s%s", draft->prefix,
			key, is, TEXT_ARGS(buf_text(&shown)), words);
	buf_release(&shown);
}

static void check_ids(struct draft *draft, struct config_pool *pool)
{
	const char *why;
	bool is_group;
	enum rc rc = rights_set_ids(&pool->rights, pool->user, pool->group, &why, &is_group);
	if (rc == RC_MEMORY)
		draft->problems->memory = true;
	else if (rc != RC_OK)
		tell(draft, is_group ? "group" : "user", " is",
			text_from(is_group ? pool->group : pool->user), why);
}

static void check_mask(struct draft *draft, struct config_pool *pool)
{
	if (!pool->umask)
		return;
	pool->rights.has_mask = rights_read_mask(text_from(pool->umask), &pool->rights.mask);
	if (!pool->rights.has_mask)
		tell(draft, "umask", " is", text_from(pool->umask),
			"; three octal digits, or four that begin with 0, are needed, such as 027");
}

/* ---------- maps ---------- */

static struct text name_of(const char *pair)
{
	return text_of(pair, strcspn(pair, "="));
}

static void tell_unknown_limit(struct draft *draft, struct text name)
{
	const char *nearest = nearest_name(name, rights_limit_names);
	struct buf words;
	buf_init(&words, 1024);
	buf_printf(&words, " is unknown; %s", nearest ? "the nearest is " : "there are ");
	if (nearest)
		buf_append_text(&words, text_from(nearest));
	for (size_t i = 0; !nearest && rights_limit_names[i]; i++)
		buf_printf(&words, "%s%s", i > 0 ? ", " : "", rights_limit_names[i]);
	buf_append_byte(&words, '\0');
	if (words.failed)
		draft->problems->memory = true;
	else
		tell(draft, "rlimits", ":", name, buf_text(&words).ptr);
	buf_release(&words);
}

static void tell_wrong_limit(struct draft *draft, const char *pair)
{
	tell(draft, "rlimits", ":", text_from(pair),
		" is wrong behind the =; one value, or soft:hard with the hard one no less, is "
		"needed, such as 1024:4096 or unlimited");
}

/* A limit that is there twice, which only a variable can have, is that of its last place. */
static void add_limit(struct rights *rights, const struct rights_limit *limit)
{
	size_t i = 0;
	while (i < rights->limit_count && rights->limits[i].resource != limit->resource)
		i++;
	rights->limits[i] = *limit;
	if (i == rights->limit_count)
		rights->limit_count++;
}

static void check_limits(struct draft *draft, struct config_pool *pool)
{
	for (char **pair = pool->rlimits; pair && *pair; pair++) {
		struct rights_limit limit;
		struct text name = name_of(*pair);
		struct text value = text_from(*pair + name.len + 1);
		enum rc rc = rights_read_limit(name, value, &limit);
		if (rc == RC_OK)
			add_limit(&pool->rights, &limit);
		else if (rc == RC_NOT_FOUND)
			tell_unknown_limit(draft, name);
		else
			tell_wrong_limit(draft, *pair);
	}
}

/* Its value may be a secret, and so may be what came where the name belongs. */
static void check_environment(struct draft *draft, const struct config_pool *pool)
{
	for (char **pair = pool->env; pair && *pair; pair++)
		if (!environment_is_name(name_of(*pair)) ||
			text_is(name_of(*pair), TEXT("WPOOL_WORKER")))
			problems_add(draft->problems, place_of(draft, "env"),
				"%senv has a name that is none, or wpool's own; letters, digits "
				"and '_' are needed, no digit first",
				draft->prefix);
}

static bool is_pattern(struct text word)
{
	if (word.len > 0 && word.ptr[word.len - 1] == '*')
		word.len--;
	return word.len == 0 || environment_is_name(word);
}

static void check_passed(struct draft *draft, const struct config_pool *pool)
{
	for (char **word = pool->env_pass; word && *word; word++)
		if (!is_pattern(text_from(*word)))
			tell(draft, "env_pass", ":", text_from(*word),
				" is no name of a variable, nor the beginning of one with a * behind");
}

void check_rights(struct draft *draft, bool is_look)
{
	struct config_pool *pool = draft->base;
	struct buf lack;
	check_ids(draft, pool);
	check_mask(draft, pool);
	check_limits(draft, pool);
	check_environment(draft, pool);
	check_passed(draft, pool);
	pool->rights.nice = (int)pool->nice;
	buf_init(&lack, 1024);
	if (!is_look && rights_append_lack(&pool->rights, &lack))
		problems_add(draft->problems, draft->place, "%s%.*s", draft->prefix,
			TEXT_ARGS(buf_text(&lack)));
	buf_release(&lack);
}
