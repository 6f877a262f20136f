//! What packing does, shown while it does.

use packager::{ChartRemark, Event};
use schemas::{ReleaseName, listed};
use sources::Event as Sources;

use crate::args::choose;
use crate::progress::Bar;
use crate::render;

/// Shows one event.
pub(crate) fn show(bar: &Bar, event: Event) {
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
            let key = key.map(|it| format!(" by the key {it}"));
            let key = key.unwrap_or_default();
            say(format!("note: the chart `{release}` is signed{key}"));
        }
        Event::Rendering(release) => bar.set_message(format!("chart {release}")),
        // Only who asks for an image wants to know all that names it.
        Event::Named(_) => {}
        Event::Chart(release, remark) => say(format!("warning: {}", chart(&release, remark))),
        Event::Untidy(error) => say(format!("warning: cannot clean up the cache: {error}")),
    }
}

/// What a publisher should know about a chart.
fn chart(release: &ReleaseName, remark: ChartRemark) -> String {
    match remark {
        ChartRemark::Differs(place) => format!(
            "{place} changes each time the chart is rendered, and thus with every upgrade; if it is generated at random, set the value that it is generated from"
        ),
        ChartRemark::NoText(place) => format!(
            "{place} is a boolean or a number, but must be a string; put it in quotes, because YAML does not read `on`, `y` and `1.10` as strings"
        ),
        ChartRemark::ReachesOut(found) => {
            let objects = listed(&found.objects);
            let dangers = render::list(found.dangers);
            let lets = choose(
                dangers.is_empty(),
                String::new(),
                format!("; its roles let it {dangers}"),
            );
            format!("the chart `{release}` has effects outside its namespace with {objects}{lets}")
        }
        ChartRemark::TurnedOff(found) => {
            let on = found.switch.map(|it| format!(", which `{it}` enables"));
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
            listed(&images)
        ),
        ChartRemark::Annotation(name) => format!(
            "the annotation `{name}` in Chart.yaml of the chart `{release}` is not valid and is ignored"
        ),
    }
}
