"""The sets of objects of an archive, read a second time by the words of docs/reference/format-manifests.md alone.

    manifests.py TREE

TREE is an unpacked archive. Prints, as JSON, the objects that a site applies in their order: each with its set, where

- an image NAME:TAG is pulled from `site.test/NAME:TAG@sha256:TAG`,
- the namespace NAME is `site-NAME` unless it is fixed,
- the environment is `prod`, and parameters have their defaults.
"""

import json
import os
import re
import sys

import yaml

PLACEHOLDER = re.compile(r"\$?\$\((image(?:\.([a-z.]+))?|namespace|solution|param):([^)]*)\)")


def read(path):
    with open(path, encoding="utf-8") as file:
        return yaml.safe_load(file)


class Site:
    def __init__(self, solution):
        self.spec = solution["spec"]
        self.facts = {"name": solution["metadata"]["name"], "version": self.spec["version"], "environment": "prod"}
        self.parameters = {name: it["default"] for name, it in self.spec.get("parameters", {}).items()}

    def image(self, part, choice):
        places = [place for place in self.spec["images"] if choice in (place, place.rsplit(":", 1)[0])]
        assert len(places) == 1, f"{choice} is {places}"
        path, tag = places[0].rsplit(":", 1)
        parts = {"registry": "site.test", "path": path, "tag": tag, "digest": f"sha256:{tag}"}
        parts["repository"] = f"site.test/{path}"
        whole = "{repository}:{tag}@{digest}".format(**parts)
        return whole if part is None else parts[part]

    def namespace(self, name, own):
        return name if own[name] else f"site-{name}"

    def text(self, text, own):
        alone = re.fullmatch(r"\$\(param:([^)]*)\)", text)
        if alone:
            return self.parameters[alone[1]]

        def meant(found):
            kind, part, name = found.groups()
            if found[0].startswith("$$"):
                return found[0][1:]
            if kind.startswith("image"):
                return self.image(part, name)
            if kind == "namespace":
                return self.namespace(name, own)
            if kind == "solution":
                return self.facts[name]
            value = self.parameters[name]
            return value if isinstance(value, str) else json.dumps(value)

        return PLACEHOLDER.sub(meant, text)

    def value(self, value, own):
        if isinstance(value, str):
            return self.text(value, own)
        if isinstance(value, list):
            return [self.value(item, own) for item in value]
        if isinstance(value, dict):
            return {key: self.value(item, own) for key, item in value.items()}
        return value

    def object(self, document, own):
        fixed = {key: document[key] for key in ("apiVersion", "kind")}
        name = document["metadata"]["name"]
        expanded = self.value(document, own)
        expanded.update(fixed)
        expanded["metadata"]["name"] = name
        return expanded


def plain(text):
    return re.sub(r"[^a-z0-9.-]+", "_", text)[:90]


def objects(tree, name):
    """The objects of a set in their order, each of them where it should be."""
    directory = os.path.join(tree, "manifests", name)
    files = sorted(os.listdir(directory), key=lambda file: int(file.split("-", 1)[0]))
    for place, file in enumerate(files, 1):
        document = read(os.path.join(directory, file))
        metadata = document["metadata"]
        kind = document["kind"].lower()
        assert file == f"{place:04}-{plain(kind + '-' + metadata['name'])}.yaml", file
        assert set(metadata) <= {"name", "namespace", "labels", "annotations"}, file
        assert "status" not in document, file
        yield document


def main(tree):
    solution = read(os.path.join(tree, "manifest.yaml"))
    sets = solution["spec"].get("manifests", [])
    assert sorted(os.listdir(os.path.join(tree, "manifests"))) == sorted(it["name"] for it in sets)
    crds = os.path.join(tree, "operator", "deploy", "crds")
    seen = {("CustomResourceDefinition", None, read(os.path.join(crds, file))["metadata"]["name"]) for file in os.listdir(crds)}
    site = Site(solution)
    applied = []
    for it in sets:
        own = {namespace["name"]: namespace.get("fixed", False) for namespace in it.get("namespaces", [])}
        for document in objects(tree, it["name"]):
            expanded = site.object(document, own)
            identity = (expanded["kind"], expanded["metadata"].get("namespace"), expanded["metadata"]["name"])
            assert identity not in seen, identity
            seen.add(identity)
            applied.append({"set": it["name"], "object": expanded})
    json.dump(applied, sys.stdout, indent=2, sort_keys=True)
    print()


main(sys.argv[1])
