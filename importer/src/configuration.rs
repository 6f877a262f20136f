//! The difference between a site's configuration and a cluster: the versions that become active, the ones that are not
//! listed, and the uses of those. Nothing is read or written here.

use schemas::{
    ActiveVersion, EnvironmentName, SolutionId, SolutionName, SolutionsConfiguration, Version,
};

use crate::model::obstacle::Obstacle;
use crate::model::record;
use crate::status::{Status, VersionStatus};

/// The difference of a cluster from a configuration, but for the archives that are to be imported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The version of each Solution that is configured to be active, if it is imported or will be.
    pub active: Vec<(SolutionName, Result<Version, Obstacle>)>,
    /// The Solutions that are active and not configured to be.
    pub deactivate: Vec<SolutionName>,
    /// The imported versions that are neither listed nor configured to be active.
    pub unlisted: Vec<Unlisted>,
}

/// An imported version that is not listed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unlisted {
    /// The Solution.
    pub solution: SolutionName,
    /// The version.
    pub version: Version,
    /// The environments that run it.
    pub environments: Vec<EnvironmentName>,
    /// The object that goes with it.
    pub recorded_in: String,
}

impl Difference {
    /// Compares a configuration, and the archives that it lists, with a cluster.
    #[must_use]
    pub fn of(
        configuration: &SolutionsConfiguration,
        archives: &[SolutionId],
        status: &Status,
    ) -> Self {
        let active: Vec<_> = configuration
            .active
            .iter()
            .map(|(solution, wanted)| {
                let version = choose(solution, wanted, archives, status);
                (solution.clone(), version)
            })
            .collect();
        let is_listed = |found: &VersionStatus| {
            let (name, version) = (&found.record.name, &found.record.version);
            let mut listed = archives.iter();
            let mut chosen = active.iter();
            listed.any(|id| (id.name(), id.version()) == (name, version))
                || chosen
                    .any(|(solution, chosen)| solution == name && chosen.as_ref() == Ok(version))
        };
        let versions = status.versions.iter();
        let unlisted = versions.clone().filter(|found| !is_listed(found));
        let unlisted = unlisted.map(Unlisted::of).collect();
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
    fn of(found: &VersionStatus) -> Self {
        Self {
            solution: found.record.name.clone(),
            version: found.record.version.clone(),
            environments: found.environments.clone(),
            recorded_in: record::place(&found.record).to_string(),
        }
    }
}

/// The version that is meant, among those that are imported or listed.
fn choose(
    solution: &SolutionName,
    wanted: &ActiveVersion,
    archives: &[SolutionId],
    status: &Status,
) -> Result<Version, Obstacle> {
    let records = status.versions.iter().map(|found| &found.record);
    let imported = records.map(|record| (&record.name, &record.version));
    let listed = archives.iter().map(|id| (id.name(), id.version()));
    let mut known = imported.chain(listed).filter(|(name, _)| *name == solution);
    match wanted {
        ActiveVersion::Latest => {
            let newest = known.map(|(_, version)| version).max();
            newest.cloned().ok_or_else(|| Obstacle::NothingImported {
                solution: solution.clone(),
            })
        }
        ActiveVersion::Version(wanted) => {
            let absent = || Obstacle::NotImported {
                solution: solution.clone(),
                version: wanted.clone(),
            };
            let found = known.any(|(_, version)| version == wanted);
            found.then(|| wanted.clone()).ok_or_else(absent)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::record::tests::record;

    fn status(versions: &[(&str, bool, &[&str])]) -> Status {
        let found = |(version, active, environments): &(&str, bool, &[&str])| VersionStatus {
            record: record(version),
            active: *active,
            environments: environments
                .iter()
                .map(|name| name.parse().unwrap())
                .collect(),
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

    fn difference(active: &str, archives: &[&str], status: &Status) -> Difference {
        let text = format!(
            "{{apiVersion: {}, kind: SolutionsConfiguration, active: {active}}}",
            schemas::API_VERSION
        );
        let configuration = SolutionsConfiguration::from_slice(text.as_bytes()).unwrap();
        let archives: Vec<SolutionId> = archives.iter().map(|id| id.parse().unwrap()).collect();
        Difference::of(&configuration, &archives, status)
    }

    fn active(active: &str, archives: &[&str], status: &Status) -> String {
        match &difference(active, archives, status).active[..] {
            [(_, Ok(version))] => version.to_string(),
            [(_, Err(obstacle))] => obstacle.to_string(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_latest_is_the_newest_by_semver_of_what_is_imported_or_listed() {
        let known = status(&[
            ("1.2.0", false, &[]),
            ("1.9.0", true, &[]),
            ("1.10.0-rc.1", false, &[]),
        ]);
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
        let known = status(&[
            ("1.0.0", false, &["prod"]),
            ("1.1.0", true, &[]),
            ("1.2.0", false, &[]),
        ]);
        let unlisted = |active: &str, archives: &[&str]| {
            let found = difference(active, archives, &known);
            let versions = found.unlisted.iter().map(|it| it.version.to_string());
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
        // One that is not there is no reason to think that another one is meant.
        assert_eq!(
            unlisted("{shop: 9.0.0}", &[]),
            ("1.0.0 1.1.0 1.2.0".to_owned(), 0)
        );
        let found = difference("{}", &[], &known).unlisted;
        assert_eq!(found[0].environments.len(), 1);
        let recorded_in = &found[1].recorded_in;
        assert_eq!(
            recorded_in,
            "ConfigMap metalk8s-solutions/solution-shop-1.1.0"
        );
    }
}
