"""What an archive has beyond images, read a second time by the words of docs/reference/format-programs.md, format-referrers.md,
format-operator-template.md and format-prerequisites.md alone.

    capabilities.py TREE

TREE is an unpacked archive. Prints, as JSON, its programs with their files, what refers to each image, the pod that its operator
gets beneath what an importer sets, and what has to be there before it is deployed.
"""

import base64
import hashlib
import json
import os
import re
import sys

import yaml

PROGRAM = "application/vnd.solutions.program.v1"
REFERRER = re.compile(r"sha256-([0-9a-f]{64})(\.sig|\.att|\.sbom)?")


def read(*path):
    with open(os.path.join(*path), "rb") as file:
        return file.read()


def content(directory, descriptor, ending=""):
    """A file of an image, which is what its descriptor says."""
    found = read(directory, descriptor["digest"].removeprefix("sha256:") + ending)
    assert "sha256:" + hashlib.sha256(found).hexdigest() == descriptor["digest"] and len(found) == descriptor["size"]
    return found


def programs(tree, place):
    """The programs of an image, by their platforms."""
    name, version = place.removeprefix("programs/").split(":")
    directory = os.path.join("images", "programs", name, version)
    index = json.loads(read(tree, directory, "manifest.json"))
    found = {}
    for named in index["manifests"]:
        platform = f"{named['platform']['os']}/{named['platform']['architecture']}"
        assert platform not in found, platform
        manifest = json.loads(content(os.path.join(tree, directory), named, ".manifest.json"))
        layer, = manifest["layers"]
        assert manifest["artifactType"] == layer["mediaType"] == PROGRAM and layer["size"] <= 128 << 20
        assert content(os.path.join(tree, directory), layer)[:4] == b"\x7fELF"
        found[platform] = os.path.join(directory, layer["digest"].removeprefix("sha256:"))
    return {"name": name, "version": version, "files": found}


def referrers(tree, images):
    """What refers to the images, by the place of each."""
    found = {}
    for place in images:
        name, tag = place.rsplit(":", 1)
        about = REFERRER.fullmatch(tag)
        if not about:
            continue
        subject = "sha256:" + about[1]
        others = [it for it in images if it.rsplit(":", 1)[0] == name and it != place]
        roots = {it: read(tree, "images", *it.rsplit(":", 1), "manifest.json") for it in others}
        of = [it for it, root in roots.items() if "sha256:" + hashlib.sha256(root).hexdigest() == subject]
        listed = json.loads(read(tree, "images", name, tag, "manifest.json"))["manifests"]
        directory = os.path.join(tree, "images", name, tag)
        kinds = []
        for named in listed:
            manifest = json.loads(content(directory, named, ".manifest.json"))
            assert manifest["subject"]["digest"] == subject
            kinds.append(manifest["artifactType"])
        found[of[0]] = kinds
    return found


def main(tree):
    payload = json.loads(read(tree, "statement.dsse.json"))["payload"]
    requires = json.loads(base64.b64decode(payload))["predicate"]["requires"]
    features = ("operator-template", "prerequisites", "programs", "referrers")
    assert requires == [f"{it}-1.0.0" for it in features], requires
    spec = yaml.safe_load(read(tree, "manifest.yaml"))["spec"]
    images = spec["images"]
    found = {
        "operatorTemplate": spec["operator"]["template"],
        "prerequisites": spec["prerequisites"],
        "programs": [programs(tree, it) for it in images if it.startswith("programs/")],
        "referrers": referrers(tree, images),
    }
    json.dump(found, sys.stdout, indent=2, sort_keys=True)
    print()


main(sys.argv[1])
