# docker-compose.yml with a Docker engine. Included by the Makefile. CHECKS="recreate password" chooses checks.

compose-test:
	@tools/deps compose
	@$(MAKE) --no-print-directory $(BUILD)/wpool samples
	@tests/compose/run $(CHECKS)

.PHONY: compose-test
