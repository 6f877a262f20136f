//! The rendering of charts with `helm`. [`render`] renders each chart with its values and with each additional set of
//! values, and collects the images that the objects name, so that all needed images are known before the archive is
//! created. Inputs that only a site knows are replaced by stand-ins.

use std::collections::{BTreeMap, BTreeSet};
use std::iter;
use std::path::PathBuf;

use helm::{ChartRendering, Helm, HelmError};
use manifests::reference::{self, KnownNames};
use manifests::{CompileQuestion, Expansion, ImageParts, KnownImages, RenderedObject};
use progress::Watch;
use rules::catalogue::charts::RELEASE_SIZE;
use rules::catalogue::source::{ADDRESS, RENDERING};
use rules::{Problem, WorkloadChecker};
use schemas::{
    ChartRelease, ImagePlace, ImageReference, KubernetesVersion, Namespace, ReleaseName,
    SolutionId, SourceImage, SourceSpec, yaml,
};
use serde_json::{Map, Value};

use crate::Event;
use crate::chart_images::{ChartRemark, RenderedImages};
use crate::charts::{LoadedChart, ValuesSet};
use validator::ErrorChain;

use crate::error::PackError;
use crate::evidence::{EvidenceReason, ImageEvidence};
use crate::example_inputs::{self, REGISTRY};
use crate::missing_images::MissingImage;
use crate::practices::ChartPractices;
use crate::problems::SourceProblems;
use crate::rendered::{self, ExternalParts, UnrenderedChart};
use crate::value_images::{ImagesInValues, RepositoryInValues};

/// The renderer of charts during packing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChartRenderer {
    /// The path of Helm 4; `None` if it is not installed.
    Helm(Option<PathBuf>),
    /// No renderer: the images of charts are not checked.
    Nothing,
}

/// Renders all charts, and adds findings for those that cannot be rendered. Returns an error if a Solution has charts
/// but `helm` is missing.
pub(crate) fn render(
    charts: &[LoadedChart],
    id: &SolutionId,
    spec: &SourceSpec,
    renderer: &ChartRenderer,
    problems: &mut SourceProblems<'_>,
    watch: &Watch<'_, Event>,
) -> Result<Vec<RenderedImages>, PackError> {
    if charts.is_empty() {
        return Ok(Vec::new());
    }
    let program = match renderer {
        ChartRenderer::Helm(program) => program.as_deref().ok_or(PackError::NoHelm)?,
        ChartRenderer::Nothing => {
            (watch.tell)(Event::NotRendered);
            return Ok(Vec::new());
        }
    };
    let versions = spec.rendered_for();
    let places: Vec<ImagePlace> = spec.images.iter().map(SourceImage::place).collect();
    let name = id.name().as_str();
    let namespace = name.parse();
    let expansion = example_inputs::expansion(id, &places, &spec.parameters);
    let users = BTreeMap::new();
    let stage = RenderSetup {
        helm: Helm::from_path(program)?,
        addresses: example_inputs::addresses(&expansion),
        expansion,
        names: names(spec),
        // The namespace is chosen at the site, so the Solution's name replaces it.
        namespace: namespace.expect("a Solution is named by a DNS label"),
        kubernetes: &versions,
        workloads: WorkloadChecker::new([], &users),
        watch,
    };
    let mut all = Vec::new();
    for chart in charts {
        match stage.chart(chart) {
            Ok(images) => all.push(images),
            Err(UnrenderedChart::Refused(info, words)) => {
                problems.at_field(info, &chart.field, words);
            }
            Err(UnrenderedChart::Known) => {}
            Err(UnrenderedChart::Failed(error)) => return Err(error),
        }
    }
    Ok(all)
}

/// Returns the references of images that are known without reading an image.
fn names(spec: &SourceSpec) -> KnownNames {
    let mut names = KnownNames::default();
    let references = spec.images.iter().filter_map(SourceImage::known_reference);
    references.for_each(|reference| names.add(reference.as_str()));
    names
}

/// The settings that are common to all renderings.
struct RenderSetup<'a> {
    helm: Helm,
    /// The known references of the Solution's images.
    names: KnownNames,
    expansion: Expansion,
    addresses: BTreeMap<String, ImagePlace>,
    namespace: Namespace,
    kubernetes: &'a [KubernetesVersion],
    /// The rules for workloads. The users of images are not known during rendering.
    workloads: WorkloadChecker<'a>,
    watch: &'a Watch<'a, Event>,
}

