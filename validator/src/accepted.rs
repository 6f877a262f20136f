//! The proof that an archive was checked. [`AcceptedArchive`] gives the importer the checked documents of an archive, and
//! access to its remaining contents, which are verified while they are read.

use std::collections::BTreeMap;

use archive::{Architecture, Blob, Feature, ListedArchive, helm_in_head, program_name};
use schemas::{Digest, Image, Solution, Statement};
use serde_json::Value;
use signing::Signers;

use crate::charts::PackagedChart;
use crate::definitions::PackagedDefinition;
use crate::programs::PackagedProgram;
use crate::sets::PackagedSet;

/// An archive without errors that is signed by trusted keys or that the user allowed to be unsigned. Only
/// [`crate::check`] creates one, and only [`crate::Report::accept`] returns it.
#[derive(Debug)]
pub struct AcceptedArchive {
    pub(crate) listed: ListedArchive,
    pub(crate) solution: Solution,
    pub(crate) images: Vec<Image>,
    pub(crate) definitions: Vec<PackagedDefinition>,
    pub(crate) roles: Vec<Value>,
    pub(crate) sets: Vec<PackagedSet>,
    pub(crate) charts: Vec<PackagedChart>,
    pub(crate) programs: Vec<PackagedProgram>,
}

/// A `helm` program in an archive. Its bytes are verified while they are read.
#[derive(Debug)]
pub enum IncludedHelm<'a> {
    /// A blob of a program image. An archive's head (its data without images) does not contain it.
    Image(&'a PackagedProgram),
    /// A file in the head.
    File(Blob),
}

impl AcceptedArchive {
    /// Returns the signed statement.
    #[must_use]
    pub fn statement(&self) -> &Statement {
        self.listed.statement()
    }

    /// Returns the SHA-256 digest of the signed statement.
    #[must_use]
    pub fn archive_id(&self) -> Digest {
        self.listed.archive_id()
    }

    /// Returns the trusted signers of the archive; `None` if it is unsigned and was allowed by its id.
    #[must_use]
    pub fn signers(&self) -> Option<&Signers> {
        self.listed.signers()
    }

    /// Returns the manifest.
    #[must_use]
    pub fn manifest(&self) -> &Solution {
        &self.solution
    }

    /// Returns the images, sorted by place. Their documents were read and checked. Their blobs are all listed; the
    /// bytes of blobs are verified while they are pushed.
    #[must_use]
    pub fn images(&self) -> &[Image] {
        &self.images
    }

    /// Returns the custom resource definitions that all environments share: those of the operator in the order of their
    /// files, then those in `crds/` of charts in the order of the manifest. Each custom resource is defined once.
    #[must_use]
    pub fn crds(&self) -> &[PackagedDefinition] {
        &self.definitions
    }

    /// Returns the definitions in `crds/` of charts that use webhook conversion, each once. Each belongs to the
    /// environment in which its chart is installed.
    pub fn converted_crds(&self) -> impl Iterator<Item = &PackagedDefinition> {
        let of_charts = self.charts.iter().flat_map(|chart| &*chart.definitions);
        let named =
            of_charts.map(|definition| (rules::definition_name(&definition.document), definition));
        named.collect::<BTreeMap<_, _>>().into_values()
    }

    /// Returns the Role and `ClusterRole` documents in the order of the file.
    #[must_use]
    pub fn roles(&self) -> &[Value] {
        &self.roles
    }

    /// Returns the sets of manifests in the order of the manifest.
    #[must_use]
    pub fn sets(&self) -> &[PackagedSet] {
        &self.sets
    }

    /// Returns the Helm charts in the order of the manifest.
    #[must_use]
    pub fn charts(&self) -> &[PackagedChart] {
        &self.charts
    }

    /// Returns the programs for the site.
    #[must_use]
    pub fn programs(&self) -> &[PackagedProgram] {
        &self.programs
    }

    /// Returns the `helm` program for a processor architecture; `None` if the archive does not include it.
    #[must_use]
    pub fn helm(&self, architecture: Architecture) -> Option<IncludedHelm<'_>> {
        let requires = &self.statement().predicate.requires;
        if Feature::ProgramsInHead.is_among(requires) {
            let file = self.listed.file(helm_in_head(architecture).as_str());
            return file.map(IncludedHelm::File);
        }
        let mut programs = self.programs.iter();
        let is_helm = |carried: &&PackagedProgram| {
            program_name(&carried.place.name) == Some("helm")
                && architecture.runs(&carried.program.platform)
        };
        programs.find(is_helm).map(IncludedHelm::Image)
    }

    /// Returns a blob of the archive, which is verified while it is read; `None` if the archive does not contain it.
    #[must_use]
    pub fn blob(&self, digest: &Digest) -> Option<Blob> {
        self.listed.blob(digest)
    }

    /// Returns the archive, for access to its data layout and its medium.
    #[must_use]
    pub fn listed(&self) -> &ListedArchive {
        &self.listed
    }

    /// Returns the archive and drops the documents that were read from it.
    #[must_use]
    pub fn into_listed(self) -> ListedArchive {
        self.listed
    }
}
