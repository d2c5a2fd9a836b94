/* What this very process may give away. */
#include "config/rights.h"

#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

struct capability {
	const char *name;
	unsigned number;
};

/* To start workers as somebody else, to give them their pipes, and to end them. */
static const struct capability to_change_ids[] = {
	{"CAP_CHOWN", CAP_CHOWN},
	{"CAP_KILL", CAP_KILL},
	{"CAP_SETGID", CAP_SETGID},
	{"CAP_SETUID", CAP_SETUID},
};

/* As bits; none where the kernel does not tell. */
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

static bool append_ids_lack(const struct rights *rights, uint64_t have, struct buf *out)
{
	size_t lacking = 0;
	for (size_t i = 0; i < sizeof to_change_ids / sizeof *to_change_ids; i++) {
		if (has_capability(have, to_change_ids[i].number))
			continue;
		if (lacking++ == 0)
			buf_printf(out, "%s needs rights that wpool (user %d) lacks here: ",
				rights->is_confined ? "user" : "group", (int)geteuid());
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

/* getrlimit(2): nice may be lowered to 20 less that limit. */
static bool is_too_eager(const struct rights *rights)
{
	struct rlimit most;
	if (rights->nice >= 0)
		return false;
	if (getrlimit(RLIMIT_NICE, &most) < 0 || most.rlim_cur == RLIM_INFINITY)
		return false;
	return getpriority(PRIO_PROCESS, 0) + rights->nice < 20 - (int)most.rlim_cur;
}

bool rights_append_lack(const struct rights *rights, struct buf *out)
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

bool rights_append_blindness(const struct rights *rights, struct buf *out)
{
	/* By their environment, which the kernel shows to the same user or with this right. */
	bool sees = has_capability(effective_capabilities(), CAP_SYS_PTRACE);
	if (sees || !rights->is_other || rights->uid == geteuid())
		return false;
	buf_append_text(out, TEXT("user: daemons that its workers leave behind are not found, "
				  "because wpool lacks CAP_SYS_PTRACE here"));
	return true;
}
