//! What to do about each thing that is in the way of a change to a cluster.

use deployer::ObjectRef;
use importer::{Above, KindIn, NotOurs, Obstacle as O, Recreate, SiteProblem, Unfit, Unmet};
use schemas::{
    EnvironmentName, KubernetesName, Namespace, ParameterName, ReleaseName, SolutionName,
};

use super::at_registry;
use crate::hints;

const AGAIN: &str = "run the same command again";
const NO_CRD: &str =
    "install the CRD first, with the Solution that includes it, or ask the cluster administrator";
const LABELS: &str = "if the workloads there tolerate it, set that value on the namespace with `kubectl label --overwrite`";
pub(super) const SKIP_REMOVE_SETS: &str =
    "fix the cause and run the same command again, or skip the cleanup with `--skip-remove-sets`";
const OTHER_NAMESPACE: &str = "choose another namespace with `--namespace`";
const ADOPT_NAMESPACE: &str =
    "choose another namespace with `--namespace`, or adopt this one with `--adopt namespace`";
const HAVE_IT_GRANTED: &str = "ask the cluster administrator for the right: `solution site rbac` prints the roles, and `solution import --dry-run --missing-rights FILE` writes the missing ones; or use another context with `--context`";
const NO_PODS: &str = "ask the cluster administrator for the right (`solution site rbac` prints the roles), or skip the test pull with `--no-pull-proof`";
const HOLD_IT: &str = "ask the cluster administrator for the right (`solution site rbac ARCHIVE` prints the roles), or import as a user who may `escalate` and `bind` roles";
const SHORTER: &str = "remove unneeded versions with `solution unimport`, or ask the publisher to shorten the manifest";
const UNSIGNED: &str = "ask the publisher for a signed archive; to accept this one and forget the previous signers, use `--forget-signers`";
const OTHER_SIGNERS: &str = "ask the publisher, through another channel, whether the keys changed; if so, accept the new keys with `--change-signers`";
const NO_LOGIN: &str = "create the file with `solution registry login HOST --authfile FILE`, with the host name that nodes use";
const DROPPED: &str = "import a version that still serves it, or migrate the stored objects and drop it with `solution crds activate NAME VERSION --migrate`: objects and operators that use it would break";
const MIGRATE: &str = "run `solution crds activate NAME VERSION --migrate` to migrate the stored objects first; you cannot return to Solution versions that need the dropped API version";
const FIXED: &str = "ask the publisher; to remove the CRD, delete all objects of its kind, then run `solution crds deactivate`";
const LOSES: &str = "change these objects to match the CRD, or delete them; an older version can also be deployed with newer CRDs that serve the API versions that it needs";
const NEEDED: &str = "upgrade it there to the version whose CRDs are active, or undeploy it, then run the same command again";
const NO_CRDS: &str =
    "deploy it to an environment with `solution deploy`: it does not need to be active";
const ONLY_NEWER: &str = "deploy the older version with the newer CRDs, if they serve the API versions that it needs; to remove the newer CRDs, run `solution crds deactivate` once nothing uses them";
const OLDER: &str =
    "deploy it anyway with `--allow-downgrade`; operators rarely understand data of newer versions";
const NOT_OURS: &str = "choose another namespace with `--namespace`, delete the object if it is not needed, or adopt it with `--adopt objects` if the archive includes it as a plain object";
const ELSEWHERE: &str = "deploy to that environment, or undeploy it there first: only one environment can have objects with these names";
const LEFT_BEHIND: &str =
    "find out whether it is still needed, then adopt it with its data with `--adopt objects`";
const LABELLED: &str = "find out who created it, then delete it, or adopt it with all its content with `--adopt objects`";
const HELM: &str = "if it belongs to another environment, choose chart values that do not create it or that give it another name; otherwise remove the release with `helm uninstall`, which may also delete its pods and data";
const FIELDS_OWNED: &str =
    "find out who set these fields and why, then take them over with `--force-conflicts`";
