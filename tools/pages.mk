# Manual pages and completion, made from what wpool prints about itself. Included by the Makefile.

pages := $(BUILD)/pages/wpool.1

$(pages): $(BUILD)/wpool tools/pages $(wildcard tools/pages-awk/*.awk)
	@$(say) "pages $(@D)"
	@tools/pages $< $(@D)

pages: $(pages)

man_folder = $(DESTDIR)$(PREFIX)/share/man
install-pages: pages
	install -d $(man_folder)/man1 $(man_folder)/man5 $(DESTDIR)$(PREFIX)/share/bash-completion/completions \
		$(DESTDIR)$(PREFIX)/share/zsh/site-functions
	for page in $$(cd $(BUILD)/pages && ls *.1 *.5); do \
		sed 's|@PREFIX@|$(PREFIX)|' $(BUILD)/pages/$$page > $(man_folder)/man$${page##*.}/$$page && \
		chmod 644 $(man_folder)/man$${page##*.}/$$page || exit 1; \
	done
	install -m 644 $(BUILD)/pages/wpool.bash $(DESTDIR)$(PREFIX)/share/bash-completion/completions/wpool
	install -m 644 $(BUILD)/pages/_wpool $(DESTDIR)$(PREFIX)/share/zsh/site-functions/

.PHONY: pages install-pages
