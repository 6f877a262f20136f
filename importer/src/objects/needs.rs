//! The rights that each step needs: [`Needs`]. This is the only list of them: [`deny`] checks these rights before
//! anything is written and adds a blocker for each missing one, and roles are printed from them.

use std::collections::BTreeSet;

use kubernetes::{Access, Cluster, Object, ObjectRef, ServedKind};
use manifests::Definition;
use planner::{Entry, Stage, vocabulary as v};
use registry::RegistryAddress;
use schemas::{API_VERSION, KubernetesName, Prerequisites};
use serde_json::Value;

use crate::hub;
use crate::model::blocker::Blocker;
use crate::model::error::Error;
use crate::records::inventory::{
    self, NEEDED, cluster_kinds, namespaced_kinds, service_monitor, workloads,
};

/// The verbs for writing an object.
const PUT: [&str; 3] = ["get", "create", "patch"];
/// The verbs for holding the Lease.
const LEASE: [&str; 3] = ["get", "create", "update"];
/// The verbs for removing an object.
const REMOVE: [&str; 2] = ["get", "delete"];
/// The verbs for finding and removing the objects of a deployment.
const FIND: [&str; 3] = ["get", "list", "delete"];
/// The verbs for keeping the revisions of a release.
const RELEASE: [&str; 5] = ["get", "list", "create", "update", "delete"];
/// The verbs with which Helm waits for objects.
const WATCH: [&str; 2] = ["list", "watch"];
/// The verbs for finding pods by their labels and removing them.
const CLEAR: [&str; 2] = ["list", "delete"];
/// Verbs that Kubernetes cannot restrict to single objects: the request has no name, or the name does not exist yet.
const NAMELESS: [&str; 2] = ["create", "list"];

const CORE: &str = "";
const APPS: &str = "apps";
const EXTENSIONS: &str = "apiextensions.k8s.io";

/// The resource in rules about a registry. It only exists in rules: a registry knows no users of the cluster.
const REGISTRIES: &str = "registries";

/// Returns the access that lets a user read a registry with a login that is not the user's own.
#[must_use]
pub fn registry_access(registry: &RegistryAddress) -> Access {
    Access::new("get", group(), REGISTRIES).name(&registry.to_string())
}

/// Returns the API group of this project.
fn group() -> &'static str {
    API_VERSION.split_once('/').unwrap_or_default().0
}

/// The needed rights in a cluster.
#[derive(Debug, Default)]
pub(crate) struct Needs {
    /// The namespace of the environment; `None` if it may be any.
    place: Option<String>,
    wanted: BTreeSet<Access>,
}

impl Needs {
    /// Returns an empty list for a namespace.
    pub(crate) fn at(namespace: &str) -> Self {
        Self {
            place: Some(namespace.to_owned()),
            ..Self::default()
        }
    }

    /// Adds the rights of another list.
    pub(crate) fn join(&mut self, other: Self) {
        self.wanted.extend(other.wanted);
    }

    /// Returns each right once, sorted.
    pub(crate) fn wanted(&self) -> impl Iterator<Item = &Access> {
        self.wanted.iter()
    }

    /// Adds the rights to read the records and the CRDs that they are compared with. Every verb needs them.
    pub(crate) fn state(&mut self) {
        self.of_records(&["list"], CORE, "configmaps");
        self.everywhere(&["list"], EXTENSIONS, "customresourcedefinitions", None);
    }

    /// Adds the rights to report fleets to a hub and to read decisions about them there.
    pub(crate) fn hub(&mut self) {
        let group = group();
        let status = format!("{}/status", hub::RESOURCE);
        let verbs = ["get", "list", "watch", "create", "patch"];
        self.everywhere(&verbs, group, hub::RESOURCE, None);
        self.everywhere(&["get", "patch"], group, &status, None);
    }

    /// Adds the right to read registries with the logins of the web console.
    pub(crate) fn registries(&mut self) {
        self.everywhere(&["get"], group(), REGISTRIES, None);
    }

