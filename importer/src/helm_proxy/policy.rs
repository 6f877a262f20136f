//! The requests that Helm may send to a cluster: pure functions from a request and a plan to a verdict.
//! [`ProxyPolicy::decide`] is the entry point.
//!
//! The policy prevents a known attack: a user who may write Secrets in a release's namespace adds or changes a
//! revision, so that Helm runs its hooks or deletes its objects with an administrator's rights. Helm sees only recorded
//! revisions, writes only planned objects, and deletes only objects whose UID is planned.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use helm::stored;
use planner::RevisionEntry;
use schemas::{Namespace, ReleaseName};
use serde_json::{Map, Value, json};

use crate::helm_proxy::protobuf;
use crate::helm_proxy::target::{LookupTarget, ObjectPath, Query, RequestTarget};
pub(crate) use crate::model::renderings::{Lookup, Lookups};

/// The label selector with which Helm lists revisions.
const REVISIONS: &str = "owner=helm";
/// The labels and annotations that Helm adds to the objects of a release, with its name and namespace.
const MANAGED_BY: (&str, &str) = ("app.kubernetes.io/managed-by", "Helm");
const RELEASE_NAME: &str = "meta.helm.sh/release-name";
const RELEASE_NAMESPACE: &str = "meta.helm.sh/release-namespace";

/// The phase of a run of Helm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Helm renders for a plan: templates read the cluster, and nothing is written.
    Looking,
    /// Helm renders before it writes: templates receive the same responses as for the plan.
    Rendering,
    /// Helm writes or deletes the planned objects.
    Sending,
}

/// The permissions of a run of Helm.
#[derive(Clone, Debug)]
pub(crate) struct ProxyPolicy {
    pub(crate) namespace: Namespace,
    pub(crate) release: ReleaseName,
    /// The objects that may be read, written and deleted.
    pub(crate) objects: BTreeMap<ObjectPath, AllowedObject>,
    /// The revisions that Helm may read.
    pub(crate) revisions: BTreeMap<u32, RevisionEntry>,
    /// The responses that templates received for the plan, by the target of the request.
    pub(crate) lookups: Lookups,
    /// The CRDs that are installed before the release, whose kinds templates see for the plan.
    pub(crate) coming: Vec<Value>,
    /// The objects that templates may read for the plan.
    pub(crate) readable: Readable,
    /// The objects that templates requested without an accepted permission, which they did not receive.
    pub(crate) withheld: BTreeSet<String>,
}

/// The objects of a cluster that templates may read.
#[derive(Clone, Debug)]
pub(crate) enum Readable {
    /// All objects, in a cluster that is only simulated.
    Everything,
    /// Accepted objects.
    Accepted {
        /// The namespaces of which every object may be read.
        namespaces: BTreeSet<String>,
        /// Objects outside these namespaces, in the spelling of [`LookupTarget::what`].
        elsewhere: BTreeSet<String>,
    },
}

impl Default for Readable {
    fn default() -> Self {
        Self::Accepted {
            namespaces: BTreeSet::new(),
            elsewhere: BTreeSet::new(),
        }
    }
}

impl Readable {
    fn has(&self, target: &str) -> bool {
        let Self::Accepted {
            namespaces,
            elsewhere,
        } = self
        else {
            return true;
        };
        let LookupTarget { namespace, what } = LookupTarget::parse(target);
        namespace.is_some_and(|namespace| namespaces.contains(&namespace))
            || elsewhere.contains(&what)
    }
}

/// The permissions for an object.
#[derive(Clone, Debug, Default)]
pub(crate) struct AllowedObject {
    /// The forms in which it may be written, without Helm's labels and annotations. Empty if it may only be deleted.
    pub(crate) bodies: Vec<Value>,
    /// The UID of the object that may be deleted. `None` if none may be deleted.
    pub(crate) uid: Option<String>,
}

/// A request from Helm.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HelmRequest<'a> {
    pub(crate) method: &'a str,
    pub(crate) target: &'a str,
    pub(crate) content_type: &'a str,
    pub(crate) body: &'a [u8],
}

