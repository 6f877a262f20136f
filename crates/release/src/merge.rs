//! What the next release changes about `solution.yaml`, beside what its publisher wrote there.

use std::collections::BTreeMap;

use schemas::{ImageReference, SolutionSource, SourceImage, Version};

use crate::changes::Changes;
use crate::edit::Edit;
use crate::images::NamedImage;
use crate::notes::{Note, Weight};
use crate::record::Record;

/// The version that a tree is to have.
pub(crate) enum Wanted {
    /// Somebody asks for it.
    Asked(Version),
    /// The release gives it itself; a version of one's own is kept.
    Released(Version),
}

/// The changes, and what the file says with them.
pub(crate) struct Merged {
    pub(crate) source: SolutionSource,
    pub(crate) edits: Vec<Edit>,
    pub(crate) images: Changes,
    pub(crate) notes: Vec<Note>,
    /// The release's images under the names that they have in the tree.
    pub(crate) recorded: Vec<SourceImage>,
}

/// Brings the release's version and images into what `solution.yaml` says. What was edited since the last release is
/// kept, and noted where the release says something else.
pub(crate) fn merge(
    source: &SolutionSource,
    record: &Record,
    version: &Wanted,
    images: Vec<NamedImage>,
) -> Merged {
    let mut merged = Merged {
        source: source.clone(),
        edits: Vec::new(),
        images: Changes::default(),
        notes: Vec::new(),
        recorded: Vec::new(),
    };
    merged.version(record, version);
    let mut gone = Vec::new();
    for (old, new) in pairs(&record.images, images) {
        match (old, new) {
            (Some(old), Some(new)) => merged.renew(old, &new.image),
            (Some(old), None) => gone.extend(merged.remove(old)),
            (None, Some(new)) => merged.add(new),
            (None, None) => {}
        }
    }
    let images = &mut merged.source.spec.images;
    let mut index = 0;
    images.retain(|_| {
        index += 1;
        !gone.contains(&(index - 1))
    });
    merged
}

impl Merged {
    fn decide(&mut self, about: String, text: String) {
        self.notes.push(Note::new(Weight::Decide, about, text));
    }

    fn version(&mut self, record: &Record, wanted: &Wanted) {
        let own = self.source.spec.version.clone();
        let (version, takes_it) = match wanted {
            Wanted::Asked(version) => (version, true),
            Wanted::Released(version) => (version, own == record.version),
        };
        if takes_it && own != *version {
            self.edits.push(Edit::Version(version.to_string()));
            self.source.spec.version = version.clone();
        } else if own != *version {
            self.decide(
                "version".to_owned(),
                format!(
                    "is your own, `{own}`, and was kept; the release went from {} to {version}",
                    record.version
                ),
            );
        }
    }

    /// Where an image of the last release is in the tree, if it was not taken out.
    fn find(&self, image: &SourceImage) -> Option<usize> {
        let images = &self.source.spec.images;
        let by_reference = images.iter().position(|it| {
            it.known_reference().is_some() && it.known_reference() == image.known_reference()
        });
        by_reference.or_else(|| images.iter().position(|it| it.place() == image.place()))
    }

    fn renew(&mut self, old: &SourceImage, new: &SourceImage) {
        let recorded = SourceImage {
            name: old.name.clone(),
            ..new.clone()
        };
        self.recorded.push(recorded);
        let Some(index) = self.find(old).or_else(|| self.find(new)) else {
            return;
        };
        let image = &mut self.source.spec.images[index];
        let name = image.name.to_string();
        let mut fields = Vec::new();
        if take(&mut image.tag, &old.tag, &new.tag, &mut fields, "tag") {
            self.edits.push(field(index, "tag", &new.tag));
        }
        let (before, after) = (&old.source, &new.source);
        if take(&mut image.source, before, after, &mut fields, "source") {
            self.edits.push(field(index, "source", &new.source));
        }
        if let (Some(own), Some(before), Some(after)) =
            (&mut image.reference, &old.reference, &new.reference)
            && take(own, before, after, &mut fields, "ref")
        {
            self.edits.push(field(index, "ref", after));
        }
        if old.reference != new.reference {
            let of = |image: &SourceImage| image.known_reference().map(ImageReference::to_string);
            let (from, to) = (of(old).unwrap_or_default(), of(new).unwrap_or_default());
            self.images.changed.push(format!("{from} is now {to}"));
        }
        for (key, said) in fields {
            self.decide(
                format!("image `{name}`"),
                format!("has a `{key}` of your own, which was kept; the release says `{said}`"),
            );
        }
    }

    /// The place of an image that goes, unless it was edited.
    fn remove(&mut self, old: &SourceImage) -> Option<usize> {
        let index = self.find(old)?;
        if self.source.spec.images[index] != *old {
            let about = format!("image `{}`", self.source.spec.images[index].name);
            self.decide(
                about,
                "is not named by the release any more; it was kept, since you edited it".to_owned(),
            );
            return None;
        }
        self.edits.push(Edit::Remove(index));
        self.images.removed.push(old.known_reference()?.to_string());
        Some(index)
    }

    fn add(&mut self, new: NamedImage) {
        self.recorded.push(new.image.clone());
        if self.find(&new.image).is_some() {
            return;
        }
        let reference = new.image.known_reference().map(ImageReference::to_string);
        self.images.added.extend(reference);
        self.source.spec.images.push(new.image.clone());
        self.edits.push(Edit::Add(new));
    }
}

fn field(image: usize, key: &'static str, value: &impl ToString) -> Edit {
    Edit::Field {
        image,
        key,
        value: value.to_string(),
    }
}

/// Whether a field takes the release's value: it changed there and not here. Where it changed in both, `kept` gets what
/// the release says.
fn take<T: PartialEq + Clone + ToString>(
    own: &mut T,
    old: &T,
    new: &T,
    kept: &mut Vec<(&'static str, String)>,
    key: &'static str,
) -> bool {
    if old == new || own == new {
        return false;
    }
    if own != old {
        kept.push((key, new.to_string()));
        return false;
    }
    own.clone_from(new);
    true
}

/// The images of the last release beside those of the next: the same reference, or the same name.
fn pairs(
    old: &[SourceImage],
    new: Vec<NamedImage>,
) -> Vec<(Option<&SourceImage>, Option<NamedImage>)> {
    let mut old: Vec<Option<&SourceImage>> = old.iter().map(Some).collect();
    let mut new: Vec<Option<NamedImage>> = new.into_iter().map(Some).collect();
    let mut pairs = Vec::new();
    let by: [fn(&SourceImage) -> Option<String>; 2] = [
        |image| image.known_reference().map(ImageReference::to_string),
        |image| Some(image.name.to_string()),
    ];
    for key in by {
        let named = new.iter().enumerate();
        let index: BTreeMap<String, usize> = named
            .filter_map(|(index, new)| Some((key(&new.as_ref()?.image)?, index)))
            .collect();
        for image in &mut old {
            let Some(at) = image.and_then(key).and_then(|key| index.get(&key)) else {
                continue;
            };
            if let Some(found) = new[*at].take() {
                pairs.push((image.take(), Some(found)));
            }
        }
    }
    pairs.extend(old.into_iter().flatten().map(|it| (Some(it), None)));
    pairs.extend(new.into_iter().flatten().map(|it| (None, Some(it))));
    pairs
}
