//! The valid tree and the edits of it.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

/// An edit of a file in the tree.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Edit {
    /// Replaces a text in `solution.yaml`.
    Say(&'static str, &'static str),
    /// Replaces a text in this file.
    Replace(&'static str, &'static str, &'static str),
    /// Replaces the text of the file.
    Write(&'static str, &'static str),
    /// Renames the file.
    Rename(&'static str, &'static str),
    /// Replaces the file with a symbolic link.
    Link(&'static str, &'static str),
    /// Removes the file.
    Remove(&'static str),
}

pub(crate) const SOLUTION: &str = "\
apiVersion: solutions.metalk8s.scality.com/v1alpha1
kind: SolutionSource
metadata:
  name: demo
  annotations:
    solutions.metalk8s.scality.com/display-name: Demo
spec:
  version: 1.0.0
  images:
    - name: operator
      tag: 1.0.0
      source: oci:images/operator
      ref: r.test/operator:1.0.0
    - name: web
      tag: 1.0.0
      source: oci:images/web
      ref: r.test/web:1.0.0
  parameters:
    size:
      type: integer
      default: 1
  prerequisites:
    kubernetes: '>=1.30'
  operator:
    image:
      name: operator
      tag: 1.0.0
    args:
      - --web=$(image:web)
    env:
      - name: LEVEL
        value: info
      - name: RELATED_IMAGE_WEB
        value: r.test/web:1.0.0
  manifests:
    - name: web
      files:
        - web.yaml
      namespaces:
        - name: web
      patches:
        - target: {kind: Service}
          patch: '{metadata: {labels: {app: web}}}'
  charts:
    - name: cache
      source: dir:cache
      values:
        - cache.yaml
";

const CRD: &str = "\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: demos.demo.test
spec:
  group: demo.test
  scope: Namespaced
  names:
    kind: Demo
    plural: demos
  versions:
    - name: v1
      served: true
      storage: true
      schema:
        openAPIV3Schema:
          type: object
";

const ROLES: &str = "\
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: demo
rules:
  - apiGroups: [demo.test]
    resources: [demos]
    verbs: [get, list, watch]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: web
rules:
  - apiGroups: ['']
    resources: [configmaps]
    verbs: [get]
";

const WEB: &str = "\
# the release
apiVersion: v1
kind: Service
metadata:
  name: web
  namespace: web
spec:
  ports:
    - port: 80
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  namespace: web
spec:
  selector:
    matchLabels: {app: web}
  template:
    metadata:
      labels: {app: web}
    spec:
      containers:
        - name: web
          image: r.test/web:1.0.0
          readinessProbe: {tcpSocket: {port: 80}}
          resources: {requests: {cpu: 1m}}
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: web
  namespace: web
data:
  size: $(param:size)
";

const FILES: [(&str, &str); 8] = [
    ("solution.yaml", SOLUTION),
    ("operator/deploy/crds/demos.yaml", CRD),
    ("operator/deploy/role.yaml", ROLES),
    ("web.yaml", WEB),
    ("cache.yaml", "# a site may have more\nsize: 1\n"),
    (
        "cache/Chart.yaml",
        "apiVersion: v2\nname: cache\nversion: 1.0.0\n",
    ),
    ("cache/values.yaml", "size: 2\n"),
    ("cache/templates/a.yaml", "size: {{ .Values.size }}\n"),
];

/// Writes the tree again, except for its images.
pub(crate) fn write(tree: &Path) {
    for entry in fs::read_dir(tree).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.ends_with("images") {
            fs::remove_dir_all(path).unwrap();
        } else if !path.is_dir() {
            fs::remove_file(path).unwrap();
        }
    }
    for (path, text) in FILES {
        let path = tree.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}

impl Edit {
    pub(crate) fn apply(self, tree: &Path) {
        match self {
            Self::Say(from, to) => Self::Replace("solution.yaml", from, to).apply(tree),
            Self::Replace(path, from, to) => {
                let path = tree.join(path);
                let text = fs::read_to_string(&path).unwrap();
                assert!(text.contains(from), "`{from}` is not in {text}");
                fs::write(path, text.replacen(from, to, 1)).unwrap();
            }
            Self::Write(path, text) => fs::write(tree.join(path), text).unwrap(),
            Self::Rename(from, to) => fs::rename(tree.join(from), tree.join(to)).unwrap(),
            Self::Link(path, to) => symlink(to, tree.join(path)).unwrap(),
            Self::Remove(path) => fs::remove_file(tree.join(path)).unwrap(),
        }
    }
}
