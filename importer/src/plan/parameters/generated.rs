//! Random values: [`generate`] for parameters that are generated, and [`generate_key`] for the keys of Secrets.

use std::collections::BTreeMap;

use schemas::{Generate, Parameter, ParameterName};
use serde_json::Value;

use crate::model::error::Error;
use crate::model::parameters::ParameterValues;

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
