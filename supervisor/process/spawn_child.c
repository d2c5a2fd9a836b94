#include "process/spawn_child.h"

#include "os/descriptors.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/keyctl.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define EXIT_BEFORE_EXEC 127 /* not read: the report says more */

static bool step_cgroup(const struct spawn_plan *plan)
{
	errno = plan->cgroup_error;
	return plan->cgroup_error == 0;
}

static bool step_session(const struct spawn_plan *plan)
{
	(void)plan;
	return setsid() >= 0;
}

/* With the system call itself: sigaction() refuses the two signals that libc reserves, and a
 * program started by posix_spawn(), such as a command of make, has them ignored. The call fails
 * for SIGKILL and SIGSTOP, which are at their default anyway. */
static bool step_signals(const struct spawn_plan *plan)
{
	(void)plan;
	static const unsigned long by_default[8] = {0}; /* SIG_DFL, no flags, no mask */
	for (int number = 1; number < NSIG; number++)
		syscall(SYS_rt_sigaction, number, by_default, NULL, NSIG / 8);
	sigset_t none;
	sigemptyset(&none);
	return sigprocmask(SIG_SETMASK, &none, NULL) == 0;
}

/* The child itself does it, before it can have children, which only the guard would find. */
static bool step_group(const struct spawn_plan *plan)
{
	if (plan->group)
		atomic_store(plan->group, getpid());
	return true;
}

static bool step_limits(const struct spawn_plan *plan)
{
	if (plan->descriptors && setrlimit(RLIMIT_NOFILE, plan->descriptors) < 0)
		return false;
	for (size_t i = 0; plan->rights && i < plan->rights->limit_count; i++) {
		const struct rights_limit *limit = &plan->rights->limits[i];
		if (setrlimit((__rlimit_resource_t)limit->resource, &limit->value) < 0)
			return false;
	}
	return true;
}

/* Where the kernel schedules by session (sched(7), autogroup), the priority of a session's only
 * process has no effect, so that of the session is set. */
static void set_session_priority(int priority)
{
	char digits[4];
	size_t len = 0;
	int size = priority < 0 ? -priority : priority;
	if (priority < 0)
		digits[len++] = '-';
	if (size >= 10)
		digits[len++] = (char)('0' + size / 10);
	digits[len++] = (char)('0' + size % 10);
	int fd = open("/proc/self/autogroup", O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	ssize_t written = write(fd, digits, len);
	(void)written; /* refused: no autogroup, or not now */
	close(fd);
}

static bool step_priority(const struct spawn_plan *plan)
{
	if (!plan->rights || plan->rights->nice == 0)
		return true;
	errno = 0;
	int priority = nice(plan->rights->nice);
	if (priority == -1 && errno != 0)
		return false;
	set_session_priority(priority);
	return true;
}

/* ---------- user and groups ---------- */

/* With the system calls: libc's functions would signal all threads, and wait for those that were
 * not forked. */
#ifdef SYS_setresuid32 /* where the original calls had 16 bits */
#define CALL_SETGROUPS SYS_setgroups32
#define CALL_SETRESGID SYS_setresgid32
#define CALL_SETRESUID SYS_setresuid32
#else
#define CALL_SETGROUPS SYS_setgroups
#define CALL_SETRESGID SYS_setresgid
#define CALL_SETRESUID SYS_setresuid
#endif

/* NULL: unchanged. */
static const struct rights *other_of(const struct spawn_plan *plan)
{
	return plan->rights && plan->rights->is_other ? plan->rights : NULL;
}

static bool step_pipes(const struct spawn_plan *plan)
{
	const struct rights *other = other_of(plan);
	for (int i = 0; other && i <= 2; i++)
		if (fchown(plan->streams[i], other->uid, other->gid) < 0)
			return false;
	return true;
}

/* Keys of our session, such as those of a file system, are not for another user. A sandbox may
 * refuse the call, and a kernel may lack it: then there are no keys. */
static bool step_keyring(const struct spawn_plan *plan)
{
	if (!other_of(plan) || syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL) >= 0)
		return true;
	return errno == ENOSYS || errno == EPERM || errno == EACCES;
}

