//! The rights that each step needs: the one list. Preflight asks for it, and it is printed as roles.

use std::collections::BTreeSet;

use change::{Entry, Stage, vocabulary as v};
use deployer::{Access, Object, ObjectRef, ServedKind};
use manifests::Definition;
use schemas::{API_VERSION, KubernetesName, Prerequisites};
use serde_json::Value;

use crate::hub::definition;
use crate::model::labelled::{NEEDED, cluster_kinds, namespaced_kinds, service_monitor, workloads};
use crate::model::workloads;

/// The verbs that writing an object needs.
const PUT: [&str; 3] = ["get", "create", "patch"];
/// The verbs that holding the Lease needs.
const LEASE: [&str; 3] = ["get", "create", "update"];
/// The verbs that removing an object needs.
const REMOVE: [&str; 2] = ["get", "delete"];
/// The verbs that finding objects of ours and removing them needs.
const FIND: [&str; 3] = ["get", "list", "delete"];
/// The verbs that keeping the revisions of a release needs.
const RELEASE: [&str; 5] = ["get", "list", "create", "update", "delete"];
/// The verbs that Helm needs to wait for objects.
const WATCH: [&str; 2] = ["list", "watch"];
/// The verbs that finding pods by their labels and removing them needs.
const CLEAR: [&str; 2] = ["list", "delete"];
/// Verbs that Kubernetes does not grant for single objects: there is no name yet, or none in the request.
const NAMELESS: [&str; 2] = ["create", "list"];

const CORE: &str = "";
const APPS: &str = "apps";
const EXTENSIONS: &str = "apiextensions.k8s.io";

/// Everything that is wanted of a cluster.
#[derive(Debug, Default)]
pub(crate) struct Needs {
    /// The namespace of the environment; none where it may be any.
    place: Option<String>,
    wanted: BTreeSet<Access>,
}

impl Needs {
    /// Returns the needs of nothing yet, in a namespace.
    pub(crate) fn at(namespace: &str) -> Self {
        Self {
            place: Some(namespace.to_owned()),
            ..Self::default()
        }
    }

    /// Adds what is wanted elsewhere.
    pub(crate) fn join(&mut self, other: Self) {
        self.wanted.extend(other.wanted);
    }

    /// Returns each right once, sorted.
    pub(crate) fn wanted(&self) -> impl Iterator<Item = &Access> {
        self.wanted.iter()
    }

    /// The records, and the CRDs that they are compared with: every verb decides from them.
    pub(crate) fn state(&mut self) {
        self.of_records(&["list"], CORE, "configmaps");
        self.everywhere(&["list"], EXTENSIONS, "customresourcedefinitions", None);
    }

    /// Adds the rights to tell a hub of fleets, and to learn there what was decided of them.
    pub(crate) fn hub(&mut self) {
        let (group, _) = API_VERSION.split_once('/').unwrap_or_default();
        let status = format!("{}/status", definition::RESOURCE);
        let verbs = ["get", "list", "watch", "create", "patch"];
        self.everywhere(&verbs, group, definition::RESOURCE, None);
        self.everywhere(&["get", "patch"], group, &status, None);
    }

    /// Adds the right to make a cluster a hub.
    pub(crate) fn hub_definition(&mut self) {
        self.definitions([definition::NAME].into_iter());
    }

    /// Adds the right to list nodes, which a plan compares the images with.
    pub(crate) fn nodes(&mut self) {
        self.everywhere(&["list"], CORE, "nodes", None);
    }

    /// Adds the rights to look for storage and room that a Solution needs.
    pub(crate) fn prerequisites(&mut self, needed: &Prerequisites) {
        if needed.storage_class.is_some() {
            let storage = ("storage.k8s.io", "storageclasses");
            self.everywhere(&["get", "list"], storage.0, storage.1, None);
        }
        if !schemas::is_default(&needed.free) {
            self.everywhere(&["list"], CORE, "pods", None);
        }
        if needed.nodes.is_some() || !schemas::is_default(&needed.free) {
            self.nodes();
        }
    }

