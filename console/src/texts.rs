//! The texts of the console. Texts about plans, errors and blockers come from the program and its libraries.

use std::fmt::Display;

use importer::RightsVerb;
use kubernetes::Access;

pub(crate) const PRODUCT: &str = "Solution console";
pub(crate) const SKIP: &str = "Skip to the content";
pub(crate) const NAVIGATION: &str = "Pages";
pub(crate) const ENVIRONMENTS: &str = "Environments";
pub(crate) const SOLUTIONS: &str = "Solutions";
pub(crate) const RUNS: &str = "Runs";
pub(crate) const HISTORY: &str = "History";
pub(crate) const SESSION: &str = "Your session";
pub(crate) const LOG_OUT: &str = "Log out";

pub(crate) const PAGE: &str = "this page";
pub(crate) const VERSION_OF_PATH: &str = "the version in this address";
pub(crate) const NOT_LOGGED_IN: &str = "you are not logged in";
pub(crate) const WRONG_TOKEN: &str = "the token in this address is not valid";
pub(crate) const LOG_IN: &str = "Log in";
pub(crate) const NO_LOGIN: &str =
    "cannot complete the login: it did not begin in this browser, or it took too long";
pub(crate) const TOO_MANY_LOGINS: &str =
    "cannot complete the login: too many logins at the same time; load the page again";
pub(crate) const NO_PROVIDER: &str = "cannot reach the identity provider";
pub(crate) const CHECK_PROVIDER: &str = "load the page again; if the problem remains, check the identity provider and the settings of the console";
pub(crate) const UNKNOWN_ISSUER: &str = "check that the API server accepts tokens of the identity provider for this console (its `--authentication-config`)";
pub(crate) const LOGIN_REFUSED: &str = "the login was not accepted";
pub(crate) const LOGIN_ENDED: &str = "your login has ended";
pub(crate) const OTHER_HOST: &str = "this console does not serve the host of the request";
pub(crate) const OTHER_METHOD: &str = "this page does not accept this method";
pub(crate) const NO_ORIGIN: &str = "cannot make a change: the request does not state its origin";
pub(crate) const OTHER_ORIGIN: &str = "cannot make a change: the request comes from another site";
pub(crate) const TOO_MANY_RUNS: &str = "cannot start another run: too many changes are running";
pub(crate) const PANICKED: &str = "the run ended because of an error in the program";
pub(crate) const GONE_PLAN: &str = "this plan was already applied, or it is too old";
pub(crate) const GONE_PROPOSAL: &str = "this proposal does not exist, or it is too old";
pub(crate) const PROPOSE: &str = "Leave it for a second person";
pub(crate) const PROPOSE_HELP: &str =
    "The second person plans the change again, and applies it with their own permissions.";
pub(crate) const PROPOSED_BY: &str = "Proposed by";
pub(crate) const SEND_PROPOSAL: &str = "Send the address of this page to a second person who can log in to this console. It is valid for 24 hours, or until the console ends.";
pub(crate) const SECOND_PERSON: &str =
    "You see the plan with your own permissions before anything changes.";
pub(crate) const PLAN_AGAIN: &str = "create the plan again";
pub(crate) const NO_CONSENT: &str =
    "cannot apply the plan: it needs your consent to effects outside the environment";
pub(crate) const BLOCKED: &str = "cannot apply the plan: it is blocked";
pub(crate) const CHANGED: &str = "the environment has changed since the plan was shown";
pub(crate) const LATE_BODY: &str = "the form was not sent in time";
pub(crate) const LARGE_FORM: &str = "the form has too many fields";

pub(crate) const ENVIRONMENT: &str = "Environment";
pub(crate) const NAMESPACE: &str = "Namespace";
pub(crate) const SOLUTION: &str = "Solution";
pub(crate) const VERSION: &str = "Version";
pub(crate) const PODS: &str = "Pods";
pub(crate) const STATUS: &str = "Status";
pub(crate) const UPGRADE: &str = "Upgrade";
pub(crate) const DESCRIPTION: &str = "Description";
pub(crate) const OPTIONAL: &str = "optional";

