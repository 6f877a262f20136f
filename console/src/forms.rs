//! The fields of a form, and the choices for parameters and charts that a form contains. All limits apply before a
//! field is used.

use std::collections::{BTreeMap, BTreeSet};
use std::str::FromStr;

use importer::{AskedParameters, AskedValues, ChosenBefore, GivenValue};
use schemas::{Parameter, ParameterName, ParameterType, ReleaseName, Solution, by_path, yaml};
use serde_json::{Map, Number, Value};

use crate::problem::Problem;
use crate::texts;

/// The largest number of fields.
const FIELDS: usize = 2_000;

/// The prefix of fields with the value of a parameter.
pub(crate) const SET: &str = "set.";
/// The prefix of boxes that discard the choice for a parameter.
pub(crate) const UNSET: &str = "unset.";
/// The prefix of fields with the values of a chart release.
pub(crate) const CHART: &str = "chart.";
/// The field with the values of parameters as YAML.
pub(crate) const YAML: &str = "yaml";

/// The fields of a form.
#[derive(Debug)]
pub(crate) struct Form(BTreeMap<String, String>);

impl Form {
    /// Reads the fields of a form. The first field of a name counts.
    pub(crate) fn parse(body: &[u8]) -> Result<Self, Problem> {
        let mut fields = BTreeMap::new();
        for (number, (name, value)) in form_urlencoded::parse(body).enumerate() {
            if number >= FIELDS {
                return Err(Problem::bad_request(texts::LARGE_FORM));
            }
            fields
                .entry(name.into_owned())
                .or_insert_with(|| value.into_owned());
        }
        Ok(Self(fields))
    }

    /// Returns the text of a field, without spaces around it. An empty field counts as missing.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        let text = self.0.get(name)?.trim();
        (!text.is_empty()).then_some(text)
    }

    /// Returns true if a box is checked.
    pub(crate) fn is_checked(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// Returns a field in its checked form. An empty field counts as missing.
    pub(crate) fn parsed<T: FromStr<Err: ToString>>(
        &self,
        name: &str,
    ) -> Result<Option<T>, Problem> {
        let parsed = self.text(name).map(str::parse).transpose();
        parsed.map_err(|error: T::Err| wrong(name, &error.to_string()))
    }

    /// Returns a field in its checked form.
    pub(crate) fn required<T: FromStr<Err: ToString>>(&self, name: &str) -> Result<T, Problem> {
        self.parsed(name)?
            .ok_or_else(|| wrong(name, texts::REQUIRED))
    }

    /// Returns the choices for the parameters and charts of a version. Earlier choices are kept.
    pub(crate) fn parameters(&self, solution: &Solution) -> Result<AskedParameters, Problem> {
        let declared = &solution.spec.parameters;
        let mut given = BTreeMap::new();
        let mut unset = BTreeSet::new();
        for (name, parameter) in declared {
            if self.is_checked(&format!("{UNSET}{name}")) {
                unset.insert(name.clone());
            } else if let Some(text) = self.text(&format!("{SET}{name}")) {
                let value = value(parameter, text);
                let value = value.map_err(|why| wrong(name.as_str(), &why))?;
                given.insert(name.clone(), GivenValue::Entered(value));
            }
        }
        for (name, value) in self.yaml(YAML)? {
            let name: ParameterName = name
                .parse()
                .map_err(|why| wrong(YAML, &format!("{name}: {why}")))?;
            unset.remove(&name);
            given.insert(name, GivenValue::Entered(value));
        }
        let mut charts = BTreeMap::new();
        for chart in &solution.spec.charts {
            let asked = self.chart(&chart.name)?;
            charts.extend(asked.map(|asked| (chart.name.clone(), asked)));
        }
        Ok(AskedParameters {
            before: ChosenBefore::Keep,
            given,
            unset,
            charts,
        })
    }

    fn chart(&self, release: &ReleaseName) -> Result<Option<AskedValues>, Problem> {
        let values = self.yaml(&format!("{CHART}{release}"))?;
        Ok((!values.is_empty()).then(|| AskedValues {
            given: by_path(&values),
            ..AskedValues::default()
        }))
    }

    fn yaml(&self, name: &str) -> Result<Map<String, Value>, Problem> {
        let Some(text) = self.text(name) else {
            return Ok(Map::new());
        };
        yaml::from_slice(text.as_bytes()).map_err(|error| wrong(name, &error.to_string()))
    }
}

