/* A sandbox as containers have it: one system call is refused. */
#ifndef UNIT_SANDBOX_H
#define UNIT_SANDBOX_H

/* From now on, for this process and what it starts: that call is EPERM. */
void sandbox_refuse(int system_call);

#endif
