//! Outcomes and hints for errors of registries, container engines and archives in a registry: of pushing, reading,
//! exporting and pruning them. Registries differ in their error messages, so some hints depend on the product. An
//! incomplete push names its missing content, and each different cause once.

use std::io::ErrorKind;
use std::sync::Arc;

use registry::{DOCKER_HUB, EngineError, Error, ExpiryError, IdentityError, Refusal};
use store::{MirrorBlocker, PruneBlocker, PushFailure, RegistryBlocker, ServeError};

use super::{Answer, Failure, Judge, NO, Outcome, PushJson, UNKNOWN, UnpushedJson, no, unknown};
use crate::args::choose;
use crate::{hints, render};

const QUAY: &str = "quay.io";
/// The hint if the user may not push.
const MAY_NOT_PUSH: &str =
    "ask the registry's administrator for the right to push there, or to create the project";
/// The hint if the user may not delete.
const MAY_NOT_DELETE: &str = "ask the registry's administrator for the right to delete there, or log in as a user who has it; to keep the content, omit `--images`";
const KEEPS_ALL: &str = "ask the registry's administrator to enable deletion (docker-registry: `storage.delete.enabled: true`), then run the same command again; to keep the content, omit `--images`";
/// The hint if the registry does not list its repositories.
const NO_CATALOG: &str = "ask the registry's administrator for the right to list all repositories (`/v2/_catalog`); a version that a cluster has a record of can be deleted without that list: `solution unimport NAME VERSION --images`";
/// The hint if a quota is exhausted.
const QUOTA: &str = "ask the registry's administrator to raise the quota, or delete unneeded versions with `solution unimport --images` and run the registry's garbage collection";
const MAKE_IT: &str = "ask the registry's administrator to create the repository, or to allow this login to create repositories by pushing";
const LEVELS: &str = "use a prefix with fewer levels in `--registry`, or none; `--no-mirrors` omits the names below `mirror/`, `--repository-layout flat` puts each image one level below the prefix, and `--repository-layout ref` of `solution registry push` uses the paths of the image references";
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
    /// Returns the answer of a registry's error. Refused credentials or certificates are a negative answer; an
    /// unreachable host is unknown.
    #[expect(
        clippy::too_many_lines,
        reason = "one line for each error, and no wildcard"
    )]
    fn answer(&self) -> Answer {
        match self {
            Self::Stopped => UNKNOWN,
            Self::Identity(error) => error.answer(),
            Self::CertificateRequired(..) => no(NO_IDENTITY),
            Self::CertificateRefused(..) => no(OTHER_IDENTITY),
            Self::CertificateExpired(_, reason) => no(match reason {
                ExpiryError::Expired { .. } => RENEW_IDENTITY,
                ExpiryError::NotYetValid { .. } => OTHER_CLOCK,
            }),
            Self::Unreachable(..) => unknown(
                "check the host name, the port, firewalls between this machine and the registry, and the proxy that `https_proxy` and `no_proxy` set",
            ),
            Self::Tls(..) => unknown(
                "check that the port is the registry's HTTPS port, and check the TLS handshake with `openssl s_client -connect HOST:PORT`",
            ),
            Self::TooSlow(..) => unknown(
                "check the connection to the registry and its load, then run the same command again: completed uploads are kept",
            ),
            Self::Untrusted(..) => no(
                "name the authority that signed the registry's certificate with `--ca-file`, and use a host name that the certificate contains",
            ),
            Self::Expired(..) => no(
                "ask the registry's administrator to renew the certificate, or correct the clock of this machine (`date`)",
            ),
            Self::PlainHttpAnswer(..) => {
                no("use the registry's HTTPS port, or `--plain-http` if it has none")
            }
            Self::PlainHttpAsked(..) => no(WITH_TLS),
            Self::NotARegistry(..) => {
                no("check the host and the port: an OCI registry responds below /v2/")
            }
            Self::LoginRequired(..) => no(
                "log in with `solution registry login`, `docker login` or `podman login`, or name the login file",
            ),
            Self::LoginRefused(..) => {
                no("log in again: the user name, password or token is wrong or has expired")
            }
            Self::Denied(operation, _) if operation.is_pull() => no(
                "ask the registry's administrator for the right to pull from there, or log in as a user who has it",
            ),
            Self::Denied(operation, _) if operation.is_deletion() => no(MAY_NOT_DELETE),
            Self::Denied(..) => no(MAY_NOT_PUSH),
            Self::NoRepository(..) => no(MAKE_IT),
            Self::RepositoryApi(..) => no(ECR_RIGHTS),
            Self::NameRefused(..) => no(LEVELS),
            Self::ReadOnly(..) => no(READ_ONLY),
            Self::TagKept(..) => no(TAG_KEPT),
            Self::TagHidden(..) => no(TAG_HIDDEN),
            Self::Quota(..) => no(QUOTA),
            Self::NoCatalog(..) => no(NO_CATALOG),
            Self::KeepsAll(..) => no(KEEPS_ALL),
            Self::Missing(operation) if operation.is_site() => no(NO_FILE),
            Self::Missing(..) => no(NO_IMAGE),
            Self::Full(..) => unknown(
                "free or add space in the registry's storage, then run the same command again: only missing content is pushed",
            ),
            Self::Busy { .. } if self.is_storing() => unknown(
                "check the registry's log and its free space, then run the same command again: only missing content is pushed",
            ),
            Self::Busy { operation, .. }
            | Self::Interrupted(operation, _)
            | Self::TimedOut(operation, _)
            | Self::CutShort(operation, _) => unknown(if operation.is_pull() {
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
            Self::LoginUnsupported(..) => no(
                "log in with a user name and a password with `solution registry login`; if the registry's token server is at fault, inform its administrator",
            ),
            Self::BadAnswer(..) => no(
                "inform the registry's administrator: a proxy in front of it must pass on `Host` and `X-Forwarded-Proto`, otherwise addresses in responses are wrong",
            ),
            Self::Damaged { .. } | Self::ManifestDamaged { .. } => no(TAMPERED),
            Self::NotKept(..) => no(
                "run the same command again; if it fails again, check the registry: restart it if its garbage collection has run since it was started, and check whether its disk is full, whether a policy deletes or quarantines new images, whether all replicas share their storage, and whether a proxy or cache answers in its place",
            ),
            Self::Store { .. } => unknown(ROOM),
            Self::OtherSize { .. } | Self::OtherDigest { .. } => no(
                "push the image to the registry again: the registry, or a proxy in front of it, has other content",
            ),
            Self::Read { .. } => {
                unknown("copy the archive again, or try another drive: the media may be damaged")
            }
            Self::Refused { .. } | Self::Setup(_) | Self::AnswerTooLong(..) => NO,
        }
    }
}

/// Returns the fix for a repository that rejects a push.
fn taking(why: Refusal, host: &str, repository: &str) -> String {
    match why {
        Refusal::NoRepository => make_repository(host, repository),
        Refusal::Name => LEVELS.to_owned(),
        Refusal::Quota => QUOTA.to_owned(),
        Refusal::ReadOnly => READ_ONLY.to_owned(),
        Refusal::Other => READ_ITS_LOG.to_owned(),
        Refusal::Denied if host == DOCKER_HUB && repository.matches('/').count() > 1 => {
            // Docker Hub reports names with more levels as denied access.
            "choose another registry: Docker Hub has only repositories of two levels, USER/NAME"
                .to_owned()
        }
        Refusal::Denied => MAY_NOT_PUSH.to_owned(),
    }
}

/// Returns the command or the place with which a user creates a repository.
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

/// Returns the hint to create a project. Only Harbor reports a missing one.
fn make_project(host: &str, project: &str) -> String {
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
            Self::Unreachable(_, source) if source.kind() == ErrorKind::PermissionDenied => {
                unknown(
                    "use a rootless engine (`systemctl --user start podman.socket`), or join the group that owns the socket",
                )
            }
            Self::Unreachable(..) => unknown(
                "start the engine (`systemctl --user start podman.socket`, or Docker's service), or name its socket with DOCKER_HOST=unix://PATH",
            ),
            Self::NoSuchImage { .. } => no(
                "list the images with `docker images` or `podman images`; rootless engines and the engine of root have different images",
            ),
            Self::TooLong { .. } => NO,
            Self::Store(_) => unknown(ROOM),
            Self::Setup(_) | Self::Interrupted(..) | Self::TimedOut(..) | Self::Refused { .. } => {
                UNKNOWN
            }
        }
    }
}

