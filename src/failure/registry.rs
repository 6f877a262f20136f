//! What a registry's errors come to, and those of a container engine.

use std::io::ErrorKind;

use registry::{DOCKER_HUB, EngineError, Error, ExpiryError, IdentityError, Refusal};

use super::{Answer, Judge, NO, UNKNOWN, no, unknown};

const QUAY: &str = "quay.io";
/// Where somebody may not push.
const MAY_NOT_PUSH: &str =
    "ask the registry's administrator for the right to push there, or to create the project";
/// Where somebody may not delete.
const MAY_NOT_DELETE: &str = "ask the registry's administrator for the right to delete there, or log in as a user who has it; to keep the content, omit `--images`";
const KEEPS_ALL: &str = "ask the registry's administrator to enable deletion (docker-registry: `storage.delete.enabled: true`), then run the same command again; to keep the content, omit `--images`";
/// Where nobody says which repositories there are.
const NO_CATALOG: &str = "ask the registry's administrator for the right to list all repositories (`/v2/_catalog`); a version that a cluster has a record of can be deleted without that list: `solution unimport NAME VERSION --images`";
/// Where nothing more may be stored.
pub(super) const QUOTA: &str = "ask the registry's administrator to raise the quota, or delete unneeded versions with `solution unimport --images` and run the registry's garbage collection";
const MAKE_IT: &str = "ask the registry's administrator to create the repository, or to allow this login to create repositories by pushing";
pub(super) const LEVELS: &str = "use a prefix with fewer levels in `--registry`, or none; `--no-mirrors` omits the names below `mirror/`, `--repository-layout flat` puts each image one level below the prefix, and `--repository-layout ref` of `solution registry push` uses the paths of the image references";
const TAG_KEPT: &str = "find out who pushed the tag, or choose another prefix in `--registry`: the registry is configured never to move a tag";
const TAG_HIDDEN: &str = "ask the registry's administrator for the right to pull from the repository as well, then run the same command again: the tag was not moved, and only missing content is pushed";
const READ_ONLY: &str = "wait for the end of the registry's maintenance, or name a registry in `--registry` that accepts pushes: a pull-through cache does not";
const READ_ITS_LOG: &str =
    "check the registry's log for the reason, and the name and prefix in `--registry`";
const WHAT_IT_TAKES: &str = "check the registry with `solution registry check --registry HOST[/PREFIX]`, and read its log for the reason";
const PULL_AGAIN: &str = "run the same command again: only missing content is downloaded";
const DELETE_AGAIN: &str = "run the same command again to delete the rest";
const PUSH_AGAIN: &str = "run the same command again: only missing content is pushed";
const ROOM: &str = "free space, or choose another directory for downloads";
const WITH_TLS: &str = "write `https://`, or use `--plain-http` if the server has no HTTPS";
const NO_FILE: &str = "check the address of the chart repository, and that the file still exists";
const NO_IMAGE: &str = "check the name, the tag and your login: some registries report an image as missing if the login may not read it";
const NO_IDENTITY: &str = "get a certificate and its key from the registry's administrator, and put them as NAME.cert and NAME.key into /etc/containers/certs.d/HOST[:PORT] or into the directory that `--cert-dir` names";
const OTHER_IDENTITY: &str = "get a new certificate and key from the registry's administrator; check the current one with `openssl x509 -in NAME.cert -noout -dates -issuer -ext extendedKeyUsage`";
const RENEW_IDENTITY: &str = "ask the registry's administrator to renew the client certificate, or correct the clock of this machine";
pub(super) const OTHER_CLOCK: &str =
    "correct the clock of this machine or of the one that issued the certificate";
const ECR_RIGHTS: &str = "give the key in `AWS_ACCESS_KEY_ID` the right `ecr:CreateRepository`, or create the repository and run the same command again";
const TAMPERED: &str =
    "copy the content again from its source; if it fails again, treat it as tampering";

