/* The identity and limits of a pool's workers, as the numbers that the kernel takes. Layer:
 * config. Names are looked up when the configuration is read, so that nothing needs looking up
 * between fork and exec. */
#ifndef CONFIG_RIGHTS_H
#define CONFIG_RIGHTS_H

#include "base/buf.h"

#include <sys/resource.h>
#include <sys/types.h>

struct rights_limit {
	int resource; /* RLIMIT_... */
	struct rlimit value;
};

/* Zeroed: a worker has wpool's own identity and limits. */
struct rights {
	bool is_confined; /* no_new_privs is set, and with is_other no capability can be had */
	bool has_user;    /* a user was given */
	bool is_other;    /* uid, gid and groups differ from ours: the child changes to them */
	uid_t uid;
	gid_t gid;
	gid_t *groups; /* owned; gid is among them */
	size_t group_count;
	char **variables; /* owned; "HOME=..." and others that depend on the user; or NULL */
	bool has_mask;
	mode_t mask; /* umask */
	int nice;    /* added to wpool's own */
	struct rights_limit limits[RLIM_NLIMITS];
	size_t limit_count;
};

void rights_release(struct rights *);

/* The number of a group, given by its name or as that number. False: there is no such group. */
bool rights_find_group(const char *name, gid_t *ret) MUST_CHECK;
/* Look up user and group, each a name, a number, or NULL if not given, and fill in ids, groups
 * and variables. RC_NOT_FOUND: *ret_why is a static text that follows the value in a message;
 * *ret_is_group: the value is the group's. RC_MEMORY. After a failure, too, rights_release is
 * needed. */
enum rc rights_set_ids(struct rights *, const char *user, const char *group, const char **ret_why,
	bool *ret_is_group) MUST_CHECK;

/* Read three or four octal digits: "027", "0027". */
bool rights_read_mask(struct text, mode_t *ret) MUST_CHECK;
/* The names of limits as in prlimit(1); NULL-terminated. */
extern const char *const rights_limit_names[];
/* The name of a limit that rights_read_limit returned. */
const char *rights_limit_name(int resource);
/* Read "1024:4096" (soft:hard), or one value for both; "unlimited"; with a unit for sizes and
 * times. RC_NOT_FOUND: unknown name. RC_MALFORMED: invalid value. */
enum rc rights_read_limit(struct text name, struct text value, struct rights_limit *ret) MUST_CHECK;

/* Whether this process can start workers as another user. */
bool rights_may_change_user(void);
/* If this process cannot start workers with these rights, append which setting fails and what is
 * missing, to follow "pools[0].", and return true. */
bool rights_append_missing(const struct rights *, struct buf *out);
/* The same if this process cannot read whose the stray processes of such workers are. */
bool rights_append_unseen_strays(const struct rights *, struct buf *out);

#endif
