//! The post-renderer that Helm calls: it finishes what is about to be sent, and refuses what the plan did not show. This is
//! the last moment before Helm's first write.
//!
//! Known attacks and where they stop: a chart that renders to more, once it sees the cluster (`lookup`, capabilities), than
//! the plan showed: other objects, rights, images and powers of pods are refused here.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use deployer::Object;
use schemas::{Digest, yaml};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::model::error::Error;
use crate::model::obstacle::named;
use crate::plan::consent::{self, ClusterView, Home};
use crate::plan::finish::{Finish, FinishInputs, images_of_pods};
use crate::plan::hidden::Hidden;

/// The file with what may be sent, in the directory that the post-renderer is given.
const APPROVED: &str = "approved.json";
/// Where it says why it refused: Helm swallows what it says otherwise.
const REASON: &str = "reason";
/// Bytes of a rendering that are read, as many as of one of `helm template`.
const RENDERING: u64 = helm::limits::OUTPUT;
/// Bytes of what may be sent: the record of a version has at most one megabyte, and an object's name three hundred bytes.
const APPROVED_SIZE: u64 = 16 * 1024 * 1024;
/// The kinds whose content is rights: none of them may differ.
const RIGHTS: &str = "rbac.authorization.k8s.io";

/// What may be sent of a release: what its plan showed.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Approved {
    finish: FinishInputs,
    /// Every object by what it is called, with the digest of those whose content is rights.
    objects: BTreeMap<String, Option<Digest>>,
    /// The images of pods.
    images: BTreeSet<String>,
    /// What reaches beyond the environment.
    lines: BTreeSet<String>,
}

