#!/usr/bin/env bash
# `make image-test`, as root on Debian: builds the image without a registry of images, on Debian's packages and this machine's
# Node, and runs it as the kit does: not root, on a read-only file system, without capabilities.
set -euo pipefail
cd "$(dirname "$0")/../../.."
export DEBIAN_FRONTEND=noninteractive BUILDAH_ISOLATION=chroot STORAGE_DRIVER=vfs
apt-get update -qq
apt-get install -qq -y --no-install-recommends buildah curl jq mmdebstrap podman postgresql runc >/dev/null
image=localhost/clinical-encounter-service
work=$(mktemp -d)
postgres=$(ls -d /usr/lib/postgresql/*/bin | tail -1)
as_postgres() { setpriv --reuid=postgres --regid=postgres --clear-groups "$@"; }
finish() {
  podman rm -f -t 1 ces >/dev/null 2>&1 || true
  as_postgres "$postgres/pg_ctl" -D "$work/data" -m immediate stop >/dev/null 2>&1 || true
  rm -rf "$work"
}
trap finish EXIT

mmdebstrap --quiet --variant=minbase --include=ca-certificates,make trixie "$work/base.tar"
base=$(buildah from scratch)
buildah add -q "$base" "$work/base.tar" / >/dev/null
buildah copy -q "$base" "$(realpath "$(command -v node)")" /usr/bin/node >/dev/null
buildah copy -q "$base" "$(dirname "$(dirname "$(realpath "$(command -v npm)")")")" /usr/lib/node_modules/npm >/dev/null
buildah run "$base" -- ln -s ../lib/node_modules/npm/bin/npm-cli.js /usr/bin/npm
if [ -n "${NODE_EXTRA_CA_CERTS:-}" ]; then
  buildah copy -q "$base" "$NODE_EXTRA_CA_CERTS" /etc/ssl/authorities.crt >/dev/null
  buildah config --env NODE_EXTRA_CA_CERTS=/etc/ssl/authorities.crt "$base"
fi
buildah commit -q --rm "$base" localhost/node >/dev/null
buildah build --quiet --format docker --network host --build-arg BUILD_IMAGE=localhost/node \
  --build-arg NODE_IMAGE=localhost/node -t "$image" -f scripts/production/kit/Dockerfile .
echo 'The image is built.'

chown postgres "$work"
as_postgres "$postgres/initdb" -D "$work/data" -U postgres --auth-local=trust --auth-host=scram-sha-256 >/dev/null
as_postgres "$postgres/pg_ctl" -D "$work/data" -o "-p 55432 -k $work -c listen_addresses=127.0.0.1" -l "$work/log" -w start >/dev/null
PGHOST=$work PGPORT=55432 OWNER_PASSWORD=owner SERVICE_PASSWORD=service sh scripts/production/kit/roles.sh >/dev/null

# The machine may permit less than podman's default limits.
run() {
  podman run --name ces --runtime runc --ulimit nofile=4096:4096 --ulimit nproc=4096:4096 --network host \
    --read-only --tmpfs /tmp --cap-drop all --security-opt no-new-privileges \
    -e PORT=3900 -e DATABASE_URL=postgresql://ces_service:service@127.0.0.1:55432/ces "$@"
}
run --rm -e DATABASE_OWNER_URL=postgresql://ces_owner:owner@127.0.0.1:55432/ces --entrypoint '["ces", "migrate"]' "$image" |
  grep -q '^Applied .*_initial$'
[ "$(run --rm --entrypoint id "$image" -u)" = 1000 ]
! run --rm --entrypoint touch "$image" /service/x 2>"$work/refused"
grep -q 'Read-only file system' "$work/refused"
run -d "$image" >/dev/null
curl -sf --retry 60 --retry-delay 1 --retry-all-errors http://127.0.0.1:3900/readyz -o "$work/ready"
curl -sf http://127.0.0.1:3900/healthz | jq -e '.version'
curl -sf -o /dev/null http://127.0.0.1:3900/docs
podman healthcheck run ces
podman stop -t 30 ces >/dev/null
[ "$(podman inspect ces --format '{{.State.ExitCode}}')" = 0 ]
echo 'The image migrates, serves as user 1000 on a read-only file system, passes its health check and stops at SIGTERM.'
