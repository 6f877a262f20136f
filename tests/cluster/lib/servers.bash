# What can go wrong with one server of a cluster that is up. Runs inside the sandbox, where process ids mean something.
# shellcheck shell=bash

check_server() { [ -e "$DIR/run/$1.pid" ] || fail "there is no server '$1'"; }

pause_server() { kill -STOP "$(cat "$DIR/run/$1.pid")"; }

continue_server() { kill -CONT "$(cat "$DIR/run/$1.pid")"; }

ended() { ! running "$1"; }

# Asked to end, it would wait a minute for those who watch.
stop_apiserver() {
  kill -KILL "$(cat "$DIR/run/kube-apiserver.pid")"
  wait_until 10 ended kube-apiserver || fail 'kube-apiserver does not end'
}

restart_apiserver() {
  CURRENT_STEP='API server started again'
  running kube-apiserver && stop_apiserver
  start_apiserver
  wait_apiserver
}

# What `cluster server` does.
disturb() {
  local action=$1 name=$2
  check_server "$name"
  case $action-$name in
    pause-*) pause_server "$name" ;;
    continue-*) continue_server "$name" ;;
    stop-kube-apiserver) stop_apiserver ;;
    restart-kube-apiserver) restart_apiserver ;;
    *) fail "'$action' is not possible with '$name'" ;;
  esac
}