/// The verdict on a request.
#[derive(Debug, PartialEq)]
pub(crate) enum Verdict {
    /// The request is forwarded unchanged.
    Pass,
    /// The request is forwarded unchanged, and the response is recorded.
    Look,
    /// The request is refused and recorded as withheld.
    Withhold,
    /// The request is forwarded, and the coming kinds are added to the response at this path.
    Discover(String),
    /// The request is forwarded, and only this part of the response is returned.
    Show(VisiblePart),
    /// The request is answered with this recorded response.
    Answer(Lookup),
    /// This planned object is created or changed.
    Write(ObjectPath, Value),
    /// This revision is recorded, and then stored in this form.
    Store(RevisionEntry, Value),
    /// The request is forwarded with these options. A deleted revision is forgotten afterwards.
    Delete(HelmDeletion, Value),
    /// The response is that the release has no such object.
    Absent,
    /// The request is refused for this reason.
    Refuse(String),
}

/// The object or revision to delete.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum HelmDeletion {
    Object(ObjectPath),
    Revision(u32),
}

/// The visible part of a response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum VisiblePart {
    /// The requested revision, if it is recorded.
    Revision,
    /// The recorded revisions.
    Revisions,
    /// The planned objects of this group and plural, and their dependents.
    Objects(String, String),
    /// The same objects in a watch.
    Changes(String, String),
}

impl ProxyPolicy {
    /// Returns the permissions of a release without any writes.
    pub(crate) fn new(namespace: &Namespace, release: &ReleaseName) -> Self {
        Self {
            namespace: namespace.clone(),
            release: release.clone(),
            objects: BTreeMap::new(),
            revisions: BTreeMap::new(),
            lookups: Lookups::new(),
            coming: Vec::new(),
            readable: Readable::default(),
            withheld: BTreeSet::new(),
        }
    }

    /// Permits writing an object in this form as well.
    pub(crate) fn plan(&mut self, place: ObjectPath, body: &Value) {
        let body = self.bare(body);
        let bodies = &mut self.objects.entry(place).or_default().bodies;
        if !bodies.contains(&body) {
            bodies.push(body);
        }
    }

    /// Permits deleting the object at this path while it has this UID.
    pub(crate) fn may_delete(&mut self, place: &ObjectPath, uid: Option<&str>) {
        if let Some(planned) = self.objects.get_mut(place) {
            planned.uid = uid.map(str::to_owned);
        }
    }

    /// Decides about a request.
    pub(crate) fn decide(&self, phase: Phase, asked: &HelmRequest<'_>) -> Verdict {
        let target = RequestTarget::parse(asked.target);
        match (asked.method, target) {
            ("GET", RequestTarget::Discovery(path)) if self.adds_to(phase, &path) => {
                Verdict::Discover(path)
            }
            ("GET", RequestTarget::Discovery(_)) => Verdict::Pass,
            ("GET", RequestTarget::Object(place, _)) => self.read(phase, &place, asked),
            (
                "GET",
                RequestTarget::Collection {
                    group,
                    plural,
                    namespace,
                    query,
                },
            ) => self.list(phase, group, plural, namespace.as_deref(), &query, asked),
            _ if phase != Phase::Sending => refuse(asked),
            (
                "POST",
                RequestTarget::Collection {
                    group,
                    plural,
                    namespace,
                    ..
                },
            ) if self.is_ours(&group, &plural, namespace.as_deref()) => self.store(None, asked),
            ("PUT", RequestTarget::Object(place, _)) => match self.revision_at(&place) {
                Some(revision) => self.store(Some(revision), asked),
                None => refuse(asked),
            },
            ("PATCH", RequestTarget::Object(place, version)) => self.write(place, &version, asked),
            ("DELETE", RequestTarget::Object(place, _)) => self.delete(place, asked),
            _ => refuse(asked),
        }
    }

    /// Checks whether kinds may have to be added to a discovery response.
    fn adds_to(&self, phase: Phase, path: &str) -> bool {
        phase == Phase::Looking && !self.coming.is_empty() && path.starts_with("/apis")
    }