pub(crate) const READY: &str = "ready";
pub(crate) const NOT_READY: &str = "not ready";
pub(crate) const OTHER_VERSION: &str = "another version runs";
pub(crate) const CHANGED_SINCE: &str = "changed since the deployment";
pub(crate) const MISSING: &str = "missing";
pub(crate) const UNKNOWN: &str = "unknown";
pub(crate) const ALLOW_DOWNGRADE: &str = "Allow an older version than the running one";
pub(crate) const ADOPT_OBJECTS: &str = "Adopt existing objects that belong to no Solution";
pub(crate) const ADOPT_CRDS: &str = "Adopt existing CRDs that belong to no Solution";
pub(crate) const TAKE_OVER: &str = "Take over fields that are owned by another field manager";
pub(crate) const NO_PULL_TEST: &str = "Deploy without a test pull of the image";
pub(crate) const NO_ENVIRONMENTS: &str = "There is no environment yet. An environment is a namespace, or several, in which Solutions run.";
pub(crate) const CREATE_ENVIRONMENT: &str = "Create an environment";
pub(crate) const CREATE: &str = "Create";
pub(crate) const NAMESPACE_HELP: &str =
    "If you leave this empty, it is the name of the environment.";
pub(crate) const CREATE_HELP: &str =
    "This creates the namespace, or fails if a namespace with this name exists.";
pub(crate) const NOTHING_DEPLOYED: &str = "Nothing is deployed here.";
pub(crate) const BEING_DELETED: &str = "The namespace is being deleted";
pub(crate) const DEPLOY_SOLUTION: &str = "Deploy a Solution";
pub(crate) const DELETE_ENVIRONMENT: &str = "Delete the environment";
pub(crate) const DELETE_RESOURCES: &str =
    "Also delete remaining workloads, volumes and custom resources";
pub(crate) const SHOW_PLAN: &str = "Show the plan";
pub(crate) const PLAN_FIRST: &str = "You see the plan first. Nothing changes before you apply it.";
pub(crate) const INCOMPLETE: &str = "Incomplete changes";
pub(crate) const NOTES: &str = "Notes";
pub(crate) const UNSEEN: &str = "Your permissions hide some objects";

pub(crate) const FILTER: &str = "Filter by name or version";
pub(crate) const APPLY_FILTER: &str = "Filter";
pub(crate) const TABLE_PAGES: &str = "Pages of the table";
pub(crate) const PREVIOUS_PAGE: &str = "Previous";
pub(crate) const NEXT_PAGE: &str = "Next";
pub(crate) const NO_SOLUTIONS: &str = "No Solution is imported yet.";
pub(crate) const IMPORTED: &str = "Imported";
pub(crate) const SIGNED_BY: &str = "Signed by";
pub(crate) const NOT_SIGNED: &str = "not signed";
pub(crate) const KEY: &str = "key";
pub(crate) const ARCHIVE: &str = "Archive";
pub(crate) const REGISTRY: &str = "Registry";
pub(crate) const EXPIRES: &str = "Expires";
pub(crate) const IMAGES: &str = "Images";
pub(crate) const IMAGE: &str = "Image";
pub(crate) const DIGEST: &str = "Digest";
pub(crate) const PARAMETERS: &str = "Parameters";
pub(crate) const PARAMETER: &str = "Parameter";
pub(crate) const DEFAULT: &str = "Default";
pub(crate) const TYPE: &str = "Type";
pub(crate) const CRDS: &str = "CRDs";
pub(crate) const ACTIVE: &str = "active";
pub(crate) const NOT_ACTIVE: &str = "not active";
pub(crate) const DEPLOYED_IN: &str = "Deployed in";
pub(crate) const CHARTS: &str = "Charts";
pub(crate) const SECRET_VALUE: &str = "not shown";
pub(crate) const GENERATED: &str = "generated";
pub(crate) const REQUIRED: &str = "required";

