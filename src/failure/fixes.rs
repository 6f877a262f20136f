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
    "install what brings the CRD first: another Solution, or whoever runs the cluster";
const LABELS: &str = "if what runs there can live with it, give the namespace that value yourself with `kubectl label --overwrite`";
pub(super) const SKIP_REMOVE_SETS: &str = "mend what is wrong and run the same command again; `--skip-remove-sets` removes it without cleaning up first";
const OTHER_NAMESPACE: &str = "choose another namespace with `--namespace`";
const ADOPT_NAMESPACE: &str =
    "choose another with `--namespace`, or take it over with `--adopt namespace`";
const HAVE_IT_GRANTED: &str = "have it granted: `solution site rbac` prints the roles, and `solution import --dry-run --missing-rights FILE` writes those that are missing; or use another context with `--context`";
const NO_PODS: &str =
    "have it granted (`solution site rbac` prints the roles); `--no-pull-proof` deploys without";
const HOLD_IT: &str = "have it granted (`solution site rbac ARCHIVE` prints the roles), or import as a user who may `escalate` and `bind` roles";
const SHORTER: &str = "remove versions that nobody needs with `solution unimport`, or have the publisher shorten the manifest";
const UNSIGNED: &str = "ask the publisher for a signed archive; `--forget-signers` accepts this one, and forgets who signed before";
const OTHER_SIGNERS: &str = "ask the publisher, through another channel, whether the keys changed; `--change-signers` accepts the new ones";
const NO_LOGIN: &str =
    "write one with `solution registry login HOST --authfile FILE`, with the host as nodes know it";
const DROPPED: &str = "objects and operators that use it would break: import a version that still serves it, or store its objects anew and let it go with `solution crds activate NAME VERSION --migrate`";
const MIGRATE: &str = "`solution crds activate NAME VERSION --migrate` stores the objects anew first; versions that need what goes cannot be returned to then";
const FIXED: &str = "ask the publisher; `solution crds deactivate` removes the CRD once no object of its kind is left";
const LOSES: &str = "change these objects so that they fit, or delete them; an older version can also be deployed with newer CRDs that serve what it needs";
const NEEDED: &str = "upgrade it there to the version whose CRDs are active, or undeploy it; then run the same command again";
const NO_CRDS: &str =
    "deploy it in an environment with `solution deploy`: it does not need to be active";
const ONLY_NEWER: &str = "an older version can be deployed with newer CRDs that serve what it needs; `solution crds deactivate` removes them once nothing uses them";
const OLDER: &str = "operators rarely understand newer data: `--allow-downgrade` deploys it anyway";
const NOT_OURS: &str = "choose another namespace with `--namespace`, or remove the object if nobody needs it; `--adopt objects` takes over one that the archive carries as it is";
const ELSEWHERE: &str = "only one environment can have objects of these names: deploy there, or undeploy it there first";
const LEFT_BEHIND: &str =
    "find out whether anybody needs it there; `--adopt objects` takes it over, with its data";
const LABELLED: &str = "find out who made it, and remove it; `--adopt objects` takes it over, with whatever else is in it";
const HELM: &str = "if that is another environment's, choose a value of the chart that makes none, or one of another name; else remove the release with `helm uninstall`, and its pods and data may go with it";
const FIELDS_OWNED: &str =
    "find out who set them, and why; `--force-conflicts` takes these fields over";
const CLUSTER_RULES: &str =
    "the cluster's own rules refuse it: see its message, or ask whoever runs the cluster";
const POD_RULES: &str = "give the operator what the namespace asks for (`resources`, `securityContext`) in the site's file, see `solution site init`, or change the namespace's PodSecurity level or quota";
const PODS_RULES: &str = "make its pods comply with the namespace's PodSecurity level and quota (of a chart, with `--chart-values`), or change the level or the quota";
const DELETE_FIRST: &str =
    "delete them yourself first, or `--delete-resources` deletes them with their namespaces";
const OWN_LOGIN: &str =
    "import or deploy that one again, with `--pull-secret` or `--pull-login` of its own";
