//! What a verb is asked about: an archive, or an imported version; and the registry that its images lie in, or would.

use std::path::Path;

use deployer::Cluster;
use importer::{Error, NamedRegistry, Obstacle, PushDestination};
use registry::RegistryAddress;
use schemas::{SolutionId, SolutionName, Version};
use shelf::Missing;
use validator::Accepted;

use super::import::{self, SignerArguments};
use crate::args::Output;
use crate::failure::Failure;

/// What is meant by a word and perhaps a version, with the archive if it is one.
pub(crate) enum Meant<'a, A = &'a Path> {
    /// An imported version; the newest if none is named.
    Imported(SolutionName, Option<&'a Version>),
    /// An archive.
    Archive(A),
}

impl<'a> Meant<'a> {
    /// Tells an archive from a Solution's name, which has no dot and no slash.
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

    /// Verifies the archive, if it is one. Nothing if that is not accepted, which is said with what `follows`.
    pub(crate) fn accepted(
        self,
        signers: &SignerArguments,
        follows: &str,
        output: Output,
    ) -> Result<Option<Meant<'a, Box<Accepted>>>, Failure> {
        let path = match self {
            Self::Imported(name, version) => return Ok(Some(Meant::Imported(name, version))),
            Self::Archive(path) => path,
        };
        let accepted = import::accept(path, signers, follows, output)?;
        Ok(accepted.map(|it| Meant::Archive(Box::new(it.accepted))))
    }
}

/// The registry that has the images of a version, or would have them.
pub(crate) struct ImagesAt {
    pub(crate) registry: RegistryAddress,
    /// The same as nodes know it, if that is known.
    pub(crate) pull_registry: Option<RegistryAddress>,
}

impl ImagesAt {
    /// Where an archive's images would be pushed: as it was said, else as the site's file has it, else where the same version
    /// was, else the newest one of the Solution.
    pub(crate) async fn of(
        named: Option<&RegistryAddress>,
        cluster: &Cluster,
        id: &SolutionId,
    ) -> Result<Self, Failure> {
        let site = importer::site(cluster).await?;
        let named = named.map(|address| NamedRegistry {
            address: address.clone(),
            missing: Missing::Push,
        });
        if let Some(found) = PushDestination::of(named, None, &site) {
            return Ok(found.into());
        }
        let record = match importer::imported_or_newest(cluster, id).await {
            Err(Error::Refused(obstacle @ Obstacle::NothingImported { .. })) => {
                let hint = "name the target registry with `--registry`";
                return Err(Failure::unknown(obstacle).hint(hint));
            }
            found => found?,
        };
        Ok(Self {
            registry: record.registry()?,
            pull_registry: Some(record.pull_registry()?),
        })
    }
}

impl From<PushDestination> for ImagesAt {
    fn from(destination: PushDestination) -> Self {
        Self {
            registry: destination.registry,
            pull_registry: destination.pull_registry,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meant(what: &str, version: Option<&str>) -> Result<String, String> {
        let version: Option<Version> = version.map(|it| it.parse().unwrap());
        match Meant::by(Path::new(what), version.as_ref()) {
            Ok(Meant::Imported(name, None)) => Ok(format!("the newest {name}")),
            Ok(Meant::Imported(name, Some(version))) => Ok(format!("{name} {version}")),
            Ok(Meant::Archive(path)) => Ok(format!("the file {}", path.display())),
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
