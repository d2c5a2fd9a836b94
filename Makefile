# wpool: build, check, install. `make help` lists what there is.
# Every folder under supervisor/ is a layer and becomes a static library of its own; a unit test links
# its layer and those below, so that a layer which reaches upwards does not link.

BUILD   ?= build
# make's own default is cc; whoever sets CC means it.
ifeq ($(origin CC),default)
CC := gcc
endif
PREFIX  ?= /usr/local
LIBDIR  ?= $(PREFIX)/lib
DESTDIR ?=
VERSION := 0.1.0

WARNINGS := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wold-style-definition \
	-Wpointer-arith -Wwrite-strings -Wvla -Wundef -Wformat=2 -Werror
CFLAGS   ?= -O2 -g
SANITIZE ?=
# What limits the damage of a mistake in memory; `make lint` looks for it in the binaries. The checks of
# FORTIFY need an optimizing compiler and do not go with a sanitizer, which checks more. A package that
# fortifies by itself (CPPFLAGS) keeps its own level.
HARDENING  = -fstack-protector-strong -fstack-clash-protection $(if $(fortifies),-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3)
fortifies  = $(if $(SANITIZE)$(filter -O0,$(CFLAGS))$(findstring _FORTIFY_SOURCE,$(CPPFLAGS)),,$(filter -O%,$(CFLAGS)))
ALL_CFLAGS = -std=gnu11 $(CPPFLAGS) $(HARDENING) $(CFLAGS) $(WARNINGS) $(SANITIZE) -fno-common -D_GNU_SOURCE \
	-DWPOOL_VERSION='"$(VERSION)"' -Isupervisor -Iworker-sdk -I$(BUILD)/made -MMD -MP
ALL_LDFLAGS = -Wl,-z,relro,-z,now $(LDFLAGS) $(SANITIZE)

# One short line for each file, unless make is silent.
say = $(if $(findstring s,$(firstword -$(MAKEFLAGS))),:,echo)

# From the lowest layer to the highest; supervisor/main.c stands above all of them. wire is the codec
# that the worker SDK shares.
LAYERS := base core amqp wire message broker config os http net process worker api tty client publish dead_letters \
	runtime check_worker control serve

dir_wire := worker-sdk/wire
$(foreach l,$(filter-out wire,$(LAYERS)),$(eval dir_$(l) := supervisor/$(l)))

$(foreach l,$(LAYERS),$(eval sources_$(l) := $(wildcard $(dir_$(l))/*.c $(dir_$(l))/*/*.c)))
$(foreach l,$(LAYERS),$(eval objects_$(l) := $(sources_$(l):%.c=$(BUILD)/%.o)))
$(foreach l,$(LAYERS),$(eval library_$(l) := $(BUILD)/layer-$(l).a))

# What a layer may include and link: itself and what the design allows below it.
below_base         := base
below_core         := core base
below_amqp         := amqp base
below_wire         := wire
below_message      := message wire amqp core base
below_broker       := broker message wire amqp core base
below_config       := config base
below_os           := os base
below_http         := http os config base
below_net          := net os config amqp base
below_process      := process os config core base
below_worker       := worker process os config message wire amqp core base
below_tty          := tty config base
below_publish      := publish client api http tty net broker os config message wire amqp core base
below_dead_letters := dead_letters $(below_publish)
below_api          := api base
below_client       := client tty api http os config base
below_runtime      := runtime tty worker process net broker os config message wire amqp core base
below_check_worker := check_worker $(below_runtime)
below_control      := control api http $(below_runtime)
below_serve        := serve $(below_control)

libs_amqp         := -lrabbitmq
libs_wire         := -lmsgpackc
libs_message      := $(libs_wire) $(libs_amqp)
libs_broker       := $(libs_message)
libs_config       := -lyaml
libs_os           := -lev -lpthread
libs_http         := $(libs_config) $(libs_os) -lmicrohttpd
libs_net          := $(libs_config) $(libs_os) $(libs_amqp) -lssl -lcrypto
libs_process      := $(libs_config) $(libs_os)
libs_worker       := $(libs_process) $(libs_message)
libs_tty          := $(libs_config) -ljansson
libs_client       := $(libs_http) -ljansson -ldl
libs_publish      := $(libs_net) $(libs_message) $(libs_client)
libs_dead_letters := $(libs_publish)
libs_runtime      := $(libs_net) $(libs_message)
libs_check_worker := $(libs_runtime) -ljansson
libs_control      := $(libs_runtime) -lmicrohttpd -ljansson
libs_serve        := $(libs_control)
libs_wpool        := $(libs_serve) -ldl

