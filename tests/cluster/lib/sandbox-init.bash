#!/bin/bash
# The first process of a sandbox, started in new namespaces but still in the caller's cgroup: sets the sandbox up, says
# so by DIR/sandbox/ready, and then only collects the exit states of processes that lost their parent.
set -euo pipefail
DIR=$1
CLUSTER_HOME=$(dirname "$(dirname "$(readlink -f "$0")")")
. "$CLUSTER_HOME/lib/common.bash"
. "$CLUSTER_HOME/lib/sandbox.bash"

# Leaves word of how the outside sees this process, its id and its start (/proc is still the outer one), joins the cgroups
# and becomes itself again in a cgroup namespace that begins there.
enter_cgroups() {
  local stat
  read -r stat </proc/self/stat
  printf '%s %s\n' "${stat%% *}" "$(cut -d ' ' -f 20 <<<"${stat##*) }")" >"$DIR/sandbox/init.pid"
  join_cgroups
  exec unshare --cgroup "$0" "$DIR" in-cgroups
}

mount_cgroups() {
  local controllers
  if is_cgroup_v2; then
    umount -R /sys/fs/cgroup
    mount -t cgroup2 cgroup2 /sys/fs/cgroup
    # A v2 cgroup that holds processes cannot hand controllers down, so they move into a leaf first.
    mkdir /sys/fs/cgroup/init
    echo 0 >/sys/fs/cgroup/init/cgroup.procs
    hand_down_controllers /sys/fs/cgroup
    return
  fi
  umount -R /sys/fs/cgroup
  mount -t tmpfs -o mode=755 cgroup /sys/fs/cgroup
  while IFS=: read -r _ controllers _; do
    case $controllers in
      '' | name=*) continue ;;
    esac
    mkdir "/sys/fs/cgroup/$controllers"
    mount -t cgroup -o "$controllers" cgroup "/sys/fs/cgroup/$controllers"
  done </proc/self/cgroup
}

# Places outside DIR where the programs write: all of them lead into DIR or into memory, in here only.
mount_writable_places() {
  mount -t tmpfs tmpfs /run
  mount --bind "$DIR/sandbox/var-log" /var/log
  mount -t overlay -o "lowerdir=/var/lib,upperdir=$DIR/sandbox/var-lib,workdir=$DIR/sandbox/var-lib-work" overlay /var/lib
  mkdir -p /var/lib/kubelet
  mount -t tmpfs tmpfs /var/lib/kubelet
  mount --bind "$DIR/sandbox/hosts" /etc/hosts
}

# The kubelet sets these three for the whole kernel unless they read as it wants: let them read so, in here only.
hide_kernel_settings() {
  local setting file
  for setting in vm/overcommit_memory=1 kernel/panic=10 kernel/panic_on_oops=1; do
    file=/run/setting-$(basename "${setting%=*}")
    echo "${setting#*=}" >"$file"
    mount --bind "$file" "/proc/sys/${setting%=*}"
  done
}

make_network() {
  ip link set lo up
  ip address add "$API_SERVICE_IP/32" dev lo
  # With an address of its own. A bridge without one takes the lowest of its ports', so the gateway would change its
  # address whenever a pod comes or goes, and pods would send to the old one until their ARP entry expires.
  ip link add cni0 address 0a:58:0a:f4:00:01 type bridge
  ip address add "$NODE_IP/${POD_RANGE#*/}" dev cni0
  ip link set cni0 up
}

[ "${2:-}" = in-cgroups ] || enter_cgroups
mount --make-rprivate /
mount -t proc proc /proc
mount_cgroups
mount_writable_places
hide_kernel_settings
make_network
hostname "$NODE_NAME"
: >"$DIR/sandbox/ready"
while :; do
  sleep 1000 &
  wait $!
done
