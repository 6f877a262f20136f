//! The images of a Solution, as the texts of manifests name them.

use std::collections::BTreeMap;

use schemas::{ImagePlace, ImageReference};

use crate::reference::{
    Hint, KnownNames, host, is_pinned, is_reference, named_tokens, normal, repository, tokens,
};

/// The images of a Solution, by the references that manifests know them by.
#[derive(Debug, Default)]
pub struct KnownImages {
    /// The placeholder for each reference in its complete form.
    of: BTreeMap<String, String>,
    /// The placeholder for each repository with its registry.
    repositories: BTreeMap<String, String>,
    /// The placeholder for each path, wherever it is pulled from.
    anywhere: BTreeMap<String, String>,
    /// The names that are known to be images where nothing else says it.
    names: KnownNames,
}

/// The registry of repositories that are written without one.
const DEFAULT: &str = "docker.io/";

/// The image that a reference in a text names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ReferencedImage {
    /// An image of the Solution: its placeholder.
    Known(String),
    /// An image that the Solution does not have.
    Unknown(ImageReference),
}

impl KnownImages {
    /// The images with their references. Those without one cannot be named by a manifest.
    pub fn new<'a>(
        images: impl IntoIterator<Item = (ImagePlace, &'a ImageReference)> + Clone,
    ) -> Self {
        let mut tags: BTreeMap<_, usize> = BTreeMap::new();
        for (place, _) in images.clone() {
            *tags.entry(place.name).or_default() += 1;
        }
        let mut known = Self::default();
        for (place, reference) in images {
            let choice = if tags[&place.name] == 1 {
                place.name.to_string()
            } else {
                place.to_string()
            };
            let Some(reference) = normal(reference.as_str()) else {
                continue;
            };
            let repository = repository(&reference);
            let image = format!("$(image:{choice})");
            known.names.add(reference.as_str());
            known.of.insert(reference.to_string(), image);
            let part = format!("$(image.repository:{choice})");
            known.repositories.insert(repository, part);
        }
        known
    }

    /// Knows no images, but names that images are known by. A repository that stands without a tag is told as it is.
    #[must_use]
    pub fn by_names(names: &KnownNames) -> Self {
        let pairs = |complete: &str| (complete.to_owned(), complete.to_owned());
        let short = |complete: &str| {
            let path = complete.strip_prefix(DEFAULT)?;
            Some((path.to_owned(), complete.to_owned()))
        };
        Self {
            of: BTreeMap::new(),
            repositories: names.repositories().map(pairs).collect(),
            anywhere: names.repositories().filter_map(short).collect(),
            names: names.clone(),
        }
    }

    pub(crate) fn find(&self, written: &str) -> Option<ReferencedImage> {
        let reference = normal(written)?;
        Some(match self.of.get(reference.as_str()) {
            Some(image) => ReferencedImage::Known(image.clone()),
            None => ReferencedImage::Unknown(reference),
        })
    }

    /// The placeholder to propose for a repository that a text names without a tag, or with one that a program fills in.
    pub(crate) fn repository(&self, written: &str) -> Option<&str> {
        let (repository, _) = written
            .rsplit_once(':')
            .filter(|(_, tag)| tag.is_empty() || tag.starts_with(['$', '%']))
            .unwrap_or((written, ""));
        let path = host(repository).map_or(repository, |host| &repository[host.len() + 1..]);
        let found = self.repositories.get(repository);
        found
            .or_else(|| self.anywhere.get(path))
            .map(String::as_str)
    }
}

/// The reason why a token is taken for the name of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mention {
    /// It is the image of a container or of an image volume.
    Container,
    /// The name of its field, variable or flag says image.
    Name,
    /// It has a registry, and a tag or a digest.
    Address,
    /// It has a tag or a digest, and its repository is known to be one of images.
    Known,
}

impl Mention {
    fn of(token: &str, hint: Hint) -> Self {
        match hint {
            Hint::Image => Self::Container,
            Hint::Named => Self::Name,
            Hint::None if is_reference(token, hint) => Self::Address,
            Hint::None | Hint::Reported => Self::Known,
        }
    }
}

/// A text with a placeholder for every reference of a known image, and what it names besides.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct ImageRewrite {
    pub(crate) text: String,
    /// References of images that the Solution does not have.
    pub(crate) unknown: Vec<(ImageReference, Mention)>,
    /// Placeholders that may be meant where a repository stands without its tag.
    pub(crate) repositories: Vec<String>,
}

/// Rewrites what stands outside of placeholders.
pub(crate) fn rewrite(text: &str, hint: Hint, images: &KnownImages) -> ImageRewrite {
    let mut rewritten = ImageRewrite {
        text: String::with_capacity(text.len()),
        ..ImageRewrite::default()
    };
    let mut end = 0;
    for (range, hint) in named_tokens(text, hint) {
        let token = &text[range.clone()];
        let said = is_reference(token, hint) || (hint != Hint::Reported && images.names.has(token));
        // One that the Solution has is told by itself, though it names no registry.
        if !said && !is_pinned(token) {
            continue;
        }
        match images.find(token) {
            Some(ReferencedImage::Known(image)) => {
                rewritten.text.push_str(&text[end..range.start]);
                rewritten.text.push_str(&image);
                end = range.end;
            }
            Some(ReferencedImage::Unknown(reference)) if said => {
                let mention = Mention::of(token, hint);
                rewritten.unknown.push((reference, mention));
            }
            Some(ReferencedImage::Unknown(_)) | None => {}
        }
    }
    let proposed = tokens(&text[end..]).filter_map(|range| images.repository(&text[end..][range]));
    rewritten.repositories = proposed.map(str::to_owned).collect();
    rewritten.text.push_str(&text[end..]);
    rewritten
}
