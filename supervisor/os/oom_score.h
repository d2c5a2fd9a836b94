/* How readily the kernel kills a process when memory is short (proc(5), oom_score_adj). Layer: os.
 */
#ifndef OS_OOM_SCORE_H
#define OS_OOM_SCORE_H

#include <sys/types.h>

/* How much higher than ours a child's is: a fifth of the machine's memory. */
#define OOM_SCORE_ABOVE 200

/* Set the score of a child of ours above our own. After its exec: before it, its files in /proc are
 * root's if it is not dumpable. Where it is refused, the score stays. */
void oom_score_raise(pid_t child);

#endif