const NOTHING_BEFORE: &str = "`solution status` lists what is imported, and `solution deploy NAME VERSION --allow-downgrade` runs an older version";
const REVISIONS: &str = "`solution history NAME --environment NAME` shows what was deployed there; `solution deploy NAME VERSION` runs any imported version";
const IMPORTED_ANEW: &str = "import the archive that ran with `--replace`; or `solution deploy NAME VERSION --allow-downgrade` runs the one that is imported now";
const NO_HELM: &str = "install helm 4, and name it with `--helm FILE` or `HELM` where it is not on the path; `--use-included-helm` runs one that the archive includes (`solution inspect`); or leave out `--environment`: the registry then offers each chart as `oci://`";
const NO_INCLUDED_HELM: &str = "install helm 4 here, and leave `--use-included-helm` out; a publisher includes one with `solution pack --include-helm`";
const UNSIGNED_HELM: &str = "ask the publisher for a signed archive, or install helm 4 from elsewhere and name it with `--helm`";
const RENDERING: &str = "see whether the chart is for this version of Kubernetes; `helm template` with the files in the archive's `charts/` (`solution archive cat`) shows the same";
const CHART_VALUES: &str = "give others with `--chart-set RELEASE:PATH=VALUE`, or in the site's file; `solution archive values ARCHIVE` shows what the chart offers, and `values.schema.json` lies in its `chart.tgz` (`solution archive cat`)";
const NOT_CARRIED: &str = "the publisher has to pack the chart with these images; `solution pack --add-images` finds them, and `render` names further values";
const TURNED_ON: &str = "choose another value, or have the publisher pack the chart with the images that this one needs (`render` names such values)";
const FORBIDDEN: &str = "ask the publisher to leave it out, or to turn it off by a value of the chart; `solution inspect` says who that is";
const RELEASE_TAKEN: &str = "`helm history` shows whose it is; `--adopt=objects` takes it over, after `--dry-run --diff` has shown what would change";
const NOT_RECORDED: &str = "whoever may write Secrets in its namespace may have made it, and what it sends would be sent with your rights: `helm get manifest` and `helm get hooks` show that. Take it over with `--accept ID`, or delete its Secret";
const NOT_OF_RELEASE: &str =
    "`--adopt=objects` has the release take it over, and with it go; else remove it or rename it";
const HELD_BY_HOOK: &str = "choose another namespace with `--namespace`, or ask the publisher to make it as an object of the chart and not as a hook";
const NO_VALUE: &str = "give one with `--set NAME=VALUE`, in a file with `--values FILE` if it is sensitive, or in the site's file for all that comes";
const ALL_PARAMETERS: &str = "`solution inspect ARCHIVE` shows what each parameter takes";
const PATCH: &str = "change or remove it in the site's file (`solution site set`); `--dry-run --diff` without it shows the objects as the release has them";
const SEEN: &str =
    "write it into a file that only you can read, and give that with `--values FILE`";
const NOT_RECREATED: &str = "leave it out: only objects of sets are made anew, neither those of charts nor an operator's own";
const LOST: &str = "give the same value again with `--values FILE`; `--unset NAME` does without it, and generates another one where the archive asks for that";
const SITE_FILE: &str =
    "change the site's file (`solution site set`), or have the cluster get what it names";
const CONVERTED: &str =
    "delete these objects first, while their webhook is there: without it nobody could read them";
