//! Why a helmfile cannot be taken over: what, and where.

use std::error::Error;
use std::fmt;

use manifests::shown;
use rules::limits::CHARTS;
use schemas::yaml::YamlError;
use schemas::{NameError, listed};

/// A place in a helmfile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HelmfilePlace {
    file: String,
    part: Option<String>,
}

impl HelmfilePlace {
    pub(super) fn of(file: &str) -> Self {
        Self {
            file: shown(file),
            part: None,
        }
    }

    /// One of the things that it lists, by what it is called.
    fn part(&self, part: String) -> Self {
        Self {
            file: self.file.clone(),
            part: Some(part),
        }
    }

    pub(super) fn release(&self, name: &str) -> Self {
        self.part(format!("release `{}`", shown(name)))
    }

    /// A release that may have no name, by its number.
    pub(super) fn release_number(&self, number: usize) -> Self {
        self.part(format!("release {number}"))
    }

    pub(super) fn repository(&self, number: usize) -> Self {
        self.part(format!("repository {number}"))
    }

    pub(super) fn defaults(&self) -> Self {
        self.part("`helmDefaults`".to_owned())
    }

    pub(super) fn problem(&self, problem: HelmfileProblem) -> HelmfileError {
        HelmfileError {
            place: self.clone(),
            problem,
        }
    }
}

impl fmt::Display for HelmfilePlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`", self.file)?;
        self.part.iter().try_for_each(|part| write!(f, ", {part}"))
    }
}

/// Why a helmfile cannot be taken over.
#[derive(Debug)]
pub struct HelmfileError {
    /// Where it stands.
    pub place: HelmfilePlace,
    /// What it is.
    pub problem: HelmfileProblem,
}

impl fmt::Display for HelmfileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.place, self.problem)
    }
}

impl Error for HelmfileError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.problem.source()
    }
}

/// What is wrong in a helmfile. Texts of it are as they may be shown.
#[derive(Debug, thiserror::Error)]
pub enum HelmfileProblem {
    /// Not YAML.
    #[error("is not usable YAML")]
    Yaml(#[source] YamlError),
    /// The whole file is a template.
    #[error("is a template, which only Helmfile expands")]
    Gotmpl,
    /// A template, on this line.
    #[error("has a template on line {0}, which only Helmfile expands")]
    TemplateAt(usize),
    /// A template, in this field.
    #[error("has a template in `{0}`, which only Helmfile expands")]
    Template(String),
    /// Several documents, which Helmfile merges.
    #[error("has {0} documents; one is read")]
    Documents(usize),
    /// Nothing to carry.
    #[error("lists no release that is to be installed")]
    Empty,
    /// More of something than is read.
    #[error("has more than {most} entries in `{field}`")]
    TooMany {
        /// The list.
        field: &'static str,
        /// How many are read.
        most: usize,
    },
    /// More releases than a Solution has charts.
    #[error("lists {0} releases that are to be installed; a Solution has at most {CHARTS}")]
    Releases(usize),
    /// Something that is not of the expected form.
    #[error("has a `{field}` that is not {expected}")]
    Form {
        /// The field.
        field: &'static str,
        /// What it should be.
        expected: &'static str,
    },
    /// A list of fields where there should be something else.
    #[error("is not a mapping")]
    NoMapping,
    /// Fields that are not read.
    #[error("has what is not taken over: {}", listed(.0))]
    Fields(Vec<String>),
    /// A field is missing.
    #[error("has no `{0}`")]
    Missing(&'static str),
    /// A text that is not what the field takes here.
    #[error("has a `{0}` that a Solution cannot have")]
    Name(&'static str, #[source] NameError),
    /// A release or repository whose name is taken.
    #[error("is not the only one of its name")]
    Twice,
    /// No version.
    #[error("has no `version`")]
    NoVersion,
    /// A range of versions, or the newest.
    #[error("has `version: {0}`, which is not one whole version")]
    Range(String),
    /// A chart of a repository that is not listed.
    #[error("takes its chart from `{0}`, which is not among `repositories`")]
    Repository(String),
    /// A chart that is somewhere else.
    #[error("has `chart: {0}`, which is neither a path nor REPOSITORY/NAME nor oci://")]
    Chart(String),
    /// A password would be written into the tree.
    #[error("has a login in its `url`")]
    Login,
    /// Values that are a template.
    #[error("takes values from `{0}`, a template, which only Helmfile expands")]
    ValuesTemplate(String),
    /// Values that are elsewhere, or in any number of files.
    #[error("takes values from `{0}`, which is not one file of this disk")]
    ValuesElsewhere(String),
    /// Values that Helmfile takes from a store.
    #[error("has values that refer to a store of secrets (`ref+`)")]
    Secret,
    /// It needs something that the file does not list.
    #[error("needs `{0}`, which is not listed")]
    Need(String),
    /// Whether it is installed depends on something else.
    #[error("has `condition: {0}`, which depends on values of Helmfile's environments")]
    Condition(String),
}
