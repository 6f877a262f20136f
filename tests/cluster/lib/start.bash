#!/bin/bash
# Runs inside the sandbox: starts everything, in an order in which nothing waits that could already work.
set -euo pipefail
DIR=$1
CLUSTER_HOME=$(dirname "$(dirname "$(readlink -f "$0")")")
for part in common pki registry control-plane image node; do
  . "$CLUSTER_HOME/lib/$part.bash"
done

start_stores() {
  start_etcd
  start_apiserver
  start_registry
  start_containerd
}

start_rest() {
  start_controllers
  start_kubelet
}

# What a test may leave behind and must not: whatever of these kinds is not in this list.
note_baseline() {
  kubectl get namespaces,customresourcedefinitions,clusterroles,clusterrolebindings,serviceaccounts --namespace default \
    --output name >"$DIR/run/baseline"
}

step 'keys and certificates' make_pki
step 'registry set up' make_registry
export KUBECONFIG=$DIR/pki/admin.kubeconfig
step 'etcd, API server, registry, containerd started' start_stores
step 'pause image in containerd' import_pause_image
step 'registry answers' wait_registry
step 'API server ready' wait_apiserver
step 'controllers, scheduler, kubelet started' start_rest
step 'default ServiceAccount made' wait_controllers
step 'node ready' wait_node
step 'start noted' note_baseline
