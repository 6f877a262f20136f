//! The Secrets of an environment with a Solution's sensitive parameters and the values that are chosen for charts. A
//! Secret is never changed: new values get a new Secret. An interrupted change and a rollback therefore still find
//! their values. Random values come from [`generate`] for parameters, and from [`generate_key`] for the keys of
//! Secrets.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kubernetes::{Cluster, Object, ObjectRef};
use schemas::{Generate, Namespace, Parameter, ParameterName, SolutionName};
use serde_json::{Value, json};

use crate::model::error::Error;
use crate::model::parameters::{KeptValues, ParameterValues, SecretNumber};
use crate::records::inventory;
use crate::records::namespace_record::NamespaceRecord;
use crate::records::storage::read_if_allowed;

/// The key of a Secret's data with the values of charts. It is not a valid parameter name.
const CHARTS: &str = ".charts";
/// The key of a Secret's data with the key of digests.
const DIGEST_KEY: &str = ".key";

/// The values in a Solution's Secrets in a namespace.
#[derive(Clone, Debug, Default)]
pub(crate) struct KeptSecrets {
    /// The values of each Secret that was applied; empty if it was deleted, or recreated by another client.
    pub(super) values: BTreeMap<SecretNumber, KeptValues>,
    /// The highest number that may have been used.
    pub(super) last: SecretNumber,
}

/// Returns the name of a Secret of sensitive values. The number reveals nothing about them; a digest would confirm a
/// guessed value.
pub(crate) fn secret_name(solution: &SolutionName, number: SecretNumber) -> String {
    format!("{}{number}", prefix(solution))
}

fn prefix(solution: &SolutionName) -> String {
    format!("{solution}-parameters-")
}

/// Returns the number of an object among the Secrets of a Solution's sensitive values in a namespace.
pub(crate) fn number_of(
    object: &ObjectRef,
    solution: &SolutionName,
    namespace: &Namespace,
) -> Option<SecretNumber> {
    let number = object.name.strip_prefix(&prefix(solution))?.parse().ok()?;
    let name = secret_name(solution, number);
    let secret = ObjectRef::namespaced("v1", "Secret", namespace.as_str(), &name);
    object.is_same_object(&secret).then_some(number)
}

/// Returns the Secret as an object of the deployment. Each value is encoded as JSON.
pub(crate) fn secret(
    solution: &SolutionName,
    number: SecretNumber,
    namespace: &Namespace,
    values: &KeptValues,
) -> Value {
    let parameters = values.parameters.iter();
    let mut data: BTreeMap<&str, Value> = parameters
        .map(|(name, value)| (name.as_str(), value.clone()))
        .collect();
    if !values.charts.is_empty() {
        data.insert(CHARTS, json!(values.charts));
        data.insert(DIGEST_KEY, json!(values.key));
    }
    let data: BTreeMap<&str, String> = data
        .into_iter()
        .map(|(name, value)| (name, STANDARD.encode(value.to_string())))
        .collect();
    json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": { "name": secret_name(solution, number), "namespace": namespace },
        // A tenant with write access to Secrets could otherwise change the values, and thereby objects in any
        // namespace.
        "immutable": true,
        "data": data,
    })
}

/// Returns the values in a Solution's Secrets. A Secret is only read if it is the one that was applied, since a tenant
/// may have replaced it.
pub(crate) async fn kept(
    cluster: &Cluster,
    solution: &SolutionName,
    space: &NamespaceRecord,
) -> Result<KeptSecrets, Error> {
    let namespace = &space.namespace;
    let record = inventory::look_up(cluster, solution, space).await?;
    let mut kept = KeptSecrets::default();
    for recorded in &record.entries {
        let reference = recorded.reference();
        let Some(number) = number_of(&reference, solution, namespace) else {
            continue;
        };
        kept.last = kept.last.max(number);
        if recorded.uid.is_some() {
            let live = read_if_allowed(cluster, &reference).await?;
            let ours = live.filter(|live| recorded.check(live, solution).is_ok());
            let held = ours.as_ref().map(values).unwrap_or_default();
            kept.values.insert(number, held);
        }
    }
    Ok(kept)
}

/// Returns the values in a Secret. Values that cannot be decoded are left out.
fn values(secret: &Object) -> KeptValues {
    let data = secret.as_value()["data"].as_object();
    let decoded = |(name, text): (&String, &Value)| {
        let bytes = STANDARD.decode(text.as_str()?).ok()?;
        let value: Value = serde_json::from_slice(&bytes).ok()?;
        Some((name.clone(), value))
    };
    let mut data: BTreeMap<String, Value> =
        data.into_iter().flatten().filter_map(decoded).collect();
    let mut own = |name| data.remove(name).unwrap_or_default();
    let (charts, key) = (own(CHARTS), own(DIGEST_KEY));
    let parameters = data.into_iter();
    KeptValues {
        charts: serde_json::from_value(charts).unwrap_or_default(),
        key: key.as_str().map(str::to_owned),
        parameters: parameters
            .filter_map(|(name, value)| Some((name.parse().ok()?, value)))
            .collect(),
    }
}