/// The values and Kubernetes version of one rendering, in addition to the values of the release.
#[derive(Clone, Copy)]
struct RenderSettings<'a> {
    set: Option<&'a ValuesSet>,
    /// The Kubernetes version for the templates; Helm's default if `None`.
    kubernetes: Option<&'a KubernetesVersion>,
}

/// The results of all renderings of one chart.
#[derive(Default)]
struct RenderingFindings {
    /// The images by reference, template and place in it, so that several renderings report the same place once.
    named: BTreeMap<(String, String, String), MissingImage>,
    repositories: BTreeSet<String>,
    /// The images in the values.
    in_values: ImagesInValues,
    /// The images whose reference is split into several fields, each with its first place.
    parts: BTreeMap<String, (String, ImageParts)>,
    /// The known image references. A text that equals one counts as a reference in any field.
    names: KnownNames,
    /// The first place of each repository that occurs without a tag.
    untagged: BTreeMap<String, String>,
    told: Vec<ChartRemark>,
    evidence: BTreeSet<ImageEvidence>,
    starters: BTreeSet<String>,
    practices: ChartPractices,
}

impl RenderSetup<'_> {
    fn chart(&self, chart: &LoadedChart) -> Result<RenderedImages, UnrenderedChart> {
        let release = &chart.release.name;
        (self.watch.tell)(Event::Rendering(release.clone()));
        let mut found = RenderingFindings {
            names: self.names.clone(),
            repositories: self.names.repositories().map(str::to_owned).collect(),
            ..RenderingFindings::default()
        };
        let for_scanners = self.for_scanners(chart, &mut found);
        for with in self.all_settings(chart) {
            let mut values = chart.values.clone();
            if let Some(set) = with.set {
                schemas::merge_values(&mut values, &set.values);
            }
            self.set(chart, &values, with, &mut found)?;
        }
        Ok(found.rendered(chart, for_scanners))
    }

    /// Returns the settings of all renderings of a chart.
    fn all_settings<'a>(
        &'a self,
        chart: &'a LoadedChart,
    ) -> impl Iterator<Item = RenderSettings<'a>> {
        let versions: Vec<_> = match self.kubernetes {
            [] => vec![None],
            versions => versions.iter().map(Some).collect(),
        };
        versions.into_iter().flat_map(|kubernetes| {
            let sets = iter::once(None).chain(chart.sets.iter().map(Some));
            sets.map(move |set| RenderSettings { set, kubernetes })
        })
    }

    /// Renders a chart with one set of values, and collects its images and remarks.
    fn set(
        &self,
        chart: &LoadedChart,
        values: &Map<String, Value>,
        with: RenderSettings<'_>,
        found: &mut RenderingFindings,
    ) -> Result<(), UnrenderedChart> {
        let release = &chart.release.name;
        let values = self.expanded(&chart.release, values)?;
        // Two renderings find objects with random or time-dependent values. Only the first one includes CRDs, and only
        // the second one counts for the size of the release.
        let first = self.helm(chart, &values, with, true)?;
        let second = self.helm(chart, &values, with, false)?;
        let objects = rendered::objects(release, &chart.chart, &first)?;
        let again = rendered::objects(release, &chart.chart, &second)?;
        for differing in manifests::differing(&again, &objects) {
            let place = rendered::place(differing, release);
            self.remark(release, ChartRemark::Differs(place), found);
        }
        let namespace = self.namespace(chart).as_str();
        let external = rendered::reaches_out(&objects, namespace);
        if with.set.is_none() && external != ExternalParts::default() {
            self.remark(release, ChartRemark::ReachesOut(external), found);
        }
        let size = chart
            .chart
            .release_size(&values, &String::from_utf8_lossy(&second));
        if size > charts::limits::RELEASE {
            let max = charts::limits::RELEASE;
            let words = format!(
                "Helm would store {size} bytes of the release `{release}`; a Secret can store {max}"
            );
            return Err(UnrenderedChart::Refused(&RELEASE_SIZE, words));
        }
        let mut effective = chart.chart.default_values();
        schemas::merge_values(&mut effective, &values);
        self.annotated(chart, &effective, found);
        let in_values = ImagesInValues::find_in(&effective);
        found.names.extend(in_values.names.clone());
        found.in_values.extend(in_values);
        let of_pods = objects
            .iter()
            .flat_map(|object| manifests::pod_images(&object.value));
        of_pods.for_each(|image| found.names.add(image));
        let starters = rules::starters(objects.iter().map(|object| &object.value));
        found
            .starters
            .extend(starters.into_iter().map(str::to_owned));
        let names = KnownImages::by_names(&found.names);
        for object in &objects {
            let place = rendered::place(object, release);
            let no_text = rendered::no_text(&object.value);
            if let Some(pointer) = no_text.filter(|_| !rules::is_definition(&object.value)) {
                let remark = ChartRemark::NoText(format!("{place}{}: {pointer}", with.values()));
                self.remark(release, remark, found);
            }
            let when = chart.release.when.as_ref();
            found
                .practices
                .check_object(object, &self.workloads, when, with.kubernetes);
            let place = place + &with.describe(", rendered");
            self.images(object, &names, &place, found)?;
        }
        Ok(())
    }

    /// Returns the values with stand-ins for inputs that only a site knows.
    fn expanded(
        &self,
        release: &ChartRelease,
        values: &Map<String, Value>,
    ) -> Result<Map<String, Value>, UnrenderedChart> {
        let own = release.namespaces.iter();
        let meant = own.map(|namespace| {
            let meant = namespace.in_environment(&self.namespace);
            (namespace.name.clone(), meant.clone())
        });
        let expansion = Expansion {
            namespaces: meant.collect(),
            ..self.expansion.clone()
        };
        let expanded = expansion.expand_values(values.clone());
        expanded.map_err(|_| UnrenderedChart::Known)
    }

    fn namespace<'a>(&'a self, chart: &'a LoadedChart) -> &'a Namespace {
        chart.release.namespace_in(&self.namespace)
    }

    fn helm(
        &self,
        chart: &LoadedChart,
        values: &Map<String, Value>,
        with: RenderSettings<'_>,
        definitions: bool,
    ) -> Result<Vec<u8>, UnrenderedChart> {
        let release = &chart.release;
        let values = yaml::to_string(values);
        let rendering = ChartRendering {
            release: &release.name,
            namespace: self.namespace(chart),
            chart: chart.bytes(),
            skip_schema: chart.chart.remote_schema.is_some(),
            values: values.as_bytes(),
            kubernetes: with.kubernetes.map(KubernetesVersion::as_str),
            api_versions: &[],
            definitions,
            revision: 1,
        };
        let rendered = self.helm.template(&rendering, self.watch.cancel);
        rendered.map_err(|error| match error {
            HelmError::Cancelled(cancelled) => UnrenderedChart::Failed(cancelled.into()),
            error @ (HelmError::Failed { .. } | HelmError::TooMuch { .. }) => {
                let (release, with, error) = (&release.name, with.describe(""), ErrorChain(&error));
                let words = format!("cannot render the chart `{release}`{with}: {error}");
                UnrenderedChart::Refused(&RENDERING, words)
            }
            source => UnrenderedChart::Failed(PackError::Render {
                release: release.name.clone(),
                with: with.describe(""),
                source,
            }),
        })
    }

    /// Collects the images that an object names.
    fn images(
        &self,
        object: &RenderedObject,
        names: &KnownImages,
        place: &str,
        found: &mut RenderingFindings,
    ) -> Result<(), UnrenderedChart> {
        let mut images = Vec::new();
        if rules::is_definition(&object.value) {
            let defaults = manifests::default_images(&object.value, &found.names).into_iter();
            images.extend(
                defaults.map(|reference| (reference, "/spec".to_owned(), EvidenceReason::Default)),
            );
        } else {
            for remark in manifests::named_images(&object.value, names) {
                match remark.what {
                    CompileQuestion::Missing(image) | CompileQuestion::Mentioned(image) => {
                        let reason = remark.mention.map(EvidenceReason::Text);
                        images.push((image, remark.path, reason.unwrap_or(EvidenceReason::Parts)));
                    }
                    CompileQuestion::Repository(repository) => {
                        let at = || format!("{place}: {}", remark.path);
                        found.untagged.entry(repository).or_insert_with(at);
                    }
                    CompileQuestion::Namespace(_) | CompileQuestion::Placeholder(_) => {}
                }
            }
            for parts in manifests::image_parts(&object.value) {
                images.extend(self.in_parts(parts, object, place, found));
            }
        }
        for (reference, pointer, reason) in images {
            found.name(&reference, format!("{place}: {pointer}"), reason);
            found.repositories.insert(reference::repository(&reference));
            let image = MissingImage {
                reference,
                place: place.to_owned(),
                pointer,
            };
            if self.addresses.contains_key(image.reference.as_str()) {
                continue;
            }
            if image.reference.as_str().contains(REGISTRY) {
                let MissingImage {
                    reference, pointer, ..
                } = &image;
                let words = format!(
                    "{place}: {pointer} is `{reference}`, which combines a part of an image's address with other text"
                );
                return Err(UnrenderedChart::Refused(&ADDRESS, words));
            }
            found.add(image, &object.file);
        }
        Ok(())
    }

    /// Records an image whose reference is split into several fields. Returns it with its place if it is certainly an
    /// image.
    fn in_parts(
        &self,
        parts: ImageParts,
        object: &RenderedObject,
        place: &str,
        found: &mut RenderingFindings,
    ) -> Option<(ImageReference, String, EvidenceReason)> {
        let reference = reference::normal(&parts.written)?;
        if self.addresses.contains_key(reference.as_str()) {
            return None;
        }
        let is_certain =
            reference::host(&parts.written).is_some() || found.names.has(&parts.written);
        let is_needed = parts.is_complete() && is_certain;
        let pointer = format!("{} ({})", parts.path, parts.fields.join(", "));
        if !is_needed {
            let at = format!("{place}: {pointer}");
            found.name(&reference, at, EvidenceReason::Parts);
        }
        let key = reference.to_string();
        let within = rendered::place_within(object);
        found.parts.entry(key).or_insert((within, parts));
        is_needed.then_some((reference, pointer, EvidenceReason::Parts))
    }

    /// Collects the images in the chart's `helm.sh/images` annotation.
    fn annotated(
        &self,
        chart: &LoadedChart,
        values: &Map<String, Value>,
        found: &mut RenderingFindings,
    ) {
        let release = &chart.release.name;
        let Some(text) = chart.chart.metadata.annotations.get(rendered::ANNOTATION) else {
            return;
        };
        let Some(images) = rendered::annotated(text, values) else {
            return self.remark(
                release,
                ChartRemark::Annotation(rendered::ANNOTATION),
                found,
            );
        };
        for (number, reference) in images {
            found.names.add(reference.as_str());
            found.repositories.insert(reference::repository(&reference));
            let place = format!("`Chart.yaml` of the chart `{release}`");
            let pointer = format!("/annotations/helm.sh~1images/{number}/image");
            let at = format!("{place}: {pointer}");
            found.name(&reference, at, EvidenceReason::Annotation);
            let image = MissingImage {
                reference,
                place,
                pointer,
            };
            found.add(image, "Chart.yaml");
        }
    }

    /// Returns the images that the chart lists for scanners. The list may be incomplete and contain images that are
    /// never pulled.
    fn for_scanners(
        &self,
        chart: &LoadedChart,
        found: &mut RenderingFindings,
    ) -> Vec<ImageReference> {
        let annotations = &chart.chart.metadata.annotations;
        let Some(text) = annotations.get(rendered::FOR_SCANNERS) else {
            return Vec::new();
        };
        let images = rendered::annotated(text, &Map::new());
        if images.is_none() {
            let remark = ChartRemark::Annotation(rendered::FOR_SCANNERS);
            self.remark(&chart.release.name, remark, found);
        }
        let images = images.unwrap_or_default().into_iter();
        let images: Vec<_> = images.map(|(_, reference)| reference).collect();
        for image in &images {
            found.names.add(image.as_str());
            let release = &chart.release.name;
            let at = format!("`Chart.yaml` of the chart `{release}`: artifacthub.io/images");
            found.name(image, at, EvidenceReason::Annotation);
        }
        images
    }

    /// Reports a remark once per chart.
    fn remark(&self, release: &ReleaseName, remark: ChartRemark, found: &mut RenderingFindings) {
        if !found.told.contains(&remark) {
            found.told.push(remark.clone());
            (self.watch.tell)(Event::Chart(release.clone(), remark));
        }
    }
}

