# Builds the programs and images of a bare cluster, once. Sourced by cluster.sh.
#
#   module/ (go.mod pins every version) ──go build──▶ $build/bin ──hack/image──▶ $build/images
#
# The name of $build is a hash of everything that determines the programs, so it is never rebuilt in
# place.
# shellcheck shell=bash disable=SC2154

module=$here/module
build=$cache/kubernetes-$({ cat "$module"/go.* "$module"/*/*.go; go env -C "$module" GOVERSION GOOS GOARCH; } | sha256sum | cut -c1-12)
bin=$build/bin

envtest_programs=(etcd kube-apiserver)
programs=("${envtest_programs[@]}" kubectl kube-controller-manager kube-scheduler kubelet kube-proxy coredns metrics-server pause)

# build_programs NAME... builds the programs that do not exist yet.
build_programs() {
  if have_programs "$@"; then return; fi
  mkdir -p "$bin"
  (
    flock 9
    have_programs "$@" && exit # another caller may have built them in the meantime
    log "building ${*}, which takes minutes the first time"
    local began=$SECONDS new=$build/new name packages=()
    for name; do packages+=("$(package "$name")"); done
    rm -rf "$new" && mkdir "$new"
    # A program gets its name only when it is complete.
    GOFLAGS='' GOWORK=off CGO_ENABLED=0 go build -C "$module" -buildvcs=false -trimpath \
      -ldflags "$(link_flags)" -o "$new/" "${packages[@]}" >&2
    mv "$new"/* "$bin/"
    rmdir "$new"
    log "built in $((SECONDS - began)) s"
  ) 9>"$build/lock"
}

have_programs() {
  local name
  for name; do [[ -x $bin/$name ]] || return 1; done
}

package() {
  case $1 in
    etcd | coredns | pause) echo "./$1" ;;
    metrics-server) echo sigs.k8s.io/metrics-server/cmd/metrics-server ;;
    *) echo "k8s.io/kubernetes/cmd/$1" ;;
  esac
}

# link_flags sets the version of the programs, because clients and the API server compare versions.
link_flags() {
  local version package flags="-s -w"
  version=$(cd "$module" && GOFLAGS='' GOWORK=off go list -m -f '{{.Version}}' k8s.io/kubernetes)
  for package in k8s.io/component-base/version k8s.io/client-go/pkg/version; do
    flags+=" -X $package.gitVersion=$version -X $package.gitMajor=1 -X $package.gitMinor=$(cut -d. -f2 <<<"$version")"
    flags+=" -X $package.gitTreeState=clean -X $package.buildDate=1970-01-01T00:00:00Z"
  done
  echo "$flags"
}

assets() {
  if [[ -z ${KUBEBUILDER_ASSETS:-} ]]; then build_programs "${envtest_programs[@]}"; fi
  echo "${KUBEBUILDER_ASSETS:-$bin}"
}

# image NAME ENTRYPOINT creates the image localhost/NAME:1 from the folder $rootfs.
image() {
  (cd "$root" && CGO_ENABLED=0 go run -trimpath ./hack/image -o "$build/images/$1.tar" -tag "localhost/$1:1" \
    -user 0 -entrypoint "$2" -add "$rootfs:/") >&2
}

build_images() {
  if [[ -e $build/images/complete ]]; then return; fi
  mkdir -p "$build/images"
  (
    flock 9
    [[ -e $build/images/complete ]] && exit
    rootfs=$(mktemp -d)
    trap 'rm -rf "$rootfs"' EXIT
    local name
    for name in pause coredns metrics-server; do
      cp "$bin/$name" "$rootfs/"
      image "$name" "/$name"
      rm "$rootfs/$name"
    done
    mkdir "$rootfs/bin"
    cp "$(command -v busybox)" "$rootfs/bin/busybox"
    "$rootfs/bin/busybox" --list | grep -vx busybox | while read -r name; do
      ln -s busybox "$rootfs/bin/$name"
    done
    image busybox "" # pods set their own command
    touch "$build/images/complete"
  ) 9>"$build/lock"
}

build_all() {
  build_programs "${programs[@]}"
  build_images
}
