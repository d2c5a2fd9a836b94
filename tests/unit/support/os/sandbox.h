/* A sandbox as containers have it: one system call is refused. */
#ifndef UNIT_SANDBOX_H
#define UNIT_SANDBOX_H

/* Let this call fail with EPERM from now on, in this process and its children. */
void sandbox_refuse(int system_call);

#endif