## make            build wpool, the SDK and the samples
## make demo       install what is missing, start a private RabbitMQ, show real work; DEMO_STAY=yes: and go on
## make test       install what is missing, then lint, units, simulator, system tests
## make programs   build everything that is C, tests included; run nothing
## make units      unit tests and the checks of the SDKs
## make sim        the simulator; SEEDS=10000, SEED=17 for one seed with its trace, COVER=1 for its tables
## make broker-diff  the fake broker against RabbitMQ 3.10 and 4.0; SEEDS=200, or SEED=17 to look at one
## make pages      manual pages and completion for bash and zsh, from what wpool says of itself
## make system     system tests against a private RabbitMQ; TOPICS="settle stop", BROKER=4.0
## make faults     the table of faults on a real broker; FULL=1, ROW="1 5", N=trials, T=seconds a row
## make faults-table  write the records of docs/faults into docs/reliability.md
## make pictures   draw the pictures of the README and docs/operations.md from running programs; PICTURES_SECONDS=300
## make bench-table   write what the last `make bench` measured into docs/performance.md and the README
## make bench      how fast: wpool, plain consumers, others, in turn; ROUNDS=5, ONLY="plain wpool-auto-4"
## make asan       units and simulator under the sanitizers
## make fuzz       hostile bytes against every decoder; T=60 seconds each, TARGET=name for one
## make fuzz-check play the corpora of those; part of `make units`
## make cover      every branch of the core, 90 % of all lines; SYSTEM=1: with the system tests
## make valgrind   units, SDK checks and simulator under memcheck
## make mutants    put known bugs in, one at a time: each must make a test fail; PATCH="tests/mutants/...", JOBS=2, BOTH=1
## make lint       format, layers, lengths, scripts, reference page, warnings of gcc and clang
## make install    wpool, its manual pages, docs and completion, the SDKs and a unit for systemd; DESTDIR, PREFIX, LIBDIR, PYTHONDIR
## make uninstall  remove what `make install` with the same variables installed
## make deb        Debian packages of it, in $(BUILD)/deb, and lintian's opinion of them
## make deb-test   those packages in a Debian of their own: installed, at work, removed, purged; as root
## make deps       install what `make test` needs
## make clean      remove what was built
## make try-docker the Dockerfile, step by step without Docker, and the image at work; as root
## make compose-test  docker-compose.yml and our images with a Docker engine: recreated, killed, given another password, nothing lost; as root
## make kube-test  the manifests of env/kubernetes: what they say of each other and of wpool; with Go also each field

all: $(BUILD)/wpool sdk samples

$(BUILD)/%.o: %.c
	@mkdir -p $(@D)
	@$(say) "cc    $<"
	@$(CC) $(ALL_CFLAGS) $(EXTRA_CFLAGS) -c $< -o $@

define layer_rule
$$(library_$(1)): $$(objects_$(1))
	@mkdir -p $$(@D)
	@rm -f $$@
	@$$(AR) rcs $$@ $$^
endef
$(foreach l,$(LAYERS),$(eval $(call layer_rule,$(l))))

# Every layer, from the highest to the lowest, as the linker wants them.
reverse = $(if $(1),$(call reverse,$(wordlist 2,$(words $(1)),$(1))) $(firstword $(1)))
every_library := $(foreach l,$(call reverse,$(LAYERS)),$(library_$(l)))

$(BUILD)/wpool: $(patsubst %.c,$(BUILD)/%.o,$(wildcard supervisor/*.c)) $(every_library)
	@$(say) "link  $@"
	@$(CC) $(ALL_LDFLAGS) -o $@ $^ $(libs_wpool)

# The page at /, whose parts become one document.
page_parts := $(wildcard supervisor/control/page/*)
$(BUILD)/supervisor/control/routes.o: $(BUILD)/made/control/page.inc
$(BUILD)/made/control/page.inc: tools/page $(page_parts)
	@mkdir -p $(@D)
	@$(say) "page  $@"
	@tools/page supervisor/control/page >$@.part
	@mv $@.part $@

# Unit tests: tests/unit/<layer>/<what>.c is one program.
unit_sources := $(filter-out tests/unit/support/%,$(wildcard tests/unit/*/*.c))
unit_programs := $(unit_sources:%.c=$(BUILD)/%)
layer_of = $(patsubst $(BUILD)/tests/unit/%/,%,$(dir $(1)))