    /// Adds the right to set up a cluster as a hub.
    pub(crate) fn hub_definition(&mut self) {
        self.definitions([hub::NAME].into_iter());
    }

    /// Adds the right to list nodes. Plans compare their platforms with those of the images.
    pub(crate) fn nodes(&mut self) {
        self.everywhere(&["list"], CORE, "nodes", None);
    }

    /// Adds the rights to check the storage and the free resources that a Solution needs.
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

    /// Adds the rights to check whether Solutions that this one needs are ready, in any namespace. A Solution that
    /// cannot be checked counts as not ready.
    pub(crate) fn others(&mut self, needed: &Prerequisites) {
        if !needed.solutions.is_empty() {
            for resource in ["deployments", "statefulsets", "daemonsets"] {
                self.everywhere(&["get"], APPS, resource, None);
            }
        }
    }

    /// Adds the rights to hold the Lease and to write records.
    pub(crate) fn records(&mut self) {
        self.of_records(&["get", "patch"], CORE, "namespaces");
        self.of_records(&LEASE, "coordination.k8s.io", "leases");
        self.of_records(&PUT, CORE, "configmaps");
    }

    /// Adds the rights to create events for the users of a namespace. No verb fails without them, so preflight does not
    /// check them.
    pub(crate) fn events(&mut self) {
        self.here(&["create", "patch"], "events.k8s.io", "events", None);
    }

    /// Adds the right to identify the cluster in records, receipts and plans. Only verbs that write a plan fail without
    /// it, so preflight does not check it.
    pub(crate) fn identity(&mut self) {
        self.everywhere(&["get"], CORE, "namespaces", Some("kube-system"));
    }

    /// Adds the rights to delete records.
    pub(crate) fn forgetting(&mut self) {
        self.of_records(&REMOVE, CORE, "configmaps");
    }

    /// Adds the right to create a namespace.
    pub(crate) fn new_namespace(&mut self) {
        self.everywhere(&["create"], CORE, "namespaces", None);
    }

    /// Adds the rights to label the namespace of an environment and to write the environment's `ConfigMap` there.
    pub(crate) fn space(&mut self) {
        self.here(&["get", "patch"], CORE, "namespaces", None);
        self.here(&PUT, CORE, "configmaps", None);
    }

    /// Adds the rights to delete the namespace of an environment, and to find objects that would be deleted with it.
    pub(crate) fn no_space(&mut self) {
        self.here(&REMOVE, CORE, "namespaces", None);
        for kind in workloads() {
            let (group, resource) = resource(&kind.kind);
            self.here(&["list"], group, resource, None);
        }
    }

    /// Adds the rights to remove the labels from a namespace that is kept, and to delete the environment's `ConfigMap`
    /// in it.
    pub(crate) fn released(&mut self) {
        self.here(&["get", "patch"], CORE, "namespaces", None);
        self.here(&REMOVE, CORE, "configmaps", None);
    }

    /// Adds the rights to the objects that every operator has, and to find those of an earlier version.
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

    /// Adds the rights to hold the Lease of a namespace without rights outside of it, and to find an operator's objects
    /// there.
    pub(crate) fn alone(&mut self) {
        self.here(&LEASE, "coordination.k8s.io", "leases", None);
        self.here(&["get"], CORE, "namespaces", None);
        self.found_here();
    }

    /// Adds the rights to find an operator's objects in its namespace and to remove them.
    fn found_here(&mut self) {
        let kinds = namespaced_kinds().into_iter();
        for kind in kinds.filter(|kind| *kind != service_monitor()) {
            let (group, resource) = resource(&kind.kind);
            self.here(&FIND, group, resource, None);
        }
    }

    /// Adds the rights to find an operator's objects and to remove them.
    pub(crate) fn found(&mut self) {
        self.found_here();
        self.found_everywhere();
    }

    /// Adds the rights to find an operator's cluster-scoped objects.
    pub(crate) fn found_everywhere(&mut self) {
        for kind in cluster_kinds() {
            let (group, resource) = resource(&kind.kind);
            self.everywhere(&["list"], group, resource, None);
        }
    }

