//! The comparison of a site file with an archive, without a cluster: names that the archive does not have, and values
//! that it does not accept. The entry point is [`compare_site`]. The only program that it runs is Helm, to render
//! charts with the site's values.

use std::collections::BTreeMap;
use std::fmt;

use helm::{ChartRendering, Helm, HelmError};
use manifests::{Address, Expansion};
use progress::{Cancel, Cancelled};
use schemas::{
    ChartChoices, Digest, ImagePlace, Namespace, ReleaseName, SolutionId, SolutionName,
    SolutionSpec, merge_values, nearest, yaml,
};
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};
use validator::{PackagedChart, PackagedSet};

use crate::choices::parameters;
use crate::choices::workloads::{PartObjects, meaningless, missing, of_sets};
use crate::model::blocker::ContentBlocker;
use crate::model::parameters::{ParameterValues, ValueSource};
use crate::objects::releases::doubtful;
use crate::objects::sets::meant;
use crate::records::site::{HeldSite, SiteFile};

/// The maximum edit distance between an unknown name and a suggestion.
const NEAR: usize = 2;
/// The registry in all placeholder addresses. RFC 2606 reserves the domain.
const REGISTRY: &str = "registry.invalid";

/// The parts of an archive that a site file can configure.
#[derive(Clone, Copy, Debug)]
pub struct ConfigurableParts<'a> {
    /// The Solution id.
    pub id: &'a SolutionId,
    /// The Solution's specification in the manifest.
    pub spec: &'a SolutionSpec,
    /// The sets of manifests.
    pub sets: &'a [PackagedSet],
    /// The charts.
    pub charts: &'a [PackagedChart],
}

/// A mismatch between a site file and an archive.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SiteProblem {
    /// The archive has no part with a name in the file.
    #[error("{solution} has no {what} ({from})")]
    Unknown {
        /// The Solution id.
        solution: SolutionId,
        /// The place in the file.
        from: String,
        /// The kind of the missing part, with its name.
        what: String,
        /// A similar name that exists.
        near: Option<String>,
    },
    /// A parameter does not accept its value.
    #[error("{solution}: {unfit}")]
    Parameter {
        /// The Solution id.
        solution: SolutionId,
        /// The problem with the value.
        unfit: Box<ContentBlocker>,
    },
    /// The schema of a chart rejects the values.
    #[error(
        "{solution}: the values of release `{release}` ({from}) do not match the schema of the chart: {why}"
    )]
    Values {
        /// The Solution id.
        solution: SolutionId,
        /// The release.
        release: ReleaseName,
        /// The place of the values in the file.
        from: String,
        /// Helm's message.
        why: String,
    },
}

/// The result of comparing a site file with an archive.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SiteCompared {
    /// The mismatches.
    pub problems: Vec<SiteProblem>,
    /// The notes for the user, which are no mismatches.
    pub notes: Vec<String>,
}

/// Returns a note for each Solution in the file without an archive among `given`, if one of the given names is similar.
#[must_use]
pub fn like_named(file: &SiteFile, given: &[&SolutionName]) -> Vec<String> {
    let others = file
        .solutions()
        .into_iter()
        .filter(|solution| !given.contains(solution));
    let notes = others.filter_map(|other| {
        let near = nearest(other.as_str(), given.iter().copied(), NEAR)?;
        let file = file.name();
        Some(format!(
            "{file} names Solution `{other}`, but no archive of it was given; did you mean `{near}`?"
        ))
    });
    notes.collect()
}

/// Compares a site file with an archive. Without Helm, values are not validated by the schemas of charts. Fails only if
/// it is cancelled.
pub fn compare_site(
    file: &SiteFile,
    offer: &ConfigurableParts<'_>,
    helm: Option<&Helm>,
    cancel: Cancel<'_>,
) -> Result<SiteCompared, Cancelled> {
    let comparing = Comparing {
        file,
        offer,
        site: HeldSite::new(vec![file.clone()]),
    };
    let mut compared = SiteCompared::default();
    let values = comparing.parameters(&mut compared);
    comparing.entries(&mut compared);
    comparing.releases(&mut compared);
    comparing.values(&values, helm, cancel, &mut compared)?;
    Ok(compared)
}

