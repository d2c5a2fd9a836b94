# The pictures of the pages, drawn from running programs. Included by the Makefile.

pictures_objects := $(patsubst %.c,$(BUILD)/%.o,$(wildcard tests/pictures/*.c))

$(BUILD)/tests/pictures/pictures: $(pictures_objects) $(harness_objects)
	@$(say) "link  $@"
	@$(CC) $(ALL_LDFLAGS) -o $@ $^ -lrabbitmq -ljansson -lm $(shell pkg-config --libs check)

# Five minutes of work fill the charts; PICTURES_SECONDS=20 is enough to check the rest.
pictures: $(BUILD)/tests/pictures/pictures $(BUILD)/wpool workers
	@WPOOL_BUILD=$(abspath $(BUILD)) WPOOL_PICTURES=$(abspath docs/pictures) CK_DEFAULT_TIMEOUT=900 \
		tests/system/run $<

.PHONY: pictures
