//! The template of an operator's Deployment, merged into the Deployment of an import ([`lay_beneath`]). Fields in only
//! one of the two are kept. If both have a field, that of the import applies. docs/decisions/0017-operator-template.md
//! gives the reasons.
//!
//! [`Addresses::expand`] replaces `$(image:NAME)` in an operator's command, arguments and environment by the address by
//! digest that nodes pull from. Both are pure functions.

use std::collections::{BTreeMap, BTreeSet};

use rules::ImagesByName;
use schemas::{Digest, ImageName, ImagePlace, OperatorTemplate, Piece, split_expansions};
use serde_json::{Map, Value, json};

use crate::model::error::ExpandError;

/// Merges a template into a Deployment whose only container is the operator's.
pub(crate) fn lay_beneath(
    template: &OperatorTemplate,
    images: &Addresses<'_>,
    deployment: &mut Value,
) -> Result<(), ExpandError> {
    if let Some(replicas) = template.replicas {
        deployment["spec"]["replicas"] = json!(replicas);
    }
    let pod = &mut deployment["spec"]["template"];
    // Labels and annotations of the template have priority: releases find their pods by labels for which an import has
    // other values.
    for (name, value) in &template.metadata.labels {
        pod["metadata"]["labels"][name] = json!(value);
    }
    for (name, value) in &template.metadata.annotations {
        pod["metadata"]["annotations"][name] = json!(value);
    }
    let theirs = expand(&Value::Object(template.spec.clone()), images)?;
    let ours = pod["spec"].take();
    pod["spec"] = spec(theirs, ours);
    Ok(())
}

/// Merges the pod specifications.
fn spec(mut theirs: Value, mut ours: Value) -> Value {
    let own = ours["containers"][0].take();
    let beside = |field: &str, theirs: &mut Value| {
        let list = theirs.get_mut(field).and_then(Value::as_array_mut);
        list.map(std::mem::take).unwrap_or_default()
    };
    let (mut operators, mut others): (Vec<Value>, Vec<Value>) = beside("containers", &mut theirs)
        .into_iter()
        .partition(OperatorTemplate::is_own);
    others.iter_mut().for_each(withhold);
    let own = container(operators.pop().unwrap_or_default(), own);
    // Other code relies on the operator's container being the first one.
    ours["containers"] = [vec![own], others].concat().into();
    let mut first = beside("initContainers", &mut theirs);
    if !first.is_empty() {
        first.iter_mut().for_each(withhold);
        ours["initContainers"] = first.into();
    }
    let volumes = beside("volumes", &mut theirs);
    ours["volumes"] = joined(ours["volumes"].take(), volumes, "name");
    // The template's security context has priority over the default. The plan shows its effects.
    let usual = ours["securityContext"].take();
    ours["securityContext"] = merge(usual, theirs["securityContext"].take());
    merge(theirs, ours)
}

/// Merges the operator's container.
fn container(mut theirs: Value, mut ours: Value) -> Value {
    let mut list = |field: &str| {
        let list = theirs.get_mut(field).and_then(Value::as_array_mut);
        list.map(std::mem::take).unwrap_or_default()
    };
    let (env, mounts, ports) = (list("env"), list("volumeMounts"), list("ports"));
    // Default variables are replaced by those of the template, as by those in `spec.operator.env`.
    if let Some(usual) = ours["env"].as_array_mut() {
        let known = keys(&env, "name");
        usual.retain(|usual| !known.contains(&usual["name"].to_string()));
    }
    ours["env"] = joined(ours["env"].take(), env, "name");
    ours["volumeMounts"] = joined(ours["volumeMounts"].take(), mounts, "mountPath");
    if !ports.is_empty() {
        ours["ports"] = joined(ours["ports"].take(), ports, "containerPort");
    }
    // Operators look up their own container by its name.
    if let Some(name) = theirs.get("name") {
        ours["name"] = name.clone();
    }
    let mut container = merge(theirs, ours);
    withhold(&mut container);
    container
}

/// Applies the restrictions for all containers.
fn withhold(container: &mut Value) {
    let theirs = container["securityContext"].take();
    let mut context = merge(theirs, withheld());
    if context["privileged"] == true
        && let Some(context) = context.as_object_mut()
    {
        // The API server rejects a privileged container with this field.
        context.remove("allowPrivilegeEscalation");
    }
    container["securityContext"] = context;
}

/// Returns the security context with the restrictions for all containers.
pub(crate) fn withheld() -> Value {
    json!({ "allowPrivilegeEscalation": false, "capabilities": { "drop": ["ALL"] } })
}

/// Appends the elements of the second list whose key is not in the first.
fn joined(ours: Value, theirs: Vec<Value>, key: &str) -> Value {
    let Value::Array(mut all) = ours else {
        return theirs.into();
    };
    let known = keys(&all, key);
    let new = |element: &Value| !known.contains(&element[key].to_string());
    all.extend(theirs.into_iter().filter(new));
    all.into()
}

/// Returns the values of the key that identifies the elements of a list.
fn keys(list: &[Value], key: &str) -> BTreeSet<String> {
    list.iter()
        .map(|element| element[key].to_string())
        .collect()
}

/// Merges two values: maps are joined, other values are replaced by `over`.
fn merge(beneath: Value, over: Value) -> Value {
    match (beneath, over) {
        (Value::Object(mut all), Value::Object(over)) => {
            for (key, value) in over {
                let beneath = all.remove(&key).unwrap_or_default();
                all.insert(key, merge(beneath, value));
            }
            Value::Object(all)
        }
        (beneath, Value::Null) => beneath,
        (_, over) => over,
    }
}

/// Returns the value with every `$(image:…)` expanded.
fn expand(value: &Value, images: &Addresses<'_>) -> Result<Value, ExpandError> {
    Ok(match value {
        Value::String(text) => images.expand(text)?.into(),
        Value::Array(items) => {
            let items = items.iter().map(|item| expand(item, images));
            items.collect::<Result<Vec<_>, _>>()?.into()
        }
        Value::Object(fields) => {
            let fields = fields.iter();
            let fields = fields.map(|(name, field)| Ok((name.clone(), expand(field, images)?)));
            Value::Object(fields.collect::<Result<Map<_, _>, ExpandError>>()?)
        }
        other => other.clone(),
    })
}

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