/// A site file and the archive that it is compared with.
struct Comparing<'a> {
    file: &'a SiteFile,
    offer: &'a ConfigurableParts<'a>,
    /// The site configuration with only this file.
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

    /// Compares the values of parameters. Returns a value for each parameter: that of the file, or an example.
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

    /// Returns an example value for each parameter.
    fn examples(&self) -> ParameterValues {
        let declared = self.offer.spec.parameters.iter();
        let examples = declared.map(|(name, parameter)| (name.clone(), parameter.example()));
        examples.collect()
    }

    /// Compares the entries for workloads. Workloads of charts are not known before rendering, so entries for charts
    /// are skipped.
    fn entries(&self, compared: &mut SiteCompared) {
        let ConfigurableParts { spec, charts, .. } = self.offer;
        let solution = self.solution();
        let carried = charts.iter().map(|chart| chart.release.name.as_str());
        let in_charts = carried.clone().map(|name| PartObjects {
            name,
            objects: Vec::new(),
        });
        let parts: Vec<PartObjects<'_>> = of_sets(self.offer.sets).chain(in_charts).collect();
        for (from, rule) in self.site.naming(solution) {
            let may_be_rendered = match &rule.part {
                Some(part) => carried.clone().any(|release| release == part.as_str()),
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
        let known = || self.offer.charts.iter().map(|chart| &chart.release.name);
        for name in self
            .choices()
            .into_iter()
            .flat_map(|choices| choices.keys())
        {
            if !known().any(|known| known == name) {
                let near = nearest(name.as_str(), known(), NEAR);
                let near = near.map(ToString::to_string);
                let what = format_args!("release `{name}`");
                let problem = self.unknown(self.file.name(), what, near);
                compared.problems.push(problem);
            }
        }
    }

    /// Returns the file's choices for releases.
    fn choices(&self) -> Option<&BTreeMap<ReleaseName, ChartChoices>> {
        self.file.spec().charts.get(self.solution())
    }

    /// Compares the values of each release with those of its chart, and validates them by the chart's schema. Helm can
    /// only validate all values of a release together, so releases with values from other sources are only noted.
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
            let Some(choices) = self.choices().and_then(|choices| choices.get(name)) else {
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
    /// Validates the values of a release by the schema of its chart, and adds Helm's answer.
    fn judge(
        &self,
        chart: &PackagedChart,
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
            // Values that are invalid without the site's are the publisher's problem. Other choices of the site may
            // correct them.
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

    /// Returns a placeholder for the environment's namespace, which depends on the site.
    fn namespace(&self) -> Namespace {
        let name = self.solution().as_str().parse();
        name.expect("a Solution is named by a DNS label")
    }

    /// Returns placeholder values for the expansion, since the site's are not known.
    fn stand_ins(&self, chart: &PackagedChart, parameters: &ParameterValues) -> Expansion {
        let name = self.solution().to_string();
        let address = |place: &ImagePlace| Address {
            registry: REGISTRY.to_owned(),
            path: format!("{name}/{}", place.name),
            tag: place.tag.to_string(),
            digest: Digest::new(Sha256::digest(place.to_string()).into()),
        };
        let images = self.offer.spec.images.iter();
        Expansion {
            images: images
                .map(|place| (place.clone(), address(place)))
                .collect(),
            namespaces: meant(&chart.release.namespaces, &self.namespace()),
            version: self.offer.id.version().to_string(),
            environment: name.clone(),
            parameters: parameters.clone(),
            name,
        }
    }
}

/// A chart with the program that validates its values.
struct Judge<'a> {
    chart: &'a PackagedChart,
    namespace: &'a Namespace,
    helm: &'a Helm,
    cancel: Cancel<'a>,
}

/// The result of rendering a chart with some values.
enum HelmAnswer {
    Good,
    /// The schema of the chart rejects the values.
    Refused(String),
    /// The chart cannot be rendered.
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
