# The sandbox: network, mount, PID, UTS, IPC and cgroup namespaces in which one whole cluster lives. Ports, names and
# paths in it are the same for every cluster, nothing of it is seen outside, and when its first process ends all end.
#
# Everything can be found again from DIR alone, however the start was cut short: `cgroups` lists the sandbox's cgroups
# and is written before the first of them is made, and every process of the sandbox is in them.
# shellcheck shell=bash

is_cgroup_v2() { [ -e /sys/fs/cgroup/cgroup.controllers ]; }

# One line per hierarchy: where the sandbox's cgroup is to be. With cgroup v1 it lies below the caller's own, so that the
# caller's limits still hold; with v2 it lies at the top, because a cgroup that holds processes, as the caller's does,
# cannot hand controllers down.
plan_cgroups() {
  local name controllers path
  name=solution-$(printf '%s' "$DIR" | sha256sum | cut -c 1-12)
  if is_cgroup_v2; then
    printf '%s\n' "/sys/fs/cgroup/$name"
    return
  fi
  while IFS=: read -r _ controllers path; do
    case $controllers in
      '' | name=*) continue ;;
    esac
    printf '%s\n' "/sys/fs/cgroup/$controllers${path%/}/$name"
  done </proc/self/cgroup
}

# A new cpuset of v1 has no processor and no memory, and takes no process until it has.
make_cgroups() {
  local group file
  while read -r group; do
    mkdir "$group"
    for file in cpuset.cpus cpuset.mems; do
      if [ -e "$group/$file" ] && ! is_cgroup_v2; then cat "${group%/*}/$file" >"$group/$file"; fi
    done
  done <"$DIR/sandbox/cgroups"
  if is_cgroup_v2; then hand_down_controllers /sys/fs/cgroup; fi
}

# hand_down_controllers GROUP: lets the children of a v2 cgroup use what a kubelet counts and limits with.
hand_down_controllers() {
  local controller
  for controller in cpu cpuset io memory pids; do
    grep -qw "$controller" "$1/cgroup.controllers" || continue
    echo "+$controller" >"$1/cgroup.subtree_control" || fail "cgroup v2: $1 cannot hand '$controller' down"
  done
}

# Moves this shell into the sandbox's cgroups. With v2 processes live in a leaf of their own, `init`.
join_cgroups() {
  local group
  while read -r group; do
    if [ -d "$group/init" ]; then group=$group/init; fi
    echo 0 >"$group/cgroup.procs"
  done <"$DIR/sandbox/cgroups"
}

sandbox_up() {
  mkdir -p "$DIR/sandbox"/{var-lib,var-lib-work,var-log} "$DIR"/{logs,run}
  cat >"$DIR/sandbox/hosts" <<HOSTS
127.0.0.1 localhost
$NODE_IP $NODE_NAME ${PUSH_REGISTRY%:*} ${PULL_REGISTRY%:*}
HOSTS
  plan_cgroups >"$DIR/sandbox/cgroups"
  make_cgroups
  setsid unshare --net --mount --pid --uts --ipc --fork --kill-child \
    bash "$CLUSTER_HOME/lib/sandbox-init.bash" "$DIR" >"$DIR/logs/sandbox.log" 2>&1 </dev/null &
  if wait_until 60 test -e "$DIR/sandbox/ready"; then return; fi
  cat "$DIR/logs/sandbox.log" >&2
  fail "the sandbox did not come up"
}

# The sandbox's first process as seen from outside; fails when it is gone. A process id alone could be somebody else's by
# now, so the time at which it started is compared as well.
sandbox_first_process() {
  local pid began stat
  read -r pid began 2>/dev/null <"$DIR/sandbox/init.pid" || return 1
  stat=$(cat "/proc/$pid/stat" 2>/dev/null) || return 1
  [ "$(cut -d ' ' -f 20 <<<"${stat##*) }")" = "$began" ] && printf '%d' "$pid"
}

# The same, when the sandbox can be entered: a process that is just ending has no namespaces any more.
sandbox_pid() {
  local pid
  [ -e "$DIR/sandbox/ready" ] && pid=$(sandbox_first_process) && readlink "/proc/$pid/ns/net" >/dev/null && printf '%d' "$pid"
}

sandbox_ended() { ! sandbox_first_process; }

# enter COMMAND...: becomes a command inside the sandbox, in the same working directory.
enter() {
  local pid
  pid=$(sandbox_pid) || fail "$DIR is not up"
  join_cgroups
  # shellcheck disable=SC2016  # expanded by the inner shell
  exec nsenter --net --mount --pid --uts --ipc --cgroup --target "$pid" \
    bash -c 'cd "$0" && exec "$@"' "$PWD" "$@"
}

# Every process in the sandbox's cgroups and those below.
sandbox_processes() {
  local group
  while read -r group; do
    [ -d "$group" ] && find "$group" -name cgroup.procs -exec cat {} + 2>/dev/null
  done <"$DIR/sandbox/cgroups" | sort -un
}

kill_sandbox_processes() {
  local processes
  processes=$(sandbox_processes)
  [ -n "$processes" ] || return 0
  # shellcheck disable=SC2086  # one word per process
  kill -9 $processes 2>/dev/null
  return 1
}

remove_cgroups() {
  local group
  while read -r group; do
    [ -d "$group" ] || continue
    find "$group" -depth -type d -exec rmdir {} + 2>/dev/null
    [ ! -d "$group" ] || return 1
  done <"$DIR/sandbox/cgroups"
}

# Ends the sandbox, or what is left of one. Its mounts and its network end with the last process.
sandbox_down() {
  [ -e "$DIR/sandbox/cgroups" ] || return 0
  wait_until 20 kill_sandbox_processes || fail "processes that cannot be ended: $(sandbox_processes | tr '\n' ' ')"
  wait_until 20 sandbox_ended || fail "the first process of the sandbox does not end: $(sandbox_first_process)"
  wait_until 10 remove_cgroups || fail "cgroups that cannot be removed: $(tr '\n' ' ' <"$DIR/sandbox/cgroups")"
}
