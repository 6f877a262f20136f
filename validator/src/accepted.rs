//! The proof that an archive was checked: everything the importer uses, and nothing that was not checked.

use std::collections::BTreeMap;

use archive::{Architecture, Blob, Feature, Listed, helm_in_head, program_name};
use schemas::{Digest, Image, Solution, Statement};
use serde_json::Value;
use signing::Signers;

use crate::charts::CarriedChart;
use crate::definitions::CarriedDefinition;
use crate::programs::CarriedProgram;
use crate::sets::CarriedSet;

/// An archive without errors, for which trusted keys vouch or which was allowed by its id. Only [`crate::check`] makes
/// one, and only [`crate::Report::accept`] hands it out.
#[derive(Debug)]
pub struct Accepted {
    pub(crate) listed: Listed,
    pub(crate) solution: Solution,
    pub(crate) images: Vec<Image>,
    pub(crate) definitions: Vec<CarriedDefinition>,
    pub(crate) roles: Vec<Value>,
    pub(crate) sets: Vec<CarriedSet>,
    pub(crate) charts: Vec<CarriedChart>,
    pub(crate) programs: Vec<CarriedProgram>,
}

/// A `helm` that an archive includes, to be verified while it is read.
#[derive(Debug)]
pub enum IncludedHelm<'a> {
    /// A content of an image, which a head alone does not have.
    Image(&'a CarriedProgram),
    /// A file of the head.
    File(Blob),
}

impl Accepted {
    /// Returns the statement that was signed.
    #[must_use]
    pub fn statement(&self) -> &Statement {
        self.listed.statement()
    }

    /// SHA-256 of the signed statement.
    #[must_use]
    pub fn archive_id(&self) -> Digest {
        self.listed.archive_id()
    }

    /// Returns the signers who vouch for the archive; none when it is unsigned and was allowed by its id.
    #[must_use]
    pub fn signers(&self) -> Option<&Signers> {
        self.listed.signers()
    }

    /// The manifest.
    #[must_use]
    pub fn manifest(&self) -> &Solution {
        &self.solution
    }

    /// The images in the order of their places. Their documents were read, and their blobs are all listed: the bytes of
    /// these are verified while they are pushed.
    #[must_use]
    pub fn images(&self) -> &[Image] {
        &self.images
    }

    /// The custom resource definitions that all environments share: those of the operator in the order of their files, then
    /// those in `crds/` of charts, in the order of the manifest. Each custom resource is defined once.
    #[must_use]
    pub fn crds(&self) -> &[CarriedDefinition] {
        &self.definitions
    }

    /// The definitions in `crds/` of charts that a webhook converts, each once: the environment that a chart is installed in
    /// owns them.
    pub fn converted_crds(&self) -> impl Iterator<Item = &CarriedDefinition> {
        let of_charts = self.charts.iter().flat_map(|chart| &*chart.definitions);
        let named = of_charts.map(|it| (rules::definition_name(&it.document), it));
        named.collect::<BTreeMap<_, _>>().into_values()
    }

    /// The Role and `ClusterRole` documents in their order in the file.
    #[must_use]
    pub fn roles(&self) -> &[Value] {
        &self.roles
    }

    /// The sets of objects that are applied as they are, in the order of the manifest.
    #[must_use]
    pub fn sets(&self) -> &[CarriedSet] {
        &self.sets
    }

    /// The Helm charts in the order of the manifest.
    #[must_use]
    pub fn charts(&self) -> &[CarriedChart] {
        &self.charts
    }

    /// The programs for the site.
    #[must_use]
    pub fn programs(&self) -> &[CarriedProgram] {
        &self.programs
    }

    /// The program `helm` for a processor; none when the archive does not include it.
    #[must_use]
    pub fn helm(&self, architecture: Architecture) -> Option<IncludedHelm<'_>> {
        let requires = &self.statement().predicate.requires;
        if Feature::ProgramsInHead.is_among(requires) {
            let file = self.listed.file(helm_in_head(architecture).as_str());
            return file.map(IncludedHelm::File);
        }
        let mut programs = self.programs.iter();
        let is_helm = |it: &&CarriedProgram| {
            program_name(&it.place.name) == Some("helm") && architecture.runs(&it.program.platform)
        };
        programs.find(is_helm).map(IncludedHelm::Image)
    }

    /// A content of the archive, to be verified while it is read; none when the archive does not have it.
    #[must_use]
    pub fn blob(&self, digest: &Digest) -> Option<Blob> {
        self.listed.blob(digest)
    }

    /// The archive, for what else is read of it: the order of its data, the kind of its medium.
    #[must_use]
    pub fn listed(&self) -> &Listed {
        &self.listed
    }

    /// The archive alone, without what was read of it.
    #[must_use]
    pub fn into_listed(self) -> Listed {
        self.listed
    }
}
