#!/bin/sh
# Sends a turn with curl, follows it, and approves each call that it waits for. The last line of the output is the turn.
#
#   sh turn.sh <conversation> <agent> <input> [idempotency key]
#
# TURNFOLD_URL is the address of the server, TURNFOLD_KEY its key, if it has keys.
set -eu

url=${TURNFOLD_URL:-http://127.0.0.1:8080}
conversation=$1 agent=$2 input=$3 key=${4:-$(date +%s)-$$}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Repeats a request while the server is away. Each write below can be repeated safely.
request() {
  curl -sS --fail-with-body --retry 10 --retry-delay 1 --retry-all-errors \
    ${TURNFOLD_KEY:+-H "authorization: Bearer $TURNFOLD_KEY"} -H 'content-type: application/json' "$@"
}

quote() { # a text as a JSON string, for texts of one line
  printf '"%s"' "$(printf '%s' "$1" | sed 's/[\\"]/\\&/g')"
}

# Enqueue. With the same key and body, a repeated request is the same turn.
request -D "$work/headers" -o /dev/null -H "idempotency-key: $key" \
  -d "{\"agent\":$(quote "$agent"),\"input\":$(quote "$input")}" "$url/v1/conversations/$conversation/turns"
turn=$url$(sed -n 's/^[Ll]ocation: *//p' "$work/headers" | tr -d '\r' | tail -n 1)

answer() { # answers the first call of the event `wait` in $1
  case $1 in *'"for":"approval"'*) ;; *) return 0 ;; esac
  call=$(printf '%s' "$1" | grep -o '"id":"[^"]*"' | head -n 1 | cut -d '"' -f 4)
  request -o /dev/null -d "{\"answers\":{\"$call\":{\"approved\":true}}}" "$turn/answers"
}

# Stream. After a cut, the stream continues behind the last event.
: > "$work/last"
while [ ! -e "$work/done" ]; do
  last=$(cat "$work/last")
  curl -sSN ${TURNFOLD_KEY:+-H "authorization: Bearer $TURNFOLD_KEY"} ${last:+-H "last-event-id: $last"} "$turn/events" |
    while IFS= read -r line; do
      case $line in
        'id: '*) id=${line#id: } ;;
        'event: '*) event=${line#event: } ;;
        'data: '*)
          echo "$event ${line#data: }"
          if [ "$event" = wait ]; then answer "${line#data: }"; fi
          if [ "$event" = end ]; then : > "$work/done"; fi
          printf '%s' "${id:-$last}" > "$work/last"
          ;;
      esac
    done || true
  [ -e "$work/done" ] || sleep 1
done

# Wait for the result. A turn that has settled is answered at once.
request "$turn/result?waitMs=30000"