    /// Adds the rights to see whether Solutions that one needs are ready, wherever they are. What may not be seen is not
    /// taken for ready.
    pub(crate) fn others(&mut self, needed: &Prerequisites) {
        if !needed.solutions.is_empty() {
            for resource in ["deployments", "statefulsets", "daemonsets"] {
                self.everywhere(&["get"], APPS, resource, None);
            }
        }
    }

    /// Adds the rights to be the one who writes, and to keep records.
    pub(crate) fn records(&mut self) {
        self.of_records(&["get", "patch"], CORE, "namespaces");
        self.of_records(&LEASE, "coordination.k8s.io", "leases");
        self.of_records(&PUT, CORE, "configmaps");
    }

    /// Adds the rights to tell the users of a namespace what was done. No verb fails for want of it, so preflight does
    /// not ask.
    pub(crate) fn events(&mut self) {
        self.here(&["create", "patch"], "events.k8s.io", "events", None);
    }

    /// Adds the right to name the cluster in records, receipts and plans. No verb fails for want of it but one that
    /// writes a plan, so preflight does not ask.
    pub(crate) fn identity(&mut self) {
        self.everywhere(&["get"], CORE, "namespaces", Some("kube-system"));
    }

    /// Adds the rights to forget records.
    pub(crate) fn forgetting(&mut self) {
        self.of_records(&REMOVE, CORE, "configmaps");
    }

    /// Adds the right to make a namespace.
    pub(crate) fn new_namespace(&mut self) {
        self.everywhere(&["create"], CORE, "namespaces", None);
    }

    /// Adds the rights to mark the namespace of an environment, and to write upstream's note there.
    pub(crate) fn space(&mut self) {
        self.here(&["get", "patch"], CORE, "namespaces", None);
        self.here(&PUT, CORE, "configmaps", None);
    }

    /// Adds the rights to delete the namespace of an environment, and to look for objects that would go with it.
    pub(crate) fn no_space(&mut self) {
        self.here(&REMOVE, CORE, "namespaces", None);
        for kind in workloads() {
            let (group, resource) = resource(&kind.kind);
            self.here(&["list"], group, resource, None);
        }
    }

    /// Adds the rights to take the marks off a namespace that stays, and to remove upstream's note in it.
    pub(crate) fn released(&mut self) {
        self.here(&["get", "patch"], CORE, "namespaces", None);
        self.here(&REMOVE, CORE, "configmaps", None);
    }

    /// Adds the rights to the objects that every operator has, and to look for those that a former version had.
    pub(crate) fn operator(&mut self) {
        self.operator_objects();
        self.found();
    }

    /// Adds the rights to the objects that every operator has.
    pub(crate) fn operator_objects(&mut self) {
        for kind in ["ServiceAccount", "ConfigMap", "Deployment"] {
            let (group, resource) = resource(kind);
            self.here(&PUT, group, resource, None);
        }
    }

    /// Adds the rights to be the one who writes in a namespace without any right outside of it, and to look for the
    /// objects that an operator has there.
    pub(crate) fn alone(&mut self) {
        self.here(&LEASE, "coordination.k8s.io", "leases", None);
        self.here(&["get"], CORE, "namespaces", None);
        self.found_here();
    }

    /// Adds the rights to look for the objects that an operator has, and to remove them from its namespace.
    fn found_here(&mut self) {
        let kinds = namespaced_kinds().into_iter();
        for kind in kinds.filter(|kind| *kind != service_monitor()) {
            let (group, resource) = resource(&kind.kind);
            self.here(&FIND, group, resource, None);
        }
    }

    /// Adds the rights to look for the objects that an operator has, and to remove them.
    pub(crate) fn found(&mut self) {
        self.found_here();
        self.found_everywhere();
    }

    /// Adds the rights to look for the objects that an operator has in the whole cluster.
    pub(crate) fn found_everywhere(&mut self) {
        for kind in cluster_kinds() {
            let (group, resource) = resource(&kind.kind);
            self.everywhere(&["list"], group, resource, None);
        }
    }

