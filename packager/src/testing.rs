//! A small source tree for unit tests. Tests write it to a temporary directory.

use std::fmt::Debug;
use std::fs;
use std::path::Path;

use archive::{ArchiveFile, FileSource};
use progress::{Cancel, Watch};
use sources::{Cache, Remote, SourceNetwork};
use tempfile::TempDir;
use validator::Finding;

use crate::Event;
use crate::error::PackError;
use crate::load::{self, HelmSettings, LoadedSource};
use crate::render::ChartRenderer;

pub(crate) const SOLUTION: &str = "apiVersion: solutions.metalk8s.scality.com/v1alpha1
kind: SolutionSource
metadata: {name: demo}
spec:
  version: 1.0.0
  images:
    - {name: demo-operator, tag: 1.0.0, source: 'oci:images/demo-operator', ref: 'r.test/demo:1'}
  operator:
    image: {name: demo-operator, tag: 1.0.0}
";

pub(crate) const CRD: &str = "apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: demos.demo.test
spec:
  group: demo.test
  scope: Namespaced
  names: {kind: Demo, plural: demos}
  versions:
    - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}
";

pub(crate) const ROLE: &str = "apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: demo}
rules: []
";

/// A release in the shape of real ones.
pub(crate) const RELEASE: &str = "apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  namespace: shop
  creationTimestamp: null
  annotations:
    a: b
    kubectl.kubernetes.io/last-applied-configuration: '{}'
spec:
  template:
    spec:
      containers:
        - name: web
          image: r.test/demo:1
          args: [--namespace=shop]
status: {}
---
{apiVersion: v1, kind: Service, metadata: {name: web, namespace: shop}, spec: {ports: [{port: 80}]}}
# its configuration
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: web, namespace: shop}, data: {worker: 'image=r.test/demo:1'}}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: shops.shop.test
  labels: {app: shop, app.kubernetes.io/managed-by: Helm}
spec:
  group: shop.test
  scope: Namespaced
  names: {kind: Shop, plural: shops}
  versions:
    - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}
status: {}
";

/// Returns a source tree without images.
pub(crate) fn texts(solution: &str) -> TempDir {
    let tree = tempfile::tempdir().unwrap();
    let deploy = tree.path().join("operator/deploy");
    fs::create_dir_all(deploy.join("crds")).unwrap();
    fs::write(tree.path().join("solution.yaml"), solution).unwrap();
    fs::write(deploy.join("crds/demos.yaml"), CRD).unwrap();
    fs::write(deploy.join("role.yaml"), ROLE).unwrap();
    tree
}

/// Loads a source tree with local charts, without rendering them.
pub(crate) fn load(directory: &Path) -> Result<LoadedSource, PackError> {
    load_by(
        directory,
        &ChartRenderer::Nothing,
        &Watch::silent(Cancel::never()),
    )
}

/// Loads a source tree with local charts.
pub(crate) fn load_by(
    directory: &Path,
    renderer: &ChartRenderer,
    watch: &Watch<'_, Event>,
) -> Result<LoadedSource, PackError> {
    let (remote, cache) = (Remote::default(), Cache::new(&directory.join("no-cache")));
    let silent = Watch::silent(Cancel::never());
    let network = SourceNetwork::new(&remote, &cache, &silent);
    let by_helm = HelmSettings {
        renderer,
        keyring: None,
    };
    let loaded = load::load(directory, &network, by_helm, watch)?;
    loaded.refuse()?;
    Ok(loaded)
}

/// Returns the findings of a refused source tree as lines `FILE:LINE: [ID] MESSAGE`.
pub(crate) fn refused<T: Debug>(loaded: Result<T, PackError>) -> String {
    let Err(PackError::RefusedSource(refused)) = loaded else {
        panic!("{loaded:?}");
    };
    said(&refused.findings)
}

/// Returns findings as lines `FILE:LINE: [ID] MESSAGE`.
pub(crate) fn said(findings: &[Finding]) -> String {
    let line = |finding: &Finding| {
        let source = finding.source.as_ref().expect("it is of a file");
        format!("{source}: [{}] {}", finding.id, finding.message)
    };
    findings.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// Returns the bytes of a file in memory.
pub(crate) fn bytes(file: &ArchiveFile) -> &[u8] {
    match &file.source {
        FileSource::Bytes(bytes) => bytes,
        FileSource::File { path, .. } => panic!("it is in {}", path.display()),
    }
}