const PLAN_AGAIN: &str =
    "run the same command again: it makes a new plan, and nothing has to be pushed twice";

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
            return format!("importing needs 1.{oldest_minor} or newer");
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
        O::OtherArchive { .. } => "ask the publisher which is right; `--replace` accepts this one",
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
        O::CrdOwned { .. } => "two Solutions cannot own one CRD: remove the other Solution first",
        O::CrdUnowned { .. } => "find out who installed it; `--adopt crds` takes it over",
        O::NoCrds { .. } => NO_CRDS,
        O::NoOperator { .. } => "leave out `--environment`: the images become available without it",
        O::NoEnvironment { .. } | O::OtherNamespace { .. } => {
            "`solution environment list` shows all"
        }
        O::SeveralNamespaces { .. } => "choose one with `--namespace`",
        O::NamespaceReserved { .. } | O::NamespaceTaken { .. } => OTHER_NAMESPACE,
        O::NamespaceGoing { .. } => "wait until it is gone, then run the same command again",
        O::NamespaceReplaced { .. } | O::NamespaceUnowned { .. } => ADOPT_NAMESPACE,
        O::NoPriorityClass { .. } | O::NoNode { .. } | O::ImageVariable { .. } => SITE_FILE,
        O::OtherLogin { .. } => "also give `--pull-registry`, as nodes know it",
        O::NoLogin { .. } => NO_LOGIN,
        O::PushLogin { .. } => "have a login created that may only pull",
        O::OlderVersion { .. } => OLDER,
        O::NotUpgradable { .. } => "import a version in that range first",
        O::Unfit(unfit) => return fitting(unfit),
        O::Unmet(unmet) => return meeting(unmet),
        O::FieldsOwned { .. } => FIELDS_OWNED,
        O::ObjectRefused { .. } => CLUSTER_RULES,
        O::PodRefused { .. } => POD_RULES,
        O::PodsRefused { .. } => PODS_RULES,
        O::Above(above) => return ask(above),
        O::NotDeployed { .. } => "`solution status` shows what is deployed where",
        O::NothingBefore { .. } => NOTHING_BEFORE,
        O::NoRevision { .. } | O::OtherRevision { .. } | O::RevisionFailed { .. } => REVISIONS,
        O::ImportedAnew { .. } => IMPORTED_ANEW,
        O::NotImported { .. } | O::NothingImported { .. } => {
            "`solution status` lists what is imported"
        }
        O::NotActive { .. } => "`solution status` shows what is active",
        O::ServesNothing { .. } => "serve a version again, or delete the CRD yourself",
        O::InUse { .. } => "deleting the CRD would delete them: delete them yourself first",
        O::Used { .. } => "remove what uses it first",
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
            "`solution status` says how it does; run the same command again once it is ready"
        }
        Unmet::NeededKubernetes { .. } => {
            "upgrade the cluster, or ask the publisher for a version that is for it"
        }
        Unmet::NeededApi { .. } => NO_CRD,
        Unmet::NeededStorageClass { .. } => {
            "have whoever runs the cluster make it; `kubectl get storageclass` shows those that there are"
        }
        Unmet::NeededRoom { .. } | Unmet::NeededNodes { .. } => {
            "add nodes, or remove what is not needed; nodes that are cordoned, not Ready or tainted do not count"
        }
        Unmet::NeededInCircle { .. } => {
            "ask the publishers: one of them has to do without the other"
        }
        Unmet::NeededBy {
            needed_by,
            environment,
            ..
        } => {
            return format!(
                "`solution undeploy {needed_by} --environment {environment}` first, or upgrade it to a version that needs something else"
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
                "choose them again with `--chart-values {release}=FILE`, or take them back with `--unset {release}:`"
            );
        }
        Unfit::ValuesSource { .. } => SITE_FILE,
        Unfit::ValueUnnamed { .. } => "choose what it lies in, or have the site's file say it",
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
        Unfit::NoStorageClass { .. } => "`kubectl get storageclass` shows those that there are",
        Unfit::ValueSeen { .. } => SEEN,
        Unfit::PatchUnfit { .. } => PATCH,
        Unfit::ValueLost { .. } => LOST,
        Unfit::ValuesTooLarge { .. } => {
            "give large texts in objects of your own, which the release names"
        }
        Unfit::LabelGiven { .. } => "deploy one of them in another environment",
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
            "ask the publisher to have the CRD in the chart's `crds/`, or in a chart that this one `needs`"
        }
        (_, [_, ..], []) => "ask the publisher: the archive's objects and its CRD do not fit",
        _ => {
            "import an archive for a version that the cluster serves, or have what brings the CRD upgraded"
        }
    }
}

fn recreated(recreate: &Recreate) -> String {
    let pods = match recreate.kind.as_str() {
        "StatefulSet" => "; its pods stay, and are replaced one by one",
        _ => "",
    };
    format!("`--recreate {recreate}` removes it and makes it anew{pods}")
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
        "statefulset" => (" --cascade=orphan", "; its pods stay"),
        _ => ("", ""),
    };
    let name = &object.name;
    format!(
        "`kubectl delete {kind}{group}/{name}{place}{orphan}`, then run the same command again: {maker} makes what is missing{pods}"
    )
}

