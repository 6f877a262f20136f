# Images of one static program on nothing, as OCI image layouts, made with tar and sha256sum: no image from outside is
# ever needed.
# shellcheck shell=bash

# put_blob LAYOUT MEDIA_TYPE FILE: moves the file into the layout and prints its descriptor.
put_blob() {
  local digest size
  digest=$(sha256sum "$3" | cut -d ' ' -f 1)
  size=$(stat -c %s "$3")
  mv "$3" "$1/blobs/sha256/$digest"
  printf '{"mediaType":"%s","digest":"sha256:%s","size":%d}' "$2" "$digest" "$size"
}

# scratch_image LAYOUT SOURCE.c NAME:TAG [COMPILER_FLAG...]: the layout holds one image, called TAG.
scratch_image() {
  local layout=$1 source=$2 name=$3 program type=application/vnd.oci.image layer diff_id config manifest
  shift 3
  program=$(basename "$source" .c)
  mkdir -p "$layout/blobs/sha256"
  cc -O2 -Wall -static "$@" -o "$layout/$program" "$source"
  tar -C "$layout" --owner=0 --group=0 --numeric-owner --mtime=@0 -cf "$layout/layer" "$program"
  rm "$layout/$program"
  diff_id=$(sha256sum "$layout/layer" | cut -d ' ' -f 1)
  layer=$(put_blob "$layout" "$type.layer.v1.tar" "$layout/layer")
  printf '{"architecture":"%s","os":"linux","config":{"Entrypoint":["/%s"]},"rootfs":{"type":"layers","diff_ids":["sha256:%s"]}}' \
    "$(dpkg --print-architecture)" "$program" "$diff_id" >"$layout/config"
  config=$(put_blob "$layout" "$type.config.v1+json" "$layout/config")
  printf '{"schemaVersion":2,"mediaType":"%s","config":%s,"layers":[%s]}' \
    "$type.manifest.v1+json" "$config" "$layer" >"$layout/manifest"
  manifest=$(put_blob "$layout" "$type.manifest.v1+json" "$layout/manifest")
  printf '{"schemaVersion":2,"manifests":[%s,"annotations":{"org.opencontainers.image.ref.name":"%s","io.containerd.image.name":"%s"}}]}' \
    "${manifest%\}}" "${name##*:}" "$name" >"$layout/index.json"
  printf '{"imageLayoutVersion":"1.0.0"}' >"$layout/oci-layout"
}