/* Without CAP_SETPCAP it is refused; then no_new_privs alone keeps programs from gaining any. */
static bool step_bounds(const struct spawn_plan *plan)
{
	const struct rights *other = other_of(plan);
	if (!other || other->uid == 0 || !other->is_confined)
		return true;
	for (unsigned long capability = 0; prctl(PR_CAPBSET_READ, capability, 0, 0, 0) >= 0;
		capability++)
		if (prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) < 0)
			return errno == EPERM;
	return true;
}

static bool step_gid(const struct spawn_plan *plan)
{
	const struct rights *other = other_of(plan);
	if (!other)
		return true;
	return syscall(CALL_SETGROUPS, other->group_count, other->groups) == 0 &&
	       syscall(CALL_SETRESGID, other->gid, other->gid, other->gid) == 0;
}

/* setresuid() leaves these if we are not root, and some would pass the exec. */
static bool drop_capabilities(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	const struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {0};
	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); /* none in this kernel */
	return syscall(SYS_capset, &header, none) == 0;
}

static bool step_uid(const struct spawn_plan *plan)
{
	const struct rights *other = other_of(plan);
	if (other && syscall(CALL_SETRESUID, other->uid, other->uid, other->uid) < 0)
		return false;
	if (other && other->uid != 0 && !drop_capabilities())
		return false;
	if (!plan->rights || !plan->rights->is_confined)
		return true;
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0;
}

/* ---------- surroundings of the program ---------- */

static bool step_mask(const struct spawn_plan *plan)
{
	if (plan->rights && plan->rights->has_mask)
		umask(plan->rights->mask);
	return true;
}

static bool step_folder(const struct spawn_plan *plan)
{
	return !plan->folder || chdir(plan->folder) == 0;
}

/* Otherwise a worker that cannot open its pipe would fail only after the boot limit. */
static bool step_reach(const struct spawn_plan *plan)
{
	return !plan->reach || access(plan->reach, R_OK | W_OK) == 0;
}

/* The child gets SIGKILL when the supervisor dies. The guard sends it, too, unless it is killed
 * with the supervisor. */
static bool step_parent(const struct spawn_plan *plan)
{
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
		return false;
	if (getppid() != plan->parent) /* the parent is already dead: no signal will come */
		_exit(EXIT_BEFORE_EXEC);
	return true;
}

static bool step_streams(const struct spawn_plan *plan)
{
	for (int fd = 0; fd <= 2; fd++)
		if (dup2(plan->streams[fd], fd) < 0)
			return false;
	return true;
}

static bool step_descriptors(const struct spawn_plan *plan)
{
	(void)plan;
	descriptors_range(3, CLOSE_RANGE_CLOEXEC);
	return true;
}

/* True: it failed because of the interpreter. The kernel has the same error for a missing program
 * and for a missing interpreter. */
static bool step_exec(const struct spawn_plan *plan)
{
	execve(plan->program, plan->arguments, plan->environment);
	if (errno == ENOEXEC)
		execve(plan->by_shell[0], plan->by_shell, plan->environment);
	int error = errno;
	struct stat status;
	bool is_interpreter = (error == ENOENT || error == EACCES) &&
			      stat(plan->program, &status) == 0 && S_ISREG(status.st_mode) &&
			      access(plan->program, X_OK) == 0;
	errno = error;
	return is_interpreter;
}

static bool step_interpreter(const struct spawn_plan *plan)
{
	(void)plan;
	return false;
}

_Noreturn void spawn_child(const struct spawn_plan *plan)
{
	static bool (*const steps[])(const struct spawn_plan *) = {
#define X(step, text) step_##step,
		SPAWN_STEPS(X)
#undef X
	};
	for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
		if (steps[i](plan))
			continue;
		struct spawn_report report = {(int32_t)i, errno};
		ssize_t written = write(plan->start, &report, sizeof report);
		(void)written; /* there is no other way to report it */
		break;
	}
	_exit(EXIT_BEFORE_EXEC);
}