    /// Adds the rights to find and remove the `ServiceMonitor` of an operator. Not every cluster serves this kind.
    pub(crate) fn monitors(&mut self) {
        let (group, resource) = resource(&service_monitor().kind);
        self.here(&FIND, group, resource, None);
    }

    /// Adds the rights to write the objects of an operator.
    pub(crate) fn written<'o>(&mut self, objects: impl IntoIterator<Item = &'o Object>) {
        for object in objects {
            let (group, resource) = resource(&object.gvk().kind);
            match object.namespace() {
                // The pull secret is the only Secret that is written. The rights exclude the other Secrets of the
                // namespace.
                Some(_) if resource == "secrets" => {
                    self.here(&PUT, group, resource, Some(object.name()));
                }
                Some(_) => self.here(&PUT, group, resource, None),
                None => self.named(&PUT, object),
            }
        }
    }

    /// Adds the rights to remove those of the objects that are cluster-scoped. The rights for namespaced objects are in
    /// `found_here`.
    pub(crate) fn taken_back<'o>(&mut self, objects: impl IntoIterator<Item = &'o Object>) {
        for object in objects
            .into_iter()
            .filter(|object| object.namespace().is_none())
        {
            self.named(&REMOVE, object);
        }
    }

    /// Adds rights to a cluster-scoped object. Its name is only known if the environment is: the name contains the
    /// environment's name.
    fn named(&mut self, verbs: &[&str], object: &Object) {
        let (group, resource) = resource(&object.gvk().kind);
        let name = self.place.is_some().then(|| object.name());
        self.everywhere(verbs, group, resource, name);
    }

    /// Adds the rights to write and remove the objects of a deployment that are applied unchanged.
    pub(crate) fn carried<'a>(&mut self, objects: impl Iterator<Item = &'a Entry>) {
        for object in objects {
            self.recorded(&PUT, object);
            self.recorded(&REMOVE, object);
            self.left_behind(&object.reference());
        }
    }

    /// Adds the rights that Helm needs for a release in this namespace, with objects of these kinds. Helm keeps
    /// revisions in Secrets, and watches the objects that it waits for.
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

    /// Adds the rights to recreate pods of a `StatefulSet` that a failed version leaves behind.
    fn left_behind(&mut self, object: &ObjectRef) {
        if object.gvk.group == APPS && object.gvk.kind == "StatefulSet" {
            self.want(&CLEAR, CORE, "pods", object.namespace.as_deref(), None);
        }
    }

    /// Adds the right to list endpoints. They show whether pods serve a webhook, or an object that is waited for.
    pub(crate) fn served(&mut self) {
        self.everywhere(&["list"], "discovery.k8s.io", "endpointslices", None);
    }

    /// Adds the rights to remove the objects of a deployment, its records, and the webhooks and API services that call
    /// it.
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

    /// Adds the rights to remove the labels from a namespace that is kept.
    pub(crate) fn unmarked(&mut self, space: &Entry) {
        self.recorded(&["get", "patch"], space);
    }

    /// Adds the rights to find and remove webhooks and API services that call removed Services.
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

    /// Adds the rights to check whether a namespace contains objects that are still needed. Without them, the namespace
    /// is kept.
    pub(crate) fn emptied(&mut self) {
        for kind in NEEDED {
            let (group, resource) = resource(kind);
            self.here(&["list"], group, resource, None);
        }
    }

    /// Adds the rights to store the objects that are applied before a removal, and to delete them again.
    pub(crate) fn cleanup(&mut self, secret: Option<&ObjectRef>) {
        let (records, name) = (
            Some(v::RECORDS_NAMESPACE),
            secret.map(|secret| secret.name.as_str()),
        );
        self.want(&PUT, CORE, "secrets", records, name);
        self.want(&REMOVE, CORE, "secrets", records, name);
    }

    /// Adds the rights to see the status of workloads that are applied unchanged.
    pub(crate) fn unchanged_workloads<'a>(&mut self, workloads: impl Iterator<Item = &'a Entry>) {
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

    /// Adds the rights to remove an object of an operator or a record.
    pub(crate) fn removed(&mut self, object: &ObjectRef) {
        self.one(&REMOVE, object);
    }

    /// Adds the rights to restore an object of an earlier version.
    pub(crate) fn put_back(&mut self, object: &ObjectRef) {
        self.one(&["patch"], object);
    }

    /// Adds rights to an existing object. Namespaced objects other than Secrets get them for the whole kind in the
    /// namespace.
    fn one(&mut self, verbs: &[&str], object: &ObjectRef) {
        let (group, resource) = resource(&object.gvk.kind);
        let namespace = object.namespace.as_deref();
        let alone = namespace.is_none() || resource == "secrets";
        let name = Some(object.name.as_str()).filter(|_| alone);
        self.want(verbs, group, resource, namespace, name);
    }

    /// Adds the rights to record that an operator has left a namespace; any namespace if there is none.
    pub(crate) fn left(&mut self, namespace: Option<&str>) {
        self.want(&["get"], CORE, "namespaces", namespace, None);
        self.want(&PUT, CORE, "configmaps", namespace, None);
        self.want(&["get", "patch"], CORE, "serviceaccounts", namespace, None);
    }

    /// Adds the rights to remove the pull secret from the namespace's default `ServiceAccount`.
    pub(crate) fn account(&mut self) {
        self.here(&["get", "patch"], CORE, "serviceaccounts", None);
    }

    /// Adds the right to find the Solutions that the namespace administrator has deployed in the namespace.
    pub(crate) fn own(&mut self) {
        self.here(&["list"], CORE, "configmaps", None);
    }

    /// Adds the rights to the pull secret of a Solution.
    pub(crate) fn login(&mut self, secret: Option<&KubernetesName>) {
        if let Some(secret) = secret {
            self.here(&PUT, CORE, "secrets", Some(secret.as_str()));
            self.here(&["delete"], CORE, "secrets", Some(secret.as_str()));
        }
    }

    /// Adds the rights to write the CRDs with these names.
    pub(crate) fn definitions<'a>(&mut self, names: impl Iterator<Item = &'a str>) {
        for name in names {
            self.everywhere(&PUT, EXTENSIONS, "customresourcedefinitions", Some(name));
        }
    }

    /// Adds the rights to remove CRDs, or to give up their ownership.
    pub(crate) fn no_definitions<'a>(&mut self, names: impl Iterator<Item = &'a str>) {
        for name in names {
            let verbs = ["get", "patch", "delete"];
            self.everywhere(&verbs, EXTENSIONS, "customresourcedefinitions", Some(name));
        }
    }

    /// Adds the rights to list custom resources of these CRDs in all namespaces.
    pub(crate) fn resources<'a>(&mut self, definitions: impl Iterator<Item = &'a Value>) {
        for (group, resource) in definitions.filter_map(defined) {
            self.everywhere(&["list"], group, resource, None);
        }
    }

    /// Adds the rights to migrate the custom resources of these CRDs, and to update the stored versions in their
    /// status.
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

    /// Adds the rights to find running workloads in all namespaces.
    pub(crate) fn running(&mut self) {
        for (group, resource) in inventory::running() {
            self.everywhere(&["list"], group, resource, None);
        }
    }

    /// Adds the rights to list custom resources of these CRDs in the namespace of the environment.
    pub(crate) fn resources_here<'a>(&mut self, definitions: impl Iterator<Item = &'a Value>) {
        for (group, resource) in definitions.filter_map(defined) {
            self.here(&["list"], group, resource, None);
        }
    }

    /// Adds the rights to find namespaces that falsely claim to belong to an environment. A claim is a `ConfigMap` in
    /// the namespace itself.
    pub(crate) fn claims(&mut self) {
        if self.place.is_none() {
            self.everywhere(&["list"], CORE, "namespaces", None);
        }
        self.here(&["get"], CORE, "configmaps", Some(v::ENVIRONMENT_CONFIG));
    }

    /// Adds the right to read one record.
    pub(crate) fn record(&mut self, map: &ObjectRef) {
        let (records, name) = (map.namespace.as_deref(), Some(map.name.as_str()));
        self.want(&["get"], CORE, "configmaps", records, name);
    }

    /// Adds the rights to see whether an operator runs, and the reasons if it does not. No verb fails without the
    /// reasons, so preflight does not check these rights.
    pub(crate) fn diagnosis(&mut self) {
        self.here(&["get"], CORE, "namespaces", None);
        self.here(&["get"], APPS, "deployments", None);
        self.here(&["list"], APPS, "replicasets", None);
        for resource in ["events", "pods", "resourcequotas"] {
            self.here(&["list"], CORE, resource, None);
        }
        self.here(&["get"], CORE, "pods/log", None);
    }

    /// Adds the rights to see the status of the workloads of Solutions.
    pub(crate) fn workloads(&mut self) {
        for (group, resource) in inventory::running() {
            self.here(&["get"], group, resource, None);
        }
    }

    /// Adds the right to see the inventories of Solutions in all environments.
    pub(crate) fn inventories(&mut self) {
        self.of_records(&["get"], CORE, "configmaps");
    }

    /// Adds the rights to collect a support bundle. The bundle leaves out objects that the user may not read.
    pub(crate) fn support(&mut self) {
        for resource in ["deployments", "statefulsets", "daemonsets", "replicasets"] {
            self.here(&["list"], APPS, resource, None);
        }
        self.here(&["list"], "batch", "jobs", None);
    }

    /// Adds the rights to wait until the pods of a stopped workload are deleted.
    pub(crate) fn stopped(&mut self) {
        self.here(&["list"], APPS, "replicasets", None);
        self.here(&["get", "list"], CORE, "pods", None);
    }

    /// Adds the rights to try an operator's pod and its pull secret before the deployment, and to recreate those of its
    /// pods that wait for an image. No verb fails without them.
    pub(crate) fn trial(&mut self) {
        self.here(&["get", "create", "patch", "delete"], CORE, "pods", None);
        self.here(&["get"], CORE, "secrets", None);
    }

    /// Adds the rights to let a pod pull an image before the deployment. Without them, this check is skipped.
    pub(crate) fn proof(&mut self) {
        self.here(&["get", "create", "delete"], CORE, "pods", None);
    }

    /// Adds the rights to check the objects that a site configuration names. Objects that the user may not read are not
    /// checked.
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

    /// Adds cluster-wide rights.
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

