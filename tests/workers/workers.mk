# The workers of the system tests, and the checks of the SDKs. Included by the top Makefile, after
# worker-sdk/c/sdk.mk and samples/samples.mk.

worker_programs := $(addprefix $(BUILD)/workers/,echo keyed knowing evil legacy_strict legacy_dotnet many preload_raw spy)
worker_objects   = $(addprefix $(BUILD)/tests/workers/,$(addsuffix .o,$(1)))
legacy_objects  := $(call worker_objects,legacy raw)
plain_sdk_workers := keyed knowing preload_raw

workers: $(worker_programs)

$(BUILD)/tests/workers/%.o $(BUILD)/tests/sdk/%.o: EXTRA_CFLAGS = -Itests $(SDK_CFLAGS) $(sdk_test_defines)
$(BUILD)/tests/sdk/%.o: sdk_test_defines = -DSDK_TEST_BUILD='"$(BUILD)"'

$(BUILD)/workers/echo: $(call worker_objects,echo report) $(sdk_static)
	@mkdir -p $(@D)
	@$(say) "link  $@"
	@$(CC) $(ALL_LDFLAGS) -o $@ $(filter %.o,$^) $(SDK_LIBS) -ljansson

$(addprefix $(BUILD)/workers/,$(plain_sdk_workers)): $(BUILD)/workers/%: $(BUILD)/tests/workers/%.o $(sdk_static)
	@mkdir -p $(@D)
	@$(say) "link  $@"
	@$(CC) $(ALL_LDFLAGS) -o $@ $(filter %.o,$^) $(SDK_LIBS)

$(BUILD)/workers/evil: $(call worker_objects,evil evil_frames evil_answers evil_process raw)
$(BUILD)/workers/legacy_strict: $(call worker_objects,legacy_strict) $(legacy_objects)
$(BUILD)/workers/legacy_dotnet: $(call worker_objects,legacy_dotnet) $(legacy_objects)
$(BUILD)/workers/many: $(call worker_objects,many raw)
$(BUILD)/workers/spy: $(call worker_objects,spy)

$(filter-out %/echo $(addprefix %/,$(plain_sdk_workers)),$(worker_programs)): $(library_wire)
	@mkdir -p $(@D)
	@$(say) "link  $@"
	@$(CC) $(ALL_LDFLAGS) -o $@ $(filter %.o,$^) $(library_wire) -lmsgpackc

# Both SDKs and the samples against the protocol: check programs that play the supervisor.
sdk_tests := $(BUILD)/sdk/sdk_worker $(BUILD)/sdk/sdk_samples $(BUILD)/sdk/sdk_vectors $(BUILD)/sdk/sdk_many \
	$(BUILD)/sdk/sdk_fetch

$(BUILD)/sdk/probe $(BUILD)/sdk/probe_many: $(BUILD)/sdk/%: $(BUILD)/tests/sdk/%.o $(sdk_static)
	@$(say) "link  $@"
	@$(CC) $(ALL_LDFLAGS) -o $@ $< $(SDK_LIBS)

$(BUILD)/sdk/sdk_worker $(BUILD)/sdk/sdk_vectors: $(BUILD)/sdk/probe
$(BUILD)/sdk/sdk_many: $(BUILD)/sdk/probe_many
$(BUILD)/sdk/sdk_samples $(BUILD)/sdk/sdk_fetch: $(sample_programs)
$(BUILD)/sdk/sdk_fetch: $(BUILD)/tests/sdk/http_stub.o
$(BUILD)/sdk/sdk_fetch: | $(BUILD)/sdk/failing_fetch

failing_calls := curl_easy_setopt curl_multi_add_handle wpool_reply
$(BUILD)/sdk/failing_fetch: $(BUILD)/samples/c/fetch.o $(BUILD)/tests/sdk/failing_curl.o $(sdk_static)
	@$(say) "link  $@"
	@$(CC) $(ALL_LDFLAGS) $(failing_calls:%=-Wl,--wrap=%) -o $@ $(filter %.o,$^) $(SDK_LIBS) -lcurl

$(sdk_tests): $(BUILD)/sdk/sdk_%: $(BUILD)/tests/sdk/sdk_%.o $(BUILD)/tests/sdk/stage.o $(library_wire)
	@$(say) "link  $@"
	@$(CC) $(ALL_LDFLAGS) -o $@ $(filter %.o %.a,$^) -lmsgpackc -ljansson $(shell pkg-config --libs check)

# What needs no build: several tasks at once in Python, and a preloaded process in Python.
sdk_scripts := tests/sdk/python_sdk tests/sdk/python_preload

sdk-tests: $(sdk_tests)
	@for program in $(sdk_tests) $(sdk_scripts); do $$program || exit 1; done

# What other targets run.
units: $(sdk_tests)
system: $(worker_programs) $(sample_programs) $(BUILD)/sdk/probe_many

.PHONY: workers sdk-tests
