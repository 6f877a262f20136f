# Everything that is checked, built and shown. CI calls `make test` and nothing else.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

FUZZ_SECONDS ?= 30
# What packages are made for: this machine, or aarch64-unknown-linux-gnu, x86_64-unknown-linux-gnu.
TARGET ?= $(shell rustc -vV | sed -n 's/^host: //p')
# The suites that need programs or a cluster: cargo does not count them among all targets.
SUITES = charts cluster devices docker_registry foreign helm interop kernel openssl real reference remote signed skopeo

.PHONY: help check test tools test-interop test-kernel test-registry test-cluster test-hostile fuzz helm console-solution book \
    demo demo-down dist dist-tools dist-compare bench clean

help: ## List the recipes
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/make \1	\2/p' $(MAKEFILE_LIST) | column -t -s '	'

check: ## Format, lints, hermetic tests, docs: no root, no network, no servers
	cargo fmt --all --check
	rustfmt --edition 2024 --check fuzz/src/lib.rs fuzz/fuzz_targets/*.rs
	cargo clippy --workspace --all-targets --all-features --quiet -- -D warnings
	cargo clippy --workspace --all-features --quiet $(SUITES:%=--test %) -- -D warnings
	cargo test --workspace
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --quiet

test: ## Everything: installs what it needs (as root), then all tests against real programs
	FUZZ_SECONDS=6 scripts/tiers tools check book test-interop test-kernel test-registry test-cluster test-hostile

tools: ## Install the programs that judge archives, the kernel's machine, and the test cluster's parts
	scripts/install-tools

test-interop: ## Foreign programs judge keys, images and archives
	cargo test --workspace --test charts --test foreign --test helm --test reference --test openssl --test signed \
	    --test skopeo --test interop

test-kernel: ## Debian's kernel mounts archives in an emulated machine, and this one by `solution archive mount` (as root)
	cargo test --workspace --test kernel

test-registry: ## Pushing and pulling against a real registry, and packing from it and from podman
	cargo test --workspace --test docker_registry --test remote

test-cluster: ## Pack, validate and import into a real Kubernetes
	scripts/test-cluster

test-hostile: fuzz ## All fuzz targets, then twenty thousand variants of an archive, and forgeries
	SOLUTION_TEST_VARIANTS=22000 cargo test --workspace --test hostile --test devices

fuzz: ## Fuzz every reader of hostile input for FUZZ_SECONDS (30) each
	scripts/fuzz $(FUZZ_SECONDS)

helm: ## Helm 4, where `cargo build --release` builds the program that uses it (TARGET=)
	scripts/helm $(TARGET) target/$(TARGET)/release

console-solution: ## The web console as a Solution, from a release build, in target/console (KEY= to sign)
	scripts/console-solution $(TARGET)

book: ## The documents as a book, in target/book, and as one page, target/solution.html
	scripts/book

demo: ## The main job from nothing: start a cluster, pack, validate, import, show the pods
	@scripts/demo

demo-down: ## Stop what the demo left running
	@scripts/demo down

dist: ## What is shipped, in target/packages: .deb, .rpm, tarball, OCI image, web console, checksums (TARGET=, KEY= to sign)
	scripts/dist-build $(TARGET)
	scripts/dist-packages $(TARGET)

dist-tools: ## Install what makes packages; Go is a package of the distribution
	scripts/book
	cargo install --locked --features cli cargo-about@0.9.3
	cargo install --locked cargo-deb@3.8.0 cargo-generate-rpm@0.21.1

dist-compare: ## Whether two builds in two folders make the same packages
	scripts/dist-compare $(TARGET)

bench: ## Measure pack, validate and import of 2 GB of layers, beside cp and sha256sum
	@scripts/bench

clean: ## Remove what was built
	cargo clean
