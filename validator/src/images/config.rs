//! An image's configuration (OCI image specification, `config.md`; Docker's has the same fields).

use std::fmt;

use archive::OpenError;
use schemas::{ArchivePath, ContentsEntry, ImageManifest, Platform, json, known_keys};
use serde::Deserialize;

use crate::catalogue::images::CONFIG;
use crate::files::Files;
use crate::finding::Findings;
use crate::limits::IMAGE_CONFIG;

/// The platform's fields stand here by themselves: to flatten one struct into another, serde keeps the whole document in
/// memory.
#[derive(Deserialize)]
struct Config {
    os: String,
    architecture: String,
    variant: Option<String>,
    rootfs: RootFs,
}

#[derive(Deserialize)]
struct RootFs {
    diff_ids: Vec<schemas::Digest>,
}

/// What a configuration says, as far as it is checked.
pub(super) struct Configuration {
    platform: Platform,
    layers: usize,
}

/// Reads a configuration; none when it is damaged or wrong. `place` is the first manifest that names it.
pub(super) fn read(
    files: &Files<'_>,
    place: &ArchivePath,
    entry: &ContentsEntry,
    findings: &mut Findings,
) -> Result<Option<Configuration>, OpenError> {
    let Some(bytes) = files.read(entry, IMAGE_CONFIG, &CONFIG, findings)? else {
        return Ok(None);
    };
    match json::from_loose_slice_of::<Config>(&bytes, known_keys::IMAGE_CONFIG) {
        Err(error) => wrong(place, entry, error, findings),
        Ok(config) if config.os.is_empty() || config.architecture.is_empty() => {
            wrong(place, entry, "os or architecture is empty", findings);
        }
        Ok(config) => {
            return Ok(Some(Configuration {
                platform: Platform {
                    os: config.os,
                    architecture: config.architecture,
                    variant: config.variant,
                },
                layers: config.rootfs.diff_ids.len(),
            }));
        }
    }
    Ok(None)
}

/// What the image of a manifest runs on; none when the configuration is not one of its layers.
pub(super) fn platform(
    config: &Configuration,
    place: &ArchivePath,
    entry: &ContentsEntry,
    manifest: &ImageManifest,
    findings: &mut Findings,
) -> Option<Platform> {
    let (listed, layers) = (config.layers, manifest.layers.len());
    if listed == layers {
        return Some(config.platform.clone());
    }
    let message = format_args!("rootfs lists {listed} layers, the manifest has {layers}");
    wrong(place, entry, message, findings);
    None
}

fn wrong(
    place: &ArchivePath,
    entry: &ContentsEntry,
    message: impl fmt::Display,
    findings: &mut Findings,
) {
    let digest = entry.digest;
    findings.add(
        &CONFIG,
        place,
        format_args!("configuration {digest}: {message}"),
    );
}
