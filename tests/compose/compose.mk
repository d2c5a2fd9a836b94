# docker-compose.yml with a Docker engine. Included by the Makefile. CHECKS="recreate password" chooses checks.

compose-test:
	@tools/deps compose
	@tests/compose/run $(CHECKS)

.PHONY: compose-test
