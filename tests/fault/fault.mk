# The table of faults (docs/reliability.md): tests/fault/row_NN_<fault>.c is one row. Included by the
# Makefile. ROW="1 5" chooses rows, N their number of trials, T ends each after that many seconds,
# FULL=1 takes the table's numbers, SEED repeats what chance chose. PARTS=8 runs a row in so many
# programs side by side, each with a broker of its own: for rows that mostly wait.

fault_rows := $(patsubst tests/fault/%.c,%,$(sort $(wildcard tests/fault/row_*.c)))
# Libraries to be preloaded; never into a program of instrumented code.
preloaded := failing_calls recorded_starts shifted_clock
preloaded_libraries := $(preloaded:%=$(BUILD)/%.so)
fault_tools := $(patsubst %.c,$(BUILD)/%.o,$(filter-out tests/fault/row_% $(preloaded:%=tests/fault/%.c),$(wildcard tests/fault/*.c)))
every_fault_program := $(fault_rows:%=$(BUILD)/tests/fault/%)
ROW ?=
# Rows are called by their number, with or without its zero.
chosen_rows = $(if $(ROW),$(foreach r,$(ROW),$(filter row_$(r)_% row_0$(r)_%,$(fault_rows))),$(fault_rows))

$(every_fault_program): $(BUILD)/tests/fault/%: $(BUILD)/tests/fault/%.o $(fault_tools) $(harness_objects)
	@$(say) "link  $@"
	@$(CC) $(ALL_LDFLAGS) -o $@ $^ -lrabbitmq -ljansson $(shell pkg-config --libs check)

$(preloaded_libraries): $(BUILD)/%.so: tests/fault/%.c
	@mkdir -p $(@D)
	@$(say) "link  $@"
	@$(CC) $(filter-out -Isupervisor -Iworker-sdk -MMD -MP,$(ALL_CFLAGS)) -fPIC -shared -o $@ $<

# The tools' own tests are system tests: a row that hurts nothing would be clean.
$(addprefix $(BUILD)/tests/system/,fault_tools_proxy consume_links session_hostile): $(BUILD)/tests/fault/proxy.o $(BUILD)/tests/fault/proxy_link.o

faults: $(preloaded_libraries) $(every_fault_program) $(BUILD)/wpool $(BUILD)/wpool-crash workers
	@[ -n "$(chosen_rows)" ] || { echo "faults: no row $(ROW)"; exit 2; }
	@WPOOL_BUILD=$(abspath $(BUILD)) N=$(N) T=$(T) FULL=$(FULL) SEED=$(SEED) PARTS=$(PARTS) \
		tests/fault/run $(chosen_rows:%=$(BUILD)/tests/fault/%)

.PHONY: faults