    fn is_ours(&self, group: &str, plural: &str, namespace: Option<&str>) -> bool {
        group.is_empty() && plural == "secrets" && namespace == Some(self.namespace.as_str())
    }

    /// Returns the number of the revision of this release whose Secret is at this path.
    fn revision_at(&self, place: &ObjectPath) -> Option<u32> {
        if !self.is_ours(&place.group, &place.plural, place.namespace.as_deref()) {
            return None;
        }
        let (_, number) = place.name.rsplit_once(".v")?;
        let number = number.parse().ok()?;
        (stored::secret_name(&self.release, number) == place.name).then_some(number)
    }

    fn look(&self, asked: &HelmRequest<'_>) -> Verdict {
        if self.readable.has(asked.target) {
            Verdict::Look
        } else {
            Verdict::Withhold
        }
    }

    fn read(&self, phase: Phase, place: &ObjectPath, asked: &HelmRequest<'_>) -> Verdict {
        if let Some(revision) = self.revision_at(place) {
            return if self.revisions.contains_key(&revision) {
                Verdict::Show(VisiblePart::Revision)
            } else {
                Verdict::Absent
            };
        }
        match phase {
            Phase::Looking => self.look(asked),
            Phase::Rendering => match self.lookups.get(asked.target) {
                Some(lookup) => Verdict::Answer(lookup.clone()),
                None => Verdict::Absent,
            },
            Phase::Sending if self.objects.contains_key(place) => Verdict::Pass,
            Phase::Sending => refuse(asked),
        }
    }

    fn list(
        &self,
        phase: Phase,
        group: String,
        plural: String,
        namespace: Option<&str>,
        query: &Query,
        asked: &HelmRequest<'_>,
    ) -> Verdict {
        let mut labels = query.labels.split(',');
        if self.is_ours(&group, &plural, namespace)
            && labels.any(|label| label.trim() == REVISIONS)
            && !query.watch
        {
            return Verdict::Show(VisiblePart::Revisions);
        }
        match phase {
            Phase::Looking | Phase::Rendering if query.watch => refuse(asked),
            Phase::Looking => self.look(asked),
            Phase::Rendering => match self.lookups.get(asked.target) {
                Some(lookup) => Verdict::Answer(lookup.clone()),
                None => Verdict::Absent,
            },
            Phase::Sending if !self.awaits(&group, &plural, namespace) => refuse(asked),
            Phase::Sending if query.watch => Verdict::Show(VisiblePart::Changes(group, plural)),
            Phase::Sending => Verdict::Show(VisiblePart::Objects(group, plural)),
        }
    }

    /// Checks whether such a list can contain objects for which Helm waits.
    fn awaits(&self, group: &str, plural: &str, namespace: Option<&str>) -> bool {
        let belongs = belongs(group, plural);
        self.objects.keys().any(|object| {
            let is_there = namespace.is_none() || object.namespace.as_deref() == namespace;
            is_there && (belongs || (object.group == group && object.plural == plural))
        })
    }

    fn write(&self, place: ObjectPath, version: &str, asked: &HelmRequest<'_>) -> Verdict {
        let Some(planned) = self.objects.get(&place) else {
            return refuse(asked);
        };
        let Ok(body) = serde_json::from_slice::<Value>(asked.body) else {
            return refuse(asked);
        };
        let content_type = asked.content_type.split(';').next().unwrap_or_default();
        let is_planned = match content_type.trim() {
            "application/apply-patch+yaml" => {
                let in_version = body["apiVersion"] == version_of(&place.group, version);
                let space = body["metadata"].get("namespace").and_then(Value::as_str);
                let is_placed = space.is_none() || space == place.namespace.as_deref();
                let is_named = body["metadata"]["name"] == place.name;
                let bare = self.bare(&body);
                in_version
                    && is_placed
                    && is_named
                    && planned.bodies.iter().any(|planned| is_same(planned, &bare))
            }
            // Helm takes over fields that an earlier version of it wrote with another method in this way.
            "application/json-patch+json" => !planned.bodies.is_empty() && is_of_managers(&body),
            _ => false,
        };
        if is_planned {
            // The compared value is sent and not the original text: another parser could read a duplicate key
            // differently.
            Verdict::Write(place, body)
        } else {
            Verdict::Refuse(format!("{place} differs from the plan"))
        }
    }