    /// Adds the rights to look for the object that tells Prometheus to collect an operator's metrics, and to remove it.
    /// Not every cluster has it.
    pub(crate) fn monitors(&mut self) {
        let (group, resource) = resource(&service_monitor().kind);
        self.here(&FIND, group, resource, None);
    }

    /// Adds the rights to write the objects of an operator.
    pub(crate) fn written<'o>(&mut self, objects: impl IntoIterator<Item = &'o Object>) {
        for object in objects {
            let (group, resource) = resource(&object.gvk().kind);
            match object.namespace() {
                // A login is the only Secret that is written, and the others there are nobody's business.
                Some(_) if resource == "secrets" => {
                    self.here(&PUT, group, resource, Some(object.name()));
                }
                Some(_) => self.here(&PUT, group, resource, None),
                None => self.named(&PUT, object),
            }
        }
    }

    /// Adds the rights to take back those of the objects that are the whole cluster's; those in the namespace are found
    /// there.
    pub(crate) fn taken_back<'o>(&mut self, objects: impl IntoIterator<Item = &'o Object>) {
        for object in objects.into_iter().filter(|it| it.namespace().is_none()) {
            self.named(&REMOVE, object);
        }
    }

    /// An object of the whole cluster. Its name holds that of the environment.
    fn named(&mut self, verbs: &[&str], object: &Object) {
        let (group, resource) = resource(&object.gvk().kind);
        let name = self.place.is_some().then(|| object.name());
        self.everywhere(verbs, group, resource, name);
    }

    /// Adds the rights to write the objects that a deployment carries as they are, and to remove them.
    pub(crate) fn carried<'a>(&mut self, objects: impl Iterator<Item = &'a Entry>) {
        for object in objects {
            self.recorded(&PUT, object);
            self.recorded(&REMOVE, object);
            self.left_behind(&object.reference());
        }
    }

    /// Adds the rights that Helm needs for a release in this namespace, with objects of these kinds as the server names
    /// them: it keeps revisions in Secrets, and watches the objects that it waits for.
    pub(crate) fn release<'a>(
        &mut self,
        namespace: &str,
        objects: impl Iterator<Item = (&'a ObjectRef, &'a ServedKind)>,
    ) {
        self.want(&RELEASE, CORE, "secrets", Some(namespace), None);
        for (object, kind) in objects {
            let (group, place) = (&object.gvk.group, object.namespace.as_deref());
            self.want(&WATCH, group, &kind.plural, place, None);
            for verbs in [&PUT[..], &REMOVE] {
                self.want(verbs, group, &kind.plural, place, Some(&object.name));
            }
            self.left_behind(object);
        }
    }

    /// Adds the rights to see a release and its objects.
    pub(crate) fn release_seen<'a>(
        &mut self,
        namespace: &str,
        objects: impl Iterator<Item = (&'a ObjectRef, &'a ServedKind)>,
    ) {
        self.want(&["get", "list"], CORE, "secrets", Some(namespace), None);
        for (object, kind) in objects {
            let (group, place) = (&object.gvk.group, object.namespace.as_deref());
            self.want(&["get"], group, &kind.plural, place, Some(&object.name));
        }
    }

    /// Adds the rights to make anew the pods of a `StatefulSet` that a failed version leaves behind.
    fn left_behind(&mut self, object: &ObjectRef) {
        if object.gvk.group == APPS && object.gvk.kind == "StatefulSet" {
            self.want(&CLEAR, CORE, "pods", object.namespace.as_deref(), None);
        }
    }

    /// Adds the right to look for the pods behind a webhook's Service, and for those of objects that are waited for.
    pub(crate) fn served(&mut self) {
        self.everywhere(&["list"], "discovery.k8s.io", "endpointslices", None);
    }

    /// Adds the rights to remove the objects of a deployment; and the callers of those of its parts, with their
    /// records.
    pub(crate) fn withdrawn<'a>(&mut self, objects: impl Iterator<Item = &'a Entry>) {
        let mut has_parts = false;
        for object in objects {
            self.recorded(&REMOVE, object);
            if object.stage == Stage::Space {
                self.unmarked(object);
            }
            has_parts |= object.part.is_some();
        }
        if has_parts {
            self.callers();
            self.of_records(&REMOVE, CORE, "configmaps");
        }
    }

    /// Adds the rights to take the marks off a namespace that stays.
    pub(crate) fn unmarked(&mut self, space: &Entry) {
        self.recorded(&["get", "patch"], space);
    }

    /// Adds the rights to look for objects that call Services that go, and to remove them.
    pub(crate) fn callers(&mut self) {
        let admission = "admissionregistration.k8s.io";
        for (group, resource) in [
            (admission, "validatingwebhookconfigurations"),
            (admission, "mutatingwebhookconfigurations"),
            ("apiregistration.k8s.io", "apiservices"),
        ] {
            self.everywhere(&FIND, group, resource, None);
        }
    }

    /// Adds the rights to look whether a namespace has objects that somebody may need. Where this user may not, it
    /// stays.
    pub(crate) fn emptied(&mut self) {
        for kind in NEEDED {
            let (group, resource) = resource(kind);
            self.here(&["list"], group, resource, None);
        }
    }

    /// Adds the rights to keep the objects that are applied before a removal, and to forget them.
    pub(crate) fn cleanup(&mut self, secret: Option<&ObjectRef>) {
        let (records, name) = (
            Some(v::RECORDS_NAMESPACE),
            secret.map(|it| it.name.as_str()),
        );
        self.want(&PUT, CORE, "secrets", records, name);
        self.want(&REMOVE, CORE, "secrets", records, name);
    }

    /// Adds the rights to see the state of the workloads that a deployment carries as they are.
    pub(crate) fn standing<'a>(&mut self, workloads: impl Iterator<Item = &'a Entry>) {
        for workload in workloads {
            self.recorded(&["get"], workload);
        }
    }

    fn recorded(&mut self, verbs: &[&str], recorded: &Entry) {
        let object = recorded.reference();
        let (group, resource) = (&object.gvk.group, &recorded.resource);
        let namespace = object.namespace.as_deref();
        self.want(verbs, group, resource, namespace, Some(&object.name));
    }

    /// Adds the rights to remove an object of an operator or of the records.
    pub(crate) fn removed(&mut self, object: &ObjectRef) {
        self.one(&REMOVE, object);
    }

    /// Adds the rights to put back an object that a former version had.
    pub(crate) fn put_back(&mut self, object: &ObjectRef) {
        self.one(&["patch"], object);
    }

    /// An object that is there.
    fn one(&mut self, verbs: &[&str], object: &ObjectRef) {
        let (group, resource) = resource(&object.gvk.kind);
        let namespace = object.namespace.as_deref();
        let alone = namespace.is_none() || resource == "secrets";
        let name = Some(object.name.as_str()).filter(|_| alone);
        self.want(verbs, group, resource, namespace, name);
    }

    /// Adds the rights to note that an operator has left a namespace; any where none is named.
    pub(crate) fn left(&mut self, namespace: Option<&str>) {
        self.want(&["get"], CORE, "namespaces", namespace, None);
        self.want(&PUT, CORE, "configmaps", namespace, None);
        self.want(&["get", "patch"], CORE, "serviceaccounts", namespace, None);
    }

    /// Adds the rights to take back the pull secret of the namespace's own account.
    pub(crate) fn account(&mut self) {
        self.here(&["get", "patch"], CORE, "serviceaccounts", None);
    }

    /// Adds the right to look for the Solutions that the administrator of the namespace has deployed there.
    pub(crate) fn own(&mut self) {
        self.here(&["list"], CORE, "configmaps", None);
    }

    /// The login that is made for a Solution.
    pub(crate) fn login(&mut self, secret: Option<&KubernetesName>) {
        if let Some(secret) = secret {
            self.here(&PUT, CORE, "secrets", Some(secret.as_str()));
            self.here(&["delete"], CORE, "secrets", Some(secret.as_str()));
        }
    }

    /// Adds the rights to write the CRDs of these names.
    pub(crate) fn definitions<'a>(&mut self, names: impl Iterator<Item = &'a str>) {
        for name in names {
            self.everywhere(&PUT, EXTENSIONS, "customresourcedefinitions", Some(name));
        }
    }

    /// Adds the rights to remove CRDs, or to give them back.
    pub(crate) fn no_definitions<'a>(&mut self, names: impl Iterator<Item = &'a str>) {
        for name in names {
            let verbs = ["get", "patch", "delete"];
            self.everywhere(&verbs, EXTENSIONS, "customresourcedefinitions", Some(name));
        }
    }

    /// Adds the rights to look for custom resources of these CRDs, in the whole cluster.
    pub(crate) fn resources<'a>(&mut self, definitions: impl Iterator<Item = &'a Value>) {
        for (group, resource) in definitions.filter_map(defined) {
            self.everywhere(&["list"], group, resource, None);
        }
    }

    /// Adds the rights to store the custom resources of these CRDs anew, and to note that they are.
    pub(crate) fn migration<'a>(&mut self, definitions: impl Iterator<Item = &'a Value>) {
        for definition in definitions {
            if let Some((group, resource)) = defined(definition) {
                self.everywhere(&["list", "patch"], group, resource, None);
            }
            let name = definition["metadata"]["name"].as_str();
            self.everywhere(
                &["patch"],
                EXTENSIONS,
                "customresourcedefinitions/status",
                name,
            );
        }
    }

    /// Adds the rights to look for workloads that run, in the whole cluster.
    pub(crate) fn running(&mut self) {
        for (group, resource) in workloads::running() {
            self.everywhere(&["list"], group, resource, None);
        }
    }

    /// Adds the rights to look for custom resources of these CRDs in the namespace of the environment.
    pub(crate) fn resources_here<'a>(&mut self, definitions: impl Iterator<Item = &'a Value>) {
        for (group, resource) in definitions.filter_map(defined) {
            self.here(&["list"], group, resource, None);
        }
    }

    /// Adds the rights to find false claims about environments. Those about one namespace stand in that namespace.
    pub(crate) fn claims(&mut self) {
        if self.place.is_none() {
            self.everywhere(&["list"], CORE, "namespaces", None);
        }
        self.here(&["get"], CORE, "configmaps", Some(v::ENVIRONMENT_CONFIG));
    }

    /// Adds the right to read one of the records.
    pub(crate) fn record(&mut self, map: &ObjectRef) {
        let (records, name) = (map.namespace.as_deref(), Some(map.name.as_str()));
        self.want(&["get"], CORE, "configmaps", records, name);
    }

    /// Whether an operator runs, and why not. No verb fails for want of the latter, so preflight does not ask.
    pub(crate) fn diagnosis(&mut self) {
        self.here(&["get"], CORE, "namespaces", None);
        self.here(&["get"], APPS, "deployments", None);
        self.here(&["list"], APPS, "replicasets", None);
        for resource in ["events", "pods", "resourcequotas"] {
            self.here(&["list"], CORE, resource, None);
        }
        self.here(&["get"], CORE, "pods/log", None);
    }

    /// Adds the rights to see whether the workloads run that Solutions carry.
    pub(crate) fn workloads(&mut self) {
        for (group, resource) in workloads::running() {
            self.here(&["get"], group, resource, None);
        }
    }

    /// Adds the right to see what Solutions carry, in all environments.
    pub(crate) fn inventories(&mut self) {
        self.of_records(&["get"], CORE, "configmaps");
    }

    /// Adds the rights to read what a support bundle has. What may not be read is missing in it.
    pub(crate) fn support(&mut self) {
        for resource in ["deployments", "statefulsets", "daemonsets", "replicasets"] {
            self.here(&["list"], APPS, resource, None);
        }
        self.here(&["list"], "batch", "jobs", None);
    }

    /// Adds the rights to wait until the pods of a stopped workload are gone.
    pub(crate) fn stopped(&mut self) {
        self.here(&["list"], APPS, "replicasets", None);
        self.here(&["get", "list"], CORE, "pods", None);
    }

    /// Adds the rights to try an operator's pod and its pull secret beforehand, and to start anew those of its pods
    /// that wait for an image. No verb fails for want of it.
    pub(crate) fn trial(&mut self) {
        self.here(&["get", "create", "patch", "delete"], CORE, "pods", None);
        self.here(&["get"], CORE, "secrets", None);
    }

    /// Adds the rights to have a pod pull an image beforehand. Whoever may not leaves it out.
    pub(crate) fn proof(&mut self) {
        self.here(&["get", "create", "delete"], CORE, "pods", None);
    }

    /// Adds the rights to look for the objects that a site's file names. What may not be looked at is not judged.
    pub(crate) fn named_by_site(&mut self) {
        self.everywhere(&["get"], "scheduling.k8s.io", "priorityclasses", None);
        self.here(&["get"], CORE, "secrets", None);
    }

    /// Adds rights in the namespace of the environment.
    fn here(&mut self, verbs: &[&str], group: &str, resource: &str, name: Option<&str>) {
        let place = self.place.clone();
        self.want(verbs, group, resource, place.as_deref(), name);
    }

    fn of_records(&mut self, verbs: &[&str], group: &str, resource: &str) {
        self.want(verbs, group, resource, Some(v::RECORDS_NAMESPACE), None);
    }

    /// Adds rights in the whole cluster.
    fn everywhere(&mut self, verbs: &[&str], group: &str, resource: &str, name: Option<&str>) {
        self.want(verbs, group, resource, None, name);
    }

    fn want(
        &mut self,
        verbs: &[&str],
        group: &str,
        resource: &str,
        namespace: Option<&str>,
        name: Option<&str>,
    ) {
        let wanted = verbs.iter().map(|verb| {
            let (resource, subresource) = match resource.split_once('/') {
                Some((resource, subresource)) => (resource, Some(subresource.to_owned())),
                None => (resource, None),
            };
            let name = name.filter(|_| !NAMELESS.contains(verb));
            Access {
                namespace: namespace.map(str::to_owned),
                name: name.map(str::to_owned),
                subresource,
                ..Access::new(verb, group, resource)
            }
        });
        self.wanted.extend(wanted);
    }
}