pub(crate) const CHANGE_VALUES: &str = "Change values";
pub(crate) const ROLL_BACK: &str = "Roll back";
pub(crate) const UNDEPLOY: &str = "Undeploy";
pub(crate) const KEEP_VALUE: &str = "Leave a field empty to keep its value.";
pub(crate) const UNCHANGED: &str = "keep the current value";
pub(crate) const USE_DEFAULT: &str = "Use the default";
pub(crate) const CURRENT: &str = "Current value:";
pub(crate) const YAML_VALUES: &str = "Values as YAML";
pub(crate) const YAML_HELP: &str =
    "A map from parameters to values. It has precedence over the fields above.";
pub(crate) const CHART_VALUES_HELP: &str =
    "YAML in the form of the chart's values. It overrides the archive and the site configuration.";
pub(crate) const OPTIONS: &str = "Exceptions";
pub(crate) const OPTIONS_HELP: &str = "A plan that needs one of these is blocked without it.";
pub(crate) const PULL_SECRET: &str = "Pull secret";
pub(crate) const PULL_SECRET_HELP: &str = "A Secret in the namespace with the registry login of nodes. If you leave this empty, the running version's pull secret or the site configuration applies.";
pub(crate) const BEFORE: &str = "The deployment before the current one";
pub(crate) const REVISION: &str = "Revision";
pub(crate) const TARGET: &str = "Roll back to";
pub(crate) const UNDEPLOY_HELP: &str =
    "Custom resources, and the objects that the operator created for them, are kept.";
pub(crate) const ALL_NAMESPACES: &str = "All namespaces of the environment";

pub(crate) const NOT_APPLICABLE: &str = "The plan cannot be applied";
pub(crate) const FIX: &str = "Fix:";
pub(crate) const CONSENT: &str = "Effects outside the environment";
pub(crate) const CONSENT_HELP: &str =
    "These effects reach beyond the namespaces of the environment and need your consent.";
pub(crate) const CONSENT_GIVEN: &str = "Consent was given before.";
pub(crate) const I_CONSENT: &str = "I consent to these effects";
pub(crate) const NEW: &str = "new";
pub(crate) const DANGEROUS: &str = "dangerous";
pub(crate) const RIGHTS: &str = "Rights and custom resources";
pub(crate) const PERMISSION: &str = "Permission";
pub(crate) const RIGHTS_HELP: &str = "The rights of the operator and its objects in an environment and a namespace that are both called `any`. Rights of Helm charts are shown in the plan.";
pub(crate) const NO_RIGHTS_AT_ALL: &str = "The version needs no rights.";
pub(crate) const KIND: &str = "Kind";
pub(crate) const SCOPE: &str = "Scope";
pub(crate) const RIGHTS_GAINED: &str = "Rights gained";
pub(crate) const RIGHTS_LOST: &str = "Rights lost";
pub(crate) const NO_RIGHTS: &str = "The rights of the operator do not change.";
pub(crate) const DANGERS: &str = "Dangerous effects in the environment";
pub(crate) const CHANGES: &str = "Changes";
pub(crate) const NO_CHANGES: &str = "No object changes.";
pub(crate) const REMOVED: &str = "Removed";
pub(crate) const APPLIED_FIRST: &str = "Applied before the removal";
pub(crate) const KEPT: &str = "Kept";
pub(crate) const NOTHING_TO_DO: &str = "Everything is in place already. If you apply the plan, the console completes an interrupted change and waits until the Solution is ready.";
pub(crate) const APPLY: &str = "Apply the plan";
pub(crate) const FINDINGS: &str = "Findings in the archive";
pub(crate) const CLUSTER: &str = "Cluster";
pub(crate) const TO_PUSH: &str = "To push";
pub(crate) const SOURCE: &str = "Source";
pub(crate) const VALUE: &str = "Value";
pub(crate) const RELEASES: &str = "Chart releases";
pub(crate) const CHART: &str = "Chart";
pub(crate) const ACTION: &str = "Action";

