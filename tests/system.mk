# System tests: the built binary against a RabbitMQ node of their own. Included by the Makefile.
# tests/system/<topic>.c is one program; `make system TOPICS="settle stop"` runs some of them. On a
# RabbitMQ other than this machine's, here and in every other goal that starts one: BROKER=4.0, or 3.10.

harness_objects := $(patsubst %.c,$(BUILD)/%.o,$(wildcard tests/harness/*.c))
system_topics := $(patsubst tests/system/%.c,%,$(wildcard tests/system/*.c))
TOPICS ?= $(system_topics)
BROKER ?= $(WPOOL_BROKER)
export WPOOL_BROKER := $(BROKER)
system_programs := $(TOPICS:%=$(BUILD)/tests/system/%)
every_system_program := $(system_topics:%=$(BUILD)/tests/system/%)

$(every_system_program): $(BUILD)/tests/system/%: $(BUILD)/tests/system/%.o $(harness_objects)
	@$(say) "link  $@"
	@$(CC) $(ALL_LDFLAGS) -o $@ $^ -lrabbitmq -ljansson $(shell pkg-config --libs check)

# The supervisor that a test can kill at labelled points; its objects lie in a folder of their own.
$(BUILD)/wpool-crash: crash-objects
	@cp $(BUILD)/crash/wpool $@

crash-objects:
	@$(MAKE) --no-print-directory BUILD=$(BUILD)/crash EXTRA_CFLAGS=-DWPOOL_CRASH_POINTS $(BUILD)/crash/wpool

# samples, workers: what the tests start; pages: what they read.
system: $(system_programs) $(BUILD)/wpool $(BUILD)/wpool-crash samples workers pages
	@WPOOL_BUILD=$(abspath $(BUILD)) tests/system/run $(system_programs)
	@$(if $(filter-out file,$(origin TOPICS)),,$(MAKE) --no-print-directory broker-diff-some)

.PHONY: system crash-objects

include tests/diff/diff.mk