const CLUSTER_RULES: &str = "read the API server's message or ask the cluster administrator: an admission rule of the cluster rejects it";
const POD_RULES: &str = "set the operator's `resources` and `securityContext` in the site configuration as the namespace requires (see `solution site init`), or change the namespace's PodSecurity level or quota";
const PODS_RULES: &str = "make its pods comply with the namespace's PodSecurity level and quota (of a chart, with `--chart-values`), or change the level or the quota";
const DELETE_FIRST: &str =
    "delete them first, or delete them with their namespaces with `--delete-resources`";
const OWN_LOGIN: &str =
    "import or deploy that Solution again with its own `--pull-secret` or `--pull-login`";
const NOTHING_BEFORE: &str = "list imported versions with `solution status`, then run an older one with `solution deploy NAME VERSION --allow-downgrade`";
const REVISIONS: &str = "list deployed versions with `solution history NAME --environment NAME`, then run an imported version with `solution deploy NAME VERSION`";
const IMPORTED_ANEW: &str = "import the earlier archive again with `--replace`, or run the one that is imported now with `solution deploy NAME VERSION --allow-downgrade`";
const NO_HELM: &str = "install a package of `solution`, which contains Helm 4, or run `make helm` in the source tree; to use another one, name it with `--helm FILE` or HELM; if the archive includes helm (`solution inspect`), use it with `--use-included-helm`; or omit `--environment` and install each chart from the registry as `oci://`";
const NO_INCLUDED_HELM: &str = "omit `--use-included-helm` to use the Helm of this machine (`solution version` shows it); a publisher includes helm with `solution pack --include-helm`";
const UNSIGNED_HELM: &str = "ask the publisher for a signed archive, or omit `--use-included-helm` to use the Helm of this machine (`solution version` shows it)";
const RENDERING: &str = "check that the chart supports this version of Kubernetes; to reproduce the error, run `helm template` with the files in the archive's `charts/` (`solution archive cat`)";
const CHART_VALUES: &str = "set other values with `--chart-set RELEASE:PATH=VALUE` or in the site configuration; list the chart's values with `solution archive values ARCHIVE`, and see `values.schema.json` in its `chart.tgz` (`solution archive cat`)";
const NOT_CARRIED: &str = "ask the publisher to pack the chart with these images: `solution pack --add-images` finds them, and `render` lists further values";
const TURNED_ON: &str = "choose another value, or ask the publisher to pack the chart with the images that this value needs (`render` lists such values)";
const FORBIDDEN: &str = "ask the publisher to leave it out or to disable it with a chart value; `solution inspect` shows the publisher's key";
const RELEASE_TAKEN: &str = "check with `helm history` who owns it and with `--dry-run --diff` what would change, then adopt it with `--adopt=objects`";
const NOT_RECORDED: &str = "check it with `helm get manifest` and `helm get hooks`, then adopt it with `--accept ID` or delete its Secret: any user who may write Secrets in its namespace may have created it, and its objects would be sent with your rights";
const NOT_OF_RELEASE: &str = "adopt it with `--adopt=objects`, and it will be removed with the release; otherwise delete or rename it";
const HELD_BY_HOOK: &str = "choose another namespace with `--namespace`, or ask the publisher to create it as an object of the chart instead of a hook";
const NO_VALUE: &str = "set it with `--set NAME=VALUE`, in a file with `--values FILE` if it is sensitive, or permanently in the site configuration";
const ALL_PARAMETERS: &str =
    "run `solution inspect ARCHIVE` to see the type and format of each parameter";
const PATCH: &str = "change or remove it in the site configuration (`solution site set`); to see the objects without it, use `--dry-run --diff`";
const SEEN: &str =
    "write it to a file that only you can read, and pass the file with `--values FILE`";
const NOT_RECREATED: &str =
    "omit it: only objects of sets can be recreated, not objects of charts or of the operator";