impl Judge for Error {
    /// Refused credentials or certificates are an answer, an unreachable host is not.
    #[expect(
        clippy::too_many_lines,
        reason = "one line for each error, and no wildcard"
    )]
    fn answer(&self) -> Answer {
        match self {
            Self::Stopped => UNKNOWN,
            Self::Identity(error) => error.answer(),
            Self::CertificateRequired { .. } => no(NO_IDENTITY),
            Self::CertificateRefused { .. } => no(OTHER_IDENTITY),
            Self::CertificateExpired { reason, .. } => no(match reason {
                ExpiryError::Expired { .. } => RENEW_IDENTITY,
                ExpiryError::NotYetValid { .. } => OTHER_CLOCK,
            }),
            Self::Unreachable { .. } => unknown(
                "check the host name, the port, firewalls between this machine and the registry, and the proxy that `https_proxy` and `no_proxy` set",
            ),
            Self::Tls { .. } => unknown(
                "check that the port is the registry's HTTPS port, and check the TLS handshake with `openssl s_client -connect HOST:PORT`",
            ),
            Self::TooSlow { .. } => unknown(
                "check the connection to the registry and its load, then run the same command again: completed uploads are kept",
            ),
            Self::Untrusted { .. } => no(
                "name the authority that signed the registry's certificate with `--ca-file`, and use a host name that the certificate contains",
            ),
            Self::Expired { .. } => no(
                "ask the registry's administrator to renew the certificate, or correct the clock of this machine (`date`)",
            ),
            Self::PlainHttpAnswer { .. } => {
                no("use the registry's HTTPS port, or `--plain-http` if it has none")
            }
            Self::PlainHttpAsked { .. } => no(WITH_TLS),
            Self::NotARegistry { .. } => {
                no("check the host and the port: an OCI registry responds below /v2/")
            }
            Self::LoginRequired { .. } => no(
                "log in with `solution registry login`, `docker login` or `podman login`, or name the login file",
            ),
            Self::LoginRefused { .. } => {
                no("log in again: the user name, password or token is wrong or has expired")
            }
            Self::Denied { operation, .. } if operation.is_pull() => no(
                "ask the registry's administrator for the right to pull from there, or log in as a user who has it",
            ),
            Self::Denied { operation, .. } if operation.is_deletion() => no(MAY_NOT_DELETE),
            Self::Denied { .. } => no(MAY_NOT_PUSH),
            Self::NoRepository { .. } => no(MAKE_IT),
            Self::RepositoryApi { .. } => no(ECR_RIGHTS),
            Self::NameRefused { .. } => no(LEVELS),
            Self::ReadOnly { .. } => no(READ_ONLY),
            Self::TagKept { .. } => no(TAG_KEPT),
            Self::TagHidden { .. } => no(TAG_HIDDEN),
            Self::Quota { .. } => no(QUOTA),
            Self::NoCatalog { .. } => no(NO_CATALOG),
            Self::KeepsAll { .. } => no(KEEPS_ALL),
            Self::Missing { operation } if operation.is_site() => no(NO_FILE),
            Self::Missing { .. } => no(NO_IMAGE),
            Self::Full { .. } => unknown(
                "free or add space in the registry's storage, then run the same command again: only missing content is pushed",
            ),
            Self::Busy { .. } if self.is_storing() => unknown(
                "check the registry's log and its free space, then run the same command again: only missing content is pushed",
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
            Self::Refused { status: 413, .. } => no(
                "raise the maximum body size of the proxy in front of the registry (nginx: `client_max_body_size`); `solution registry check` shows the limit",
            ),
            Self::Refused { operation, .. } if !operation.is_pull() && !operation.is_deletion() => {
                no(WHAT_IT_TAKES)
            }
            Self::Proxy(_) => no(
                "correct `https_proxy`, `http_proxy` or `all_proxy`: URLs such as http://proxy.site:3128",
            ),
            Self::LoginUnsupported { .. } => no(
                "log in with a user name and a password with `solution registry login`; if the registry's token server is at fault, inform its administrator",
            ),
            Self::BadAnswer { .. } => no(
                "inform the registry's administrator: a proxy in front of it must pass on `Host` and `X-Forwarded-Proto`, otherwise addresses in responses are wrong",
            ),
            Self::Damaged { .. } | Self::ManifestDamaged { .. } => no(TAMPERED),
            Self::NotKept { .. } => no(
                "run the same command again; if it fails again, check the registry: restart it if its garbage collection has run since it was started, and check whether its disk is full, whether a policy deletes or quarantines new images, whether all replicas share their storage, and whether a proxy or cache answers in its place",
            ),
            Self::Store { .. } => unknown(ROOM),
            Self::OtherSize { .. } | Self::OtherDigest { .. } => no(
                "push the image to the registry again: the registry, or a proxy in front of it, has other content",
            ),
            Self::Read { .. } => {
                unknown("copy the archive again, or try another drive: the media may be damaged")
            }
            Self::Refused { .. } | Self::Setup(_) | Self::AnswerTooLong { .. } => NO,
        }
    }
}

