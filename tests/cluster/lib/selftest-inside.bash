#!/bin/bash
# The part of the self test that runs inside the sandbox: an image goes in by the importer's name of the registry and
# runs by the nodes' name; every wrong way fails, and says why. usage: selftest-inside.bash OCI_LAYOUT
set -euo pipefail
CLUSTER_HOME=$(dirname "$(dirname "$(readlink -f "$0")")")
. "$CLUSTER_HOME/lib/common.bash"
LAYOUT=$1
AUTHORITY=$(dirname "$SOLUTION_TEST_REGISTRY_CA")
readonly IMAGE=selftest/hello:1 SPACE=selftest

# push REPOSITORY [SKOPEO_OPTION...]
push() {
  local repository=$1
  shift
  skopeo copy -q --dest-cert-dir "$AUTHORITY" "$@" "oci:$LAYOUT:1" "docker://$SOLUTION_TEST_PUSH_REGISTRY/$repository"
}

# refused TEXT COMMAND...: the command must fail with these words.
refused() {
  local words=$1 output
  shift
  if output=$("$@" 2>&1); then fail "must not work: $*"; fi
  grep -qi "$words" <<<"$output" || fail "expected '$words' from '$*', not: $output"
}

check_registry() {
  local gone=docker://$SOLUTION_TEST_PUSH_REGISTRY/selftest/gone:1
  refused 'authentication required\|unauthorized' push $IMAGE --dest-no-creds
  refused x509 push $IMAGE --dest-cert-dir /nowhere
  push $IMAGE
  push selftest/gone:1
  skopeo delete --cert-dir "$AUTHORITY" "$gone"
  refused 'manifest unknown' skopeo inspect --cert-dir "$AUTHORITY" "$gone"
}

# make_pull_secret NAME FILE
make_pull_secret() {
  kubectl create secret generic "$1" -n $SPACE --type=kubernetes.io/dockerconfigjson --from-file=.dockerconfigjson="$2"
}

make_pull_secrets() {
  local wrong
  wrong=$(printf 'node:wrong' | base64)
  kubectl create namespace $SPACE
  make_pull_secret right "$SOLUTION_TEST_PULL_SECRET"
  make_pull_secret wrong <(printf '{"auths":{"%s":{"auth":"%s"}}}' "$SOLUTION_TEST_PULL_REGISTRY" "$wrong")
}

# deploy NAME REGISTRY PULL_SECRET
deploy() {
  kubectl apply -f - <<YAML
apiVersion: apps/v1
kind: Deployment
metadata: {name: $1, namespace: $SPACE}
spec:
  selector: {matchLabels: {app: $1}}
  template:
    metadata: {labels: {app: $1}}
    spec:
      terminationGracePeriodSeconds: 1
      imagePullSecrets: [{name: $3}]
      containers:
      - name: hello
        image: $2/$IMAGE
        imagePullPolicy: Always
        readinessProbe: {httpGet: {path: /, port: 8080}, periodSeconds: 1}
YAML
}

pod_field() { kubectl get pod -n $SPACE -l "app=$1" -o jsonpath="{.items[0].$2}"; }

check_running() {
  kubectl rollout status -n $SPACE deployment/works --timeout=180s
  [ "$(curl -sS --max-time 20 "http://$(pod_field works status.podIP):8080/")" = hello ] || fail "the pod does not answer"
  kubectl logs -n $SPACE deployment/works >/dev/null
}

# The programs of a pod find the API server where the cluster tells them to look.
check_apiserver_from_pod() {
  local address
  address=$(kubectl get service kubernetes -n default -o jsonpath='{.spec.clusterIP}:{.spec.ports[0].port}')
  nsenter --net --target "$(pgrep -x hello)" curl -fsS --max-time 20 --cacert <(kubectl get configmap kube-root-ca.crt \
    -n $SPACE -o jsonpath='{.data.ca\.crt}') "https://$address/version" >/dev/null
}

pull_failures() {
  kubectl get events -n $SPACE -o json |
    jq -r --arg pod "$1-" '.items[] | select((.involvedObject.name | startswith($pod)) and .reason == "Failed") | .message'
}

# no_pull NAME WORDS: it does not run, and its own events say why.
no_pull() {
  says_why() { pull_failures "$1" | grep -q "$2"; }
  wait_until 120 says_why "$1" "$2" || fail "no event of $1 says '$2': $(pull_failures "$1")"
  [ "$(pod_field "$1" 'status.containerStatuses[0].ready')" = false ] || fail "$1 must not run"
}

check_refusals() {
  no_pull wrong-login '401 Unauthorized'
  no_pull no-login '401 Unauthorized'
  no_pull unknown-authority 'certificate signed by unknown authority'
}

deploy_all() {
  deploy works "$SOLUTION_TEST_PULL_REGISTRY" right
  deploy wrong-login "$SOLUTION_TEST_PULL_REGISTRY" wrong
  deploy no-login "$SOLUTION_TEST_PULL_REGISTRY" absent
  deploy unknown-authority "$SOLUTION_TEST_PUSH_REGISTRY" right
}

step 'registry: login, TLS, push, delete' check_registry
step 'pull secrets' make_pull_secrets
step 'four Deployments' deploy_all
step 'the one with everything right answers' check_running
step 'a pod reaches the API server' check_apiserver_from_pod
step 'the other three say why they cannot pull' check_refusals
