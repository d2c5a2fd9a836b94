# The C worker SDK: libwpool-worker, static and shared. Included by the top Makefile.
# The static library is one object whose internal names are local, so that a worker may use any name
# that does not begin with wpool_.

sdk_sources := $(wildcard worker-sdk/c/*.c) $(wildcard worker-sdk/wire/*.c)
sdk_objects := $(sdk_sources:%.c=$(BUILD)/sdk/objects/%.o)
sdk_static  := $(BUILD)/sdk/libwpool-worker.a
sdk_soname  := libwpool-worker.so.1
sdk_shared  := $(BUILD)/sdk/$(sdk_soname)
SDK_CFLAGS  := -Iworker-sdk/c/include
SDK_LIBS     = $(sdk_static) -lmsgpackc -pthread
OBJCOPY    ?= objcopy

sdk: $(sdk_static) $(sdk_shared) $(BUILD)/sdk/libwpool-worker.so $(BUILD)/sdk/wpool-worker.pc

$(BUILD)/sdk/objects/%.o: %.c
	@mkdir -p $(@D)
	@$(say) "cc    $<"
	@$(CC) $(ALL_CFLAGS) $(SDK_CFLAGS) -fPIC -fvisibility=hidden -c $< -o $@

$(BUILD)/sdk/objects/wpool-worker.o: $(sdk_objects)
	@$(LD) -r -o $@ $^
	@$(OBJCOPY) --localize-hidden $@

$(sdk_static): $(BUILD)/sdk/objects/wpool-worker.o
	@rm -f $@
	@$(AR) rcs $@ $^

$(sdk_shared): $(sdk_objects)
	@$(say) "link  $@"
	@$(CC) $(ALL_LDFLAGS) -shared -Wl,-soname,$(sdk_soname) $(if $(SANITIZE),,-Wl,-z,defs) -o $@ $^ -lmsgpackc -pthread

$(BUILD)/sdk/libwpool-worker.so: $(sdk_shared)
	ln -sf $(sdk_soname) $@

# Made each time, because PREFIX may have changed.
$(BUILD)/sdk/wpool-worker.pc: worker-sdk/c/wpool-worker.pc.in FORCE
	@mkdir -p $(@D)
	@sed -e 's|@PREFIX@|$(PREFIX)|' -e 's|@LIBDIR@|$(LIBDIR)|' -e 's|@VERSION@|$(VERSION)|' $< > $@

# Let the loader find the shared library at once. This needs root, and does nothing if the loader does
# not search the folder.
refresh_loader = PATH="$$PATH:/usr/sbin:/sbin"; ldconfig 2>/dev/null || :

install-sdk: sdk
	install -d $(DESTDIR)$(PREFIX)/include/wpool $(DESTDIR)$(LIBDIR)/pkgconfig
	install -m 644 worker-sdk/c/include/wpool/*.h $(DESTDIR)$(PREFIX)/include/wpool/
	install -m 644 $(sdk_static) $(DESTDIR)$(LIBDIR)/
	install -m 755 $(sdk_shared) $(DESTDIR)$(LIBDIR)/
	ln -sf $(sdk_soname) $(DESTDIR)$(LIBDIR)/libwpool-worker.so
	install -m 644 $(BUILD)/sdk/wpool-worker.pc $(DESTDIR)$(LIBDIR)/pkgconfig/
	@$(if $(DESTDIR),:,$(refresh_loader))

FORCE:

.PHONY: sdk install-sdk FORCE
