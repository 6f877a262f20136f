//! The part of a plan that is about one environment: its namespace, the operator's objects, and what runs there now.

use deployer::{Cluster, Object, ObjectRef};
use schemas::{Namespace, OperatorScope, SolutionId, Version};
use validator::Accepted;

use crate::crd::Adopt;
use crate::default_account::DefaultAccount;
use crate::environment;
use crate::error::Error;
use crate::expand::Expand;
use crate::obstacle::Obstacle;
use crate::operator::Rendering;
use crate::plan::Deployment;
use crate::record::{self, Record};
use crate::request::{ClusterScope, Downgrade, Request, Target};
use crate::state::State;
use crate::vocabulary as v;

/// Everything that a deployment is planned from.
#[derive(Debug)]
pub(crate) struct Planner<'a> {
    pub(crate) accepted: &'a Accepted,
    pub(crate) cluster: &'a Cluster,
    pub(crate) request: &'a Request,
    pub(crate) id: &'a SolutionId,
    pub(crate) state: &'a State,
    pub(crate) record: &'a Record,
}

impl Planner<'_> {
    /// The deployment, or what is in its way.
    pub(crate) async fn deployment(
        &self,
        target: Target,
        obstacles: &mut Vec<Obstacle>,
    ) -> Result<Option<Deployment>, Error> {
        let Some(operator) = &self.accepted.manifest().spec.operator else {
            obstacles.push(Obstacle::no(
                format!(
                    "{} has no operator, so nothing can run in an environment",
                    self.id
                ),
                "leave out `--environment`: the images become available without it",
            ));
            return Ok(None);
        };
        self.check_scope(operator.scope, obstacles);
        let live = self
            .cluster
            .get(&environment::namespace_reference(&target.namespace))
            .await?;
        obstacles.extend(environment::check_reserved(&target.namespace).err());
        self.check_namespace(live.as_ref(), &target, obstacles);
        self.check_pull_secret(live.as_ref(), &target, obstacles)
            .await?;
        let previous = self
            .state
            .running(&target.namespace, self.id.name())
            .cloned();
        self.check_upgrade(previous.as_ref(), obstacles);
        let config = record::operator_config(self.records());
        let images = Expand::new(
            &self.record.endpoint,
            self.record
                .images
                .iter()
                .map(|image| (&image.image, image.digest)),
        );
        let default_account = DefaultAccount::read(self.cluster, &target.namespace).await?;
        let rendering = Rendering {
            id: self.id,
            operator,
            roles: self.accepted.roles(),
            environment: &target.environment,
            namespace: &target.namespace,
            config: &config,
            images: &images,
            pull_secret: target
                .pull_secret
                .as_ref()
                .map(schemas::KubernetesName::as_str),
            default_account: &default_account,
        };
        let objects: Vec<Object> = rendering
            .objects()?
            .into_iter()
            .map(Object::new)
            .collect::<Result<_, _>>()?;
        self.check_owners(&objects, obstacles).await?;
        let operator = rendering.operator_name();
        let namespace = Object::new(environment::namespace(&target, live.as_ref(), self.state))?;
        Ok(Some(Deployment {
            target,
            namespace,
            objects,
            operator,
            previous,
            namespace_was_there: live.is_some(),
        }))
    }

    /// Every version of the Solution that is imported, and this one.
    fn records(&self) -> impl Iterator<Item = &Record> {
        let other = |record: &&Record| {
            record.name == self.record.name && record.version != self.record.version
        };
        self.state.records.iter().filter(other).chain([self.record])
    }

    fn check_scope(&self, scope: OperatorScope, obstacles: &mut Vec<Obstacle>) {
        if scope == OperatorScope::Cluster
            && self.request.allowed.cluster_scope == ClusterScope::Refuse
        {
            obstacles.push(Obstacle::no(
                format!(
                    "the operator of {} wants its rights in the whole cluster",
                    self.id
                ),
                "read role.yaml (`solution inspect --files`); `--allow-cluster-scope` grants it",
            ));
        }
    }

    fn check_namespace(
        &self,
        live: Option<&Object>,
        target: &Target,
        obstacles: &mut Vec<Obstacle>,
    ) {
        let Target {
            namespace,
            environment,
            ..
        } = target;
        let Some(live) = live else { return };
        if live.is_being_deleted() {
            obstacles.push(Obstacle::no(
                format!("namespace `{namespace}` is being deleted"),
                "wait until it is gone, then run the same command again",
            ));
        }
        match live.labels().get(v::ENVIRONMENT) {
            Some(owner) if *owner == environment.as_str() => {}
            Some(owner) => obstacles.push(Obstacle::no(
                format!("namespace `{namespace}` belongs to the environment `{owner}`"),
                "choose another namespace with `--namespace`",
            )),
            None if self.request.allowed.adopt == Adopt::Allow => {}
            None => obstacles.push(Obstacle::no(
                format!("namespace `{namespace}` exists and belongs to no environment"),
                "choose another with `--namespace`, or take it over with `--adopt`",
            )),
        }
    }

    /// Names are the archive's: an object of that name may be somebody else's, and is not taken from him.
    async fn check_owners(
        &self,
        objects: &[Object],
        obstacles: &mut Vec<Obstacle>,
    ) -> Result<(), Error> {
        let solution = self.id.name();
        for object in objects
            .iter()
            .filter(|object| object.labels().contains_key(v::SOLUTION))
        {
            let Some(live) = look(self.cluster, object.reference()).await? else {
                continue;
            };
            let owner = live
                .labels()
                .get(v::SOLUTION)
                .copied()
                .unwrap_or("nobody that is known here");
            if owner != solution.as_str() {
                obstacles.push(Obstacle::no(
                    format!("{} exists and belongs to {owner}", object.reference()),
                    "choose another namespace with `--namespace`, or remove the object if nobody needs it",
                ));
            }
        }
        Ok(())
    }

    /// A pull secret is the site's: it must be there, or no pod will start.
    async fn check_pull_secret(
        &self,
        live: Option<&Object>,
        target: &Target,
        obstacles: &mut Vec<Obstacle>,
    ) -> Result<(), Error> {
        let Target {
            namespace,
            environment,
            pull_secret: Some(secret),
        } = target
        else {
            return Ok(());
        };
        let reference = ObjectRef::namespaced("v1", "Secret", namespace.as_str(), secret.as_str());
        if live.is_some() {
            match self.cluster.get(&reference).await {
                // Whoever may not look at Secrets may still have been told its name.
                Ok(Some(_)) | Err(deployer::Error::Forbidden { .. }) => return Ok(()),
                Ok(None) => {}
                Err(error) => return Err(error.into()),
            }
        }
        let create = if live.is_none() {
            format!("`solution environment create {environment} --namespace {namespace}`, then ")
        } else {
            String::new()
        };
        obstacles.push(Obstacle::no(
            format!("Secret `{secret}` is not in namespace `{namespace}`"),
            format!(
                "{create}`kubectl --namespace {namespace} create secret docker-registry {secret} --docker-server={} --docker-username=… --docker-password=…`",
                self.request.pull_registry.host()
            ),
        ));
        Ok(())
    }

    fn check_upgrade(&self, previous: Option<&Version>, obstacles: &mut Vec<Obstacle>) {
        let Some(previous) = previous else { return };
        let version = self.id.version();
        if previous > version && self.request.allowed.downgrade == Downgrade::Refuse {
            obstacles.push(Obstacle::no(
                format!("version {previous} runs there, and {version} is older"),
                "operators rarely understand newer data: `--allow-downgrade` does it all the same",
            ));
        }
        let range = &self.accepted.statement().predicate.upgrade_from;
        if let Some(range) = range
            .as_ref()
            .filter(|range| previous < version && !range.contains(previous))
        {
            obstacles.push(Obstacle::no(
                format!("version {previous} runs there, and {version} upgrades only from {range}"),
                "import a version in that range first",
            ));
        }
    }
}

/// An object as it is; nothing where this user may not look. That he may is asked with all other rights.
pub(crate) async fn look(cluster: &Cluster, object: &ObjectRef) -> Result<Option<Object>, Error> {
    match cluster.get(object).await {
        Err(deployer::Error::Forbidden { .. }) => Ok(None),
        other => Ok(other?),
    }
}

/// The namespace of an environment when none is chosen: its own name.
///
/// # Panics
///
/// Never: both are DNS labels.
#[must_use]
pub fn default_namespace(environment: &schemas::EnvironmentName) -> Namespace {
    environment
        .as_str()
        .parse()
        .expect("an environment's name is a DNS label, as a namespace's is")
}
