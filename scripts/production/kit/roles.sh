#!/bin/sh
# The roles of ../database.md, when the database of compose.yaml is new.
set -e
psql -v ON_ERROR_STOP=1 -U postgres -v owner="$OWNER_PASSWORD" -v service="$SERVICE_PASSWORD" <<'SQL'
CREATE ROLE ces_owner LOGIN PASSWORD :'owner';
CREATE ROLE ces_service LOGIN PASSWORD :'service';
GRANT ces_service TO ces_owner;
CREATE DATABASE ces OWNER ces_owner;
SQL
