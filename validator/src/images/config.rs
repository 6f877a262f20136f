//! An image's configuration (OCI image specification, `config.md`; Docker's has the same fields).

use std::fmt;

use schemas::{ArchivePath, ImageManifest, Platform};
use serde::Deserialize;

use crate::catalogue::images::CONFIG;
use crate::error::CheckError;
use crate::files::Files;
use crate::finding::Findings;
use crate::limits::IMAGE_CONFIG;

const OCI: &str = "application/vnd.oci.image.config.v1+json";
const DOCKER: &str = "application/vnd.docker.container.image.v1+json";

#[derive(Deserialize)]
struct Config {
    #[serde(flatten)]
    platform: Platform,
    rootfs: RootFs,
}

#[derive(Deserialize)]
struct RootFs {
    diff_ids: Vec<schemas::Digest>,
}

/// What the image runs on; none when the manifest is that of an artifact, or the configuration is wrong.
pub(super) fn check(
    files: &Files<'_>,
    place: &ArchivePath,
    manifest: &ImageManifest,
    findings: &mut Findings,
) -> Result<Option<Platform>, CheckError> {
    if !matches!(manifest.config.media_type.as_str(), OCI | DOCKER) {
        return Ok(None);
    }
    let Some(entry) = files.with_digest(&manifest.config.digest) else {
        return Ok(None);
    };
    let Some(bytes) = files.read(entry, IMAGE_CONFIG, &CONFIG, findings)? else {
        return Ok(None);
    };
    let mut wrong = |message: &dyn fmt::Display| {
        let digest = entry.digest;
        findings.add(
            &CONFIG,
            place,
            format_args!("configuration {digest}: {message}"),
        );
    };
    match serde_json::from_slice::<Config>(&bytes) {
        Err(error) => wrong(&error),
        Ok(config) if config.platform.os.is_empty() || config.platform.architecture.is_empty() => {
            wrong(&"os or architecture is empty");
        }
        Ok(config) if config.rootfs.diff_ids.len() != manifest.layers.len() => {
            let (listed, layers) = (config.rootfs.diff_ids.len(), manifest.layers.len());
            wrong(&format_args!(
                "rootfs lists {listed} layers, the manifest has {layers}"
            ));
        }
        Ok(config) => return Ok(Some(config.platform)),
    }
    Ok(None)
}
