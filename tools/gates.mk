# Checks of the tests themselves: coverage, memcheck, mutants. Included by the Makefile after every fragment that
# names a program.

# Coverage, in a folder of its own. The counts of earlier runs are removed, because a program that no longer runs
# must not count. Without SYSTEM=1 the folders that only system tests reach do not count; the report names them.
COVER_WITHOUT := serve control runtime check_worker client dead_letters publish tty
COVER_SEEDS ?= 2000
cover_make = $(MAKE) --no-print-directory BUILD=$(BUILD)/cover CFLAGS='-O0 -g' WARNINGS= GCOV=1 \
	SANITIZE='--coverage -fprofile-update=prefer-atomic' SEEDS=$(COVER_SEEDS)

cover:
	@tools/deps test
	@mkdir -p $(BUILD)/cover
	@find $(BUILD)/cover -name '*.gcda' -delete
	@status=0; $(cover_make) -k units sim $(if $(SYSTEM),system) || status=1; \
		tools/cover-report $(BUILD)/cover $(if $(SYSTEM),,--without $(COVER_WITHOUT)) || status=1; exit $$status

# A supervisor that is killed counts, too: see tools/cover_flush.c.
ifdef GCOV
$(BUILD)/wpool: $(BUILD)/tools/cover_flush.o
endif

# Units, SDK checks and simulator under memcheck. -O1, so that its reports have line numbers.
MEMCHECK_SEEDS ?= 300
valgrind:
	@tools/deps test gates
	@$(MAKE) --no-print-directory BUILD=$(BUILD)/valgrind CFLAGS='-O1 -g' WARNINGS= memcheck

memcheck: $(unit_programs) $(sdk_tests) $(BUILD)/simulator
	@status=0; for program in $(unit_programs) $(sdk_tests); do \
		tools/memcheck $(BUILD)/memcheck $$program || status=1; done; \
	tools/memcheck $(BUILD)/memcheck $(BUILD)/simulator --seeds $(MEMCHECK_SEEDS) || status=1; exit $$status

# Known bugs, put in one at a time: each must make a test fail.
MUTANT_SEEDS ?= 2000
mutants:
	@tools/deps test
	@tools/mutants --folder $(BUILD)/mutants --seeds $(MUTANT_SEEDS) $(if $(JOBS),--jobs $(JOBS)) \
		$(if $(BOTH),--both) $(if $(NOT_ISOLATED),--not-isolated) $(PATCH)

.PHONY: cover valgrind memcheck mutants