/// The group and resource of each kind that is written, or looked for before a namespace goes. Discovery would know
/// too, but not without a request for each.
fn resource(kind: &str) -> (&'static str, &'static str) {
    const RBAC: &str = "rbac.authorization.k8s.io";
    match kind {
        "ServiceAccount" => (CORE, "serviceaccounts"),
        "Role" => (RBAC, "roles"),
        "RoleBinding" => (RBAC, "rolebindings"),
        "ClusterRole" => (RBAC, "clusterroles"),
        "ClusterRoleBinding" => (RBAC, "clusterrolebindings"),
        "ConfigMap" => (CORE, "configmaps"),
        "Secret" => (CORE, "secrets"),
        "Deployment" => (APPS, "deployments"),
        "Service" => (CORE, "services"),
        "ServiceMonitor" => ("monitoring.coreos.com", "servicemonitors"),
        "StatefulSet" => (APPS, "statefulsets"),
        "DaemonSet" => (APPS, "daemonsets"),
        "CronJob" => ("batch", "cronjobs"),
        "Job" => ("batch", "jobs"),
        "Pod" => (CORE, "pods"),
        "PersistentVolumeClaim" => (CORE, "persistentvolumeclaims"),
        "CustomResourceDefinition" => (EXTENSIONS, "customresourcedefinitions"),
        other => unreachable!("nobody asks for a {other}"),
    }
}

/// The group and resource that a CRD defines.
fn defined(definition: &Value) -> Option<(&str, &str)> {
    let definition = Definition(definition);
    let (group, plural) = (definition.group(), definition.plural());
    (!group.is_empty() && !plural.is_empty()).then_some((group, plural))
}
