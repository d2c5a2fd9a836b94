# Debian packages, built in a copy of the tree so that nothing is written beside the sources. Included by the
# Makefile.

deb_folder := $(BUILD)/deb
deb_tree   := $(deb_folder)/wpool-$(VERSION)

# The make in the copy must not take BUILD and other variables of ours.
without_ours := env -u MAKEFLAGS -u MAKEOVERRIDES -u MFLAGS -u BUILD

# Copies the files that git tracks or would add, as they are now; without git all files outside build folders.
deb:
	@tools/deps deb
	@rm -rf $(deb_folder) && mkdir -p $(deb_tree)
	@if git rev-parse --is-inside-work-tree >/dev/null 2>&1; then \
		git ls-files -z --cached --others --exclude-standard; \
	else find . -path './build*' -prune -o -type f -print0; fi | \
		tar -c --null --ignore-failed-read -T - | tar -x -C $(deb_tree)
	cd $(deb_tree) && $(without_ours) dpkg-buildpackage --build=binary --no-sign --no-pre-clean
	lintian --fail-on error --info $(deb_folder)/*.changes

deb-test: $(BUILD)/samples/fibonacci
	@tools/deps docker
	@[ -e $(deb_folder)/wpool_$(VERSION)_*.deb ] || $(MAKE) --no-print-directory deb
	@tools/try-deb $(deb_folder) $(BUILD)/samples/fibonacci

.PHONY: deb deb-test