const LOST: &str = "pass the same value again with `--values FILE`, or drop it with `--unset NAME`, which generates a new value if the archive says so";
const SITE_FILE: &str = "change the site configuration (`solution site set`), or create the missing objects in the cluster";
const CONVERTED: &str = "delete these objects first, while their conversion webhook is present: without it they cannot be read";
const PLAN_AGAIN: &str =
    "run the same command again: it creates a new plan and pushes only missing content";

/// How to get it out of the way, by the verb in use or another one.
pub(crate) fn fix(obstacle: &O) -> String {
    hints::fit(way_out(obstacle))
}

#[expect(
    clippy::too_many_lines,
    reason = "one line for each obstacle, and no wildcard"
)]
fn way_out(obstacle: &O) -> String {
    let words = match obstacle {
        O::KubernetesTooOld { oldest_minor, .. } => {
            return format!(
                "upgrade the cluster: an import requires Kubernetes 1.{oldest_minor} or newer"
            );
        }
        O::UnknownEnvironment { near, .. } => return unknown_environment(near.as_ref()),
        O::NoPullSecret {
            secret,
            namespace,
            create,
            host,
        } => return create_secret(secret, namespace, create.as_ref(), host),
        O::NotAccepted { accept_id, .. } => return accept(accept_id),
        O::Deployed {
            solution,
            environment,
            ..
        }
        | O::SecondOperator {
            solution,
            environment,
            ..
        }
        | O::Inhabited {
            solution,
            environment,
            ..
        } => return undeploy_first(solution, environment),
        O::Active { solution, .. } => return deactivate_first(solution),
        O::Registry(obstacle) => return at_registry::way_out(obstacle),
        O::Changed { .. } => PLAN_AGAIN,
        O::Unplanned { .. } | O::NotAsShown { .. } => AGAIN,
        O::NotOurs(not_ours) => not_ours_to_write(not_ours),
        O::Denied { .. } => HAVE_IT_GRANTED,
        O::ProofDenied { .. } => NO_PODS,
        O::GrantNotHeld { .. } => HOLD_IT,
        O::RecordTooLarge { .. } => SHORTER,
        O::OtherArchive { .. } => {
            "ask the publisher which archive is correct, then accept this one with `--replace`"
        }
        O::NoSigners { .. } => UNSIGNED,
        O::OtherSigners { .. } => OTHER_SIGNERS,
        O::SameName { .. } => at_registry::SAME,
        O::CrdTooNew { .. } => "import a version whose API the cluster still serves",
        O::CrdDrops { .. } => DROPPED,
        O::CrdStored { .. } => MIGRATE,
        O::ApiStillNeeded { .. } => NEEDED,
        O::CrdFixed { .. } => FIXED,
        O::CrdLoses { .. } => LOSES,
        O::CrdOnlyNewer { .. } => ONLY_NEWER,
        O::CrdOwned { .. } => "remove the other Solution first: two Solutions cannot own one CRD",
        O::CrdUnowned { .. } => "find out who installed it, then adopt it with `--adopt crds`",
        O::NoCrds { .. } => NO_CRDS,
        O::NoOperator { .. } => "omit `--environment`: the images become available without it",
        O::NoEnvironment { .. } | O::OtherNamespace { .. } => {
            "`solution environment list` shows all"
        }
        O::SeveralNamespaces { .. } => "choose one with `--namespace`",
        O::NamespaceReserved { .. } | O::NamespaceTaken { .. } => OTHER_NAMESPACE,
        O::NamespaceGoing { .. } => "wait until it is deleted, then run the same command again",
        O::NamespaceReplaced { .. } | O::NamespaceUnowned { .. } => ADOPT_NAMESPACE,
        O::NoPriorityClass { .. } | O::NoNode { .. } | O::ImageVariable { .. } => SITE_FILE,
        O::OtherLogin { .. } => "add `--pull-registry` with the address that nodes use",
        O::NoLogin { .. } => NO_LOGIN,
        O::PushLogin { .. } => "ask the registry's administrator for a login that may only pull",
        O::OlderVersion { .. } => OLDER,
        O::NotUpgradable { .. } => "import a version in that range first",
        O::Unfit(unfit) => return fitting(unfit),
        O::Unmet(unmet) => return meeting(unmet),
        O::FieldsOwned { .. } => FIELDS_OWNED,
        O::ObjectRefused { .. } => CLUSTER_RULES,
        O::PodRefused { .. } => POD_RULES,
        O::PodsRefused { .. } => PODS_RULES,
        O::Above(above) => return ask(above),
        O::NotDeployed { .. } => {
            "run `solution status` to see which Solutions are deployed in which environments"
        }
        O::NothingBefore { .. } => NOTHING_BEFORE,
        O::NoRevision { .. } | O::OtherRevision { .. } | O::RevisionFailed { .. } => REVISIONS,
        O::ImportedAnew { .. } => IMPORTED_ANEW,
        O::NotImported { .. } | O::NothingImported { .. } => {
            "run `solution status` to list imported versions"
        }
        O::NotActive { .. } => "run `solution status` to list active CRDs",
        O::ServesNothing { .. } => "serve a version again, or delete the CRD yourself",
        O::InUse { .. } => "delete them first: deleting the CRD would delete them",
        O::Used { .. } => "remove the objects that use it first",
        O::WouldDelete { .. } => DELETE_FIRST,
        O::LoginUsed { .. } => OWN_LOGIN,
    };
    words.to_owned()
}

