//! The review of all content that a deployment writes: rights, effects that need consent, and effects that are only
//! shown.
//!
//! A deployment holds only [`Reviewed`] content, and only [`review`] creates it. Every object that a deployment writes
//! must therefore be part of [`Content`], and all of them are checked by the same rules.

use std::collections::BTreeSet;
use std::ops::Deref;

use change::Plan;
use deployer::{Cluster, Object};
use rules::RightsDifference;
use schemas::{EnvironmentName, Namespace, SolutionId};
use serde_json::json;

use crate::model::cleanup::Cleanup;
use crate::model::error::Error;
use crate::model::namespace_record::{Consent, Deployed};
use crate::model::obstacle::Obstacle;
use crate::plan::consent::{self, Beyond, ClusterView, Home};
use crate::plan::hidden::HiddenTexts;
use crate::plan::releases::{Releases, is_test};

/// The content that a deployment writes.
pub(crate) struct Content {
    /// The record of the Solution, with its labels for the environment's namespace.
    pub(crate) deployed: Deployed,
    /// The objects of the operator and of the sets.
    pub(crate) change: Plan,
    /// The releases of charts.
    pub(crate) releases: Releases,
    /// The objects that are applied before the Solution is removed.
    pub(crate) cleanup: Cleanup,
}

/// Content that has been reviewed, and cannot change afterwards.
#[derive(Debug, PartialEq)]
pub(crate) struct Reviewed<T>(T);

impl<T> Deref for Reviewed<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl Reviewed<Deployed> {
    /// Records the consent, which is the result of the review.
    pub(crate) fn accept(&mut self, consent: Option<Consent>) {
        self.0.accepted = consent;
    }
}

/// The result of a review.
pub(crate) struct Review {
    pub(crate) deployed: Reviewed<Deployed>,
    pub(crate) change: Reviewed<Plan>,
    pub(crate) releases: Reviewed<Releases>,
    pub(crate) cleanup: Reviewed<Cleanup>,
    /// The effects that need consent.
    pub(crate) beyond: Beyond,
    /// The changes to rights.
    pub(crate) rights: RightsDifference,
    /// The dangerous effects that are shown without needing consent.
    pub(crate) dangers: BTreeSet<String>,
}

/// The context of a review.
#[derive(Clone, Copy)]
pub(crate) struct ReviewContext<'a> {
    pub(crate) cluster: &'a Cluster,
    pub(crate) id: &'a SolutionId,
    pub(crate) environment: &'a EnvironmentName,
    pub(crate) namespace: &'a Namespace,
    /// The texts that must not be shown.
    pub(crate) hidden: &'a HiddenTexts,
}

/// Reviews all content of a deployment together, since an account in one part can get its rights from a role in
/// another.
pub(crate) async fn review(
    content: Content,
    reviewed_for: ReviewContext<'_>,
    obstacles: &mut Vec<Obstacle>,
) -> Result<Review, Error> {
    let namespace = reviewed_for.namespace;
    // The pattern names every field, so that the compiler reports a new field that is not reviewed.
    let Content {
        deployed,
        change,
        releases,
        cleanup,
    } = content;
    let home = Home {
        namespace,
        hidden: reviewed_for.hidden,
        kept: &change.kept,
    };
    let space = labelled(namespace, &deployed)?;
    let last = cleanup.objects()?;
    let objects = written(&change, &releases, &last);
    check_distinct(&objects, obstacles);
    let all: Vec<Object> = objects.into_iter().chain([&space]).cloned().collect();
    let before = change.live().chain(releases.objects_before());
    let before: Vec<Object> = before.cloned().collect();
    let view = ClusterView::read(reviewed_for.cluster, home, &all, &before).await?;
    let mut lines = consent::lines(&all, home, &view)?;
    lines.extend(releases.lines(namespace, home.hidden));
    // The objects that are applied before a removal grant no rights until then.
    let after: Vec<Object> = written(&change, &releases, &[])
        .into_iter()
        .cloned()
        .collect();
    let rights = consent::compare(&before, &after, &view)?;
    // The user who runs a chart's tests later sees no other plan, so their effects are listed here.
    let tests = releases.objects().filter(|object| is_test(object));
    let dangers = notices(all.iter().chain(tests), namespace);
    Ok(Review {
        beyond: Beyond::new(reviewed_for.id, reviewed_for.environment, namespace, lines),
        rights,
        dangers,
        deployed: Reviewed(deployed),
        change: Reviewed(change),
        releases: Reviewed(releases),
        cleanup: Reviewed(cleanup),
    })
}

