# Manual pages and completion, made from what wpool prints about itself. Included by the Makefile.

pages := $(BUILD)/pages/wpool.1

$(pages): $(BUILD)/wpool tools/pages $(wildcard tools/pages-awk/*.awk)
	@$(say) "pages $(@D)"
	@tools/pages $< $(@D)

pages: $(pages)

install-pages: pages
	install -d $(DESTDIR)$(PREFIX)/share/man/man1 $(DESTDIR)$(PREFIX)/share/bash-completion/completions \
		$(DESTDIR)$(PREFIX)/share/zsh/site-functions
	install -m 644 $(BUILD)/pages/*.1 $(DESTDIR)$(PREFIX)/share/man/man1/
	install -m 644 $(BUILD)/pages/wpool.bash $(DESTDIR)$(PREFIX)/share/bash-completion/completions/wpool
	install -m 644 $(BUILD)/pages/_wpool $(DESTDIR)$(PREFIX)/share/zsh/site-functions/

.PHONY: pages install-pages
