//! The source of the good archive before it is packed: its files and images. All test cases start from it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use archive::{ArchiveFile, Feature, FileSource, StatementInfo, UnsignedArchive, tree};
use schemas::{Capability, Digest, Document, ImageReference, MediaType, SolutionId, StatementTime};
use sha2::{Digest as _, Sha256};

pub(crate) const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
pub(crate) const INDEX: &str = "application/vnd.oci.image.index.v1+json";
pub(crate) const CONFIG: &str = "application/vnd.oci.image.config.v1+json";
pub(crate) const LAYER: &str = "application/vnd.oci.image.layer.v1.tar+gzip";

pub(crate) const CRD: &str = "operator/deploy/crds/servers_crd.yaml";
pub(crate) const ROLE: &str = "operator/deploy/role.yaml";

/// An image as a tree of bytes, which may be invalid.
#[derive(Clone)]
pub(crate) struct Image {
    pub(crate) place: String,
    pub(crate) reference: Option<ImageReference>,
    pub(crate) root: Vec<u8>,
    pub(crate) documents: Vec<Vec<u8>>,
    pub(crate) blobs: Vec<Vec<u8>>,
}

impl Image {
    fn tree(&self) -> schemas::Image {
        let documents = self.documents.iter();
        let documents = documents.filter(|bytes| **bytes != self.root);
        let children: BTreeMap<Digest, Arc<Document>> = documents
            .map(|bytes| (sha256(bytes), document(bytes)))
            .collect();
        let blobs = self.blobs.iter();
        schemas::Image {
            place: self.place.parse().unwrap(),
            reference: self.reference.clone(),
            root: document(&self.root),
            children: children.into_values().collect(),
            blobs: blobs
                .map(|bytes| (sha256(bytes), bytes.len() as u64))
                .collect(),
            platforms: BTreeSet::new(),
        }
    }
}