/// Why the post-renderer does not pass on what it was given.
#[derive(Debug, thiserror::Error)]
pub enum RendererError {
    /// A file of the run cannot be used.
    #[error("cannot use `{}`", .0.display())]
    File(PathBuf, #[source] io::Error),
    /// What was approved cannot be understood.
    #[error("cannot read what was approved")]
    Approved(#[source] serde_json::Error),
    /// What came from Helm, or goes back to it, cannot be read or written.
    #[error("cannot read from helm or write to it")]
    Stream(#[source] io::Error),
    /// What Helm was about to send cannot be read, or not be finished.
    #[error(transparent)]
    Finish(#[from] Error),
    /// The chart renders to what is not shown in the plan.
    #[error("the chart renders to what the plan did not show: {0}")]
    NotShown(String),
}

impl Approved {
    /// What a plan showed of a release.
    pub(crate) fn new(finish: &FinishInputs, objects: &[Object]) -> Result<Self, Error> {
        let known = objects.iter().map(|it| (called(it), rights(it)));
        Ok(Self {
            finish: finish.clone(),
            objects: known.collect(),
            images: images_of_pods(objects.iter().map(Object::as_value)),
            lines: beyond(finish, objects)?,
        })
    }

    /// Writes it where the post-renderer will look.
    pub(crate) fn file(&self) -> (&'static str, Vec<u8>) {
        let bytes = serde_json::to_vec(self).expect("it is made of texts alone");
        (APPROVED, bytes)
    }

    /// The first thing that was not shown, if anything was not.
    fn refuse(&self, objects: &[Object]) -> Result<(), RendererError> {
        let not_shown = |words: String| Err(RendererError::NotShown(words));
        for object in objects {
            let what = object.reference();
            match self.objects.get(&called(object)) {
                None => return not_shown(what.to_string()),
                Some(shown) if *shown != rights(object) => {
                    return not_shown(format!("{what} gives other rights"));
                }
                Some(_) => {}
            }
        }
        let images = images_of_pods(objects.iter().map(Object::as_value));
        let images: Vec<String> = images.difference(&self.images).cloned().collect();
        if !images.is_empty() {
            return not_shown(named(images));
        }
        let lines = beyond(&self.finish, objects)?;
        let lines: Vec<String> = lines.difference(&self.lines).cloned().collect();
        if lines.is_empty() {
            Ok(())
        } else {
            not_shown(named(lines))
        }
    }
}

/// Two kinds of one name are of different groups.
fn called(object: &Object) -> String {
    format!("{} of {:?}", object.reference(), object.gvk().group)
}

/// The digest of an object whose content is rights.
fn rights(object: &Object) -> Option<Digest> {
    let value = object.as_value();
    let content = ["rules", "roleRef", "subjects", "aggregationRule"].map(|it| &value[it]);
    let content = content.into_iter().cloned().collect::<Value>().to_string();
    (object.gvk().group == RIGHTS).then(|| Digest::new(Sha256::digest(content).into()))
}

fn beyond(finish: &FinishInputs, objects: &[Object]) -> Result<BTreeSet<String>, Error> {
    let home = Home {
        namespace: &finish.environments,
        hidden: &Hidden::default(),
        kept: &[],
    };
    let lines = consent::lines(objects, home, &ClusterView::default())?;
    Ok(lines.into_iter().map(|line| line.text).collect())
}

/// Why the post-renderer of a run refused, if it did.
pub(crate) fn reason(directory: &Path) -> Option<String> {
    let bytes = read(&directory.join(REASON), APPROVED_SIZE).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// Finishes what Helm is about to send, and passes it on if the plan showed it. Why it does not is also written into a file
/// of the directory.
pub fn postrender(
    directory: &Path,
    input: impl Read,
    output: impl Write,
) -> Result<(), RendererError> {
    pass(directory, input, output).inspect_err(|error| {
        let mut words = error.to_string();
        let mut source = std::error::Error::source(error);
        while let Some(cause) = source {
            words = format!("{words}: {cause}");
            source = cause.source();
        }
        // That it failed Helm knows in any case.
        let _ = std::fs::write(directory.join(REASON), words);
    })
}

fn pass(directory: &Path, input: impl Read, mut output: impl Write) -> Result<(), RendererError> {
    let path = directory.join(APPROVED);
    let approved = read(&path, APPROVED_SIZE).map_err(|it| RendererError::File(path, it))?;
    let approved: Approved = serde_json::from_slice(&approved).map_err(RendererError::Approved)?;
    let mut rendering = Vec::new();
    let read = input.take(RENDERING + 1).read_to_end(&mut rendering);
    let read = read.map_err(RendererError::Stream)?;
    if read as u64 > RENDERING {
        let words = format!("more than {RENDERING} bytes");
        return Err(RendererError::NotShown(words));
    }
    let release = approved.finish.namespace.to_string();
    let rendered = manifests::rendered(&rendering).map_err(|source| Error::Rendered {
        release: format!("release in {release}"),
        source,
    })?;
    let finish = Finish::new(&approved.finish)?;
    let mut missing = BTreeSet::new();
    let mut objects = Vec::new();
    for object in rendered {
        let object = finish.finish(object.value, &mut missing)?;
        objects.push(Object::new(object).map_err(Error::from)?);
    }
    approved.refuse(&objects)?;
    for object in &objects {
        let text = yaml::to_string(object.as_value());
        write!(output, "---\n{text}").map_err(RendererError::Stream)?;
    }
    output.flush().map_err(RendererError::Stream)
}

fn read(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(limit).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use serde_json::json;

    use super::*;
    use crate::model::record::RecordedImage;
    use crate::model::record::tests::record;

    const DEPLOYMENT: &str = "{apiVersion: apps/v1, kind: Deployment, metadata: {name: web},
  spec: {template: {spec: {containers: [{name: c, image: 'quay.io/org/web:v7'}]}}}}";
    const ROLE: &str = "{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: r},
  rules: [{apiGroups: [''], resources: [pods], verbs: [get]}]}";

    fn inputs() -> FinishInputs {
        let mut record = record("1.0.0");
        record.images = ["7", "8"]
            .map(|tag| RecordedImage {
                image: format!("web:{tag}").parse().unwrap(),
                digest: Digest::new([7; 32]),
                reference: Some(format!("quay.io/org/web:v{tag}").parse().unwrap()),
            })
            .into();
        FinishInputs {
            record,
            logins: BTreeMap::new(),
            environments: "prod".parse().unwrap(),
            namespace: "prod".parse().unwrap(),
            wide: BTreeSet::new(),
            replicas: BTreeMap::new(),
        }
    }

    /// What comes of a rendering where these documents were shown, and why nothing does.
    fn sent(rendering: &str) -> (Result<String, RendererError>, Option<String>) {
        let finish = Finish::new(&inputs()).unwrap();
        let shown = [DEPLOYMENT, ROLE].map(|it| {
            let object: Value = yaml::from_slice(it.as_bytes()).unwrap();
            let object = finish.finish(object, &mut BTreeSet::new()).unwrap();
            Object::new(object).unwrap()
        });
        let approved = Approved::new(&inputs(), &shown).unwrap();
        let directory = tempfile::tempdir().unwrap();
        let (name, bytes) = approved.file();
        fs::write(directory.path().join(name), bytes).unwrap();
        let mut output = Vec::new();
        let done = postrender(directory.path(), rendering.as_bytes(), &mut output);
        let output = String::from_utf8(output).unwrap();
        (done.map(|()| output), reason(directory.path()))
    }

    #[test]
    fn what_was_shown_is_finished_and_sent() {
        let (sent, reason) = sent(&format!("---\n{DEPLOYMENT}\n---\n{ROLE}\n"));
        let sent = sent.unwrap();
        assert_eq!(reason, None);
        let image = "pull.test/shop/web:7@sha256:0707";
        assert!(sent.contains(image), "{sent}");
        let objects = yaml::documents(sent.as_bytes()).unwrap();
        assert_eq!(objects.len(), 2);
        assert_eq!(objects[0]["metadata"]["namespace"], json!("prod"));
    }

    #[test]
    fn less_than_was_shown_is_sent_too() {
        assert!(sent(DEPLOYMENT).0.is_ok());
    }

    #[test]
    fn what_was_not_shown_is_not_sent_and_the_reason_is_kept() {
        let other = DEPLOYMENT.replace("name: web}", "name: other}");
        let rights = ROLE.replace("[get]", "[get, list]");
        let image = DEPLOYMENT.replace("v7", "v8");
        let foreign = DEPLOYMENT.replace("quay.io/org/web:v7", "evil.test/x:1");
        let power = DEPLOYMENT.replace("containers:", "hostNetwork: true, containers:");
        let elsewhere = DEPLOYMENT.replace("name: web}", "name: web, namespace: kube-system}");
        for (rendering, words) in [
            (&other, "Deployment prod/other"),
            (&rights, "Role prod/r gives other rights"),
            (&image, "shop/web:8@sha256"),
            (&foreign, "evil.test/x:1"),
            (&power, "are in their node's network"),
            (&elsewhere, "Deployment kube-system/web"),
        ] {
            let (sent, reason) = sent(rendering);
            assert!(matches!(sent, Err(RendererError::NotShown(_))), "{sent:?}");
            let reason = reason.unwrap();
            assert!(reason.contains(words), "{words}: {reason}");
        }
    }

    #[test]
    fn without_what_was_approved_nothing_is_sent() {
        let directory = tempfile::tempdir().unwrap();
        let done = postrender(directory.path(), DEPLOYMENT.as_bytes(), Vec::new());
        assert!(matches!(done, Err(RendererError::File(..))), "{done:?}");
        fs::write(directory.path().join(APPROVED), "{").unwrap();
        let done = postrender(directory.path(), DEPLOYMENT.as_bytes(), Vec::new());
        assert!(matches!(done, Err(RendererError::Approved(_))), "{done:?}");
    }
}