fn wrong(field: &str, why: &str) -> Problem {
    Problem::bad_request(texts::wrong_field(field, why))
}

/// Returns the value of a parameter by its type. The importer checks it against the other rules of the parameter.
fn value(parameter: &Parameter, text: &str) -> Result<Value, String> {
    match parameter.kind {
        ParameterType::String => Ok(Value::from(text)),
        ParameterType::Integer | ParameterType::Number => {
            let number = Number::from_str(text);
            number
                .map(Value::Number)
                .map_err(|_| format!("`{text}` is not a number"))
        }
        ParameterType::Boolean => match text {
            "true" => Ok(Value::Bool(true)),
            "false" => Ok(Value::Bool(false)),
            _ => Err(format!("`{text}` is neither true nor false")),
        },
        ParameterType::Array | ParameterType::Object => {
            yaml::from_slice(text.as_bytes()).map_err(|error| error.to_string())
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn solution() -> Solution {
        serde_json::from_value(json!({
            "apiVersion": schemas::API_VERSION,
            "kind": "Solution",
            "metadata": { "name": "shop" },
            "spec": {
                "version": "1.0.0",
                "images": [],
                "parameters": {
                    "host": { "type": "string" },
                    "size": { "type": "integer", "default": 3 },
                    "debug": { "type": "boolean" },
                    "zones": { "type": "array" },
                }
            }
        }))
        .unwrap()
    }

    fn asked(body: &str) -> Result<AskedParameters, String> {
        let form = Form::parse(body.as_bytes()).map_err(|problem| problem.message)?;
        form.parameters(&solution())
            .map_err(|problem| problem.message)
    }

    #[test]
    fn empty_fields_change_nothing_and_texts_become_values_of_the_type() {
        let empty = "set.host=&set.size=&set.debug=&set.zones=+&yaml=";
        assert_eq!(asked(empty), Ok(AskedParameters::default()));
        let found = asked("set.host=a.test&set.size=5&set.debug=true&set.zones=-+a%0A-+b").unwrap();
        let given: BTreeMap<String, Value> = found
            .given
            .into_iter()
            .map(|(name, value)| match value {
                GivenValue::Entered(value) => (name.to_string(), value),
                other => panic!("{other:?}"),
            })
            .collect();
        let expected = json!({"host": "a.test", "size": 5, "debug": true, "zones": ["a", "b"]});
        assert_eq!(serde_json::to_value(given).unwrap(), expected);
    }

    #[test]
    fn a_checked_box_discards_a_choice_and_yaml_has_precedence() {
        let found = asked("set.size=5&unset.size=on&unset.host=on&yaml=host%3A+b.test").unwrap();
        let [size, host] = ["size", "host"].map(|name| name.parse().unwrap());
        assert_eq!(found.unset, [size].into());
        assert_eq!(
            found.given,
            [(host, GivenValue::Entered(json!("b.test")))].into()
        );
    }

    #[test]
    fn a_field_that_cannot_be_used_is_named() {
        for (body, expected) in [
            (
                "set.size=many",
                "cannot use the field size: `many` is not a number",
            ),
            (
                "set.debug=yes",
                "cannot use the field debug: `yes` is neither true nor false",
            ),
        ] {
            assert_eq!(asked(body).unwrap_err(), expected);
        }
        assert!(
            asked("yaml=a%3A+b%3A+c")
                .unwrap_err()
                .starts_with("cannot use the field yaml: ")
        );
        let many = "f=1&".repeat(FIELDS + 1);
        assert_eq!(asked(&many).unwrap_err(), texts::LARGE_FORM);
    }
}
