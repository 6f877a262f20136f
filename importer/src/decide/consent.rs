//! The user's consent to the effects of a deployment outside the environment's namespaces. [`ExternalEffects::judge`]
//! compares the effects with the recorded consent. Consent covers content: the subject, right and place of each
//! permission, and the effective fields of each object. docs/decisions/0007-consent.md describes the rules.
//!
//! [`review`] reviews all content that a deployment writes. A deployment holds only [`Reviewed`] content, and only
//! [`review`] creates it. Every object that a deployment writes must therefore be part of [`Content`], and all of them
//! are checked by the same rules.

use std::collections::BTreeSet;
use std::ops::Deref;

use kubernetes::{Cluster, Object};
use planner::Plan;
use rules::{self, RightsDifference};
use schemas::{Digest, EnvironmentName, Namespace, SolutionId};
use serde_json::json;
use sha2::{Digest as _, Sha256};

use crate::choices::redact::HiddenTexts;
use crate::model::blocker::Blocker;
use crate::model::error::Error;
use crate::model::request::Request;
use crate::objects::effects::{ClusterView, EnvironmentContext, Line, compare, lines};
use crate::objects::releases::{Releases, is_test};
use crate::records::cleanup::Cleanup;
use crate::records::namespace_record::{Consent, DeployedSolution};

/// Hex digits of an id: 96 bits, so that other lines with the same id cannot be constructed.
const ID_LENGTH: usize = 24;

/// The effects of a deployment outside the namespaces of its environment, with one id for all of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ExternalEffects {
    pub(crate) id: String,
    pub(crate) lines: BTreeSet<Line>,
}

impl ExternalEffects {
    /// Computes the id from the lines, the Solution and the place, so that consent is only valid there.
    pub(crate) fn new(
        id: &SolutionId,
        environment: &EnvironmentName,
        namespace: &Namespace,
        lines: BTreeSet<Line>,
    ) -> Self {
        let shown = (id.name(), environment, namespace, &lines);
        let shown = serde_json::to_string(&shown).expect("lines have a JSON form");
        let mut id = Digest::new(Sha256::digest(shown).into()).hex();
        id.truncate(ID_LENGTH);
        Self { id, lines }
    }

    /// Returns the lines that the earlier consent does not cover.
    pub(crate) fn new_lines(&self, before: Option<&Consent>) -> BTreeSet<&Line> {
        let known =
            |line: &&Line| line.is_accepted || before.is_some_and(|before| line.is_in(before));
        self.lines.iter().filter(|line| !known(line)).collect()
    }

    /// Checks whether all lines are accepted, by the request or earlier, and returns the consent to record.
    pub(crate) fn judge(
        &self,
        before: Option<&Consent>,
        request: &Request,
    ) -> Result<Option<Consent>, Blocker> {
        if self.lines.is_empty() {
            return Ok(None);
        }
        let things = self.new_lines(before).len();
        let accepts_more = self.lines.iter().any(|line| line.is_accepted);
        let (id, by, at) = match before {
            Some(Consent { id, by, at, .. }) if things == 0 && !accepts_more => (id, by, *at),
            _ if things == 0 || request.accepted.contains(&self.id) => {
                (&self.id, &request.context.writer.by, request.context.now)
            }
            _ => {
                return Err(Blocker::NotAccepted {
                    things,
                    accept_id: self.id.clone(),
                });
            }
        };
        Ok(Some(Consent {
            id: id.clone(),
            by: by.clone(),
            at,
            lines: self.lines.iter().map(|line| line.text.clone()).collect(),
            grants: Some(
                self.lines
                    .iter()
                    .filter_map(|line| line.grant.clone())
                    .collect(),
            ),
        }))
    }
}

