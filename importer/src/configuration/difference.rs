//! The difference between a `SolutionsConfiguration` and a cluster. [`Difference::compute`] finds the versions to
//! activate and the imported versions that are not listed, without reading or writing anything. Each change is a
//! [`ConfigurationStep`] with a [`State`].

use schemars::JsonSchema;
use schemas::{ActiveVersion, SolutionId, SolutionName, SolutionsConfiguration, Version};
use serde::Serialize;

use crate::apply::Receipt;
use crate::model::blocker::Blocker;
use crate::records::record;
use crate::status::{Status, VersionStatus};

/// The difference of a cluster from a configuration, except the archives to import.
#[derive(Debug)]
pub(super) struct Difference {
    /// The versions that are configured to be active.
    pub(super) active: Vec<ConfiguredVersion>,
    /// The active Solutions that are not configured to be active.
    pub(super) deactivate: Vec<SolutionName>,
    /// The imported versions that are neither listed nor configured to be active.
    pub(super) unlisted: Vec<Unlisted>,
}

/// A Solution that is configured to be active.
#[derive(Debug)]
pub(super) struct ConfiguredVersion {
    pub(super) solution: SolutionName,
    /// The version, if it is imported or will be.
    pub(super) version: Result<Version, Blocker>,
}

/// An imported version that is not listed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Unlisted {
    pub(super) solution: SolutionName,
    pub(super) version: Version,
    /// The record that is deleted with it.
    pub(super) recorded_in: String,
}

impl Difference {
    /// Compares a configuration and its listed archives with a cluster.
    pub(super) fn compute(
        configuration: &SolutionsConfiguration,
        archives: &[SolutionId],
        status: &Status,
    ) -> Self {
        let active: Vec<_> = configuration
            .active
            .iter()
            .map(|(solution, wanted)| ConfiguredVersion {
                solution: solution.clone(),
                version: choose(solution, wanted, archives, status),
            })
            .collect();
        let is_listed = |found: &VersionStatus| {
            let (name, version) = (&found.record.name, &found.record.version);
            let mut listed = archives.iter();
            let mut wanted = active.iter();
            listed.any(|id| (id.name(), id.version()) == (name, version))
                || wanted.any(|configured| {
                    configured.solution == *name && configured.version.as_ref() == Ok(version)
                })
        };
        let versions = status.versions.iter();
        let unlisted = versions
            .clone()
            .filter(|found| !is_listed(found))
            .map(Unlisted::new)
            .collect();
        let unwanted = versions
            .filter(|found| found.active && !configuration.active.contains_key(&found.record.name));
        Self {
            deactivate: unwanted.map(|found| found.record.name.clone()).collect(),
            unlisted,
            active,
        }
    }
}

impl Unlisted {
    fn new(found: &VersionStatus) -> Self {
        Self {
            solution: found.record.name.clone(),
            version: found.record.version.clone(),
            recorded_in: record::place(&found.record).to_string(),
        }
    }
}

