//! What differs between two versions, for people.

use importer::{
    BroughtBytes, ComparedContents, ComparedDefinition, ComparedDocument, ComparedImage,
    DocumentAction, DocumentKind, PlannedNarrowing,
};

use super::show::ComparedArchives;
use crate::args::choose;
use crate::commands::inspect::outline;
use crate::render;

/// All of it.
pub(super) fn show(compared: &ComparedArchives<'_>) {
    for (word, archive) in [("before", &compared.before), ("after", &compared.after)] {
        let signed_by = render::list(archive.signed_by);
        let signed_by = choose(signed_by.is_empty(), "nobody", &signed_by).to_owned();
        render::line!("{word:<11} {}  signed by {signed_by}", archive.solution);
    }
    let comparison = compared.comparison;
    if !compared.differs {
        return render::line("no differences");
    }
    render::line!("includes    {}", brought(comparison.brings));
    comparison.images.iter().for_each(image);
    comparison.definitions.iter().for_each(definition);
    let gained = comparison.rights_gained.iter().map(outline::right);
    render::lines("may now     ", gained);
    let lost = comparison.rights_lost.iter().map(outline::right);
    render::lines("may no longer ", lost);
    // Many objects often change in one way: what differs is shown once.
    let alike = |a: &ComparedDocument, b: &ComparedDocument| {
        (a.kind, a.action, &a.diff) == (b.kind, b.action, &b.diff)
    };
    comparison.documents.chunk_by(alike).for_each(documents);
}

fn brought(BroughtBytes { contents, bytes }: BroughtBytes) -> String {
    let contents = render::count(contents, "new content");
    format!("{contents} of images ({})", render::bytes(bytes))
}

fn image(image: &ComparedImage) {
    let told = |it: &ComparedContents| {
        let contents = render::count(it.contents, "content");
        format!("{contents} ({})", render::bytes(it.bytes))
    };
    let brings = || brought(image.brings);
    let words = match (&image.before, &image.after) {
        (None, Some(new)) => format!("added: {}, {}", told(new), brings()),
        (Some(old), None) => format!("removed: {}", told(old)),
        (Some(old), Some(new)) if old.digest == new.digest => "same content".to_owned(),
        (Some(old), Some(new)) => {
            format!("changed: {} → {}, {}", told(old), told(new), brings())
        }
        (None, None) => return,
    };
    if let Some(former) = &image.former {
        let (name, old, new) = (&image.image.name, &former.tag, &image.image.tag);
        render::line!("image       {name} {old} → {new}, {words}");
    } else {
        render::line!("image       {} {words}", image.image);
    }
}

fn definition(compared: &ComparedDefinition) {
    let (before, after) = (compared.before.as_ref(), compared.after.as_ref());
    let words = match (before, after) {
        (None, Some(new)) => format!("added: {}", outline::definition(new)),
        (Some(old), None) => format!("removed: {}", outline::definition(old)),
        (Some(old), Some(new)) if old == new => format!("changed: {}", outline::definition(new)),
        (Some(old), Some(new)) => {
            let [old, new] = [old, new].map(outline::definition);
            format!("changed: {old} → {new}")
        }
        (None, None) => return,
    };
    render::line!("CRD         {words}");
    if let Some(refused) = &compared.refused {
        render::line!("          ! an import would reject it: {refused}");
    }
    for it in &compared.narrowed {
        let PlannedNarrowing {
            api_version,
            path,
            problem,
            ..
        } = it;
        render::line!("          ! {api_version} {path}: {problem}");
    }
}

/// Documents with the same difference.
fn documents(alike: &[ComparedDocument]) {
    let Some(first) = alike.first() else { return };
    let action = match first.action {
        DocumentAction::Added => "added",
        DocumentAction::Removed => "removed",
        DocumentAction::Changed => "changed",
    };
    let kind = match first.kind {
        DocumentKind::Manifest => "manifest",
        DocumentKind::Parameter => "parameter",
        DocumentKind::Set => "set",
        DocumentKind::Object => "object",
        DocumentKind::Chart => "chart",
        DocumentKind::ChartValues => "values of",
    };
    for it in alike {
        render::line!("{kind:<11} {} {action}", it.name);
    }
    first.diff.lines().for_each(render::diff_line);
}
