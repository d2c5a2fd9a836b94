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
	@$(CC) $(ALL_LDFLAGS) -o $@ $^ $(more_libs) -lrabbitmq -ljansson $(shell pkg-config --libs check)

# It runs a channel machine itself, in place of the built binary.
$(BUILD)/tests/system/return_order: $(foreach l,broker message wire net os config amqp core base,$(library_$(l)))
$(BUILD)/tests/system/return_order: more_libs = $(libs_net) $(libs_message)

# The supervisor that a test can kill at labelled points; its objects lie in a folder of their own.
$(BUILD)/wpool-crash: crash-objects
	@cp $(BUILD)/crash/wpool $@

crash-objects:
	@$(MAKE) --no-print-directory BUILD=$(BUILD)/crash EXTRA_CFLAGS=-DWPOOL_CRASH_POINTS $(BUILD)/crash/wpool

# Two at a time, each with a broker of its own: most of the time they wait.
every_second = $(if $(1),$(firstword $(1)) $(call every_second,$(wordlist 3,$(words $(1)),$(1))))
system_lane_1 := $(call every_second,$(system_programs))
system_lane_2 := $(filter-out $(system_lane_1),$(system_programs))

# sdk, samples, workers: what the tests link and start; pages: what they read.
system: $(system_programs) $(BUILD)/wpool $(BUILD)/wpool-crash sdk samples workers pages
	@$(MAKE) --no-print-directory -k -j2 system_lane_1 $(if $(system_lane_2),system_lane_2)
	@$(if $(filter-out file,$(origin TOPICS)),,$(MAKE) --no-print-directory broker-diff-some)

system_lane_1 system_lane_2:
	@WPOOL_BUILD=$(abspath $(BUILD)) tests/system/run $($@)

# Celery's own integration tests, under Celery's worker and under wpool: what passes there passes here.
celery-suite: all
	@tools/deps suite
	@tests/celery/suite $(abspath $(BUILD))

.PHONY: celery-suite system system_lane_1 system_lane_2 crash-objects

include tests/diff/diff.mk
