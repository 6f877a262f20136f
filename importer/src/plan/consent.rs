//! The rights and effects of a deployment, and the user's consent to those outside the environment's namespaces.
//! [`lines`] lists the effects of all objects, and [`Beyond::judge`] compares them with the recorded consent.
//! docs/decisions/0007-consent.md describes the rules.
//!
//! The comparison of rights in a plan ([`compare`]) reads the roles of the running version from the cluster. Consent
//! does not: it relies on the record of accepted effects, because other writers may have changed roles in the cluster.
//! Consent covers content: the subject, right and place of each permission, and the effective fields of each object.

use std::collections::BTreeSet;

use change::Entry;
use deployer::{Cluster, Gvk, Object, ObjectRef};
use rules::{
    self, Borrowed, Granted, Reach, Right, RightsDifference, RightsSubject, RoleName,
    UnreadableRole,
};
use schemas::{Digest, EnvironmentName, Namespace, SolutionId};
use serde::Serialize;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::model::error::Error;
use crate::model::look::look_all;
use crate::model::namespace_record::{Consent, Grant};
use crate::model::obstacle::Obstacle;
use crate::model::request::Request;
use crate::plan::hidden::HiddenTexts;

/// Hex digits of an id: 96 bits, so that other lines with the same id cannot be constructed.
const ID_LENGTH: usize = 24;
/// Hex digits of the content digest in a line.
const CONTENT_LENGTH: usize = 32;
const RBAC: &str = "rbac.authorization.k8s.io";
const RBAC_V1: &str = "rbac.authorization.k8s.io/v1";

/// The roles and bindings in the cluster that the objects of a deployment refer to. They are read in advance, so that
/// the checks are pure functions.
#[derive(Debug, Default)]
pub(crate) struct ClusterView {
    /// The bound roles that the objects do not include, if they exist and can be read.
    roles: Vec<Object>,
    /// The bindings of the accounts that the pods run as and that the objects do not include.
    bindings: Vec<Object>,
}

/// The environment of objects, and its hidden values and kept entries.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Home<'a> {
    pub(crate) namespace: &'a Namespace,
    /// The values that must not be shown. Generated ones differ in each plan.
    pub(crate) hidden: &'a HiddenTexts,
    /// The entries of earlier deployments that do not change.
    pub(crate) kept: &'a [Entry],
}

impl ClusterView {
    /// Reads the roles and bindings that these objects and those of the running version refer to.
    pub(crate) async fn read(
        cluster: &Cluster,
        home: Home<'_>,
        objects: &[Object],
        before: &[Object],
    ) -> Result<Self, Error> {
        let mut view = Self::default();
        // The bindings come first, because the roles that they bind are read below.
        let accounts = foreign_accounts(objects, home);
        if !accounts.is_empty() {
            view.bindings = bindings_of(cluster, &accounts).await?;
        }
        let brought = objects
            .iter()
            .filter_map(|object| RoleName::of(object.as_value()));
        let brought: BTreeSet<RoleName> = brought.collect();
        let binding = objects.iter().chain(before).chain(&view.bindings);
        let bound = binding.filter_map(|object| RoleName::bound_by(object.as_value()));
        let bound: BTreeSet<RoleName> = bound.filter(|role| !brought.contains(role)).collect();
        let bound: Vec<ObjectRef> = bound.iter().map(reference).collect();
        let roles = look_all(cluster, &bound.iter().collect::<Vec<_>>()).await?;
        view.roles = roles.into_iter().flatten().collect();
        Ok(view)
    }
}

