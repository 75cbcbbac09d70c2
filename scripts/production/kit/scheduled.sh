#!/bin/sh
# The operator's scheduled tasks: `daily` (backup, verify, purge) and `drill` for the timers and CronJobs of this folder.
# BACKUP_TO is the folder of the backups; DRILL_OWNER_URL is a database for drills, whose name ends in "_drill", for its owner.
set -eu
case ${1-} in
  backup) exec ces backup create --to "$BACKUP_TO" --with-keys --keep "${BACKUP_KEEP:-7d,4w,6m}" ;;
  verify) exec ces backup verify --from "$BACKUP_TO" ;;
  purge) exec ces audit purge ;;
  daily)
    failed=0
    for task in backup verify purge; do sh "$0" $task || failed=1; done
    exit $failed
    ;;
  drill)
    name=$(psql -d "$DRILL_OWNER_URL" -qAtc 'SELECT current_database()')
    case $name in *_drill) ;; *) echo "DRILL_OWNER_URL is the database $name: a drill empties its database; use one whose name ends in _drill." >&2; exit 1 ;; esac
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    psql -d "$DRILL_OWNER_URL" -v ON_ERROR_STOP=1 -qc 'SET client_min_messages = warning' \
      -c 'DROP SCHEMA IF EXISTS public CASCADE' -c 'CREATE SCHEMA public'
    unset DATABASE_DIRECT_URL DATABASE_OWNER_URL
    DATABASE_URL=$DRILL_OWNER_URL DATA_DIR=$work OBJECT_STORE=file ces restore --from "$BACKUP_TO"
    ;;
  *) echo "Name a task: daily, drill, backup, verify or purge." >&2; exit 2 ;;
esac