/// What to do about an object that is not the Solution's to write.
fn not_ours_to_write(object: &NotOurs) -> &'static str {
    match object {
        NotOurs::Owned { .. } => NOT_OURS,
        NotOurs::MadeAnew { .. } => AGAIN,
        NotOurs::Elsewhere { .. } => ELSEWHERE,
        NotOurs::LeftBehind { .. } => LEFT_BEHIND,
        NotOurs::Labelled { .. } => LABELLED,
        NotOurs::OfHelm { .. } => HELM,
    }
}

/// How to have what is needed there, or to do without what others need.
fn meeting(unmet: &Unmet) -> String {
    let deploy = |solution, environment| {
        format!(
            "deploy it first: `solution deploy {solution} --environment {environment}`; `solution import A.iso B.iso` deploys archives in their order"
        )
    };
    let words = match unmet {
        Unmet::NeededSolution {
            solution,
            environment,
            ..
        }
        | Unmet::NeededVersion {
            solution,
            environment,
            ..
        } => {
            let environment = environment.as_ref().map_or("NAME", EnvironmentName::as_str);
            return deploy(solution, environment);
        }
        Unmet::NeededReady { .. } => {
            "check it with `solution status`, and run the same command again once it is ready"
        }
        Unmet::NeededKubernetes { .. } => {
            "upgrade the cluster, or ask the publisher for a version that supports it"
        }
        Unmet::NeededApi { .. } => NO_CRD,
        Unmet::NeededStorageClass { .. } => {
            "ask the cluster administrator to create it; list the existing ones with `kubectl get storageclass`"
        }
        Unmet::NeededRoom { .. } | Unmet::NeededNodes { .. } => {
            "add nodes, or remove unneeded workloads; cordoned, tainted and not-ready nodes do not count"
        }
        Unmet::NeededInCircle { .. } => "ask the publishers to remove one of the two requirements",
        Unmet::NeededBy {
            needed_by,
            environment,
            ..
        } => {
            return format!(
                "run `solution undeploy {needed_by} --environment {environment}` first, or upgrade it to a version without this requirement"
            );
        }
    };
    words.to_owned()
}