/// Returns the bindings that name one of these accounts, as far as the user may list them.
async fn bindings_of(
    cluster: &Cluster,
    accounts: &BTreeSet<RightsSubject>,
) -> Result<Vec<Object>, Error> {
    let mut bindings = Vec::new();
    for kind in ["ClusterRoleBinding", "RoleBinding"] {
        let names_one = |binding: Object| {
            if rules::subjects(binding.as_value()).any(|subject| accounts.contains(&subject)) {
                bindings.push(binding);
            }
        };
        let gvk = Gvk::new(RBAC_V1, kind);
        match cluster.visit(&gvk, None, None, names_one).await {
            Ok(()) | Err(deployer::Error::Forbidden { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(bindings)
}

fn reference(role: &RoleName) -> ObjectRef {
    match &role.namespace {
        Some(namespace) => ObjectRef::namespaced(RBAC_V1, "Role", namespace, &role.name),
        None => ObjectRef::cluster_scoped(RBAC_V1, "ClusterRole", &role.name),
    }
}

/// Compares the desired roles with the live ones, and returns the changes to rights.
pub(crate) fn compare(
    live: &[Object],
    objects: &[Object],
    view: &ClusterView,
) -> Result<RightsDifference, Error> {
    // Other writers may have changed the live roles. An unreadable one grants nothing.
    let before = granted(live, &view.roles).unwrap_or_default();
    let after = granted(objects, &view.roles)?;
    Ok(rules::compare(&before.bound(), &after.bound()))
}

/// Returns the rights that roles grant, within the reach of their bindings.
pub(crate) fn held(objects: &[Object]) -> Result<Vec<Right>, Error> {
    Ok(granted(objects, &[])?.bound())
}

fn granted(objects: &[Object], roles: &[Object]) -> Result<Granted, Error> {
    let (objects, roles) = (objects.iter(), roles.iter());
    let objects: Vec<&Value> = objects.map(Object::as_value).collect();
    let roles: Vec<&Value> = roles.map(Object::as_value).collect();
    let granted = rules::grants(&objects, &roles);
    granted.map_err(|UnreadableRole { role, problem }| Error::Rules {
        object: role.to_string(),
        source: Box::new(problem),
    })
}

/// An effect outside the namespaces of an environment.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(crate) struct Line {
    pub(crate) text: String,
    /// True if the effect is dangerous in a way that a reader could underestimate.
    pub(crate) danger: bool,
    /// The right, if the effect is one. All other effects are identified by their text.
    pub(crate) grant: Option<Grant>,
    /// True if the request accepts it by its own id instead of the id of all lines.
    #[serde(skip)]
    pub(crate) is_accepted: bool,
}

impl Line {
    /// Returns a line that is identified by its text.
    pub(crate) fn new(text: String) -> Self {
        Self {
            text,
            danger: false,
            grant: None,
            is_accepted: false,
        }
    }

    fn dangerous(text: String) -> Self {
        Self {
            danger: true,
            ..Self::new(text)
        }
    }

    fn of_right(subject: &RightsSubject, right: &Right) -> Self {
        let danger = right.danger();
        let lets = danger.map(|danger| format!(" (lets them {})", danger.words));
        // Holders of a ClusterRole have its rights where they are bound, so "in the whole cluster" would be wrong.
        let right_words = match (subject, right.reach()) {
            (RightsSubject::Holders(_), Reach::Cluster) => right.what(),
            _ => right.to_string(),
        };
        Self {
            text: format!("{subject} may {right_words}{}", lets.unwrap_or_default()),
            danger: danger.is_some() || subject.is_anybody(),
            grant: Some(Grant {
                subject: subject.clone(),
                right: right.clone(),
            }),
            is_accepted: false,
        }
    }

    /// Checks whether the consent covers the line. An accepted right also covers a smaller one.
    fn is_in(&self, accepted: &Consent) -> bool {
        let Some(grants) = &accepted.grants else {
            // A consent without grants is older and only covers the words of its lines.
            return false;
        };
        let Some(Grant { subject, right }) = &self.grant else {
            return accepted.lines.contains(&self.text);
        };
        let held = grants.iter().filter(|grant| grant.subject == *subject);
        let held: Vec<Right> = held.map(|grant| grant.right.clone()).collect();
        rules::covers(&held, right)
    }
}

/// Returns all effects of objects outside their environment. The same rule applies to operators, sets and charts.
pub(crate) fn lines(
    objects: &[Object],
    home: Home<'_>,
    view: &ClusterView,
) -> Result<BTreeSet<Line>, Error> {
    let foreign = foreign_accounts(objects, home);
    let of_objects = granted(objects, &view.roles)?;
    let borrowed = of_objects.borrowed.iter().map(borrowed_role);
    let own = of_objects.rights.iter();
    let own = own.filter(|(who, _)| !foreign.contains(who));
    // Other users created these bindings, so they are no error of this plan. An unreadable one grants nothing.
    let others = granted(&view.bindings, &view.roles).unwrap_or_default();
    let both = foreign.iter().flat_map(|who| {
        let rights = [&of_objects, &others].map(|granted| granted.rights.get(who));
        rights
            .into_iter()
            .flatten()
            .map(move |rights| (who, rights))
    });
    let rights = own.chain(both).flat_map(|(who, rights)| {
        let inside = !foreign.contains(who) && is_at_home(who, home.namespace);
        let rights = rights
            .iter()
            .filter(move |right| !(inside && is_within(right, home.namespace)));
        rights.map(move |right| Line::of_right(who, right))
    });
    let of_each = objects
        .iter()
        .flat_map(|object| of_object(object, home, &foreign));
    Ok(borrowed.chain(rights).chain(of_each).collect())
}

fn is_within(right: &Right, namespace: &Namespace) -> bool {
    *right.reach() == Reach::Namespace(namespace.to_string())
}

/// Checks whether a subject belongs to the environment, or has its rights there only by a binding in the environment.
fn is_at_home(who: &RightsSubject, home: &Namespace) -> bool {
    match who {
        RightsSubject::Account { namespace, .. } => namespace == home.as_str(),
        RightsSubject::Holders(_) => true,
        RightsSubject::User(_) | RightsSubject::Group(_) => false,
    }
}

/// Returns the line of a binding to a role that the archive does not include, and whose rules may therefore change
/// later.
fn borrowed_role(
    Borrowed {
        subject,
        role,
        reach,
        is_known,
    }: &Borrowed,
) -> Line {
    let what = if *is_known {
        "which is the cluster's own"
    } else {
        "which is not there or cannot be read: whatever it will allow"
    };
    Line::dangerous(format!("{subject} is given {role} {reach}, {what}"))
}

/// Returns the accounts that pods run as and that the objects do not include. The `default` account of a namespace
/// belongs to the owner of the namespace.
fn foreign_accounts(objects: &[Object], home: Home<'_>) -> BTreeSet<RightsSubject> {
    let is_account =
        |object: &ObjectRef| object.gvk.group.is_empty() && object.gvk.kind == "ServiceAccount";
    let account = |namespace: &str, name: &str| RightsSubject::Account {
        namespace: namespace.to_owned(),
        name: name.to_owned(),
    };
    let references = objects.iter().map(|object| object.reference().clone());
    let kept = home.kept.iter().map(Entry::reference);
    let known: Vec<ObjectRef> = references.chain(kept).collect();
    let accounts = known.iter().filter(|object| is_account(object));
    let mut brought: BTreeSet<RightsSubject> = accounts
        .filter_map(|object| Some(account(object.namespace.as_deref()?, &object.name)))
        .collect();
    let spaces = known.iter().filter(|object| is_namespace(object));
    let spaces = spaces.map(|object| object.name.as_str());
    let spaces = spaces.chain([home.namespace.as_str()]);
    brought.extend(spaces.map(|space| account(space, "default")));
    let run_as = objects.iter().flat_map(|object| {
        let names = rules::accounts(object.as_value()).into_iter();
        names.map(move |name| account(object.namespace().unwrap_or_default(), name))
    });
    run_as
        .filter(|account| !brought.contains(account))
        .collect()
}

fn is_namespace(object: &ObjectRef) -> bool {
    object.gvk.group.is_empty() && object.gvk.kind == "Namespace"
}

/// Returns the effects of one object outside its environment.
fn of_object(object: &Object, home: Home<'_>, foreign: &BTreeSet<RightsSubject>) -> Vec<Line> {
    let (what, value) = (object.reference(), object.as_value());
    let hazards = rules::hazards(value).into_iter();
    let hazards = hazards.filter(|hazard| hazard.needs_consent(home.namespace.as_str()));
    let mut lines: Vec<Line> = hazards
        .map(|hazard| Line::dangerous(hazard.words))
        .collect();
    for name in rules::accounts(value) {
        let account = RightsSubject::Account {
            namespace: object.namespace().unwrap_or_default().to_owned(),
            name: name.to_owned(),
        };
        if foreign.contains(&account) {
            let words = format!("the pods of {what} run as {account}, which is another's");
            lines.push(Line::dangerous(words));
        }
    }
    let is_outside = match what.namespace.as_deref() {
        _ if is_namespace(what) => what.name != home.namespace.as_str(),
        // Roles and bindings have lines for the rights that they grant.
        _ if what.gvk.group == RBAC => false,
        namespace => namespace != Some(home.namespace.as_str()),
    };
    let content = content(value, home.hidden);
    match (is_outside, content) {
        (true, None) => lines.push(Line::new(format!("{what} is made"))),
        (_, Some(digest)) if is_outside || !lines.is_empty() => {
            lines.push(Line::new(format!("{what} is made (content {digest})")));
        }
        _ => {}
    }
    lines
}

/// Returns the digest of an object's effective fields, if it has effects besides its existence.
fn content(object: &Value, hidden: &HiddenTexts) -> Option<String> {
    let mut acts = rules::acts(object)?;
    hidden.mask(&mut acts, None);
    let mut digest = Digest::new(Sha256::digest(acts.to_string()).into()).hex();
    digest.truncate(CONTENT_LENGTH);
    Some(digest)
}

/// The effects of a deployment outside the namespaces of its environment, with one id for all of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Beyond {
    pub(crate) id: String,
    pub(crate) lines: BTreeSet<Line>,
}

impl Beyond {
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
    ) -> Result<Option<Consent>, Obstacle> {
        if self.lines.is_empty() {
            return Ok(None);
        }
        let things = self.new_lines(before).len();
        let accepts_more = self.lines.iter().any(|line| line.is_accepted);
        let (id, by, at) = match before {
            Some(Consent { id, by, at, .. }) if things == 0 && !accepts_more => (id, by, *at),
            _ if things == 0 || request.accepted.contains(&self.id) => {
                (&self.id, &request.by, request.now)
            }
            _ => {
                return Err(Obstacle::NotAccepted {
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

#[cfg(test)]
mod tests {
    use schemas::StatementTime;
    use serde_json::json;

    use super::*;
    use crate::model::request::PullLogin;
    use crate::model::space;
    use crate::plan::file::tests::request;

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
        let home = Home {
            namespace: &namespace,
            hidden: &HiddenTexts::default(),
            kept: &[],
        };
        lines(objects, home, view).unwrap()
    }

    fn beyond(environment: &str, objects: &[Object]) -> Beyond {
        let id = SolutionId::new("shop".parse().unwrap(), "1.0.0".parse().unwrap()).unwrap();
        let (environment, namespace) = (environment.parse().unwrap(), "ns".parse().unwrap());
        let lines = judged(objects, &ClusterView::default());
        Beyond::new(&id, &environment, &namespace, lines)
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
    fn accepted(beyond: &Beyond) -> Consent {
        Consent {
            id: beyond.id.clone(),
            by: "me@here".to_owned(),
            at: StatementTime::DEFAULT,
            lines: beyond.lines.iter().map(|line| line.text.clone()).collect(),
            grants: Some(
                beyond
                    .lines
                    .iter()
                    .filter_map(|line| line.grant.clone())
                    .collect(),
            ),
        }
    }

    /// Returns the texts of the lines of a next version that need a new consent.
    fn asked(before: &[Object], after: &[Object]) -> Vec<String> {
        let before = accepted(&beyond("prod", before));
        let after = beyond("prod", after);
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
            beyond(environment, &[role, binding("ClusterRoleBinding")]).id
        };
        assert_eq!(of("prod", "secrets"), of("prod", "secrets"));
        assert_ne!(of("prod", "secrets"), of("test", "secrets"));
        assert_ne!(of("prod", "secrets"), of("prod", "pods"));
        assert_eq!(of("prod", "pods").len(), ID_LENGTH);
        // An unknown verb may have the name that the text uses for three known ones. Its id differs nevertheless.
        let mut false_verb = role("ClusterRole", &json!({}), "secrets").into_value();
        false_verb["rules"][0]["verbs"] = json!(["read"]);
        let false_verb = beyond("prod", &[object(false_verb), binding("ClusterRoleBinding")]);
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
                "metadata": { "name": name, "labels": { (space::ENFORCE): level } },
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
            let ids = [&before, &after].map(|objects| beyond("prod", objects).id);
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
            Beyond::new(&id, &environment, &namespace, lines)
        };
        let consent = all(&[&read]).judge(None, &request).unwrap().unwrap();
        assert_eq!(consent.lines, BTreeSet::from([read.text.clone()]));
        // The line is known after that. The other lines keep their own id.
        let known = Line::new(read.text.clone());
        let again = all(&[&known]).judge(Some(&consent), &request).unwrap();
        assert_eq!(again.as_ref(), Some(&consent));
        let more = Line::new("Service other/web is made".to_owned());
        let refused = all(&[&read, &more]).judge(None, &request).unwrap_err();
        assert!(matches!(refused, Obstacle::NotAccepted { things: 1, .. }));
    }

    #[test]
    fn consent_to_words_alone_is_asked_for_once_more() {
        let network = beyond("prod", &[deployment("ns", &json!({ "hostNetwork": true }))]);
        let accepted = accepted(&network);
        assert!(network.new_lines(Some(&accepted)).is_empty());
        let words = Consent {
            grants: None,
            ..accepted
        };
        assert_eq!(network.new_lines(Some(&words)).len(), network.lines.len());
    }
}