    fn delete(&self, place: ObjectPath, asked: &HelmRequest<'_>) -> Verdict {
        let (uid, going) = match self.revision_at(&place) {
            Some(number) => {
                let known = self.revisions.get(&number);
                (
                    known.and_then(|revision| revision.uid.clone()),
                    HelmDeletion::Revision(number),
                )
            }
            None => match self.objects.get(&place) {
                Some(planned) => (planned.uid.clone(), HelmDeletion::Object(place)),
                None => return refuse(asked),
            },
        };
        let Some(uid) = uid else {
            return Verdict::Absent;
        };
        let options = serde_json::from_slice::<Value>(asked.body).unwrap_or_default();
        let mut with = json!({
            "apiVersion": "v1", "kind": "DeleteOptions", "preconditions": { "uid": uid },
        });
        if let Some(policy) = options.get("propagationPolicy") {
            with["propagationPolicy"] = policy.clone();
        }
        Verdict::Delete(going, with)
    }

    /// Decides about a revision that Helm stores.
    fn store(&self, at: Option<u32>, asked: &HelmRequest<'_>) -> Verdict {
        let refused = || refuse(asked);
        let read = || serde_json::from_slice::<Value>(asked.body).ok();
        let Some(mut secret) = protobuf::secret(asked.body).or_else(read) else {
            return refused();
        };
        let metadata = &secret["metadata"];
        let space = metadata.get("namespace").and_then(Value::as_str);
        let place = ObjectPath {
            group: String::new(),
            plural: "secrets".to_owned(),
            namespace: Some(space.unwrap_or(self.namespace.as_str()).to_owned()),
            name: metadata["name"].as_str().unwrap_or_default().to_owned(),
        };
        let Some(revision) = self.revision_at(&place) else {
            return refused();
        };
        let known = self.revisions.get(&revision);
        let is_known = at.is_none() || (at == Some(revision) && known.is_some());
        let number = revision.to_string();
        let is_revision = secret["type"] == stored::SECRET_TYPE
            && secret["data"]
                .as_object()
                .is_some_and(|data| data.len() == 1)
            && metadata["labels"][stored::NAME] == self.release.as_str()
            && metadata["labels"][stored::VERSION].as_str() == Some(number.as_str());
        if !is_known || !is_revision {
            return refused();
        }
        let noted = match (at, known) {
            (Some(_), Some(known)) => known.with_content(&secret),
            _ => RevisionEntry::new(revision, &secret),
        };
        // The UID as a precondition prevents overwriting a revision that another program has created meanwhile.
        if let (Some(uid), Some(metadata)) = (&noted.uid, secret["metadata"].as_object_mut()) {
            metadata.insert("uid".to_owned(), json!(uid));
        }
        Verdict::Store(noted, secret)
    }

    /// Returns an object without Helm's own labels and annotations and without empty fields.
    fn bare(&self, object: &Value) -> Value {
        let mut object = object.clone();
        if let Some(metadata) = object["metadata"].as_object_mut() {
            // The path of the request decides about the namespace, and a body may omit it.
            metadata.remove("namespace");
            let marks = [
                ("labels", MANAGED_BY.0, MANAGED_BY.1),
                ("annotations", RELEASE_NAME, self.release.as_str()),
                ("annotations", RELEASE_NAMESPACE, self.namespace.as_str()),
            ];
            for (field, mark, value) in marks {
                let all = metadata.get_mut(field).and_then(Value::as_object_mut);
                if let Some(all) =
                    all.filter(|all| all.get(mark).is_some_and(|known| known == value))
                {
                    all.remove(mark);
                }
            }
        }
        without_nothing(&mut object);
        object
    }