/// The number of missing contents that are named.
const NAMED: usize = 10;
const BRING_BACK: &str = "import the archive again from its ISO to push the missing content, or get the archive from another site; if the registry stores damaged blobs, remove them from its storage first";
const DAMAGED: &str = "copy the archive again from its source: it is damaged or altered; if it fails again, treat it as tampering";
const KEPT: &str =
    "find out who changed the content of the registry, then import the archive again from its ISO";
const NONE_KEPT: &str = "check the registry, its prefix, the name and the version; an import stores the archive in the same registry and prefix, except with `--repository-layout ref`";
const KEEPS_MUCH: &str = "ask the registry's administrator to delete unneeded content: nothing is deleted while some of it cannot be inspected";
const FROM_MEDIUM: &str = "import the archive again from its ISO: only missing content is pushed";
const SERVE_IT: &str = "serve this archive there with `solution registry serve`, or omit `serve://` to push the missing content";
const OTHER_TAG: &str = "find out who pushed it, then move the tag with `--replace` or use another prefix in `--registry`";
pub(super) const SAME: &str =
    "ask the publisher for an archive in which each image has its own reference";
const ONE_PREFIX: &str =
    "name one Solution, or import all of them to one registry under one prefix";
const BY_SOLUTION: &str = "use `--repository-layout solution`, which gives each image its own repository; `solution registry mirrors` prints the mirror configuration for nodes";
const PATHS: &str = "use `--repository-layout solution`; if the registry limits the levels of repository names, add `--no-mirrors` and use a shorter prefix";
const BY_ADDRESS: &str = "use the addresses that `--image-map` prints, or `--repository-layout solution`; CRI-O, k3s and OpenShift can also be configured for these names";
const BY_HAND: &str = "use `--image-map table` or `--image-map helm`, which list all images";
const ALLOW: &str = "ask the registry's administrator to enable deletion (docker-registry: `storage.delete.enabled: true`), then run the same command again";
const GRANT: &str = "ask the registry's administrator for the right to delete there, or log in as a user who has it; then run the same command again";
const REPAIR: &str = "restore its head with `solution registry verify ARCHIVE --repair` or another import; if the version is not needed and its archive is lost, ask the registry's administrator to delete its repositories";
const OTHER_CLUSTER: &str = "check `--kubeconfig` and `--context`: this may be the wrong cluster; to delete a version that is not needed, name it and its version";
const NEWER: &str = "use a newer version of `solution`, such as the one that pushed the images";
const AGAIN: &str = "run the same command again and review its output";

