//! Imports an accepted archive: a plan compares it with a registry and a cluster, and applying the plan pushes the
//! images and writes the objects.
//!
//! Only a [`validator::Accepted`] can be imported and only a plan without obstacles can be applied. Objects are written
//! after every image is in the registry. This crate knows what a site records, plans and runs. It does not know how an
//! image is laid out, how a signature is checked, or how a blob is pushed to a registry. docs/concepts/environments.md
//! lists the objects that are written, with their names and in their order.
//!
//! `model` has the types that the other modules share. `plan` reads and decides, `apply` writes and waits, and `status`
//! and `history` report. `configuration` derives steps from the desired state of a site and from `status`. `gate` is
//! the proxy between Helm and the API server, and `renderer` is the post-renderer that Helm calls. `member` describes a
//! cluster of a fleet, and `hub` the cluster from which a fleet is changed. Open `plan/mod.rs` first, then
//! `apply/mod.rs`.

mod apply;
pub mod configuration;
mod gate;
mod history;
mod hub;
mod imported;
pub mod limits;
mod member;
mod model;
mod plan;
mod renderer;
mod status;

pub use apply::Receipt;
pub use apply::change::{Change, Run};
pub use apply::delete::{DeletedEnvironment, Left, Resources, delete as delete_environment};
pub use apply::environment::create as create_environment;
pub use apply::leased_environment;
pub use apply::lifecycle::{Undone, deactivate};
pub use apply::site::{KeptSite, SiteChange, keep as keep_site};
pub use apply::undeploy::{Brought, NoLongerNeeding, Undeployment, undeploy_alone};
pub use apply::unimport::{ImageTreatment, unimport};
pub use apply::uninstall::{Deletion, Leaving, Registries, registries};
pub use change::{Adopt, NotOurs, Recreate};
pub use history::{
    BackTo, ChangesOfFleet, History, Known, KnownChange, Skipped, Wanted, WayBack, history,
    way_back, way_back_of_fleet,
};
pub use hub::definition::{hub_definition, prepare_hub};
pub use hub::{HeldRollout, Hub, HubError};
pub use imported::{imported, imported_or_newest, mirrors, records};
pub use member::facts::{FoundFacts, find_facts};
pub use member::identity::{HeldMember, MemberError, check_uid, cluster_uid, held_member};
pub use member::network::ClusterNetwork;
pub use model::authority::Authority;
pub use model::cleanup::RemoveSets;
pub use model::config_map::{ALL_WRITTEN as RECORD_FORMATS_WRITTEN, READ as RECORD_FORMATS_READ};
pub use model::destination::{NamedRegistry, PushDestination};
pub use model::error::{Error, ExpandError, FailurePolicy};
pub use model::event::{Event, HelmEnd, ReleaseChange};
pub use model::evidence::{Gap, Sealed};
pub use model::fleet::FleetChoices;
pub use model::layer::SiteFileError;
pub use model::namespace_record::{Consent, EnvironmentNamespace, Grant, Origin};
pub use model::obstacle::{Above, KindIn, Obstacle, SourceProblem, Unfit};
pub use model::parameters::{
    AskedParameters, AskedValues, ChosenBefore, Given, ParameterValues, SecretNumber,
};
pub use model::receipt::{
    ChangeOrigin, ChangeReceipt, ChangeSubject, Outcome, Passage, Ran, Revision,
};
pub use model::record::place as record_place;
pub use model::request::{
    Adoption, Allowed, ChangeSigners, CreateEnvironment, Downgrade, ForgetSigners, Goal, HelmFrom,
    HelmProgram, LeftOpen, Login, Migrate, Nodes, PullLogin, Request, Target, Unproved,
};
pub use model::sight::{Hidden, Unseen};
pub use model::site::{HeldSite, SiteFile, SiteValue, operators_alone};
pub use model::unmet::Unmet;
pub use model::unpulled::Unpulled;
pub use model::uses::{EvenIfUsed, Hindered, Use};
pub use model::verb::Verb;
pub use model::writer::{HolderName, Seal, Turn, Writer, person};
pub use plan::alone::imported_for;
pub use plan::blocked_besides_registry;
pub use plan::compare::{Comparison, Running, Since, running};
pub use plan::file::{Moved, PlanFile, PlanFileError};
pub use plan::fleet_file::{
    AnewCluster, FiledCluster, FiledDeployment, FleetMoved, FleetPlanFile, MemberDeployment,
};
pub use plan::handover::{Handover, LeftSecret, NotForOthers};
pub use plan::migration::PlannedMigration;
pub use plan::offline::{Offer, SiteCompared, SiteProblem, compare_site, like_named};
pub use plan::order::{NoOrder, import_order};
pub use plan::outline::{DefinedResource, DefinedVersion, VersionOutline};
pub use plan::overlap::{Overlap, leave_to_first};
pub use plan::place::default_namespace;
pub use plan::releases::accepts_reads;
pub use plan::render::{
    ImaginedSite, ManifestSource, ManifestsOrObstacles, RenderedManifest, RenderedManifests,
    SecretValues,
};
pub use plan::rights::charts::RenderedRelease;
pub use plan::rights::manifests::{Subject, WantedRights};
pub use plan::rights::missing::missing_rights;
pub use plan::rights::roles::Manifest as RightsManifest;
pub use plan::rights::verbs::{RightsVerb, Within as WantedWithin};
pub use plan::summary::{
    PlanSummary, PlannedBeyond, PlannedChart, PlannedDefault, PlannedField, PlannedHelm,
    PlannedLaterPods, PlannedLine, PlannedNarrowing, PlannedObject, PlannedParameter, PlannedPatch,
    PlannedProof, PlannedRight, PlannedTarget,
};
pub use plan::versions::{
    BroughtBytes, ComparedContents, ComparedDefinition, ComparedDocument, ComparedImage,
    DocumentAction, DocumentKind, VersionComparison,
};
pub use plan::{Plan, Ready};
pub use renderer::{RendererError, postrender};
pub use status::describe::{
    DeployedOperator, Description, Identity, NamespaceDescription, Quota,
    describe as describe_environment,
};

pub use plan::readiness::{Condition, OperatorStatus, RunningRelease};
pub use status::site::{
    SiteChecked, SiteShown, SiteWorkload, check as check_site, show as show_site, site,
};
pub use status::support::{FreeText, SupportFile, SupportFiles, UnreadFile, support};
pub use status::{Status, VersionStatus, environments, status};