    /// Checks whether a Secret is a recorded revision.
    pub(crate) fn shows_revision(&self, secret: &Value) -> bool {
        let name = secret["metadata"]["name"].as_str().unwrap_or_default();
        let mut known = self.revisions.values();
        known.any(|known| {
            stored::secret_name(&self.release, known.revision) == name && known.is(secret)
        })
    }

    /// Checks whether Helm may see an object of a list of this kind.
    pub(crate) fn shows(&self, group: &str, plural: &str, object: &Value) -> bool {
        let metadata = &object["metadata"];
        let text = |field: &str| metadata.get(field).and_then(Value::as_str);
        let namespace = text("namespace");
        let place = ObjectPath {
            group: group.to_owned(),
            plural: plural.to_owned(),
            namespace: namespace.map(str::to_owned),
            name: text("name").unwrap_or_default().to_owned(),
        };
        if self.objects.contains_key(&place) {
            return true;
        }
        let selected = |(at, planned): (&ObjectPath, &AllowedObject)| {
            let mut bodies = planned.bodies.iter();
            at.namespace.as_deref() == namespace
                && bodies
                    .any(|body| is_selected(&body["spec"]["selector"]["matchLabels"], metadata))
        };
        belongs(group, plural) && self.objects.iter().any(selected)
    }
}

fn refuse(asked: &HelmRequest<'_>) -> Verdict {
    let path = asked.target.split('?').next().unwrap_or_default();
    Verdict::Refuse(format!("{} {path} is not in the plan", asked.method))
}

/// Checks whether objects of this kind are created for workloads.
fn belongs(group: &str, plural: &str) -> bool {
    matches!((group, plural), ("", "pods") | ("apps", "replicasets"))
}

fn is_selected(labels: &Value, metadata: &Value) -> bool {
    let labels = labels.as_object().filter(|labels| !labels.is_empty());
    labels.is_some_and(|labels| {
        let mut labels = labels.iter();
        labels.all(|(name, value)| metadata["labels"][name] == *value)
    })
}

fn version_of(group: &str, version: &str) -> String {
    if group.is_empty() {
        version.to_owned()
    } else {
        format!("{group}/{version}")
    }
}

/// Checks whether a JSON patch changes only the ownership of fields.
fn is_of_managers(changes: &Value) -> bool {
    let paths = ["/metadata/managedFields", "/metadata/resourceVersion"];
    let is_one = |change: &Value| {
        let path = change["path"].as_str().unwrap_or_default();
        change["op"] == "replace" && paths.contains(&path) && change.get("from").is_none()
    };
    changes
        .as_array()
        .is_some_and(|changes| changes.iter().all(is_one))
}

/// Removes null values from the maps of a document, and empty labels and annotations, since charts omit and write these
/// in multiple equivalent forms.
fn without_nothing(value: &mut Value) {
    fn walk(value: &mut Value) {
        match value {
            Value::Object(map) => {
                map.retain(|_, value| !value.is_null());
                map.values_mut().for_each(walk);
            }
            Value::Array(all) => all.iter_mut().for_each(walk),
            _ => {}
        }
    }
    walk(value);
    if let Some(metadata) = value.get_mut("metadata").and_then(Value::as_object_mut) {
        for field in ["labels", "annotations"] {
            let said = metadata.get(field).and_then(Value::as_object);
            if said.is_some_and(Map::is_empty) {
                metadata.remove(field);
            }
        }
    }
}

/// Checks whether two documents are equal, where `1` equals `1.0`.
fn is_same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => {
            one == other || (one.is_f64() || other.is_f64()) && one.as_f64() == other.as_f64()
        }
        (Value::Array(one), Value::Array(other)) => {
            let mut pairs = one.iter().zip(other);
            one.len() == other.len() && pairs.all(|(one, other)| is_same(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            let mut pairs = one.iter().map(|(name, value)| (value, other.get(name)));
            one.len() == other.len()
                && pairs.all(|(one, other)| other.is_some_and(|other| is_same(one, other)))
        }
        _ => one == other,
    }
}