/// Returns the objects that are applied by us or by Helm. Tests are left out: users create them later, and some charts
/// give them random names.
fn written<'a>(change: &'a Plan, releases: &'a Releases, last: &'a [Object]) -> Vec<&'a Object> {
    let sent = releases.objects().filter(|object| !is_test(object));
    change.objects().chain(last).chain(sent).collect()
}

/// Returns the dangerous effects of objects that are shown without needing consent.
fn notices<'a>(objects: impl Iterator<Item = &'a Object>, home: &Namespace) -> BTreeSet<String> {
    let hazards = objects.flat_map(|object| rules::hazards(object.as_value()));
    let notices = hazards.filter(|hazard| !hazard.needs_consent(home.as_str()));
    notices.map(|hazard| hazard.words).collect()
}

/// Returns the namespace with only the labels of the version.
fn labelled(namespace: &Namespace, deployed: &Deployed) -> Result<Object, Error> {
    let metadata = json!({ "name": namespace, "labels": deployed.labels });
    let space = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": metadata });
    Ok(Object::new(space)?)
}

/// Adds a blocker for objects with the same name. Different names in an archive can expand to the same one, and only
/// the last object would remain.
fn check_distinct(objects: &[&Object], obstacles: &mut Vec<Obstacle>) {
    let mut seen = BTreeSet::new();
    for object in objects {
        if !seen.insert(object.reference().identity()) {
            obstacles.push(Obstacle::SameName {
                object: object.reference().to_string(),
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::namespace_record::tests::deployed;

    #[test]
    fn names_that_come_to_one_are_in_the_way() {
        let role = |name: &str| {
            let metadata = json!({ "name": name, "namespace": "ns" });
            let api_version = "rbac.authorization.k8s.io/v1";
            let role = json!({ "apiVersion": api_version, "kind": "Role", "metadata": metadata });
            Object::new(role).unwrap()
        };
        let mut obstacles = Vec::new();
        check_distinct(&[&role("a"), &role("b")], &mut obstacles);
        assert_eq!(obstacles, []);
        check_distinct(&[&role("a"), &role("a")], &mut obstacles);
        let twice = Obstacle::SameName {
            object: "Role ns/a".to_owned(),
        };
        assert_eq!(obstacles, [twice]);
    }

    #[test]
    fn labels_that_switch_off_guards_of_the_environments_namespace_need_consent() {
        let namespace: Namespace = "prod".parse().unwrap();
        let label = (
            "admission.gatekeeper.sh/ignore".to_owned(),
            "yes".to_owned(),
        );
        let deployed = Deployed {
            labels: [label].into(),
            ..deployed("1.0.0")
        };
        let home = Home {
            namespace: &namespace,
            hidden: &HiddenTexts::default(),
            kept: &[],
        };
        let space = labelled(&namespace, &deployed).unwrap();
        let lines = consent::lines(&[space], home, &ClusterView::default()).unwrap();
        let lines: Vec<(&str, bool)> = lines
            .iter()
            .map(|line| (line.text.as_str(), line.danger))
            .collect();
        let words = "Namespace prod has a guard switched off: `admission.gatekeeper.sh/ignore=yes`";
        assert_eq!(lines, [(words, true)]);
    }
}
