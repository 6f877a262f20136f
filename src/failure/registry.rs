//! What a registry's errors come to, and those of a container engine.

use std::io::ErrorKind;

use registry::{DOCKER_HUB, EngineError, Error, ExpiryError, IdentityError, Refusal};

use super::{Answer, Judge, NO, UNKNOWN, no, unknown};

const QUAY: &str = "quay.io";
/// Where somebody may not push.
const MAY_NOT_PUSH: &str =
    "ask the registry's administrator for the right to push there, or to create the project";
/// Where somebody may not delete.
const MAY_NOT_DELETE: &str = "ask the registry's administrator for the right to delete there, or log in as somebody who has it; without `--images` the content stays";
const KEEPS_ALL: &str = "have deleting allowed in the registry's configuration (docker-registry: `storage.delete.enabled: true`), then run the same command again; without `--images` the content stays";
/// Where nobody says which repositories there are.
const NO_CATALOG: &str = "have the registry's administrator let this login list all repositories (`/v2/_catalog`); `solution unimport NAME VERSION --images` deletes a version that a cluster has a record of without that list";
/// Where nothing more may be stored.
pub(super) const QUOTA: &str = "have the quota raised, or free some of it: `solution unimport --images` removes versions that nobody needs, and the registry's garbage collector what they leave";
const MAKE_IT: &str = "have the registry's administrator create the repository, or allow this login to create repositories by pushing";
pub(super) const LEVELS: &str = "name a prefix with fewer levels in `--registry`, or none; `--no-mirrors` leaves out the names below `mirror/`, and `--repository-layout flat` gives each image one level below the prefix; `--repository-layout ref` of `solution registry push` gives images the paths of their references";
const TAG_KEPT: &str = "the tag was pushed by someone else, and the registry is configured never to move a tag: find out whose it is, or choose another prefix in `--registry`";
const TAG_HIDDEN: &str = "have the registry's administrator give this login the right to pull from the repository as well, then run the same command again: the tag was not moved, and only what is missing is pushed";
const READ_ONLY: &str = "wait for the end of the registry's maintenance, or name a registry in `--registry` that takes images: a cache of another registry does not";
const READ_ITS_LOG: &str =
    "check the registry's log for the reason, and the name and prefix in `--registry`";
const WHAT_IT_TAKES: &str = "`solution registry check --registry HOST[/PREFIX]` shows what the registry takes, and its log why it refused this";
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
const NO_IDENTITY: &str = "have the registry's administrator give you a certificate and its key, and put them into a directory as NAME.cert and NAME.key: /etc/containers/certs.d/HOST[:PORT], or any that you name with `--cert-dir`";
const OTHER_IDENTITY: &str = "have the registry's administrator give you a new certificate and key: `openssl x509 -in NAME.cert -noout -dates -issuer -ext extendedKeyUsage` shows what the one in use is good for";
const RENEW_IDENTITY: &str = "have the registry's administrator renew the client certificate, or correct this machine's clock";
pub(super) const OTHER_CLOCK: &str =
    "correct the clock of this machine or of the one that issued the certificate";
