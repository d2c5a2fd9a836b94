# The samples in C. Included by the top Makefile, after worker-sdk/c/sdk.mk. The Python samples
# need no build.

sample_sources  := $(wildcard samples/c/*.c)
sample_programs := $(sample_sources:samples/c/%.c=$(BUILD)/samples/%)

samples: $(sample_programs)

$(BUILD)/samples/c/%.o: EXTRA_CFLAGS += $(SDK_CFLAGS)

sample_libs := -ljansson
$(BUILD)/samples/fetch: sample_libs := -lcurl

$(sample_programs): $(BUILD)/samples/%: $(BUILD)/samples/c/%.o $(sdk_static)
	@$(say) "link  $@"
	@$(CC) $(ALL_LDFLAGS) -o $@ $< $(SDK_LIBS) $(sample_libs)

.PHONY: samples
