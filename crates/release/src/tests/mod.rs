//! Tests of unusual and hostile releases. The tests of the program cover the complete workflow for three releases with
//! the structure of well-known ones.

mod carried;
mod helmfile;
mod hostile;
mod upstream;

use std::error::Error as _;

use super::*;
use manifests::{ManifestFile, ManifestFiles, ManifestsError};

const DEPLOYMENT: &str = "
apiVersion: apps/v1
kind: Deployment
metadata: {name: app-operator, namespace: apps, labels: {app.kubernetes.io/version: v1.2.3}}
spec:
  template:
    spec:
      serviceAccountName: app
      containers:
        - name: operator
          image: quay.io/org/app:v1.2.3
          command: [/manager, --config=/etc/config/operator.yaml]
";

/// Returns a release whose container has more fields.
fn with_fields(more: &str) -> String {
    let more: Vec<String> = more
        .lines()
        .map(|line| format!("          {line}\n"))
        .collect();
    format!("{DEPLOYMENT}{}", more.concat())
}

fn release(files: &[(&str, &[u8])]) -> ManifestFiles {
    let file = |(name, bytes): &(&str, &[u8])| ManifestFile {
        name: (*name).to_owned(),
        bytes: bytes.to_vec(),
    };
    ManifestFiles {
        name: "release.yaml".to_owned(),
        files: files.iter().map(file).collect(),
        passed_over: Vec::new(),
    }
}

fn try_carry(text: &str) -> Result<SourceTree, ReleaseError> {
    let release = release(&[("release.yaml", text.as_bytes())]);
    carry(&release, &InitOptions::default())
}

#[track_caller]
fn carried(text: &str) -> SourceTree {
    try_carry(text).unwrap_or_else(|error| panic!("{error}: {:?}", error.source()))
}

/// Returns the message of an error and its cause.
#[track_caller]
fn refused(text: &str) -> String {
    let error = try_carry(text).unwrap_err();
    assert!(
        !matches!(error, ReleaseError::Manifests(ManifestsError::Read(_))),
        "{error}"
    );
    let cause = error.source().map(|cause| format!(": {cause}"));
    format!("{error}{}", cause.unwrap_or_default())
}

fn places(tree: &SourceTree) -> Vec<String> {
    let images = tree.source.spec.images.iter();
    images.map(|image| image.place().to_string()).collect()
}
