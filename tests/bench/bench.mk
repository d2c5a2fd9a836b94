# The bench: contestants in C, and the programs that run them. Included by the top Makefile, after
# worker-sdk/c/sdk.mk. ROUNDS=5, T=2 seconds a run, ONLY="plain wpool-auto-4".

bench_clients  := $(addprefix $(BUILD)/bench/,plain_consumer plain_rpc fill sink caller)
bench_workers  := $(addprefix $(BUILD)/bench/,noop_worker noop_worker_many wait_worker)
bench_programs := $(bench_clients) $(bench_workers) $(BUILD)/bench/core_cost

$(bench_clients): $(BUILD)/bench/%: $(BUILD)/tests/bench/%.o $(BUILD)/tests/bench/link.o
	@mkdir -p $(@D)
	@$(say) "link  $@"
	@$(CC) $(ALL_LDFLAGS) -o $@ $^ -lrabbitmq

$(BUILD)/bench/caller: $(BUILD)/tests/bench/latency.o

$(bench_workers:$(BUILD)/bench/%=$(BUILD)/tests/bench/%.o): EXTRA_CFLAGS = $(SDK_CFLAGS)
$(bench_workers): $(BUILD)/bench/%: $(BUILD)/tests/bench/%.o $(sdk_static)
	@mkdir -p $(@D)
	@$(say) "link  $@"
	@$(CC) $(ALL_LDFLAGS) -o $@ $< $(SDK_LIBS)

$(BUILD)/bench/core_cost: $(BUILD)/tests/bench/core_cost.o $(library_core) $(library_base)
	@mkdir -p $(@D)
	@$(say) "link  $@"
	@$(CC) $(ALL_LDFLAGS) -o $@ $^

bench-programs: $(bench_programs)

bench: bench-programs $(BUILD)/wpool
	@ROUNDS='$(ROUNDS)' T='$(T)' ONLY='$(ONLY)' tests/bench/run --build $(abspath $(BUILD))

# tests/system/bench.c runs all of them with a few messages.
system: bench-programs

.PHONY: bench bench-programs
