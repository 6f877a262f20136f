//! Mistakes that a publisher can sign and a validator must refuse. Each case changes the good source once.

use crate::source::{
    CONFIG, CRD, INDEX, LAYER, MANIFEST, ROLE, Source, child, config, edit_bytes, index, manifest,
    sha256, single,
};

/// A name, a change of the good source, and the expected finding ids in order.
pub(crate) type Case = (&'static str, fn(&mut Source), &'static [&'static str]);

pub(crate) const MANIFESTS: &[Case] = &[
    (
        "not YAML",
        |s| s.put("manifest.yaml", "a: [\n"),
        &["manifest.yaml"],
    ),
    (
        "not text",
        |s| s.put("manifest.yaml", vec![0xff, 0xfe, 0]),
        &["manifest.yaml"],
    ),
    (
        "duplicate key",
        |s| s.edit("manifest.yaml", "spec:\n", "spec: {}\nspec:\n"),
        &["manifest.yaml"],
    ),
    (
        "deep nesting",
        |s| s.put("manifest.yaml", "[".repeat(100_000)),
        &["manifest.yaml"],
    ),
    (
        "too large",
        |s| s.put("manifest.yaml", "#".repeat(1024 * 1024 + 1)),
        &["manifest.yaml"],
    ),
    (
        "bad version",
        |s| s.edit("manifest.yaml", "version: 1.0.0", "version: 1.0"),
        &["manifest.yaml"],
    ),
    (
        "other kind",
        |s| s.edit("manifest.yaml", "kind: Solution", "kind: Secret"),
        &["manifest.kind"],
    ),
    (
        "other API",
        |s| s.edit("manifest.yaml", "v1alpha1", "v9"),
        &["manifest.kind"],
    ),
    (
        "long name",
        |s| {
            s.edit(
                "manifest.yaml",
                "name: example\n",
                &format!("name: {}\n", "a".repeat(60)),
            );
        },
        &["manifest.id"],
    ),
    (
        "other name",
        |s| s.edit("manifest.yaml", "name: example\n", "name: other\n"),
        &["manifest.identity"],
    ),
    (
        "other version",
        |s| s.edit("manifest.yaml", "version: 1.0.0", "version: 1.0.1"),
        &["manifest.identity"],
    ),
    (
        "absent image",
        |s| s.edit("manifest.yaml", "images: [", "images: [db:1, "),
        &["manifest.image-absent"],
    ),
    (
        "unlisted image",
        |s| s.images.push(single("db:1", b"layer of the database")),
        &["manifest.image-unlisted"],
    ),
    (
        "repeated image",
        |s| s.edit("manifest.yaml", "images: [", "images: ['server:1.0.0', "),
        &["manifest.image-repeated"],
    ),
    (
        "other operator image",
        |s| {
            s.edit(
                "manifest.yaml",
                "image: {name: example-operator",
                "image: {name: app",
            );
        },
        &["manifest.operator-image"],
    ),
    (
        "unknown expansion",
        |s| s.edit("manifest.yaml", "=$(image:server)", "=$(image:db)"),
        &["manifest.expansion"],
    ),
    (
        "open expansion",
        |s| s.edit("manifest.yaml", "=$(image:server)", "=$(image:server"),
        &["manifest.expansion"],
    ),
    (
        "ambiguous expansion",
        |s| {
            s.images.push(single("server:2", b"layer"));
            s.edit("manifest.yaml", "images: [", "images: ['server:2', ");
        },
        &["manifest.expansion"; 2],
    ),
    (
        "repeated variable",
        |s| {
            s.edit(
                "manifest.yaml",
                "RELATED_IMAGE_FIXED",
                "RELATED_IMAGE_SERVER",
            );
        },
        &["manifest.variable"],
    ),
    (
        "nameless variable",
        |s| s.edit("manifest.yaml", "name: RELATED_IMAGE_SERVER", "name: ''"),
        &["manifest.variable"],
    ),
    (
        "related image elsewhere",
        |s| s.edit("manifest.yaml", "org/server:1", "org/db:1"),
        &["manifest.related-image"],
    ),
    (
        "image without a tag of its own",
        |s| {
            s.images.push(single("db:latest", b"layer"));
            s.edit("manifest.yaml", "images: [", "images: ['db:latest', ");
        },
        &["practice.latest"],
    ),
    (
        "image name of two components",
        |s| {
            s.images.push(single("org/db:1", b"layer"));
            s.edit("manifest.yaml", "images: [", "images: ['org/db:1', ");
        },
        &["practice.nested-name"],
    ),
    (
        "no display name",
        |s| s.edit("manifest.yaml", "display-name", "name"),
        &["practice.display-name"],
    ),
];

/// Adds a URL to a layer.
pub(crate) fn elsewhere(source: &mut Source) {
    let foreign = format!("{LAYER}\",\"urls\":[\"https://example.test\"],\"x\":\"");
    source.edit_image(LAYER, &foreign);
}

pub(crate) const IMAGES: &[Case] = &[
    (
        "referrers required in vain",
        |s| s.requires = vec![archive::Feature::Referrers.capability()],
        &["images.capability"],
    ),
    (
        "image without tag",
        |s| {
            s.after = |files| {
                files.insert("images/x/manifest.json".to_owned(), b"{}".to_vec());
            }
        },
        &["images.place", "images.unreferenced"],
    ),
    (
        "image inside an image",
        |s| {
            s.after = |files| {
                let copies: Vec<(String, Vec<u8>)> = files
                    .iter()
                    .filter_map(|(path, bytes)| {
                        let file = path.strip_prefix("images/example-operator/1.0.0/")?;
                        Some((format!("images/server/1.0.0/1/{file}"), bytes.clone()))
                    })
                    .collect();
                files.extend(copies);
                let manifest = String::from_utf8(files["manifest.yaml"].clone()).unwrap();
                let manifest = manifest.replace("images: [", "images: ['server/1.0.0:1', ");
                files.insert("manifest.yaml".to_owned(), manifest.into_bytes());
            }
        },
        &["images.place", "practice.nested-name"],
    ),
    (
        "image in capitals",
        |s| {
            s.after = |files| {
                files.insert("images/X/1/manifest.json".to_owned(), b"{}".to_vec());
            }
        },
        &["images.place", "images.unreferenced"],
    ),
    (
        "manifest is not JSON",
        |s| s.images[0].root = b"{".to_vec(),
        &["images.document"],
    ),
    (
        "manifest with a duplicate key",
        |s| {
            s.edit_image(
                "{\"schemaVersion\":2",
                "{\"schemaVersion\":2,\"schemaVersion\":2",
            );
        },
        &["images.document"],
    ),
    (
        "manifest of schema 1",
        |s| s.edit_image("\"schemaVersion\":2", "\"schemaVersion\":1"),
        &["images.document"],
    ),
    (
        "manifest too large",
        |s| s.images[0].root.resize(4 * 1024 * 1024 + 1, b' '),
        &["images.document"],
    ),
    (
        "manifest and index in one",
        |s| s.edit_image("\"layers\"", "\"manifests\":[],\"layers\""),
        &["images.document"],
    ),
    ("layer elsewhere", elsewhere, &["images.foreign"]),
    (
        "layer elsewhere that is not in the archive",
        |s| {
            s.requires = vec![archive::Feature::ForeignLayers.capability()];
            elsewhere(s);
            s.images[0].blobs.pop();
        },
        &["images.foreign"],
    ),
    (
        "configuration elsewhere",
        |s| {
            s.requires = vec![archive::Feature::ForeignLayers.capability()];
            s.edit_image(
                CONFIG,
                &format!("{CONFIG}\",\"urls\":[\"https://example.test\"],\"x\":\""),
            );
        },
        &["images.foreign"],
    ),
    (
        "foreign layers required in vain",
        |s| s.requires = vec![archive::Feature::ForeignLayers.capability()],
        &["images.capability"],
    ),
    (
        "layer that is compressed otherwise",
        |s| s.images[0] = single("example-operator:1.0.0", b"BZh91AY&SY and so on"),
        &["images.layer"],
    ),
    ("index in index in index", nested, &["images.nesting"]),
    (
        "empty index",
        |s| {
            s.images[1].root = index(&[]);
            s.images[1].documents.clear();
            s.images[1].blobs.clear();
        },
        &["images.empty"],
    ),
    (
        "layer left out",
        |s| drop(s.images[0].blobs.pop()),
        &["images.missing"],
    ),
    (
        "config left out",
        |s| {
            replace_config(s, &config("s390x", 1));
            s.images[0].blobs.remove(0);
        },
        &["images.missing"],
    ),
    (
        "child left out",
        |s| drop(s.images[1].documents.pop()),
        &["images.missing"],
    ),
    (
        "wrong size",
        |s| s.edit_image("\"size\":21", "\"size\":22"),
        &["images.size"],
    ),
    (
        "wrong media type of a child",
        |s| {
            edit_bytes(
                &mut s.images[1].root,
                MANIFEST,
                "application/vnd.docker.distribution.manifest.v2+json",
            );
        },
        &["images.media-type"],
    ),
    (
        "child under two media types",
        |s| {
            let image = &mut s.images[1];
            let [first, second] = [0, 1]
                .map(|index| child(MANIFEST, &image.documents[index], ["amd64", "arm64"][index]));
            let again = first.replacen(
                MANIFEST,
                "application/vnd.docker.distribution.manifest.v2+json",
                1,
            );
            image.root = index(&[first, second, again]);
        },
        &["images.media-type"],
    ),
    (
        "config is not JSON",
        |s| replace_config(s, b"{"),
        &["images.config"],
    ),
    (
        "config for more layers",
        |s| replace_config(s, &config("amd64", 2)),
        &["images.config"],
    ),
    (
        "config without architecture",
        |s| replace_config(s, &config("", 1)),
        &["images.config"],
    ),
    (
        "wrong platform",
        |s| edit_bytes(&mut s.images[1].root, "arm64", "s390x"),
        &["images.platform"],
    ),
    (
        "no index.json",
        |s| s.after = |files| drop(files.remove("index.json")),
        &["images.index"],
    ),
    (
        "index.json is not JSON",
        |s| s.after = |files| drop(files.insert("index.json".to_owned(), b"[".to_vec())),
        &["images.index"],
    ),
    (
        "index.json with another order",
        |s| {
            s.after = |files| {
                let bytes = files.get_mut("index.json").unwrap();
                bytes.push(b' ');
            }
        },
        &["images.differs"],
    ),
    (
        "no oci-layout",
        |s| s.after = |files| drop(files.remove("oci-layout")),
        &["images.incomplete"],
    ),
    (
        "blob in one view only",
        |s| {
            s.after = |files| {
                let layer = sha256(b"layer for arm64").hex();
                files.remove(&format!("blobs/sha256/{layer}")).unwrap();
            }
        },
        &["images.incomplete"],
    ),
    (
        "other registry config",
        |s| {
            s.after = |files| {
                files
                    .get_mut("registry-config.inc.j2")
                    .unwrap()
                    .extend(b"{{ salt }}");
            }
        },
        &["images.differs"],
    ),
    (
        "other bytes under a digest",
        |s| {
            s.after = |files| {
                let layer = sha256(b"layer for arm64").hex();
                let path = format!("blobs/sha256/{layer}");
                *files.get_mut(&path).unwrap() = b"something else".to_vec();
            }
        },
        &["images.differs"],
    ),
    (
        "blob of no image",
        |s| {
            s.after = |files| {
                files.insert(
                    format!("blobs/sha256/{}", sha256(b"x").hex()),
                    b"x".to_vec(),
                );
            }
        },
        &["images.unreferenced"],
    ),
    (
        "file in an image's directory",
        |s| {
            s.after = |files| {
                files.insert("images/server/1.0.0/notes.txt".to_owned(), b"x".to_vec());
            }
        },
        &["images.unreferenced"],
    ),
];

pub(crate) const OPERATORS: &[Case] = &[
    (
        "operator files without operator",
        |s| {
            s.put(
                "manifest.yaml",
                "{apiVersion: solutions.metalk8s.scality.com/v1alpha1, kind: Solution, \
        metadata: {name: example, annotations: {solutions.metalk8s.scality.com/display-name: E}}, \
        spec: {version: 1.0.0, images: ['example-operator:1.0.0', 'server:1.0.0']}}",
            );
        },
        &["operator.unexpected"],
    ),
    (
        "custom resource beside",
        |s| s.put("operator/deploy/crds/servers_cr.yaml", "x"),
        &["operator.ignored"],
    ),
    (
        "binding beside",
        |s| s.put("operator/deploy/role_binding.yaml", "x"),
        &["operator.ignored"],
    ),
    (
        "definition is not YAML",
        |s| s.put(CRD, "a: ]"),
        &["operator.yaml"],
    ),
    (
        "definition with a duplicate key",
        |s| s.edit(CRD, "spec:\n", "spec: {}\nspec:\n"),
        &["operator.yaml"],
    ),
    (
        "definition is a bomb",
        |s| s.put(CRD, bomb()),
        &["operator.yaml"],
    ),
    ("role is not YAML", |s| s.put(ROLE, "{"), &["operator.yaml"]),
    (
        "two definitions in a file",
        |s| {
            let text = s.files[CRD].clone();
            s.files
                .get_mut(CRD)
                .unwrap()
                .extend([b"---".to_vec(), text].concat());
        },
        &["operator.crd-count"],
    ),
    (
        "empty definition file",
        |s| s.put(CRD, "---\n"),
        &["operator.crd-count"],
    ),
    (
        "definition of v1beta1",
        |s| s.edit(CRD, "k8s.io/v1", "k8s.io/v1beta1"),
        &["operator.crd-kind"],
    ),
    (
        "something else in a definition file",
        |s| s.edit(CRD, "CustomResourceDefinition", "Server"),
        &["operator.crd-kind"],
    ),
    (
        "definition that is a list",
        |s| s.put(CRD, "- 1"),
        &["operator.crd-kind"],
    ),
    (
        "definition without scope",
        |s| s.edit(CRD, "  scope: Namespaced\n", ""),
        &["operator.crd-shape"],
    ),
    (
        "definition of another scope",
        |s| s.edit(CRD, "Namespaced", "namespaced"),
        &["operator.crd-shape"],
    ),
    (
        "definition without schema",
        |s| s.edit(CRD, ", schema: {openAPIV3Schema: {type: object}}", ""),
        &["operator.crd-shape"],
    ),
    (
        "definition of Kubernetes' own group",
        |s| {
            s.edit(CRD, "servers.example.test", "servers.example.k8s.io");
            s.edit(CRD, "group: example.test", "group: example.k8s.io");
        },
        &["operator.crd-shape"],
    ),
    (
        // Format 1 allowed it, but no API server ever accepted it, so no site uses it.
        "definition in capitals",
        |s| {
            s.edit(CRD, "{name: servers.", "{name: Servers.");
            s.edit(CRD, "plural: servers", "plural: Servers");
        },
        &["operator.crd-shape"],
    ),
    (
        "definition whose schema is not structural",
        |s| {
            s.edit(
                CRD,
                "{openAPIV3Schema: {type: object}}",
                "{openAPIV3Schema: {type: object, properties: {spec: {}}}}",
            );
        },
        &["operator.crd-schema"],
    ),
    (
        "definition of another name",
        |s| {
            s.edit(
                CRD,
                "{name: servers.example.test}",
                "{name: server.example.test}",
            );
        },
        &["operator.crd-name"],
    ),
    (
        "two storage versions",
        |s| s.edit(CRD, "storage: false", "storage: true"),
        &["operator.crd-versions"],
    ),
    (
        "no storage version",
        |s| s.edit(CRD, "storage: true", "storage: false"),
        &["operator.crd-versions"],
    ),
    (
        "version twice",
        |s| s.edit(CRD, "name: v1alpha1", "name: v1"),
        &["operator.crd-versions"],
    ),
    (
        "no versions",
        |s| s.edit(CRD, "versions:", "version:"),
        &["operator.crd-versions"],
    ),
    (
        "conversion by webhook",
        |s| {
            s.edit(
                CRD,
                "  scope:",
                "  conversion: {strategy: Webhook}\n  scope:",
            );
        },
        &["operator.crd-conversion"],
    ),
    (
        "definition in two files",
        |s| {
            let text = s.files[CRD].clone();
            s.put("operator/deploy/crds/again_crd.yaml", text);
        },
        &["operator.crd-repeated"],
    ),
    (
        "binding in role.yaml",
        |s| s.edit(ROLE, "kind: Role\n", "kind: RoleBinding\n"),
        &["operator.role-kind"],
    ),
    (
        "list in role.yaml",
        |s| s.put(ROLE, "{apiVersion: v1, kind: List, items: []}"),
        &["operator.role-kind"],
    ),
    (
        "role without name",
        |s| s.edit(ROLE, "{name: operator}", "{}"),
        &["operator.role-name"],
    ),
    (
        "role with a path as name",
        |s| s.edit(ROLE, "{name: operator}", "{name: a/b}"),
        &["operator.role-name"],
    ),
    (
        "roles of one name",
        |s| s.edit(ROLE, "ClusterRole", "Role"),
        &["operator.role-name"],
    ),
    (
        "rule without verbs",
        |s| s.edit(ROLE, ", verbs: [get, list]", ""),
        &["operator.role-rules"],
    ),
    (
        "rule with a text for a list",
        |s| s.edit(ROLE, "verbs: [get, list]", "verbs: get"),
        &["operator.role-rules"],
    ),
    (
        "rule with an unknown field",
        |s| s.edit(ROLE, "verbs: [get]", "verbs: [get], namespaces: [a]"),
        &["operator.role-rules"],
    ),
    (
        "rules that are no list",
        |s| {
            s.put(ROLE, "{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: a}, rules: {}}");
        },
        &["operator.role-rules"],
    ),
    (
        "aggregated role",
        |s| {
            s.edit(
                ROLE,
                "kind: ClusterRole",
                "kind: ClusterRole\naggregationRule: {clusterRoleSelectors: []}",
            );
        },
        &["operator.role-rules"],
    ),
    (
        "URLs in a Role",
        |s| {
            s.edit(
                ROLE,
                "apiGroups: [example.test], resources: [servers]",
                "nonResourceURLs: [/metrics]",
            );
        },
        &["operator.role-rules"],
    ),
    (
        "all verbs",
        |s| s.edit(ROLE, "[get, list]", "['*']"),
        &["operator.wildcard"],
    ),
    (
        "all groups and resources",
        |s| {
            s.edit(
                ROLE,
                "[example.test], resources: [servers]",
                "['*'], resources: ['*']",
            );
        },
        &["operator.wildcard", "operator.dangerous-rule"],
    ),
    (
        "nodes in a namespace",
        |s| s.edit(ROLE, "[services,", "[nodes,"),
        &["operator.cluster-rule"],
    ),
    (
        "listing namespaces in a namespace",
        |s| s.edit(ROLE, "verbs: [get]", "verbs: [get, list]"),
        &["operator.cluster-rule"],
    ),
    (
        "URLs in a namespace",
        |s| {
            s.edit(
                ROLE,
                "apiGroups: [''], resources: [namespaces]",
                "nonResourceURLs: [/metrics]",
            );
        },
        &["operator.cluster-rule"],
    ),
    (
        "own resource of the cluster in a namespace",
        |s| s.edit(CRD, "Namespaced", "Cluster"),
        &["operator.cluster-rule"],
    ),
    (
        "nodes of an operator for the cluster",
        |s| {
            s.edit(ROLE, "[services,", "[nodes,");
            s.edit(
                "manifest.yaml",
                "    args:",
                "    scope: Cluster\n    args:",
            );
        },
        &[],
    ),
    (
        "template in a definition",
        |s| s.edit(CRD, "  group:", "  # {{ salt }}\n  group:"),
        &["practice.template"],
    ),
];

fn bomb() -> String {
    (1..12).fold("a0: &a0 [x, x]\n".to_owned(), |text, level| {
        let aliases = vec![format!("*a{}", level - 1); 10].join(", ");
        format!("{text}a{level}: &a{level} [{aliases}]\n")
    })
}

/// Wraps the manifest of the first image in five indexes.
fn nested(source: &mut Source) {
    let image = &mut source.images[0];
    for _ in 0..5 {
        let inner = image.root.clone();
        let media_type = if image.documents.is_empty() {
            MANIFEST
        } else {
            INDEX
        };
        image.root = index(&[child(media_type, &inner, "amd64")]);
        image.documents.push(inner);
    }
}

fn replace_config(source: &mut Source, config: &[u8]) {
    let image = &mut source.images[0];
    image.root = manifest(config, &[image.blobs[1].as_slice()]);
    image.blobs[0] = config.to_vec();
}