/// How a repository comes to take what is pushed.
pub(super) fn taking(why: Refusal, host: &str, repository: &str) -> String {
    match why {
        Refusal::NoRepository => make_repository(host, repository),
        Refusal::Name => LEVELS.to_owned(),
        Refusal::Quota => QUOTA.to_owned(),
        Refusal::ReadOnly => READ_ONLY.to_owned(),
        Refusal::Other => READ_ITS_LOG.to_owned(),
        Refusal::Denied if host == DOCKER_HUB && repository.matches('/').count() > 1 => {
            // Docker Hub: "Create a repository"; what it answers to longer names is that access is denied.
            "choose another registry: Docker Hub has only repositories of two levels, USER/NAME"
                .to_owned()
        }
        Refusal::Denied => MAY_NOT_PUSH.to_owned(),
    }
}

/// The command or the place that makes a repository.
fn make_repository(host: &str, repository: &str) -> String {
    if let Some(ecr) = registry::EcrEndpoint::of_registry(host) {
        let region = ecr.region();
        return format!(
            "create it with `--create-repositories`, or with `aws ecr create-repository --region {region} --repository-name {repository}`"
        );
    }
    let namespace = repository.split('/').next().unwrap_or(repository);
    match host {
        QUAY => format!(
            "create the organization `{namespace}` at https://quay.io/organizations/new; the login needs the right to create repositories in it"
        ),
        _ => MAKE_IT.to_owned(),
    }
}

/// Where a project is made. Only Harbor says that one is missing.
pub(super) fn make_project(host: &str, project: &str) -> String {
    format!(
        "create the project `{project}` at https://{host}/harbor/projects, and give the login at least the role Developer in it"
    )
}

impl Judge for IdentityError {
    fn answer(&self) -> Answer {
        no(match self {
            Self::NoCertificate => {
                "write the certificate to NAME.cert in PEM: `openssl x509 -inform der -outform pem` converts from DER"
            }
            Self::NoKey => {
                "write the certificate's private key to NAME.key in PEM: `openssl pkcs12 -nodes` extracts both from a .p12 file"
            }
            Self::Encrypted => {
                "remove the passphrase with `openssl pkey -in NAME.key -out NEW.key`, and restrict access to the new file with `chmod 600 NEW.key`"
            }
            Self::OtherKey => {
                "put the key of NAME.cert into NAME.key: `openssl x509 -pubkey -noout -in NAME.cert` and `openssl pkey -pubout -in NAME.key` must print the same"
            }
            Self::Unsupported => {
                "get a certificate for an RSA (2048 bits or more), ECDSA (P-256, P-384) or Ed25519 key"
            }
        })
    }
}

impl Judge for EngineError {
    fn answer(&self) -> Answer {
        match self {
            Self::Unreachable { source, .. } if source.kind() == ErrorKind::PermissionDenied => {
                unknown(
                    "use a rootless engine (`systemctl --user start podman.socket`), or join the group that owns the socket",
                )
            }
            Self::Unreachable { .. } => unknown(
                "start the engine (`systemctl --user start podman.socket`, or Docker's service), or name its socket with DOCKER_HOST=unix://PATH",
            ),
            Self::NoSuchImage { .. } => no(
                "list the images with `docker images` or `podman images`; rootless engines and the engine of root have different images",
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_must_be_made_first_is_named_with_the_place_or_command() {
        let repository = "shop-1.0.0/web";
        let fix = |why, host| taking(why, host, repository);
        let ecr = "111122223333.dkr.ecr.eu-west-1.amazonaws.com";
        let made = fix(Refusal::NoRepository, ecr);
        let command =
            "aws ecr create-repository --region eu-west-1 --repository-name shop-1.0.0/web";
        assert!(made.contains(command), "{made}");
        let made = fix(Refusal::NoRepository, "quay.io");
        assert!(made.contains("organization `shop-1.0.0`"), "{made}");
        for host in ["r.test", "x.dkr.ecr.eu.example", "dkr.ecr.amazonaws.com"] {
            assert_eq!(fix(Refusal::NoRepository, host), MAKE_IT);
        }
        let deep = taking(Refusal::Denied, DOCKER_HUB, "user/shop-1.0.0/web");
        assert!(deep.contains("of two levels"), "{deep}");
        assert_eq!(fix(Refusal::Denied, DOCKER_HUB), MAY_NOT_PUSH);
    }
}
