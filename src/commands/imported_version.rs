//! References to Solutions on the command line, which are archives or names of imported versions, and the imported
//! version itself. The archive of an imported version is read from the registry and checked as its media was, either
//! with the keys of the command line or with the record in the cluster.

use std::path::Path;

use clap::Args;
use importer::{HeldSite, ImportedVersion, Request};
use kubernetes::Cluster;
use registry::{Client, RegistryAddress};
use schemas::{Digest, SolutionId, SolutionName, Version};
use store::{Record, RegistryArchive};
use validator::{AcceptedArchive, Report};

use super::import::{self, Connections, PlanArguments, SignerArguments};
use super::validate::{self, check};
use crate::args::{
    ChangeArguments, ClusterArguments, IncludedHelmArguments, Output, ProgressArguments,
    RegistryArguments, TrustArguments,
};
use crate::failure::{Failure, Outcome};
use crate::{environment, interrupt, registries};

/// A reference to a Solution: the name of an imported version, or an archive.
pub(crate) enum SolutionRef<'a, A = &'a Path> {
    /// An imported version; without a version, the newest one.
    Imported(SolutionName, Option<&'a Version>),
    /// An archive.
    Archive(A),
}

impl<'a> SolutionRef<'a> {
    /// Distinguishes an archive from a Solution's name, which has no dot and no slash.
    pub(crate) fn by(what: &'a Path, version: Option<&'a Version>) -> Result<Self, Failure> {
        let name = what.to_str().and_then(|word| word.parse().ok());
        match (name, version) {
            (Some(name), version) => Ok(Self::Imported(name, version)),
            (None, None) => Ok(Self::Archive(what)),
            (None, Some(_)) => {
                let shown = what.display();
                let message = format!("`{shown}` is not the name of a Solution");
                Err(Failure::usage(message))
            }
        }
    }

    /// Verifies the archive, if the reference is one. None if it is not accepted, which the program has reported with
    /// `follows`.
    pub(crate) fn accepted(
        self,
        signers: &SignerArguments,
        follows: &str,
        output: Output,
    ) -> Result<Option<SolutionRef<'a, Box<AcceptedArchive>>>, Failure> {
        let path = match self {
            Self::Imported(name, version) => return Ok(Some(SolutionRef::Imported(name, version))),
            Self::Archive(path) => path,
        };
        let accepted = import::accept(path, signers, follows, output)?;
        Ok(accepted.map(|accepted| SolutionRef::Archive(Box::new(accepted.accepted))))
    }
}

/// How a verb gets at an imported version, and what becomes of its plan.
#[derive(Args, Debug)]
pub(super) struct ImportedVersionArguments {
    #[command(flatten)]
    reach: RegistryArguments,

    #[command(flatten)]
    pub(super) planning: PlanArguments,

    #[command(flatten)]
    pub(super) progress: ProgressArguments,

    #[command(flatten)]
    pub(super) cluster: ClusterArguments,

    #[command(flatten)]
    pub(super) turn: ChangeArguments,

    #[command(flatten)]
    included: IncludedHelmArguments,
}

impl ImportedVersionArguments {
    /// Reads the archive of an imported version, and executes the request. Without a version, it uses the newest one.
    pub(super) async fn carry_out(
        &self,
        cluster: &Cluster,
        solution: &SolutionName,
        version: Option<&Version>,
        output: Output,
        request: impl FnOnce(&ImportedVersion) -> Result<Request, Failure>,
    ) -> Result<Outcome, Failure> {
        let kept = read_imported_version(cluster, solution, version, &self.reach, output).await?;
        self.carry_out_of(kept, cluster, output, request).await
    }

    /// Reads the archive of a recorded version, and executes the request.
    pub(super) async fn carry_out_for(
        &self,
        cluster: &Cluster,
        record: &Record,
        site: &HeldSite,
        output: Output,
        request: impl FnOnce(&ImportedVersion) -> Result<Request, Failure>,
    ) -> Result<Outcome, Failure> {
        let client = |registry: &_, site: &_| import::client(registry, &self.reach, site);
        let kept = report_findings(check_record(record, site, client).await?, output);
        self.carry_out_of(kept, cluster, output, request).await
    }

    async fn carry_out_of(
        &self,
        kept: Option<ImportedVersion>,
        cluster: &Cluster,
        output: Output,
        request: impl FnOnce(&ImportedVersion) -> Result<Request, Failure>,
    ) -> Result<Outcome, Failure> {
        let Some(kept) = kept else {
            return Ok(Outcome::No);
        };
        let mut request = request(&kept)?;
        request.allowed.conflicts = self.planning.conflicts();
        request.use_included_helm = self.included.use_included_helm;
        let reached = Connections {
            client: &kept.client,
            cluster,
        };
        let choices = self.planning.choices();
        let archive = &kept.archive;
        Box::pin(import::carry_out(
            archive, request, reached, choices, None, output,
        ))
        .await
    }
}

