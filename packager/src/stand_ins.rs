//! Stand-ins for what only a site knows, by which charts are rendered when they are packed: an address for each image, of the
//! form that those at a site have, and a value that each parameter may have.

use std::collections::BTreeMap;

use manifests::{Address, Expansion};
use schemas::{ImagePlace, Parameter, ParameterName, SolutionId};

/// The registry of all stand-ins: no host is called so (RFC 2606).
pub(crate) const REGISTRY: &str = "registry.invalid";

/// What placeholders stand for where nobody knows the site: an address for each image, of the form that those at a site
/// have, and a value that each parameter may have.
pub(crate) fn expansion(
    id: &SolutionId,
    places: &[ImagePlace],
    parameters: &BTreeMap<ParameterName, Parameter>,
) -> Expansion {
    let name = id.name().to_string();
    let address = |place: &ImagePlace| Address {
        registry: REGISTRY.to_owned(),
        path: format!("{name}/{}", place.name),
        tag: place.tag.to_string(),
        digest: files::digest(place.to_string().as_bytes()),
    };
    let images = places.iter().map(|place| (place.clone(), address(place)));
    let parameters = parameters.iter();
    Expansion {
        images: images.collect(),
        namespaces: BTreeMap::new(),
        version: id.version().to_string(),
        environment: name.clone(),
        parameters: parameters
            .map(|(name, it)| (name.clone(), it.example()))
            .collect(),
        name,
    }
}

/// Returns all that charts can make of the parts of an address so that it still is one, with the image that it stands for.
pub(crate) fn addresses(expansion: &Expansion) -> BTreeMap<String, ImagePlace> {
    let forms = expansion.images.iter().flat_map(|(place, it)| {
        let repository = format!("{}/{}", it.registry, it.path);
        let forms = [
            format!("{repository}:{}@{}", it.tag, it.digest),
            format!("{repository}:{}", it.tag),
            format!("{repository}@{}", it.digest),
        ];
        forms.map(|form| (form, place.clone()))
    });
    forms.collect()
}

#[cfg(test)]
mod tests {
    use manifests::reference;

    use super::*;

    #[test]
    fn a_stand_in_is_an_address_as_a_whole_and_by_tag_or_digest() {
        let places = ["app:1".parse().unwrap(), "db:2".parse().unwrap()];
        let id = "shop-1.0.0".parse().unwrap();
        let addresses = addresses(&expansion(&id, &places, &BTreeMap::new()));
        assert_eq!(addresses.len(), 6);
        assert_eq!(addresses["registry.invalid/shop/app:1"], places[0]);
        for address in addresses.keys() {
            let complete = reference::normal(address).unwrap();
            assert_eq!(complete.as_str(), address);
        }
    }
}
