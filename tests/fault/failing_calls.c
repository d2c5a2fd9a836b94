/* clang-format off */
/* A preloaded library that makes the n-th call of one function fail, as if the machine were full.
 *   WPOOL_FAIL_PROGRAM  in this program only; not in its forked children
 *   WPOOL_FAIL_CALL     the function: a name of the list below
 *   WPOOL_FAIL_NTH      which call fails, from 1
 *   WPOOL_FAIL_ERRNO    with this error number
 *   WPOOL_FAIL_COUNT    at the end, the number of calls is written to this file
 * Of the calls that the C library makes itself, only those for memory are seen. */
/* clang-format on */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CALLS(X)                                                                                   \
	X(memory) /* malloc, calloc, realloc */                                                    \
	X(open)                                                                                    \
	X(socket)                                                                                  \
	X(accept4)                                                                                 \
	X(pipe2)                                                                                   \
	X(eventfd)                                                                                 \
	X(epoll_create1)                                                                           \
	X(epoll_ctl)                                                                               \
	X(fork)                                                                                    \
	X(bind)                                                                                    \
	X(listen)                                                                                  \
	X(connect)                                                                                 \
	X(setsockopt)                                                                              \
	X(send)                                                                                    \
	X(recv)                                                                                    \
	X(read)                                                                                    \
	X(write_file) /* write: to a file, as on a full disk, or to a pipe */                      \
	X(write_pipe)                                                                              \
	X(mkdtemp)

enum call {
#define X(name) CALL_##name,
	CALLS(X)
#undef X
		CALL_NONE
};

static const char *const names[] = {
#define X(name) #name,
	CALLS(X)
#undef X
};

static enum call chosen = CALL_NONE;
static pid_t subject;
static long nth;
static int error;
static atomic_long count;
static const char *count_path;

/* The C library's own functions, which a preloaded library does not replace. */
void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);

static const char *value_of(const char *name)
{
	const char *value = getenv(name);
	return value ? value : "";
}

static enum call call_of(const char *name)
{
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (strcmp(names[i], name) == 0)
			return (enum call)i;
	return CALL_NONE;
}

__attribute__((constructor)) static void choose(void)
{
	if (strcmp(program_invocation_short_name, value_of("WPOOL_FAIL_PROGRAM")) != 0)
		return;
	subject = getpid();
	nth = atol(value_of("WPOOL_FAIL_NTH"));
	error = atoi(value_of("WPOOL_FAIL_ERRNO"));
	count_path = getenv("WPOOL_FAIL_COUNT");
	chosen = call_of(value_of("WPOOL_FAIL_CALL"));
	if (chosen == CALL_NONE) {
		fprintf(stderr, "failing_calls: WPOOL_FAIL_CALL names no call\n");
		_exit(120);
	}
}

__attribute__((destructor)) static void write_count(void)
{
	if (chosen == CALL_NONE || !count_path || (pid_t)syscall(SYS_getpid) != subject)
		return;
	chosen = CALL_NONE;
	FILE *file = fopen(count_path, "w");
	if (!file)
		return;
	fprintf(file, "%ld\n", atomic_load(&count));
	fclose(file);
}

/* Count this call, and return whether it must fail. */
static bool must_fail(enum call call)
{
	if (call != chosen || (pid_t)syscall(SYS_getpid) != subject ||
		atomic_fetch_add(&count, 1) + 1 != nth)
		return false;
	errno = error;
	return true;
}

void *malloc(size_t size)
{
	return must_fail(CALL_memory) ? NULL : __libc_malloc(size);
}

void *calloc(size_t members, size_t size)
{
	return must_fail(CALL_memory) ? NULL : __libc_calloc(members, size);
}

void *realloc(void *memory, size_t size)
{
	return must_fail(CALL_memory) ? NULL : __libc_realloc(memory, size);
}

