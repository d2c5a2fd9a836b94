# Hostile bytes: a libFuzzer target for each decoder of what comes from outside. Included by the top
# Makefile. tests/fuzz/targets/<name>.c is one target, tests/fuzz/corpus/<name>/ its corpus.
# `make fuzz T=60 TARGET=url` searches; `make fuzz-check` plays the corpora, without libFuzzer.

fuzz_targets  := $(patsubst tests/fuzz/targets/%.c,%,$(wildcard tests/fuzz/targets/*.c))
fuzz_programs := $(fuzz_targets:%=$(BUILD)/fuzz/%)

# What targets share; only what a target asks for is linked into it.
fuzz_support := $(patsubst %.c,$(BUILD)/%.o,$(filter-out %/replay.c %/limits.c,$(wildcard tests/fuzz/*.c)))
$(BUILD)/fuzz/support.a: $(fuzz_support) $(patsubst %.c,$(BUILD)/sdk/objects/%.o,$(wildcard worker-sdk/c/*.c))
	@mkdir -p $(@D)
	@rm -f $@
	@$(AR) rcs $@ $^

$(BUILD)/tests/fuzz/%.o: EXTRA_CFLAGS = -Itests $(SDK_CFLAGS)

# FUZZ_ENGINE brings a main of its own.
FUZZ_ENGINE ?=
fuzz_main    = $(if $(FUZZ_ENGINE),,$(BUILD)/tests/fuzz/replay.o)
fuzz_parts  := $(BUILD)/tests/fuzz/fuzz.o $(BUILD)/tests/fuzz/memory.o

$(fuzz_programs): $(BUILD)/fuzz/%: $(BUILD)/tests/fuzz/targets/%.o $(fuzz_parts) $(fuzz_main) \
		$(BUILD)/fuzz/support.a $(every_library)
	@$(say) "link  $@"
	@$(CC) $(ALL_LDFLAGS) $(FUZZ_ENGINE) -o $@ $^ $(libs_wpool)

fuzz-programs: $(fuzz_programs)

# Instrumented code stays apart from the rest.
fuzz:
	@tools/deps fuzz
	@$(MAKE) --no-print-directory BUILD=$(BUILD)/libfuzzer CC=clang CFLAGS='-O1 -g' WARNINGS= \
		SANITIZE='-fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all' \
		FUZZ_ENGINE=-fsanitize=fuzzer fuzz-programs
	@FUZZ_BUILD=$(abspath $(BUILD))/libfuzzer tests/fuzz/run $(or $(T),60) $(or $(TARGET),$(fuzz_targets))

# That the counting of memory can fail, too.
fuzz_limits := $(BUILD)/fuzz/limits
$(fuzz_limits): $(BUILD)/tests/fuzz/limits.o $(fuzz_parts)
	@$(say) "link  $@"
	@$(CC) $(ALL_LDFLAGS) -o $@ $^ $(shell pkg-config --libs check)

fuzz-check: $(fuzz_programs) $(fuzz_limits)
	@tools/run-checks $(fuzz_programs) $(fuzz_limits)

# What other targets run and build.
units: fuzz-check
programs: $(fuzz_programs) $(fuzz_limits)

.PHONY: fuzz fuzz-check fuzz-programs