/// Returns the group and resource of each kind that is written, or listed before a namespace is deleted. A constant
/// table saves a discovery request for each group.
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

/// Returns the group and resource that a CRD defines.
fn defined(definition: &Value) -> Option<(&str, &str)> {
    let definition = Definition(definition);
    let (group, plural) = (definition.group(), definition.plural());
    (!group.is_empty() && !plural.is_empty()).then_some((group, plural))
}

/// Checks whether listing the custom resources of these CRDs is denied.
pub(crate) async fn check_resources<'a>(
    cluster: &Cluster,
    definitions: impl Iterator<Item = &'a Object>,
    blockers: &mut Vec<Blocker>,
) -> Result<bool, Error> {
    let mut needs = Needs::default();
    needs.resources(definitions.map(Object::as_value));
    let before = blockers.len();
    deny(cluster, &needs, blockers).await?;
    Ok(blockers.len() > before)
}

/// Checks whether listing running workloads is denied.
pub(crate) async fn check_looking(
    cluster: &Cluster,
    blockers: &mut Vec<Blocker>,
) -> Result<bool, Error> {
    let mut needs = Needs::default();
    needs.running();
    let before = blockers.len();
    deny(cluster, &needs, blockers).await?;
    Ok(blockers.len() > before)
}

/// Adds a blocker for each needed right that this user does not have.
pub(crate) async fn deny(
    cluster: &Cluster,
    needs: &Needs,
    blockers: &mut Vec<Blocker>,
) -> Result<(), Error> {
    let wanted: Vec<Access> = needs.wanted().cloned().collect();
    let denied = cluster.denied(&wanted).await?;
    blockers.extend(denied.iter().map(Blocker::denied));
    Ok(())
}
