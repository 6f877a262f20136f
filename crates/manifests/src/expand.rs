//! Expansion of placeholders: replaces each placeholder of a compiled object by its value in one environment. Only
//! placeholders are replaced, and their values are not expanded again, so that a parameter cannot inject a placeholder.

use std::collections::BTreeMap;

use schemas::placeholder::{
    self, AddressPart, ImageChoice, Placeholder, PlaceholderError, PlaceholderPiece, SolutionFact,
};
use schemas::{Digest, ImagePlace, Namespace, ParameterName, Tag};
use serde_json::{Map, Value};

/// The address from which nodes pull an image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// The host and port of the registry.
    pub registry: String,
    /// The path after the registry.
    pub path: String,
    /// The tag. The digest defines the content, but programs read versions from tags.
    pub tag: String,
    /// The digest of the image.
    pub digest: Digest,
}

impl Address {
    fn part(&self, part: AddressPart) -> String {
        let Self {
            registry,
            path,
            tag,
            digest,
        } = self;
        match part {
            AddressPart::Whole => format!("{registry}/{path}:{tag}@{digest}"),
            AddressPart::Registry => registry.clone(),
            AddressPart::Path => path.clone(),
            AddressPart::Repository => format!("{registry}/{path}"),
            AddressPart::Tag => tag.clone(),
            AddressPart::Digest => digest.to_string(),
        }
    }
}

/// The values of placeholders in one environment.
#[derive(Clone, Debug, Default)]
pub struct Expansion {
    /// The addresses of the Solution's images.
    pub images: BTreeMap<ImagePlace, Address>,
    /// The environment's namespace for each of the release's own namespaces.
    pub namespaces: BTreeMap<Namespace, Namespace>,
    /// The name of the Solution.
    pub name: String,
    /// The version of the Solution.
    pub version: String,
    /// The name of the environment.
    pub environment: String,
    /// The values of the parameters.
    pub parameters: BTreeMap<ParameterName, Value>,
}

/// The reason why a placeholder has no value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ResolveError {
    /// The placeholder is invalid.
    #[error(transparent)]
    Grammar(#[from] PlaceholderError),
    /// The placeholder matches no image, or more than one.
    #[error("`{0}` does not name exactly one image of the Solution")]
    Image(String),
    /// The release does not have the namespace.
    #[error("`{0}` is not a namespace of the release")]
    Namespace(Namespace),
    /// The parameter does not exist, or has no value.
    #[error("the parameter `{0}` has no value")]
    Parameter(ParameterName),
}

impl Expansion {
    /// Replaces all placeholders of an object.
    pub fn expand(&self, object: &mut Value) -> Result<(), ResolveError> {
        placeholder::change_texts(object, &mut |text| self.text(text).map(Some))
    }

    /// Replaces all placeholders in the values of a chart.
    pub fn expand_values(
        &self,
        values: Map<String, Value>,
    ) -> Result<Map<String, Value>, ResolveError> {
        // Values are not an object, so none of their fields (such as `status` or `kind`) is exempt. Wrapping them in a
        // field makes the traversal treat all of them alike.
        const AROUND: &str = "values";
        let mut around = Value::from_iter([(AROUND, Value::Object(values))]);
        self.expand(&mut around)?;
        match around.get_mut(AROUND).map(Value::take) {
            Some(Value::Object(values)) => Ok(values),
            _ => unreachable!("only texts are replaced"),
        }
    }

    /// Returns the expanded text. A text that consists of one parameter's placeholder becomes the value of the
    /// parameter, with its type.
    fn text(&self, text: &str) -> Result<Value, ResolveError> {
        let pieces = placeholder::split(text)?;
        if let [PlaceholderPiece::Placeholder(Placeholder::Parameter(name))] = pieces.as_slice() {
            return self.parameter(name).cloned();
        }
        let mut expanded = String::with_capacity(text.len());
        for piece in &pieces {
            match piece {
                PlaceholderPiece::Text(text) => expanded.push_str(text),
                PlaceholderPiece::Placeholder(placeholder) => {
                    expanded.push_str(&self.resolve_placeholder(placeholder)?);
                }
            }
        }
        Ok(Value::String(expanded))
    }

    fn resolve_placeholder(&self, placeholder: &Placeholder) -> Result<String, ResolveError> {
        Ok(match placeholder {
            Placeholder::Image { part, image } => self.image(image)?.part(*part),
            Placeholder::Namespace(name) => {
                let meant = self.namespaces.get(name);
                meant
                    .ok_or_else(|| ResolveError::Namespace(name.clone()))?
                    .to_string()
            }
            Placeholder::Solution(fact) => match fact {
                SolutionFact::Name => self.name.clone(),
                SolutionFact::Version => self.version.clone(),
                SolutionFact::Environment => self.environment.clone(),
            },
            Placeholder::Parameter(name) => match self.parameter(name)? {
                Value::String(text) => text.clone(),
                other => other.to_string(),
            },
        })
    }