/// How objects that are carried as they are come to fit.
fn fitting(unfit: &Unfit) -> String {
    let words = match unfit {
        Unfit::Immutable { recreate, .. } => return recreated(recreate),
        Unfit::ImmutableOfRelease { object, .. } => return deleted_first(object, "Helm"),
        Unfit::ImmutableOwn { object, .. } if is_definition(object) => FIXED,
        Unfit::ImmutableOwn { object, .. } => return deleted_first(object, "the import"),
        Unfit::NotRecreated { .. } => NOT_RECREATED,
        Unfit::ReadsNotAccepted { accept_id, .. } => return accept_reads(accept_id),
        Unfit::NoNamespace { namespace, .. } => return make_namespace(namespace),
        Unfit::NoParameter { near, releases, .. } => {
            return no_parameter(near.as_ref(), releases.first());
        }
        Unfit::NoRelease { near, .. } => return no_release(near.as_ref()),
        Unfit::ValuesLost { release } => {
            return format!(
                "pass them again with `--chart-values {release}=FILE`, or remove them with `--unset {release}:`"
            );
        }
        Unfit::ValuesSource { .. } => SITE_FILE,
        Unfit::ValueUnnamed { .. } => {
            "set the parent value instead, or set the value in the site configuration"
        }
        Unfit::NoKind { found, .. } => other_kind(found),
        Unfit::NoHelm | Unfit::HelmUnusable { .. } => NO_HELM,
        Unfit::NoIncludedHelm { .. } => NO_INCLUDED_HELM,
        Unfit::UnsignedHelm => UNSIGNED_HELM,
        Unfit::NotRendered { .. } => RENDERING,
        Unfit::ChartValuesRefused { .. } => CHART_VALUES,
        Unfit::NotCarried { values, .. } if !values.is_empty() => TURNED_ON,
        Unfit::NotCarried { .. } => NOT_CARRIED,
        Unfit::ForbiddenInChart { .. } => FORBIDDEN,
        Unfit::ReleaseTaken { .. } => RELEASE_TAKEN,
        Unfit::NotRecorded { .. } => NOT_RECORDED,
        Unfit::NotOfRelease { .. } => NOT_OF_RELEASE,
        Unfit::HeldByHook { .. } => HELD_BY_HOOK,
        Unfit::NoValue { .. } => NO_VALUE,
        Unfit::ValueRefused { .. } => ALL_PARAMETERS,
        Unfit::NoStorageClass { .. } => "run `kubectl get storageclass` to list the existing ones",
        Unfit::ValueSeen { .. } => SEEN,
        Unfit::PatchUnfit { .. } => PATCH,
        Unfit::ValueLost { .. } => LOST,
        Unfit::ValuesTooLarge { .. } => {
            "put large texts into your own objects, and reference them in the release's values"
        }
        Unfit::LabelGiven { .. } => "deploy one of them to another environment",
        Unfit::LabelSet { .. } => LABELS,
        Unfit::CleanupLost { .. } => SKIP_REMOVE_SETS,
        Unfit::ConversionNeeded { .. } => CONVERTED,
    };
    words.to_owned()
}

/// What to do about a kind that is not there.
fn other_kind(found: &KindIn) -> &'static str {
    let KindIn {
        cluster,
        archive,
        release,
    } = found;
    match (cluster.as_slice(), archive.as_slice(), release.as_slice()) {
        ([], [], []) => NO_CRD,
        (_, _, [_, ..]) => {
            "ask the publisher to put the CRD into the chart's `crds/`, or into a chart that this one `needs`"
        }
        (_, [_, ..], []) => "ask the publisher: the archive's objects do not match its CRD",
        _ => {
            "import an archive for a version that the cluster serves, or upgrade the component that installed the CRD"
        }
    }
}

fn recreated(recreate: &Recreate) -> String {
    let pods = match recreate.kind.as_str() {
        "StatefulSet" => "; its pods are kept and replaced one by one",
        _ => "",
    };
    format!("delete and recreate it with `--recreate {recreate}`{pods}")
}

fn is_definition(object: &ObjectRef) -> bool {
    object.gvk.group == "apiextensions.k8s.io" && object.gvk.kind == "CustomResourceDefinition"
}