/// Returns a document without validation, with the media type that the builders above and those of programs use.
fn document(bytes: &[u8]) -> Arc<Document> {
    let index = format!(r#""mediaType":"{INDEX}","manifests""#);
    let mut windows = bytes.windows(index.len());
    let is_index =
        bytes.starts_with(b"{\"manifests\"") || windows.any(|window| window == index.as_bytes());
    Arc::new(Document {
        digest: sha256(bytes),
        media_type: if is_index {
            MediaType::OciIndex
        } else {
            MediaType::OciManifest
        },
        bytes: bytes.into(),
        needs: Vec::new(),
    })
}

/// The source of an archive.
pub(crate) struct Source {
    /// All files except those that are derived from the images.
    pub(crate) files: BTreeMap<String, Vec<u8>>,
    pub(crate) images: Vec<Image>,
    /// A change of the derived files before packing.
    pub(crate) after: fn(&mut BTreeMap<String, Vec<u8>>),
    /// The declared top-level names.
    pub(crate) optional: Vec<String>,
    /// The capabilities that the statement requires of a reader.
    pub(crate) requires: Vec<Capability>,
    pub(crate) expires: Option<StatementTime>,
}

pub(crate) fn id() -> SolutionId {
    SolutionId::new("example".parse().unwrap(), "1.0.0".parse().unwrap()).unwrap()
}

pub(crate) fn sha256(bytes: &[u8]) -> Digest {
    Digest::new(Sha256::digest(bytes).into())
}

pub(crate) fn descriptor(media_type: &str, bytes: &[u8]) -> String {
    let (digest, size) = (sha256(bytes), bytes.len());
    format!(r#"{{"mediaType":"{media_type}","digest":"{digest}","size":{size}}}"#)
}

pub(crate) fn config(architecture: &str, layers: usize) -> Vec<u8> {
    let ids = vec![format!(r#""{}""#, sha256(b"unpacked")); layers].join(",");
    format!(
        r#"{{"architecture":"{architecture}","os":"linux","rootfs":{{"type":"layers","diff_ids":[{ids}]}}}}"#
    )
    .into_bytes()
}

pub(crate) fn manifest(config: &[u8], layers: &[&[u8]]) -> Vec<u8> {
    let layers: Vec<String> = layers
        .iter()
        .map(|layer| descriptor(LAYER, layer))
        .collect();
    let (config, layers) = (descriptor(CONFIG, config), layers.join(","));
    format!(
        r#"{{"schemaVersion":2,"mediaType":"{MANIFEST}","config":{config},"layers":[{layers}]}}"#
    )
    .into_bytes()
}

pub(crate) fn index(children: &[String]) -> Vec<u8> {
    let children = children.join(",");
    format!(r#"{{"schemaVersion":2,"mediaType":"{INDEX}","manifests":[{children}]}}"#).into_bytes()
}

/// Returns a child of an index for a platform.
pub(crate) fn child(media_type: &str, bytes: &[u8], architecture: &str) -> String {
    let text = descriptor(media_type, bytes);
    let platform = format!(r#","platform":{{"architecture":"{architecture}","os":"linux"}}}}"#);
    text.trim_end_matches('}').to_owned() + &platform
}

/// Returns an image of one manifest.
pub(crate) fn single(place: &str, layer: &[u8]) -> Image {
    let config = config("amd64", 1);
    Image {
        place: place.to_owned(),
        reference: None,
        root: manifest(&config, &[layer]),
        documents: Vec::new(),
        blobs: vec![config, layer.to_vec()],
    }
}

/// Returns an image with a manifest for each of two platforms.
fn double(place: &str) -> Image {
    let configs = ["amd64", "arm64"].map(|architecture| config(architecture, 1));
    let layers = ["layer for amd64", "layer for arm64"].map(|text| text.as_bytes().to_vec());
    let manifests: Vec<Vec<u8>> = configs
        .iter()
        .zip(&layers)
        .map(|(config, layer)| manifest(config, &[layer]))
        .collect();
    let children = [
        child(MANIFEST, &manifests[0], "amd64"),
        child(MANIFEST, &manifests[1], "arm64"),
    ];
    Image {
        place: place.to_owned(),
        reference: Some("registry.example.test/org/server:1".parse().unwrap()),
        root: index(&children),
        documents: manifests,
        blobs: configs.into_iter().chain(layers).collect(),
    }
}

const SOLUTION: &str = r#"
apiVersion: solutions.metalk8s.scality.com/v1alpha1
kind: Solution
metadata:
  name: example
  annotations:
    solutions.metalk8s.scality.com/display-name: Example
spec:
  version: 1.0.0
  images: [example-operator:1.0.0, server:1.0.0]
  operator:
    image: {name: example-operator, tag: 1.0.0}
    args: ["--server=$(image:server)"]
    env:
      - {name: RELATED_IMAGE_SERVER, value: "$(image:server)"}
      - {name: RELATED_IMAGE_FIXED, value: "registry.example.test/org/server:1"}
"#;

const DEFINITION: &str = "
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: servers.example.test}
spec:
  group: example.test
  scope: Namespaced
  names: {kind: Server, listKind: ServerList, plural: servers, singular: server}
  versions:
    - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}
    - {name: v1alpha1, served: true, storage: false, schema: {openAPIV3Schema: {type: object}}}
";

const ROLES: &str = "
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: operator}
rules:
  - {apiGroups: [example.test], resources: [servers], verbs: [get, list]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: operator}
rules:
  - {apiGroups: ['', apps], resources: [services, deployments], verbs: [get, list, create]}
  - {apiGroups: [''], resources: [namespaces], verbs: [get]}
";

const SETS: &str = "
  manifests:
    - {name: web, namespaces: [{name: web}]}
    - {name: notes, needs: [web], when: {parameter: notes}, namespaces: [{name: shared, fixed: true}]}
  parameters:
    notes: {type: boolean, default: true}
    replicas: {type: integer, default: 3, minimum: 1}
";

const OBJECTS: &[(&str, &str)] = &[
    (
        "manifests/web/0001-deployment-web.yaml",
        "
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: $(namespace:web), labels: {app.kubernetes.io/managed-by: Helm}}
spec:
  replicas: $(param:replicas)
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
        - name: web
          image: '$(image:server)'
          args: ['--namespace=$(namespace:web)']
          readinessProbe: {tcpSocket: {port: 80}}
          resources: {requests: {cpu: 10m}}
",
    ),
    (
        "manifests/web/0002-service-web.yaml",
        "{apiVersion: v1, kind: Service, metadata: {name: web, namespace: $(namespace:web)}, spec: {selector: {app: web}, ports: [{port: 80}]}}\n",
    ),
    (
        "manifests/web/0003-clusterrolebinding-web.yaml",
        "
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: web}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view}
subjects: [{kind: ServiceAccount, name: web, namespace: '$(namespace:web)'}]
",
    ),
    (
        "manifests/web/0004-configmap-web.yaml",
        "
apiVersion: v1
kind: ConfigMap
metadata: {name: web, namespace: $(namespace:web)}
data:
  web.yaml: |
    worker: $(image:server)
    url: http://web.$(namespace:web).svc:80
    home: $(HOME)
",
    ),
    (
        "manifests/notes/0001-configmap-notes.yaml",
        "{apiVersion: v1, kind: ConfigMap, metadata: {name: notes, namespace: shared}, data: {a: b}}\n",
    ),
];

