#include "process/program.h"

#include "os/descriptors.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATH_DEFAULT "/usr/local/bin:/usr/bin:/bin"
#define FIRST_LINE   256 /* of a script: what the kernel looks at (BINPRM_BUF_SIZE) */

/* Return 0, ENOENT, or EACCES: it is not a file, or we may not run it. */
static int check(const char *path)
{
	struct stat status;
	if (stat(path, &status) < 0)
		return ENOENT;
	return S_ISREG(status.st_mode) && access(path, X_OK) == 0 ? 0 : EACCES;
}

/* The value of PATH that the child would see. */
static const char *path_of(char *const *environment)
{
	for (; *environment; environment++)
		if (strncmp(*environment, "PATH=", 5) == 0)
			return *environment + 5;
	return PATH_DEFAULT;
}

/* Search like execvp. errno is EACCES if only programs that cannot be run were found. */
static bool find_in(const char *path, const char *name, char ret[PATH_MAX])
{
	int error = ENOENT;
	while (true) {
		int len = (int)strcspn(path, ":");
		int n = snprintf(ret, PATH_MAX, "%.*s%s%s", len, path, len ? "/" : "", name);
		int problem = n > 0 && n < PATH_MAX ? check(ret) : ENOENT;
		if (problem == 0)
			return true;
		if (problem == EACCES)
			error = EACCES;
		if (path[len] == '\0')
			break;
		path += len + 1;
	}
	errno = error;
	return false;
}

bool program_find(const char *name, char *const *environment, char ret[PATH_MAX])
{
	size_t len = strlen(name);
	if (len == 0 || len >= PATH_MAX) {
		errno = len ? ENAMETOOLONG : ENOENT;
		return false;
	}
	if (!strchr(name, '/'))
		return find_in(path_of(environment), name, ret);
	memcpy(ret, name, len + 1);
	return true; /* a problem with it is an error of the exec */
}

/* Return 0 also if it is not a script, or we may not read it. */
static int check_interpreter(const char *path)
{
	char line[FIRST_LINE] = "";
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	ssize_t n = read(fd, line, sizeof line - 1);
	descriptor_close(&fd);
	if (n < 2 || strncmp(line, "#!", 2) != 0)
		return 0;
	char *name = line + 2 + strspn(line + 2, " \t");
	name[strcspn(name, " \t\n")] = '\0';
	return *name ? check(name) : 0;
}

bool program_has_problem(const char *name, char *const *environment, struct exit_info *ret_failure)
{
	char path[PATH_MAX];
	const char *stage = "exec";
	int error = program_find(name, environment, path) ? check(path) : errno;
	if (error == 0) {
		stage = "interpreter";
		error = check_interpreter(path);
	}
	if (error)
		*ret_failure = (struct exit_info){EXIT_NOT_STARTED, error, stage};
	return error != 0;
}
