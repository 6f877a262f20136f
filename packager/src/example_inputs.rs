//! Stand-ins for the inputs that only a site knows, for rendering charts during packing. [`expansion`] returns an image
//! address in the format of a site for each image, and an example value for each parameter.

use std::collections::BTreeMap;

use manifests::{Address, Expansion};
use schemas::{ImagePlace, Parameter, ParameterName, SolutionId};

/// The registry of all stand-ins. No real host has the top-level domain `.invalid` (RFC 2606).
pub(crate) const REGISTRY: &str = "registry.invalid";

/// Returns the stand-ins for all placeholders.
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
            .map(|(name, parameter)| (name.clone(), parameter.example()))
            .collect(),
        name,
    }
}

/// Returns the valid references that charts can build from the parts of an address, with their images.
pub(crate) fn addresses(expansion: &Expansion) -> BTreeMap<String, ImagePlace> {
    let forms = expansion.images.iter().flat_map(|(place, address)| {
        let repository = format!("{}/{}", address.registry, address.path);
        let forms = [
            format!("{repository}:{}@{}", address.tag, address.digest),
            format!("{repository}:{}", address.tag),
            format!("{repository}@{}", address.digest),
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
