//! What a registry lacks of an archive, or has wrong, and what to do about it.

use registry::{Client, Fault, Faulty, Reference};
use schemars::JsonSchema;
use schemas::{Digest, SolutionId};
use serde::Serialize;

use crate::render;

/// What was found.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Verification {
    /// The id of the Solution, `<name>-<version>`.
    pub(super) solution: SolutionId,
    /// SHA-256 of the signed statement.
    pub(super) archive_id: Digest,
    /// The registry, `HOST[:PORT][/PREFIX]`.
    pub(super) registry: String,
    /// How many manifests there have to be; one counts once for each name.
    pub(super) manifests: usize,
    /// How many blobs were read and are right; one counts once for each repository.
    pub(super) blobs: usize,
    /// The bytes of these blobs.
    pub(super) bytes: u64,
    /// What is wrong; after a repair, what is wrong still.
    pub(super) faults: Vec<ShownFault>,
    /// What was wrong and is right now, read back.
    pub(super) repaired: Vec<ShownFault>,
    /// What kept the repair from more.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) errors: Vec<String>,
}

/// A manifest or blob that is wrong.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Fault")]
pub(crate) struct ShownFault {
    /// The repository, with the registry's host.
    pub(super) repository: String,
    /// The digest or tag.
    pub(super) reference: Reference,
    #[serde(flatten)]
    pub(super) fault: Fault,
    /// What to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) fix: Option<String>,
}

impl ShownFault {
    pub(super) fn of(client: &Client, faulty: &Faulty, fix: Option<String>) -> Self {
        Self {
            repository: format!("{}/{}", client.address().host(), faulty.repository),
            reference: faulty.reference.clone(),
            fault: faulty.fault,
            fix,
        }
    }

    /// What is the case, for people.
    fn words(&self) -> String {
        let (reference, repository) = (&self.reference, &self.repository);
        match self.fault {
            Fault::Missing => format!("{reference} in {repository} is missing"),
            Fault::Damaged => format!("{reference} in {repository} is damaged"),
            Fault::Other(found) => {
                format!("{reference} in {repository} is {found}, and another image")
            }
        }
    }
}

/// What to do about it, where a push is no help or was none.
pub(super) fn fix(faulty: &Faulty, tried: bool) -> Option<String> {
    let words = match (&faulty.fault, &faulty.reference) {
        (Fault::Other(_), _) => {
            "find out who moved the tag; `solution import ARCHIVE --replace` moves it back"
                .to_owned()
        }
        (_, _) if !tried => {
            "`solution registry verify ARCHIVE --repair` pushes it once more".to_owned()
        }
        (_, Reference::Digest(digest)) => {
            let hex = digest.hex();
            let directory = format!("docker/registry/v2/blobs/sha256/{}/{hex}", &hex[..2]);
            format!(
                "the registry keeps the bytes that it has, whatever is pushed: remove them from its storage (docker-registry: the directory `{directory}`), restart it, and run the same command again"
            )
        }
        (_, Reference::Tag(_)) => return None,
    };
    Some(words)
}

/// What was found, for people.
pub(super) fn show(found: &Verification) {
    let (solution, registry) = (&found.solution, &found.registry);
    let blobs = render::count(found.blobs, "blob");
    let manifests = render::count(found.manifests, "manifest");
    let bytes = render::bytes(found.bytes);
    render::lines("repaired: ", found.repaired.iter().map(ShownFault::words));
    if found.faults.is_empty() {
        return render::line!(
            "{registry} has all of {solution}: {manifests}, {blobs} ({bytes}) read back"
        );
    }
    render::notes("error: ", &found.errors);
    let mut fixes: Vec<&String> = Vec::new();
    for fault in &found.faults {
        render::line!("wrong: {}", fault.words());
        let fix = fault.fix.as_ref();
        fixes.extend(fix.filter(|fix| !fixes.contains(fix)));
    }
    let faults = render::count(found.faults.len(), "fault");
    render::note!("error: {registry} does not have all of {solution}: {faults}");
    render::notes("hint: ", fixes);
}
