# Installs Debian packages that are missing, and keeps their services from being started.
# shellcheck shell=bash

# Reads lines PROGRAM-OR-FILE=PACKAGE and prints the packages of what is not there.
missing_packages() {
  local line
  while read -r line; do
    [ -n "$(type -P "${line%=*}")" ] || [ -r "${line%=*}" ] || echo "${line#*=}"
  done
}

# Debian starts what it installs, now and at every boot. A registry or an etcd on this machine's own ports was not asked
# for, so services are held back while packages are installed and disabled afterwards.
without_services() {
  local policy=/usr/sbin/policy-rc.d ours='' state=0 unit
  if [ ! -e $policy ]; then
    ours=$policy
    printf '#!/bin/sh\nexit 101\n' >$policy
    chmod +x $policy
    trap 'rm -f /usr/sbin/policy-rc.d' EXIT
  fi
  "$@" || state=$?
  if [ -n "$ours" ]; then
    rm -f "$ours"
    trap - EXIT
  fi
  return $state
}

disable_services() {
  local package
  [ -n "$(type -P systemctl)" ] || return 0
  for package in "$@"; do
    case $package in
      containerd | docker-registry) systemctl disable --quiet "$package.service" ;;
      etcd-server) systemctl disable --quiet etcd.service ;;
      nginx-light) systemctl disable --quiet nginx.service ;;
      prometheus) systemctl disable --quiet prometheus.service ;;
    esac
  done
}

# install_packages <LINES: those of missing_packages
install_packages() {
  local missing
  mapfile -t missing < <(missing_packages)
  if [ ${#missing[@]} = 0 ]; then
    say 'packages: nothing is missing'
    return
  fi
  say "packages: ${missing[*]}"
  [ "$(id -u)" = 0 ] || fail "must be root to install: ${missing[*]}"
  export DEBIAN_FRONTEND=noninteractive
  apt-get update -q
  without_services apt-get install -q -y --no-install-recommends "${missing[@]}"
  disable_services "${missing[@]}"
}
