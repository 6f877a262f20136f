//! Which of a release's workloads is the operator.

use std::collections::BTreeSet;

use crate::error::ReleaseError;
use crate::limits;
use crate::notes::{Note, Weight, names};
use crate::rights::{Roles, ServiceAccount};
use manifests::{Object, shown, text};

/// The operator, and why it is this one.
#[derive(Debug)]
pub(crate) struct Chosen<'a> {
    pub(crate) workload: &'a Object<'a>,
    pub(crate) account: ServiceAccount,
    pub(crate) note: Note,
}

/// Whether an object runs containers for good.
fn is_workload(object: &Object<'_>, kind: &str) -> bool {
    object.group() == "apps" && object.kind() == kind
}

/// Chooses the wished one; the only one; the one whose account may change most of the release's own resources; the one
/// whose name says so.
pub(crate) fn choose<'a>(
    objects: &'a [Object<'a>],
    groups: &BTreeSet<&str>,
    wished: Option<&str>,
) -> Result<Chosen<'a>, ReleaseError> {
    let of_kind = |kind| {
        objects
            .iter()
            .filter(|object| is_workload(object, kind))
            .collect::<Vec<_>>()
    };
    let mut candidates = of_kind("Deployment");
    if candidates.is_empty()
        || wished.is_some_and(|wished| candidates.iter().all(|it| it.name() != wished))
    {
        candidates.extend(of_kind("StatefulSet"));
    }
    let all = names(candidates.iter().map(|candidate| candidate.name()));
    if let Some(wished) = wished {
        candidates.retain(|candidate| candidate.name() == wished);
        return match candidates.as_slice() {
            [one] => Ok(chosen(one, "was asked for")),
            _ => Err(ReleaseError::NoSuchDeployment {
                wished: shown(wished),
                names: all,
            }),
        };
    }
    match candidates.as_slice() {
        [] => return Err(ReleaseError::NoOperator),
        [one] => return Ok(chosen(one, "is the only one of the release")),
        _ => {}
    }
    if candidates.len() > limits::RELEASE_WORKLOADS {
        return Err(ReleaseError::Ambiguous(all));
    }
    let roles = Roles::of(objects);
    let mut scored: Vec<(usize, &Object<'_>)> = candidates
        .iter()
        .map(|candidate| (roles.rights(&account(candidate)).owned(groups), *candidate))
        .collect();
    scored.sort_by_key(|(score, _)| std::cmp::Reverse(*score));
    if let [(best, one), (next, _), ..] = scored.as_slice()
        && best > next
    {
        return Ok(chosen(
            one,
            "may change more of the release's own resources than any other; `--deployment` chooses another",
        ));
    }
    let called: Vec<&Object<'_>> = candidates
        .iter()
        .copied()
        .filter(|candidate| is_called_operator(candidate.name()))
        .collect();
    match called.as_slice() {
        [one] => Ok(chosen(
            one,
            "is the only one that is called operator, controller or manager; `--deployment` chooses another",
        )),
        _ => Err(ReleaseError::Ambiguous(all)),
    }
}

fn is_called_operator(name: &str) -> bool {
    ["operator", "controller", "manager"]
        .iter()
        .any(|word| name.contains(word))
        && !name.contains("webhook")
}

fn chosen<'a>(workload: &'a Object<'a>, why: &str) -> Chosen<'a> {
    let mut text = format!("is the operator: it {why}");
    if workload.kind() == "StatefulSet" {
        text.push_str("; an import runs it as a Deployment, without volumes");
    }
    Chosen {
        workload,
        account: account(workload),
        note: Note::new(Weight::Chosen, workload.title(), text),
    }
}

fn account(workload: &Object<'_>) -> ServiceAccount {
    let pod = |field: &str| text(&workload.value, &format!("/spec/template/spec/{field}"));
    let name = [pod("serviceAccountName"), pod("serviceAccount"), "default"]
        .into_iter()
        .find(|name| !name.is_empty())
        .unwrap_or_default();
    ServiceAccount {
        name: name.to_owned(),
        namespace: workload.namespace().to_owned(),
    }
}
