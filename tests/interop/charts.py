"""The Helm charts of an archive, read a second time by the words of docs/reference/format-charts.md alone.

    charts.py TREE

TREE is an unpacked archive. Prints, as JSON, each release with its chart, the digest of the artifact that a registry has of it,
and its values, where

- an image NAME:TAG is pulled from `site.test/NAME:TAG@sha256:TAG`,
- the namespace NAME is `site-NAME` unless it is fixed, and parameters have their defaults.
"""

import gzip
import hashlib
import io
import json
import os
import re
import sys
import tarfile
import zlib

import yaml

PLACEHOLDER = re.compile(r"\$?\$\((image(?:\.([a-z]+))?|namespace|param):([^)]*)\)")
HELM = "application/vnd.cncf.helm"
def read(path):
    with open(path, "rb") as file:
        return file.read()


def digest(content):
    return "sha256:" + hashlib.sha256(content).hexdigest()


def artifact(directory, content):
    """The digest of the root document, whose one layer of a chart is this one."""
    root = read(os.path.join(directory, "manifest.json"))
    layers = [it for it in json.loads(root)["layers"] if it["mediaType"] == f"{HELM}.chart.content.v1.tar+gzip"]
    assert [(it["digest"], it["size"]) for it in layers] == [(digest(content), len(content))], layers
    assert json.loads(root)["config"]["mediaType"] == f"{HELM}.config.v1+json"
    assert read(os.path.join(directory, digest(content).removeprefix("sha256:"))) == content
    return digest(root)


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


def expanded(value, spec, own):
    if isinstance(value, dict):
        return {key: expanded(it, spec, own) for key, it in value.items()}
    if isinstance(value, list):
        return [expanded(it, spec, own) for it in value]
    if not isinstance(value, str):
        return value
    parameters = {name: it["default"] for name, it in spec.get("parameters", {}).items()}
    alone = re.fullmatch(r"\$\(param:([^)]*)\)", value)
    if alone:
        return parameters[alone[1]]

    def meant(found):
        kind, part, name = found.groups()
        if found[0].startswith("$$"):
            return found[0][1:]
        if kind == "namespace":
            return name if own[name] else f"site-{name}"
        if kind == "param":
            given = parameters[name]
            return given if isinstance(given, str) else json.dumps(given, separators=(",", ":"))
        return image(spec["images"], part, name)

    return PLACEHOLDER.sub(meant, value)


def release(tree, it, spec):
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
    assert spec["images"].count(place) == 1, spec["images"]
    there = os.path.join(tree, "images", "charts", it["chart"], tag)
    values = yaml.safe_load(read(os.path.join(directory, "values.yaml")))
    own = {it["name"]: it.get("fixed", False) for it in it.get("namespaces", [])}
    values = expanded(values, spec, own)
    return {"release": it, "artifact": artifact(there, content), "charts": sorted(inner), "values": values}


def main(tree):
    spec = yaml.safe_load(read(os.path.join(tree, "manifest.yaml")))["spec"]
    releases = spec["charts"]
    names = [it["name"] for it in releases]
    assert sorted(os.listdir(os.path.join(tree, "charts"))) == sorted(names) and len(set(names)) == len(names) <= 32
    known = set("name chart version namespace namespaces when strategy needs siteValues timeout".split())
    assert all(set(it) <= known and set(it.get("needs", [])) <= set(names) for it in releases)
    json.dump([release(tree, it, spec) for it in releases], sys.stdout, indent=2, sort_keys=True)
    print()


main(sys.argv[1])
