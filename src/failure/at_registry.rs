//! What the errors of an archive at a registry come to: of pushing it, reading it and writing it again, and of deleting
//! what nobody needs.

use std::sync::Arc;

use shelf::{Error, Misplaced, PushFailure, RegistryObstacle, ServeError, Unprunable};

use super::registry::{LEVELS, QUOTA, make_project, taking};
use super::{Answer, Failure, Judge as _, Outcome, PushJson, UnpushedJson};
use crate::args::choose;
use crate::{hints, render};

/// How many missing contents are named.
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

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        match &error {
            Error::Refused(obstacle) => {
                let fix = way_out(obstacle);
                Self::no(error).hint(fix)
            }
            Error::Registry(cause) => Self::judged(cause.answer(), error),
            Error::Push(failure) => not_pushed(failure, ""),
            Error::Lacking(lacking) => {
                let words = lacking.iter().take(NAMED).map(ToString::to_string);
                let mut words: Vec<String> = words.collect();
                if let more @ 1.. = lacking.len() - words.len() {
                    words.push(format!("and {more} more"));
                }
                let failure = Self::no(error).hint(BRING_BACK);
                words.into_iter().fold(failure, Self::because)
            }
            Error::Unfetched(unfetched) => match unfetched.source.answer() {
                Answer(Outcome::No, _) => Self::no(error).hint(BRING_BACK),
                answer => Self::judged(answer, error),
            },
            Error::Write(cause) => Self::judged(cause.answer(), error),
            Error::NotFreed { source, .. } => Self::judged(source.answer(), error),
            Error::Archive(cause) if validator::is_finding(cause) => Self::no(error).hint(KEPT),
            Error::Archive(_) | Error::Scratch { .. } | Error::Memory(_) => Self::unknown(error),
            Error::KeepsNone { .. } => Self::no(error).hint(NONE_KEPT),
            Error::KeepsSeveral { archives, .. } => {
                let ids: Vec<String> = archives.iter().map(ToString::to_string).collect();
                let failure = Self::no(error).hint("choose one with `--archive-id`");
                ids.into_iter().fold(failure, Self::because)
            }
            Error::OtherSolution { .. } => {
                Self::no(error).hint("name the Solution and the version of this archive")
            }
            Error::KeepsMuch { .. } => Self::no(error).hint(KEEPS_MUCH),
            Error::UnreadHead { .. } => Self::no(error).hint(REPAIR),
            Error::UnknownPlacement(_) => Self::no(error).hint(NEWER),
            Error::Repository(_) | Error::NotInArchive(_) => Self::no(error),
        }
    }
}

impl From<ServeError> for Failure {
    fn from(error: ServeError) -> Self {
        match error {
            ServeError::Read { .. } => Self::unknown(error),
            ServeError::TooMany(_) | ServeError::Conflict(_) => Self::no(error),
            ServeError::Archive(error) => error.into(),
        }
    }
}

/// How to get something at a registry out of the way.
pub(super) fn way_out(obstacle: &RegistryObstacle) -> String {
    let words = match obstacle {
        RegistryObstacle::PushRefused {
            why,
            host,
            repository,
            ..
        } => return taking(*why, host, repository),
        RegistryObstacle::TooDeep { .. } => LEVELS,
        RegistryObstacle::NoProject { host, project } => return make_project(host, project),
        RegistryObstacle::NoRoom { .. } => QUOTA,
        RegistryObstacle::OtherTag { .. } => OTHER_TAG,
        RegistryObstacle::OtherLayout { found, .. } => {
            return format!(
                "use `--repository-layout {found}`; to use another layout, choose another prefix in `--registry`, or first run `solution unimport --images` or `solution registry prune`"
            );
        }
        RegistryObstacle::OperatorNeedsPaths { .. } => PATHS,
        RegistryObstacle::Misplaced(misplaced) => placing(misplaced),
        RegistryObstacle::SameReference { .. } => SAME,
        RegistryObstacle::NotKept { .. } | RegistryObstacle::ImagesGone { .. } => FROM_MEDIUM,
        RegistryObstacle::NotServed { .. } => SERVE_IT,
    };
    words.to_owned()
}

/// How images come to a place that can be told.
fn placing(misplaced: &Misplaced) -> &'static str {
    match misplaced {
        Misplaced::SeveralPrefixes { .. } => ONE_PREFIX,
        Misplaced::SamePath { .. } | Misplaced::ReservedPath { .. } => BY_SOLUTION,
        Misplaced::FlatNames { .. } => BY_ADDRESS,
        Misplaced::SameImageName { .. } => BY_HAND,
    }
}

/// What to do about what keeps a version from being deleted.
pub(crate) fn unprunable(why: &Unprunable) -> String {
    hints::fit(match why {
        Unprunable::Needed { id, .. } => {
            let (name, version) = (id.name(), id.version());
            format!("run `solution unimport {name} {version} --images` once nothing uses it")
        }
        Unprunable::Absent { registry, .. } => {
            format!("run `solution registry prune --registry {registry}` to list its versions")
        }
        Unprunable::Unread { .. } => REPAIR.to_owned(),
        Unprunable::NoRecord { .. } => OTHER_CLUSTER.to_owned(),
        Unprunable::Changed => AGAIN.to_owned(),
    })
}

/// How a deletion ends that did not come to its end.
pub(crate) fn pruning(error: Error) -> Failure {
    let cause = match &error {
        Error::NotFreed { source, .. } => source.as_ref(),
        Error::Registry(source) => source,
        _ => return error.into(),
    };
    match cause {
        registry::Error::KeepsAll { .. } => Failure::no(error).hint(ALLOW),
        registry::Error::Denied { .. } => Failure::no(error).hint(GRANT),
        _ => error.into(),
    }
}

/// What was not pushed, in words: the number of images, and some of them.
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

/// The causes of an incomplete push, those that differ in their object alone told once.
fn causes(failure: &PushFailure) -> Vec<String> {
    let mut causes: Vec<(String, String, usize)> = Vec::new();
    for error in &failure.errors {
        let words = format!("{:#}", anyhow::Error::new(Arc::clone(error)));
        // An operation, which names the object, has no such colon.
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

/// Not everything was pushed. One "no" is the answer, and damage says it all.
///
/// `consequence` follows what was not pushed.
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
    // Trying again helps only after somebody has looked at what is wrong there.
    let look = |error: &&registry::Error| {
        let slow = matches!(error, registry::Error::TooSlow { .. });
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
    let failed = failure.failed.iter().map(|it| UnpushedJson {
        what: it.what.clone(),
        repository: it.repository.clone(),
        why: format!("{:#}", anyhow::Error::new(Arc::clone(&it.error))),
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
        let failure = Failure::from(Error::Push(Box::new(PushFailure {
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
        let plain = registry::Error::PlainHttpAsked {
            host: "r.test".to_owned(),
        };
        let (outcome, hints) = pushed([read(), plain]);
        assert_eq!((outcome, &hints[0], hints.len()), (Outcome::No, &medium, 2));
        let damaged = registry::Error::Damaged {
            digest,
            actual: digest,
        };
        let told = (Outcome::No, vec![DAMAGED.to_owned()]);
        assert_eq!(pushed([read(), damaged]), told);
    }
}
