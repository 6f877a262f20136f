# Keys, certificates and kubeconfigs, all made anew for every cluster: one authority for the cluster, and one each for the
# registry and the identity provider, which no machine trusts until it is told to. ECDSA, because making a dozen RSA keys
# takes seconds.
# shellcheck shell=bash

new_key() { openssl ecparam -name prime256v1 -genkey -noout -out "$1.key"; }

# new_authority NAME
new_authority() {
  new_key "$1"
  openssl req -x509 -new -key "$1.key" -subj "/CN=$1" -days 30 -out "$1.crt" \
    -addext basicConstraints=critical,CA:TRUE -addext keyUsage=critical,keyCertSign,cRLSign
}

# new_certificate NAME AUTHORITY SUBJECT serverAuth|clientAuth [SUBJECT_ALT_NAMES]
new_certificate() {
  local name=$1 authority=$2 subject=$3 usage=$4 names=${5:-}
  new_key "$name"
  openssl req -new -key "$name.key" -subj "$subject" -out "$name.csr"
  openssl x509 -req -in "$name.csr" -CA "$authority.crt" -CAkey "$authority.key" -days 30 -out "$name.crt" \
    -set_serial "0x$(openssl rand -hex 8)" -extfile <(
      printf '%s\n' basicConstraints=critical,CA:FALSE keyUsage=critical,digitalSignature "extendedKeyUsage=$usage"
      [ -z "$names" ] || printf 'subjectAltName=%s\n' "$names"
    ) 2>/dev/null
  rm "$name.csr"
}

# new_kubeconfig NAME: for the client certificate of that name.
new_kubeconfig() {
  cat >"$1.kubeconfig" <<YAML
apiVersion: v1
kind: Config
clusters:
- name: test
  cluster:
    server: https://127.0.0.1:$API_PORT
    certificate-authority-data: $(base64 -w0 cluster-ca.crt)
users:
- name: $1
  user:
    client-certificate-data: $(base64 -w0 "$1.crt")
    client-key-data: $(base64 -w0 "$1.key")
contexts:
- name: test
  context: {cluster: test, user: $1}
current-context: test
YAML
}

make_pki() (
  umask 077
  mkdir "$DIR/pki"
  cd "$DIR/pki" || exit
  new_authority cluster-ca
  new_certificate kube-apiserver cluster-ca /CN=kube-apiserver serverAuth \
    "DNS:localhost,DNS:kubernetes,DNS:kubernetes.default,DNS:kubernetes.default.svc,IP:127.0.0.1,IP:$API_SERVICE_IP,IP:$NODE_IP"
  new_certificate kubelet-server cluster-ca "/CN=$NODE_NAME" serverAuth "DNS:$NODE_NAME,IP:$NODE_IP"
  new_certificate admin cluster-ca /O=system:masters/CN=admin clientAuth
  new_certificate kube-controller-manager cluster-ca /CN=system:kube-controller-manager clientAuth
  new_certificate kube-scheduler cluster-ca /CN=system:kube-scheduler clientAuth
  new_certificate kubelet cluster-ca "/O=system:nodes/CN=system:node:$NODE_NAME" clientAuth
  new_certificate apiserver-to-kubelet cluster-ca /O=system:masters/CN=apiserver-to-kubelet clientAuth
  new_key service-accounts
  local client
  for client in admin kube-controller-manager kube-scheduler kubelet; do new_kubeconfig "$client"; done
  new_authority registry-ca
  new_certificate registry registry-ca /CN=registry serverAuth "DNS:${PUSH_REGISTRY%:*},DNS:${PULL_REGISTRY%:*}"
  new_authority dex-ca
  new_certificate dex dex-ca /CN=dex serverAuth "IP:$NODE_IP"
)
