//! What a registry's errors come to, and those of a container engine.

use std::io::ErrorKind;

use registry::{EngineError, Error};

use super::{Answer, Judge, NO, UNKNOWN, no, unknown};

/// Where somebody may not push.
pub(super) const MAY_NOT_PUSH: &str =
    "ask the registry's administrator for the right to push there, or to create the project";
/// Where somebody may not delete.
const MAY_NOT_DELETE: &str = "ask the registry's administrator for the right to delete there, or log in as somebody who has it; without `--images` the content stays";
const KEEPS_ALL: &str = "have deleting allowed in the registry's configuration (docker-registry: `storage.delete.enabled: true`), then run the same command again; without `--images` the content stays";
const PULL_AGAIN: &str = "run the same command again: only what is missing is downloaded";
const DELETE_AGAIN: &str = "run the same command again: what is left is deleted then";
const PUSH_AGAIN: &str = "run the same command again: only what is missing is pushed";
const ROOM: &str = "free some space, or choose another place for downloads";
const WITH_TLS: &str =
    "write `https://`, or allow it with `--plain-http` if the server really has no HTTPS";
const NO_FILE: &str =
    "check the address of the repository of charts, and that the file is still there";
const NO_IMAGE: &str =
    "check the name and the tag; some registries also say this of what your login may not see";
const TAMPERED: &str = "copy again from the source; if it fails again, treat it as tampering";

impl Judge for Error {
    /// Refused credentials or certificates are an answer, an unreachable host is not.
    fn answer(&self) -> Answer {
        match self {
            Self::CertificateAuthority { .. } => {
                no("give a PEM file that begins with -----BEGIN CERTIFICATE-----")
            }
            Self::Unreachable { .. } => unknown(
                "check the host name, the port, and the firewall between here and the registry",
            ),
            Self::TooSlow { .. } => unknown(
                "check the connection to the registry and the load on it, then run the same command again: what is in place is kept",
            ),
            Self::Untrusted { .. } => no(
                "give the authority that signed the registry's certificate with `--ca-file`, and use a host name that the certificate contains",
            ),
            Self::PlainHttpAnswer { .. } => {
                no("use the registry's HTTPS port, or `--plain-http` if it really has none")
            }
            Self::PlainHttpAsked { .. } => no(WITH_TLS),
            Self::NotARegistry { .. } => {
                no("check the host and the port: an OCI registry answers below /v2/")
            }
            Self::LoginRequired { .. } => no(
                "log in with `solution login`, `docker login` or `podman login`, or name the file that holds the login",
            ),
            Self::LoginRefused { .. } => {
                no("log in again: the user name, password or token is wrong or has expired")
            }
            Self::Denied { operation, .. } if operation.is_pull() => no(
                "ask the registry's administrator for the right to pull from there, or log in as somebody who has it",
            ),
            Self::Denied { operation, .. } if operation.is_deletion() => no(MAY_NOT_DELETE),
            Self::Denied { .. } => no(MAY_NOT_PUSH),
            Self::KeepsAll { .. } => no(KEEPS_ALL),
            Self::Missing { operation } if operation.is_site() => no(NO_FILE),
            Self::Missing { .. } => no(NO_IMAGE),
            Self::Busy { .. } if self.is_storing() => unknown(
                "the registry failed while storing: look at its log and at its free space, then run the same command again: only what is missing is pushed",
            ),
            Self::Busy { operation, .. }
            | Self::Interrupted { operation, .. }
            | Self::TimedOut { operation, .. }
            | Self::CutShort { operation, .. } => unknown(if operation.is_pull() {
                PULL_AGAIN
            } else if operation.is_deletion() {
                DELETE_AGAIN
            } else {
                PUSH_AGAIN
            }),
            Self::Refused { status: 413, .. } => {
                no("raise the maximum body size of the proxy in front of the registry")
            }
            Self::Damaged { .. } | Self::ManifestDamaged { .. } => no(TAMPERED),
            Self::NotKept { .. } => no(
                "restart the registry, then run the same command again: it still believes that it has content that its garbage collector removed",
            ),
            Self::Store { .. } => unknown(ROOM),
            Self::OtherSize { .. } | Self::OtherDigest { .. } => no(
                "the registry, or a proxy in front of it, holds other content: push the image there again",
            ),
            Self::Read { .. } => {
                unknown("check the medium: copy the archive again, or try another drive")
            }
            Self::Refused { .. }
            | Self::Setup(_)
            | Self::Proxy(_)
            | Self::LoginUnsupported { .. }
            | Self::BadAnswer { .. }
            | Self::AnswerTooLong { .. } => NO,
        }
    }
}

impl Judge for EngineError {
    fn answer(&self) -> Answer {
        match self {
            Self::Unreachable { source, .. } if source.kind() == ErrorKind::PermissionDenied => {
                unknown(
                    "use an engine of your own (`systemctl --user start podman.socket`), or join the group that owns the socket",
                )
            }
            Self::Unreachable { .. } => unknown(
                "start the engine (`systemctl --user start podman.socket`, or Docker's service), or name its socket with DOCKER_HOST=unix://PATH",
            ),
            Self::NoSuchImage { .. } => no(
                "`docker images` or `podman images` lists what is there; rootless engines and root's hold different images",
            ),
            Self::TooLong { .. } => NO,
            Self::Store(_) => unknown(ROOM),
            Self::Setup(_)
            | Self::Interrupted { .. }
            | Self::TimedOut { .. }
            | Self::Refused { .. } => UNKNOWN,
        }
    }
}
