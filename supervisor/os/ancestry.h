/* Whether another process comes from this one: a worker, or anything that a worker has started.
 * Layer: os. Orphans count, because this process is the parent of every orphan below it (a
 * subreaper). */
#ifndef OS_ANCESTRY_H
#define OS_ANCESTRY_H

#include <stdbool.h>
#include <sys/types.h>

/* pid, uid: of a peer (SO_PEERCRED). starts_other_users: this process may have started one of any
 * user. True if the peer is this process or a descendant, or if it may be one and /proc does not
 * show that (hidepid, or it has ended): then if it has our user or, with starts_other_users, any
 * but root, and is not in a service or session of systemd other than ours. */
bool ancestry_may_be_ours(pid_t pid, uid_t uid, bool starts_other_users);

/* The same of the process that connected this Unix socket. Also true if that has ended: another may
 * have its number by now. Before Linux 6.5 they cannot be distinguished. */
bool ancestry_peer_may_be_ours(int fd, bool starts_other_users);

#endif