impl From<store::Error> for Failure {
    fn from(error: store::Error) -> Self {
        match &error {
            store::Error::Refused(blocker) => {
                let fix = way_out(blocker);
                Self::no(error).hint(fix)
            }
            store::Error::Registry(cause) => Self::judged(cause.answer(), error),
            store::Error::Push(failure) => not_pushed(failure, ""),
            store::Error::Lacking(lacking) => {
                let words = lacking.iter().take(NAMED).map(ToString::to_string);
                let mut words: Vec<String> = words.collect();
                if let more @ 1.. = lacking.len() - words.len() {
                    words.push(format!("and {more} more"));
                }
                let failure = Self::no(error).hint(BRING_BACK);
                words.into_iter().fold(failure, Self::because)
            }
            store::Error::Unfetched(unfetched) => match unfetched.source.answer() {
                Answer(Outcome::No, _) => Self::no(error).hint(BRING_BACK),
                answer => Self::judged(answer, error),
            },
            store::Error::Write(cause) => Self::judged(cause.answer(), error),
            store::Error::NotFreed(_, source) => Self::judged(source.answer(), error),
            store::Error::Archive(cause) if validator::is_finding(cause) => {
                Self::no(error).hint(KEPT)
            }
            store::Error::Archive(_) | store::Error::Scratch(..) | store::Error::Memory(_) => {
                Self::unknown(error)
            }
            store::Error::KeepsNone { .. } => Self::no(error).hint(NONE_KEPT),
            store::Error::KeepsSeveral { archives, .. } => {
                let ids: Vec<String> = archives.iter().map(ToString::to_string).collect();
                let failure = Self::no(error).hint("choose one with `--archive-id`");
                ids.into_iter().fold(failure, Self::because)
            }
            store::Error::OtherSolution { .. } => {
                Self::no(error).hint("name the Solution and the version of this archive")
            }
            store::Error::KeepsMuch { .. } => Self::no(error).hint(KEEPS_MUCH),
            store::Error::UnreadHead { .. } => Self::no(error).hint(REPAIR),
            store::Error::UnknownPlacement(_) => Self::no(error).hint(NEWER),
            store::Error::Repository(_) | store::Error::NotInArchive(_) => Self::no(error),
        }
    }
}

impl From<ServeError> for Failure {
    fn from(error: ServeError) -> Self {
        match error {
            ServeError::Read(..) => Self::unknown(error),
            ServeError::TooMany(_) | ServeError::Conflict(_) => Self::no(error),
            ServeError::Archive(error) => error.into(),
        }
    }
}