/// How an object comes to be made anew that `maker` would only change.
fn deleted_first(object: &ObjectRef, maker: &str) -> String {
    let group = match object.gvk.group.as_str() {
        "" => String::new(),
        group => format!(".{group}"),
    };
    let kind = object.gvk.kind.to_lowercase();
    let place = object.namespace.as_ref();
    let place = place.map_or_else(String::new, |it| format!(" --namespace {it}"));
    let (orphan, pods) = match kind.as_str() {
        "statefulset" => (" --cascade=orphan", "; its pods are kept"),
        _ => ("", ""),
    };
    let name = &object.name;
    format!(
        "run `kubectl delete {kind}{group}/{name}{place}{orphan}`, then run the same command again: {maker} recreates it{pods}"
    )
}

fn make_namespace(namespace: &str) -> String {
    format!(
        "create it first with `kubectl create namespace {namespace}` if the cluster administrator agrees, or ask the publisher for a chart that uses only its own namespace"
    )
}

/// What who administers the cluster is to be asked for.
fn ask(above: &Above) -> String {
    let what = match above {
        Above::CrdInactive { .. } => {
            "activate this version with `solution crds activate NAME VERSION`"
        }
        Above::CarriesObjects { .. } | Above::ClusterObject { .. } => {
            "deploy it with `solution deploy NAME VERSION --environment NAME`"
        }
        Above::DeployedByOthers { .. } => "change it, with `--environment`",
        Above::NamespaceUnassigned { .. } => {
            "adopt the namespace with `solution environment create NAME --namespace NAMESPACE --adopt namespace`"
        }
    };
    format!("ask the cluster administrator to {what}")
}

fn undeploy_first(solution: &SolutionName, environment: &EnvironmentName) -> String {
    format!("run `solution undeploy {solution} --environment {environment}` first")
}

fn deactivate_first(solution: &SolutionName) -> String {
    format!(
        "activate another version with `solution crds activate {solution} VERSION`, or `solution crds deactivate {solution}` first"
    )
}

fn accept(id: &str) -> String {
    format!("review them in the plan, then accept them with `--accept {id}`")
}

fn accept_reads(id: &str) -> String {
    format!(
        "use `--accept {id}` to let the templates read these objects; the plan then shows the rendered result"
    )
}

/// How to make the Secret that nodes log in with; first the environment, where it is not there.
pub(super) fn create_secret(
    secret: &KubernetesName,
    namespace: &Namespace,
    environment: Option<&EnvironmentName>,
    host: &str,
) -> String {
    let first = create_first(environment, namespace);
    format!(
        "{first}create the Secret with `kubectl --namespace {namespace} create secret docker-registry {secret} --docker-server={host} --docker-username=… --docker-password=…` or `--pull-login FILE`"
    )
}

fn create_first(environment: Option<&EnvironmentName>, namespace: &Namespace) -> String {
    environment.map_or(String::new(), |environment| {
        format!("create the environment with `solution environment create {environment} --namespace {namespace}`, then ")
    })
}

fn no_parameter(near: Option<&ParameterName>, release: Option<&ReleaseName>) -> String {
    let meant = near.map_or(String::new(), |name| format!("did you mean `{name}`? "));
    let chart = release.map_or(String::new(), |release| {
        format!("; values of a chart are given with `--chart-values {release}=FILE` or `--chart-set {release}:PATH=VALUE`")
    });
    format!("{meant}{ALL_PARAMETERS}{chart}")
}

fn no_release(near: Option<&ReleaseName>) -> String {
    let meant = near.map_or(String::new(), |name| format!("did you mean `{name}`? "));
    format!("{meant}run `solution inspect` to list the charts of a version")
}