impl Source {
    pub(crate) fn good() -> Self {
        let texts = [
            ("manifest.yaml", SOLUTION),
            ("README.txt", "how to check this archive\n"),
            (CRD, DEFINITION),
            (ROLE, ROLES),
        ];
        Self {
            files: texts
                .iter()
                .map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec()))
                .collect(),
            images: vec![
                single("example-operator:1.0.0", b"layer of the operator"),
                double("server:1.0.0"),
            ],
            after: |_| {},
            optional: Vec::new(),
            requires: Vec::new(),
            expires: None,
        }
    }

    /// Adds two sets of manifests in the shape of real releases.
    pub(crate) fn carry(&mut self) {
        self.require_manifests();
        let manifest = self.text("manifest.yaml");
        self.put("manifest.yaml", format!("{manifest}{SETS}"));
        for (path, text) in OBJECTS {
            self.put(path, *text);
        }
    }

    /// Returns the archive of a chart.
    pub(crate) fn package(chart: &str, files: &[(&str, &str)]) -> Vec<u8> {
        let files = [&[("Chart.yaml", chart)], files].concat();
        let files = files
            .iter()
            .map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec()));
        ::charts::package(&files.collect()).unwrap()
    }

    /// Adds a chart with these files, and its OCI artifact.
    pub(crate) fn chart(&mut self, files: &[(&str, &str)]) {
        self.require_charts();
        let chart = "{apiVersion: v2, name: web, version: 1.2.3}";
        let archive = Self::package(chart, files);
        let artifact = ::charts::Chart::read(&archive).unwrap().artifact(&archive);
        self.images.push(Image {
            place: "charts/web:1.2.3".to_owned(),
            reference: None,
            root: artifact.manifest,
            documents: Vec::new(),
            blobs: vec![artifact.config, archive.clone()],
        });
        self.put("charts/web/chart.tgz", archive);
        let values =
            "{image: {repository: $(image.repository:server), tag: $(image.tag:server)}}\n";
        self.put("charts/web/values.yaml", values);
        self.edit(
            "manifest.yaml",
            "images: [",
            "images: ['charts/web:1.2.3', ",
        );
        let manifest = self.text("manifest.yaml");
        let release = "  charts: [{name: web, chart: web, version: 1.2.3, needs: []}]\n";
        self.put("manifest.yaml", format!("{manifest}{release}"));
    }

    pub(crate) fn require_charts(&mut self) {
        self.requires.push(Feature::Charts.capability());
    }

    /// Removes the operator from the manifest of a source with sets.
    pub(crate) fn remove_operator(&mut self) {
        let text = self.text("manifest.yaml");
        let operator = text.find("  operator:").unwrap()..text.find("  manifests:").unwrap();
        self.edit("manifest.yaml", &text[operator], "");
    }

    pub(crate) fn require_manifests(&mut self) {
        self.requires.push(Feature::Manifests.capability());
    }

    pub(crate) fn text(&self, path: &str) -> String {
        String::from_utf8(self.files[path].clone()).unwrap()
    }

    /// Adds or replaces a file.
    pub(crate) fn put(&mut self, path: &str, text: impl Into<Vec<u8>>) {
        self.files.insert(path.to_owned(), text.into());
    }

    pub(crate) fn remove(&mut self, path: &str) {
        assert!(self.files.remove(path).is_some(), "{path}");
    }

    /// Replaces a text, which must exist.
    pub(crate) fn edit(&mut self, path: &str, from: &str, to: &str) {
        let text = self.text(path);
        assert!(text.contains(from), "{path} has no {from}");
        self.put(path, text.replacen(from, to, 1));
    }

    /// Returns the files that are derived from the images.
    pub(crate) fn derived(&self, id: &SolutionId) -> BTreeMap<String, Vec<u8>> {
        let images: Vec<schemas::Image> = self.images.iter().map(Image::tree).collect();
        let blobs: BTreeMap<Digest, &Vec<u8>> = self
            .images
            .iter()
            .flat_map(|image| &image.blobs)
            .map(|bytes| (sha256(bytes), bytes))
            .collect();
        let blob = |digest: &Digest| FileSource::Bytes(blobs[digest].as_slice().into());
        let file = |file: ArchiveFile| match file.source {
            FileSource::Bytes(bytes) => (file.path.to_string(), bytes.to_vec()),
            FileSource::File { path, .. } => panic!("{} is in {}", file.path, path.display()),
        };
        let derived = tree::derived(id, &images, blob).unwrap();
        derived.into_iter().map(file).collect()
    }

    /// Returns the complete archive before signing.
    pub(crate) fn unsigned(&self) -> UnsignedArchive {
        let mut files = self.files.clone();
        files.extend(self.derived(&id()));
        (self.after)(&mut files);
        let file = |(path, bytes): (String, Vec<u8>)| {
            ArchiveFile::from_bytes(path.parse().unwrap(), bytes)
        };
        let info = StatementInfo {
            id: id(),
            time: StatementTime::DEFAULT,
            upgrade_from: None,
            expires: self.expires,
            requires: self.requires.clone(),
            optional: self.optional.clone(),
        };
        UnsignedArchive::new(info, files.into_iter().map(file).collect()).unwrap()
    }

    /// Edits the root document of the first image, which is a manifest.
    pub(crate) fn edit_image(&mut self, from: &str, to: &str) {
        edit_bytes(&mut self.images[0].root, from, to);
    }
}

pub(crate) fn edit_bytes(bytes: &mut Vec<u8>, from: &str, to: &str) {
    let text = String::from_utf8(bytes.clone()).unwrap();
    assert!(text.contains(from), "no {from} in {text}");
    *bytes = text.replacen(from, to, 1).into_bytes();
}