pub(crate) const NO_RUNS: &str =
    "This console has made no change since it was started. The history lists all changes.";
pub(crate) const RUNNING: &str = "in progress";
pub(crate) const DONE: &str = "done";
pub(crate) const FAILED: &str = "failed";
pub(crate) const CANCELLED: &str = "cancelled";
pub(crate) const PROGRESS: &str = "Progress";
pub(crate) const PUSHED: &str = "Bytes pushed";
pub(crate) const REFRESH: &str = "Refresh";
pub(crate) const CANCEL: &str = "Cancel";
pub(crate) const CANCEL_HELP: &str =
    "A cancelled change is incomplete. Create the same plan again to complete it.";
pub(crate) const DONE_HELP: &str = "The change is complete.";
pub(crate) const CANCELLED_HELP: &str =
    "The change was cancelled and is incomplete. Create the same plan again to complete it.";
pub(crate) const RESULT: &str = "Result";
pub(crate) const CHANGE: &str = "Change";
pub(crate) const NO_CHANGES_YET: &str = "No change was made to this cluster yet.";
pub(crate) const TIME: &str = "Time";
pub(crate) const COMMAND: &str = "Command";
pub(crate) const PREVIOUS: &str = "Previous version";
pub(crate) const BY: &str = "By";
pub(crate) const OLDER: &str = "Older changes";
pub(crate) const WRITTEN: &str = "Created or changed";
pub(crate) const INTERRUPTED: &str = "interrupted";
pub(crate) const ROLLED_BACK: &str = "rolled back";
pub(crate) const NONE: &str = "none";

pub(crate) const YOU: &str = "You are";
pub(crate) const UNKNOWN_USER: &str = "the API server does not name the user";
pub(crate) const SERVER: &str = "API server";
pub(crate) const KUBERNETES: &str = "Kubernetes";
pub(crate) const PROVIDER: &str = "Identity provider";
pub(crate) const PROVIDER_NAME: &str = "Name at the identity provider";
pub(crate) const GROUPS: &str = "Groups at the identity provider";
pub(crate) const LOG_OUT_PROVIDER: &str = "Log out of the identity provider";
pub(crate) const PERMISSIONS: &str = "What you may do";
pub(crate) const PERMISSIONS_HELP: &str = "These permissions are needed with every Solution. The plan of a version shows what else is missing.";
pub(crate) const EVERYWHERE: &str = "in all environments";
pub(crate) const ALLOWED: &str = "allowed";
pub(crate) const MISSING_RIGHTS: &str = "missing permissions:";
pub(crate) const VERBS: [(RightsVerb, &str); 9] = [
    (RightsVerb::Status, "See environments and Solutions"),
    (RightsVerb::Deploy, "Deploy Solutions"),
    (RightsVerb::Undeploy, "Undeploy Solutions"),
    (RightsVerb::Environment, "Create and delete environments"),
    (RightsVerb::Import, "Import Solutions"),
    (RightsVerb::Activate, "Activate CRDs"),
    (RightsVerb::Deactivate, "Remove CRDs"),
    (RightsVerb::Unimport, "Unimport Solutions"),
    (
        RightsVerb::Console,
        "Read registries with the logins of this console",
    ),
];
pub(crate) const AS_YOU: &str =
    "The console reads and changes the cluster with the permissions of this user.";
pub(crate) const LOGGED_OUT: &str = "You are logged out. Runs that were started continue.";
pub(crate) const PROBLEM: &str = "Problem";
pub(crate) const CAUSES: &str = "Causes";
pub(crate) const NEXT_STEPS: &str = "Next steps";
pub(crate) const REMOVALS_HELP: &str = "These objects are removed.";

pub(crate) fn not_found(what: impl Display) -> String {
    format!("{what} does not exist")
}

pub(crate) fn environment(name: impl Display) -> String {
    format!("environment {name}")
}

