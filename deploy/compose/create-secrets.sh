#!/usr/bin/env bash
# A password for Redis, in the three forms that docker-compose.yml needs with deploy/compose/secrets.yml. Overwrites none.
set -euo pipefail
folder=$(dirname "$0")/secrets
[[ ! -e $folder/redis_password ]] || { echo "$folder exists already" >&2; exit 1; }
# The folder keeps other users of this machine out; the files must be readable by the containers' users.
(umask 077 && mkdir -p "$folder")
password=$(od -An -N24 -tx1 /dev/urandom | tr -d ' \n')
printf '%s\n' "$password" >"$folder/redis_password"
printf 'requirepass %s\n' "$password" >"$folder/redis_conf"
printf 'redis://:%s@redis:6379\n' "$password" >"$folder/redis_url"
chmod 644 "$folder"/*
cat <<END
written: $folder
so that every later command of docker compose has them, once in this shell, or without \`export\` in the file .env:
  export COMPOSE_FILE=docker-compose.yml:deploy/compose/secrets.yml
END
