//! The images of a Solution as manifests refer to them. [`KnownImages`] maps references to placeholders, and `rewrite`
//! replaces the references in a text.

use std::collections::BTreeMap;

use schemas::{ImagePlace, ImageReference};

use crate::reference::{
    Hint, KnownNames, host, is_pinned, is_reference, named_tokens, normal, repository, tokens,
};

/// The images of a Solution, by their references in manifests.
#[derive(Debug, Default)]
pub struct KnownImages {
    /// The placeholder of each complete reference.
    of: BTreeMap<String, String>,
    /// The placeholder of each repository with its registry.
    repositories: BTreeMap<String, String>,
    /// The repository of each path without a registry.
    anywhere: BTreeMap<String, String>,
    /// The names that are images even in texts without any other evidence.
    names: KnownNames,
}

/// The registry of repositories that are written without one.
const DEFAULT: &str = "docker.io/";

/// The image that a reference in a text denotes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ReferencedImage {
    /// An image of the Solution, as its placeholder.
    Known(String),
    /// An image that the Solution does not contain.
    Unknown(ImageReference),
}

impl KnownImages {
    /// Creates the mapping for these images. An image without a reference cannot occur in a manifest.
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

    /// Creates a mapping without images, which reports the repositories of `names` that occur without a tag as
    /// themselves.
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

    /// Returns the placeholder to propose for a repository that is written without a tag, or with a tag that a program
    /// fills in.
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

/// The evidence that a token is the name of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mention {
    /// The token is the image of a container or image volume.
    Container,
    /// The name of its field, variable or flag contains `image`.
    Name,
    /// The token has a registry, and a tag or digest.
    Address,
    /// The token has a tag or digest, and its repository is a known one.
    Known,
}

impl Mention {
    fn from_token(token: &str, hint: Hint) -> Self {
        match hint {
            Hint::Image => Self::Container,
            Hint::Named => Self::Name,
            Hint::None if is_reference(token, hint) => Self::Address,
            Hint::None | Hint::Reported => Self::Known,
        }
    }
}

/// A text with its known references replaced by placeholders, and the remaining references.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct ImageRewrite {
    pub(crate) text: String,
    /// The references of images that the Solution does not contain, with the evidence.
    pub(crate) unknown: Vec<(ImageReference, Mention)>,
    /// The placeholders that may be intended where a repository occurs without its tag.
    pub(crate) repositories: Vec<String>,
}

/// Rewrites a text outside of placeholders.
pub(crate) fn rewrite(text: &str, hint: Hint, images: &KnownImages) -> ImageRewrite {
    let mut rewritten = ImageRewrite {
        text: String::with_capacity(text.len()),
        ..ImageRewrite::default()
    };
    let mut end = 0;
    for (range, hint) in named_tokens(text, hint) {
        let token = &text[range.clone()];
        let said = is_reference(token, hint) || (hint != Hint::Reported && images.names.has(token));
        // A reference of one of the Solution's images is sufficient evidence, even without a registry.
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
                let mention = Mention::from_token(token, hint);
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
