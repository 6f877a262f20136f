//! A site's file compared with an archive, without a cluster: the names in it that the archive does not have, and the values
//! that it does not take. Nothing is run but renderings.

use std::collections::BTreeMap;
use std::fmt;

use helm::{ChartRendering, Helm, HelmError};
use manifests::{Address, Expansion};
use schemas::{
    ChartChoices, Digest, ImagePlace, Namespace, ReleaseName, SolutionId, SolutionName,
    SolutionSpec, merge_values, nearest, yaml,
};
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};
use validator::{CarriedChart, CarriedSet};
use watch::{Cancel, Cancelled};

use crate::model::obstacle::Unfit;
use crate::model::parameters::{ParameterValues, ValueSource};
use crate::model::site::{HeldSite, SiteFile};
use crate::plan::parameters;
use crate::plan::reach::{PartObjects, meaningless, missing, of_sets};
use crate::plan::releases::doubtful;
use crate::plan::sets::meant;

/// Changes of a letter between a name and the one that may have been meant.
const NEAR: usize = 2;
/// The registry of all stand-ins: no host is called so (RFC 2606).
const REGISTRY: &str = "registry.invalid";

/// What an archive carries that a site's file chooses for.
#[derive(Clone, Copy, Debug)]
pub struct Offer<'a> {
    /// The version.
    pub id: &'a SolutionId,
    /// The manifest's words of it.
    pub spec: &'a SolutionSpec,
    /// Its sets of objects.
    pub sets: &'a [CarriedSet],
    /// Its charts.
    pub charts: &'a [CarriedChart],
}

/// A way in which a site's file does not fit an archive.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SiteProblem {
    /// The file names what the archive does not have.
    #[error("{solution} has no {what} ({from})")]
    Unknown {
        /// The version.
        solution: SolutionId,
        /// The place in the file.
        from: String,
        /// What the version does not have, with its name.
        what: String,
        /// The name that may have been meant.
        near: Option<String>,
    },
    /// A parameter does not take its value.
    #[error("{solution}: {unfit}")]
    Parameter {
        /// The version.
        solution: SolutionId,
        /// What is wrong with the value.
        unfit: Box<Unfit>,
    },
    /// The schema of a chart refuses values.
    #[error(
        "{solution}: the values of release `{release}` ({from}) do not match the schema of the chart: {why}"
    )]
    Values {
        /// The version.
        solution: SolutionId,
        /// The release.
        release: ReleaseName,
        /// The place of the values.
        from: String,
        /// The reason, in Helm's words.
        why: String,
    },
}

/// What came of comparing a site's file with an archive.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SiteCompared {
    /// What does not fit.
    pub problems: Vec<SiteProblem>,
    /// What is no reason to refuse the file, and should be known.
    pub notes: Vec<String>,
}

/// Says of each Solution that a file names like one of these, and that is none of them, which one may be meant.
#[must_use]
pub fn like_named(file: &SiteFile, given: &[&SolutionName]) -> Vec<String> {
    let others = file
        .solutions()
        .into_iter()
        .filter(|it| !given.contains(it));
    let notes = others.filter_map(|other| {
        let near = nearest(other.as_str(), given.iter().copied(), NEAR)?;
        let file = file.name();
        Some(format!(
            "{file} names Solution `{other}`, but no archive of it was given; did you mean `{near}`?"
        ))
    });
    notes.collect()
}

/// Compares a file with what an archive carries. Without a Helm, nobody judges values by the schemas of charts.
pub fn compare_site(
    file: &SiteFile,
    offer: &Offer<'_>,
    helm: Option<&Helm>,
    cancel: Cancel<'_>,
) -> Result<SiteCompared, Cancelled> {
    let comparing = Comparing {
        file,
        offer,
        site: HeldSite::of(vec![file.clone()]),
    };
    let mut compared = SiteCompared::default();
    let values = comparing.parameters(&mut compared);
    comparing.entries(&mut compared);
    comparing.releases(&mut compared);
    comparing.values(&values, helm, cancel, &mut compared)?;
    Ok(compared)
}

/// A file and what it is compared with.
struct Comparing<'a> {
    file: &'a SiteFile,
    offer: &'a Offer<'a>,
    /// The file as the only one.
    site: HeldSite,
}

