# Varve: build, test and try out. `make help` lists the targets.

# Variables, to be set on the command line or in the environment:
GO           ?= go
BIN          ?= bin
# Packages to lint.
PKG          ?= ./...
# Flags of `go test`.
TESTFLAGS    ?=
# How long each fuzz target runs.
FUZZTIME     ?= 10s
# Seconds until `make demo` stops by itself; empty: at Ctrl-C.
DEMO_SECONDS ?=
# File for the results of `make bench` as JSON lines; empty: a table only.
BENCH_JSON   ?=
# Where tools, jars and virtual environments are kept, outside of the tree.
VARVE_CACHE  ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/varve

export VARVE_CACHE DEMO_SECONDS BENCH_JSON

# Tools are installed when a target asks for them.
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
	  /^[a-zA-Z0-9_-]+:.*##/ { printf "  \033[36m%-11s\033[0m%s\n", $$1, $$2 } \
	  /^##@/ { printf "\n\033[1m%s\033[0m\n", substr($$0, 5) }' $(MAKEFILE_LIST)

##@ Development

.PHONY: build
build: ## Build bin/varve.
	CGO_ENABLED=0 $(GO) build -trimpath -o $(BIN)/varve ./cmd/varve

.PHONY: generate
generate: ## Generate the DeepCopy methods of the API types.
	$(CONTROLLER_GEN) object:headerFile=hack/boilerplate.go.txt paths=./api/...

# Deadbands and rates are compared with values of PVs, which are floats; hence
# allowDangerousTypes.
.PHONY: manifests
manifests: ## Generate the custom resource definitions.
	$(CONTROLLER_GEN) crd:allowDangerousTypes=true paths=./api/... output:crd:dir=config/crd

.PHONY: fmt
fmt: ## Format the code.
	gofmt -w $$(git ls-files '*.go')

.PHONY: lint
lint: ## Run golangci-lint.
	$(GOLANGCI_LINT) run $(PKG)

.PHONY: verify
verify: ## Check that generated files, formatting and go.mod are up to date.
	hack/verify.sh

##@ Tests

.PHONY: deps
deps: ## Fetch what tests need: EPICS, Python clients and Cassandra.
	hack/venv.sh epics
	hack/venv.sh clients
	hack/cassandra/cassandra.sh fetch

# Packages whose tests run real IOCs or Cassandra in real time: one after another,
# so that they do not starve each other.
REAL = /engine/ca$$|/engine/ioc$$|/store/cassandra$$|/varve/test/

.PHONY: test
test: deps ## Run all tests, with the race detector.
	$(GO) test -race $(TESTFLAGS) $$($(GO) list ./... | grep -Ev '$(REAL)')
	$(GO) test -race -p 1 $(TESTFLAGS) $$($(GO) list ./... | grep -E '$(REAL)')

.PHONY: fuzz
fuzz: ## Run each fuzz target for FUZZTIME.
	hack/fuzz.sh $(FUZZTIME)

.PHONY: bench
bench: ## Run the benchmarks of the whole pipeline and print a table.
	$(GO) run ./test/bench

##@ Try it

.PHONY: demo
demo: build ## Archive a simulated IOC; DEMO_SECONDS=60 ends by itself.
	$(BIN)/varve demo

.PHONY: clean
clean: ## Remove what make built.
	rm -rf $(BIN)
