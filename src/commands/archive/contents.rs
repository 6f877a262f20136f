//! The contents of an archive that a site can make choices about, read from a file. The program checks them against the
//! archive's list, but it verifies no signature unless keys are given.

use std::path::Path;
use std::sync::Arc;

use anyhow::anyhow;
use archive::ListedArchive;
use charts::{Chart, read_values};
use schemas::{
    ArchivePath, ChartRelease, ContentsEntry, Digest, ObjectSet, Solution, SolutionId,
    SolutionSpec, limits, yaml,
};
use serde_json::Map;
use validator::{PackagedChart, PackagedObject, PackagedSet};

use super::SignerArguments;
use crate::failure::{self, Failure};

/// An archive that is read.
pub(crate) struct ArchiveContents<'a> {
    path: &'a Path,
    listed: ListedArchive,
    pub(crate) id: SolutionId,
    pub(crate) spec: SolutionSpec,
}

impl<'a> ArchiveContents<'a> {
    /// Opens an archive that these keys, if any, must have signed.
    pub(crate) fn open(path: &'a Path, signers: &SignerArguments) -> Result<Self, Failure> {
        let listed = signers.list(path)?;
        let manifest = listed.read(archive::MANIFEST, limits::MANIFEST_SIZE);
        let manifest = manifest.map_err(|error| failure::reading(path, error))?;
        let manifest = Solution::from_slice(&manifest).map_err(|error| unusable(path, error))?;
        Ok(Self {
            path,
            id: listed.statement().predicate.id.clone(),
            listed,
            spec: manifest.spec,
        })
    }

    /// Reads the charts.
    pub(crate) fn charts(&self) -> Result<Vec<PackagedChart>, Failure> {
        let charts = &self.spec.charts;
        if charts.len() > rules::limits::CHARTS {
            return Err(self.too_much("it has more charts than can be shown"));
        }
        charts.iter().map(|chart| self.chart(chart)).collect()
    }

    fn chart(&self, release: &ChartRelease) -> Result<PackagedChart, Failure> {
        let path = archive::chart_path(&release.name);
        let archive = self.read(&path, charts::limits::ARCHIVE_SIZE)?;
        let chart = Chart::read(&archive).map_err(|error| self.unusable(error))?;
        let given = archive::chart_values_path(&release.name);
        let values = if self.listed.contents().get(given.as_str()).is_some() {
            let bytes = self.read(&given, limits::YAML_SIZE)?;
            read_values(&bytes).map_err(|error| self.unusable(error))?
        } else {
            Map::new()
        };
        Ok(PackagedChart {
            release: release.clone(),
            digest: self.digest(&path),
            skip_schema: chart.remote_schema.is_some(),
            archive,
            values,
            asks: chart.asks,
            // Custom resource definitions do not affect the choice of values.
            definitions: Arc::default(),
        })
    }

    /// Reads the manifest sets, without definitions of custom resources.
    pub(crate) fn sets(&self) -> Result<Vec<PackagedSet>, Failure> {
        let prefix = format!("{}/", archive::MANIFESTS);
        let below = |entry: &&ContentsEntry| entry.path.as_str().starts_with(&prefix);
        let entries = self.listed.contents().entries().iter().filter(below);
        let entries: Vec<&ContentsEntry> = entries.collect();
        let size = entries
            .iter()
            .fold(0, |sum: u64, entry| sum.saturating_add(entry.size));
        if entries.len() > rules::limits::OBJECTS || size > rules::limits::OBJECT_FILES {
            return Err(self.too_much("it has more objects than can be shown"));
        }
        let sets = self.spec.manifests.iter();
        sets.map(|set| self.set(set, &entries)).collect()
    }

    fn set(&self, set: &ObjectSet, entries: &[&ContentsEntry]) -> Result<PackagedSet, Failure> {
        let prefix = format!("{}/{}/", archive::MANIFESTS, set.name);
        let own = entries
            .iter()
            .filter(|entry| entry.path.as_str().starts_with(&prefix));
        let object = |entry: &&ContentsEntry| {
            let bytes = self.read(&entry.path, limits::YAML_SIZE)?;
            let document = yaml::from_slice(&bytes).map_err(|error| self.unusable(error))?;
            Ok(PackagedObject {
                path: entry.path.clone(),
                document,
            })
        };
        Ok(PackagedSet {
            set: set.clone(),
            objects: own.map(object).collect::<Result<_, Failure>>()?,
        })
    }

    fn digest(&self, path: &ArchivePath) -> Digest {
        let entry = self.listed.contents().get(path.as_str());
        entry.expect("it was read by the list").digest
    }

    fn read(&self, path: &ArchivePath, most: u64) -> Result<Vec<u8>, Failure> {
        let bytes = self.listed.read(path.as_str(), most);
        bytes.map_err(|error| failure::reading(self.path, error))
    }

    fn too_much(&self, what: &'static str) -> Failure {
        failure::too_much(self.path, what)
    }

    fn unusable(&self, error: impl std::error::Error + Send + Sync + 'static) -> Failure {
        unusable(self.path, error)
    }
}

fn unusable(path: &Path, error: impl std::error::Error + Send + Sync + 'static) -> Failure {
    let words = format!("cannot read `{}`", path.display());
    Failure::no(anyhow!(error).context(words))
        .hint("run `solution validate` on the archive to see its problems")
}
