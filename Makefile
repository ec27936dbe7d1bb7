# SPDX-License-Identifier: Apache-2.0
#
# The commands for this tree. Recipes are plain POSIX shell; longer ones are scripts in hack/.

SHELL := /bin/sh
.DEFAULT_GOAL := help
.SUFFIXES:

COMMIT  := $(shell git rev-parse --short=12 HEAD 2>/dev/null || echo unknown)
# Programs and images of a work tree with changes get this suffix. Both need the same version: hostctl join asks for the image of its own.
DIRTY   := $(if $(shell git status --porcelain 2>/dev/null | head -n 1),.dirty)
# The time of the commit is part of the version, so that builds have an order.
VERSION ?= v0.0.0-dev.$(shell TZ=UTC git log -1 --format=%cd --date=format-local:%Y%m%d%H%M%S 2>/dev/null || echo 0)+$(COMMIT)$(DIRTY)
LDFLAGS := -s -w -X github.com/fairlead-dev/fairlead/internal/version.Version=$(VERSION)

# Variables of make e2e, make crash, make fuzz, make bench, make skew, make images, make release and make kind-node.
PROVIDER ?= sandbox
FOCUS    ?=
FLEETS   ?=
KEEP     ?=
SEED     ?=
TIME     ?= 30s
OUT      ?=
WORKS    ?=
PROFILE  ?=
PEER     ?=
OBJECTS  ?=
PUSH     ?=
CP       ?=
KUBERNETES ?=
OLD      ?=
export PROVIDER FOCUS FLEETS KEEP SEED TIME OUT WORKS PROFILE PEER OBJECTS PUSH CP KUBERNETES OLD

##@ Look

.PHONY: help
help: ## Show this help
	@awk 'BEGIN { FS = ":.*## " } \
		/^##@/ { printf "\n%s\n", substr($$0, 5) } \
		/^[a-z0-9-]+:.*## / { printf "  %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
	@echo
	@echo "Begin with: make demo"

.PHONY: demo
demo: build ## Bring up a host and three members on this machine and show what Fairlead does (first run 10 to 15 minutes)
	hack/demo.sh

.PHONY: demo-down
demo-down: build ## Take the demo down; only the built control planes stay on disk
	bin/hostctl sandbox down

##@ Build

.PHONY: build
build: ## Build hostctl, manager and collector into bin/
	@mkdir -p bin
	@set -e; for main in cmd/*/main.go; do \
		name=$$(basename "$$(dirname "$$main")"); \
		echo "• bin/$$name"; \
		CGO_ENABLED=0 go build -trimpath -ldflags "$(LDFLAGS)" -o "bin/$$name" "./cmd/$$name"; \
	done

.PHONY: images
images: ## Build container images into _artifacts/images, and push them [PUSH=REGISTRY/PREFIX]
	VERSION="$(VERSION)" hack/images.sh

.PHONY: release
release: ## Build all files of a release; tags and publishes nothing: VERSION=v0.1.0 [OUT=dist]
	go run ./hack/release -version "$(if $(filter file,$(origin VERSION)),,$(VERSION))" -out "$(or $(OUT),dist)"

.PHONY: kind-node
kind-node: ## Build a node image for kind from Debian packages and Go modules; needs root and Debian 12 [CP=DIR] [KUBERNETES=v1.35.4]
	hack/kind-node.sh

.PHONY: generate
generate: ## Generate deep copies and CRDs from the Go types, and the chart's copies of config/
	hack/generate.sh

##@ Check

.PHONY: test
test: build ## Run all tests: unit, integration on real API servers, end-to-end on the sandbox (tens of minutes)
	SEED= hack/test.sh
	PROVIDER=sandbox FOCUS= FLEETS= KEEP= hack/e2e.sh

.PHONY: e2e
e2e: build ## Run the end-to-end suite [PROVIDER=sandbox|kind] [FOCUS=REGEX] [FLEETS=N] [KEEP=1]
	VERSION="$(VERSION)" hack/e2e.sh

.PHONY: crash
crash: ## Kill manager and collector at every client call, and compare the end state with a model [SEED=N]
	hack/crash.sh

.PHONY: bench
bench: build ## Measure what Fairlead costs, alone or beside a peer [PEER=kubefed] [OUT=F.json] [WORKS=W1,…] [PROFILE=1]
	hack/bench.sh

.PHONY: skew
skew: build ## Upgrade a fleet from an earlier version and back while users write [OLD=COMMIT] [PROVIDER=sandbox|kind] [KEEP=1]
	VERSION="$(VERSION)" hack/skew.sh

.PHONY: fuzz
fuzz: ## Run every fuzz target, each for TIME [TIME=30s]
	hack/fuzz.sh

.PHONY: lint
lint: ## Run the linters, with the rules for imports and for Kubernetes API types
	"$$(hack/tool.sh golangci-lint)" run ./...

.PHONY: verify
verify: ## Check generated files, modules, licenses and formatting, and that everything builds
	hack/verify.sh

.PHONY: vuln
vuln: ## Look for known vulnerabilities in the code that the programs call (asks vuln.go.dev)
	"$$(hack/tool.sh govulncheck)" ./...
