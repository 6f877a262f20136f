//! The fields of one mapping of a helmfile. A null is as if it were not there, as for Helmfile.

use std::str::FromStr;

use schemas::NameError;
use serde_json::{Map, Value};

use super::error::{HelmfileError, HelmfilePlace, HelmfileProblem};

/// One mapping, and where it stands.
pub(super) struct Fields<'a> {
    pub(super) place: HelmfilePlace,
    map: &'a Map<String, Value>,
}

type Taken<T> = Result<T, HelmfileError>;

impl<'a> Fields<'a> {
    pub(super) fn of(place: &HelmfilePlace, value: &'a Value) -> Taken<Self> {
        let map = value.as_object();
        let map = map.ok_or_else(|| place.problem(HelmfileProblem::NoMapping))?;
        let place = place.clone();
        Ok(Self { place, map })
    }

    pub(super) fn problem(&self, problem: HelmfileProblem) -> HelmfileError {
        self.place.problem(problem)
    }

    /// Refuses all fields but these. What is passed over may be there, and is not read.
    pub(super) fn only(&self, read: &[&str], passed_over: &[&str]) -> Taken<()> {
        let others = self.map.iter().filter(|(field, value)| {
            let known = read.contains(&field.as_str()) || passed_over.contains(&field.as_str());
            !known && !value.is_null()
        });
        let others: Vec<String> = others.map(|(field, _)| manifests::shown(field)).collect();
        if others.is_empty() {
            Ok(())
        } else {
            Err(self.problem(HelmfileProblem::Fields(others)))
        }
    }

    /// Refuses templates in all fields but this one.
    pub(super) fn no_template(&self, except: Option<&str>) -> Taken<()> {
        let mut fields = self.map.iter();
        let has_one = |(field, value): &(&String, &Value)| {
            Some(field.as_str()) != except && has_template(value)
        };
        fields.find(has_one).map_or(Ok(()), |(field, _)| {
            Err(self.problem(HelmfileProblem::Template(manifests::shown(field))))
        })
    }

    /// The fields that are switched off.
    pub(super) fn off(&self) -> impl Iterator<Item = &'a str> {
        let off = self
            .map
            .iter()
            .filter(|(_, value)| **value == Value::Bool(false));
        off.map(|(field, _)| field.as_str())
    }

    pub(super) fn get(&self, field: &str) -> Option<&'a Value> {
        self.map.get(field).filter(|value| !value.is_null())
    }

    /// What is made of a field, if it is there.
    fn formed<T>(
        &self,
        field: &'static str,
        expected: &'static str,
        form: impl FnOnce(&'a Value) -> Option<T>,
    ) -> Taken<Option<T>> {
        let Some(value) = self.get(field) else {
            return Ok(None);
        };
        let wrong = || {
            self.problem(if has_template(value) {
                HelmfileProblem::Template(field.to_owned())
            } else {
                HelmfileProblem::Form { field, expected }
            })
        };
        form(value).ok_or_else(wrong).map(Some)
    }

    /// A text; an empty one is none.
    pub(super) fn text(&self, field: &'static str) -> Taken<Option<&'a str>> {
        let text = self.formed(field, "a text (in quotes)", Value::as_str)?;
        Ok(text.filter(|text| !text.is_empty()))
    }

    /// The name that a text of this field is.
    pub(super) fn name<T: FromStr<Err = NameError>>(
        &self,
        field: &'static str,
        text: &str,
    ) -> Taken<T> {
        let wrong = |wrong| self.problem(HelmfileProblem::Name(field, wrong));
        text.parse().map_err(wrong)
    }

    pub(super) fn boolean(&self, field: &'static str) -> Taken<Option<bool>> {
        self.formed(field, "true or false", Value::as_bool)
    }

    pub(super) fn whole_number(&self, field: &'static str) -> Taken<Option<u64>> {
        self.formed(field, "a whole number", Value::as_u64)
    }

    /// A list of at most so many entries; an empty one where there is none.
    pub(super) fn list(&self, field: &'static str, most: usize) -> Taken<&'a [Value]> {
        let list = self.formed(field, "a list", Value::as_array)?;
        let list = list.map_or(&[][..], Vec::as_slice);
        if list.len() > most {
            return Err(self.problem(HelmfileProblem::TooMany { field, most }));
        }
        Ok(list)
    }
}

/// Whether there is a template in any text of this value: in JSON, two braces in a row are always in a text.
fn has_template(value: &Value) -> bool {
    value.to_string().contains("{{")
}
