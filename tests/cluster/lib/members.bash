# Further clusters for fleets: API servers on the etcd that is there, each with a prefix of its own, and nothing else: no
# nodes, no controllers. Each has its own kube-system and records; nothing becomes ready by itself, and no namespace goes.
# One that was killed comes back as it was; one that was ended is a new cluster the next time. Runs inside the sandbox.
# shellcheck shell=bash

readonly FIRST_MEMBER_PORT=7001

# A smaller heap costs little time and keeps a dozen of them small.
start_member() {
  local number=$1 pki=$DIR/pki name=member-$1 port=$((FIRST_MEMBER_PORT + $1 - 1))
  [ -e "$DIR/run/$name.prefix" ] || printf '/%s-%s' "$name" "$(date +%s%N)" >"$DIR/run/$name.prefix"
  sed "s|^    server: .*|    server: https://127.0.0.1:$port|" "$pki/admin.kubeconfig" >"$pki/$name.kubeconfig"
  GOGC=40 start "$name" kube-apiserver --etcd-servers=http://127.0.0.1:2379 --etcd-prefix="$(cat "$DIR/run/$name.prefix")" \
    --bind-address=127.0.0.1 --secure-port="$port" --advertise-address="$NODE_IP" --endpoint-reconciler-type=none \
    --tls-cert-file="$pki/kube-apiserver.crt" --tls-private-key-file="$pki/kube-apiserver.key" \
    --client-ca-file="$pki/cluster-ca.crt" --service-cluster-ip-range="10.$((96 + number)).0.0/24" \
    --allow-privileged=true --profiling=false --enable-priority-and-fairness=false --authorization-mode=RBAC \
    --disable-admission-plugins=ServiceAccount --service-account-issuer=https://kubernetes.default.svc \
    --service-account-key-file="$pki/service-accounts.key" --service-account-signing-key-file="$pki/service-accounts.key"
}

member_ready() { kubectl --kubeconfig "$DIR/pki/member-$1.kubeconfig" get --raw /readyz; }

# The namespace that pins a cluster is made by its API server some time after that is ready.
member_whole() { kubectl --kubeconfig "$DIR/pki/member-$1.kubeconfig" get namespace kube-system; }

# end_members FROM: ends those from this number on. Asked to, they would wait a minute for those who watch.
end_members() {
  local number file
  for ((number = $1; ; number++)); do
    file=$DIR/run/member-$number.pid
    [ -e "$file" ] || return 0
    kill -KILL "$(cat "$file")" 2>/dev/null || true
    wait_until 10 ended "member-$number" || fail "member-$number does not end"
    rm "$file" "$DIR/run/member-$number.prefix"
  done
}

# members COUNT: starts as many as are missing, ends all others, and prints the kubeconfigs.
members() {
  local number
  CURRENT_STEP='members'
  end_members $(($1 + 1))
  for ((number = 1; number <= $1; number++)); do
    if [ ! -e "$DIR/run/member-$number.pid" ] || ! running "member-$number"; then start_member "$number"; fi
  done
  for ((number = 1; number <= $1; number++)); do
    wait_for "member-$number" member_ready "$number"
    wait_for "member-$number" member_whole "$number"
    printf '%s\n' "$DIR/pki/member-$number.kubeconfig"
  done
}