/// Reads the archive of an imported version; without a version, of the newest one. None if it is not accepted, which
/// the program has reported.
pub(super) async fn read_imported_version(
    cluster: &Cluster,
    solution: &SolutionName,
    version: Option<&Version>,
    reach: &RegistryArguments,
    output: Output,
) -> Result<Option<ImportedVersion>, Failure> {
    let client = |registry: &_, site: &_| import::client(registry, reach, site);
    let kept = check_imported_version(cluster, solution, version, client).await?;
    Ok(report_findings(kept, output))
}

/// Reports the findings of an archive, and whether it is accepted.
fn report_findings(
    kept: Result<ImportedVersion, Box<Report>>,
    output: Output,
) -> Option<ImportedVersion> {
    match kept {
        Ok(kept) => {
            validate::print_findings(&kept.archive.findings, output);
            Some(kept)
        }
        Err(report) => {
            validate::refuse(&report, "", output);
            None
        }
    }
}

/// Checks the archive of an imported version without output. Returns the report if the archive is not accepted.
pub(super) async fn check_imported_version(
    cluster: &Cluster,
    solution: &SolutionName,
    version: Option<&Version>,
    client: impl FnOnce(&RegistryAddress, &HeldSite) -> Result<Client, Failure>,
) -> Result<Result<ImportedVersion, Box<Report>>, Failure> {
    let record = importer::imported(cluster, solution, version).await?;
    let site = importer::site(cluster).await?;
    check_record(&record, &site, client).await
}

/// Checks the archive in the site's registry in the same way as its media were checked.
async fn check_record(
    record: &Record,
    site: &HeldSite,
    client: impl FnOnce(&RegistryAddress, &HeldSite) -> Result<Client, Failure>,
) -> Result<Result<ImportedVersion, Box<Report>>, Failure> {
    let client = client(&record.registry()?, site)?;
    let scratch = environment::scratch();
    Ok(ImportedVersion::check(record, client, &scratch, interrupt::cancel()).await?)
}

/// By what an archive is judged that no cluster has a record of.
#[derive(Args, Debug)]
pub(super) struct TrustedArchiveArguments {
    /// The id of the archive, as `pack` and `import` show it; it replaces --key
    #[arg(long, value_name = "DIGEST")]
    archive_id: Option<Digest>,

    /// Accept the Solution with this id (`<name>-<version>`) without a signature
    #[arg(long, value_name = "ID")]
    pub(super) allow_unsigned: Option<SolutionId>,

    #[command(flatten)]
    pub(super) trust: TrustArguments,
}

/// Returns the client of a registry that the command line names.
pub(super) fn client(
    registry: &RegistryAddress,
    reach: &RegistryArguments,
) -> Result<Client, Failure> {
    registries::client(registry, reach, registries::options(reach)?)
}

/// Finds the archive of a version in a registry, without a cluster.
pub(super) async fn find(
    judging: &TrustedArchiveArguments,
    client: &Client,
    id: &SolutionId,
    output: Output,
) -> Result<RegistryArchive, Failure> {
    // The id is the digest of the archive, so it identifies the archive without a signature.
    let by_id = judging.archive_id.is_some() && judging.trust.keys.is_empty();
    let signatures = if by_id {
        None
    } else {
        let allow = judging.allow_unsigned.clone();
        Some(check::effective_trust(&judging.trust, allow, output)?.0)
    };
    client.ping().await?;
    let archive_id = match judging.archive_id {
        Some(archive_id) => archive_id,
        None => store::only_archive(client, id).await?,
    };
    Ok(RegistryArchive {
        id: id.clone(),
        archive_id,
        signatures,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meant(what: &str, version: Option<&str>) -> Result<String, String> {
        let version: Option<Version> = version.map(|version| version.parse().unwrap());
        match SolutionRef::by(Path::new(what), version.as_ref()) {
            Ok(SolutionRef::Imported(name, None)) => Ok(format!("the newest {name}")),
            Ok(SolutionRef::Imported(name, Some(version))) => Ok(format!("{name} {version}")),
            Ok(SolutionRef::Archive(path)) => Ok(format!("the file {}", path.display())),
            Err(failure) => Err(failure.lines().collect()),
        }
    }

    #[test]
    fn a_word_without_dots_and_slashes_is_the_name_of_an_imported_solution() {
        for (what, version, expected) in [
            ("shop", None, "the newest shop"),
            ("shop", Some("1.0.0"), "shop 1.0.0"),
            ("shop.iso", None, "the file shop.iso"),
            ("./shop", None, "the file ./shop"),
            ("/dev/sr0", None, "the file /dev/sr0"),
        ] {
            assert_eq!(meant(what, version).as_deref(), Ok(expected), "{what}");
        }
        let file = meant("shop.iso", Some("1.0.0")).unwrap_err();
        assert_eq!(file, "error: `shop.iso` is not the name of a Solution");
    }
}