const ECR_RIGHTS: &str = "the key in `AWS_ACCESS_KEY_ID` needs the right `ecr:CreateRepository`; or create the repository yourself and run the same command again";
const TAMPERED: &str = "copy again from the source; if it fails again, treat it as tampering";

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
                "check the host name, the port, the firewall between here and the registry, and the proxy that `https_proxy` and `no_proxy` choose",
            ),
            Self::Tls { .. } => unknown(
                "check that the port is the registry's HTTPS port, and what stands between here and it: `openssl s_client -connect HOST:PORT` shows what it answers",
            ),
            Self::TooSlow { .. } => unknown(
                "check the connection to the registry and the load on it, then run the same command again: what is in place is kept",
            ),
            Self::Untrusted { .. } => no(
                "give the authority that signed the registry's certificate with `--ca-file`, and use a host name that the certificate contains",
            ),
            Self::Expired { .. } => no(
                "have the registry's administrator renew the certificate, or correct the clock of this machine (`date`)",
            ),
            Self::PlainHttpAnswer { .. } => {
                no("use the registry's HTTPS port, or `--plain-http` if it really has none")
            }
            Self::PlainHttpAsked { .. } => no(WITH_TLS),
            Self::NotARegistry { .. } => {
                no("check the host and the port: an OCI registry answers below /v2/")
            }
            Self::LoginRequired { .. } => no(
                "log in with `solution registry login`, `docker login` or `podman login`, or name the file that holds the login",
            ),
            Self::LoginRefused { .. } => {
                no("log in again: the user name, password or token is wrong or has expired")
            }
            Self::Denied { operation, .. } if operation.is_pull() => no(
                "ask the registry's administrator for the right to pull from there, or log in as somebody who has it",
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
                "free space in the registry's storage, or give it more, then run the same command again: only what is missing is pushed",
            ),
            Self::Busy { .. } if self.is_storing() => unknown(
                "the registry failed while storing: check its log and its free space, then run the same command again: only what is missing is pushed",
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
                "raise the maximum body size of the proxy in front of the registry (nginx: `client_max_body_size`); `solution registry check` shows what it takes",
            ),
            Self::Refused { operation, .. } if !operation.is_pull() && !operation.is_deletion() => {
                no(WHAT_IT_TAKES)
            }
            Self::Proxy(_) => no(
                "correct `https_proxy`, `http_proxy` or `all_proxy`: URLs such as http://proxy.site:3128",
            ),
            Self::LoginUnsupported { .. } => no(
                "log in with a user name and a password, by `solution registry login`; if the registry's token server is at fault, tell its administrator",
            ),
            Self::BadAnswer { .. } => no(
                "tell the registry's administrator: a proxy in front of it often changes addresses, and must pass on `Host` and `X-Forwarded-Proto`",
            ),
            Self::Damaged { .. } | Self::ManifestDamaged { .. } => no(TAMPERED),
            Self::NotKept { .. } => no(
                "run the same command again; if it fails again, check the registry: restart it if its garbage collector has run since it was started; and see whether its disk is full, whether a policy removes or quarantines new images, whether replicas behind one address share their storage, and whether a proxy or cache in front answers for it",
            ),
            Self::Store { .. } => unknown(ROOM),
            Self::OtherSize { .. } | Self::OtherDigest { .. } => no(
                "the registry, or a proxy in front of it, holds other content: push the image there again",
            ),
            Self::Read { .. } => {
                unknown("check the medium: copy the archive again, or try another drive")
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
            "Docker Hub has repositories of two levels only, USER/NAME: choose another registry"
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
            "`--create-repositories` creates it, or `aws ecr create-repository --region {region} --repository-name {repository}`"
        );
    }
    let namespace = repository.split('/').next().unwrap_or(repository);
    match host {
        QUAY => format!(
            "create the organization `{namespace}` at https://quay.io/organizations/new; the login needs its right to create repositories"
        ),
        _ => MAKE_IT.to_owned(),
    }
}

/// Where a project is made. Only Harbor says that one is missing.
pub(super) fn make_project(host: &str, project: &str) -> String {
    format!(
        "create the project `{project}` at https://{host}/harbor/projects, and make the login a developer of it or more"
    )
}

impl Judge for IdentityError {
    fn answer(&self) -> Answer {
        no(match self {
            Self::NoCertificate => {
                "NAME.cert must hold the certificate in PEM: `openssl x509 -inform der -outform pem` converts from DER"
            }
            Self::NoKey => {
                "NAME.key must hold the certificate's private key in PEM: `openssl pkcs12 -nodes` takes both out of a .p12 file"
            }
            Self::Encrypted => {
                "remove the passphrase with `openssl pkey -in NAME.key -out NEW.key`, and let nobody but yourself read the new file"
            }
            Self::OtherKey => {
                "give NAME.cert the key that it was issued for: `openssl x509 -pubkey -noout -in NAME.cert` and `openssl pkey -pubout -in NAME.key` must print the same"
            }
            Self::Unsupported => {
                "have a certificate issued for a key of RSA (2048 bits or more), ECDSA (P-256, P-384) or Ed25519"
            }
        })
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
        assert!(deep.contains("two levels"), "{deep}");
        assert_eq!(fix(Refusal::Denied, DOCKER_HUB), MAY_NOT_PUSH);
    }
}
