#!/usr/bin/env bash
# Installs Debian's PostgreSQL and MariaDB, from which tests import the samples of an RDB archiver, unless they
# are installed. It starts no server and changes no configuration of a server.
set -euo pipefail
compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null && [[ -x /usr/sbin/mariadbd ]] && exit 0
sudo=$([[ $EUID -eq 0 ]] || echo sudo)
# Without this file, Debian's package creates and starts a cluster.
if [[ ! -e /etc/postgresql-common/createcluster.conf ]]; then
  $sudo mkdir -p /etc/postgresql-common
  echo 'create_main_cluster = false' | $sudo tee /etc/postgresql-common/createcluster.conf >/dev/null
fi
$sudo apt-get update -q
$sudo apt-get install -qy --no-install-recommends postgresql mariadb-server-core mariadb-client-core
