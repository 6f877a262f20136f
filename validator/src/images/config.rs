//! An image's configuration (OCI image specification, `config.md`; Docker's has the same fields).

use std::fmt;

use archive::OpenError;
use rules::catalogue::images::CONFIG;
use schemas::{ArchivePath, ContentsEntry, ImageManifest, Platform, json, known_keys};
use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::files::ListedFiles;
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

/// What a container is started with. Read by itself: an image with something else there was always accepted.
#[derive(Deserialize)]
struct Start {
    config: Option<StartConfig>,
}

#[derive(Deserialize)]
struct StartConfig {
    #[serde(rename = "User")]
    user: Option<String>,
}

#[derive(Deserialize)]
struct RootFs {
    diff_ids: Vec<schemas::Digest>,
}

/// The fields of a configuration that are checked; and why it is none of an image, which is wrong only for images:
/// cosign's signatures have one that names no platform.
pub(super) struct CheckedConfiguration(Result<ConfigFields, String>);

struct ConfigFields {
    platform: Platform,
    layers: usize,
    /// Empty for root; none where it cannot be read.
    user: Option<String>,
}

impl CheckedConfiguration {
    /// Returns the user that an image for Linux says; empty for root. Attestations have configurations too.
    pub(super) fn user(&self) -> Option<&str> {
        let fields = self.0.as_ref().ok()?;
        let user = fields.user.as_deref();
        user.filter(|_| fields.platform.os == "linux")
    }

    fn of(bytes: &[u8]) -> Self {
        let read = json::from_loose_slice_of::<Config>(bytes, known_keys::IMAGE_CONFIG);
        Self(match read {
            Err(error) => Err(error.to_string()),
            Ok(config) if config.os.is_empty() || config.architecture.is_empty() => {
                Err("os or architecture is empty".to_owned())
            }
            Ok(config) => Ok(ConfigFields {
                platform: Platform {
                    os: config.os,
                    architecture: config.architecture,
                    variant: config.variant,
                },
                layers: config.rootfs.diff_ids.len(),
                user: user(bytes),
            }),
        })
    }
}

fn user(bytes: &[u8]) -> Option<String> {
    let start = json::from_loose_slice_of::<Start>(bytes, known_keys::IMAGE_CONFIG).ok()?;
    let user = start.config.and_then(|it| it.user);
    Some(user.unwrap_or_default())
}

/// Reads a configuration; none when it is damaged, or readers could understand it differently. `place` is the first manifest that names it.
pub(super) fn read(
    files: &ListedFiles<'_>,
    place: &ArchivePath,
    entry: &ContentsEntry,
    findings: &mut Findings,
) -> Result<Option<CheckedConfiguration>, OpenError> {
    let Some(bytes) = files.read(entry, IMAGE_CONFIG, &CONFIG, findings)? else {
        return Ok(None);
    };
    let read = json::from_loose_slice_of::<IgnoredAny>(&bytes, known_keys::IMAGE_CONFIG);
    if let Err(error) = read {
        wrong(place, entry, error, findings);
        return Ok(None);
    }
    Ok(Some(CheckedConfiguration::of(&bytes)))
}

/// Returns what the image of a manifest runs on; none when the configuration is not one of its layers.
pub(super) fn platform(
    config: &CheckedConfiguration,
    place: &ArchivePath,
    entry: &ContentsEntry,
    manifest: &ImageManifest,
    findings: &mut Findings,
) -> Option<Platform> {
    let said = match &config.0 {
        Ok(said) => said,
        Err(why) => {
            wrong(place, entry, why, findings);
            return None;
        }
    };
    let (listed, layers) = (said.layers, manifest.layers.len());
    if listed == layers {
        return Some(said.platform.clone());
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
