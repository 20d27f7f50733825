#!/usr/bin/env bash
# Installs Debian's Chromium, in which the tests of the web UI run, unless there is one.
set -euo pipefail
command -v chromium >/dev/null && exit 0
sudo=$([[ $EUID -eq 0 ]] || echo sudo)
$sudo apt-get update -q
$sudo apt-get install -qy --no-install-recommends chromium fonts-dejavu-core
