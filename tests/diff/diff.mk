# The fake broker of the simulator held against real ones. Included by the Makefile.
# `make broker-diff SEEDS=200`, or SEED=17 for one, with its traces and shortened where it differs;
# RELEASES="3.10 4.0": against which.

diff_objects := $(patsubst %.c,$(BUILD)/%.o,$(wildcard tests/diff/*.c) \
	$(wildcard tests/sim/broker*.c) tests/sim/peer.c)
RELEASES ?= 3.10 4.0

$(BUILD)/broker-diff: $(diff_objects) $(library_amqp) $(library_base)
	@$(say) "link  $@"
	@$(CC) $(ALL_LDFLAGS) -o $@ $^ $(libs_amqp)

broker-diff: $(BUILD)/broker-diff
	@tests/diff/run $(BUILD)/broker-diff "$(RELEASES)" \
		$(if $(SEED),--seed $(SEED) --shrink --trace,--seeds $(if $(filter file,$(origin SEEDS)),200,$(SEEDS)))

# What `make system` runs of it.
broker-diff-some: $(BUILD)/broker-diff
	@tests/diff/run $(BUILD)/broker-diff $(or $(BROKER),3.10) --seeds 24

.PHONY: broker-diff broker-diff-some
