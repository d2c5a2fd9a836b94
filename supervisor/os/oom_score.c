#include "os/oom_score.h"

#include "base/log.h"
#include "os/proc_stat.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SCORE_MAX 1000

static int own_score(void)
{
	char text[16];

	(void)proc_stat_text(getpid(), "oom_score_adj", text, sizeof text);
	return atoi(text);
}

/* The open file holds the process. If the number is a child of ours after that, it is this one:
 * only we reap them. */
void oom_score_raise(pid_t child)
{
	char path[40], text[16];
	struct proc_stat stat;
	int score = own_score() + OOM_SCORE_ABOVE;
	int len = snprintf(text, sizeof text, "%d", score < SCORE_MAX ? score : SCORE_MAX);

	snprintf(path, sizeof path, "/proc/%d/oom_score_adj", (int)child);
	int file = open(path, O_WRONLY | O_CLOEXEC);
	bool is_written = file >= 0 && proc_stat_read(child, &stat) && stat.parent == getpid() &&
			  write(file, text, (size_t)len) == len;
	if (!is_written)
		log_debug("the OOM score of process %d cannot be set: %s", (int)child,
			strerror(errno));
	if (file >= 0)
		close(file);
}