    fn image(&self, choice: &ImageChoice) -> Result<&Address, ResolveError> {
        let unknown = || ResolveError::Image(choice.to_string());
        let place = |tag: Tag| ImagePlace {
            name: choice.name.clone(),
            tag,
        };
        if let Some(tag) = &choice.tag {
            let address = self.images.get(&place(tag.clone()));
            return address.ok_or_else(unknown);
        }
        // `0` is the smallest tag, so that the range starts at the first image with this name.
        let first = place("0".parse().map_err(|_| unknown())?);
        let named: Vec<_> = self
            .images
            .range(first..)
            .take_while(|(place, _)| place.name == choice.name)
            .collect();
        // Signatures and other referrers count only if the name has no other image
        // (docs/reference/format-referrers.md).
        let mut meant = named
            .iter()
            .filter(|(place, _)| named.len() == 1 || place.tag.subject().is_none());
        match (meant.next(), meant.next()) {
            (Some((_, address)), None) => Ok(address),
            _ => Err(unknown()),
        }
    }

    fn parameter(&self, name: &ParameterName) -> Result<&Value, ResolveError> {
        let value = self.parameters.get(name);
        value.ok_or_else(|| ResolveError::Parameter(name.clone()))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn expansion() -> Expansion {
        let address = |path: &str, tag: &str| Address {
            registry: "r.test:5000".to_owned(),
            path: path.to_owned(),
            tag: tag.to_owned(),
            digest: Digest::new([7; 32]),
        };
        Expansion {
            images: [
                ("web:1", "shop/web"),
                ("db:1", "shop/db"),
                ("db:2", "shop/db"),
            ]
            .map(|(place, path)| {
                let place: ImagePlace = place.parse().unwrap();
                let tag = place.tag.to_string();
                (place, address(path, &tag))
            })
            .into(),
            namespaces: BTreeMap::from([("shop".parse().unwrap(), "prod-2".parse().unwrap())]),
            name: "shop".to_owned(),
            version: "1.2.0".to_owned(),
            environment: "prod".to_owned(),
            parameters: BTreeMap::from([
                ("replicas".parse().unwrap(), json!(3)),
                ("host".parse().unwrap(), json!("$(image:web)")),
            ]),
        }
    }

    #[test]
    fn placeholders_are_replaced_by_what_the_environment_has() {
        let digest = format!("sha256:{}", "07".repeat(32));
        let mut object = json!({
            "apiVersion": "$(image:web)", "kind": "$(param:none)",
            "metadata": {"name": "$(param:none)", "namespace": "$(namespace:shop)"},
            "spec": {
                "replicas": "$(param:replicas)",
                "$(param:none)": ["$(image:web)", "$(image:db:2)", "$(image.repository:web) $(image.tag:db:1)"],
                "texts": ["n=$(param:replicas)", "$(param:host)", "a$(param:host)", "$(HOST) $$(X)", "$$(image:web)"],
                "about": "$(solution:name) $(solution:version) $(solution:environment)",
                "parts": "$(image.registry:web) $(image.path:web) $(image.digest:web)",
            },
        });
        expansion().expand(&mut object).unwrap();
        assert_eq!(
            object,
            json!({
                "apiVersion": "$(image:web)", "kind": "$(param:none)",
                "metadata": {"name": "$(param:none)", "namespace": "prod-2"},
                "spec": {
                    "replicas": 3,
                    "$(param:none)": [
                        format!("r.test:5000/shop/web:1@{digest}"),
                        format!("r.test:5000/shop/db:2@{digest}"),
                        "r.test:5000/shop/web 1",
                    ],
                    "texts": ["n=3", "$(image:web)", "a$(image:web)", "$(HOST) $$(X)", "$(image:web)"],
                    "about": "shop 1.2.0 prod",
                    "parts": format!("r.test:5000 shop/web {digest}"),
                },
            })
        );
    }

    #[test]
    fn a_name_means_an_image_and_not_its_signature() {
        let mut expansion = expansion();
        let sig = format!("web:sha256-{}.sig", "a".repeat(64));
        let of_signature = Address {
            tag: "sig".to_owned(),
            ..expansion.images[&"web:1".parse().unwrap()].clone()
        };
        expansion.images.insert(sig.parse().unwrap(), of_signature);
        let mut object = json!({"image": "$(image.tag:web)"});
        expansion.expand(&mut object).unwrap();
        assert_eq!(object["image"], "1");
        expansion.images.remove(&"web:1".parse().unwrap());
        let mut object = json!({"image": "$(image.tag:web)"});
        expansion.expand(&mut object).unwrap();
        assert_eq!(object["image"], "sig");
    }

    #[test]
    fn no_field_of_values_is_special() {
        let values = json!({"kind": "$(image.tag:web)", "metadata": {"name": "$(image.path:web)"}});
        let Value::Object(values) = values else {
            panic!("it is an object");
        };
        let expanded = expansion().expand_values(values).unwrap();
        let expected = json!({"kind": "1", "metadata": {"name": "shop/web"}});
        assert_eq!(Value::Object(expanded), expected);
    }

    #[test]
    fn what_stands_for_nothing_is_an_error() {
        for (text, error) in [
            ("$(image:db)", ResolveError::Image("db".to_owned())),
            ("$(image:none)", ResolveError::Image("none".to_owned())),
            (
                "$(namespace:other)",
                ResolveError::Namespace("other".parse().unwrap()),
            ),
            (
                "a $(param:none)",
                ResolveError::Parameter("none".parse().unwrap()),
            ),
            (
                "$(param:none)",
                ResolveError::Parameter("none".parse().unwrap()),
            ),
        ] {
            let mut object = json!({"spec": [text]});
            assert_eq!(expansion().expand(&mut object), Err(error), "{text}");
        }
    }
}
