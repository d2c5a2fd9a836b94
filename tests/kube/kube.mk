# The manifests of env/kubernetes. Included by the Makefile. The rules are also a check of `make lint`; the rolling update
# and the restrictions of a pod are tested by tests/system/kubernetes.c.

kube-test:
	@tools/deps kube
	@$(MAKE) --no-print-directory $(BUILD)/wpool
	@tests/kube/run $(BUILD)/wpool

.PHONY: kube-test
