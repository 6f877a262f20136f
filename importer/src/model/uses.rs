//! Uses of objects that are to be removed ([`Use`]), and the decision whether a use prevents the removal
//! ([`EvenIfUsed`]).

use deployer::Object;
use schemars::JsonSchema;
use serde::Serialize;

use crate::model::error::Error;
use crate::model::obstacle::Obstacle;

/// An object that uses something.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Use {
    /// The kind of the object.
    pub kind: String,
    /// The namespace of the object, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// The name of the object.
    pub name: String,
    /// The image that it runs. It is missing for other uses.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
}

impl Use {
    pub(crate) fn of(object: &Object) -> Self {
        Self {
            kind: object.gvk().kind.clone(),
            namespace: object.namespace().map(str::to_owned),
            name: object.name().to_owned(),
            image: None,
        }
    }
}

impl std::fmt::Display for Use {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ", self.kind)?;
        if let Some(namespace) = &self.namespace {
            write!(f, "{namespace}/")?;
        }
        f.write_str(&self.name)
    }
}

/// The effect of uses on a removal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EvenIfUsed {
    /// Uses prevent the removal.
    Refuse,
    /// Uses do not prevent the removal, because the user has named the Solution or version to remove.
    Allow,
}

impl EvenIfUsed {
    /// Returns the obstacles that remain.
    pub(crate) fn without(self, mut obstacles: Vec<Obstacle>) -> Vec<Obstacle> {
        obstacles.retain(|obstacle| self == Self::Refuse || !obstacle.is_use());
        obstacles
    }
}

/// The reasons that prevent a removal. Nothing was removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hindered {
    /// The obstacles; never empty.
    pub obstacles: Vec<Obstacle>,
    /// The objects that use the Solution or version to remove.
    pub uses: Vec<Use>,
}

impl std::fmt::Display for Hindered {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let words: Vec<String> = self.obstacles.iter().map(ToString::to_string).collect();
        f.write_str(&words.join("; "))
    }
}

/// Refuses the removal if there are obstacles.
pub(crate) fn check_free(obstacles: Vec<Obstacle>, uses: &[Use]) -> Result<(), Error> {
    if obstacles.is_empty() {
        return Ok(());
    }
    let uses = uses.to_vec();
    Err(Error::Hindered(Box::new(Hindered { obstacles, uses })))
}

impl Obstacle {
    /// Returns the obstacle that these objects use something; `None` if there are none.
    pub(crate) fn used(name: &str, uses: &[Use]) -> Option<Self> {
        (!uses.is_empty()).then(|| Self::Used {
            name: name.to_owned(),
            objects: uses.iter().map(ToString::to_string).collect(),
        })
    }
}
