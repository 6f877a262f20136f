//! Tests of unusual and hostile releases. The tests of the program cover the complete workflow for three releases with
//! the structure of well-known ones.

mod carried;
mod helmfile;
mod hostile;
mod operator;
mod upstream;

use std::error::Error as _;

use manifests::{ManifestFile, ManifestFiles, ManifestsError};
use schemas::{Operator, OperatorScope};

use super::*;

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

/// A release whose operator's container has more fields.
fn operator(more: &str) -> String {
    let more: Vec<String> = more
        .lines()
        .map(|line| format!("          {line}\n"))
        .collect();
    format!("{DEPLOYMENT}{}", more.concat())
}

fn role(kind: &str, name: &str, rule: &str) -> String {
    let api = "rbac.authorization.k8s.io/v1";
    format!(
        "---\napiVersion: {api}\nkind: {kind}\nmetadata: {{name: {name}, namespace: apps}}\nrules: [{rule}]\n"
    )
}

fn binding(kind: &str, role_kind: &str, role: &str, account: &str) -> String {
    let api = "rbac.authorization.k8s.io";
    format!(
        "---\napiVersion: {api}/v1\nkind: {kind}\nmetadata: {{name: {role}-{kind}, namespace: apps}}\nroleRef: {{apiGroup: {api}, kind: {role_kind}, name: {role}}}\nsubjects: [{{kind: ServiceAccount, name: {account}, namespace: apps}}]\n"
    )
}

fn crd(name: &str) -> String {
    let (plural, group) = name.split_once('.').unwrap();
    format!(
        "---\napiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {{name: {name}}}\nspec: {{group: {group}, scope: Namespaced, names: {{plural: {plural}, kind: X}}}}\n"
    )
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

fn try_draft(text: &str) -> Result<SourceTree, ReleaseError> {
    let release = release(&[("release.yaml", text.as_bytes())]);
    draft(&release, &Wishes::default())
}

#[track_caller]
fn drafted(text: &str) -> SourceTree {
    try_draft(text).unwrap_or_else(|error| panic!("{error}: {:?}", error.source()))
}

/// Returns the message of an error and its cause.
#[track_caller]
fn refused(text: &str) -> String {
    let error = try_draft(text).unwrap_err();
    assert!(
        !matches!(error, ReleaseError::Manifests(ManifestsError::Read(_))),
        "{error}"
    );
    let cause = error.source().map(|cause| format!(": {cause}"));
    format!("{error}{}", cause.unwrap_or_default())
}

fn block(draft: &SourceTree) -> &Operator {
    draft.source.spec.operator.as_ref().unwrap()
}

fn places(draft: &SourceTree) -> Vec<String> {
    let images = draft.source.spec.images.iter();
    images.map(|image| image.place().to_string()).collect()
}

/// Returns the only note about a subject.
#[track_caller]
fn note<'a>(draft: &'a SourceTree, about: &str) -> &'a Note {
    let mut notes = draft.notes.iter().filter(|note| note.about == about);
    match (notes.next(), notes.next()) {
        (Some(note), None) => note,
        _ => panic!("not one note about {about}: {:#?}", draft.notes),
    }
}

fn roles(draft: &SourceTree) -> &str {
    std::str::from_utf8(&draft.files[archive::ROLE]).unwrap()
}
