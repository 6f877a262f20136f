//! The keys that Go programs know in image documents and statements: the fields of every struct into which containerd,
//! Docker, podman, skopeo, crane and oras decode them, including fields that this project does not read.
//!
//! Each struct has one table. If programs have different structs for one object, the table has the fields of all of
//! them.

use crate::json::Fields;
use crate::json::Kind::{self, List, Map, Plain, Struct};

/// A manifest or index, including `index.json` (image specification 1.1, `manifest.md` and `image-index.md`; Docker's
/// schema 2 and lists). Both share a table, because readers distinguish them by their fields. `fsLayers` and `blobs`
/// are fields of Docker's schema 1 and of earlier drafts for artifacts.
pub const IMAGE_DOCUMENT: Kind = Struct(&[
    ("schemaVersion", Plain),
    ("mediaType", Plain),
    ("artifactType", Plain),
    ("config", Struct(DESCRIPTOR)),
    ("layers", List(DESCRIPTOR)),
    ("manifests", List(DESCRIPTOR)),
    ("subject", Struct(DESCRIPTOR)),
    ("annotations", Plain),
    ("fsLayers", Plain),
    ("blobs", List(DESCRIPTOR)),
]);

/// The fields of `descriptor.md`.
const DESCRIPTOR: Fields = &[
    ("mediaType", Plain),
    ("digest", Plain),
    ("size", Plain),
    ("urls", Plain),
    ("annotations", Plain),
    ("data", Plain),
    ("platform", Struct(PLATFORM)),
    ("artifactType", Plain),
];

/// The fields of `image-index.md`; `features` is Docker's.
const PLATFORM: Fields = &[
    ("architecture", Plain),
    ("os", Plain),
    ("os.version", Plain),
    ("os.features", Plain),
    ("variant", Plain),
    ("features", Plain),
];

/// The configuration of an image (`config.md`; Docker Image Specification 1.2, `Image JSON`).
pub const IMAGE_CONFIG: Kind = Struct(&[
    ("created", Plain),
    ("author", Plain),
    ("architecture", Plain),
    ("os", Plain),
    ("os.version", Plain),
    ("os.features", Plain),
    ("variant", Plain),
    ("config", Struct(CONTAINER)),
    ("rootfs", Struct(&[("type", Plain), ("diff_ids", Plain)])),
    ("history", List(HISTORY)),
    ("id", Plain),
    ("parent", Plain),
    ("comment", Plain),
    ("container", Plain),
    ("container_config", Struct(CONTAINER)),
    ("docker_version", Plain),
    ("Size", Plain),
]);

/// The fields for how a container is started.
const CONTAINER: Fields = &[
    ("User", Plain),
    ("ExposedPorts", Plain),
    ("Env", Plain),
    ("Entrypoint", Plain),
    ("Cmd", Plain),
    ("Volumes", Plain),
    ("WorkingDir", Plain),
    ("Labels", Plain),
    ("StopSignal", Plain),
    ("ArgsEscaped", Plain),
    ("Healthcheck", Struct(HEALTHCHECK)),
    ("OnBuild", Plain),
    ("Shell", Plain),
    ("Hostname", Plain),
    ("Domainname", Plain),
    ("AttachStdin", Plain),
    ("AttachStdout", Plain),
    ("AttachStderr", Plain),
    ("Tty", Plain),
    ("OpenStdin", Plain),
    ("StdinOnce", Plain),
    ("Image", Plain),
    ("NetworkDisabled", Plain),
    ("MacAddress", Plain),
    ("StopTimeout", Plain),
];

const HEALTHCHECK: Fields = &[
    ("Test", Plain),
    ("Interval", Plain),
    ("Timeout", Plain),
    ("StartPeriod", Plain),
    ("StartInterval", Plain),
    ("Retries", Plain),
];

const HISTORY: Fields = &[
    ("created", Plain),
    ("created_by", Plain),
    ("author", Plain),
    ("comment", Plain),
    ("empty_layer", Plain),
];

/// The fields of `oci-layout` (`image-layout.md`).
pub const LAYOUT_MARKER: Kind = Struct(&[("imageLayoutVersion", Plain)]);

/// The fields of `manifest.json` in the output of `docker save` and `podman save` (Docker Image Specification 1.2).
pub const SAVED_IMAGES: Kind = List(&[
    ("Config", Plain),
    ("RepoTags", Plain),
    ("Layers", Plain),
    ("Parent", Plain),
    ("LayerSources", Map(DESCRIPTOR)),
]);

/// An in-toto Statement v1 with the predicate of an archive (`docs/reference/format.md`, 8). A subject is a `ResourceDescriptor`.
pub(crate) const STATEMENT: Kind = Struct(&[
    ("_type", Plain),
    (
        "subject",
        List(&[
            ("name", Plain),
            ("uri", Plain),
            ("digest", Plain),
            ("content", Plain),
            ("downloadLocation", Plain),
            ("mediaType", Plain),
            ("annotations", Plain),
        ]),
    ),
    ("predicateType", Plain),
    ("predicate", Struct(PREDICATE)),
]);

const PREDICATE: Fields = &[
    ("layout", Plain),
    ("name", Plain),
    ("version", Plain),
    ("volume", Struct(&[("id", Plain), ("setId", Plain)])),
    ("time", Plain),
    ("contents", Struct(&[("sha256", Plain), ("size", Plain)])),
    ("upgradeFrom", Plain),
    ("expires", Plain),
    ("requires", Plain),
    ("optional", Plain),
];