/// The content that a deployment writes.
pub(crate) struct Content {
    /// The record of the Solution, with its labels for the environment's namespace.
    pub(crate) deployed: DeployedSolution,
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

impl Reviewed<DeployedSolution> {
    /// Records the consent, which is the result of the review.
    pub(crate) fn accept(&mut self, consent: Option<Consent>) {
        self.0.accepted = consent;
    }
}

/// The result of a review.
pub(crate) struct Review {
    pub(crate) deployed: Reviewed<DeployedSolution>,
    pub(crate) change: Reviewed<Plan>,
    pub(crate) releases: Reviewed<Releases>,
    pub(crate) cleanup: Reviewed<Cleanup>,
    /// The effects that need consent.
    pub(crate) external_effects: ExternalEffects,
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
    blockers: &mut Vec<Blocker>,
) -> Result<Review, Error> {
    let namespace = reviewed_for.namespace;
    // The pattern names every field, so that the compiler reports a new field that is not reviewed.
    let Content {
        deployed,
        change,
        releases,
        cleanup,
    } = content;
    let home = EnvironmentContext {
        namespace,
        hidden: reviewed_for.hidden,
        kept: &change.kept,
    };
    let space = labelled(namespace, &deployed)?;
    let last = cleanup.objects()?;
    let objects = written(&change, &releases, &last);
    check_distinct(&objects, blockers);
    let all: Vec<Object> = objects.into_iter().chain([&space]).cloned().collect();
    let before = change.live().chain(releases.objects_before());
    let before: Vec<Object> = before.cloned().collect();
    let view = ClusterView::read(reviewed_for.cluster, home, &all, &before).await?;
    let mut lines = lines(&all, home, &view)?;
    lines.extend(releases.lines(namespace, home.hidden));
    // The objects that are applied before a removal grant no rights until then.
    let after: Vec<Object> = written(&change, &releases, &[])
        .into_iter()
        .cloned()
        .collect();
    let rights = compare(&before, &after, &view)?;
    // The user who runs a chart's tests later sees no other plan, so their effects are listed here.
    let tests = releases.objects().filter(|object| is_test(object));
    let dangers = notices(all.iter().chain(tests), namespace);
    Ok(Review {
        external_effects: ExternalEffects::new(
            reviewed_for.id,
            reviewed_for.environment,
            namespace,
            lines,
        ),
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
fn labelled(namespace: &Namespace, deployed: &DeployedSolution) -> Result<Object, Error> {
    let metadata = json!({ "name": namespace, "labels": deployed.labels });
    let space = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": metadata });
    Ok(Object::new(space)?)
}

/// Adds a blocker for objects with the same name. Different names in an archive can expand to the same one, and only
/// the last object would remain.
fn check_distinct(objects: &[&Object], blockers: &mut Vec<Blocker>) {
    let mut seen = BTreeSet::new();
    for object in objects {
        if !seen.insert(object.reference().identity()) {
            blockers.push(Blocker::SameName {
                object: object.reference().to_string(),
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use schemas::StatementTime;
    use serde_json::{Value, json};

    use super::*;
    use crate::model::request::PullLogin;
    use crate::objects::effects::{CONTENT_LENGTH, RBAC_V1};
    use crate::plan::file::tests::request;
    use crate::records::namespace_record;

    fn object(value: Value) -> Object {
        Object::new(value).unwrap()
    }

    fn role(kind: &str, labels: &Value, resource: &str) -> Object {
        object(json!({
            "apiVersion": RBAC_V1, "kind": kind,
            "metadata": { "name": "r", "labels": labels },
            "rules": [{ "apiGroups": [""], "resources": [resource], "verbs": ["get", "list", "watch"] }],
        }))
    }

    fn bound_to(kind: &str, subject: &Value) -> Object {
        let mut value = json!({
            "apiVersion": RBAC_V1, "kind": kind,
            "metadata": { "name": "b" },
            "roleRef": { "kind": "ClusterRole", "name": "r" }, "subjects": [subject],
        });
        if kind == "RoleBinding" {
            value["metadata"]["namespace"] = json!("ns");
        }
        object(value)
    }

    fn binding(kind: &str) -> Object {
        let subject = json!({ "kind": "ServiceAccount", "namespace": "ns", "name": "a" });
        bound_to(kind, &subject)
    }

    fn deployment(namespace: &str, spec: &Value) -> Object {
        object(json!({
            "apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": { "name": "d", "namespace": namespace },
            "spec": { "template": { "spec": spec } },
        }))
    }

    fn judged(objects: &[Object], view: &ClusterView) -> BTreeSet<Line> {
        let namespace = "ns".parse().unwrap();
        let home = EnvironmentContext {
            namespace: &namespace,
            hidden: &HiddenTexts::default(),
            kept: &[],
        };
        lines(objects, home, view).unwrap()
    }

    fn external_effects(environment: &str, objects: &[Object]) -> ExternalEffects {
        let id = SolutionId::new("shop".parse().unwrap(), "1.0.0".parse().unwrap()).unwrap();
        let (environment, namespace) = (environment.parse().unwrap(), "ns".parse().unwrap());
        let lines = judged(objects, &ClusterView::default());
        ExternalEffects::new(&id, &environment, &namespace, lines)
    }

    /// Returns the texts of all lines. Dangerous ones start with `!`; digests of contents are left out.
    fn told(objects: &[Object], view: &ClusterView) -> Vec<String> {
        let lines = judged(objects, view).into_iter();
        let told = lines.map(|line| {
            let text = match line.text.split_once("(content ") {
                Some((text, digest)) => {
                    assert_eq!(digest.len(), CONTENT_LENGTH + 1, "{digest}");
                    format!("{text}(content)")
                }
                None => line.text,
            };
            format!("{}{text}", if line.danger { "! " } else { "" })
        });
        told.collect()
    }

    fn texts(objects: &[Object]) -> Vec<String> {
        told(objects, &ClusterView::default())
    }

    /// Returns the recorded consent to all of these effects.
    fn accepted(external_effects: &ExternalEffects) -> Consent {
        Consent {
            id: external_effects.id.clone(),
            by: "me@here".to_owned(),
            at: StatementTime::DEFAULT,
            lines: external_effects
                .lines
                .iter()
                .map(|line| line.text.clone())
                .collect(),
            grants: Some(
                external_effects
                    .lines
                    .iter()
                    .filter_map(|line| line.grant.clone())
                    .collect(),
            ),
        }
    }

    /// Returns the texts of the lines of a next version that need a new consent.
    fn asked(before: &[Object], after: &[Object]) -> Vec<String> {
        let before = accepted(&external_effects("prod", before));
        let after = external_effects("prod", after);
        let new = after.new_lines(Some(&before)).into_iter();
        new.map(|line| line.text.clone()).collect()
    }

    #[test]
    fn only_what_is_bound_in_the_whole_cluster_reaches_beyond() {
        let secrets = role("ClusterRole", &json!({}), "secrets");
        let inside = texts(&[secrets.clone(), binding("RoleBinding")]);
        assert_eq!(inside, [""; 0]);
        let outside = texts(&[secrets, binding("ClusterRoleBinding")]);
        let words = "! ServiceAccount ns/a may read all Secrets in the whole cluster (lets them read every password, key and token there)";
        assert_eq!(outside, [words]);
    }

    /// Subjects from outside the environment are listed, even if their rights are limited to it.
    #[test]
    fn who_is_not_of_the_environment_is_told() {
        let group = |name: &str| json!({ "kind": "Group", "name": name });
        let of = |kind, subject| {
            let secrets = role("ClusterRole", &json!({}), "configmaps");
            texts(&[secrets, bound_to(kind, &subject)])
        };
        let everyone =
            "! everyone, also without a login (system:unauthenticated) may read all ConfigMaps";
        assert_eq!(
            of("RoleBinding", group("system:unauthenticated")),
            [format!("{everyone} of namespace ns")]
        );
        assert_eq!(
            of("ClusterRoleBinding", group("system:unauthenticated")),
            [format!("{everyone} in the whole cluster")]
        );
        assert_eq!(
            of("RoleBinding", group("devs")),
            ["the group `devs` may read all ConfigMaps of namespace ns"]
        );
        let other = json!({ "kind": "ServiceAccount", "namespace": "other", "name": "a" });
        assert_eq!(
            of("RoleBinding", other),
            ["ServiceAccount other/a may read all ConfigMaps of namespace ns"]
        );
    }

    /// A harmless role with the same name, or a custom kind with the same kind name, does not hide a bound role.
    #[test]
    fn another_role_of_the_name_hides_nothing() {
        let bound = binding("ClusterRoleBinding");
        let mut false_role = role("ClusterRole", &json!({}), "pods").into_value();
        false_role["apiVersion"] = json!("evil.test/v1");
        let mut harmless = role("Role", &json!({}), "pods").into_value();
        harmless["metadata"]["namespace"] = json!("ns");
        let decoys = [object(false_role), object(harmless)];
        let secrets = role("ClusterRole", &json!({}), "secrets");
        let plain = judged(&[secrets.clone(), bound.clone()], &ClusterView::default());
        let all = [&[secrets.clone(), bound.clone()][..], &decoys[..]].concat();
        assert!(judged(&all, &ClusterView::default()).is_superset(&plain));
        // The bound role is the one that the lines show, read from the cluster.
        let view = ClusterView {
            roles: vec![secrets],
            bindings: Vec::new(),
        };
        let borrowed = told(&[&decoys[..], std::slice::from_ref(&bound)].concat(), &view);
        let given = "! ServiceAccount ns/a is given ClusterRole r in the whole cluster";
        assert!(borrowed.contains(&format!("{given}, which is the cluster's own")));
        let reads = |line: &String| line.contains("ServiceAccount ns/a may read all Secrets");
        assert!(borrowed.iter().any(reads), "{borrowed:?}");
        let absent = texts(&[bound]);
        let words = "which is not there or cannot be read: whatever it will allow";
        assert_eq!(absent, [format!("{given}, {words}")]);
        let gained = compare(&[], &[binding("RoleBinding")], &view)
            .unwrap()
            .gained;
        assert_eq!(gained[0].to_string(), "read all Secrets of namespace ns");
    }

    #[test]
    fn pods_of_another_account_have_its_rights() {
        let deployment =
            |account: &str| deployment("ns", &json!({ "serviceAccountName": account }));
        let own = object(json!({
            "apiVersion": "v1", "kind": "ServiceAccount", "metadata": { "name": "a", "namespace": "ns" },
        }));
        assert_eq!(texts(&[deployment("a"), own]), [""; 0]);
        assert_eq!(texts(&[deployment("default")]), [""; 0]);
        let view = ClusterView {
            roles: vec![role("ClusterRole", &json!({}), "secrets")],
            bindings: vec![binding("RoleBinding")],
        };
        let expected = [
            "Deployment ns/d is made (content)",
            "! ServiceAccount ns/a may read all Secrets of namespace ns (lets them read every password, key and token there)",
            "! the pods of Deployment ns/d run as ServiceAccount ns/a, which is another's",
        ];
        assert_eq!(told(&[deployment("a")], &view), expected);
        // An account of the same kind name in another group is not a ServiceAccount.
        let false_account = object(json!({
            "apiVersion": "evil.test/v1", "kind": "ServiceAccount",
            "metadata": { "name": "a", "namespace": "ns" },
        }));
        assert_eq!(texts(&[deployment("a"), false_account]).len(), 2);
    }

    #[test]
    fn pods_that_reach_their_node_reach_beyond() {
        let network = deployment("ns", &json!({ "hostNetwork": true }));
        let expected = [
            "Deployment ns/d is made (content)",
            "! the pods of Deployment ns/d are in their node's network",
        ];
        assert_eq!(texts(&[network]), expected);
        assert_eq!(texts(&[deployment("ns", &json!({}))]), [""; 0]);
    }

    #[test]
    fn the_id_is_of_what_is_shown_and_where() {
        let of = |environment, resource| {
            let role = role("ClusterRole", &json!({}), resource);
            external_effects(environment, &[role, binding("ClusterRoleBinding")]).id
        };
        assert_eq!(of("prod", "secrets"), of("prod", "secrets"));
        assert_ne!(of("prod", "secrets"), of("test", "secrets"));
        assert_ne!(of("prod", "secrets"), of("prod", "pods"));
        assert_eq!(of("prod", "pods").len(), ID_LENGTH);
        // An unknown verb may have the name that the text uses for three known ones. Its id differs nevertheless.
        let mut false_verb = role("ClusterRole", &json!({}), "secrets").into_value();
        false_verb["rules"][0]["verbs"] = json!(["read"]);
        let false_verb =
            external_effects("prod", &[object(false_verb), binding("ClusterRoleBinding")]);
        assert_ne!(false_verb.id, of("prod", "secrets"));
    }

    #[test]
    fn rights_that_others_get_reach_beyond_wherever_the_role_is_bound() {
        let labels = json!({ "rbac.authorization.k8s.io/aggregate-to-edit": "true" });
        let role = role("ClusterRole", &labels, "pods");
        let lines = texts(&[role, binding("RoleBinding")]);
        assert_eq!(lines, ["everyone with the role edit may read all Pods"]);
    }

    #[test]
    fn what_is_carried_outside_of_the_namespace_is_named_one_by_one() {
        assert_eq!(
            texts(&[
                role("ClusterRole", &json!({}), "pods"),
                binding("RoleBinding")
            ]),
            [""; 0]
        );
        let service = |namespace: &str| {
            object(json!({
                "apiVersion": "v1", "kind": "Service",
                "metadata": { "name": "web", "namespace": namespace },
            }))
        };
        assert_eq!(texts(&[service("ns")]), [""; 0]);
        let gathering = object(json!({
            "apiVersion": RBAC_V1, "kind": "ClusterRole",
            "metadata": { "name": "all" }, "aggregationRule": {},
        }));
        let space = |name: &str, level: &str| {
            object(json!({
                "apiVersion": "v1", "kind": "Namespace",
                "metadata": { "name": name, "labels": { (namespace_record::ENFORCE): level } },
            }))
        };
        assert_eq!(texts(&[space("ns", "restricted")]), [""; 0]);
        let held = "! Namespace ns is held to the PodSecurity level `privileged`, and no longer to a higher one";
        assert_eq!(texts(&[space("ns", "privileged")]), [held]);
        assert_eq!(texts(&[space("other", "baseline")]).len(), 2);
        let unbound = role("ClusterRole", &json!({}), "pods");
        let expected = [
            "ClusterRole all is made (content)",
            "! ClusterRole all gathers the rights of other ClusterRoles",
            "Service kube-system/web is made (content)",
            "everyone with the role r may read all Pods",
        ];
        let mut found = texts(&[service("kube-system"), gathering, unbound]);
        found.sort_by_key(|line| line.trim_start_matches("! ").to_owned());
        let mut sorted = expected.map(str::to_owned);
        sorted.sort_by_key(|line| line.trim_start_matches("! ").to_owned());
        assert_eq!(found, sorted);
    }

    /// A new version cannot exchange the content behind an accepted name without a new consent.
    #[test]
    fn what_was_accepted_is_its_content() {
        let subject = |kind: &str, name: &str| json!({ "kind": kind, "name": name });
        let reader = |subject: &Value| {
            let all = bound_to("ClusterRoleBinding", subject);
            vec![role("ClusterRole", &json!({}), "secrets"), all]
        };
        let admission = |kind: &str, fields: Value| {
            let mut value = json!({
                "apiVersion": "admissionregistration.k8s.io/v1", "kind": kind,
                "metadata": { "name": "x" },
            });
            value
                .as_object_mut()
                .unwrap()
                .extend(fields.as_object().unwrap().clone());
            vec![object(value)]
        };
        let webhook = |resource: &str| {
            let rules = json!([{ "apiGroups": [""], "resources": [resource] }]);
            let fields = json!({ "webhooks": [{ "name": "w", "rules": rules }] });
            admission("MutatingWebhookConfiguration", fields)
        };
        let policy = |expression: &str| {
            let fields = json!({ "spec": { "validations": [{ "expression": expression }] } });
            admission("ValidatingAdmissionPolicy", fields)
        };
        let program = |namespace: &str, command: &str, more: Value| {
            let mut spec = json!({ "containers": [{ "image": "a", "command": [command] }] });
            spec.as_object_mut()
                .unwrap()
                .extend(more.as_object().unwrap().clone());
            vec![deployment(namespace, &spec)]
        };
        let ports = |port: u16| {
            vec![object(json!({
                "apiVersion": "v1", "kind": "Service",
                "metadata": { "name": "s", "namespace": "ns" },
                "spec": { "externalIPs": ["10.0.0.1"], "ports": [{ "port": port }] },
            }))]
        };
        let host = json!({ "hostNetwork": true });
        for (name, before, after) in [
            (
                "subjects",
                reader(&subject("User", "jane")),
                reader(&subject("Group", "system:unauthenticated")),
            ),
            ("webhook", webhook("configmaps"), webhook("secrets")),
            ("policy", policy("true"), policy("false")),
            (
                "program elsewhere",
                program("kube-system", "serve", json!({})),
                program("kube-system", "steal", json!({})),
            ),
            (
                "program on the node",
                program("ns", "serve", host.clone()),
                program("ns", "steal", host),
            ),
            ("service", ports(80), ports(443)),
        ] {
            assert_eq!(asked(&before, &before), [""; 0], "{name}");
            assert_eq!(asked(&before, &after).len(), 1, "{name}");
            let ids = [&before, &after].map(|objects| external_effects("prod", objects).id);
            assert_ne!(ids[0], ids[1], "{name}");
        }
    }

    #[test]
    fn what_is_lost_of_a_right_asks_nothing() {
        let of = |verbs: &[&str], kind: &str| {
            let mut role = role("ClusterRole", &json!({}), "secrets").into_value();
            role["rules"][0]["verbs"] = json!(verbs);
            vec![
                object(role),
                bound_to(kind, &json!({ "kind": "User", "name": "jane" })),
            ]
        };
        let all = ["get", "list", "watch"];
        let before = of(&all, "ClusterRoleBinding");
        assert_eq!(asked(&before, &of(&["get"], "ClusterRoleBinding")), [""; 0]);
        assert_eq!(asked(&before, &of(&all, "RoleBinding")), [""; 0]);
        assert_eq!(asked(&of(&all, "RoleBinding"), &before).len(), 1);
        assert_eq!(asked(&before, &of(&["update"], "RoleBinding")).len(), 1);
    }

    #[test]
    fn reads_that_their_own_id_accepted_are_recorded_and_ask_nothing_more() {
        let request = request(PullLogin::None, 1);
        let read = Line {
            is_accepted: true,
            ..Line::new("the templates of the release ns/web read nodes a".to_owned())
        };
        let all = |lines: &[&Line]| {
            let id = SolutionId::new("shop".parse().unwrap(), "1.0.0".parse().unwrap()).unwrap();
            let (environment, namespace) = ("prod".parse().unwrap(), "ns".parse().unwrap());
            let lines = lines.iter().copied().cloned().collect();
            ExternalEffects::new(&id, &environment, &namespace, lines)
        };
        let consent = all(&[&read]).judge(None, &request).unwrap().unwrap();
        assert_eq!(consent.lines, BTreeSet::from([read.text.clone()]));
        // The line is known after that. The other lines keep their own id.
        let known = Line::new(read.text.clone());
        let again = all(&[&known]).judge(Some(&consent), &request).unwrap();
        assert_eq!(again.as_ref(), Some(&consent));
        let more = Line::new("Service other/web is made".to_owned());
        let refused = all(&[&read, &more]).judge(None, &request).unwrap_err();
        assert!(matches!(refused, Blocker::NotAccepted { things: 1, .. }));
    }

    #[test]
    fn consent_to_words_alone_is_asked_for_once_more() {
        let network =
            external_effects("prod", &[deployment("ns", &json!({ "hostNetwork": true }))]);
        let accepted = accepted(&network);
        assert!(network.new_lines(Some(&accepted)).is_empty());
        let words = Consent {
            grants: None,
            ..accepted
        };
        assert_eq!(network.new_lines(Some(&words)).len(), network.lines.len());
    }
}

#[cfg(test)]
mod review_tests {
    use super::*;
    use crate::records::namespace_record::tests::deployed;

    #[test]
    fn names_that_come_to_one_are_in_the_way() {
        let role = |name: &str| {
            let metadata = json!({ "name": name, "namespace": "ns" });
            let api_version = "rbac.authorization.k8s.io/v1";
            let role = json!({ "apiVersion": api_version, "kind": "Role", "metadata": metadata });
            Object::new(role).unwrap()
        };
        let mut blockers = Vec::new();
        check_distinct(&[&role("a"), &role("b")], &mut blockers);
        assert_eq!(blockers, []);
        check_distinct(&[&role("a"), &role("a")], &mut blockers);
        let twice = Blocker::SameName {
            object: "Role ns/a".to_owned(),
        };
        assert_eq!(blockers, [twice]);
    }

    #[test]
    fn labels_that_switch_off_guards_of_the_environments_namespace_need_consent() {
        let namespace: Namespace = "prod".parse().unwrap();
        let label = (
            "admission.gatekeeper.sh/ignore".to_owned(),
            "yes".to_owned(),
        );
        let deployed = DeployedSolution {
            labels: [label].into(),
            ..deployed("1.0.0")
        };
        let home = EnvironmentContext {
            namespace: &namespace,
            hidden: &HiddenTexts::default(),
            kept: &[],
        };
        let space = labelled(&namespace, &deployed).unwrap();
        let lines = lines(&[space], home, &ClusterView::default()).unwrap();
        let lines: Vec<(&str, bool)> = lines
            .iter()
            .map(|line| (line.text.as_str(), line.danger))
            .collect();
        let words = "Namespace prod has a guard switched off: `admission.gatekeeper.sh/ignore=yes`";
        assert_eq!(lines, [(words, true)]);
    }
}
