# Plumbline: every task that a developer or user runs. `make help` lists them.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
COMMIT ?= $(shell git rev-parse HEAD 2>/dev/null || echo unknown)
LDFLAGS := -s -w -X main.version=$(VERSION) -X main.commit=$(COMMIT)

# Tools are pinned by Go modules of their own, so that nothing need be
# installed globally and their dependencies do not mix with the service's.
TOOL := go tool -modfile=tools/go.mod
LINT := go tool -modfile=tools/lint/go.mod golangci-lint

GRPC_PORT ?= 50051
HTTP_PORT ?= 8080

.PHONY: help
help: ## List the tasks.
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 12

.PHONY: setup
setup: ## Fetch what the service needs at run time: the ONNX Runtime library.
	@go run ./internal/cmd/fetch-onnxruntime

.PHONY: build
build: ## Build bin/plumbline.
	go build -trimpath -ldflags '$(LDFLAGS)' -o bin/plumbline ./cmd/plumbline

.PHONY: run
run: setup build ## Set everything up, start the server and say how to try it.
	exec bin/plumbline serve --grpc-addr :$(GRPC_PORT) --http-addr :$(HTTP_PORT)

.PHONY: test
test: setup ## Set everything up and run all tests, with the race detector.
	go test -race -timeout 30m ./...
	go test -run MemoryStaysFlat -timeout 60m ./models/engine
	client/python/scripts/test

.PHONY: fuzz
fuzz: ## Run every fuzz target for a few seconds (FUZZTIME=10s).
	@scripts/fuzz $(or $(FUZZTIME),10s)

.PHONY: bench
bench: setup ## Run the benchmarks.
	go test -run '^$$' -bench . -benchmem ./...

.PHONY: generate
generate: ## Generate Go and Python from proto/ and verifiers/protocols/.
	scripts/protodeps
	$(TOOL) buf generate
	$(TOOL) buf generate --template buf.gen.protocols.yaml
	scripts/python-venv lint-venv tools/lint/requirements.txt
	.cache/lint-venv/bin/python client/python/scripts/generate

.PHONY: lint
lint: ## Check formatting, layers, schema, generated code, scripts and Dockerfile.
	scripts/lint

.PHONY: format
format: ## Format Go and proto files in place.
	$(LINT) fmt
	scripts/protodeps
	$(TOOL) buf format -w proto
	$(TOOL) buf format -w verifiers/protocols

.PHONY: api-baseline
api-baseline: ## Record the schema that `buf breaking` compares with. Do so at a release.
	scripts/protodeps
	$(TOOL) buf build proto -o proto/baseline.binpb.gz

.PHONY: image-steps
image-steps: ## Run the Dockerfile's steps without a container engine.
	scripts/dockerfile-steps

.PHONY: clean
clean: ## Remove what was built and fetched.
	rm -rf bin .cache
