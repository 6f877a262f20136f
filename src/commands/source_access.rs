//! Access to sources, which packing and creating source trees share: the cache, the network, and the display of
//! progress. Downloads are cached, because the same charts and images are needed again in the next run.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use packager::{ChartRemark, Event};
use schemas::{ReleaseName, list_quoted};
use sources::{Event as Sources, Remote};
use tempfile::TempDir;

use crate::args::{MirrorArguments, RegistryArguments, choose};
use crate::failure::{Failure, cannot};
use crate::progress_bar::ProgressDisplay;
use crate::{environment, registries, render};

/// The directory for downloaded contents.
pub(crate) enum Cache {
    /// A directory that later runs use too.
    Kept(PathBuf),
    /// A temporary directory.
    Passing(TempDir),
}

impl Cache {
    pub(crate) fn path(&self) -> &Path {
        match self {
            Self::Kept(path) => path,
            Self::Passing(directory) => directory.path(),
        }
    }
}

/// Returns the cache: the kept directory if there is one, else a temporary one in `beside`.
pub(super) fn cache_in(kept: Option<PathBuf>, beside: &Path) -> Result<Cache, Failure> {
    if let Some(path) = kept {
        return Ok(Cache::Kept(path));
    }
    let passing = tempfile::Builder::new()
        .prefix(".solution-")
        .suffix(".cache")
        .tempdir_in(beside);
    // Only the kind of the error is reported, because `tempfile` adds a random path to the rest.
    let refused = |error: io::Error| cannot("write", beside)(io::Error::from(error.kind()));
    passing.map(Cache::Passing).map_err(refused)
}

/// Returns the access to sources that are not on the disk.
pub(super) fn remote(
    reach: &RegistryArguments,
    mirrors: &MirrorArguments,
) -> Result<Remote, Failure> {
    let mut by_host = BTreeMap::new();
    for (registry, mirror) in &mirrors.registry_mirror {
        let host = registry.known_host();
        if by_host.insert(host.to_owned(), mirror.clone()).is_some() {
            let what = format!("`--registry-mirror` sets two mirrors of the registry `{host}`");
            return Err(Failure::usage(what).hint("use `--registry-mirror` once for each registry"));
        }
    }
    Ok(Remote {
        registries: registries::options(reach)?,
        mirrors: by_host,
        certificates: registries::certificates(reach),
        logins: environment::logins(),
        engine: environment::engine(),
    })
}

/// Shows one event.
pub(super) fn show_progress(bar: &ProgressDisplay, event: Event) {
    let say = |text: String| bar.suspend(|| render::note(text));
    match event {
        Event::Sources(Sources::Collecting { place, number, of }) => {
            bar.set_message(format!("image {number}/{of} {place}"));
        }
        Event::Sources(Sources::Referrers { place, number, of }) => {
            bar.set_message(format!("referrers {number}/{of} {place}"));
        }
        Event::Sources(Sources::OfTheWhole { place, count }) => say(format!(
            "note: {place} has only some platforms of its index; {} of the whole index not packed, because the archive does not contain that index",
            choose(
                count == 1,
                "1 signature or other referrer is".to_owned(),
                format!("{count} signatures or other referrers are")
            )
        )),
        Event::Describing { place, number, of } => {
            bar.set_message(format!("SBOM {number}/{of} {place}"));
        }
        Event::Sources(Sources::Preparing(progress)) => bar.show("prepare", progress),
        Event::Sources(Sources::Downloading(progress)) => bar.show("download", progress),
        Event::Writing(progress) => bar.show("write", progress),
        Event::Sources(Sources::Retrying { reason, wait }) => bar.retrying(&reason, wait),
        Event::Sources(Sources::Damaged(digest)) => say(format!(
            "note: {digest} in the cache was damaged and is removed; packing starts again"
        )),
        Event::Unused(path) => say(format!(
            "warning: `{}` is not used: solution.yaml has no operator",
            path.display()
        )),
        Event::NotRendered => {
            say(
                "warning: charts are not rendered, so the images that they need are not checked"
                    .to_owned(),
            );
        }
        Event::Verified(release, key) => {
            let key = key.map(|key| format!(" by the key {key}"));
            let key = key.unwrap_or_default();
            say(format!("note: the chart `{release}` is signed{key}"));
        }
        Event::Rendering(release) => bar.set_message(format!("chart {release}")),
        // Evidence is shown only with `--why`, which has its own display.
        Event::Named(_) => {}
        Event::Chart(release, remark) => say(format!("warning: {}", chart(&release, remark))),
        Event::Untidy(error) => say(format!("warning: cannot clean up the cache: {error}")),
    }
}

/// Describes a remark about a chart for its publisher.
fn chart(release: &ReleaseName, remark: ChartRemark) -> String {
    match remark {
        ChartRemark::Differs(place) => format!(
            "{place} changes each time the chart is rendered, and thus with every upgrade; if it is generated at random, set the value that it is generated from"
        ),
        ChartRemark::NoText(place) => format!(
            "{place} is a boolean or a number, but must be a string; put it in quotes, because YAML does not read `on`, `y` and `1.10` as strings"
        ),
        ChartRemark::ReachesOut(found) => {
            let objects = list_quoted(&found.objects);
            let dangers = render::list(found.dangers);
            let lets = choose(
                dangers.is_empty(),
                String::new(),
                format!("; its roles let it {dangers}"),
            );
            format!("the chart `{release}` has effects outside its namespace with {objects}{lets}")
        }
        ChartRemark::TurnedOff(found) => {
            let on = found
                .switch
                .map(|switch| format!(", which `{switch}` enables"));
            format!(
                "the value `{}` of the chart `{release}` is an image of `{}`{}, but no rendered object runs it: if a site may enable it, add its values to `render` of the chart; if not, list it in `unusedImages` of the chart, with any tag",
                found.path,
                found.repository,
                on.unwrap_or_default()
            )
        }
        ChartRemark::Untagged(found, place) => format!(
            "the value `{}` of the chart `{release}` is an image of `{}`, and {place} names it without a tag: if a program adds the tag, add the image to spec.images; if it is never pulled, list it in `unusedImages` of the chart, with any tag; `--why {1}` shows every place that names it",
            found.path, found.repository
        ),
        ChartRemark::ForScanners(images) => format!(
            "the chart `{release}` lists images in `artifacthub.io/images` of its Chart.yaml that are not packaged: {}; if a site may pull them, add them to spec.images; if not, list them in `unusedImages` of the chart",
            list_quoted(&images)
        ),
        ChartRemark::Annotation(name) => format!(
            "the annotation `{name}` in Chart.yaml of the chart `{release}` is not valid and is ignored"
        ),
    }
}