/// How a site's file comes to fit an archive.
pub(crate) fn site_problem(problem: &SiteProblem) -> String {
    hints::fit(match problem {
        SiteProblem::Unknown { near, .. } => {
            let meant = near.as_ref();
            let meant = meant.map_or(String::new(), |name| format!("did you mean `{name}`? "));
            format!("{meant}run `solution inspect ARCHIVE` to list the sets and their workloads")
        }
        SiteProblem::Parameter { unfit, .. } => fitting(unfit),
        SiteProblem::Values { release, .. } => format!(
            "list the chart's values with `solution archive values ARCHIVE`; `values.schema.json` is in charts/{release}/chart.tgz (`solution archive cat`)"
        ),
    })
}

fn unknown_environment(near: Option<&EnvironmentName>) -> String {
    let meant = near.map_or(String::new(), |name| format!("did you mean `{name}`? "));
    format!(
        "{meant}create it with `--create-environment`, or list all with `solution environment list`"
    )
}

#[cfg(test)]
mod tests {
    use importer::Obstacle;

    use super::*;

    #[test]
    fn a_mistyped_name_is_answered_with_the_one_that_was_meant() {
        let unknown = |near: Option<&str>| {
            let near = near.map(|name| name.parse().unwrap());
            fix(&Obstacle::UnknownEnvironment {
                environment: "tests".parse().unwrap(),
                near,
            })
        };
        let make =
            "create it with `--create-environment`, or list all with `solution environment list`";
        assert_eq!(unknown(None), make);
        assert_eq!(
            unknown(Some("test")),
            format!("did you mean `test`? {make}")
        );
    }

    #[test]
    fn what_helm_does_not_make_anew_is_deleted_before() {
        let fix = |object| {
            let object = Box::new(object);
            let why = String::new();
            fix(&Unfit::ImmutableOfRelease { object, why }.into())
        };
        let set = ObjectRef::namespaced("apps/v1", "StatefulSet", "prod", "db");
        let set = fix(set);
        let command = "run `kubectl delete statefulset.apps/db --namespace prod --cascade=orphan`";
        assert!(
            set.starts_with(command) && set.ends_with("its pods are kept"),
            "{set}"
        );
        assert!(!set.contains("--recreate"), "{set}");
        let class = fix(ObjectRef::cluster_scoped(
            "storage.k8s.io/v1",
            "StorageClass",
            "fast",
        ));
        assert!(
            class.starts_with("run `kubectl delete storageclass.storage.k8s.io/fast`"),
            "{class}"
        );
    }

    #[test]
    fn what_an_import_does_not_make_anew_is_deleted_before_unless_objects_would_go_with_it() {
        let fix = |object| {
            let object = Box::new(object);
            let why = String::new();
            fix(&Unfit::ImmutableOwn { object, why }.into())
        };
        let operator = fix(ObjectRef::namespaced(
            "apps/v1",
            "Deployment",
            "prod",
            "web-operator",
        ));
        assert_eq!(
            operator,
            "run `kubectl delete deployment.apps/web-operator --namespace prod`, then run the same command again: the import recreates it"
        );
        let kind = "CustomResourceDefinition";
        let definition = fix(ObjectRef::cluster_scoped(
            "apiextensions.k8s.io/v1",
            kind,
            "as.b.test",
        ));
        assert!(!definition.contains("delete custom"), "{definition}");
        for fix in [operator, definition] {
            assert!(!fix.contains("--recreate"), "{fix}");
        }
    }

    #[test]
    fn a_secret_is_made_in_a_namespace_that_is_made_before() {
        let missing = |create: Option<&str>| {
            fix(&Obstacle::NoPullSecret {
                secret: "login".parse().unwrap(),
                namespace: "prod-ns".parse().unwrap(),
                create: create.map(|name| name.parse().unwrap()),
                host: "pull.test:5000".to_owned(),
            })
        };
        let make = "create the Secret with `kubectl --namespace prod-ns create secret docker-registry login --docker-server=pull.test:5000 --docker-username=… --docker-password=…` or `--pull-login FILE`";
        assert_eq!(missing(None), make);
        let first = "create the environment with `solution environment create prod --namespace prod-ns`, then ";
        assert_eq!(missing(Some("prod")), format!("{first}{make}"));
    }
}