impl RenderingFindings {
    /// Returns the images of a chart without those that are listed as unused.
    fn rendered(
        mut self,
        chart: &LoadedChart,
        mut for_scanners: Vec<ImageReference>,
    ) -> RenderedImages {
        let unused = chart.unused.iter();
        let unused = unused.filter_map(|reference| reference::normal(reference.as_str()));
        let unused: Vec<ImageReference> = unused.collect();
        let of_unused = unused.iter().map(reference::repository);
        self.repositories.extend(of_unused);
        let unused: BTreeSet<&str> = unused.iter().map(ImageReference::as_str).collect();
        let is_used = |reference: &ImageReference| !unused.contains(reference.as_str());
        let named: Vec<MissingImage> = self.named.into_values().collect();
        // Needed images are reported as missing instead of in a remark.
        let needed: BTreeSet<&str> = named.iter().map(|image| image.reference.as_str()).collect();
        for_scanners.retain(|image| is_used(image) && !needed.contains(image.as_str()));
        for (place, parts) in self.parts.into_values() {
            let reference = reference::normal(&parts.written);
            let is_settled = reference.is_none_or(|image| {
                if parts.is_complete() {
                    unused.contains(image.as_str())
                } else {
                    self.repositories.contains(&reference::repository(&image))
                }
            });
            if !is_settled {
                let problem = Problem::ImageInParts(Box::new(parts));
                self.practices.add(&place, problem);
            }
        }
        let values = &self.in_values;
        let is_named = |entry: &RepositoryInValues| {
            let mut made = named.iter();
            entry.repository.starts_with(REGISTRY)
                || entry.is_among(&self.repositories)
                || made.any(|image| entry.is_part_of(&image.reference, values))
        };
        let in_values = values.repositories.iter().filter(|entry| !is_named(entry));
        let place = |entry: &RepositoryInValues| self.untagged.get(&entry.repository).cloned();
        let in_values: Vec<_> = in_values
            .map(|entry| (entry.clone(), place(entry)))
            .collect();
        for (entry, _) in &in_values {
            let place = format!(
                "the value `{}` of the chart `{}`",
                entry.path, chart.release.name
            );
            if let Some(reference) = reference::normal(&entry.written) {
                let reason = EvidenceReason::Value;
                self.evidence.insert(ImageEvidence {
                    place,
                    reference,
                    reason,
                });
            }
        }
        let named = named.into_iter();
        RenderedImages {
            release: chart.release.name.clone(),
            practices: self.practices,
            field: chart.field.clone(),
            named: named.filter(|image| is_used(&image.reference)).collect(),
            in_values,
            for_scanners,
            evidence: self.evidence,
            starters: self.starters,
            unused: chart.unused.clone(),
        }
    }

