//! What an archive carries for its site to choose about, read from a file. Nothing of it is verified but that it is what the
//! archive's list says.

use std::path::Path;
use std::sync::Arc;

use anyhow::anyhow;
use archive::Listed;
use charts::{Chart, read_values};
use schemas::{
    ArchivePath, ChartRelease, ContentsEntry, Digest, ObjectSet, Solution, SolutionId,
    SolutionSpec, limits, yaml,
};
use serde_json::Map;
use validator::{CarriedChart, CarriedObject, CarriedSet};

use super::look::signers::SignerArguments;
use crate::failure::{self, Failure};

/// An archive that is read.
pub(super) struct ReadArchive<'a> {
    path: &'a Path,
    listed: Listed,
    pub(super) id: SolutionId,
    pub(super) spec: SolutionSpec,
}

impl<'a> ReadArchive<'a> {
    /// Opens an archive that these keys, if any, must have signed.
    pub(super) fn open(path: &'a Path, signers: &SignerArguments) -> Result<Self, Failure> {
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

    /// Reads its charts.
    pub(super) fn charts(&self) -> Result<Vec<CarriedChart>, Failure> {
        let charts = &self.spec.charts;
        if charts.len() > rules::limits::CHARTS {
            return Err(self.too_much("it has more charts than can be shown"));
        }
        charts.iter().map(|it| self.chart(it)).collect()
    }

    fn chart(&self, release: &ChartRelease) -> Result<CarriedChart, Failure> {
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
        Ok(CarriedChart {
            release: release.clone(),
            digest: self.digest(&path),
            skip_schema: chart.remote_schema.is_some(),
            archive,
            values,
            asks: chart.asks,
            // Values are chosen without them.
            definitions: Arc::default(),
        })
    }

    /// Reads its sets of objects, but for definitions of custom resources.
    pub(super) fn sets(&self) -> Result<Vec<CarriedSet>, Failure> {
        let prefix = format!("{}/", archive::MANIFESTS);
        let below = |it: &&ContentsEntry| it.path.as_str().starts_with(&prefix);
        let entries = self.listed.contents().entries().iter().filter(below);
        let entries: Vec<&ContentsEntry> = entries.collect();
        let size = entries
            .iter()
            .fold(0, |sum: u64, it| sum.saturating_add(it.size));
        if entries.len() > rules::limits::OBJECTS || size > rules::limits::OBJECT_FILES {
            return Err(self.too_much("it has more objects than can be shown"));
        }
        let sets = self.spec.manifests.iter();
        sets.map(|it| self.set(it, &entries)).collect()
    }

    fn set(&self, set: &ObjectSet, entries: &[&ContentsEntry]) -> Result<CarriedSet, Failure> {
        let prefix = format!("{}/{}/", archive::MANIFESTS, set.name);
        let own = entries
            .iter()
            .filter(|it| it.path.as_str().starts_with(&prefix));
        let object = |entry: &&ContentsEntry| {
            let bytes = self.read(&entry.path, limits::YAML_SIZE)?;
            let document = yaml::from_slice(&bytes).map_err(|error| self.unusable(error))?;
            Ok(CarriedObject {
                path: entry.path.clone(),
                document,
            })
        };
        Ok(CarriedSet {
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
