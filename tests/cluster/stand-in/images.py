#!/usr/bin/python3
"""Stand-ins for all images of a source tree, so that its charts run where no image can be had.

    images.py PROGRAM RENDERING TREE

PROGRAM is what main.go was compiled to, RENDERING what `helm template` made of the charts, TREE a directory with a
`solution.yaml`. Each image there becomes a layout in TREE/images that holds the program under every name by which the
rendering runs that image, with a table of what it is to do under which arguments; its `source` becomes that layout.
"""

import hashlib
import io
import json
import os
import platform
import sys
import tarfile

import yaml

ARCHITECTURE = {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
OCI = "application/vnd.oci.image"
# Where each kind has the template of its pods, and whether their main containers stay.
KINDS = {
    "Deployment": (("spec", "template", "spec"), True),
    "StatefulSet": (("spec", "template", "spec"), True),
    "DaemonSet": (("spec", "template", "spec"), True),
    "ReplicaSet": (("spec", "template", "spec"), True),
    "Job": (("spec", "template", "spec"), False),
    "CronJob": (("spec", "jobTemplate", "spec", "template", "spec"), False),
    "Pod": (("spec",), False),
}


class Loader(yaml.CSafeLoader):
    """Reads a lone `=`, which YAML 1.1 gives a meaning that nobody means."""


Loader.add_constructor("tag:yaml.org,2002:value", Loader.construct_yaml_str)


def at(value, path):
    """What is at this place; nothing where the way there is not."""
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def repository(reference):
    """An image's repository as container engines complete it, without tag and digest."""
    name = reference.split("@")[0]
    head, _, tail = name.rpartition("/")
    name = f"{head}/{tail.split(':')[0]}" if head else tail.split(":")[0]
    first = name.split("/")[0]
    if "/" not in name or name.count("/") == 1 and first == "docker.io":
        return f"docker.io/library/{name.removeprefix('docker.io/')}"
    if "." not in first and ":" not in first and first != "localhost":
        return f"docker.io/{name}"
    return name


def containers(documents):
    """Each container of a rendering, and whether it stays."""
    for document in documents:
        if not isinstance(document, dict) or document.get("kind") not in KINDS:
            continue
        path, stays = KINDS[document["kind"]]
        pod = at(document, path) or {}
        for container in pod.get("initContainers") or []:
            yield container, container.get("restartPolicy") == "Always"
        for container in pod.get("containers") or []:
            yield container, stays


def ports(container):
    """The ports that its probes ask."""
    named = {port.get("name"): port["containerPort"] for port in container.get("ports") or []}
    asked = []
    for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
        for way in ("httpGet", "tcpSocket", "grpc"):
            ask = at(container, (probe, way))
            if ask:
                number = named.get(ask["port"], ask["port"])
                port = {"Number": int(number), "TLS": ask.get("scheme") == "HTTPS"}
                if port not in asked:
                    asked.append(port)
    return asked


def commands(container):
    """What is run in it besides its own command."""
    for place in ("startupProbe", "livenessProbe", "readinessProbe"):
        yield at(container, (place, "exec", "command"))
    for place in ("postStart", "preStop"):
        yield at(container, ("lifecycle", place, "exec", "command"))


def texts(values):
    return [str(value) for value in values or []]


def roles(documents):
    """By repository, the table that the stand-in finds its role in."""
    tables = {}
    for container, stays in containers(documents):
        table = tables.setdefault(repository(container["image"]), [])
        arguments = (texts(container.get("command")) or ["/stand-in"]) + texts(container.get("args"))
        table.append({"Arguments": arguments, "Stays": stays, "Ports": ports(container) if stays else []})
        for command in filter(None, commands(container)):
            table.append({"Arguments": texts(command), "Stays": False, "Ports": []})
    return tables


def layer(program, table):
    """A file system of the program, under each name by which it is run."""
    names = {"/bin/sh", "/bin/bash"}
    for role in table:
        name = role["Arguments"][0]
        names.add(name if name.startswith("/") else f"/usr/bin/{name.removeprefix('./')}")
    written = io.BytesIO()
    with tarfile.open(fileobj=written, mode="w") as tar:

        def add(name, content, mode):
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(content), mode
            tar.addfile(entry, io.BytesIO(content))

        add("stand-in", program, 0o755)
        add("stand-in.json", json.dumps(table).encode(), 0o644)
        for name in sorted(names - {"/stand-in"}):
            entry = tarfile.TarInfo(os.path.normpath(name)[1:])
            entry.type, entry.linkname = tarfile.SYMTYPE, "/stand-in"
            tar.addfile(entry)
    return written.getvalue()


def write_image(layout, tag, content):
    """A layout of one image of one layer, whose program is run as nobody."""
    os.makedirs(f"{layout}/blobs/sha256", exist_ok=True)

    def blob(kind, data):
        data = data if isinstance(data, bytes) else json.dumps(data).encode()
        digest = hashlib.sha256(data).hexdigest()
        with open(f"{layout}/blobs/sha256/{digest}", "wb") as file:
            file.write(data)
        return {"mediaType": f"{OCI}.{kind}", "digest": f"sha256:{digest}", "size": len(data)}

    tar = blob("layer.v1.tar", content)
    config = blob(
        "config.v1+json",
        {
            "architecture": ARCHITECTURE,
            "os": "linux",
            "config": {"Entrypoint": ["/stand-in"], "User": "65532:65532", "Env": ["PATH=/usr/bin:/bin"]},
            "rootfs": {"type": "layers", "diff_ids": [tar["digest"]]},
        },
    )
    kind = "manifest.v1+json"
    manifest = {"schemaVersion": 2, "mediaType": f"{OCI}.{kind}", "config": config, "layers": [tar]}
    described = blob(kind, manifest) | {"annotations": {"org.opencontainers.image.ref.name": tag}}
    with open(f"{layout}/index.json", "w", encoding="utf-8") as file:
        json.dump({"schemaVersion": 2, "manifests": [described]}, file)
    with open(f"{layout}/oci-layout", "w", encoding="utf-8") as file:
        file.write('{"imageLayoutVersion":"1.0.0"}')


def main():
    program, rendering, tree = sys.argv[1:]
    with open(program, "rb") as file:
        program = file.read()
    with open(rendering, encoding="utf-8") as file:
        tables = roles(yaml.load_all(file, Loader))
    with open(f"{tree}/solution.yaml", encoding="utf-8") as file:
        solution = yaml.load(file, Loader)
    for image in solution["spec"]["images"]:
        reference = image.setdefault("ref", image["source"].removeprefix("docker://"))
        layout = f"images/{image['name']}/{image['tag']}"
        image["source"] = f"oci:{layout}:{image['tag']}"
        content = layer(program, tables.get(repository(reference), []))
        write_image(f"{tree}/{layout}", image["tag"], content)
    with open(f"{tree}/solution.yaml", "w", encoding="utf-8") as file:
        yaml.safe_dump(solution, file, sort_keys=False)


main()
