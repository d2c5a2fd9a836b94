/* Who a pool's workers are and what they may have, in the numbers that the kernel takes. Layer:
 * config. Names were looked up when the configuration was read, so that nothing is left to be found
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

/* Zero: a worker is who wpool is, and has what wpool has. */
struct rights {
	bool is_confined; /* a user was given: nothing that a worker starts gains rights */
	bool is_other;    /* uid, gid and groups are not ours: the child takes them on */
	uid_t uid;
	gid_t gid;
	gid_t *groups; /* owned; gid is among them */
	size_t group_count;
	char **variables; /* owned; "HOME=..." and what else follows the user; or NULL */
	bool has_mask;
	mode_t mask; /* umask */
	int nice;    /* added to ours */
	struct rights_limit limits[RLIM_NLIMITS];
	size_t limit_count;
};

void rights_release(struct rights *);

/* Each of a name or a number; NULL: not given. Fills ids, groups and variables. RC_NOT_FOUND:
 * *ret_why says what is missing, static words that go on behind the value; *ret_is_group tells
 * whose value. RC_MEMORY. On failure what was filled is for rights_release. */
enum rc rights_set_ids(struct rights *, const char *user, const char *group, const char **ret_why,
	bool *ret_is_group) MUST_CHECK;

/* Three or four octal digits: "027", "0027". */
bool rights_read_mask(struct text, mode_t *ret) MUST_CHECK;
/* The names of limits, as prlimit(1) has them; NULL-terminated. */
extern const char *const rights_limit_names[];
/* Of one that rights_read_limit gave. */
const char *rights_limit_name(int resource);
/* "1024:4096" (soft:hard), or one value for both; unlimited; with a unit where bytes or a time are
 * meant. RC_NOT_FOUND: no limit of that name; RC_MALFORMED: no such value. */
enum rc rights_read_limit(struct text name, struct text value, struct rights_limit *ret) MUST_CHECK;

/* Appends why this very process cannot start workers with these rights, behind "pools[0].": which
 * setting, and what is lacking. False: it can. */
bool rights_append_lack(const struct rights *, struct buf *out);
/* The same of what it can, but without seeing what such workers leave behind when they end. */
bool rights_append_blindness(const struct rights *, struct buf *out);

#endif
