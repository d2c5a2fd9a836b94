#include "config/rights.h"

#include "base/mtime.h"
#include "config/value/quantity.h"
#include "config/value/words.h"

#include <grp.h>
#include <linux/capability.h>
#include <pwd.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---------- users and groups ---------- */

enum { GROUPS_AT_FIRST = 32 };

/* (uid_t)-1 means "unchanged" in the system calls that take ids. */
static bool read_id(const char *name, id_t *ret)
{
	int64_t number;
	if (!quantity_read_integer(text_from(name), &number) || number >= UINT32_MAX)
		return false;
	*ret = (id_t)number;
	return true;
}

bool rights_find_group(const char *name, gid_t *ret)
{
	if (read_id(name, ret))
		return true;
	const struct group *entry = getgrnam(name);
	if (entry)
		*ret = entry->gr_gid;
	return entry != NULL;
}

/* All groups of the user, and gid. */
static enum rc set_groups_of(struct rights *rights, const char *user)
{
	int count = GROUPS_AT_FIRST, capacity, found;
	do {
		capacity = count;
		gid_t *groups = realloc(rights->groups, (size_t)capacity * sizeof *groups);
		if (!groups)
			return RC_MEMORY;
		rights->groups = groups;
		found = getgrouplist(user, rights->gid, rights->groups, &count);
	} while (found < 0 && count > capacity);
	if (found < 0) /* getgrouplist ran out of memory and filled none of them */
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

/* What login(1) sets. Nothing is known of a user without an entry, and our own values would be
 * wrong. */
static enum rc set_variables(struct rights *rights, const struct passwd *entry)
{
	enum rc rc = words_append_pair(&rights->variables, "HOME", entry ? entry->pw_dir : "/");
	if (rc == RC_OK && entry)
		rc = words_append_pair(&rights->variables, "USER", entry->pw_name);
	if (rc == RC_OK && entry)
		rc = words_append_pair(&rights->variables, "LOGNAME", entry->pw_name);
	return rc;
}

static enum rc set_user(struct rights *rights, const char *user, bool has_group, const char **why)
{
	bool is_number = read_id(user, &rights->uid);
	const struct passwd *entry = is_number ? getpwuid(rights->uid) : getpwnam(user);
	if (!entry && !is_number) {
		*why = ", and this machine has no such user; a user's name or number is needed";
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
	rights->has_user = true;
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
	if (group && !rights_find_group(group, &rights->gid)) {
		*ret_is_group = true;
		*ret_why =
			", which this machine has no group of; a group's name or number is needed";
		return RC_NOT_FOUND;
	}
	enum rc rc = user ? set_user(rights, user, group != NULL, ret_why) : set_one_group(rights);
	/* No right is needed where wpool already runs as that user. */
	rights->is_other = rc == RC_OK &&
			   (rights->uid != geteuid() || rights->gid != getegid() || geteuid() == 0);
	return rc;
}

void rights_release(struct rights *rights)
{
	free(rights->groups);
	words_free(rights->variables);
	*rights = (struct rights){0};
}

bool rights_read_mask(struct text t, mode_t *ret)
{
	mode_t mask = 0;
	if (t.len == 4 && t.ptr[0] == '0')
		t = text_of(t.ptr + 1, 3);
	if (t.len != 3)
		return false;
	for (size_t i = 0; i < t.len; i++) {
		if (t.ptr[i] < '0' || t.ptr[i] > '7')
			return false;
		mask = mask << 3 | (mode_t)(t.ptr[i] - '0');
	}
	*ret = mask;
	return true;
}

/* ---------- limits ---------- */

#define RIGHTS_LIMITS(X)                                                                           \
	X("as", RLIMIT_AS, UNIT_BYTES)                                                             \
	X("core", RLIMIT_CORE, UNIT_BYTES)                                                         \
	X("cpu", RLIMIT_CPU, UNIT_SECONDS)                                                         \
	X("data", RLIMIT_DATA, UNIT_BYTES)                                                         \
	X("fsize", RLIMIT_FSIZE, UNIT_BYTES)                                                       \
	X("locks", RLIMIT_LOCKS, UNIT_NONE)                                                        \
	X("memlock", RLIMIT_MEMLOCK, UNIT_BYTES)                                                   \
	X("msgqueue", RLIMIT_MSGQUEUE, UNIT_BYTES)                                                 \
	X("nice", RLIMIT_NICE, UNIT_NONE)                                                          \
	X("nofile", RLIMIT_NOFILE, UNIT_NONE)                                                      \
	X("nproc", RLIMIT_NPROC, UNIT_NONE)                                                        \
	X("rss", RLIMIT_RSS, UNIT_BYTES)                                                           \
	X("rtprio", RLIMIT_RTPRIO, UNIT_NONE)                                                      \
	X("rttime", RLIMIT_RTTIME, UNIT_MICROSECONDS)                                              \
	X("sigpending", RLIMIT_SIGPENDING, UNIT_NONE)                                              \
	X("stack", RLIMIT_STACK, UNIT_BYTES)

enum unit { UNIT_NONE, UNIT_BYTES, UNIT_SECONDS, UNIT_MICROSECONDS };

const char *const rights_limit_names[] = {
#define X(name, resource, unit) name,
	RIGHTS_LIMITS(X)
#undef X
		NULL};

static const struct {
	int resource;
	enum unit unit;
} kinds[] = {
#define X(name, resource, unit) {resource, unit},
	RIGHTS_LIMITS(X)
#undef X
};

_Static_assert(sizeof kinds / sizeof *kinds == RLIM_NLIMITS, "each limit once");

const char *rights_limit_name(int resource)
{
	size_t i = 0;
	while (kinds[i].resource != resource)
		i++;
	return rights_limit_names[i];
}

/* A number without a unit is in the unit of setrlimit(2). */
static bool read_value(struct text t, enum unit unit, rlim_t *ret)
{
	int64_t number;
	if (text_is(t, TEXT("unlimited")) || text_is(t, TEXT("infinity"))) {
		*ret = RLIM_INFINITY;
		return true;
	}
	bool good = quantity_read_integer(t, &number);
	if (!good && unit == UNIT_BYTES)
		good = quantity_read_size(t, &number);
	else if (!good && unit != UNIT_NONE && quantity_read_duration(t, &number)) {
		int64_t each = unit == UNIT_SECONDS ? MTIME_SECOND : 1;
		good = number % each == 0;
		number /= each;
	}
	if (good)
		*ret = (rlim_t)number;
	return good;
}

enum rc rights_read_limit(struct text name, struct text value, struct rights_limit *ret)
{
	struct rights_limit limit = {.resource = -1};
	size_t i = text_index(name, rights_limit_names);
	if (!rights_limit_names[i])
		return RC_NOT_FOUND;
	const char *colon = value.len ? memchr(value.ptr, ':', value.len) : NULL;
	size_t len = colon ? (size_t)(colon - value.ptr) : value.len;
	struct text hard = colon ? text_of(colon + 1, value.len - len - 1) : value;
	limit.resource = kinds[i].resource;
	if (!read_value(text_of(value.ptr, len), kinds[i].unit, &limit.value.rlim_cur) ||
		!read_value(hard, kinds[i].unit, &limit.value.rlim_max) ||
		limit.value.rlim_cur > limit.value.rlim_max)
		return RC_MALFORMED;
	*ret = limit;
	return RC_OK;
}

/* ---------- what this process may give away ---------- */

struct capability {
	const char *name;
	unsigned number;
};

/* Needed to start workers as another user, to give them their pipes, and to kill them. */
static const struct capability to_change_ids[] = {
	{"CAP_CHOWN", CAP_CHOWN},
	{"CAP_KILL", CAP_KILL},
	{"CAP_SETGID", CAP_SETGID},
	{"CAP_SETUID", CAP_SETUID},
};

/* As bits; 0 if the kernel does not say. */
static uint64_t effective_capabilities(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {0};
	if (syscall(SYS_capget, &header, data) < 0)
		return 0;
	return (uint64_t)data[1].effective << 32 | data[0].effective;
}

static bool has_capability(uint64_t have, unsigned number)
{
	return have & UINT64_C(1) << number;
}

bool rights_may_change_user(void)
{
	return has_capability(effective_capabilities(), CAP_SETUID);
}

static bool append_ids_lack(const struct rights *rights, uint64_t have, struct buf *out)
{
	size_t lacking = 0;
	for (size_t i = 0; i < sizeof to_change_ids / sizeof *to_change_ids; i++) {
		if (has_capability(have, to_change_ids[i].number))
			continue;
		if (lacking++ == 0)
			buf_printf(out, "%s needs rights that wpool (user %d) lacks here: ",
				rights->has_user ? "user" : "group", (int)geteuid());
		else
			buf_append_text(out, TEXT(", "));
		buf_append_text(out, text_from(to_change_ids[i].name));
	}
	if (lacking > 0)
		buf_append_text(out, TEXT("; root has them"));
	return lacking > 0;
}

static bool append_limit_lack(const struct rights_limit *limit, struct buf *out)
{
	struct rlimit ours;
	if (getrlimit((__rlimit_resource_t)limit->resource, &ours) < 0 ||
		limit->value.rlim_max <= ours.rlim_max)
		return false;
	buf_printf(out, "rlimits has more of %s than wpool itself may have here, %llu; root may",
		rights_limit_name(limit->resource), (unsigned long long)ours.rlim_max);
	return true;
}

/* getrlimit(2): the nice value may be lowered to 20 - RLIMIT_NICE. */
static bool is_too_eager(const struct rights *rights)
{
	struct rlimit max;
	if (rights->nice >= 0)
		return false;
	if (getrlimit(RLIMIT_NICE, &max) < 0 || max.rlim_cur == RLIM_INFINITY)
		return false;
	return getpriority(PRIO_PROCESS, 0) + rights->nice < 20 - (int)max.rlim_cur;
}

bool rights_append_missing(const struct rights *rights, struct buf *out)
{
	uint64_t have = effective_capabilities();
	if (rights->is_other && append_ids_lack(rights, have, out))
		return true;
	if (!has_capability(have, CAP_SYS_NICE) && is_too_eager(rights)) {
		buf_append_text(
			out, TEXT("nice below 0 needs CAP_SYS_NICE, which wpool lacks here; "
				  "root has it"));
		return true;
	}
	for (size_t i = 0; i < rights->limit_count; i++)
		if (!has_capability(have, CAP_SYS_RESOURCE) &&
			append_limit_lack(&rights->limits[i], out))
			return true;
	return false;
}

bool rights_append_unseen_strays(const struct rights *rights, struct buf *out)
{
	/* Which worker a stray is of stands in its environment, which the kernel shows only to the
	 * same user or with this capability. */
	bool sees = has_capability(effective_capabilities(), CAP_SYS_PTRACE);
	if (sees || !rights->is_other || rights->uid == geteuid())
		return false;
	buf_append_text(out, TEXT("user: a daemon that a worker leaves behind ends only when all "
				  "workers of its time have ended, because wpool lacks "
				  "CAP_SYS_PTRACE here"));
	return true;
}