pub(crate) fn environment_title(name: impl Display) -> String {
    format!("Environment {name}")
}

pub(crate) fn revision_title(number: impl Display) -> String {
    format!("Revision {number}")
}

pub(crate) fn run(id: impl Display) -> String {
    format!("run {id}")
}

pub(crate) fn revision(number: impl Display) -> String {
    format!("revision {number}")
}

pub(crate) fn imported_version(solution: impl Display, version: impl Display) -> String {
    format!("version {version} of {solution}")
}

pub(crate) fn rights_of(solution: impl Display, version: impl Display) -> String {
    format!("Rights of {solution} {version}")
}

pub(crate) fn rows(first: usize, last: usize, all: usize) -> String {
    if all == 0 {
        return "No row matches the filter.".to_owned();
    }
    format!("{first}–{last} of {all}")
}

pub(crate) fn environments(number: usize) -> String {
    format!("{number} environments")
}

pub(crate) fn to(version: impl Display) -> String {
    format!("Upgrade to {version}")
}

pub(crate) fn deploy_to(solution: impl Display, environment: impl Display) -> String {
    format!("Deploy {solution} to {environment}")
}

pub(crate) fn roll_back_in(solution: impl Display, environment: impl Display) -> String {
    format!("Roll back {solution} in {environment}")
}

pub(crate) fn undeploy_from(solution: impl Display, environment: impl Display) -> String {
    format!("Undeploy {solution} from {environment}")
}

pub(crate) fn delete_environment(name: impl Display) -> String {
    format!("Delete environment {name}")
}

pub(crate) fn create_environment(name: impl Display) -> String {
    format!("Create environment {name}")
}

pub(crate) fn deploy_here(name: impl Display) -> String {
    format!("Deploy a Solution to {name}")
}

pub(crate) fn chart_values(release: impl Display) -> String {
    format!("Values of chart release {release}")
}

pub(crate) fn wrong_field(field: impl Display, why: impl Display) -> String {
    format!("cannot use the field {field}: {why}")
}

pub(crate) fn bytes_of(missing: impl Display, all: impl Display, registry: impl Display) -> String {
    format!("{missing} of {all}, to {registry}")
}

pub(crate) fn cluster(
    context: Option<&str>,
    server: impl Display,
    kubernetes: impl Display,
) -> String {
    let context = context.map_or_else(String::new, |context| format!("{context} at "));
    format!("{context}{server} (Kubernetes {kubernetes})")
}

pub(crate) fn place(environment: impl Display, namespace: impl Display) -> String {
    format!("environment {environment}, namespace {namespace}")
}

pub(crate) fn unreadable(what: impl Display, right: impl Display) -> String {
    format!("{what} ({right})")
}

/// The origin of a plan that another user has proposed, and whether that user saw the same plan.
pub(crate) fn origin(by: &str, is_same: Option<bool>) -> String {
    let saw = match is_same {
        Some(true) => "and saw the same plan",
        Some(false) => {
            "and saw another plan: the cluster has changed since then, or your permissions differ"
        }
        None => "and saw a plan that was blocked, so it cannot be compared with this one",
    };
    format!("{by} has proposed this change, {saw}.")
}

/// The problem of a user whom the console may not impersonate.
pub(crate) fn not_listed(user: &str) -> String {
    format!("this console may not act for the user `{user}`")
}

/// The problem of a user without a permission.
pub(crate) fn no_right(access: &Access) -> String {
    format!("you do not have the permission to {access}")
}

/// The rule that a cluster administrator can add to a role.
pub(crate) fn missing_rule(access: &Access) -> String {
    let Access {
        verb,
        group,
        resource,
        name,
        ..
    } = access;
    let name = name.as_deref().unwrap_or_default();
    format!(
        "ask a cluster administrator for a ClusterRole with this rule: apiGroups [\"{group}\"], resources [\"{resource}\"], verbs [\"{verb}\"], and no resourceNames or [\"{name}\"]"
    )
}
