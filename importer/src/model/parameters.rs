//! The choices that a request makes for a Solution's parameters, and the source of each value.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Display, Formatter};

use schemas::{ParameterName, ReleaseName, ValuePath, ValuesByPath};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Values by the names of their parameters.
pub type ParameterValues = BTreeMap<ParameterName, Value>;

/// The number of a Secret among those that ever held a Solution's sensitive values in a namespace: each set of values
/// has the next one.
pub type SecretNumber = u32;

/// The choices that a request makes for a Solution's parameters. A choice stays until another is made or it is taken
/// back.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AskedParameters {
    /// The values that were chosen before.
    #[serde(default, skip_serializing_if = "schemas::is_default")]
    pub before: ChosenBefore,
    /// The values that are chosen now.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub given: BTreeMap<ParameterName, Given>,
    /// The parameters whose choice is taken back.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub unset: BTreeSet<ParameterName>,
    /// The choices for the values of charts.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub charts: BTreeMap<ReleaseName, AskedValues>,
}

/// The choices that a request makes for the values of a release.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AskedValues {
    /// The values that are chosen now.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub given: ValuesByPath,
    /// The places at which, and within which, no choice of before counts any more.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub unset: BTreeSet<ValuePath>,
    /// Whether none of before counts any more.
    #[serde(default, skip_serializing_if = "schemas::is_default")]
    pub unset_all: bool,
}

/// The values that only a Secret of the environment has: those of sensitive parameters, and those that were chosen for
/// charts, of which nobody can say whether there is a password among them.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct KeptValues {
    pub(crate) parameters: ParameterValues,
    pub(crate) charts: ChartValues,
    /// A text that nobody knows who may not read the Secret. What is digested with it cannot be guessed.
    pub(crate) key: Option<String>,
}

/// Values by the release that they are for.
pub(crate) type ChartValues = BTreeMap<ReleaseName, ValuesByPath>;

impl KeptValues {
    pub(crate) fn is_empty(&self) -> bool {
        self.parameters.is_empty() && self.charts.is_empty()
    }
}

/// The choices that are made already.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ChosenBefore {
    /// The values that stand.
    #[default]
    Keep,
    /// The values of a version that ran before.
    As {
        /// The values that may be seen.
        values: ParameterValues,
        /// The Secret with the others. What it does not hold any more stays as it is.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        secret: Option<SecretNumber>,
    },
}

/// A value as it was given.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Given {
    /// A word, which is read by the parameter's type. Whoever looks at the processes of the machine sees it.
    Word(String),
    /// A value of a file.
    Filed(Value),
}

/// The source of a parameter's value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ValueSource {
    /// The archive.
    Default,
    /// This one of the site's files.
    Site(String),
    /// An earlier choice.
    Before,
    /// The Secret of the environment, which alone holds the value.
    Kept,
    /// A file of this request.
    Filed,
    /// A word of this request.
    Word,
    /// This request, which does not say by which of the two.
    Given,
    /// The release that is adopted.
    Adopted,
    /// The generator of random values.
    Generated,
}

impl Display for ValueSource {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Default => "the archive's default",
            Self::Site(file) => file,
            Self::Before => "chosen before",
            Self::Kept => "kept in the environment's Secret",
            Self::Filed => "given in a file",
            Self::Word => "given on the command line",
            Self::Given => "given with this command",
            Self::Adopted => "of the release that is adopted",
            Self::Generated => "generated when it is deployed",
        })
    }
}
