/* Users and groups: from names to numbers, by the machine's own databases. */
#include "config/rights.h"

#include "config/quantity.h"
#include "config/words.h"

#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { GROUPS_AT_FIRST = 32 };

/* (uid_t)-1 stands for "as it is" in the calls that take ids. */
static bool read_id(const char *name, id_t *ret)
{
	int64_t number;
	if (!quantity_read_integer(text_from(name), &number) || number >= UINT32_MAX)
		return false;
	*ret = (id_t)number;
	return true;
}

static bool find_group(const char *name, gid_t *ret)
{
	if (read_id(name, ret))
		return true;
	const struct group *entry = getgrnam(name);
	if (entry)
		*ret = entry->gr_gid;
	return entry != NULL;
}

/* All groups that the user is in, and gid. */
static enum rc set_groups_of(struct rights *rights, const char *user)
{
	int count = GROUPS_AT_FIRST, room, found;
	do {
		room = count;
		gid_t *groups = realloc(rights->groups, (size_t)room * sizeof *groups);
		if (!groups)
			return RC_MEMORY;
		rights->groups = groups;
		found = getgrouplist(user, rights->gid, rights->groups, &count);
	} while (found < 0 && count > room);
	if (found < 0) /* it had no memory itself, and none of them is filled */
		return RC_MEMORY;
	rights->group_count = (size_t)count;
	return RC_OK;
}

static enum rc set_one_group(struct rights *rights)
{
	rights->groups = malloc(sizeof *rights->groups);
	if (!rights->groups)
		return RC_MEMORY;
	rights->groups[0] = rights->gid;
	rights->group_count = 1;
	return RC_OK;
}

static enum rc add_variable(struct rights *rights, const char *name, const char *value)
{
	char *entry;
	int len = asprintf(&entry, "%s=%s", name, value);
	if (len < 0)
		return RC_MEMORY;
	enum rc rc = words_append(&rights->variables, text_of(entry, (size_t)len));
	free(entry);
	return rc;
}

/* What login(1) sets. Of a user without an entry nothing is known, and ours would be wrong. */
static enum rc set_variables(struct rights *rights, const struct passwd *entry)
{
	enum rc rc = add_variable(rights, "HOME", entry ? entry->pw_dir : "/");
	if (rc == RC_OK && entry)
		rc = add_variable(rights, "USER", entry->pw_name);
	if (rc == RC_OK && entry)
		rc = add_variable(rights, "LOGNAME", entry->pw_name);
	return rc;
}

static enum rc set_user(struct rights *rights, const char *user, bool has_group, const char **why)
{
	bool is_number = read_id(user, &rights->uid);
	const struct passwd *entry = is_number ? getpwuid(rights->uid) : getpwnam(user);
	if (!entry && !is_number) {
		*why = ", which this machine has no user of; a user's name or number is needed";
		return RC_NOT_FOUND;
	}
	if (!entry && !has_group) {
		*why = ", of which this machine knows no group; group is needed beside it";
		return RC_NOT_FOUND;
	}
	if (entry)
		rights->uid = entry->pw_uid;
	if (entry && !has_group)
		rights->gid = entry->pw_gid;
	rights->is_confined = true;
	enum rc rc = set_variables(rights, entry);
	if (rc == RC_OK)
		rc = entry ? set_groups_of(rights, entry->pw_name) : set_one_group(rights);
	return rc;
}

enum rc rights_set_ids(struct rights *rights, const char *user, const char *group,
	const char **ret_why, bool *ret_is_group)
{
	*ret_is_group = false;
	if (!user && !group)
		return RC_OK;
	rights->uid = geteuid();
	if (group && !find_group(group, &rights->gid)) {
		*ret_is_group = true;
		*ret_why =
			", which this machine has no group of; a group's name or number is needed";
		return RC_NOT_FOUND;
	}
	enum rc rc = user ? set_user(rights, user, group != NULL, ret_why) : set_one_group(rights);
	/* Whoever runs wpool as that very user already needs no right to become it. */
	rights->is_other = rc == RC_OK &&
			   (rights->uid != geteuid() || rights->gid != getegid() || geteuid() == 0);
	return rc;
}