fn make_namespace(namespace: &str) -> String {
    format!(
        "create it before, with `kubectl create namespace {namespace}`, if whoever runs the cluster agrees; or ask the publisher for a chart that stays in its own"
    )
}

/// What who administers the cluster is to be asked for.
fn ask(above: &Above) -> String {
    let what = match above {
        Above::CrdInactive { .. } => "activate this version: `solution crds activate NAME VERSION`",
        Above::CarriesObjects { .. } | Above::ClusterObject { .. } => {
            "deploy it: `solution deploy NAME VERSION --environment NAME`"
        }
        Above::DeployedByOthers { .. } => "change it, with `--environment`",
        Above::NamespaceUnassigned { .. } => {
            "make it one's: `solution environment create NAME --namespace NAMESPACE --adopt namespace`"
        }
    };
    format!("have who administers the cluster {what}")
}

fn undeploy_first(solution: &SolutionName, environment: &EnvironmentName) -> String {
    format!("`solution undeploy {solution} --environment {environment}` first")
}

fn deactivate_first(solution: &SolutionName) -> String {
    format!(
        "activate another version with `solution crds activate {solution} VERSION`, or `solution crds deactivate {solution}` first"
    )
}

fn accept(id: &str) -> String {
    format!("read them in the plan; `--accept {id}` accepts them")
}

fn accept_reads(id: &str) -> String {
    format!(
        "`--accept {id}` lets the templates read these objects; then the plan shows what they make of them"
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
        "{first}`kubectl --namespace {namespace} create secret docker-registry {secret} --docker-server={host} --docker-username=… --docker-password=…`, or `--pull-login FILE` to have one created"
    )
}

fn create_first(environment: Option<&EnvironmentName>, namespace: &Namespace) -> String {
    environment.map_or(String::new(), |environment| {
        format!("`solution environment create {environment} --namespace {namespace}`, then ")
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
    format!("{meant}`solution inspect` shows the charts of a version")
}

/// How a site's file comes to fit an archive.
pub(crate) fn site_problem(problem: &SiteProblem) -> String {
    hints::fit(match problem {
        SiteProblem::Unknown { near, .. } => {
            let meant = near.as_ref();
            let meant = meant.map_or(String::new(), |name| format!("did you mean `{name}`? "));
            format!("{meant}`solution inspect ARCHIVE` shows what there is")
        }
        SiteProblem::Parameter { unfit, .. } => fitting(unfit),
        SiteProblem::Values { release, .. } => format!(
            "`solution archive values ARCHIVE` shows what the chart offers; `values.schema.json` lies in charts/{release}/chart.tgz (`solution archive cat`)"
        ),
    })
}

fn unknown_environment(near: Option<&EnvironmentName>) -> String {
    let meant = near.map_or(String::new(), |name| format!("did you mean `{name}`? "));
    format!("{meant}`--create-environment` creates it; `solution environment list` shows all")
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
        let make = "`--create-environment` creates it; `solution environment list` shows all";
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
        let command = "`kubectl delete statefulset.apps/db --namespace prod --cascade=orphan`";
        assert!(
            set.starts_with(command) && set.ends_with("its pods stay"),
            "{set}"
        );
        assert!(!set.contains("--recreate"), "{set}");
        let class = fix(ObjectRef::cluster_scoped(
            "storage.k8s.io/v1",
            "StorageClass",
            "fast",
        ));
        assert!(
            class.starts_with("`kubectl delete storageclass.storage.k8s.io/fast`"),
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
            "`kubectl delete deployment.apps/web-operator --namespace prod`, then run the same command again: the import makes what is missing"
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
        let make = "`kubectl --namespace prod-ns create secret docker-registry login --docker-server=pull.test:5000 --docker-username=… --docker-password=…`, or `--pull-login FILE` to have one created";
        assert_eq!(missing(None), make);
        let first = "`solution environment create prod --namespace prod-ns`, then ";
        assert_eq!(missing(Some("prod")), format!("{first}{make}"));
    }
}
