#!/usr/bin/env bash
# Makes a stand-in for the Node base image out of Debian packages and the node on the path,
# so that the Dockerfile can be built and run where no image can be pulled.
#   base-image.sh STORE TAG
# STORE is a folder of its own for the images: the stand-in must not shadow the real one elsewhere.
# Needs root, debootstrap and buildah. About a minute; returns at once when the image is there.
set -euo pipefail
store=$1 tag=$2
buildah() { command buildah --storage-driver vfs --root "$store/storage" --runroot "$store/run" "$@"; }
buildah inspect --type image "$tag" >/dev/null 2>&1 && exit

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/rootfs
mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Codename: bookworm' | head -n 1)
debootstrap --variant=minbase --include=ca-certificates bookworm "$root" $mirror >&2

npm install --silent --no-save --prefix "$work/npm" npm@11 >&2
cp -L "$(command -v node)" "$root/usr/local/bin/node"
mkdir -p "$root/usr/local/lib/node_modules"
cp -r "$work/npm/node_modules/npm" "$root/usr/local/lib/node_modules/npm"
ln -s ../lib/node_modules/npm/bin/npm-cli.js "$root/usr/local/bin/npm"
chroot "$root" groupadd --gid 1000 node
chroot "$root" useradd --uid 1000 --gid node --shell /bin/bash --create-home node

# The build reaches the registry as this machine does: its npm registry, its trusted certificates.
mkdir -p "$root/usr/local/etc"
echo "registry=$(npm config get registry)" > "$root/usr/local/etc/npmrc"
cp -L /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/ca-certificates.crt"

cat > "$work/Containerfile" <<'FILE'
FROM scratch
COPY rootfs /
ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    NODE_EXTRA_CA_CERTS=/etc/ssl/certs/ca-certificates.crt
CMD ["node"]
FILE
buildah bud --isolation chroot --tag "$tag" --file "$work/Containerfile" "$work" >&2
