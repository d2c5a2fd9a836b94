# The simulator: whole runs of the real core and the real channel machines in virtual time.
SEEDS ?= 10000
sim_objects := $(patsubst %.c,$(BUILD)/%.o,$(wildcard tests/sim/*.c))

# What passes between the files of the core is counted on its way (tests/sim/cover_core.c).
sim_watched := pool_step life_next settle_decide settle_arrival settle_give_up settle_throttled throttling_ask outbox_down source_release \
	source_reject source_forget dispatch_requeue

# What a replay may leave out (tests/sim/settings.h), as a failure prints it.
sim_settings = $(foreach s,JOBS WITHOUT MESSAGES ROUNDS SUPERVISORS POOLS WORKERS,$(if \
	$($(s)),--$(shell echo $(s) | tr A-Z a-z) $($(s))))

# The token of a pool is that of serve, with a clock and a guard of the simulator (tests/sim/tokens.c).
$(BUILD)/simulator: $(sim_objects) $(BUILD)/supervisor/runtime/pool_token.o $(foreach l,$(below_broker),$(library_$(l)))
	@$(say) "link  $@"
	@$(CC) $(ALL_LDFLAGS) $(sim_watched:%=-Wl,--wrap=%) -o $@ $^ $(libs_broker)

sim: $(BUILD)/simulator
	@$(BUILD)/simulator $(if $(SEED),--seed $(SEED) --trace,--seeds $(SEEDS) $(if $(COVER),--cover)) $(sim_settings)
	@[ -z "$$WPOOL_TALLY" ] || echo "$(SEEDS) 0 simulator" >> "$$WPOOL_TALLY"