# What several programs of a layer, or of one above it, share; only what a program asks for is linked.
support_objects = $(patsubst %.c,$(BUILD)/%.o,$(wildcard tests/unit/support/$(1)/*.c))
support_library = $(if $(call support_objects,$(1)),$(BUILD)/support-$(1).a)
define support_rule
$(BUILD)/support-$(1).a: $(call support_objects,$(1))
	@rm -f $$@
	@$$(AR) rcs $$@ $$^
endef
$(foreach l,$(LAYERS),$(eval $(call support_rule,$(l))))

define unit_rule
$(1): $(1).o $(foreach l,$(below_$(2)),$(call support_library,$(l))) $(foreach l,$(below_$(2)),$(library_$(l)))
	@$(say) "link  $$@"
	@$$(CC) $$(ALL_LDFLAGS) -o $$@ $$^ $$(libs_$(2)) $$(shell pkg-config --libs check)
endef
$(foreach p,$(unit_programs),$(eval $(call unit_rule,$(p),$(call layer_of,$(p)))))
# Tables of cases may have formats.
$(BUILD)/tests/%.o: EXTRA_CFLAGS = -Itests -Wno-format-nonliteral

# Parts of the page at /, in node.
page_tests := $(wildcard tests/page/*.js)

units: $(unit_programs) $(sdk_tests)
	@tools/run-checks $(unit_programs) $(sdk_tests) $(sdk_scripts) $(page_tests)

# Everything, counted; `make test` first installs what is missing. All is built before lint, which
# builds it again with the other compiler, and the units go side by side.
test:
	@tools/deps test
	@$(MAKE) --no-print-directory -j$$(nproc) all programs
	@: > $(BUILD)/tally
	@export WPOOL_TALLY=$(abspath $(BUILD))/tally; status=0; \
	$(MAKE) --no-print-directory -k -j2 lint units || status=$$?; \
	$(MAKE) --no-print-directory -k sim system || status=$$?; \
	tools/tally $(BUILD)/tally $$status

# Units and simulator under AddressSanitizer and UndefinedBehaviorSanitizer. Warnings are lint's:
# in instrumented code the compilers give false ones.
asan:
	@$(MAKE) --no-print-directory BUILD=$(BUILD)/asan CFLAGS='-O1 -g' WARNINGS= \
		SANITIZE='-fsanitize=address,undefined -fno-sanitize-recover=all' units sim

install: all install-sdk install-service install-pages install-docs install-python
	install -d $(DESTDIR)$(PREFIX)/bin
	# The kernel hides a program that its user cannot read, from its start: docs/security.md.
	install -m 711 $(BUILD)/wpool $(DESTDIR)$(PREFIX)/bin/

# For systemd, where there is one; nothing is started.
unit_folder = $(DESTDIR)$(PREFIX)/lib/systemd/system
install-service:
	install -d $(unit_folder) $(DESTDIR)$(PREFIX)/lib/sysusers.d
	sed 's|/usr/local/bin/|$(PREFIX)/bin/|' env/wpool.service > $(unit_folder)/wpool.service
	chmod 644 $(unit_folder)/wpool.service
	install -m 644 env/wpool.sysusers $(DESTDIR)$(PREFIX)/lib/sysusers.d/wpool.conf

clean:
	rm -rf $(BUILD)

help:
	@sed -n 's/^## //p' Makefile

# The image is built from a part of the tree. A part that is not there has no goals.
include worker-sdk/c/sdk.mk $(wildcard tools/pages.mk tools/install.mk tests/sim/sim.mk samples/samples.mk tests/system.mk tests/pictures/pictures.mk tests/fault/fault.mk tests/workers/workers.mk tests/bench/bench.mk tests/fuzz/fuzz.mk tests/compose/compose.mk tests/kube/kube.mk tools/tools.mk tools/gates.mk tools/deb.mk)

# Everything that is C, built and not run: what `make lint` builds with each compiler.
programs: all workers demo-programs bench-programs $(unit_programs) $(BUILD)/simulator $(BUILD)/broker-diff $(every_system_program) $(BUILD)/tests/pictures/pictures $(every_fault_program) $(sdk_tests)

-include $(shell find $(BUILD) -type f -name '*.d' 2>/dev/null)
.PHONY: all programs units sim test asan install install-service clean help
.SECONDARY:
