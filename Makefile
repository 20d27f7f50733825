# Varve: build, test and try out. `make help` lists the targets.

# Variables, to be set on the command line or in the environment:
GO           ?= go
BIN          ?= bin
# Packages to lint and to test.
PKG          ?= ./...
# Flags of `go test`.
TESTFLAGS    ?=
# FUZZTIME is the time for which each fuzz target runs, or its number of inputs, such as 20000x.
# Only the fuzz targets below the folder FUZZDIR run.
FUZZTIME     ?= 10s
FUZZDIR      ?= .
# Seconds until `make demo` stops by itself. Empty: it runs until Ctrl-C.
DEMO_SECONDS ?=
# File for the results of `make bench` as JSON lines. Empty: it prints only a table.
BENCH_JSON   ?=
# Version and name of the container image.
ifndef VERSION
VERSION      := $(or $(shell git describe --tags --always --dirty 2>/dev/null),devel)
endif
IMG          ?= localhost/varve:$(VERSION)
# Label filter of Ginkgo for the specs that `make e2e` runs. Empty: all specs.
LABELS       ?=
# Settings of `make e2e-elasticity`. FAULT selects specs by their labels, such as "kill || scale".
# REDUNDANCY selects the specs with redundancy 1 or 2. Empty: all specs. RATE is the load in
# samples/s. REPORT is a file that gets one line per fault.
FAULT        ?=
REDUNDANCY   ?=
RATE         ?= 2000
REPORT       ?=
# Settings of `make soak`, together with REDUNDANCY (2), RATE (10000) and REPORT. SEED determines
# the order of faults; without it, each run has another order. DURATION is how long faults happen.
# If TEST_BUILD is 1, the engines run a build whose clocks change and that seals every minute.
SEED         ?=
DURATION     ?= 5m
TEST_BUILD   ?=
# If RACE is 1, `make test` uses the race detector.
RACE         ?=
# Number of nodes of a test cluster.
NODES        ?= 3
# Folder for tools, jars and virtual environments, outside of the tree.
VARVE_CACHE  ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/varve

IMAGE_FILE = $(BIN)/varve-image.tar
REVISION  := $(or $(shell git rev-parse HEAD 2>/dev/null),unknown)

export VARVE_CACHE DEMO_SECONDS BENCH_JSON

# A tool is installed when a target needs it.
CONTROLLER_GEN = $$(hack/tools.sh controller-gen)
GOLANGCI_LINT  = $$(hack/tools.sh golangci-lint)

.DEFAULT_GOAL := all
.DELETE_ON_ERROR:

##@ General

.PHONY: all
all: build lint test ## Build, lint and test.

.PHONY: help
help: ## Show this help.
	@awk 'BEGIN { FS = ":.*##"; printf "Usage: make \033[36m<target>\033[0m\n" } \
	  /^[a-zA-Z0-9_-]+:.*##/ { printf "  \033[36m%-17s \033[0m%s\n", $$1, $$2 } \
	  /^##@/ { printf "\n\033[1m%s\033[0m\n", substr($$0, 5) }' $(MAKEFILE_LIST)

##@ Development

.PHONY: build
build: ## Build bin/varve.
	CGO_ENABLED=0 $(GO) build -trimpath -o $(BIN)/varve ./cmd/varve

# Without Docker, hack/image writes the same image. GOARCH is the architecture of the image.
.PHONY: image
image: ## Build the container image IMG, and save it in bin/varve-image.tar.
	@mkdir -p $(BIN)/linux
	@if docker info >/dev/null 2>&1; then \
	  docker build --platform "linux/$$($(GO) env GOARCH)" \
	    --build-arg "VERSION=$(VERSION)" --build-arg "REVISION=$(REVISION)" --tag "$(IMG)" . && \
	  docker save --output $(IMAGE_FILE) "$(IMG)"; \
	else \
	  GOOS=linux CGO_ENABLED=0 $(GO) build -trimpath -ldflags='-s -w' -o $(BIN)/linux/varve ./cmd/varve && \
	  GOARCH= $(GO) run ./hack/image -o $(IMAGE_FILE) -tag "$(IMG)" -arch "$$($(GO) env GOARCH)" \
	    -entrypoint /varve -add $(BIN)/linux/varve:/varve \
	    -label org.opencontainers.image.title=varve \
	    -label "org.opencontainers.image.version=$(VERSION)" -label "org.opencontainers.image.revision=$(REVISION)"; \
	fi
	@echo "$(IMG) is in $(IMAGE_FILE). To load it:"
	@echo "  hack/cluster/cluster.sh load $(IMAGE_FILE)        the test cluster"
	@echo "  ctr -n k8s.io images import $(IMAGE_FILE)         a node with containerd"
	@echo "  docker load -i $(IMAGE_FILE)                      Docker; then tag and push it"

# A release contains only what is in a commit. `make release-sign` needs KEY, a private key of
# `cosign generate-key-pair`, and its password in COSIGN_PASSWORD; `make release-verify` the public key.
RELEASE = $(BIN)/release/$(VERSION)

.PHONY: release
release: ## Build a release into bin/release/VERSION: programs, image, charts, SBOMs; VERSION=v1.2.3.
	@test -z "$$(git status --porcelain)" || { echo "release: commit or remove these files first:"; git status --short; exit 1; }
	$(GO) run ./hack/release build -version "$(VERSION)" -revision "$(REVISION)" -time "$$(git log -1 --format=%ct)" \
	  -cyclonedx-gomod "$$(hack/tools.sh cyclonedx-gomod)" -helm "$$(hack/tools.sh helm)" $(RELEASE)

.PHONY: release-sign
release-sign: ## Sign the release VERSION with cosign; KEY=cosign.key.
	$(GO) run ./hack/release sign -cosign "$$(hack/tools.sh cosign)" -key "$(KEY)" $(BUILDER:%=-builder %) $(RELEASE)

.PHONY: release-verify
release-verify: ## Check sums, signatures, SBOMs and provenance of the release VERSION; KEY=cosign.pub.
	$(GO) run ./hack/release verify -cosign "$$(hack/tools.sh cosign)" -key "$(KEY)" $(RELEASE)

.PHONY: release-push
release-push: ## Copy the release VERSION to a registry; TO=registry.example.org/controls.
	$(GO) run ./hack/release push -to "$(TO)" $(RELEASE)

.PHONY: generate
generate: ## Generate the DeepCopy methods of the API types, the methods of store.Pending, openapi.json, and dashboards.
	$(CONTROLLER_GEN) object:headerFile=hack/boilerplate.go.txt paths=./api/...
	$(GO) run ./hack/pending
	$(GO) run ./hack/openapi
	$(GO) run ./hack/dashboards

# Deadbands and rates are floats, like the values of PVs. controller-gen accepts floats only with
# allowDangerousTypes.
.PHONY: manifests
manifests: ## Generate the CRDs, the operator's RBAC rules, and the files that depend on them.
	$(CONTROLLER_GEN) crd:allowDangerousTypes=true paths=./api/... output:crd:dir=charts/varve-operator/files/crds
	$(CONTROLLER_GEN) rbac:roleName=varve-operator paths=./controllers/... output:rbac:dir=config/rbac
	hack/charts.sh
	$(GO) run ./hack/apiref
	$(GO) run ./hack/jsonschema

# The bundle is committed, so that `go build` needs no Node.
.PHONY: ui
ui: ## Build the web UI into the folder that the program embeds; needs Node and npm.
	hack/ui.sh build

.PHONY: ui-dev
ui-dev: ## Serve the web UI with reload, against the archive VARVE_URL.
	hack/ui.sh dev

.PHONY: fmt
fmt: ## Format the code.
	gofmt -w $$(git ls-files '*.go')

.PHONY: lint
lint: ## Run golangci-lint.
	$(GOLANGCI_LINT) run $(PKG)

# It needs the network: the database is at https://vuln.go.dev (VULNDB is another one).
.PHONY: vulncheck
vulncheck: ## Look up known vulnerabilities of the code that Varve calls, in Go's database.
	$$(hack/tools.sh govulncheck) $(VULNDB:%=-db %) ./...

.PHONY: verify
verify: ## Check that generated files, formatting and go.mod are up to date.
	SINGLE="$(SINGLE)" hack/verify.sh

##@ Tests

.PHONY: alerts
alerts: ## Test the alerts with promtool, whose build takes minutes; `make test` has the same cases without it.
	$$(hack/tools.sh promtool) test rules test/alerts/testdata/alerts.test.yaml

.PHONY: deps
deps: ## Fetch what tests need: EPICS, Python clients, Cassandra, Kubernetes, Helm, Dex.
	@$(MAKE) --no-print-directory --jobs=3 fetch-epics fetch-clients fetch-cassandra build-kubernetes build-tools

# Downloads run beside the builds, which need the processors for minutes on a fresh machine.
.PHONY: fetch-epics fetch-clients fetch-cassandra build-kubernetes build-tools
fetch-epics: ; hack/venv.sh epics
fetch-clients: ; hack/venv.sh clients
fetch-cassandra: ; hack/cassandra/cassandra.sh fetch
build-kubernetes: ; hack/cluster/cluster.sh assets
build-tools: ; hack/tools.sh helm && hack/tools.sh dex

# Tests whose names begin with TestLong_ take minutes. They test the types of every server,
# thousands of seeds, and Cassandra nodes that fail and return.
LONG = TestLong_

# `make test RACE=1` tests these packages without the race detector. They and their tests start no
# goroutine, which `make verify` checks, so the detector finds nothing in them. It makes them take five
# times as long.
SINGLE = ./agent/handover ./api/v1alpha1 ./charts ./cluster/moves ./controllers/archiverstatus ./controllers/backup/plan \
  ./controllers/figures ./controllers/groupstatus ./controllers/placement ./controllers/placement/simulate \
  ./controllers/policy ./controllers/render ./engine/block ./engine/ca/proto ./engine/change ./engine/checksum \
  ./engine/condition ./engine/destination ./engine/growth ./engine/layout ./engine/migration/csvfile ./engine/moment \
  ./engine/pbfile ./engine/policy ./engine/postprocess ./engine/pva/proto ./engine/pvname ./engine/rollup \
  ./engine/sample ./engine/serve/absence ./engine/serve/promapi ./engine/serve/request ./engine/serve/table ./engine/serve/why \
  ./engine/serve/value ./engine/upstream/compare ./groups/channellist ./groups/compile \
  ./groups/migration ./groups/ownership ./groups/plan ./groups/requests ./groups/sources ./groups/summary ./groups/validate \
  ./hack/apiref ./hack/charts ./hack/image ./hack/jsonschema ./hack/pending ./ioc/sim ./test/alerts ./test/charts ./test/handover ./test/soak

# The tests of these packages run the built program, in which no race is detected.
PROGRAM = ./test/protocols ./test/standalone

.PHONY: test
test: deps ## Run the tests that every edit needs; RACE=1 adds the race detector, as CI does.
	RACE="$(RACE)" PLAIN="$(SINGLE) $(PROGRAM)" hack/test.sh -skip '^$(LONG)' $(TESTFLAGS) $(PKG)

# The long tests repeat the paths of the short tests for longer, so they run without the race detector.
# Some packages start three Cassandra nodes, so three packages at most are tested at a time.
.PHONY: test-long
test-long: deps ## Run only the tests that take minutes each.
	PARALLEL=3 NAMED=$(LONG) hack/test.sh -run '^$(LONG)' $(TESTFLAGS) $(PKG)
	$(GO) run -trimpath ./test/handover/explore

.PHONY: test-all
test-all: test test-long ## Run all tests.

.PHONY: ui-test
ui-test: ## Test the web UI in Chromium, which hack/chromium.sh installs.
	hack/test.sh $(TESTFLAGS) ./test/ui

.PHONY: e2e
e2e: image cluster-up ## Run the end-to-end tests on a cluster, which stays up; LABELS=smoke runs some.
	hack/cluster/e2e.sh $(IMG) $(IMAGE_FILE) "$(LABELS)" $(TESTFLAGS)

.PHONY: e2e-smoke
e2e-smoke: ## Run the end-to-end tests that CI runs.
	$(MAKE) e2e LABELS=smoke

# FAULTS is a label filter of Ginkgo, such as (kill) && redundancy-1.
FAULTS = $(if $(FAULT),($(FAULT)))$(if $(and $(FAULT),$(REDUNDANCY)), && )$(REDUNDANCY:%=redundancy-%)

.PHONY: e2e-elasticity
e2e-elasticity: image cluster-up ## Inject faults and account for every sample; FAULT=kill injects one fault.
	SUITE=test/e2e/elasticity VARVE_RATE=$(RATE) VARVE_REPORT="$(abspath $(REPORT))" \
	  hack/cluster/e2e.sh $(IMG) $(IMAGE_FILE) "$(FAULTS)" $(TESTFLAGS)

.PHONY: soak
soak: RATE = 10000
soak: SOAK_IMG = $(IMG)$(if $(TEST_BUILD),-soak)
soak: SOAK_FILE = $(if $(TEST_BUILD),$(BIN)/varve-soak-image.tar,$(IMAGE_FILE))
soak: $(if $(TEST_BUILD),soak-image,image) cluster-up ## Inject random faults for DURATION and account for every sample; SEED=7 repeats a run.
	SUITE=test/e2e/elasticity TIMEOUT=24h VARVE_SOAK=$(DURATION) VARVE_SEED=$(SEED) VARVE_RATE=$(RATE) \
	  VARVE_REDUNDANCY=$(or $(REDUNDANCY),2) VARVE_REPORT="$(abspath $(REPORT))" VARVE_TEST_BUILD=$(TEST_BUILD) \
	  hack/cluster/e2e.sh $(SOAK_IMG) $(SOAK_FILE) soak $(TESTFLAGS)

.PHONY: soak-image
soak-image:
	hack/soak/build.sh $(BIN)/soak/varve
	GOARCH= $(GO) run ./hack/image -o $(BIN)/varve-soak-image.tar -tag "$(IMG)-soak" -arch "$$($(GO) env GOARCH)" \
	  -entrypoint /varve -add $(BIN)/soak/varve:/varve

.PHONY: cluster-up
cluster-up: ## Start a Kubernetes cluster of NODES nodes for tests.
	hack/cluster/cluster.sh up $(NODES)

.PHONY: cluster-down
cluster-down: ## Stop the test cluster.
	hack/cluster/cluster.sh down

.PHONY: fuzz
fuzz: ## Run each fuzz target below FUZZDIR for FUZZTIME.
	hack/fuzz.sh $(FUZZTIME) $(FUZZDIR)

.PHONY: bench
bench: ## Run the benchmarks of the whole pipeline and print a table.
	$(GO) run ./test/bench

##@ Try it

.PHONY: demo
demo: build ## Archive a simulated IOC; DEMO_SECONDS=60 stops after 60 s.
	$(BIN)/varve demo

.PHONY: demo-cluster
demo-cluster: build image ## Archive a real IOC in Cassandra, on a Kubernetes cluster.
	hack/demo-cluster.sh up $(IMG) $(IMAGE_FILE)

.PHONY: demo-cluster-down
demo-cluster-down: ## Stop the demo and its cluster.
	hack/demo-cluster.sh down

.PHONY: clean
clean: ## Remove the folder of built programs.
	rm -rf $(BIN)
