# The programs of Kubernetes, and Dex: built once out of the Go module proxy and kept outside the checkout under a name that
# says what they were built from, so that another version, another Go or another checkout never meets the wrong ones.
# shellcheck shell=bash

readonly K8S_MODULE=$CLUSTER_HOME/tools/k8s
readonly DEX_MODULE=$CLUSTER_HOME/tools/dex
readonly MONITORING_MODULE=$CLUSTER_HOME/tools/monitoring
readonly GO_AT_LEAST=1.26.8

# The machine's Go when it is new enough, else the one that `install` put into the cache; fails when there is neither.
find_go() {
  local go version
  for go in "$(type -P go)" "$CACHE/go/bin/go"; do
    [ -x "$go" ] || continue
    version=$(GOTOOLCHAIN=local "$go" env GOVERSION) || continue
    if printf '%s\n' "$GO_AT_LEAST" "${version#go}" | sort -CV; then
      printf '%s' "$go"
      return
    fi
  done
  return 1
}

# built_dir NAME MODULE: the directory of the programs of a module, built or not; fails if there is no Go to build them.
built_dir() {
  local go key
  go=$(find_go) || return 1
  key=$(sha256sum < <(cat "$2/go.mod" "$2/go.sum" && GOTOOLCHAIN=local "$go" version))
  printf '%s' "$CACHE/$1-${key:0:16}"
}

programs_dir() { built_dir k8s "$K8S_MODULE"; }

dex_dir() { built_dir dex "$DEX_MODULE"; }

# go_build MODULE PACKAGE LINKER_FLAGS DIR: builds a program of a module into a directory.
go_build() {
  (cd "$1" && CGO_ENABLED=0 GOTOOLCHAIN=local GOWORK=off GOFLAGS='' "$(find_go)" build -p 2 -mod=readonly -trimpath \
    -buildvcs=false -ldflags "-s -w $3" -o "$4/" "$2")
}

kubernetes_version() { awk '$1 == "k8s.io/kubernetes" && $2 ~ /^v1\./ { print $2 }' "$K8S_MODULE/go.mod"; }

# Without these stamps the programs call themselves v0.0.0-master, and clients that read /version stumble over it.
version_stamps() {
  local version minor package
  version=$(kubernetes_version)
  minor=${version#v1.}
  for package in k8s.io/component-base/version k8s.io/client-go/pkg/version; do
    printf -- '-X %s.gitVersion=%s -X %s.gitMajor=1 -X %s.gitMinor=%s -X %s.gitTreeState=archive ' \
      "$package" "$version" "$package" "$package" "${minor%%.*}" "$package"
  done
}

# build_programs DIR: compiles into a directory beside it and renames, so that DIR is either complete or absent.
build_programs() {
  local dir=$1 partial=$1.partial program
  rm -rf "$partial"
  mkdir -p "$partial"
  for program in kube-apiserver kube-controller-manager kube-scheduler kubelet kubectl; do
    say "building $program (all five take 5 to 10 minutes of two cores the first time)"
    go_build "$K8S_MODULE" "k8s.io/kubernetes/cmd/$program" "$(version_stamps)" "$partial"
  done
  [ "$("$partial/kube-apiserver" --version)" = "Kubernetes $(kubernetes_version)" ] || fail "the programs do not know their version"
  mv -T "$partial" "$dir"
}

build_missing_programs() {
  local dir
  dir=$(programs_dir) || fail "no Go $GO_AT_LEAST or newer: run tests/cluster/install"
  [ -d "$dir" ] || build_programs "$dir"
  say "programs: $dir"
}

build_missing_dex() {
  local dir partial
  dir=$(dex_dir) || fail "no Go $GO_AT_LEAST or newer: run tests/cluster/install"
  partial=$dir.partial
  [ ! -d "$dir" ] || return 0
  say 'building dex (5 minutes of two cores the first time)'
  rm -rf "$partial"
  mkdir -p "$partial"
  go_build "$DEX_MODULE" github.com/dexidp/dex/cmd/dex '' "$partial"
  mv -T "$partial" "$dir"
}

# Those definitions of the Prometheus operator that say what is collected, and what is made of it.
readonly MONITORING=(servicemonitors prometheusrules)

# Where the Prometheus operator's custom resource definitions are, or will be.
monitoring_dir() {
  local key
  key=$(sha256sum < <(cat "$MONITORING_MODULE/go.mod" "$MONITORING_MODULE/go.sum" && echo "${MONITORING[@]}"))
  printf '%s' "$CACHE/monitoring-${key:0:16}"
}

# Takes those definitions out of their module.
fetch_monitoring() {
  local dir partial module name
  dir=$(monitoring_dir)
  [ ! -d "$dir" ] || return 0
  partial=$dir.partial
  rm -rf "$partial"
  mkdir -p "$partial"
  module=$(cd "$MONITORING_MODULE" && GOTOOLCHAIN=local GOWORK=off GOFLAGS='' "$(find_go)" mod download -json \
    github.com/prometheus-operator/prometheus-operator | jq -r .Dir)
  for name in "${MONITORING[@]}"; do
    install -m 644 "$module/example/prometheus-operator-crd/monitoring.coreos.com_$name.yaml" "$partial/"
  done
  mv -T "$partial" "$dir"
}

# with_cache_lock COMMAND...: a second one at the same time waits for the first, and finds its results.
with_cache_lock() {
  local lock
  mkdir -p "$CACHE"
  exec {lock}>"$CACHE/lock"
  flock "$lock"
  "$@"
  exec {lock}>&-
}