/// Returns the fix for a blocker at a registry.
pub(super) fn way_out(blocker: &RegistryBlocker) -> String {
    let words = match blocker {
        RegistryBlocker::PushRefused {
            why,
            host,
            repository,
            ..
        } => return taking(*why, host, repository),
        RegistryBlocker::TooDeep { .. } => LEVELS,
        RegistryBlocker::NoProject { host, project } => return make_project(host, project),
        RegistryBlocker::NoRoom { .. } => QUOTA,
        RegistryBlocker::OtherTag { .. } => OTHER_TAG,
        RegistryBlocker::OtherLayout { found, .. } => {
            return format!(
                "use `--repository-layout {found}`; to use another layout, choose another prefix in `--registry`, or first run `solution unimport --images` or `solution registry prune`"
            );
        }
        RegistryBlocker::OperatorNeedsPaths { .. } => PATHS,
        RegistryBlocker::Misplaced(misplaced) => placing(misplaced),
        RegistryBlocker::SameReference { .. } => SAME,
        RegistryBlocker::NotKept { .. } | RegistryBlocker::ImagesGone { .. } => FROM_MEDIUM,
        RegistryBlocker::NotServed { .. } => SERVE_IT,
    };
    words.to_owned()
}

/// Returns the fix for images whose place is unknown.
fn placing(misplaced: &MirrorBlocker) -> &'static str {
    match misplaced {
        MirrorBlocker::SeveralPrefixes { .. } => ONE_PREFIX,
        MirrorBlocker::SamePath { .. } | MirrorBlocker::ReservedPath { .. } => BY_SOLUTION,
        MirrorBlocker::FlatNames { .. } => BY_ADDRESS,
        MirrorBlocker::SameImageName { .. } => BY_HAND,
    }
}

/// Returns the fix for a reason not to prune a version.
pub(crate) fn unprunable(why: &PruneBlocker) -> String {
    hints::fit(match why {
        PruneBlocker::Needed { id, .. } => {
            let (name, version) = (id.name(), id.version());
            format!("run `solution unimport {name} {version} --images` once nothing uses it")
        }
        PruneBlocker::Absent { registry, .. } => {
            format!("run `solution registry prune --registry {registry}` to list its versions")
        }
        PruneBlocker::Unread { .. } => REPAIR.to_owned(),
        PruneBlocker::NoRecord(..) => OTHER_CLUSTER.to_owned(),
        PruneBlocker::Changed => AGAIN.to_owned(),
    })
}

/// Returns the failure of a deletion that did not complete.
pub(crate) fn pruning(error: store::Error) -> Failure {
    let cause = match &error {
        store::Error::NotFreed(_, source) => source.as_ref(),
        store::Error::Registry(source) => source,
        _ => return error.into(),
    };
    match cause {
        registry::Error::KeepsAll(..) => Failure::no(error).hint(ALLOW),
        registry::Error::Denied(..) => Failure::no(error).hint(GRANT),
        _ => error.into(),
    }
}

/// Describes the images that were not pushed: their number, and some names.
fn not_in_place(failure: &PushFailure, consequence: &str) -> String {
    let registry = &failure.registry;
    if failure.images.is_empty() {
        let names = failure.names.join(", ");
        return format!("cannot push {names} to {registry}{consequence}");
    }
    let mut named: Vec<String> = failure
        .images
        .iter()
        .take(NAMED)
        .map(ToString::to_string)
        .collect();
    if let more @ 1.. = failure.images.len() - named.len() {
        named.push(format!("and {more} more"));
    }
    let count = render::count(failure.images.len(), "image");
    format!(
        "cannot push {count} to {registry}{consequence}: {}",
        named.join(", ")
    )
}

/// Returns the causes of an incomplete push. Causes that differ only in their object are combined.
fn causes(failure: &PushFailure) -> Vec<String> {
    let mut causes: Vec<(String, String, usize)> = Vec::new();
    for error in &failure.errors {
        let words = format!("{:#}", anyhow::Error::new(Arc::clone(error)));
        // The name of the operation contains the object, but never this separator.
        let reason = words
            .split_once(": ")
            .map_or(words.as_str(), |(_, reason)| reason)
            .to_owned();
        match causes.iter_mut().find(|(_, known, _)| *known == reason) {
            Some((_, _, more)) => *more += 1,
            None => causes.push((words, reason, 0)),
        }
    }
    let told = causes.into_iter().map(|(words, _, more)| match more {
        0 => words,
        more => format!("{words} (and {more} more for the same reason)"),
    });
    told.collect()
}

