//! The expansion of `$(image:NAME)` in an operator's command, arguments and environment to the address by digest that
//! nodes pull from. The entry point is [`Addresses::expand`].

use std::collections::BTreeMap;

use rules::ImagesByName;
use schemas::{Digest, ImageName, ImagePlace, Piece, split_expansions};

use crate::model::error::ExpandError;

/// The addresses of a Solution's images.
#[derive(Debug)]
pub(crate) struct Addresses<'a> {
    of: BTreeMap<&'a ImagePlace, String>,
    named: ImagesByName<'a>,
}

impl<'a> Addresses<'a> {
    /// Returns the addresses below `endpoint` of images with these digests.
    pub(crate) fn new(
        endpoint: &str,
        images: impl IntoIterator<Item = (&'a ImagePlace, Digest)>,
    ) -> Self {
        let address = |(place, digest): (&'a ImagePlace, Digest)| {
            (place, format!("{endpoint}/{}@{digest}", place.name))
        };
        let of: BTreeMap<_, _> = images.into_iter().map(address).collect();
        let named = ImagesByName::new(of.keys().copied());
        Self { of, named }
    }

    /// Returns the address of an image.
    pub(crate) fn address(&self, place: &ImagePlace) -> Result<&str, ExpandError> {
        let address = self.of.get(place).map(String::as_str);
        address.ok_or_else(|| ExpandError::Unknown(place.to_string()))
    }

    /// Returns the text with every `$(image:…)` replaced. Kubernetes' own `$(VARIABLE)` is kept.
    pub(crate) fn expand(&self, text: &str) -> Result<String, ExpandError> {
        let mut expanded = String::with_capacity(text.len());
        for piece in split_expansions(text)? {
            expanded.push_str(match &piece {
                Piece::Text(text) => text,
                Piece::Image(name) => self.named(name)?,
            });
        }
        Ok(expanded)
    }

    fn named(&self, name: &ImageName) -> Result<&str, ExpandError> {
        match self.named.only(name) {
            Ok(place) => self.address(place),
            Err(0) => Err(ExpandError::Unknown(name.to_string())),
            Err(_) => Err(ExpandError::Ambiguous(name.to_string())),
        }
    }
}

#[cfg(test)]
mod tests {
    use schemas::ExpansionError;

    use super::*;

    fn expand(text: &str) -> Result<String, ExpandError> {
        let places: Vec<ImagePlace> = ["app:1", "org/db:1", "org/db:2", "web:1"]
            .iter()
            .map(|text| text.parse().unwrap())
            .collect();
        let images = places.iter().map(|place| (place, Digest::new([7; 32])));
        Addresses::new("r.test/example-1.0.0", images).expand(text)
    }

    #[test]
    fn images_expand_to_addresses_by_digest() {
        let hex = "07".repeat(32);
        let expanded = expand("a=$(image:app) $(HOME) b=$(image:web)").unwrap();
        let base = "r.test/example-1.0.0";
        assert_eq!(
            expanded,
            format!("a={base}/app@sha256:{hex} $(HOME) b={base}/web@sha256:{hex}")
        );
    }

    #[test]
    fn what_does_not_expand_is_an_error() {
        let error = |text: &str| expand(text).unwrap_err();
        assert_eq!(
            error("$(image:api)"),
            ExpandError::Unknown("api".to_owned())
        );
        assert_eq!(
            error("$(image:org/db)"),
            ExpandError::Ambiguous("org/db".to_owned())
        );
        assert_eq!(
            error("$(image:app"),
            ExpandError::Grammar(ExpansionError::Open)
        );
    }
}
