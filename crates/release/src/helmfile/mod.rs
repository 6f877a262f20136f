//! Helmfiles: which releases one lists, as far as that can be told without running anything.
//!
//! Helmfile itself expands templates, runs commands and asks clusters. Here a file is only read: what was not made to be
//! read so is refused, with its place and the field, and no field is passed over that could change what is installed. The
//! output of `helmfile build`, where all that has been done, is read like any other.

mod chart;
mod error;
mod fields;
mod release;

use std::collections::BTreeSet;

use rules::limits::CHARTS;
use schemas::yaml;
use serde_json::Value;

use crate::limits;
use crate::notes::{Note, Weight};
use fields::Fields;
use release::{Around, Listed};

pub use chart::ListedChart;
pub use error::{HelmfileError, HelmfilePlace, HelmfileProblem};
pub use release::{ListedRelease, ListedValues};

/// The releases that a helmfile lists.
#[derive(Clone, Debug)]
pub struct Helmfile {
    /// Its file's name.
    pub name: String,
    /// Those that are to be carried, in order.
    pub releases: Vec<ListedRelease>,
    /// What of it is not carried.
    pub(crate) notes: Vec<Note>,
}

/// What is passed over: where Helmfile finds its programs, what `helmfile build` says of its own file, and what only
/// templates, conditions and anchors use.
const PASSED_OVER: [&str; 6] = [
    "environments",
    "filepath",
    "helmBinary",
    "kustomizeBinary",
    RENDERED,
    "templates",
];

/// By this, `helmfile build` says which values it expanded all templates with.
const RENDERED: &str = "renderedvalues";

/// The end of the names of templates.
const TEMPLATE: &str = ".gotmpl";

impl Helmfile {
    /// Whether a file of this name may be one.
    #[must_use]
    pub fn is_named(name: &str) -> bool {
        let ends = [".yaml", ".yml"].iter().any(|end| name.ends_with(end));
        name.ends_with(TEMPLATE) || (name.starts_with("helmfile") && ends)
    }

    /// Whether these are the bytes of one, and not of objects: those have a kind. Said of text, since one with templates
    /// is not YAML yet.
    #[must_use]
    pub fn is_in(bytes: &[u8]) -> bool {
        let mut lines = bytes.split(|byte| *byte == b'\n');
        !lines.any(|line| line.starts_with(b"kind:"))
    }

    /// Reads one. `name` is its file's.
    pub fn read(name: &str, bytes: &[u8]) -> Result<Self, HelmfileError> {
        let place = HelmfilePlace::of(name);
        if name.ends_with(TEMPLATE) {
            return Err(place.problem(HelmfileProblem::Gotmpl));
        }
        let document = document(&place, bytes)?;
        let file = Fields::of(&place, &document)?;
        file.only(
            &["commonLabels", "helmDefaults", "releases", "repositories"],
            &PASSED_OVER,
        )?;
        let around = Around {
            repositories: chart::repositories(&file)?,
            defaults: release::defaults(&file)?,
            rendered: file.get(RENDERED),
        };
        let listed = file.list("releases", limits::HELMFILE_RELEASES)?;
        let mut notes = Vec::new();
        let mut releases = Vec::new();
        let mut left_out = BTreeSet::new();
        for (number, value) in (1..).zip(listed) {
            match release::read(&place, number, value, &around, &mut notes)? {
                Listed::Carried(release) => releases.push(*release),
                Listed::LeftOut(name) => drop(left_out.insert(name)),
            }
        }
        let wrong = match releases.len() {
            0 => Some(HelmfileProblem::Empty),
            many => (many > CHARTS).then_some(HelmfileProblem::Releases(many)),
        };
        if let Some(problem) = wrong {
            return Err(place.problem(problem));
        }
        settle_needs(&place, &mut releases, &left_out, &mut notes)?;
        notes.extend(labels(&file, listed));
        Ok(Self {
            name: name.to_owned(),
            releases,
            notes,
        })
    }

    /// Whether values refer to a store of secrets, from which Helmfile takes what stands there.
    pub(crate) fn has_reference(values: &[u8]) -> bool {
        release::has_reference(&String::from_utf8_lossy(values))
    }

    /// What is wrong with one of its releases.
    pub(crate) fn problem(
        &self,
        release: &ListedRelease,
        problem: HelmfileProblem,
    ) -> HelmfileError {
        let place = HelmfilePlace::of(&self.name);
        place.release(release.name.as_str()).problem(problem)
    }
}

/// The one document of a helmfile.
fn document(place: &HelmfilePlace, bytes: &[u8]) -> Result<Value, HelmfileError> {
    let mut documents = yaml::documents(bytes).map_err(|source| {
        let problem = match first_template(bytes) {
            Some(line) => HelmfileProblem::TemplateAt(line),
            None => HelmfileProblem::Yaml(source),
        };
        place.problem(problem)
    })?;
    match (documents.pop(), documents.len()) {
        (None, _) => Err(place.problem(HelmfileProblem::Empty)),
        (Some(document), 0) => Ok(document),
        (Some(_), others) => Err(place.problem(HelmfileProblem::Documents(others + 1))),
    }
}

/// The first line with a template, from 1. Comments may have some.
fn first_template(bytes: &[u8]) -> Option<usize> {
    let text = String::from_utf8_lossy(bytes);
    let is_template = |line: &str| line.contains("{{") && !line.trim_start().starts_with('#');
    text.lines().position(is_template).map(|line| line + 1)
}

/// Leaves out of what releases need those that are not carried, and refuses needs of what is not listed.
fn settle_needs(
    place: &HelmfilePlace,
    releases: &mut [ListedRelease],
    left_out: &BTreeSet<String>,
    notes: &mut Vec<Note>,
) -> Result<(), HelmfileError> {
    let mut listed = BTreeSet::new();
    for release in releases.iter() {
        if !listed.insert(release.name.to_string()) {
            let problem = HelmfileProblem::Twice;
            return Err(place.release(release.name.as_str()).problem(problem));
        }
    }
    for release in releases {
        let name = release.name.to_string();
        let mut lost = Vec::new();
        for needed in &release.needs {
            let needed = needed.as_str();
            if listed.contains(needed) {
                continue;
            }
            if !left_out.contains(needed) {
                let problem = HelmfileProblem::Need(manifests::shown(needed));
                return Err(place.release(&name).problem(problem));
            }
            lost.push(needed.to_owned());
        }
        release.needs.retain(|it| listed.contains(it.as_str()));
        notes.extend(lost.into_iter().map(|needed| {
            let text = format!("needs `{needed}`, which is left out: it must be there before");
            Note::new(Weight::Decide, name.clone(), text)
        }));
    }
    Ok(())
}

/// Labels only serve to choose among releases.
fn labels(file: &Fields<'_>, releases: &[Value]) -> Option<Note> {
    let has_some = file.get("commonLabels").is_some()
        || releases
            .iter()
            .any(|release| release.get("labels").is_some());
    let text = "by them Helmfile chooses among releases; a Solution has all of them";
    has_some.then(|| Note::new(Weight::Lost, "labels", text))
}
