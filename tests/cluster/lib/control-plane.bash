# etcd, the API server, the controller manager and the scheduler.
# shellcheck shell=bash

# Without fsync: what is in it is worth nothing after a crash.
start_etcd() {
  local client=http://127.0.0.1:2379 peer=http://127.0.0.1:2380
  start etcd etcd --data-dir "$DIR/etcd" --unsafe-no-fsync --logger zap --log-level warn \
    --listen-client-urls "$client" --advertise-client-urls "$client" \
    --listen-peer-urls "$peer" --initial-advertise-peer-urls "$peer" --initial-cluster "default=$peer"
}

# The issuer need not answer while the API server starts: it is asked again every ten seconds.
write_authentication_config() {
  cat >"$DIR/pki/authentication.yaml" <<YAML
apiVersion: apiserver.config.k8s.io/v1
kind: AuthenticationConfiguration
jwt:
- issuer:
    url: $ISSUER
    audiences: [solution-console]
    certificateAuthority: |
$(sed 's/^/      /' "$DIR/pki/dex-ca.crt")
  claimMappings:
    username: {claim: email, prefix: 'oidc:'}
    groups: {claim: groups, prefix: 'oidc:'}
YAML
}

# The request headers name an authority only because the other programs complain for ever when there is none.
# It listens on every address of the sandbox, so that pods reach it at the address of the Service `kubernetes` too.
# Nothing answers at the addresses of other Services: it asks the pods behind them, when a webhook or an APIService names one.
# Priorities among its few clients would take a third of what it spends while it is idle.
start_apiserver() {
  local pki=$DIR/pki
  write_authentication_config
  start kube-apiserver kube-apiserver --etcd-servers=http://127.0.0.1:2379 \
    --bind-address=0.0.0.0 --secure-port="$API_PORT" --advertise-address="$NODE_IP" --endpoint-reconciler-type=none \
    --tls-cert-file="$pki/kube-apiserver.crt" --tls-private-key-file="$pki/kube-apiserver.key" \
    --client-ca-file="$pki/cluster-ca.crt" --service-cluster-ip-range="$SERVICE_RANGE" --allow-privileged=true \
    --profiling=false --enable-priority-and-fairness=false \
    --requestheader-client-ca-file="$pki/cluster-ca.crt" --requestheader-allowed-names=front-proxy \
    --requestheader-username-headers=X-Remote-User --requestheader-group-headers=X-Remote-Group \
    --requestheader-extra-headers-prefix=X-Remote-Extra- \
    --authentication-config="$pki/authentication.yaml" \
    --authorization-mode=Node,RBAC --enable-admission-plugins=NodeRestriction --enable-aggregator-routing=true \
    --service-account-issuer=https://kubernetes.default.svc \
    --service-account-key-file="$pki/service-accounts.key" --service-account-signing-key-file="$pki/service-accounts.key" \
    --kubelet-preferred-address-types=InternalIP --kubelet-certificate-authority="$pki/cluster-ca.crt" \
    --kubelet-client-certificate="$pki/apiserver-to-kubelet.crt" --kubelet-client-key="$pki/apiserver-to-kubelet.key"
}

apiserver_ready() { kubectl get --raw /readyz; }

wait_apiserver() { wait_for kube-apiserver apiserver_ready; }

# start_client NAME FLAG...: a program that works on the API server with a kubeconfig of its own name. The limits on its
# requests are lifted: with the usual ones the controller manager takes five seconds longer to start.
start_client() {
  local name=$1 kubeconfig=$DIR/pki/$1.kubeconfig
  shift
  start "$name" "$name" --kubeconfig="$kubeconfig" --authentication-kubeconfig="$kubeconfig" \
    --authorization-kubeconfig="$kubeconfig" --bind-address=127.0.0.1 --leader-elect=false \
    --kube-api-qps=500 --kube-api-burst=1000 "$@"
}

start_controllers() {
  start_client kube-scheduler
  start_client kube-controller-manager --use-service-account-credentials=true \
    --service-account-private-key-file="$DIR/pki/service-accounts.key" --root-ca-file="$DIR/pki/cluster-ca.crt" \
    --cluster-signing-cert-file="$DIR/pki/cluster-ca.crt" --cluster-signing-key-file="$DIR/pki/cluster-ca.key" \
    --flex-volume-plugin-dir="$DIR/node/flex-volumes"
}

default_service_account() { kubectl get serviceaccount default --namespace default; }

wait_controllers() { wait_for kube-controller-manager default_service_account; }
