/* `pipe: fifo`: P.in and P.out. The order of the opens is protocol.md's recipe. */
#include "io/worker_pipe.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

struct fifo_paths {
	char in[WORKER_PIPE_FILE_BYTES], out[WORKER_PIPE_FILE_BYTES]; /* as the worker sees it */
};

static struct fifo_paths paths_of(const struct worker_pipe *pipe)
{
	struct fifo_paths paths;
	snprintf(paths.in, sizeof paths.in, "%s.in", pipe->path);
	snprintf(paths.out, sizeof paths.out, "%s.out", pipe->path);
	return paths;
}

enum rc worker_fifo_open(struct worker_pipe *pipe)
{
	rundir_next(pipe->rundir, pipe->path);
	struct fifo_paths paths = paths_of(pipe);
	if (mkfifo(paths.in, 0600) < 0 || mkfifo(paths.out, 0600) < 0)
		return RC_SYSTEM;
	pipe->input = open(paths.out, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (pipe->input < 0 || worker_pipe_give(pipe, paths.in) != RC_OK)
		return RC_SYSTEM;
	return worker_pipe_give(pipe, paths.out);
}

enum rc worker_fifo_connect(struct worker_pipe *pipe)
{
	struct fifo_paths paths = paths_of(pipe);
	int fd = open(paths.in, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return errno == ENXIO ? RC_NOT_FOUND : RC_SYSTEM;
	pipe->output = fd;
	/* P.out stays until the first bytes come through it: the worker opens it only now. */
	unlink(paths.in);
	return RC_OK;
}

void worker_fifo_unlink(const struct worker_pipe *pipe)
{
	struct fifo_paths paths = paths_of(pipe);
	unlink(paths.in);
	unlink(paths.out);
}
