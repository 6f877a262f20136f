# What every part of the test cluster uses: where things are, messages, steps with their time, keeping servers.
# shellcheck shell=bash

readonly CLUSTER_HOME=${CLUSTER_HOME:?the directory of the cluster script}
CACHE=${SOLUTION_TEST_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/solution-tests}
readonly CACHE

# The one network of the sandbox. The node's address is the bridge's, where pods find their gateway; the API server also
# answers on the first address of the service range, which pods are told, so that no kube-proxy is needed.
readonly NODE_IP=10.244.0.1
readonly POD_RANGE=10.244.0.0/24
readonly API_SERVICE_IP=10.96.0.1
readonly SERVICE_RANGE=10.96.0.0/24
readonly API_PORT=443
readonly NODE_NAME=node1

# One registry under two names, as at sites where administrators and nodes reach it by different ways.
readonly REGISTRY_PORT=5443
readonly PUSH_REGISTRY=registry.admin.test:$REGISTRY_PORT
readonly PULL_REGISTRY=registry.nodes.test:$REGISTRY_PORT

# The OpenID Connect issuer whose ID tokens the API server accepts. Tests start it.
readonly ISSUER=https://$NODE_IP:5556/dex

say() { printf '%s\n' "$*" >&2; }

fail() {
  say "cluster: $*"
  exit 1
}

# Milliseconds since the machine started: not moved when somebody sets the clock.
now_ms() {
  local up
  read -r up _ </proc/uptime
  printf '%d' "$((10#${up/./} * 10))"
}

# step NAME COMMAND...: runs the command in this shell and prints how long it took; NAME is what a failure is blamed on.
step() {
  local name=$1 began took
  CURRENT_STEP=$name
  shift
  began=$(now_ms)
  "$@"
  took=$(($(now_ms) - began))
  printf '%3d.%02d s  %s\n' $((took / 1000)) $((took % 1000 / 10)) "$name" >&2
}

# wait_until SECONDS COMMAND...: runs the command ten times a second until it succeeds; 1 when the time is over.
wait_until() {
  local deadline=$(($(now_ms) + $1 * 1000))
  shift
  until "$@" >/dev/null 2>&1; do
    [ "$(now_ms)" -lt "$deadline" ] || return 1
    sleep 0.1
  done
}

# start NAME COMMAND...: runs a server in the background, its output in logs/NAME.log.
start() {
  local name=$1
  shift
  setsid "$@" >"$DIR/logs/$name.log" 2>&1 </dev/null &
  printf '%d\n' $! >"$DIR/run/$name.pid"
}

running() { kill -0 "$(cat "$DIR/run/$1.pid")" 2>/dev/null; }

# wait_for NAME COMMAND...: waits until the command succeeds, which server NAME has to bring about. A server that has ended
# is noticed at once, so this can be patient with slow machines. A failure shows the end of the server's log, where the
# reason nearly always is.
wait_for() {
  local name=$1 patience=180
  shift
  ready_or_dead() { "$@" || ! running "$name"; }
  if wait_until $patience ready_or_dead "$@" && "$@" >/dev/null 2>&1; then return; fi
  say "--- the end of $DIR/logs/$name.log"
  tail -n 15 "$DIR/logs/$name.log" | cut -c 1-400 >&2
  say '---'
  running "$name" || fail "'$CURRENT_STEP': $name has ended"
  fail "'$CURRENT_STEP': not there after $patience s"
}
