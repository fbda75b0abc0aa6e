#!/usr/bin/env bash
# scripts/setup on made-up machines: whatever form the apt sources have, the backports come from the same mirror with the same key.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

# A machine on which nothing is installed.
mkdir "$TEMP/bin"
printf '#!/bin/sh\nexit 1\n' >"$TEMP/bin/dpkg-query"
chmod +x "$TEMP/bin/dpkg-query"
echo 'VERSION_CODENAME=bookworm' >"$TEMP/bookworm"
echo 'VERSION_CODENAME=trixie' >"$TEMP/trixie"

# setup_says RELEASE MACHINE: what it would do there.
setup_says() {
    PATH=$TEMP/bin:$PATH MUSTER_OS_RELEASE=$TEMP/$1 MUSTER_APT_DIR=$TEMP/$2 "$REPO/scripts/setup" --dry-run 2>&1
}

machine() {
    mkdir -p "$TEMP/$1/sources.list.d"
}

machine classic
cat >"$TEMP/classic/sources.list" <<'LIST'
# deb http://commented.example/debian bookworm main
deb http://security.example/debian-security bookworm-security main
deb [arch=amd64 signed-by=/keys/one.gpg] http://mirror.example/debian bookworm main contrib # the mirror
deb-src http://sources.example/debian bookworm main
LIST
out=$(setup_says bookworm classic)
expect_text classic "$out" $'URIs: http://mirror.example/debian\nSuites: bookworm-backports\nComponents: main\nSigned-By: /keys/one.gpg\n'
expect_text classic "$out" 'libraft-dev/bookworm-backports'

machine deb822
cat >"$TEMP/deb822/sources.list.d/debian.sources" <<'SOURCES'
Enabled: no
Types: deb
URIs: http://disabled.example/debian
Suites: bookworm
Components: main

Types: deb deb-src
# a comment inside
URIs: mirror+file:///etc/apt/mirrors.list
Suites: bookworm bookworm-updates
Components: main
Signed-By:
 -----BEGIN KEY-----
 .
 abc
 -----END KEY-----
SOURCES
out=$(setup_says bookworm deb822)
expect_text deb822 "$out" $'URIs: mirror+file:///etc/apt/mirrors.list\nSuites: bookworm-backports\nComponents: main\nSigned-By:\n -----BEGIN KEY-----\n .\n abc\n -----END KEY-----\n'

machine present
printf 'deb http://mirror.example/debian bookworm main\ndeb http://mirror.example/debian bookworm-backports main\n' >"$TEMP/present/sources.list"
out=$(setup_says bookworm present)
expect_text present "$out" 'would install'
expect 'present: the backports are not added again' test "${out/adding bookworm-backports/}" = "$out"

machine nothing
expect_refusal nothing "found no apt source of the suite 'bookworm'" setup_says bookworm nothing

out=$(setup_says trixie classic)
expect_text trixie "$out" ' libraft-dev '
expect 'trixie: needs no backports' test "${out/backports/}" = "$out"

finish
