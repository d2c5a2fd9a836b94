/* The phases of a supervisor's life. Layer: runtime, plain data. */
#ifndef RUNTIME_PHASE_H
#define RUNTIME_PHASE_H

/* The names are an interface (docs/control.md). */
#define PHASES(X)                                                                                  \
	X(SERVING, "serving")                                                                      \
	X(DRAINING, "draining") /* finishes tasks that workers have */                             \
	X(FORCED, "stopping")   /* stops at once */                                                \
	X(LEAVING, "leaving")   /* closes its connections */                                       \
	X(STOPPED, "stopped")

enum phase {
#define X(phase, name) phase,
	PHASES(X)
#undef X
};

/* Static. */
static inline const char *phase_name(enum phase phase)
{
	static const char *const names[] = {
#define X(phase, name) [phase] = name,
		PHASES(X)
#undef X
	};

	return names[phase];
}

#endif
