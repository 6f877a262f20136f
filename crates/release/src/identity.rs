//! Name and version of the Solution.

use schemas::{ImageReference, SolutionId};

use crate::bundle::{self, About};
use crate::container::Container;
use crate::notes;
use crate::{ReleaseError, Wishes};
use manifests::{Object, Objects, text};

/// Name and version: as wished, else as the release says.
pub(crate) fn identity(
    objects: &Objects<'_>,
    about: Option<&About>,
    workload: &Object<'_>,
    container: &Container,
    wishes: &Wishes,
) -> Result<SolutionId, ReleaseError> {
    let labels = ["/metadata/labels", "/spec/template/metadata/labels"];
    let label = |name: &str| {
        labels.map(|at| text(&workload.value, &format!("{at}/app.kubernetes.io~1{name}")))
    };
    let mut names = vec![
        bundle::packages(objects).next().unwrap_or_default(),
        about.map_or("", |about| &about.name),
    ];
    names.extend(label("part-of"));
    names.extend(label("name"));
    names.extend([
        workload.name().trim_end_matches("-controller-manager"),
        workload.name(),
    ]);
    // Names that builders of operators write into every release.
    names.retain(|name| !name.is_empty() && *name != "deployment" && *name != "controller-manager");
    let tag = container
        .image
        .parse()
        .ok()
        .and_then(|reference: ImageReference| reference.tag().map(str::to_owned));
    let mut versions = vec![about.map_or("", |about| &about.version)];
    versions.extend(label("version"));
    versions.push(tag.as_deref().unwrap_or_default());
    versions.retain(|version| !version.is_empty());
    let found = |texts: &[&str]| {
        if texts.is_empty() {
            "nothing".to_owned()
        } else {
            notes::names(texts.iter().copied())
        }
    };
    let name = wishes
        .name
        .clone()
        .or_else(|| names.iter().find_map(|name| name.parse().ok()));
    let name = name.ok_or_else(|| ReleaseError::NoName(found(&names)))?;
    let version = |text: &&str| text.strip_prefix('v').unwrap_or(text).parse().ok();
    let version = wishes
        .version
        .clone()
        .or_else(|| versions.iter().find_map(version));
    let version = version.ok_or_else(|| ReleaseError::NoVersion(found(&versions)))?;
    SolutionId::new(name, version).map_err(ReleaseError::Id)
}
