//! The storage of a site configuration in the cluster ([`keep`]).

use schemars::JsonSchema;
use serde::Serialize;

use crate::apply::change::Change;
use crate::apply::leased::Leased;
use crate::model::error::Error;
use crate::model::obstacle::Obstacle;
use crate::model::receipt::ChangeSubject;
use crate::model::site::SiteFile;
use crate::model::state::ClusterState;
use crate::model::verb::Verb;
use crate::plan::rights::of_change;
use crate::status::site::problems;

/// A stored site configuration, or one that would be stored.
#[derive(Clone, Debug)]
pub struct KeptSite {
    /// The difference from the configuration that was stored before.
    pub change: SiteChange,
    /// The obstacles about objects that it names and that the cluster does not have.
    pub problems: Vec<Obstacle>,
}

/// The change to the file that is stored in the cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum SiteChange {
    /// The stored file is the same.
    Unchanged,
    /// The file was stored for the first time or replaced.
    Changed,
}

/// Stores a site configuration. Deployments do not change until the next plan, which shows its effect.
pub async fn keep(change: &Change<'_>, file: &SiteFile) -> Result<KeptSite, Error> {
    let decide = async |state: &ClusterState| {
        if let Some(environment) = file.environment()
            && state.environment(environment).next().is_none()
        {
            return Err(Obstacle::NoEnvironment {
                environment: environment.clone(),
            }
            .into());
        }
        Ok(KeptSite {
            change: if state.site.has(file) {
                SiteChange::Unchanged
            } else {
                SiteChange::Changed
            },
            problems: problems(change.cluster, state, file).await?,
        })
    };
    let act = async |leased: &mut Leased<'_>, kept: &mut KeptSite| match kept.change {
        SiteChange::Unchanged => Ok(()),
        SiteChange::Changed => leased.keep(file.to_object()).await,
    };
    let about = |state: &ClusterState| {
        let environment = file.environment().into_iter();
        let spaces = environment.flat_map(|environment| state.environment(environment));
        ChangeSubject::of_spaces(Verb::SetSite, spaces)
    };
    let (kept, _) = change.make(&of_change(), about, decide, act).await?;
    Ok(kept)
}
