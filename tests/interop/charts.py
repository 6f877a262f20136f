"""The Helm charts of an archive, read a second time by the words of docs/format-charts.md alone.

    charts.py TREE

TREE is an unpacked archive. Prints, as JSON, each release with its chart, the digest of the artifact that is made of it here
once more, and its values, where an image NAME:TAG is pulled from `site.test/NAME:TAG@sha256:TAG`.
"""

import gzip
import hashlib
import io
import json
import os
import re
import sys
import tarfile
import unicodedata
import zlib

import yaml

PLACEHOLDER = re.compile(r"\$?\$\(image(?:\.([a-z]+))?:([^)]*)\)")
FIELDS = (
    "name home sources version description keywords maintainers icon apiVersion condition tags appVersion deprecated"
    " annotations kubeVersion dependencies type"
).split()
OF_MAINTAINER = "name email url".split()
OF_DEPENDENCY = "name version repository condition tags enabled import-values alias".split()
AS_IT_IS = ("version", "apiVersion", "type", "alias", "import-values", "annotations")
ANNOTATION = "org.opencontainers.image."


def read(path):
    with open(path, "rb") as file:
        return file.read()


def digest(content):
    return "sha256:" + hashlib.sha256(content).hexdigest()


def compact(value):
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return re.sub("[<>&\u2028\u2029]", lambda found: f"\\u{ord(found[0]):04x}", text).encode()


def scalar(value):
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else str(value)


def tidy(value):
    seen = (" " if it.isspace() else it for it in scalar(value))
    return "".join(it for it in seen if unicodedata.category(it) not in ("Cc", "Cf", "Cs", "Co", "Cn"))


def fields(source, names, kept=()):
    """The fields in their order, without empty ones; in dependencies a version is tidied as all texts are."""
    made = {}
    for name in names:
        value = source.get(name)
        if name == "maintainers":
            value = [fields(it, OF_MAINTAINER) for it in value or []]
        elif name == "dependencies":
            value = [fields(it, OF_DEPENDENCY, ("name", "repository")) for it in value or []]
        elif name == "annotations":
            value = {key: scalar(value[key]) for key in sorted(value or {})}
        elif isinstance(value, list) and name not in AS_IT_IS:
            value = [tidy(it) for it in value]
        elif name not in ("deprecated", "enabled", "import-values"):
            plain = name in AS_IT_IS and (name != "version" or names is FIELDS)
            value = scalar(value) if plain else tidy(value)
        if value or name in kept:
            made[name] = value
    return made


def annotations(config):
    authors = [
        f"{it.get('name', '')} ({it['email']})" if it.get("email") else it.get("name", "")
        for it in config.get("maintainers", [])
    ]
    own = {
        "description": config.get("description", ""),
        "title": config["name"],
        "version": config["version"],
        "url": config.get("home", ""),
        "source": config.get("sources", [""])[0],
        "authors": ", ".join(authors),
    }
    made = {ANNOTATION + key: value for key, value in own.items() if value.strip()}
    fixed = (ANNOTATION + "title", ANNOTATION + "version")
    made.update({key: value for key, value in config.get("annotations", {}).items() if key not in fixed})
    return {key: made[key] for key in sorted(made)}


def artifact(chart, content):
    """The configuration and the root document."""
    config = fields(chart, FIELDS, ("name", "version", "apiVersion"))
    configuration = compact(config)

    def descriptor(kind, content):
        return {"mediaType": f"application/vnd.cncf.helm.{kind}", "digest": digest(content), "size": len(content)}

    layer = descriptor("chart.content.v1.tar+gzip", content)
    root = {"schemaVersion": 2, "config": descriptor("config.v1+json", configuration), "layers": [layer]}
    return configuration, compact({**root, "annotations": annotations(config)})