/// The letters and digits of random values.
const ALPHABET: &[u8; 62] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
/// The length of a key: more than 128 bits of entropy.
const KEY_LENGTH: u8 = 32;

/// Generates a value for each parameter that may need one.
pub(crate) fn generate(
    declared: &BTreeMap<ParameterName, Parameter>,
) -> Result<ParameterValues, Error> {
    let generated = declared.iter().filter_map(|(name, parameter)| {
        let Generate { length } = parameter.generate.as_ref()?;
        let text = random(*length).map_err(Error::Random);
        Some(text.map(|text| (name.clone(), Value::from(text))))
    });
    generated.collect()
}

/// Generates a key for a Secret that has none.
pub(crate) fn generate_key() -> Result<String, Error> {
    random(KEY_LENGTH).map_err(Error::Random)
}

fn random(length: u8) -> Result<String, getrandom::Error> {
    let mut text = String::new();
    while text.len() < usize::from(length) {
        let mut byte = [0];
        getrandom::fill(&mut byte)?;
        // Six bits select one of 62 letters; the two remaining values are rejected. Mapping them to letters as well
        // would make these letters more likely.
        let letter = usize::from(byte[0] >> 2);
        text.extend(ALPHABET.get(letter).map(|letter| char::from(*letter)));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use schemas::ParameterName;

    use super::*;

    #[test]
    fn what_a_secret_keeps_is_read_from_it_again() {
        let (shop, prod) = ("shop".parse().unwrap(), "prod".parse().unwrap());
        let kept: KeptValues = KeptValues {
            parameters: serde_json::from_value(json!({ "token": "t0ken" })).unwrap(),
            charts: serde_json::from_value(json!({ "db": { "a\\.b[0]": [1] } })).unwrap(),
            key: Some("k".to_owned()),
        };
        let without_charts = KeptValues {
            parameters: kept.parameters.clone(),
            ..KeptValues::default()
        };
        for kept in [kept, without_charts] {
            let document = Object::new(secret(&shop, 7, &prod, &kept)).unwrap();
            assert_eq!(number_of(document.reference(), &shop, &prod), Some(7));
            assert_eq!(values(&document), kept);
        }
    }

    #[test]
    fn a_secret_of_another_solution_or_namespace_has_no_number() {
        let (shop, prod) = ("shop".parse().unwrap(), "prod".parse().unwrap());
        let document = Object::new(secret(&shop, 7, &prod, &KeptValues::default())).unwrap();
        let number = |solution: &str, namespace: &str| {
            let names = (solution.parse().unwrap(), namespace.parse().unwrap());
            number_of(document.reference(), &names.0, &names.1)
        };
        assert_eq!((number("sho", "prod"), number("shop", "p")), (None, None));
    }

    #[test]
    fn the_secret_of_a_program_of_the_time_of_drafts_is_read_and_made_again() {
        let (shop, prod) = ("shop".parse().unwrap(), "prod".parse().unwrap());
        let live = crate::records::earlier_formats::kept("prod", "Secret", "shop-parameters-1");
        assert_eq!(number_of(live.reference(), &shop, &prod), Some(1));
        let held = values(&live);
        let token = held
            .parameters
            .get(&"token".parse::<ParameterName>().unwrap());
        assert_eq!(token, Some(&json!("t0ken-of-prod")));
        assert_eq!(held.parameters.len(), 2);
        let again = secret(&shop, 1, &prod, &held);
        let live = live.as_value();
        assert_eq!(
            (&again["data"], &again["immutable"]),
            (&live["data"], &live["immutable"])
        );
    }
}

#[cfg(test)]
mod generated_tests {
    use std::collections::BTreeSet;

    use schemas::yaml;

    use super::*;

    #[test]
    fn generated_values_are_letters_and_digits_of_the_length() {
        let declared = b"
host: {type: string}
password: {type: string, sensitive: true, generate: {length: 24}}
";
        let declared = yaml::from_slice(declared).unwrap();
        let [one, other] = [generate(&declared).unwrap(), generate(&declared).unwrap()];
        assert_eq!(one.len(), 1);
        let text = one[&"password".parse().unwrap()].as_str().unwrap();
        assert_eq!(text.len(), 24);
        assert!(
            text.bytes().all(|byte| byte.is_ascii_alphanumeric()),
            "{text}"
        );
        assert_ne!(one, other);
    }

    #[test]
    fn every_letter_can_be_drawn() {
        // The probability that a letter is missing by chance is 1 in 10^34.
        let drawn: String = (0..20).map(|_| random(u8::MAX).unwrap()).collect();
        let letters: BTreeSet<u8> = drawn.bytes().collect();
        assert_eq!(letters, ALPHABET.iter().copied().collect());
    }
}