/// Returns the failure of an incomplete push. A single negative answer makes the whole result negative, and damaged
/// content needs only its own hint.
///
/// `consequence` follows the list of missing content.
pub(super) fn not_pushed(failure: &PushFailure, consequence: &str) -> Failure {
    let errors = || failure.errors.iter().map(AsRef::as_ref);
    let refused = errors().any(|error| error.answer().0 == Outcome::No);
    let outcome = choose(refused, Outcome::No, Outcome::Unknown);
    let message = anyhow::anyhow!(not_in_place(failure, consequence));
    let ended = Failure::new(outcome, message).push(for_programs(failure));
    let ended = causes(failure).into_iter().fold(ended, Failure::because);
    if errors().any(|error| matches!(error, registry::Error::Damaged { .. })) {
        return ended.hint(DAMAGED);
    }
    // For these causes, a retry helps only after a person has solved the problem, so their hints are shown.
    let look = |error: &&registry::Error| {
        let slow = matches!(error, registry::Error::TooSlow(..));
        refused || slow || error.is_storing() || matches!(error, registry::Error::Read { .. })
    };
    let hints = errors().filter(look).filter_map(|error| error.answer().1);
    let ended = hints.fold(ended, Failure::hint);
    if refused || !ended.hints.is_empty() {
        return ended;
    }
    let sent = render::bytes(failure.pushed.uploaded.bytes);
    ended.hint(format!(
        "run the same command again: it sends only missing content ({sent} already sent)"
    ))
}

fn for_programs(failure: &PushFailure) -> PushJson {
    let failed = failure.failed.iter().map(|upload| UnpushedJson {
        what: upload.what.clone(),
        repository: upload.repository.clone(),
        why: format!("{:#}", anyhow::Error::new(Arc::clone(&upload.error))),
    });
    PushJson {
        pushed: failure.pushed,
        images: failure.names.clone(),
        failed: failed.collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pushed(errors: impl IntoIterator<Item = registry::Error>) -> (Outcome, Vec<String>) {
        let failure = Failure::from(store::Error::Push(Box::new(PushFailure {
            registry: "r.test".to_owned(),
            images: ["app:1".parse().unwrap()].into(),
            names: vec!["app:1".to_owned()],
            errors: errors.into_iter().map(Arc::new).collect(),
            pushed: (&registry::PushReport::default()).into(),
            failed: Vec::new(),
        })));
        (failure.outcome(), failure.hints.clone())
    }

    #[test]
    fn images_are_counted_by_their_places_and_causes_of_one_reason_are_told_once() {
        let read = |number: u8| registry::Error::Read {
            digest: schemas::Digest::new([number; 32]),
            offset: 0,
            source: std::io::Error::other("no medium"),
        };
        let place = |number: usize| format!("app-{number}:1").parse().unwrap();
        let failure = PushFailure {
            registry: "r.test/apps".to_owned(),
            images: (10..22).map(place).collect(),
            names: vec!["apps/mirror/app:1".to_owned(); 40],
            errors: (0..5).map(read).map(Arc::new).collect(),
            pushed: (&registry::PushReport::default()).into(),
            failed: Vec::new(),
        };
        let words = not_in_place(&failure, "");
        assert!(
            words.starts_with("cannot push 12 images to r.test/apps: app-10:1, "),
            "{words}"
        );
        assert!(words.ends_with(", app-19:1, and 2 more"), "{words}");
        let causes = causes(&failure);
        assert_eq!(causes.len(), 1, "{causes:?}");
        assert!(
            causes[0].ends_with("no medium (and 4 more for the same reason)"),
            "{causes:?}"
        );
    }

    #[test]
    fn one_no_among_many_pushes_is_the_answer_and_each_hint_comes_once() {
        let digest = schemas::Digest::new([0; 32]);
        let read = || registry::Error::Read {
            digest,
            offset: 0,
            source: std::io::Error::other("no medium"),
        };
        let medium =
            "copy the archive again, or try another drive: the media may be damaged".to_owned();
        assert_eq!(
            pushed([read(), read()]),
            (Outcome::Unknown, vec![medium.clone()])
        );
        let plain = registry::Error::PlainHttpAsked("r.test".to_owned());
        let (outcome, hints) = pushed([read(), plain]);
        assert_eq!((outcome, &hints[0], hints.len()), (Outcome::No, &medium, 2));
        let damaged = registry::Error::Damaged {
            digest,
            actual: digest,
        };
        let told = (Outcome::No, vec![DAMAGED.to_owned()]);
        assert_eq!(pushed([read(), damaged]), told);
    }

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
