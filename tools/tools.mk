# The goals deps, demo, lint and their like. Included by the Makefile.

$(BUILD)/tools/caller: $(BUILD)/tools/caller.o
	@$(say) "link  $@"
	@$(CC) $(ALL_LDFLAGS) -o $@ $^ -lrabbitmq

deps:
	@tools/deps

demo:
	@tools/deps demo
	@echo 'building wpool and the samples, as far as they are not'
	@$(MAKE) --no-print-directory demo-programs
	@WPOOL_BUILD=$(abspath $(BUILD)) tools/demo

demo-programs: $(BUILD)/wpool $(BUILD)/tools/caller samples
	@:

lint: $(BUILD)/wpool
	@tools/lint --build $(BUILD) --compiler $(CC) --make $(LINT_GOALS)
LINT_GOALS ?= programs

# Write the records of docs/faults into docs/reliability.md.
faults-table:
	@tools/faults-table --write

# Write the figures of the last bench into docs/performance.md and the README.
bench-table:
	@tools/bench-table $(BUILD)/bench.json

try-docker:
	@tools/deps docker
	@tools/try-dockerfile

.PHONY: deps demo demo-programs lint faults-table bench-table try-docker
