//! What was asked for, as far as it decides what is planned: without who asked, and without passwords.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use change::Recreate;
use registry::RegistryAddress;
use schemas::{EnvironmentName, KubernetesName, Namespace, StatementTime};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::limits;
use crate::model::authority::Authority;
use crate::model::error::Error;
use crate::model::parameters::AskedParameters;
use crate::model::request::{
    Allowed, Goal, HelmFrom, HelmProgram, LeftOpen, Missing, Nodes, PullLogin, Request, Target,
};
use crate::model::verb::Verb;
use crate::model::writer::Writer;

/// A request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct FiledRequest {
    registry: Address,
    pull_registry: Option<Address>,
    #[serde(default, skip_serializing_if = "Missing::is_pushed")]
    missing: Missing,
    goal: FiledGoal,
    pub(super) allowed: Allowed,
    accepted: BTreeSet<String>,
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    recreate: BTreeSet<Anew>,
    verb: Verb,
    from_site: BTreeSet<LeftOpen>,
    wait: Seconds,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum FiledGoal {
    Available,
    Activated,
    Deployed(FiledTarget),
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct FiledTarget {
    environment: EnvironmentName,
    namespace: Option<Namespace>,
    pull_login: FiledLogin,
    #[serde(default, skip_serializing_if = "AskedParameters::is_keep")]
    parameters: AskedParameters,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum FiledLogin {
    Keep,
    None,
    Secret(KubernetesName),
}

/// A registry's address as a text.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Address(RegistryAddress);

impl Serialize for Address {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Address {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map(Self).map_err(de::Error::custom)
    }
}

/// What may be made anew as a text.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Anew(Recreate);

impl Serialize for Anew {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Anew {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map(Self).map_err(de::Error::custom)
    }
}

/// How long something is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "u64")]
struct Seconds(u64);

impl TryFrom<u64> for Seconds {
    type Error = String;

    fn try_from(seconds: u64) -> Result<Self, String> {
        if seconds <= limits::WAIT {
            Ok(Self(seconds))
        } else {
            Err(format!("nothing is waited for {seconds} seconds"))
        }
    }
}

impl FiledRequest {
    /// A request as it lies in a file; one with a password does not.
    pub(super) fn of(request: &Request) -> Result<Self, Error> {
        let goal = match &request.goal {
            Goal::Available => FiledGoal::Available,
            Goal::Activated => FiledGoal::Activated,
            Goal::Deployed(target) => FiledGoal::Deployed(FiledTarget {
                environment: target.environment.clone(),
                namespace: target.namespace.clone(),
                pull_login: match &target.pull_login {
                    PullLogin::Keep => FiledLogin::Keep,
                    PullLogin::None => FiledLogin::None,
                    PullLogin::Secret(name) => FiledLogin::Secret(name.clone()),
                    PullLogin::Made(_) => return Err(Error::Password),
                },
                parameters: target.parameters.clone(),
            }),
        };
        Ok(Self {
            registry: Address(request.registry.clone()),
            pull_registry: request.pull_registry.clone().map(Address),
            missing: request.missing,
            goal,
            allowed: request.allowed,
            accepted: request.accepted.clone(),
            recreate: request.recreate.iter().cloned().map(Anew).collect(),
            verb: request.verb,
            from_site: request.from_site.clone(),
            wait: Seconds(request.wait.as_secs()),
        })
    }

    /// The same without ids that the plan does not show: they accept nothing of it, and nobody could say what.
    pub(super) fn accepting(mut self, shown: Option<&str>) -> Self {
        self.accepted.retain(|id| shown == Some(id.as_str()));
        self
    }

    /// Whether nothing is accepted but what the plan shows.
    pub(super) fn accepts_only(&self, shown: Option<&str>) -> bool {
        self.accepted.iter().all(|id| shown == Some(id.as_str()))
    }

    /// The same asked by somebody else.
    pub(super) fn by(
        self,
        by: String,
        now: StatementTime,
        writer: Writer,
        (scratch, helm): (PathBuf, HelmProgram),
    ) -> Request {
        let goal = match self.goal {
            FiledGoal::Available => Goal::Available,
            FiledGoal::Activated => Goal::Activated,
            FiledGoal::Deployed(target) => Goal::Deployed(Target {
                environment: target.environment,
                namespace: target.namespace,
                pull_login: match target.pull_login {
                    FiledLogin::Keep => PullLogin::Keep,
                    FiledLogin::None => PullLogin::None,
                    FiledLogin::Secret(name) => PullLogin::Secret(name),
                },
                parameters: target.parameters,
            }),
        };
        Request {
            registry: self.registry.0,
            pull_registry: self.pull_registry.map(|address| address.0),
            missing: self.missing,
            goal,
            allowed: self.allowed,
            accepted: self.accepted,
            recreate: self.recreate.into_iter().map(|anew| anew.0).collect(),
            authority: Authority::Cluster,
            verb: self.verb,
            from_site: self.from_site,
            by,
            now,
            writer,
            // A plan is carried out by who sees that the cluster is there.
            nodes: Nodes::AsTheyAre,
            wait: Duration::from_secs(self.wait.0),
            scratch,
            helm,
            helm_from: HelmFrom::Site,
        }
    }
}