def unpack(content):
    member = zlib.decompressobj(31)
    unpacked = member.decompress(content)
    assert member.eof and not member.unused_data, "one gzip member"
    assert len(unpacked) <= 32 << 20 and unpacked == gzip.decompress(content)
    assert unpacked.endswith(bytes(1024)) and len(unpacked) % 512 == 0, "two blocks of zeros"
    files = {}
    with tarfile.open(fileobj=io.BytesIO(unpacked)) as tar:
        for entry in tar:
            assert entry.isfile() or entry.isdir(), entry.name
            parts = entry.name.split("/")
            assert all(part not in ("", ".", "..") for part in parts) and not set("\\:") & set(entry.name), entry.name
            assert len(entry.name.encode()) <= 255 and entry.name not in files and entry.size <= 5 << 20
            if entry.isfile():
                files[entry.name] = tar.extractfile(entry).read().removeprefix(b"\xef\xbb\xbf")
    return files


def charts(files, directory):
    """The chart below a directory, with those in it by name."""
    chart = yaml.safe_load(files[f"{directory}/Chart.yaml"])
    assert chart["apiVersion"] in ("v1", "v2")
    inner = {}
    for path in files:
        if path.startswith(f"{directory}/charts/"):
            name = path.removeprefix(f"{directory}/charts/").split("/")[0]
            if name[0] not in "_." and not path.endswith(".prov"):
                below, at = files, f"{directory}/charts/{name}"
                if name.endswith(".tgz"):
                    below = unpack(files[at])
                    at = next(iter(below)).split("/")[0]
                found, _ = charts(below, at)
                inner[found["name"]] = found
    assert all(it["name"] in inner for it in chart.get("dependencies") or []), inner
    return chart, inner


def image(images, part, choice):
    places = [place for place in images if choice in (place, place.rsplit(":", 1)[0])]
    assert len(places) == 1, f"{choice} is {places}"
    path, tag = places[0].rsplit(":", 1)
    parts = {"registry": "site.test", "path": path, "tag": tag, "digest": f"sha256:{tag}"}
    parts["repository"] = f"site.test/{path}"
    return "{repository}:{tag}@{digest}".format(**parts) if part is None else parts[part]


def expanded(value, images):
    if isinstance(value, dict):
        return {key: expanded(it, images) for key, it in value.items()}
    if isinstance(value, list):
        return [expanded(it, images) for it in value]
    if not isinstance(value, str):
        return value

    def meant(found):
        return found[0][1:] if found[0].startswith("$$") else image(images, found[1], found[2])

    return PLACEHOLDER.sub(meant, value)


def release(tree, it, images):
    directory = os.path.join(tree, "charts", it["name"])
    assert sorted(os.listdir(directory)) == ["chart.tgz", "values.yaml"]
    content = read(os.path.join(directory, "chart.tgz"))
    files = unpack(content)
    assert len(content) <= 16 << 20 and {path.split("/")[0] for path in files} == {it["chart"]}
    chart, inner = charts(files, it["chart"])
    assert (chart["name"], chart["version"]) == (it["chart"], it["version"])
    assert chart.get("type", "application") == "application"
    tag = it["version"].replace("+", "_")
    place = f"charts/{it['chart']}:{tag}"
    assert images.count(place) == 1, images
    configuration, root = artifact(chart, content)
    there = os.path.join(tree, "images", "charts", it["chart"], tag)
    assert read(os.path.join(there, "manifest.json")) == root, root
    for blob in (configuration, content):
        assert read(os.path.join(there, digest(blob).removeprefix("sha256:"))) == blob
    values = yaml.safe_load(read(os.path.join(directory, "values.yaml")))
    return {"release": it, "artifact": digest(root), "charts": sorted(inner), "values": expanded(values, images)}


def main(tree):
    spec = yaml.safe_load(read(os.path.join(tree, "manifest.yaml")))["spec"]
    releases = spec["charts"]
    names = [it["name"] for it in releases]
    assert sorted(os.listdir(os.path.join(tree, "charts"))) == sorted(names) and len(set(names)) == len(names) <= 32
    known = {"name", "chart", "version", "namespace", "strategy", "needs", "timeout"}
    assert all(set(it) <= known and set(it.get("needs", [])) <= set(names) for it in releases)
    json.dump([release(tree, it, spec["images"]) for it in releases], sys.stdout, indent=2, sort_keys=True)
    print()


main(sys.argv[1])
