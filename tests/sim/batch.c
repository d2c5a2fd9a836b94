#include "sim/batch.h"

#include "sim/fail.h"
#include "sim/world.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define JOBS_MAX    64
#define PORTION     16 /* seeds that a process takes at once */
#define TRACE_LINES 60

struct job {
	pid_t pid;
	int words; /* what it says on stderr */
	uint64_t seed;
	struct cover cover;
};

/* In memory that the processes share. */
struct board {
	_Atomic uint64_t next;
	atomic_bool stop;
	struct job jobs[JOBS_MAX];
};

static struct board *board_new(uint64_t first)
{
	struct board *board = mmap(
		NULL, sizeof *board, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	sim_require(board != MAP_FAILED, "no shared memory");
	board->next = first;
	return board;
}

static void board_free(struct board *board)
{
	munmap(board, sizeof *board);
}

/* ---------- in a process of its own ---------- */

static void work(struct board *board, struct job *job, const struct batch *batch)
{
	uint64_t end = batch->first + batch->count * batch->step;
	uint64_t seed;

	cover_here = &job->cover;
	while (!board->stop && (seed = atomic_fetch_add(&board->next, PORTION * batch->step)) < end)
		for (uint64_t i = 0; i < PORTION * batch->step && seed + i < end && !board->stop;
			i += batch->step) {
			job->seed = seed + i;
			world_run(job->seed, &batch->settings);
		}
}

static void start(struct board *board, struct job *job, const struct batch *batch)
{
	int ends[2];
	pid_t pid;

	fflush(stdout);
	sim_require(pipe(ends) == 0, "no pipe for a process");
	pid = fork();
	sim_require(pid >= 0, "no process for the seeds");
	if (pid == 0) {
		dup2(ends[1], STDERR_FILENO);
		close(ends[0]);
		close(ends[1]);
		work(board, job, batch);
		exit(0); /* not _exit: the counts of make cover are written */
	}
	close(ends[1]);
	job->pid = pid;
	job->words = ends[0];
}

/* ---------- in the one that started it ---------- */

/* Keep what fits; read and drop the rest, so that the writer does not block. */
static void read_words(int from, char *words, size_t size)
{
	char rest[512];
	size_t len = 0;
	ssize_t got;

	while ((got = read(from, rest, sizeof rest)) > 0) {
		size_t take = (size_t)got < size - 1 - len ? (size_t)got : size - 1 - len;

		memcpy(words + len, rest, take);
		len += take;
	}
	while (len > 0 && words[len - 1] == '\n')
		len--;
	words[len] = 0;
	close(from);
}

/* True: all its seeds passed. */
static bool end(struct board *board, struct job *job, char *words, size_t size)
{
	int status = 0;

	read_words(job->words, words, size);
	sim_require(waitpid(job->pid, &status, 0) == job->pid, "a process of the seeds is gone");
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return true;
	board->stop = true;
	if (!words[0] && WIFSIGNALED(status))
		snprintf(words, size, "ended by signal %d", WTERMSIG(status));
	return false;
}

bool batch_run(const struct batch *batch, struct cover *ret_cover, struct failure *ret_failure)
{
	struct board *board = board_new(batch->first);
	unsigned jobs = batch->jobs < JOBS_MAX ? batch->jobs : JOBS_MAX;
	bool passed = true;
	char words[sizeof ret_failure->words];

	for (unsigned i = 0; i < jobs; i++)
		start(board, &board->jobs[i], batch);
	for (unsigned i = 0; i < jobs; i++) {
		struct job *job = &board->jobs[i];
		bool failed = !end(board, job, words, sizeof words);

		cover_add(ret_cover, &job->cover);
		if (failed && (passed || job->seed < ret_failure->seed)) {
			*ret_failure = (struct failure){job->seed, batch->settings, ""};
			memcpy(ret_failure->words, words, sizeof words);
		}
		passed = passed && !failed;
	}
	board_free(board);
	return passed;
}

bool batch_try(uint64_t first, uint64_t count, const struct settings *settings, struct failure *ret)
{
	static struct cover forgotten;
	struct batch batch = {first, count, 1, *settings, 1};

	return batch_run(&batch, &forgotten, ret);
}

void batch_print_trace(const struct failure *failure)
{
	static char lines[TRACE_LINES][256];
	unsigned count = 0;
	FILE *trace = tmpfile();
	pid_t pid;

	sim_require(trace, "no temporary file for the trace");
	fflush(stdout);
	pid = fork();
	sim_require(pid >= 0, "no process for the trace");
	if (pid == 0) {
		dup2(fileno(trace), STDOUT_FILENO);
		dup2(fileno(trace), STDERR_FILENO);
		sim_is_traced = true;
		world_run(failure->seed, &failure->settings);
		_exit(0);
	}
	sim_require(waitpid(pid, NULL, 0) == pid, "the process of the trace is gone");
	rewind(trace);
	while (fgets(lines[count % TRACE_LINES], sizeof *lines, trace))
		count++;
	for (unsigned i = count > TRACE_LINES ? count - TRACE_LINES : 0; i < count; i++)
		fputs(lines[i % TRACE_LINES], stdout);
	fclose(trace);
}
