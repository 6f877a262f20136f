# The registry, set up as sites set theirs up: TLS by an authority of the site's own, a login for everything, one name
# for whoever pushes and another one for the nodes.
# shellcheck shell=bash

# login NAME: a new password in registry/NAME.password and the line for the registry's password file on stdout.
# Perl's crypt is on every Debian and knows bcrypt, the only kind that the registry accepts.
new_login() {
  openssl rand -hex 16 | tee "$DIR/registry/$1.password" | perl -e '
    my ($name, $salt) = @ARGV;
    chomp(my $password = <STDIN>);
    print "$name:", crypt($password, "\$2b\$04\$$salt"), "\n";' "$1" "$(openssl rand -hex 11)"
}

# new_auth_file NAME REGISTRY FILE: what `docker login` would have written.
new_auth_file() {
  local auth
  auth=$(printf '%s:%s' "$1" "$(cat "$DIR/registry/$1.password")" | base64 -w0)
  printf '{"auths":{"%s":{"auth":"%s"}}}\n' "$2" "$auth" >"$3"
}

make_registry() (
  umask 077
  mkdir -p "$DIR/registry"/{data,docker,ca}
  { new_login importer && new_login node; } >"$DIR/registry/htpasswd"
  new_auth_file importer "$PUSH_REGISTRY" "$DIR/registry/docker/config.json"
  new_auth_file node "$PULL_REGISTRY" "$DIR/registry/pull-secret.json"
  cp "$DIR/pki/registry-ca.crt" "$DIR/registry/ca/ca.crt"
  cat >"$DIR/registry/config.yml" <<YAML
version: 0.1
log: {level: info}
storage:
  filesystem: {rootdirectory: $DIR/registry/data}
  delete: {enabled: true}
auth:
  htpasswd: {realm: solution-test, path: $DIR/registry/htpasswd}
http:
  addr: $NODE_IP:$REGISTRY_PORT
  secret: $(openssl rand -hex 16)
  tls: {certificate: $DIR/pki/registry.crt, key: $DIR/pki/registry.key}
YAML
)

start_registry() { start registry docker-registry serve "$DIR/registry/config.yml"; }

# Answers means: refuses who does not log in.
registry_answers() {
  [ "$(curl -s --max-time 2 --cacert "$DIR/registry/ca/ca.crt" -o /dev/null -w '%{http_code}' "https://$PUSH_REGISTRY/v2/")" = 401 ]
}

wait_registry() { wait_for registry registry_answers; }