    fn name(&mut self, reference: &ImageReference, place: String, reason: EvidenceReason) {
        self.evidence.insert(ImageEvidence {
            place,
            reference: reference.clone(),
            reason,
        });
    }

    fn add(&mut self, image: MissingImage, file: &str) {
        let key = (
            image.reference.to_string(),
            file.to_owned(),
            image.pointer.clone(),
        );
        self.named.entry(key).or_insert(image);
    }
}

impl RenderSettings<'_> {
    /// Returns the additional values in words.
    fn values(self) -> String {
        let set = self.set.map(|set| format!(", rendered with {}", set.name));
        set.unwrap_or_default()
    }

    /// Returns the values and Kubernetes version in words. `before` precedes the text unless it is empty.
    fn describe(self, before: &str) -> String {
        let set = self.set.map(|set| format!(" with {}", set.name));
        let kubernetes = self
            .kubernetes
            .map(|version| format!(" for Kubernetes {version}"));
        match set.into_iter().chain(kubernetes).collect::<String>() {
            with if with.is_empty() => with,
            with => format!("{before}{with}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::Mutex;

    use progress::Cancel;

    use super::*;
    use crate::load;
    use crate::testing::{self, SOLUTION};

    /// Loads a source tree with a chart and this renderer. The second result is true if a remark reported that charts
    /// are not rendered.
    fn loaded(renderer: &ChartRenderer) -> (Result<load::LoadedSource, PackError>, bool) {
        let chart = "  charts:\n    - {name: web, source: 'dir:web'}\n";
        let tree = testing::texts(&format!("{SOLUTION}{chart}"));
        fs::create_dir(tree.path().join("web")).unwrap();
        let metadata = "apiVersion: v2\nname: web\nversion: 1.0.0\n";
        fs::write(tree.path().join("web/Chart.yaml"), metadata).unwrap();
        let told = Mutex::new(false);
        let watch = Watch {
            tell: &|event| *told.lock().unwrap() |= matches!(event, Event::NotRendered),
            cancel: Cancel::never(),
        };
        let loaded = testing::load_by(tree.path(), renderer, &watch);
        (loaded, told.into_inner().unwrap())
    }

    #[test]
    fn charts_are_rendered_unless_it_is_said_that_they_are_not() {
        let (error, _) = loaded(&ChartRenderer::Helm(None));
        assert!(matches!(error, Err(PackError::NoHelm)), "{error:?}");
        let (error, _) = loaded(&ChartRenderer::Helm(Some("/nowhere/helm".into())));
        assert!(matches!(error, Err(PackError::Helm(_))), "{error:?}");
        let (loaded, told) = loaded(&ChartRenderer::Nothing);
        assert!(loaded.unwrap().rendered.is_empty() && told);
        // A Solution without charts needs no renderer.
        let tree = testing::texts(SOLUTION);
        let watch = Watch::silent(Cancel::never());
        assert!(testing::load_by(tree.path(), &ChartRenderer::Helm(None), &watch).is_ok());
    }
}
