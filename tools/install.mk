# What `make install` installs beside programs, and `make uninstall`. Included by the Makefile.

# The pages that messages name ("docs/control.md"), with all that they link to. None of it is to be executed there.
doc_folder = $(DESTDIR)$(PREFIX)/share/doc/wpool
doc_files := README.md CHANGELOG.md CONTRIBUTING.md SECURITY.md docker-bake.hcl tests/README.md tests/bench/README.md \
	tests/fuzz/README.md $(wildcard worker-sdk/*.md worker-sdk/*/README.md) docs env samples worker-sdk/c/include worker-sdk/vectors
install-docs:
	@find $(doc_files) \( -name __pycache__ -o -name '*.mk' -o -path env/secrets \) -prune -o -type f -exec sh -c \
		'for file; do install -D -m 644 "$$file" "$(doc_folder)/$$file" || exit 1; done' sh {} +

# The first folder below PREFIX where the system's Python looks. The first python3 in PATH may be that of a
# virtual environment or of one user.
PYTHONDIR = $(shell $(firstword $(wildcard /usr/bin/python3) python3) -I -c 'import site, sys; below = sys.argv[1] + "/lib"; \
	print(next((f for f in site.getsitepackages() if f.startswith(below)), below + "/python%d.%d/site-packages" % sys.version_info[:2]))' $(PREFIX))
python_folders = $(addprefix $(DESTDIR)$(PYTHONDIR)/,wpool_worker wpool_celery)
install-python:
	install -d $(python_folders)
	install -m 644 worker-sdk/python/wpool_worker/*.py worker-sdk/python/wpool_worker/py.typed $(firstword $(python_folders))/
	install -m 644 worker-sdk/python-celery/wpool_celery/*.py $(lastword $(python_folders))/

# Install into an empty folder, and remove the same files from where they were installed, then the folders of ours. So
# nothing is listed twice; the variables must be those of the installation.
uninstall:
	@staged=$$(mktemp -d) && trap 'rm -rf "$$staged"' EXIT && \
	$(MAKE) --no-print-directory install DESTDIR="$$staged" >"$$staged.log" 2>&1 || { cat "$$staged.log"; exit 1; }; \
	rm -f "$$staged.log" && cd "$$staged" && \
	find . ! -type d -exec sh -c 'for path; do rm -f "$(DESTDIR)/$${path#./}"; done' sh {} + && \
	rm -rf $(python_folders:%="%/__pycache__") && \
	find . -depth -type d \( -path '*/wpool' -o -path '*/wpool/*' -o -name wpool_worker -o -name wpool_celery \) -exec sh -c \
		'for path; do [ ! -d "$(DESTDIR)/$$path" ] || rmdir --ignore-fail-on-non-empty "$(DESTDIR)/$$path"; done' sh {} +

.PHONY: install-docs install-python uninstall
