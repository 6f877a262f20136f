//! Fixes for each blocker of a change to a cluster. Each blocker has a fix, which names the flag or command to use.

use importer::{
    AdministratorTask, Blocker as O, ContentBlocker, FailedPull, KindIn, OwnershipConflict,
    RecreateRequest, SiteProblem, UnmetPrerequisite,
};
use kubernetes::{Error, ObjectRef, PodProblem, PullProblem};
use schemas::{
    EnvironmentName, KubernetesName, Namespace, ParameterName, ReleaseName, SolutionName,
};

use super::registry;
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

/// Returns the fix for a blocker, with the verb in use or another one.
pub(crate) fn fix(blocker: &O) -> String {
    hints::fit(way_out(blocker))
}

#[expect(
    clippy::too_many_lines,
    reason = "one line for each blocker, and no wildcard"
)]
fn way_out(blocker: &O) -> String {
    let words = match blocker {
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
        O::Registry(blocker) => return registry::way_out(blocker),
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
        O::SameName { .. } => registry::SAME,
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

/// Returns the fix for an object that does not belong to the Solution.
fn not_ours_to_write(object: &OwnershipConflict) -> &'static str {
    match object {
        OwnershipConflict::Owned { .. } => NOT_OURS,
        OwnershipConflict::MadeAnew { .. } => AGAIN,
        OwnershipConflict::Elsewhere { .. } => ELSEWHERE,
        OwnershipConflict::LeftBehind { .. } => LEFT_BEHIND,
        OwnershipConflict::Labelled { .. } => LABELLED,
        OwnershipConflict::OfHelm { .. } => HELM,
    }
}

/// Returns the fix for an unmet requirement.
fn meeting(unmet: &UnmetPrerequisite) -> String {
    let deploy = |solution, environment| {
        format!(
            "deploy it first: `solution deploy {solution} --environment {environment}`; `solution import A.iso B.iso` deploys archives in their order"
        )
    };
    let words = match unmet {
        UnmetPrerequisite::NeededSolution {
            solution,
            environment,
            ..
        }
        | UnmetPrerequisite::NeededVersion {
            solution,
            environment,
            ..
        } => {
            let environment = environment.as_ref().map_or("NAME", EnvironmentName::as_str);
            return deploy(solution, environment);
        }
        UnmetPrerequisite::NeededReady { .. } => {
            "check it with `solution status`, and run the same command again once it is ready"
        }
        UnmetPrerequisite::NeededKubernetes { .. } => {
            "upgrade the cluster, or ask the publisher for a version that supports it"
        }
        UnmetPrerequisite::NeededApi { .. } => NO_CRD,
        UnmetPrerequisite::NeededStorageClass { .. } => {
            "ask the cluster administrator to create it; list the existing ones with `kubectl get storageclass`"
        }
        UnmetPrerequisite::NeededRoom { .. } | UnmetPrerequisite::NeededNodes { .. } => {
            "add nodes, or remove unneeded workloads; cordoned, tainted and not-ready nodes do not count"
        }
        UnmetPrerequisite::NeededInCircle { .. } => {
            "ask the publishers to remove one of the two requirements"
        }
        UnmetPrerequisite::NeededBy {
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

/// Returns the fix for objects that do not fit the environment.
fn fitting(unfit: &ContentBlocker) -> String {
    let words = match unfit {
        ContentBlocker::Immutable { recreate, .. } => return recreated(recreate),
        ContentBlocker::ImmutableOfRelease { object, .. } => return deleted_first(object, "Helm"),
        ContentBlocker::ImmutableOwn { object, .. } if is_definition(object) => FIXED,
        ContentBlocker::ImmutableOwn { object, .. } => return deleted_first(object, "the import"),
        ContentBlocker::NotRecreated { .. } => NOT_RECREATED,
        ContentBlocker::ReadsNotAccepted { accept_id, .. } => return accept_reads(accept_id),
        ContentBlocker::NoNamespace { namespace, .. } => return make_namespace(namespace),
        ContentBlocker::NoParameter { near, releases, .. } => {
            return no_parameter(near.as_ref(), releases.first());
        }
        ContentBlocker::NoRelease { near, .. } => return no_release(near.as_ref()),
        ContentBlocker::ValuesLost { release } => {
            return format!(
                "pass them again with `--chart-values {release}=FILE`, or remove them with `--unset {release}:`"
            );
        }
        ContentBlocker::ValuesSource { .. } => SITE_FILE,
        ContentBlocker::ValueUnnamed { .. } => {
            "set the parent value instead, or set the value in the site configuration"
        }
        ContentBlocker::NoKind { found, .. } => other_kind(found),
        ContentBlocker::NoHelm | ContentBlocker::HelmUnusable { .. } => NO_HELM,
        ContentBlocker::NoIncludedHelm { .. } => NO_INCLUDED_HELM,
        ContentBlocker::UnsignedHelm => UNSIGNED_HELM,
        ContentBlocker::NotRendered { .. } => RENDERING,
        ContentBlocker::ChartValuesRefused { .. } => CHART_VALUES,
        ContentBlocker::NotCarried { values, .. } if !values.is_empty() => TURNED_ON,
        ContentBlocker::NotCarried { .. } => NOT_CARRIED,
        ContentBlocker::ForbiddenInChart { .. } => FORBIDDEN,
        ContentBlocker::ReleaseTaken { .. } => RELEASE_TAKEN,
        ContentBlocker::NotRecorded { .. } => NOT_RECORDED,
        ContentBlocker::NotOfRelease { .. } => NOT_OF_RELEASE,
        ContentBlocker::HeldByHook { .. } => HELD_BY_HOOK,
        ContentBlocker::NoValue { .. } => NO_VALUE,
        ContentBlocker::ValueRefused { .. } => ALL_PARAMETERS,
        ContentBlocker::NoStorageClass { .. } => {
            "run `kubectl get storageclass` to list the existing ones"
        }
        ContentBlocker::ValueSeen { .. } => SEEN,
        ContentBlocker::PatchUnfit { .. } => PATCH,
        ContentBlocker::ValueLost { .. } => LOST,
        ContentBlocker::ValuesTooLarge { .. } => {
            "put large texts into your own objects, and reference them in the release's values"
        }
        ContentBlocker::LabelGiven { .. } => "deploy one of them to another environment",
        ContentBlocker::LabelSet { .. } => LABELS,
        ContentBlocker::CleanupLost { .. } => SKIP_REMOVE_SETS,
        ContentBlocker::ConversionNeeded { .. } => CONVERTED,
    };
    words.to_owned()
}

/// Returns the fix for a kind that the cluster does not serve.
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

fn recreated(recreate: &RecreateRequest) -> String {
    let pods = match recreate.kind.as_str() {
        "StatefulSet" => "; its pods are kept and replaced one by one",
        _ => "",
    };
    format!("delete and recreate it with `--recreate {recreate}`{pods}")
}

fn is_definition(object: &ObjectRef) -> bool {
    object.gvk.group == "apiextensions.k8s.io" && object.gvk.kind == "CustomResourceDefinition"
}

/// Returns the hint to delete an object, which `maker` then recreates instead of changing it.
fn deleted_first(object: &ObjectRef, maker: &str) -> String {
    let group = match object.gvk.group.as_str() {
        "" => String::new(),
        group => format!(".{group}"),
    };
    let kind = object.gvk.kind.to_lowercase();
    let place = object.namespace.as_ref();
    let place = place.map_or_else(String::new, |place| format!(" --namespace {place}"));
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

/// Returns the request to the cluster administrator.
fn ask(above: &AdministratorTask) -> String {
    let what = match above {
        AdministratorTask::CrdInactive { .. } => {
            "activate this version with `solution crds activate NAME VERSION`"
        }
        AdministratorTask::CarriesObjects { .. } | AdministratorTask::ClusterObject { .. } => {
            "deploy it with `solution deploy NAME VERSION --environment NAME`"
        }
        AdministratorTask::DeployedByOthers { .. } => "change it, with `--environment`",
        AdministratorTask::NamespaceUnassigned { .. } => {
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

/// Returns the commands that create the pull secret, and the environment if it does not exist.
fn create_secret(
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

/// Returns the fix for a site configuration that does not fit an archive.
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

/// The name of the Secret in the commands of hints.
const LOGIN: &str = "registry-login";
const WHERE_READ: &str =
    "containerd reads it at the next pull if its `config_path` is /etc/containerd/certs.d";
const WITHOUT: &str = "skip the test pull with `--no-pull-proof`";

/// Returns the hint for an image that nodes cannot pull. The missing file follows it; `usual` helps any pod.
pub(super) fn hints(unpulled: &FailedPull, usual: Option<&str>) -> Vec<String> {
    let Error::Pull(failure) = &unpulled.source else {
        return Vec::new();
    };
    let usual = usual.map(str::to_owned);
    match &failure.stuck {
        PodProblem::Pull(PullProblem::UnknownAuthority) => vec![authority(unpulled)],
        PodProblem::Pull(PullProblem::PlainHttp) => vec![format!(
            "give the registry a certificate, or write this on every node ({WHERE_READ})"
        )],
        PodProblem::Pull(PullProblem::Unauthorized) => vec![login(unpulled)],
        PodProblem::Pull(_) => usual.into_iter().collect(),
        // The pod failed for another reason, so nothing is known about the image.
        _ => usual.into_iter().chain([WITHOUT.to_owned()]).collect(),
    }
}

/// Returns the hint for nodes that do not trust the registry's certificate authority.
fn authority(unpulled: &FailedPull) -> String {
    let host = &unpulled.host;
    let beside = match unpulled.authorities {
        Some(_) => "",
        None => ", with the registry's certificate authority (PEM) next to it as site-ca.crt",
    };
    format!(
        "write this on every node{beside} ({WHERE_READ}); k3s reads the authority from `tls` of {host} in /etc/rancher/k3s/registries.yaml, CRI-O in /etc/containers/certs.d/{host}"
    )
}

/// Returns the hint for nodes without a valid login.
fn login(unpulled: &FailedPull) -> String {
    let FailedPull {
        namespace, host, ..
    } = unpulled;
    if let Some(secret) = &unpulled.secret {
        return format!(
            "correct the login for {host} in Secret {secret} with `kubectl --namespace {namespace} create secret docker-registry {secret} --docker-server={host} --docker-username=… --docker-password=… --dry-run=client -o yaml | kubectl apply -f -` or `--pull-login FILE`"
        );
    }
    let secret: KubernetesName = LOGIN.parse().expect("the name of a Secret");
    let create = create_secret(&secret, namespace, None, host);
    format!("{create}; then use `--pull-secret {secret}`")
}

#[cfg(test)]
mod tests {
    use importer::Blocker;
    use kubernetes::PullFailure;

    use super::*;

    #[test]
    fn a_mistyped_name_is_answered_with_the_one_that_was_meant() {
        let unknown = |near: Option<&str>| {
            let near = near.map(|name| name.parse().unwrap());
            fix(&Blocker::UnknownEnvironment {
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
            fix(&ContentBlocker::ImmutableOfRelease { object, why }.into())
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
            fix(&ContentBlocker::ImmutableOwn { object, why }.into())
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
            fix(&Blocker::NoPullSecret {
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

    fn hint(stuck: PodProblem, secret: Option<&str>) -> String {
        let unpulled = FailedPull {
            image: "r.test:5000/app@sha256:0".to_owned(),
            architecture: None,
            namespace: "prod".parse().unwrap(),
            secret: secret.map(|name| name.parse().unwrap()),
            host: "r.test:5000".to_owned(),
            authorities: None,
            source: Error::Pull(Box::new(PullFailure {
                pod: "pull".to_owned(),
                node: None,
                stuck,
                detail: String::new(),
            })),
        };
        hints(&unpulled, Some("as usual")).join(" | ")
    }

    #[test]
    fn each_cause_has_its_next_step() {
        let pull = PodProblem::Pull;
        let unknown = hint(pull(PullProblem::UnknownAuthority), None);
        assert!(
            unknown.starts_with("write this on every node, with the"),
            "{unknown}"
        );
        let create =
            "create the Secret with `kubectl --namespace prod create secret docker-registry";
        let none = hint(pull(PullProblem::Unauthorized), None);
        assert!(
            none.starts_with(&format!("{create} registry-login ")),
            "{none}"
        );
        assert!(
            none.ends_with("; then use `--pull-secret registry-login`"),
            "{none}"
        );
        let wrong = hint(pull(PullProblem::Unauthorized), Some("login"));
        let correct = "correct the login for r.test:5000 in Secret login with `kubectl --namespace prod create secret docker-registry login ";
        assert!(wrong.starts_with(correct), "{wrong}");
        assert_eq!(hint(pull(PullProblem::NoSuchHost), None), "as usual");
        assert_eq!(
            hint(PodProblem::Quota, None),
            format!("as usual | {WITHOUT}")
        );
    }
}
