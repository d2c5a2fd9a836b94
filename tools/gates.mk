# Gates over the tests themselves: what they reach, what they leave behind, and what they would let pass.
# Included by the Makefile, after all that names a program.

# Coverage, in a folder of its own. Counts of an earlier run are removed, else what nobody runs any more
# would still count. cli is reached by the system tests: without them its lines do not count, and it is said.
COVER_SEEDS ?= 2000
cover_make = $(MAKE) --no-print-directory BUILD=$(BUILD)/cover CFLAGS='-O0 -g' WARNINGS= GCOV=1 \
	SANITIZE='--coverage -fprofile-update=prefer-atomic' SEEDS=$(COVER_SEEDS)

cover:
	@tools/deps test
	@mkdir -p $(BUILD)/cover
	@find $(BUILD)/cover -name '*.gcda' -delete
	@status=0; $(cover_make) -k units sim $(if $(SYSTEM),system) || status=1; \
		tools/cover-report $(BUILD)/cover $(if $(SYSTEM),,--without cli) || status=1; exit $$status

# What is killed is still counted; see there.
ifdef GCOV
$(BUILD)/wpool: $(BUILD)/tools/cover_flush.o
endif

# Units, SDK checks and simulator under memcheck. Optimised little, so that what it says has lines.
MEMCHECK_SEEDS ?= 300
valgrind:
	@tools/deps test gates
	@$(MAKE) --no-print-directory BUILD=$(BUILD)/valgrind CFLAGS='-O1 -g' WARNINGS= memcheck

memcheck: $(unit_programs) $(sdk_tests) $(BUILD)/simulator
	@status=0; for program in $(unit_programs) $(sdk_tests); do \
		tools/memcheck $(BUILD)/memcheck $$program || status=1; done; \
	tools/memcheck $(BUILD)/memcheck $(BUILD)/simulator --seeds $(MEMCHECK_SEEDS) || status=1; exit $$status

# Known bugs and small mutations, one at a time: each must turn the tests red.
MUTANT_SEEDS ?= 2000
mutants:
	@tools/deps test gates
	@tools/mutants $(BUILD)/mutants $(PATCH) --seeds $(MUTANT_SEEDS) $(if $(BOTH),--both)

.PHONY: cover valgrind memcheck mutants
