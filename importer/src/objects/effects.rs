//! The effects of objects outside their environment, and the rights that they grant. [`lines`] lists the effects of all
//! objects of a deployment, each in words for the user who has to accept it. [`compare`] compares the rights of the
//! running version with those of the planned one.
//!
//! The comparison of rights reads the roles of the running version from the cluster. Consent does not: it relies on the
//! record of accepted effects, because other writers may have changed roles in the cluster.

use std::collections::BTreeSet;

use kubernetes::{Cluster, Gvk, Object, ObjectRef};
use planner::Entry;
use rules::{
    self, BorrowedRole, GrantedRights, Reach, Right, RightsDifference, RightsSubject, RoleName,
    UnreadableRole,
};
use schemas::{Digest, Namespace};
use serde::Serialize;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::choices::redact::HiddenTexts;
use crate::model::error::Error;
use crate::records::namespace_record::{Consent, Grant};
use crate::records::storage::read_all_if_allowed;

/// Hex digits of the content digest in a line.
pub(crate) const CONTENT_LENGTH: usize = 32;

const RBAC: &str = "rbac.authorization.k8s.io";

pub(crate) const RBAC_V1: &str = "rbac.authorization.k8s.io/v1";

/// The roles and bindings in the cluster that the objects of a deployment refer to. They are read in advance, so that
/// the checks are pure functions.
#[derive(Debug, Default)]
pub(crate) struct ClusterView {
    /// The bound roles that the objects do not include, if they exist and can be read.
    pub(crate) roles: Vec<Object>,
    /// The bindings of the accounts that the pods run as and that the objects do not include.
    pub(crate) bindings: Vec<Object>,
}

/// The environment of objects, and its hidden values and kept entries.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EnvironmentContext<'a> {
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
        home: EnvironmentContext<'_>,
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
        let roles = read_all_if_allowed(cluster, &bound.iter().collect::<Vec<_>>()).await?;
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
            Ok(()) | Err(kubernetes::Error::Forbidden { .. }) => {}
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

fn granted(objects: &[Object], roles: &[Object]) -> Result<GrantedRights, Error> {
    let (objects, roles) = (objects.iter(), roles.iter());
    let objects: Vec<&Value> = objects.map(Object::as_value).collect();
    let roles: Vec<&Value> = roles.map(Object::as_value).collect();
    let granted = rules::grants(&objects, &roles);
    granted.map_err(|UnreadableRole { role, problem }| {
        Error::Rules(role.to_string(), Box::new(problem))
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
    pub(crate) fn is_in(&self, accepted: &Consent) -> bool {
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
    home: EnvironmentContext<'_>,
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
    BorrowedRole {
        subject,
        role,
        reach,
        is_known,
    }: &BorrowedRole,
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
fn foreign_accounts(objects: &[Object], home: EnvironmentContext<'_>) -> BTreeSet<RightsSubject> {
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
fn of_object(
    object: &Object,
    home: EnvironmentContext<'_>,
    foreign: &BTreeSet<RightsSubject>,
) -> Vec<Line> {
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