int open(const char *path, int flags, ...)
{
	va_list arguments;
	va_start(arguments, flags);
	int mode = flags & (O_CREAT | __O_TMPFILE) ? va_arg(arguments, int) : 0;
	va_end(arguments);
	return must_fail(CALL_open) ? -1 : (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

int socket(int domain, int type, int protocol)
{
	return must_fail(CALL_socket) ? -1 : (int)syscall(SYS_socket, domain, type, protocol);
}

int accept4(int fd, struct sockaddr *restrict address, socklen_t *restrict length, int flags)
{
	return must_fail(CALL_accept4) ? -1 : (int)syscall(SYS_accept4, fd, address, length, flags);
}

int pipe2(int ends[2], int flags)
{
	return must_fail(CALL_pipe2) ? -1 : (int)syscall(SYS_pipe2, ends, flags);
}

int eventfd(unsigned int first, int flags)
{
	return must_fail(CALL_eventfd) ? -1 : (int)syscall(SYS_eventfd2, first, flags);
}

int epoll_create1(int flags)
{
	return must_fail(CALL_epoll_create1) ? -1 : (int)syscall(SYS_epoll_create1, flags);
}

int epoll_ctl(int epoll, int operation, int fd, struct epoll_event *event)
{
	return must_fail(CALL_epoll_ctl) ? -1
					 : (int)syscall(SYS_epoll_ctl, epoll, operation, fd, event);
}

pid_t fork(void)
{
	pid_t (*real)(void) = (pid_t(*)(void))dlsym(RTLD_NEXT, "fork");
	return must_fail(CALL_fork) ? -1 : real();
}

/* The C library has no function for a fork into a control group. */
long syscall(long number, ...)
{
	static long (*real)(long, ...);
	long arguments[6];
	va_list list;
	va_start(list, number);
	for (int i = 0; i < 6; i++)
		arguments[i] = va_arg(list, long);
	va_end(list);
	if (!real)
		real = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
	if (number == SYS_clone3 && must_fail(CALL_fork))
		return -1;
	return real(number, arguments[0], arguments[1], arguments[2], arguments[3], arguments[4],
		arguments[5]);
}

int bind(int fd, const struct sockaddr *address, socklen_t length)
{
	return must_fail(CALL_bind) ? -1 : (int)syscall(SYS_bind, fd, address, length);
}

int listen(int fd, int backlog)
{
	return must_fail(CALL_listen) ? -1 : (int)syscall(SYS_listen, fd, backlog);
}

int connect(int fd, const struct sockaddr *address, socklen_t length)
{
	return must_fail(CALL_connect) ? -1 : (int)syscall(SYS_connect, fd, address, length);
}

int setsockopt(int fd, int level, int name, const void *value, socklen_t length)
{
	return must_fail(CALL_setsockopt)
		       ? -1
		       : (int)syscall(SYS_setsockopt, fd, level, name, value, length);
}

ssize_t send(int fd, const void *bytes, size_t length, int flags)
{
	return must_fail(CALL_send) ? -1 : syscall(SYS_sendto, fd, bytes, length, flags, NULL, 0);
}

ssize_t recv(int fd, void *bytes, size_t length, int flags)
{
	return must_fail(CALL_recv) ? -1
				    : syscall(SYS_recvfrom, fd, bytes, length, flags, NULL, NULL);
}

ssize_t read(int fd, void *bytes, size_t length)
{
	return must_fail(CALL_read) ? -1 : syscall(SYS_read, fd, bytes, length);
}

/* libev's eventfd is neither a file nor a pipe: a write to it never fails. */
static bool must_fail_write(int fd)
{
	struct stat facts;
	if ((chosen != CALL_write_file && chosen != CALL_write_pipe) || fstat(fd, &facts) != 0)
		return false;
	return (S_ISREG(facts.st_mode) && must_fail(CALL_write_file)) ||
	       (S_ISFIFO(facts.st_mode) && must_fail(CALL_write_pipe));
}

ssize_t write(int fd, const void *bytes, size_t length)
{
	return must_fail_write(fd) ? -1 : syscall(SYS_write, fd, bytes, length);
}

char *mkdtemp(char *template)
{
	char *(*real)(char *) = (char *(*)(char *))dlsym(RTLD_NEXT, "mkdtemp");
	return must_fail(CALL_mkdtemp) ? NULL : real(template);
}
