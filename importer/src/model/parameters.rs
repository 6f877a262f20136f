//! The choices of a request for the parameters and chart values of a Solution ([`AskedParameters`]). [`ValueSource`] is
//! the source of each resolved value.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Display, Formatter};

use schemas::{ParameterName, ReleaseName, ValuePath, ValuesByPath};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Values by parameter name.
pub type ParameterValues = BTreeMap<ParameterName, Value>;

/// The number of a Secret with a Solution's sensitive values in a namespace. Each new set of values gets the next
/// number.
pub type SecretNumber = u32;

/// The choices of a request for a Solution's parameters. A choice is kept until it is changed or discarded.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AskedParameters {
    /// The earlier choices.
    #[serde(default, skip_serializing_if = "schemas::is_default")]
    pub before: ChosenBefore,
    /// The new values.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub given: BTreeMap<ParameterName, GivenValue>,
    /// The parameters whose choice is discarded.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub unset: BTreeSet<ParameterName>,
    /// The choices for the values of charts.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub charts: BTreeMap<ReleaseName, AskedValues>,
}

/// The choices of a request for the values of a release.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AskedValues {
    /// The new values.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub given: ValuesByPath,
    /// The paths at which, and below which, earlier choices are discarded.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub unset: BTreeSet<ValuePath>,
    /// Set if all earlier choices are discarded.
    #[serde(default, skip_serializing_if = "schemas::is_default")]
    pub unset_all: bool,
}

/// The values that are only stored in a Secret of the environment: those of sensitive parameters, and those that are
/// chosen for charts, which may include passwords.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct KeptValues {
    pub(crate) parameters: ParameterValues,
    pub(crate) charts: ChartValues,
    /// A random text that is only stored in the Secret. It is part of digests of values, so that the values cannot be
    /// guessed.
    pub(crate) key: Option<String>,
}

/// Values by release.
pub(crate) type ChartValues = BTreeMap<ReleaseName, ValuesByPath>;

impl KeptValues {
    pub(crate) fn is_empty(&self) -> bool {
        self.parameters.is_empty() && self.charts.is_empty()
    }
}

/// The earlier choices.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ChosenBefore {
    /// The current values.
    #[default]
    Keep,
    /// The values of an earlier version.
    As {
        /// The values that are not secret.
        values: ParameterValues,
        /// The Secret with the other values. Values that it no longer contains do not change.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        secret: Option<SecretNumber>,
    },
}

/// A given value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum GivenValue {
    /// A text, which is parsed by the parameter's type. Other users of the machine can read it in the process list.
    Word(String),
    /// A value from a file.
    Filed(Value),
    /// A value that was entered in a form.
    Entered(Value),
}

/// The source of a parameter's value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ValueSource {
    /// The archive.
    Default,
    /// The site file with this name.
    Site(String),
    /// An earlier choice.
    Before,
    /// The Secret of the environment. The value is stored nowhere else.
    Kept,
    /// A file of this request.
    Filed,
    /// A command-line argument of this request.
    Word,
    /// A form of this request.
    Entered,
    /// This request, by a file or an argument.
    Given,
    /// The adopted release.
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
            Self::Entered => "entered in the form",
            Self::Given => "given with this command",
            Self::Adopted => "of the release that is adopted",
            Self::Generated => "generated when it is deployed",
        })
    }
}
