//! The configuration of an image (OCI image specification, `config.md`; Docker's has the same fields). [`read`] reads
//! the configuration of a manifest, and [`platform`] returns the platform that it declares.

use std::fmt;

use archive::OpenError;
use rules::catalogue::images::CONFIG;
use schemas::{ArchivePath, ContentsEntry, ImageManifest, Platform, json, known_keys};
use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::files::ListedFiles;
use crate::finding::Findings;
use crate::limits::IMAGE_CONFIG;

/// The checked fields of a configuration. The platform's fields are listed here because serde buffers the whole
/// document to flatten one struct into another.
#[derive(Deserialize)]
struct Config {
    os: String,
    architecture: String,
    variant: Option<String>,
    rootfs: RootFs,
}

/// The start settings of a container. They are parsed separately, because images with other types in this field have
/// always been accepted.
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

/// The checked fields of a configuration, or the reason why it is not the configuration of an image. The reason is only
/// a finding for images: the configurations of cosign's signatures, for example, name no platform.
pub(super) struct CheckedConfiguration(Result<ConfigFields, String>);

struct ConfigFields {
    platform: Platform,
    layers: usize,
    /// Empty for root; `None` if it cannot be read.
    user: Option<String>,
}

impl CheckedConfiguration {
    /// Returns the user of an image for Linux; empty for root. Configurations of attestations have another platform and
    /// return `None`.
    pub(super) fn user(&self) -> Option<&str> {
        let fields = self.0.as_ref().ok()?;
        let user = fields.user.as_deref();
        user.filter(|_| fields.platform.os == "linux")
    }

    fn parse(bytes: &[u8]) -> Self {
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
    let user = start.config.and_then(|start| start.user);
    // A missing user means root.
    Some(user.unwrap_or_default())
}

/// Reads a configuration. Returns `None` if it is damaged or readers could interpret it differently. `place` is the
/// first manifest that names it.
pub(super) fn read(
    files: &ListedFiles<'_>,
    place: &ArchivePath,
    entry: &ContentsEntry,
    findings: &mut Findings,
) -> Result<Option<CheckedConfiguration>, OpenError> {
    let Some(bytes) = files.read(entry, IMAGE_CONFIG, &CONFIG, findings)? else {
        return Ok(None);
    };
    // Ambiguous JSON is a finding for every configuration, even if its fields are not checked.
    let read = json::from_loose_slice_of::<IgnoredAny>(&bytes, known_keys::IMAGE_CONFIG);
    if let Err(error) = read {
        wrong(place, entry, error, findings);
        return Ok(None);
    }
    Ok(Some(CheckedConfiguration::parse(&bytes)))
}

/// Returns the platform of a manifest's image. Returns `None` and adds a finding if the configuration is invalid or
/// lists another number of layers.
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