impl Comparing<'_> {
    fn solution(&self) -> &SolutionName {
        self.offer.id.name()
    }

    fn unknown(&self, from: String, what: impl fmt::Display, near: Option<String>) -> SiteProblem {
        SiteProblem::Unknown {
            solution: self.offer.id.clone(),
            from,
            what: what.to_string(),
            near,
        }
    }

    /// Compares the values of parameters, and returns a value for each parameter: the file's, or one that it may have.
    fn parameters(&self, compared: &mut SiteCompared) -> ParameterValues {
        let declared = &self.offer.spec.parameters;
        let mut values = self.examples();
        for (from, given) in self.site.parameters(self.solution()) {
            for (name, value) in given {
                let Some(parameter) = declared.get(&name) else {
                    let near = nearest(name.as_str(), declared.keys(), NEAR);
                    let near = near.map(ToString::to_string);
                    let what = format_args!("parameter `{name}`");
                    compared
                        .problems
                        .push(self.unknown(from.clone(), what, near));
                    continue;
                };
                let source = ValueSource::Site(from.clone());
                match parameters::check(&name, parameter, &value, &source) {
                    Ok(()) => drop(values.insert(name, value)),
                    Err(unfit) => compared.problems.push(SiteProblem::Parameter {
                        solution: self.offer.id.clone(),
                        unfit: Box::new(unfit),
                    }),
                }
            }
        }
        values
    }

    /// Returns a value for each parameter that it may have.
    fn examples(&self) -> ParameterValues {
        let declared = self.offer.spec.parameters.iter();
        let examples = declared.map(|(name, it)| (name.clone(), it.example()));
        examples.collect()
    }

    /// Compares the entries for workloads. Those of charts are not known before they are rendered.
    fn entries(&self, compared: &mut SiteCompared) {
        let Offer { spec, charts, .. } = self.offer;
        let solution = self.solution();
        let carried = charts.iter().map(|it| it.release.name.as_str());
        let in_charts = carried.clone().map(|name| PartObjects {
            name,
            objects: Vec::new(),
        });
        let parts: Vec<PartObjects<'_>> = of_sets(self.offer.sets).chain(in_charts).collect();
        for (from, rule) in self.site.naming(solution) {
            let may_be_rendered = match &rule.part {
                Some(part) => carried.clone().any(|it| it == part.as_str()),
                None => !charts.is_empty(),
            };
            if may_be_rendered {
                continue;
            }
            if let Some(missing) = missing(rule, &parts) {
                let problem = self.unknown(from, missing.what, missing.near);
                compared.problems.push(problem);
            }
        }
        if spec.operator.is_none() {
            let of_operator = self.site.of_operator(solution);
            let problems = of_operator.map(|from| self.unknown(from, "operator", None));
            compared.problems.extend(problems);
        }
        compared
            .notes
            .extend(meaningless(&self.site, solution, &parts));
    }

    /// Compares the names of releases.
    fn releases(&self, compared: &mut SiteCompared) {
        let known = || self.offer.charts.iter().map(|it| &it.release.name);
        for name in self.choices().into_iter().flat_map(|it| it.keys()) {
            if !known().any(|it| it == name) {
                let near = nearest(name.as_str(), known(), NEAR);
                let near = near.map(ToString::to_string);
                let what = format_args!("release `{name}`");
                let problem = self.unknown(self.file.name(), what, near);
                compared.problems.push(problem);
            }
        }
    }

    /// The file's choices for releases.
    fn choices(&self) -> Option<&BTreeMap<ReleaseName, ChartChoices>> {
        self.file.spec().charts.get(self.solution())
    }

    /// Compares the values of each release with what its chart names, and has Helm judge them by its schema.
    fn values(
        &self,
        parameters: &ParameterValues,
        helm: Option<&Helm>,
        cancel: Cancel<'_>,
        compared: &mut SiteCompared,
    ) -> Result<(), Cancelled> {
        let mut unjudged = false;
        for chart in self.offer.charts {
            let name = &chart.release.name;
            let Some(choices) = self.choices().and_then(|it| it.get(name)) else {
                continue;
            };
            if !choices.values.is_empty() {
                compared.notes.extend(doubtful(chart, &choices.values));
            }
            let others = match self.file.environment() {
                _ if !choices.values_from.is_empty() => Some("the objects in `valuesFrom`"),
                Some(_) => Some("the default file"),
                None => None,
            };
            if let Some(others) = others {
                compared.notes.push(format!(
                    "the values of release `{name}` are not validated by the schema of its chart: values of {others} also apply"
                ));
            } else if let Some(helm) = helm.filter(|_| !choices.values.is_empty()) {
                self.judge(chart, &choices.values, parameters, helm, cancel, compared)?;
            } else {
                unjudged |= !choices.values.is_empty();
            }
        }
        if unjudged {
            compared.notes.push(format!(
                "the values of {} are not validated by the schemas of its charts: `helm` 4 not found",
                self.offer.id
            ));
        }
        Ok(())
    }
}

