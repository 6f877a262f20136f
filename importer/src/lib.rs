//! Imports an accepted archive: a plan compares it with a registry and a cluster, and applying the plan pushes the
//! images and writes the objects.
//!
//! Only a [`validator::AcceptedArchive`] can be imported and only a plan without blockers can be applied. Objects are written
//! after every image is in the registry. This crate knows what a site records, plans and runs. It does not know how an
//! image is laid out, how a signature is checked, or how a blob is pushed to a registry. docs/concepts/environments.md
//! lists the objects that are written, with their names and in their order.
//!
//! The folders, from the lowest to the highest; a folder uses only folders above it in this list:
//!
//! - `model` has the types that all folders share: requests, events, errors and blockers.
//! - `records` reads and writes the records of a site in its cluster, such as receipts and inventories.
//! - `hub` is the cluster from which a fleet is changed.
//! - `helm_proxy` is the proxy between Helm and the API server, and `renderer` is the post-renderer that Helm calls.
//! - `choices` resolves what a site and a user have chosen: parameters, chart values, patches and workload settings.
//! - `objects` computes the desired objects of operators, manifest sets and charts, and which others are removed.
//! - `status` reports the state of a site.
//! - `decide` combines these into one decision: what is written and removed, and what needs consent or further rights.
//! - `member` describes a cluster of a fleet.
//! - `plan` shows decisions to users and programs, and stores them in files.
//! - `apply` writes to the cluster and waits.
//! - `configuration` derives steps from the desired state of a site and from `status`.
//!
//! Open `decide/decision.rs` first, then `plan/mod.rs` and `apply/mod.rs`.

mod apply;
mod choices;
pub mod configuration;
mod decide;
mod helm_proxy;
mod hub;
pub mod limits;
mod member;
mod model;
mod objects;
mod plan;
mod records;
mod renderer;
mod status;

pub use apply::change::{Change, KeptSite, SiteChange, keep as keep_site};
pub use apply::environment::{
    DeletedEnvironment, NamespaceOutcome, create as create_environment,
    delete as delete_environment,
};
pub use apply::lifecycle::{RemovalReport, deactivate};
pub use apply::shown::ShownImport;
pub use apply::undeploy::{FleetVersion, NoLongerNeeding, Undeployment, undeploy_alone};
pub use apply::unimport::{ImageTreatment, unimport};
pub use apply::uninstall::{Deletion, DepartingOperator, Registries, registries};
pub use apply::{Receipt, leased_environment};
pub use choices::destination::{NamedRegistry, PushDestination, default_namespace};
pub use decide::prerequisites::{CyclicPrerequisites, import_order};
pub use decide::rights::manifests::{Subject, WantedRights};
pub use decide::rights::missing::{denied_rights, imported_for, missing_rights};
pub use decide::rights::rendered::RenderedRelease;
pub use decide::rights::roles::Manifest as RightsManifest;
pub use decide::rights::verbs::{RightsScope, RightsVerb};
pub use hub::{HeldRollout, Hub, HubError, hub_definition, prepare_hub};
pub use member::facts::{FoundFacts, find_facts};
pub use member::{ClusterNetwork, HeldMember, MemberError, check_uid, cluster_uid, held_member};
pub use model::blocker::prerequisites::UnmetPrerequisite;
pub use model::blocker::{AdministratorTask, Blocker, ContentBlocker, KindIn, SourceProblem};
pub use model::error::{
    Error, EvenIfUsed, ExpandError, FailedPull, FailurePolicy, RemovalBlocked, Use,
};
pub use model::event::{Event, HelmEnd, ReleaseChange};
pub use model::layer::{FleetChoices, SiteFileError};
pub use model::parameters::{
    AskedParameters, AskedValues, ChosenBefore, GivenValue, ParameterValues, SecretNumber,
};
pub use model::request::{
    Adoption, ChangeSigners, CreateEnvironment, Downgrade, Exceptions, FleetPart, ForgetSigners,
    Goal, HelmProgram, LeftOpen, Login, Migrate, Nodes, PullLogin, Request, RequestContext, Target,
    TimeLimits, Unproved,
};
pub use model::writer::{Authority, HolderName, LeaseConflictPolicy, Seal, Verb, Writer, person};
pub use objects::changes::{PlannedChart, PlannedField, PlannedNarrowing, PlannedObject};
pub use objects::migration::PlannedMigration;
pub use objects::needs::registry_access;
pub use objects::releases::accepts_reads;
pub use plan::compare::{Comparison, ComparisonBase, Running, running};
pub use plan::file::{PlanChange, PlanFile, PlanFileError};
pub use plan::fleet_file::{
    FiledCluster, FiledDeployment, FleetPlanChange, FleetPlanFile, MemberDeployment,
    ReplannedCluster,
};
pub use plan::handover::{Handover, HandoverProblem, LeftSecret, Overlap, leave_to_first};
pub use plan::imported::{CheckedArchive, ImportedVersion};
pub use plan::offline::{ConfigurableParts, SiteCompared, SiteProblem, compare_site, like_named};
pub use plan::outline::{DefinedResource, DefinedVersion, VersionOutline};
pub use plan::render::{
    ImaginedSite, ManifestSource, ManifestsOrBlockers, RenderedManifest, RenderedManifests,
    SecretValues,
};
pub use plan::summary::{
    PlanSummary, PlannedDefault, PlannedEffects, PlannedHelm, PlannedLaterPods, PlannedLine,
    PlannedParameter, PlannedPatch, PlannedProof, PlannedRight, PlannedTarget,
};
pub use plan::versions::{
    BroughtBytes, ComparedContents, ComparedDefinition, ComparedDocument, ComparedImage,
    DocumentAction, DocumentKind, VersionComparison,
};
pub use plan::{Plan, Ready, blocked_besides_registry};
pub use planner::{AdoptionPolicy, OwnershipConflict, RecreateRequest};
pub use records::cleanup::RemoveSets;
pub use records::history::{
    ChangeFilter, ChangesOfFleet, History, KnownChange, ReceiptPosition, RollbackTarget,
    SkipReason, WayBack, history, way_back, way_back_of_fleet,
};
pub use records::namespace_record::{Consent, EnvironmentNamespace, Grant, Origin};
pub use records::receipt::{
    ChangeOrigin, ChangeReceipt, ChangeSubject, Outcome, Revision, Transition, VersionRun,
};
pub use records::receipts::{ReceiptEnvelope, ReceiptSignature, RevisionGap};
pub use records::record::place as record_place;
pub use records::site::{HeldSite, SiteFile, SiteValue, operators_alone};
pub use records::state::{imported, imported_or_newest, mirrors, records};
pub use records::storage::{ALL_WRITTEN as RECORD_FORMATS_WRITTEN, READ as RECORD_FORMATS_READ};
pub use records::visibility::{UnreadablePart, UnreadableScope};
pub use renderer::{RendererError, postrender};
pub use status::describe::{
    DeployedOperator, Description, Identity, NamespaceDescription, Quota,
    describe as describe_environment,
};
pub use status::readiness::{Condition, OperatorStatus, RunningRelease};
pub use status::site::{
    SiteChecked, SiteShown, SiteWorkload, check as check_site, show as show_site, site,
};
pub use status::support::{SupportFile, SupportFiles, UnreadFile, support};
pub use status::{Overview, Status, VersionStatus, environments, overview, status};