/// Returns the configured version if it is imported or listed.
fn choose(
    solution: &SolutionName,
    wanted: &ActiveVersion,
    archives: &[SolutionId],
    status: &Status,
) -> Result<Version, Blocker> {
    let records = status.versions.iter().map(|found| &found.record);
    let imported = records.map(|record| (&record.name, &record.version));
    let listed = archives.iter().map(|id| (id.name(), id.version()));
    let mut known = imported.chain(listed).filter(|(name, _)| *name == solution);
    match wanted {
        ActiveVersion::Latest => {
            let newest = known.map(|(_, version)| version).max();
            newest.cloned().ok_or_else(|| Blocker::NothingImported {
                solution: solution.clone(),
            })
        }
        ActiveVersion::Version(wanted) => {
            let absent = || Blocker::NotImported {
                solution: solution.clone(),
                version: wanted.clone(),
            };
            let found = known.any(|(_, version)| version == wanted);
            found.then(|| wanted.clone()).ok_or_else(absent)
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::records::record::tests::record;

    /// Returns the status of a cluster with these versions of the shop, each active or not.
    pub(in crate::configuration) fn status(versions: &[(&str, bool)]) -> Status {
        let found = |(version, active): &(&str, bool)| VersionStatus {
            record: record(version),
            active: *active,
            environments: Vec::new(),
        };
        Status {
            versions: versions.iter().map(found).collect(),
            environments: Vec::new(),
            operators: Vec::new(),
            incomplete: Vec::new(),
            notes: Vec::new(),
            unseen: Vec::new(),
        }
    }

    pub(in crate::configuration) fn configuration(active: &str) -> SolutionsConfiguration {
        let text = format!(
            "{{apiVersion: {}, kind: SolutionsConfiguration, active: {active}}}",
            schemas::API_VERSION
        );
        SolutionsConfiguration::from_slice(text.as_bytes()).unwrap()
    }

    fn difference(active: &str, archives: &[&str], status: &Status) -> Difference {
        let configuration = configuration(active);
        let archives: Vec<SolutionId> = archives.iter().map(|id| id.parse().unwrap()).collect();
        Difference::compute(&configuration, &archives, status)
    }

    fn active(active: &str, archives: &[&str], status: &Status) -> String {
        match &difference(active, archives, status).active[..] {
            [wanted] => match &wanted.version {
                Ok(version) => version.to_string(),
                Err(blocker) => blocker.to_string(),
            },
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_latest_is_the_newest_by_semver_of_what_is_imported_or_listed() {
        let known = status(&[("1.2.0", false), ("1.9.0", true), ("1.10.0-rc.1", false)]);
        let latest = "{shop: latest}";
        assert_eq!(active(latest, &[], &known), "1.10.0-rc.1");
        assert_eq!(active(latest, &["shop-1.10.0"], &known), "1.10.0");
        assert_eq!(
            active(latest, &["shop-1.1.0", "cart-3.0.0"], &known),
            "1.10.0-rc.1"
        );
        let none = active("{cart: latest}", &[], &known);
        assert_eq!(none, "no version of cart is imported");
        assert_eq!(active("{shop: 1.2.0}", &[], &known), "1.2.0");
        assert_eq!(active("{shop: 2.0.0}", &["shop-2.0.0"], &known), "2.0.0");
        let absent = active("{shop: 3.0.0}", &["shop-2.0.0"], &known);
        assert_eq!(absent, "shop 3.0.0 is not imported");
    }

    #[test]
    fn what_is_neither_listed_nor_to_be_active_is_not_listed() {
        let known = status(&[("1.0.0", false), ("1.1.0", true), ("1.2.0", false)]);
        let unlisted = |active: &str, archives: &[&str]| {
            let found = difference(active, archives, &known);
            let versions = found
                .unlisted
                .iter()
                .map(|unlisted| unlisted.version.to_string());
            (
                versions.collect::<Vec<_>>().join(" "),
                found.deactivate.len(),
            )
        };
        assert_eq!(unlisted("{}", &[]), ("1.0.0 1.1.0 1.2.0".to_owned(), 1));
        assert_eq!(
            unlisted("{}", &["shop-1.1.0"]),
            ("1.0.0 1.2.0".to_owned(), 1)
        );
        assert_eq!(
            unlisted("{shop: 1.0.0}", &["shop-1.1.0"]),
            ("1.2.0".to_owned(), 0)
        );
        assert_eq!(
            unlisted("{shop: latest}", &[]),
            ("1.0.0 1.1.0".to_owned(), 0)
        );
        // An unknown version is not replaced by another one.
        assert_eq!(
            unlisted("{shop: 9.0.0}", &[]),
            ("1.0.0 1.1.0 1.2.0".to_owned(), 0)
        );
        let found = difference("{}", &[], &known).unlisted;
        let recorded_in = &found[1].recorded_in;
        assert_eq!(
            recorded_in,
            "ConfigMap metalk8s-solutions/solution-shop-1.1.0"
        );
    }
}

/// A step, identified by its action and subject.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ConfigurationStep {
    /// The action.
    pub action: StepAction,
    /// The archive's path as listed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub archive: Option<String>,
    /// The name of the Solution. It is missing where an archive cannot be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub solution: Option<SolutionName>,
    /// The version of the Solution.
    // None if the step concerns all versions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<Version>,
}

/// The action of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum StepAction {
    /// A version is imported.
    Import,
    /// The CRDs of a version are activated.
    Activate,
    /// The CRDs of a Solution are removed.
    Deactivate,
    /// The record of a version is removed.
    Unimport,
}

/// The state of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum State {
    /// It is planned.
    Planned,
    /// It was done.
    Done,
    /// Nothing had to be changed.
    Unchanged,
    /// It failed or is incomplete.
    Failed,
    /// It was not requested, or the object to remove is in use.
    Left,
}

impl ConfigurationStep {
    /// Returns a step for a Solution or one version of it.
    pub(super) fn new(
        action: StepAction,
        solution: &SolutionName,
        version: Option<&Version>,
    ) -> Self {
        Self {
            action,
            archive: None,
            solution: Some(solution.clone()),
            version: version.cloned(),
        }
    }

    /// Checks whether the step replaces or removes the CRDs of a Solution.
    pub(super) fn changes_definitions(&self, solution: &SolutionName) -> bool {
        let changes = matches!(self.action, StepAction::Activate | StepAction::Deactivate);
        changes && self.solution.as_ref() == Some(solution)
    }
}

impl State {
    /// Returns the state after an import or activation.
    #[must_use]
    pub fn after(receipt: &Receipt) -> Self {
        if receipt.objects.is_empty() && receipt.pushed.uploaded.blobs == 0 {
            Self::Unchanged
        } else {
            Self::Done
        }
    }
}

#[cfg(test)]
mod step_tests {
    use store::{PushedBlobs, PushedCount};

    use super::*;

    #[test]
    fn an_import_that_wrote_and_sent_nothing_changed_nothing() {
        let none = PushedCount { blobs: 0, bytes: 0 };
        for (blobs, objects, state) in [
            (0, &[][..], State::Unchanged),
            (1, &[], State::Done),
            (0, &["CustomResourceDefinition shops"], State::Done),
        ] {
            let receipt = Receipt {
                solution: "shop-1.0.0".to_owned(),
                archive_id: String::new(),
                pushed: PushedBlobs {
                    uploaded: PushedCount { blobs, ..none },
                    resumed: none,
                    mounted: none,
                    present: PushedCount { blobs: 7, ..none },
                },
                objects: objects.iter().map(ToString::to_string).collect(),
                removed: Vec::new(),
                activated: Vec::new(),
                deployed: None,
                accepted: None,
                revision: None,
                findings: Vec::new(),
            };
            assert_eq!(State::after(&receipt), state, "{blobs}, {objects:?}");
        }
    }
}