impl Comparing<'_> {
    /// Has Helm judge values by the schema of their chart, and tells what it says.
    fn judge(
        &self,
        chart: &CarriedChart,
        given: &Map<String, Value>,
        parameters: &ParameterValues,
        helm: &Helm,
        cancel: Cancel<'_>,
        compared: &mut SiteCompared,
    ) -> Result<(), Cancelled> {
        let name = &chart.release.name;
        let judge = Judge {
            chart,
            namespace: &self.namespace(),
            helm,
            cancel,
        };
        let not_judged = |why: &str| {
            format!(
                "the values of release `{name}` are not validated by the schema of its chart: {why}"
            )
        };
        let published = |parameters: &ParameterValues| {
            let expansion = self.stand_ins(chart, parameters);
            expansion.expand_values(chart.values.clone())
        };
        let both = published(parameters).and_then(|with| Ok((with, published(&self.examples())?)));
        let (mut values, without) = match both {
            Ok(both) => both,
            Err(error) => {
                compared.notes.push(not_judged(&error.to_string()));
                return Ok(());
            }
        };
        merge_values(&mut values, given);
        match judge.judge(&values)? {
            HelmAnswer::Good => {}
            HelmAnswer::Failed(why) => compared.notes.push(not_judged(&why)),
            // What is wrong without the site's values is not theirs: something else may be chosen elsewhere.
            HelmAnswer::Refused(why) => match judge.judge(&without)? {
                HelmAnswer::Refused(without) if without == why => compared.notes.push(format!(
                    "the values of release `{name}` do not match the schema of the chart, even without those of {}: {why}",
                    self.file.name()
                )),
                _ => compared.problems.push(SiteProblem::Values {
                    solution: self.offer.id.clone(),
                    release: name.clone(),
                    from: self.file.name(),
                    why,
                }),
            },
        }
        Ok(())
    }

    /// The namespace in the place of the environment's, which only a site knows.
    fn namespace(&self) -> Namespace {
        let name = self.solution().as_str().parse();
        name.expect("a Solution is named by a DNS label")
    }

    /// What placeholders stand for where nobody knows the site.
    fn stand_ins(&self, chart: &CarriedChart, parameters: &ParameterValues) -> Expansion {
        let name = self.solution().to_string();
        let address = |place: &ImagePlace| Address {
            registry: REGISTRY.to_owned(),
            path: format!("{name}/{}", place.name),
            tag: place.tag.to_string(),
            digest: Digest::new(Sha256::digest(place.to_string()).into()),
        };
        let images = self.offer.spec.images.iter();
        Expansion {
            images: images.map(|it| (it.clone(), address(it))).collect(),
            namespaces: meant(&chart.release.namespaces, &self.namespace()),
            version: self.offer.id.version().to_string(),
            environment: name.clone(),
            parameters: parameters.clone(),
            name,
        }
    }
}

/// A chart, and the program that judges its values.
struct Judge<'a> {
    chart: &'a CarriedChart,
    namespace: &'a Namespace,
    helm: &'a Helm,
    cancel: Cancel<'a>,
}

/// What Helm says of values.
enum HelmAnswer {
    Good,
    /// The schema of the chart refuses them.
    Refused(String),
    /// They cannot be rendered.
    Failed(String),
}

impl Judge<'_> {
    fn judge(&self, values: &Map<String, Value>) -> Result<HelmAnswer, Cancelled> {
        let release = &self.chart.release;
        let values = yaml::to_string(values);
        let rendering = ChartRendering {
            release: &release.name,
            namespace: release.namespace_in(self.namespace),
            chart: &self.chart.archive,
            skip_schema: self.chart.skip_schema,
            values: values.as_bytes(),
            kubernetes: None,
            api_versions: &[],
            definitions: false,
            revision: 1,
        };
        match self.helm.template(&rendering, self.cancel) {
            Ok(_) => Ok(HelmAnswer::Good),
            Err(HelmError::Cancelled(cancelled)) => Err(cancelled),
            Err(error) => Ok(match error.refused_values() {
                Some(why) => HelmAnswer::Refused(why.to_owned()),
                None => HelmAnswer::Failed(error.to_string()),
            }),
        }
    }
}
