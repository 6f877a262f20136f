//! What a registry lacks of an archive, or has wrong, and what to do about it.

use registry::{Client, Fault, Faulty, Reference};
use schemars::JsonSchema;
use schemas::{Digest, SolutionId};
use serde::Serialize;

use crate::render;

/// The result.
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
    /// The faults; after a repair, the remaining ones.
    pub(super) faults: Vec<ShownFault>,
    /// The repaired faults, verified by reading.
    pub(super) repaired: Vec<ShownFault>,
    /// The errors of the repair.
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
    /// How to fix it.
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
                format!("{reference} in {repository} is {found}, which is another image")
            }
        }
    }
}

/// What to do about it, where a push is no help or was none.
pub(super) fn fix(faulty: &Faulty, tried: bool) -> Option<String> {
    let words = match (&faulty.fault, &faulty.reference) {
        (Fault::Other(_), _) => {
            "find out who moved the tag, then move it back with `solution import ARCHIVE --replace`"
                .to_owned()
        }
        (_, _) if !tried => {
            "push it again with `solution registry verify ARCHIVE --repair`".to_owned()
        }
        (_, Reference::Digest(digest)) => {
            let hex = digest.hex();
            let directory = format!("docker/registry/v2/blobs/sha256/{}/{hex}", &hex[..2]);
            format!(
                "remove the damaged blob from the registry's storage (docker-registry: the directory `{directory}`), restart the registry, and run the same command again: it does not overwrite blobs that it has"
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
            "{registry} has all content of {solution}: {manifests}, {blobs} ({bytes}) verified"
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
    render::note!("error: {registry} does not have all content of {solution}: {faults}");
    render::notes("hint: ", fixes);
}
