# The node: containerd with runc and a bridge, and the kubelet.
# shellcheck shell=bash

readonly CONTAINERD_SOCKET=/run/containerd/containerd.sock
readonly PAUSE_IMAGE=solution.invalid/pause:1

# The nodes trust the registry's authority for their own name of it, and have no login: that is for pull secrets to bring.
write_registry_trust() {
  mkdir -p "$DIR/node/certs.d/$PULL_REGISTRY"
  cat >"$DIR/node/certs.d/$PULL_REGISTRY/hosts.toml" <<TOML
server = "https://$PULL_REGISTRY"
ca = "$DIR/registry/ca/ca.crt"
[host."https://$PULL_REGISTRY"]
  capabilities = ["pull", "resolve"]
  ca = "$DIR/registry/ca/ca.crt"
TOML
}

write_pod_network() {
  mkdir -p "$DIR/node/cni"
  cat >"$DIR/node/cni/10-pods.conflist" <<JSON
{"cniVersion": "1.0.0", "name": "pods", "plugins": [{
  "type": "bridge", "bridge": "cni0", "isGateway": true, "hairpinMode": true,
  "ipam": {"type": "host-local", "ranges": [[{"subnet": "$POD_RANGE"}]], "routes": [{"dst": "0.0.0.0/0"}]}}]}
JSON
}

# restrict_oom_score_adj: without the right to lower that score, as in most containers, no pod could start otherwise.
write_containerd_config() {
  cat >"$DIR/node/containerd.toml" <<TOML
version = 2
root = "$DIR/node/containerd"
state = "/run/containerd"
disabled_plugins = [
  "io.containerd.internal.v1.opt",
  "io.containerd.snapshotter.v1.aufs",
  "io.containerd.snapshotter.v1.btrfs",
  "io.containerd.snapshotter.v1.devmapper",
  "io.containerd.snapshotter.v1.zfs",
]
[grpc]
  address = "$CONTAINERD_SOCKET"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "$PAUSE_IMAGE"
  restrict_oom_score_adj = true
  disable_apparmor = true
  disable_hugetlb_controller = true
  tolerate_missing_hugetlb_controller = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "$DIR/node/cni"
  [plugins."io.containerd.grpc.v1.cri".registry]
    config_path = "$DIR/node/certs.d"
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
      SystemdCgroup = false
TOML
}

start_containerd() {
  write_registry_trust
  write_pod_network
  write_containerd_config
  start containerd containerd --config "$DIR/node/containerd.toml"
}

containerd_answers() { ctr --address "$CONTAINERD_SOCKET" version; }

# The image that holds every pod's namespaces goes straight into containerd: it must be there before any registry is.
import_pause_image() {
  wait_for containerd containerd_answers
  scratch_image "$DIR/node/pause" "$CLUSTER_HOME/images/pause.c" "$PAUSE_IMAGE"
  tar -C "$DIR/node/pause" -cf - . | ctr --address "$CONTAINERD_SOCKET" --namespace k8s.io images import - >/dev/null
}

# There is no DNS: lookups in pods are sent where nothing listens, so that they fail at once. The status is compared every
# two seconds, and written when it has changed: without its own frequency it would be written every time.
write_kubelet_config() {
  : >"$DIR/node/resolv.conf"
  cat >"$DIR/node/kubelet.yaml" <<YAML
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
address: $NODE_IP
healthzBindAddress: 127.0.0.1
authentication: {anonymous: {enabled: false}, webhook: {enabled: true}, x509: {clientCAFile: $DIR/pki/cluster-ca.crt}}
authorization: {mode: Webhook}
tlsCertFile: $DIR/pki/kubelet-server.crt
tlsPrivateKeyFile: $DIR/pki/kubelet-server.key
containerRuntimeEndpoint: unix://$CONTAINERD_SOCKET
cgroupDriver: cgroupfs
failCgroupV1: false
failSwapOn: false
makeIPTablesUtilChains: false
podLogsDir: $DIR/node/pod-logs
volumePluginDir: $DIR/node/volume-plugins
resolvConf: $DIR/node/resolv.conf
clusterDNS: [$NODE_IP]
evictionHard: {memory.available: 50Mi, nodefs.available: 1Mi, imagefs.available: 1Mi, nodefs.inodesFree: "1", imagefs.inodesFree: "1"}
imageGCHighThresholdPercent: 100
imageGCLowThresholdPercent: 99
serializeImagePulls: false
nodeStatusUpdateFrequency: 2s
nodeStatusReportFrequency: 1m
syncFrequency: 5s
YAML
}

start_kubelet() {
  write_kubelet_config
  start kubelet kubelet --config="$DIR/node/kubelet.yaml" --kubeconfig="$DIR/pki/kubelet.kubeconfig" \
    --root-dir="$DIR/node/kubelet" --cert-dir="$DIR/node/kubelet/pki" --hostname-override="$NODE_NAME" --node-ip="$NODE_IP"
}

# Ready and without a taint: a new node carries one for a moment after it is ready, and pods would wait.
node_takes_pods() {
  [ "$(kubectl get node "$NODE_NAME" -o jsonpath='{.status.conditions[?(@.type=="Ready")].status} {.spec.taints}')" = 'True ' ]
}

wait_node() { wait_for kubelet node_takes_pods; }
