/* A worker of wpool's own user that tries to get at the broker's password: `spy COMMAND [ARG...]`
 * attacks the supervisor, the guard, and for comparison a child of its own; writes a line for each
 * attempt to stderr, "spy: supervisor environ: refused" or "... open"; and becomes COMMAND. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

static void tell(const char *who, const char *what, bool is_open)
{
	fprintf(stderr, "spy: %s %s: %s\n", who, what, is_open ? "open" : "refused");
}

/* Of mem it is enough that it opens: the pages' addresses are in maps. */
static bool can_read(pid_t pid, const char *name)
{
	char path[64], byte;
	snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
	int fd = open(path, O_RDONLY);
	bool is_open = fd >= 0 && (strcmp(name, "mem") == 0 || read(fd, &byte, 1) == 1);
	close(fd);
	return is_open;
}

static bool can_list(pid_t pid, const char *name)
{
	char path[64];
	snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
	DIR *dir = opendir(path);
	bool is_open = dir && readdir(dir);
	if (dir)
		closedir(dir);
	return is_open;
}

static bool can_trace(pid_t pid)
{
	if (ptrace(PTRACE_SEIZE, pid, NULL, NULL) < 0)
		return false;
	ptrace(PTRACE_INTERRUPT, pid, NULL, NULL);
	waitpid(pid, NULL, __WALL);
	ptrace(PTRACE_DETACH, pid, NULL, NULL);
	return true;
}

/* A page of this program is at the same address in its own child; elsewhere EFAULT shows that the
 * attempt was let in, too. */
static bool can_copy(pid_t pid)
{
	static char here, there;
	struct iovec local = {&here, 1}, remote = {&there, 1};
	return process_vm_readv(pid, &local, 1, &remote, 1, 0) == 1 || errno == EFAULT;
}

static bool can_take_descriptor(pid_t pid)
{
	int held = (int)syscall(SYS_pidfd_open, pid, 0);
	int taken = (int)syscall(SYS_pidfd_getfd, held, 0, 0);
	close(held);
	close(taken);
	return taken >= 0;
}

static void attack(const char *who, pid_t pid)
{
	static const char *const files[] = {"environ", "mem", "maps", "auxv"};
	static const char *const folders[] = {"fd", "map_files"};
	for (size_t i = 0; i < sizeof files / sizeof *files; i++)
		tell(who, files[i], can_read(pid, files[i]));
	for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
		tell(who, folders[i], can_list(pid, folders[i]));
	tell(who, "descriptor", can_take_descriptor(pid));
	tell(who, "copy", can_copy(pid));
	tell(who, "ptrace", can_trace(pid));
}

/* The child of the supervisor with this name; 0: there is none. */
static pid_t child_of(pid_t parent, const char *wanted)
{
	char path[64], name[32] = "";
	int pid, found = 0;
	snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)parent, (int)parent);
	FILE *children = fopen(path, "r");
	while (children && !found && fscanf(children, "%d", &pid) == 1) {
		snprintf(path, sizeof path, "/proc/%d/comm", pid);
		FILE *comm = fopen(path, "r");
		if (comm && fgets(name, sizeof name, comm) && strcmp(name, wanted) == 0)
			found = pid;
		if (comm)
			fclose(comm);
	}
	if (children)
		fclose(children);
	return found;
}

int main(int argc, char **argv)
{
	pid_t supervisor = getppid(), guard, own = fork();
	if (own == 0)
		for (;;)
			pause();
	attack("supervisor", supervisor);
	/* A guard that no processor has run yet has not named itself. */
	while ((guard = child_of(supervisor, "wpool-guard\n")) == 0)
		sched_yield();
	attack("guard", guard);
	attack("own child", own);
	kill(own, SIGKILL);
	waitpid(own, NULL, 0);
	fprintf(stderr, "spy: done\n");
	if (argc > 1)
		execv(argv[1], argv + 1);
	return EXIT_FAILURE;
}
