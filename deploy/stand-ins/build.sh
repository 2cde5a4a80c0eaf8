#!/usr/bin/env bash
# Stand-ins for the base images that Dockerfile and docker-compose.yml name, for a machine that has a Docker engine but no
# way to a registry of images. They are NOT those images: each is this Debian's own program with the libraries that it
# loads and a busybox, under the very tag that the files name, and labelled `turnfold.stand-in`. So the versions are the
# distribution's (Redis 7.0 where the tag says 7.4), while user, folders, entry point and default command are those of
# the image, as far as the files rely on them. Never push one. Grafana is in no Debian: there is no stand-in for it.
#
#   sudo deploy/stand-ins/build.sh                               node, redis, prometheus and alertmanager; installs nothing
#   docker rmi $(docker images -q -f label=turnfold.stand-in)    away again
#
# Needs: npm ci (the pinned Node), redis-server, npm, apt-get with package lists, root (files of the images' own users).
set -euo pipefail
shopt -s inherit_errexit
cd "$(dirname "$0")/../.."

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# ── names: from the files that use them, so that they cannot drift
node_image=$(sed -n 's/^ARG NODE_IMAGE=//p' Dockerfile)
image_of() { sed -n "s#^ *image: *\($1:[^ ]*\).*#\1#p" docker-compose.yml | head -n 1; }

# ── an image's root: programs with their libraries, a busybox for everything else
fetch_package() { # name → the folder it is unpacked in
  local folder=$scratch/packages/$1
  mkdir -p "$folder"
  (cd "$folder" && apt-get download "$1" >/dev/null 2>&1) || { echo "apt-get cannot download $1" >&2; return 1; }
  dpkg-deb -x "$folder"/*.deb "$folder"
  echo "$folder"
}
busybox=$(fetch_package busybox-static)/bin/busybox

begin_root() { # image's name → its root
  local root=$scratch/roots/$1
  mkdir -p "$root"/{bin,etc,tmp,usr/bin,usr/local/bin,lib64}
  chmod 1777 "$root/tmp"
  cp "$busybox" "$root/bin/busybox"
  "$busybox" --list | grep -vx busybox | while read -r applet; do ln -sf busybox "$root/bin/$applet"; done
  ln -s /bin/env "$root/usr/bin/env"
  printf 'root:x:0:0::/tmp:/bin/sh\nnobody:x:65534:65534::/:/bin/false\n' >"$root/etc/passwd"
  printf 'root:x:0:\nnogroup:x:65534:\n' >"$root/etc/group"
  echo 'hosts: files dns' >"$root/etc/nsswitch.conf"
  echo "$root"
}

add_libraries() { # root, programs or libraries: whatever they load, at its own place
  local root=$1 file
  shift
  for file in $(ldd "$@" 2>/dev/null | grep -o '/[^ :]*\.so[^ :]*' | sort -u); do
    mkdir -p "$root$(dirname "$file")"
    cp -L "$file" "$root$file"
  done
}

add_user() { # root, name, uid, gid, home
  echo "$2:x:$3:$4::$5:/bin/sh" >>"$1/etc/passwd"
  echo "$2:x:$4:" >>"$1/etc/group"
}

label_of() { docker image inspect --format '{{index .Config.Labels "turnfold.stand-in"}}' "$1"; }

publish() { # root, tag, the image's settings
  local root=$1 tag=$2 setting changes=()
  shift 2
  if docker image inspect "$tag" >/dev/null 2>&1 && [[ $(label_of "$tag") != true ]]; then
    echo "$tag is here itself: left alone"
    return
  fi
  for setting in "$@" 'LABEL turnfold.stand-in=true'; do changes+=(--change "$setting"); done
  tar -C "$root" --numeric-owner -c . | docker import "${changes[@]}" - "$tag" >/dev/null
  echo "stand-in: $tag ($(docker image inspect --format '{{.Size}}' "$tag" | awk '{printf "%d MB", $1 / 1e6}'))"
}

# ── node: as npm installed it for this project, with the npm and the certificates of this machine
build_node() {
  local root program=node_modules/node/bin/node npm
  npm=$(dirname "$(dirname "$(readlink -f "$(command -v npm)")")")
  root=$(begin_root node)
  add_libraries "$root" "$program"
  cp "$program" "$root/usr/local/bin/node"
  mkdir -p "$root"/usr/local/{etc,lib/node_modules} "$root/etc/ssl/certs"
  cp -r "$npm" "$root/usr/local/lib/node_modules/npm"
  ln -s ../lib/node_modules/npm/bin/npm-cli.js "$root/usr/local/bin/npm"
  cp -L /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/"
  echo 'cafile=/etc/ssl/certs/ca-certificates.crt' >"$root/usr/local/etc/npmrc"
  add_user "$root" node 1000 1000 /tmp
  publish "$root" "$node_image" 'ENV PATH=/usr/local/bin:/usr/bin:/bin' 'CMD ["node"]'
}

# ── redis: the data folder is its user's, as a new volume inherits it
build_redis() {
  local root
  root=$(begin_root redis)
  add_libraries "$root" /usr/bin/redis-server /usr/bin/redis-cli
  cp -L /usr/bin/redis-server /usr/bin/redis-cli "$root/usr/local/bin/"
  add_user "$root" redis 999 1000 /data
  mkdir "$root/data" && chown 999:1000 "$root/data"
  publish "$root" "$(image_of redis)" 'ENV PATH=/usr/local/bin:/usr/bin:/bin' 'WORKDIR /data' 'VOLUME /data' 'EXPOSE 6379' \
    'CMD ["redis-server"]'
}

build_prometheus() {
  local root package
  package=$(fetch_package prometheus)
  root=$(begin_root prometheus)
  add_libraries "$root" "$package/usr/bin/prometheus"
  cp "$package"/usr/bin/{prometheus,promtool} "$root/bin/"
  mkdir -p "$root/prometheus" && chown 65534:65534 "$root/prometheus"
  publish "$root" "$(image_of prom/prometheus)" 'ENV PATH=/bin' 'USER nobody' 'WORKDIR /prometheus' \
    'VOLUME /prometheus' 'EXPOSE 9090' 'ENTRYPOINT ["/bin/prometheus"]' \
    'CMD ["--config.file=/etc/prometheus/prometheus.yml", "--storage.tsdb.path=/prometheus"]'
}

build_alertmanager() {
  local root package
  package=$(fetch_package prometheus-alertmanager)
  root=$(begin_root alertmanager)
  add_libraries "$root" "$package/usr/bin/prometheus-alertmanager"
  cp "$package/usr/bin/prometheus-alertmanager" "$root/bin/alertmanager"
  cp "$package/usr/bin/amtool" "$root/bin/"
  # The templates of its messages, where Debian's program looks for them; the image's has them built in.
  mkdir -p "$root/usr/share/prometheus" && cp -r "$package/usr/share/prometheus/alertmanager" "$root/usr/share/prometheus/"
  mkdir -p "$root/alertmanager" && chown 65534:65534 "$root/alertmanager"
  publish "$root" "$(image_of prom/alertmanager)" 'ENV PATH=/bin' 'USER nobody' 'WORKDIR /alertmanager' \
    'VOLUME /alertmanager' 'EXPOSE 9093' 'ENTRYPOINT ["/bin/alertmanager"]' \
    'CMD ["--config.file=/etc/alertmanager/alertmanager.yml", "--storage.path=/alertmanager"]'
}

build_node
build_redis
build_prometheus
build_alertmanager
