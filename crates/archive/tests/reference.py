"""Format 1 a second time, written from docs/reference/format.md alone. The image around the files is written by
crates/iso9660/tests/reference.py, from docs/reference/format-image.md alone.

usage: reference.py STORE KEYS... < DESCRIPTION > ARCHIVE

STORE holds every content by its SHA-256, KEYS are secret keys (PEM), with which openssl signs. DESCRIPTION is JSON: what
a publisher decides, and so cannot be derived (`files` are those that do not follow from the images).

    {"name", "version", "time", "upgradeFrom", "expires", "requires", "optional",
     "images": [{"place", "ref", "root": SHA-256}], "files": [{"path", "sha256"}]}
"""

import base64
import calendar
import hashlib
import importlib.util
import json
import pathlib
import subprocess
import sys
import tempfile
import time

STORE = pathlib.Path(sys.argv[1])
OCI, DOCKER = "application/vnd.oci.image.", "application/vnd.docker.distribution."
MANIFESTS = {OCI + "manifest.v1+json", DOCKER + "manifest.v2+json"}
INDEXES = {OCI + "index.v1+json", DOCKER + "manifest.list.v2+json"}
IN_TOTO = "application/vnd.in-toto+json"
HEX = set("0123456789abcdef")


def iso9660():
    path = pathlib.Path(__file__).resolve().parents[2] / "iso9660/tests/reference.py"
    spec = importlib.util.spec_from_file_location("iso9660", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def compact(value):
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


# Section 4: what follows from the images.


class Image:
    def __init__(self, given):
        self.place, self.ref, self.root = given["place"], given["ref"], given["root"]
        self.name, self.tag = self.place.split(":")
        self.documents, self.blobs = {}, set()
        self.follow(self.root)

    def follow(self, digest):
        document = json.loads((STORE / digest).read_bytes())
        self.documents[digest] = document["mediaType"]
        children = document["manifests"] if "manifests" in document else [document["config"], *document["layers"]]
        for child in children:
            digest = child["digest"].removeprefix("sha256:")
            if "manifests" in document and child["mediaType"] in MANIFESTS | INDEXES:
                self.follow(digest)
            else:
                self.blobs.add(digest)

    def file(self, digest):
        """The file of a document below the image's directory."""
        return "manifest.json" if digest == self.root else digest + ".manifest.json"

    def entry(self):
        annotations = {"org.opencontainers.image.ref.name": self.place}
        if self.ref is not None:
            annotations["solutions.metalk8s.scality.com/ref"] = self.ref
        size = (STORE / self.root).stat().st_size
        digest = "sha256:" + self.root
        return {"mediaType": self.documents[self.root], "digest": digest, "size": size, "annotations": annotations}


def registry_config(images, repository, pattern, root):
    text = ""
    for name in sorted({image.name for image in images}):
        of_name = sorted((image for image in images if image.name == name), key=lambda image: image.tag)
        tags = ",".join(f'"{image.tag}"' for image in of_name)
        text += (
            f'location = "/v2/{repository}/{name}/tags/list" {{\n'
            f"  default_type application/json;\n"
            f'  return 200 \'{{"name":"{repository}/{name}","tags":[{tags}]}}\';\n'
            f"}}\n"
        )
        seen = set()
        for image in of_name:
            for digest in sorted(image.documents):
                references = [image.tag] if digest == image.root else []
                if digest not in seen:
                    references.append("sha256:" + digest)
                    seen.add(digest)
                for reference in references:
                    text += (
                        f'location = "/v2/{repository}/{name}/manifests/{reference}" {{\n'
                        f'  alias "{root}/{name}/{image.tag}/{image.file(digest)}";\n'
                        f"  types {{ }}\n"
                        f"  default_type {image.documents[digest]};\n"
                        f"  add_header Docker-Content-Digest sha256:{digest};\n"
                        f"  error_page 404 @404_tag;\n"
                        f"}}\n"
                    )
        tries = "".join(f" /{image.tag}/$1" for image in of_name)
        text += (
            f'location ~ "^/v2/{pattern}/{name.replace(".", "[.]")}/blobs/sha256:([a-f0-9]{{64}})$" {{\n'
            f'  root "{root}/{name}";\n'
            f"  types {{ }}\n"
            f"  default_type application/octet-stream;\n"
            f"  try_files{tries} =404;\n"
            f"}}\n"
        )
    return text.encode()


def derived(images, solution):
    """Bytes of small files and digests of stored ones, by path."""
    index = {
        "schemaVersion": 2,
        "mediaType": OCI + "index.v1+json",
        "manifests": [image.entry() for image in sorted(images, key=lambda image: (image.name, image.tag))],
    }
    template = ("{{ repository }}", "{{ repository | replace('.', '[.]') }}", "{{ registry_root }}")
    mounted = (solution, solution.replace(".", "[.]"), f"/srv/scality/{solution}/images")
    files = {
        "oci-layout": b'{"imageLayoutVersion":"1.0.0"}',
        "index.json": compact(index),
        "registry-config.inc": registry_config(images, *mounted),
        "registry-config.inc.j2": registry_config(images, *template),
    }
    for image in images:
        directory = f"images/{image.name}/{image.tag}"
        files[f"{directory}/version"] = b"Directory Transport Version: 1.1\n"
        for digest in image.documents:
            files[f"{directory}/{image.file(digest)}"] = files[f"blobs/sha256/{digest}"] = digest
        for digest in image.blobs:
            files[f"{directory}/{digest}"] = files[f"blobs/sha256/{digest}"] = digest
    return files


# Sections 6 to 9: lists, order, statement, envelope.


def is_blob(path):
    parts = path.split("/")
    is_hex = lambda name: len(name) == 64 and set(name) <= HEX
    if parts[:2] == ["blobs", "sha256"]:
        return len(parts) == 3 and is_hex(parts[2])
    last = parts[-1]
    return (
        parts[0] == "images"
        and len(parts) >= 4
        and (last == "manifest.json" or is_hex(last) or is_hex(last.removesuffix(".manifest.json")))
    )


def volume_identifier(solution):
    upper = solution[:32].upper()
    return "".join(c if c.isascii() and c.isalnum() else "_" for c in upper)


def statement(given, solution, contents, sums):
    predicate = {
        "layout": 1,
        "name": given["name"],
        "version": given["version"],
        "volume": {"id": volume_identifier(solution), "setId": solution},
        "time": given["time"],
        "contents": {"sha256": sha256(contents), "size": len(contents)},
    }
    for field in ("upgradeFrom", "expires"):
        if given[field] is not None:
            predicate[field] = given[field]
    predicate["requires"], predicate["optional"] = given["requires"], given["optional"]
    return compact(
        {
            "_type": "https://in-toto.io/Statement/v1",
            "subject": [{"name": "SHA256SUMS", "digest": {"sha256": sha256(sums)}}],
            "predicateType": "https://solutions.metalk8s.scality.com/archive/v1",
            "predicate": predicate,
        }
    )


def sign(key, payload):
    public = subprocess.run(
        ["openssl", "pkey", "-in", key, "-pubout", "-outform", "DER"], check=True, capture_output=True
    ).stdout
    with tempfile.NamedTemporaryFile() as message:
        message.write(b"DSSEv1 28 %s %d %s" % (IN_TOTO.encode(), len(payload), payload))
        message.flush()
        command = ["openssl", "pkeyutl", "-sign", "-inkey", key, "-rawin", "-in", message.name]
        signature = subprocess.run(command, check=True, capture_output=True).stdout
    return {"keyid": sha256(public), "sig": base64.b64encode(signature).decode()}


def envelope(payload, keys):
    signatures = sorted((sign(key, payload) for key in keys), key=lambda signature: signature["keyid"])
    text = compact(
        {"payload": base64.b64encode(payload).decode(), "payloadType": IN_TOTO, "signatures": signatures}
    )
    return text.ljust(65_535) + b"\n"


def main():
    given = json.load(sys.stdin)
    solution = f"{given['name']}-{given['version']}"
    files = derived([Image(image) for image in given["images"]], solution)
    files.update((file["path"], file["sha256"]) for file in given["files"])
    data = {path: it if isinstance(it, bytes) else (STORE / it).read_bytes() for path, it in files.items()}
    lines = [(path, sha256(data[path]), len(data[path])) for path in sorted(data)]
    contents = "".join(f"{digest} {size} {path}\n" for path, digest, size in lines).encode()
    listed = sorted([(path, digest) for path, digest, _ in lines] + [("CONTENTS", sha256(contents))])
    sums = "".join(f"{digest}  {path}\n" for path, digest in listed).encode()
    payload = statement(given, solution, contents, sums)
    data["CONTENTS"], data["SHA256SUMS"] = contents, sums
    data["statement.dsse.json"] = envelope(payload, sys.argv[2:])

    others = [line for line in lines if not is_blob(line[0]) and line[0] != "manifest.yaml"]
    blobs = sorted((line for line in lines if is_blob(line[0])), key=lambda line: (-line[2], line[1], line[0]))
    head = ["statement.dsse.json", "CONTENTS"]
    body = ["SHA256SUMS", "manifest.yaml", *(path for path, _, _ in others + blobs)]
    seconds = calendar.timegm(time.strptime(given["time"], "%Y-%m-%dT%H:%M:%SZ"))
    inputs = [f"volume {volume_identifier(solution)}", f"set {solution}", f"time {seconds}"]
    for word, paths in (("head", head), ("body", body)):
        for path in paths:
            content = "-" if path == "statement.dsse.json" else sha256(data[path])
            inputs.append(f"{word} {len(data[path])} {content} {path}")
    image = iso9660().Image(inputs)
    with tempfile.TemporaryFile() as out:
        image.write(out)
        for file in image.head + image.body:
            if file.lba is not None:
                out.seek(file.lba * 2048)
                out.write(data[file.path])
        out.seek(0)
        sys.stdout.buffer.write(out.read())


if __name__ == "__main__":
    main()
