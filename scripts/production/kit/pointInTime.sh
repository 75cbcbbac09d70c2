#!/bin/sh
# pointInTime.sh '2026-11-28 16:00:00+00': a drill, as the user postgres. Restores the stanza ces to this time (without one, to the
# end of the archive) in a separate folder, starts PostgreSQL there without network, and compares live patients with the audit.
set -eu
work=$(mktemp -d)
pg_ctl() { "/usr/lib/postgresql/$(cat "$work/data/PG_VERSION")/bin/pg_ctl" -D "$work/data" "$@"; }
finish() {
  pg_ctl -m immediate stop >/dev/null 2>&1 || true
  rm -rf "$work"
}
trap finish EXIT
mkdir -m 700 "$work/data"
pgbackrest --stanza=ces restore --pg1-path="$work/data" --log-level-console=warn \
  ${1:+--type=time} ${1:+"--target=$1"} ${1:+--target-action=promote}
# Debian's backups lack the configuration, which is in /etc. Without hot_standby, the recovery needs none of its limits.
echo 'local all all trust' >"$work/pg_hba.conf"
settings="-c config_file=/dev/null -c hba_file=$work/pg_hba.conf -c listen_addresses= -c unix_socket_directories=$work -c port=5432"
pg_ctl -l "$work/log" -w -t 3600 start >/dev/null -o "$settings -c hot_standby=off -c archive_mode=off -c ssl=off" \
  || { cat "$work/log" >&2; exit 1; }
until psql -h "$work" -d postgres -qAtc 'SELECT 1' >/dev/null 2>&1; do
  pg_ctl status >/dev/null || { cat "$work/log" >&2; exit 1; }
  sleep 1
done
psql -h "$work" -d "${PGDATABASE:-ces}" -v ON_ERROR_STOP=1 -qAt -F ' ' -c "
  WITH live AS (SELECT id FROM tenant WHERE mode = 'live'),
    audited AS (SELECT tenant_id, unnest(patient_ids) AS id FROM audit_event
      WHERE operation_id = 'createPatient' AND outcome = 'success' AND tenant_id IN (SELECT id FROM live)),
    stored AS (SELECT tenant_id, id FROM client WHERE tenant_id IN (SELECT id FROM live))
  SELECT (SELECT count(*) FROM stored), 'patients,',
    (SELECT count(*) FROM audited FULL JOIN stored USING (tenant_id, id) WHERE audited.id IS NULL OR stored.id IS NULL),
    'differ from the audit; the latest row of the audit is of', (SELECT max(at) FROM audit_event)"
