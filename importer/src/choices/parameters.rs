//! The values of a Solution's parameters in an environment, and their sources. From weakest to strongest: the default
//! in the archive, the site's configuration, earlier choices, a values file in the request, a single value in the
//! request.
//!
//! Sensitive values and all values for charts are stored only in Secrets of the environment
//! (docs/decisions/0020-sensitive-values.md). [`Resolving::resolve`] is the entry point and a pure function.

mod charts;
pub(crate) mod secret;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;

use rules::check_value;
use schemas::{
    EnvironmentName, Parameter, ParameterName, ParameterType, ReleaseName, Solution, ValuePath,
    nearest, yaml,
};
use serde_json::{Value, json};

pub(crate) use self::charts::looks_secret;
pub(crate) use self::secret::{KeptSecrets, generate, generate_key, kept, number_of, secret};
use crate::choices::redact::HiddenTexts;
use crate::limits;
use crate::model::blocker::{Blocker, ContentBlocker};
use crate::model::parameters::{
    AskedParameters, ChartValues, ChosenBefore, GivenValue, KeptValues, ParameterValues,
    SecretNumber, ValueSource,
};
use crate::records::namespace_record::DeployedSolution;

/// The note on a rollback to values that are no longer stored.
const GONE: &str =
    "the sensitive values of that revision are no longer stored: the current ones are kept";
/// The maximum edit distance between an unknown name and a suggestion.
const NEAR: usize = 3;

/// The inputs that determine the values.
#[derive(Debug)]
pub(crate) struct Resolving<'a> {
    pub(crate) declared: &'a BTreeMap<ParameterName, Parameter>,
    pub(crate) asked: &'a AskedParameters,
    /// The record of the running version.
    pub(crate) current: Option<&'a DeployedSolution>,
    /// The values in the site's files, the strongest last.
    pub(crate) site: &'a [(String, ParameterValues)],
    /// The values in the environment's Secrets.
    pub(crate) kept: &'a KeptSecrets,
    /// A generated value for each parameter that can be generated.
    pub(crate) generated: &'a ParameterValues,
    /// The releases of the version.
    pub(crate) releases: &'a BTreeSet<&'a ReleaseName>,
    /// The values of adopted releases.
    pub(crate) adopted: &'a ChartValues,
    /// The key for the next Secret, if none has a key yet.
    pub(crate) key: &'a str,
    /// The fleet that plans, if any. Earlier choices by flags do not apply then, except for sensitive parameters.
    pub(crate) fleet: Option<PlanningFleet>,
}

/// A fleet that plans a Solution in an environment.
#[derive(Clone, Debug)]
pub(crate) struct PlanningFleet {
    /// The name of the fleet in messages.
    pub(crate) name: String,
    /// The fleet's values for the Solution's parameters, which are recorded.
    pub(crate) parameters: ParameterValues,
    pub(crate) environment: EnvironmentName,
}

/// A value and its source.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Resolved {
    pub(crate) value: Value,
    pub(crate) source: ValueSource,
    pub(crate) sensitive: bool,
}

/// A value for a chart, with its path and source.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ChosenValue {
    pub(crate) path: ValuePath,
    pub(crate) value: Value,
    pub(crate) source: ValueSource,
}

/// The resolved values in an environment.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Parameters {
    pub(crate) all: BTreeMap<ParameterName, Resolved>,
    /// The chosen values that are not sensitive. They are recorded.
    pub(crate) chosen: ParameterValues,
    /// The values for the Secret. It also keeps values for other versions.
    pub(crate) secret: KeptValues,
    /// The values for charts.
    pub(crate) charts: BTreeMap<ReleaseName, Vec<ChosenValue>>,
    /// The number of the Secret with these values.
    pub(crate) number: Option<SecretNumber>,
    /// The number of the running version's Secret.
    pub(crate) current: Option<SecretNumber>,
    /// The texts that diffs and messages must not show.
    pub(crate) hidden: HiddenTexts,
    /// Notes on values of parameters that this version does not have.
    pub(crate) notes: Vec<String>,
}

impl Parameters {
    /// Checks whether a Secret is kept after the deployment is complete. A rollback needs one earlier Secret in
    /// addition to the current one.
    pub(crate) fn keeps(&self, number: SecretNumber) -> bool {
        if self.number == self.current {
            // Newer Secrets belong to an interrupted change, and are removed.
            Some(number) <= self.current
        } else {
            [self.number, self.current].contains(&Some(number))
        }
    }

    pub(crate) fn values(&self) -> ParameterValues {
        let all = self.all.iter();
        all.map(|(name, resolved)| (name.clone(), resolved.value.clone()))
            .collect()
    }

    /// Returns the values for a digest that other users may read. Sensitive values are replaced by the number of their
    /// Secret, which changes when a value changes. With a digest of the values themselves, a reader who knows the rest
    /// could find a short password by trying.
    pub(crate) fn told(&self) -> ParameterValues {
        let mut values = self.values();
        let secret = values
            .iter_mut()
            .filter(|(name, _)| self.secret.parameters.contains_key(*name));
        secret.for_each(|(_, value)| *value = json!({ "secret": self.number }));
        values
    }

    /// Checks whether every parameter has a value. If not, the manifests cannot be expanded, and the missing values are
    /// blockers already.
    pub(crate) fn are_all_of(&self, manifest: &Solution) -> bool {
        let mut declared = manifest.spec.parameters.keys();
        declared.all(|name| self.all.contains_key(name))
    }
}

impl Resolving<'_> {
    /// Resolves all values, and adds a blocker for each problem.
    pub(crate) fn resolve(&self, blockers: &mut Vec<Blocker>) -> Parameters {
        self.check_names(blockers);
        let held = self.held();
        let mut parameters = Parameters {
            secret: held.clone().unwrap_or_default(),
            notes: self.notes(),
            ..Parameters::default()
        };
        for (name, parameter) in self.declared {
            match self.value(
                name,
                parameter,
                held.as_ref().map(|values| &values.parameters),
            ) {
                Ok(resolved) => parameters.add(name, resolved),
                Err(unfit) => blockers.push(unfit.into()),
            }
        }
        self.choose_values(&mut parameters, blockers);
        parameters.number = self.number(&parameters.secret);
        parameters.current = self.current.and_then(|current| current.secret);
        let kept = self.kept.values.values();
        let all = kept.chain([&parameters.secret]);
        parameters.hidden = HiddenTexts::new(all.flat_map(KeptValues::hidden));
        let unused = self.fleet.iter().flat_map(|fleet| {
            let values = self.unused_parameters(fleet);
            values.chain(self.unused_values(fleet))
        });
        let unused = unused.map(|note| parameters.hidden.say(&note));
        parameters.notes.extend(unused);
        let KeptValues {
            parameters: sensitive,
            charts,
            key: _,
        } = &parameters.secret;
        for (named, values) in [
            ("the chosen values of parameters", json!(parameters.chosen)),
            ("the sensitive values of parameters", json!(sensitive)),
            ("the chosen values of charts", json!(charts)),
        ] {
            let size = values.to_string().len();
            if size > limits::PARAMETERS_SIZE {
                let large = ContentBlocker::ValuesTooLarge {
                    values: named,
                    size,
                };
                blockers.push(large.into());
            }
        }
        parameters
    }

    fn check_names(&self, blockers: &mut Vec<Blocker>) {
        let named = self.asked.given.keys().chain(&self.asked.unset);
        let unknown = named.filter(|name| !self.declared.contains_key(*name));
        let unknown: BTreeSet<&ParameterName> = unknown.collect();
        blockers.extend(unknown.into_iter().map(|name| {
            ContentBlocker::NoParameter {
                parameter: name.clone(),
                near: nearest(name.as_str(), self.declared.keys(), NEAR).cloned(),
                releases: self.releases.iter().copied().cloned().collect(),
            }
            .into()
        }));
    }

    /// Returns the stored values of the running version; none if it was never applied.
    fn now(&self) -> Option<KeptValues> {
        let current = self.current?;
        match current.secret {
            Some(number) => self.kept.values.get(&number).cloned(),
            // Earlier builds recorded no number of the Secret.
            None => (!current.sensitive.is_empty()).then(KeptValues::default),
        }
    }

    /// Returns the stored values of the version to roll back to.
    fn then(&self) -> Option<&KeptValues> {
        let kept = self.kept.values.get(&self.then_number()?);
        kept.filter(|values| !values.is_empty())
    }

    fn then_number(&self) -> Option<SecretNumber> {
        match self.asked.before {
            ChosenBefore::Keep => None,
            ChosenBefore::As { secret, .. } => secret,
        }
    }

    /// Returns the stored values that apply unless the request sets them. A rollback keeps the values of parameters
    /// that only the newer version has.
    fn held(&self) -> Option<KeptValues> {
        let (now, then) = (self.now(), self.then());
        match then {
            None => now,
            Some(then) => {
                let mut held = now.unwrap_or_default();
                held.parameters.extend(then.parameters.clone());
                Some(held)
            }
        }
    }

    /// Returns the stored values of an interrupted change, with their number.
    fn begun(&self) -> Option<(SecretNumber, &KeptValues)> {
        let now = self.current.and_then(|current| current.secret);
        let (number, values) = self.kept.values.last_key_value()?;
        (Some(*number) > now).then_some((*number, values))
    }

    /// Returns the number of the Secret for these values: an existing one with the same values, else the next number.
    fn number(&self, values: &KeptValues) -> Option<SecretNumber> {
        let current = self.current.and_then(|current| current.secret);
        let begun = self.begun().filter(|(_, begun)| *begun == values);
        if *values == self.now().unwrap_or_default() {
            current
        } else if let Some((number, _)) = begun {
            Some(number)
        } else {
            let last = self.kept.last.max(current.unwrap_or_default());
            Some(last.saturating_add(1))
        }
    }

    /// Returns the notes on values for other versions, and on values that are no longer stored.
    fn notes(&self) -> Vec<String> {
        // Earlier values have their own note if a fleet plans.
        let before = self.before().filter(|_| self.fleet.is_none());
        let before = before.into_iter().flatten();
        let before = before.map(|(name, _)| (name, ValueSource::Before.to_string()));
        let site = self.site.iter().flat_map(|(from, values)| {
            let names = values.keys();
            names.map(move |name| (name, from.clone()))
        });
        let unknown = before
            .chain(site)
            .filter(|(name, _)| !self.declared.contains_key(*name));
        let note =
            |(name, from)| format!("unused value ({from}): this version has no parameter `{name}`");
        let gone = self.then_number().filter(|_| self.then().is_none());
        let gone = gone.map(|_| GONE.to_owned());
        unknown.map(note).chain(gone).collect()
    }

    /// Returns a note for each earlier value that the planning fleet does not use, except for sensitive ones.
    fn unused_parameters(&self, fleet: &PlanningFleet) -> impl Iterator<Item = String> {
        let before = self.before().into_iter().flatten();
        let is_sensitive = |name: &ParameterName| {
            self.declared
                .get(name)
                .is_some_and(|parameter| parameter.sensitive)
        };
        let is_asked = |name: &ParameterName| {
            self.asked.given.contains_key(name) || self.asked.unset.contains(name)
        };
        let unused = before.filter(move |(name, _)| !is_sensitive(name) && !is_asked(name));
        unused.map(|(name, value)| fleet.unused(name, value))
    }

    /// Returns the earlier values that are not sensitive.
    fn before(&self) -> Option<&ParameterValues> {
        match &self.asked.before {
            ChosenBefore::Keep => self.current.map(|current| &current.parameters),
            ChosenBefore::As { values, .. } => Some(values),
        }
    }

    fn value(
        &self,
        name: &ParameterName,
        parameter: &Parameter,
        held: Option<&ParameterValues>,
    ) -> Result<Resolved, ContentBlocker> {
        let chooses = |fleet: &&PlanningFleet| fleet.parameters.contains_key(name);
        let fleet = self.fleet.as_ref().filter(|_| parameter.sensitive);
        // The fleet's value is refused even if a stronger source applies, because it would be recorded in plain text.
        if let Some(fleet) = fleet.filter(chooses) {
            return Err(ContentBlocker::ValueSeen {
                parameter: name.clone(),
                from: fleet.name.clone(),
            });
        }
        let (value, source) = self.found(name, parameter, held)?;
        check(name, parameter, &value, &source)?;
        Ok(Resolved {
            value,
            source,
            sensitive: parameter.sensitive,
        })
    }

    /// Returns the value of a parameter from the strongest source that has one. A lost sensitive value is a blocker,
    /// because a weaker source would silently replace it.
    fn found(
        &self,
        name: &ParameterName,
        parameter: &Parameter,
        held: Option<&ParameterValues>,
    ) -> Result<(Value, ValueSource), ContentBlocker> {
        match self.asked.given.get(name) {
            Some(GivenValue::Word(word)) => {
                return Ok((read(word, parameter.kind), ValueSource::Word));
            }
            Some(GivenValue::Filed(value)) => return Ok((value.clone(), ValueSource::Filed)),
            Some(GivenValue::Entered(value)) => return Ok((value.clone(), ValueSource::Entered)),
            None => {}
        }
        if !self.asked.unset.contains(name) {
            if let Some(held) = held.filter(|_| parameter.sensitive) {
                if let Some(value) = held.get(name) {
                    return Ok((value.clone(), ValueSource::Kept));
                }
                let mut current = self.current.iter();
                if current.any(|current| current.sensitive.contains(name)) {
                    return Err(ContentBlocker::ValueLost {
                        parameter: name.clone(),
                    });
                }
            }
            let before = self
                .before()
                .filter(|_| self.fleet.is_none() || parameter.sensitive);
            if let Some(value) = before.and_then(|before| before.get(name)) {
                return Ok((value.clone(), ValueSource::Before));
            }
        }
        let mut site = self.site.iter().rev();
        if let Some((from, value)) = site.find_map(|(from, values)| Some((from, values.get(name)?)))
        {
            return Ok((value.clone(), ValueSource::Site(from.clone())));
        }
        if let Some(value) = &parameter.default {
            return Ok((value.clone(), ValueSource::Default));
        }
        let generated = self.generated.get(name);
        let generated = generated.ok_or_else(|| ContentBlocker::NoValue {
            parameter: name.clone(),
        })?;
        // An interrupted change may already have created objects with its generated value.
        let begun = self
            .begun()
            .and_then(|(_, begun)| begun.parameters.get(name));
        Ok(match begun {
            Some(value) => (value.clone(), ValueSource::Kept),
            None => (generated.clone(), ValueSource::Generated),
        })
    }
}

impl PlanningFleet {
    /// Returns the note that the fleet does not use an earlier value.
    fn unused(&self, named: impl Display, value: &Value) -> String {
        let Self {
            name, environment, ..
        } = self;
        format!("`{named}` {value} was chosen earlier for {environment}; {name} does not use it")
    }
}

impl Parameters {
    fn add(&mut self, name: &ParameterName, resolved: Resolved) {
        let Resolved { value, source, .. } = &resolved;
        let chosen = match source {
            // These values are in the archive or in the site's files.
            ValueSource::Default | ValueSource::Site(_) => None,
            ValueSource::Before
            | ValueSource::Kept
            | ValueSource::Filed
            | ValueSource::Word
            | ValueSource::Entered
            | ValueSource::Given
            | ValueSource::Adopted
            | ValueSource::Generated => Some(value.clone()),
        };
        match (chosen, resolved.sensitive) {
            (Some(value), true) => drop(self.secret.parameters.insert(name.clone(), value)),
            (Some(value), false) => drop(self.chosen.insert(name.clone(), value)),
            (None, true) => drop(self.secret.parameters.remove(name)),
            (None, false) => {}
        }
        self.all.insert(name.clone(), resolved);
    }
}

/// Checks a value and its source. A single value of the request and the site's files may be visible to other users, so
/// sensitive values must not come from there.
pub(crate) fn check(
    name: &ParameterName,
    parameter: &Parameter,
    value: &Value,
    source: &ValueSource,
) -> Result<(), ContentBlocker> {
    if parameter.sensitive && matches!(source, ValueSource::Word | ValueSource::Site(_)) {
        return Err(ContentBlocker::ValueSeen {
            parameter: name.clone(),
            from: source.to_string(),
        });
    }
    check_value(parameter, value).map_err(|why| ContentBlocker::ValueRefused {
        parameter: name.clone(),
        from: source.to_string(),
        why,
    })
}

/// Parses a single value of the request by the parameter's type. A value that does not parse remains a string, and the
/// check of its type refuses it.
fn read(word: &str, kind: ParameterType) -> Value {
    let read = match kind {
        ParameterType::String => None,
        ParameterType::Integer => word.parse::<i64>().ok().map(Value::from),
        ParameterType::Number | ParameterType::Array | ParameterType::Object => {
            yaml::from_slice(word.as_bytes()).ok()
        }
        ParameterType::Boolean => word.parse::<bool>().ok().map(Value::from),
    };
    read.unwrap_or_else(|| Value::from(word))
}

#[cfg(test)]
mod tests {

    use super::*;
    use crate::records::namespace_record::tests::deployed;

    const DECLARED: &str = "
size: {type: integer, default: 1, minimum: 1}
host: {type: string, pattern: '^[a-z.]+$'}
debug: {type: boolean, default: false}
password: {type: string, sensitive: true, generate: {length: 24}}
token: {type: string, sensitive: true}
";

    /// The sources of values in a test; all empty by default.
    #[derive(Default)]
    struct Case {
        asked: AskedParameters,
        current: Option<DeployedSolution>,
        site: Vec<(String, ParameterValues)>,
        kept: KeptSecrets,
        adopted: ChartValues,
        fleet: Option<PlanningFleet>,
    }

    impl Case {
        /// Returns a case with all required values, each from another source.
        fn whole() -> Self {
            Self {
                site: vec![
                    (
                        "all".to_owned(),
                        values(&json!({ "host": "all.test", "size": 2 })),
                    ),
                    ("prod".to_owned(), values(&json!({ "host": "prod.test" }))),
                ],
                ..Self::default()
            }
            .kept(1, &json!({ "token": "t0ken" }))
            .current(&json!({}), &["token"])
        }

        /// Adds a Secret with these values.
        fn kept(mut self, number: SecretNumber, held: &Value) -> Self {
            self.kept.values.insert(number, kept(held));
            self.kept.last = self.kept.last.max(number);
            self
        }

        fn given(mut self, name: &str, given: GivenValue) -> Self {
            self.asked.given.insert(name.parse().unwrap(), given);
            self
        }

        fn word(self, name: &str, word: &str) -> Self {
            self.given(name, GivenValue::Word(word.to_owned()))
        }

        /// Adds the record of the running version with these choices.
        fn current(mut self, chosen: &Value, sensitive: &[&str]) -> Self {
            let sensitive = sensitive.iter().map(|name| name.parse().unwrap());
            self.current = Some(DeployedSolution {
                parameters: values(chosen),
                sensitive: sensitive.collect(),
                secret: Some(1),
                ..deployed("1.0.0")
            });
            self
        }

        fn resolve(&self) -> (Parameters, Vec<String>) {
            let declared = yaml::from_slice(DECLARED.as_bytes()).unwrap();
            let mut blockers = Vec::new();
            let releases: Vec<ReleaseName> =
                ["cache", "db"].map(|name| name.parse().unwrap()).into();
            let resolving = Resolving {
                declared: &declared,
                asked: &self.asked,
                current: self.current.as_ref(),
                site: &self.site,
                kept: &self.kept,
                generated: &values(&json!({ "password": "chance" })),
                releases: &releases.iter().collect(),
                adopted: &self.adopted,
                key: "a new key",
                fleet: self.fleet.clone(),
            };
            let parameters = resolving.resolve(&mut blockers);
            let blockers = blockers.iter().map(ToString::to_string).collect();
            (parameters, blockers)
        }

        /// Returns a value and its source; there must be no blockers.
        fn found(&self, name: &str) -> (Value, String) {
            let (parameters, blockers) = self.resolve();
            assert_eq!(blockers, [""; 0]);
            let resolved = &parameters.all[&name.parse().unwrap()];
            (resolved.value.clone(), resolved.source.to_string())
        }

        fn refused(&self) -> Vec<String> {
            self.resolve().1
        }
    }

    fn values(value: &Value) -> ParameterValues {
        serde_json::from_value(value.clone()).unwrap()
    }

    /// Returns the values of parameters as a Secret stores them.
    fn kept(parameters: &Value) -> KeptValues {
        KeptValues {
            parameters: values(parameters),
            ..KeptValues::default()
        }
    }

    fn from(value: Value, from: &str) -> (Value, String) {
        (value, from.to_owned())
    }

    #[test]
    fn the_strongest_place_counts() {
        let case = Case::whole();
        assert_eq!(
            case.found("debug"),
            from(json!(false), "the archive's default")
        );
        assert_eq!(case.found("size"), from(json!(2), "all"));
        assert_eq!(case.found("host"), from(json!("prod.test"), "prod"));
        let case = case.current(&json!({ "size": 3, "host": "now.test" }), &["token"]);
        assert_eq!(case.found("size"), from(json!(3), "chosen before"));
        let case = case.given("size", GivenValue::Filed(json!(4)));
        assert_eq!(case.found("size"), from(json!(4), "given in a file"));
        let case = case.word("size", "5").word("debug", "true");
        assert_eq!(
            case.found("size"),
            from(json!(5), "given on the command line")
        );
        assert_eq!(case.found("debug").0, json!(true));
        let (parameters, _) = case.resolve();
        let chosen = json!({ "size": 5, "debug": true, "host": "now.test" });
        assert_eq!(parameters.chosen, values(&chosen));
    }

    #[test]
    fn a_word_is_read_by_the_type() {
        let read = |word, kind| super::read(word, kind).to_string();
        assert_eq!(read("1.5", ParameterType::Number), "1.5");
        assert_eq!(read("[a, 1]", ParameterType::Array), "[\"a\",1]");
        assert_eq!(
            read("{a: {b: c}}", ParameterType::Object),
            "{\"a\":{\"b\":\"c\"}}"
        );
        assert_eq!(read("[", ParameterType::Array), "\"[\"");
        assert_eq!(read("1.5", ParameterType::String), "\"1.5\"");
    }

    #[test]
    fn a_choice_that_is_taken_back_is_none_any_more() {
        let mut case = Case::whole().current(&json!({ "size": 3 }), &["token"]);
        case.asked.unset.insert("size".parse().unwrap());
        assert_eq!(case.found("size"), from(json!(2), "all"));
        assert_eq!(case.resolve().0.chosen, ParameterValues::new());
    }

    #[test]
    fn what_ran_before_brings_its_choices_with_it() {
        let mut case = Case::whole().current(&json!({ "size": 3, "debug": true }), &["token"]);
        case.asked.before = ChosenBefore::As {
            values: values(&json!({ "size": 7 })),
            secret: None,
        };
        assert_eq!(case.found("size"), from(json!(7), "chosen before"));
        assert_eq!(case.found("debug").0, json!(false));
        assert_eq!(case.found("token").0, json!("t0ken"));
    }

    #[test]
    fn sensitive_values_are_kept_in_the_secret_alone() {
        let case = Case::whole();
        let of_secret = from(json!("t0ken"), "kept in the environment's Secret");
        assert_eq!(case.found("token"), of_secret);
        let generated = from(json!("chance"), "generated when it is deployed");
        assert_eq!(case.found("password"), generated);
        let (parameters, _) = case.resolve();
        let secret = json!({ "password": "chance", "token": "t0ken" });
        assert_eq!(parameters.secret, kept(&secret));
        assert_eq!(parameters.chosen, ParameterValues::new());
        assert_eq!(parameters.hidden.say("t0ken chance"), "*** ***");
        // A generated value is kept.
        let both = json!({ "password": "first", "token": "t0ken" });
        let mut again = Case::whole().kept(1, &both);
        assert_eq!(again.found("password").0, json!("first"));
        again.asked.unset.insert("password".parse().unwrap());
        assert_eq!(again.found("password").0, json!("chance"));
        // Existing objects may still contain the old value.
        assert_eq!(again.resolve().0.hidden.say("first chance"), "*** ***");
    }

    #[test]
    fn what_a_digest_is_of_has_the_number_of_the_secret_in_the_place_of_its_values() {
        let case = Case::whole().given("token", GivenValue::Filed(json!("other")));
        let (parameters, _) = case.resolve();
        let told = parameters.told();
        assert_eq!(told[&"token".parse().unwrap()], json!({ "secret": 2 }));
        assert_eq!(told[&"host".parse().unwrap()], json!("prod.test"));
        assert_eq!(parameters.values()[&"token".parse().unwrap()], "other");
    }

    #[test]
    fn everything_that_is_wrong_is_said_at_once() {
        let mut case = Case::default().word("sise", "1").word("size", "0");
        case.asked.unset.insert("more".parse().unwrap());
        case = case
            .word("token", "typed")
            .given("debug", GivenValue::Filed(json!("no")));
        let expected = [
            "this version has no parameter `more`",
            "this version has no parameter `sise`",
            "the value of parameter `debug` (given in a file) is not true or false",
            "parameter `host` has no value",
            "the value of parameter `size` (given on the command line) is less than 1",
            "parameter `token` is sensitive, but other users can read its value: given on the command line",
        ];
        assert_eq!(case.refused(), expected);
        let case = Case::whole().word("host", "Ä").word("size", "x");
        let expected = [
            "the value of parameter `host` (given on the command line) does not match the pattern `^[a-z.]+$`",
            "the value of parameter `size` (given on the command line) is not a whole number between -2^53 and 2^53",
        ];
        assert_eq!(case.refused(), expected);
        let mut case = Case::whole();
        case.site[0].1.extend(values(&json!({ "token": "x" })));
        assert_eq!(case.refused(), [""; 0], "the Secret counts before");
        case.kept = KeptSecrets::default();
        let expected = "parameter `token` is sensitive, but other users can read its value: all";
        assert_eq!(case.refused(), [expected]);
    }

    #[test]
    fn a_value_that_only_the_secret_had_is_missed() {
        let names = ["password", "token"];
        let mut case = Case::whole().current(&json!({}), &names);
        let lost = "the value of parameter `password` is lost: the Secret of the environment that stored it was deleted or recreated";
        assert_eq!(case.refused(), [lost]);
        case.asked.unset.insert("password".parse().unwrap());
        assert_eq!(case.found("password").0, json!("chance"));
        // The first deployment was interrupted before its Secret was applied.
        let mut early = Case::whole().current(&json!({}), &["password"]);
        early.kept = KeptSecrets::default();
        early = early.given("token", GivenValue::Filed(json!("t0ken")));
        assert_eq!(early.found("password").0, json!("chance"));
        // An earlier build recorded no number.
        let mut old = Case::whole().current(&json!({}), &["password"]);
        old.current.as_mut().unwrap().secret = None;
        old = old.given("token", GivenValue::Filed(json!("t0ken")));
        assert_eq!(old.refused(), [lost]);
    }

    /// Returns the number of the current Secret, and those of the other Secrets that are kept.
    fn secrets(case: &Case) -> (Option<SecretNumber>, Vec<SecretNumber>) {
        let (parameters, blockers) = case.resolve();
        assert_eq!(blockers, [""; 0]);
        let others = (1..=9).filter(|number| parameters.number != Some(*number));
        let stay = others.filter(|number| parameters.keeps(*number));
        (parameters.number, stay.collect())
    }

    #[test]
    fn other_values_are_in_another_secret_and_those_of_before_stay() {
        let both = |token: &str| json!({ "password": "made", "token": token });
        let at = |number| {
            let mut case = Case::whole().current(&json!({}), &["password", "token"]);
            case.current.as_mut().unwrap().secret = Some(number);
            case.kept = KeptSecrets::default();
            case
        };
        let case = at(2).kept(1, &both("one")).kept(2, &both("two"));
        assert_eq!(secrets(&case), (Some(2), vec![1]));
        let given = |case: Case, token: &str| case.given("token", GivenValue::Filed(json!(token)));
        let other = given(at(2).kept(1, &both("one")).kept(2, &both("two")), "three");
        assert_eq!(secrets(&other), (Some(3), vec![2]));
        // A number is not used again, even if its Secret cannot be read.
        let mut unknown = given(at(2).kept(2, &both("two")), "three");
        unknown.kept.last = 5;
        assert_eq!(secrets(&unknown), (Some(6), vec![2]));

        // The first deployment of all.
        let mut first = given(Case::whole(), "one");
        (first.current, first.kept) = (None, KeptSecrets::default());
        assert_eq!(secrets(&first), (Some(1), vec![]));
    }

    #[test]
    fn what_is_gone_back_to_has_its_values_again() {
        let back = |secret| {
            let both = |token: &str| json!({ "password": "made", "token": token });
            let mut case = Case::whole().current(&json!({}), &["password", "token"]);
            case.current.as_mut().unwrap().secret = Some(2);
            let more = json!({ "password": "made", "token": "two", "newer": "x" });
            case.kept = KeptSecrets::default();
            case = case.kept(1, &both("one")).kept(2, &more);
            case.asked.before = ChosenBefore::As {
                values: ParameterValues::new(),
                secret,
            };
            case
        };
        assert_eq!(back(Some(1)).found("token").0, json!("one"));
        assert_eq!(secrets(&back(Some(1))), (Some(3), vec![2]));
        // A value that only the newer version has is kept for it.
        let (parameters, _) = back(Some(1)).resolve();
        let expected = json!({ "password": "made", "token": "one", "newer": "x" });
        assert_eq!(parameters.secret, kept(&expected));
        assert_eq!(parameters.notes, [""; 0]);
        assert_eq!(parameters.hidden.say("it was made"), "it was ***");

        // The values are no longer stored.
        assert_eq!(secrets(&back(Some(7))), (Some(2), vec![1]));
        assert_eq!(back(Some(7)).resolve().0.notes, [GONE]);
        assert_eq!(back(None).resolve().0.notes, [""; 0]);
    }

    #[test]
    fn what_was_made_for_a_change_that_did_not_end_is_used_by_the_next_one() {
        let begun = json!({ "password": "begun", "token": "new" });
        let case = || Case::whole().kept(2, &begun);
        // Values that a user entered must be entered again.
        assert_eq!(case().found("token").0, json!("t0ken"));
        assert_eq!(case().found("password").0, json!("begun"));
        assert_eq!(secrets(&case()), (Some(3), vec![1]));
        let again = case().given("token", GivenValue::Filed(json!("new")));
        assert_eq!(secrets(&again), (Some(2), vec![1]));
        // The running version is deployed again, and the interrupted change's Secret is removed.
        let mut back = case().kept(1, &json!({ "password": "first", "token": "t0ken" }));
        assert_eq!(secrets(&back), (Some(1), vec![]));
        back.asked.unset.insert("password".parse().unwrap());
        assert_eq!(back.found("password").0, json!("begun"));
    }

    #[test]
    fn values_for_other_versions_are_noted() {
        let mut case = Case::whole().current(&json!({ "old": 1 }), &[]);
        case = case.kept(1, &json!({ "token": "t0ken", "old-secret": "x" }));
        case.site[0].1.extend(values(&json!({ "new": 1 })));
        let (parameters, blockers) = case.resolve();
        assert_eq!(blockers, [""; 0]);
        // The version that has the parameter may be deployed again.
        assert!(
            parameters
                .secret
                .parameters
                .keys()
                .any(|name| name.as_str() == "old-secret")
        );
        let note = |name: &str, from: &str| {
            format!("unused value ({from}): this version has no parameter `{name}`")
        };
        assert_eq!(
            parameters.notes,
            [note("old", "chosen before"), note("new", "all")]
        );
    }

    fn charts(value: Value) -> ChartValues {
        serde_json::from_value(value).unwrap()
    }

    /// Returns a Solution with values for its charts in its second Secret.
    fn with_charts() -> Case {
        let mut case = Case::whole().current(&json!({}), &["password", "token"]);
        case.current.as_mut().unwrap().secret = Some(2);
        case.current.as_mut().unwrap().charts = ["db".parse().unwrap()].into();
        for (number, charts) in [
            (1, self::charts(json!({ "db": { "size": 1 } }))),
            (
                2,
                self::charts(
                    json!({ "db": { "auth.password": "hunter2", "size": 2, "tls.key": "k" } }),
                ),
            ),
        ] {
            case = case.kept(number, &json!({ "password": "made", "token": "one" }));
            let kept = case.kept.values.get_mut(&number).unwrap();
            kept.charts = charts;
            kept.key = Some("the key".to_owned());
        }
        case
    }

    /// Returns the case with a planning fleet that chooses these values.
    fn of_fleet(mut case: Case, chosen: &Value) -> Case {
        let name = "the fleet shops".to_owned();
        case.site.push((name.clone(), values(chosen)));
        case.fleet = Some(PlanningFleet {
            name,
            parameters: values(chosen),
            environment: "prod".parse().unwrap(),
        });
        case
    }

    #[test]
    fn what_flags_chose_before_is_not_used_by_a_fleet_that_plans_and_is_told() {
        let mut case = with_charts();
        let chosen = json!({ "size": 3, "debug": true, "old": "x" });
        case.current.as_mut().unwrap().parameters = values(&chosen);
        case.adopted = charts(json!({ "cache": { "x": 1, "password": "adopted" } }));
        let kept = case.kept.values.get_mut(&2).unwrap();
        kept.charts.extend(charts(json!({ "old": { "y": 1 } })));
        let mut case = of_fleet(case, &json!({ "size": 5 }));
        assert_eq!(case.found("size"), from(json!(5), "the fleet shops"));
        assert_eq!(case.found("host"), from(json!("prod.test"), "prod"));
        let default = from(json!(false), "the archive's default");
        assert_eq!(case.found("debug"), default);
        // Values in a Secret are kept, including generated ones.
        let of_secret = |value: &str| from(json!(value), "kept in the environment's Secret");
        assert_eq!(case.found("token"), of_secret("one"));
        assert_eq!(case.found("password"), of_secret("made"));
        let (parameters, _) = case.resolve();
        assert_eq!(parameters.chosen, ParameterValues::new());
        assert_eq!(parameters.secret.charts, ChartValues::new());
        assert_eq!(parameters.charts.len(), 0);
        let note = |value: &str| {
            format!("{value} was chosen earlier for prod; the fleet shops does not use it")
        };
        let expected = [
            "`debug` true",
            "`old` \"x\"",
            "`size` 3",
            "`cache:password` \"***\"",
            "`cache:x` 1",
            "`db:auth.password` \"***\"",
            "`db:size` 2",
            "`db:tls.key` \"k\"",
            "`old:y` 1",
        ];
        assert_eq!(parameters.notes, expected.map(note));

        // Values in this request are used.
        case = case.word("size", "7").word("debug", "true");
        ask(
            &mut case,
            "db",
            json!({ "given": { "size": 9 }, "unset": ["tls", "auth"] }),
        );
        assert_eq!(case.found("size").0, json!(7));
        let (parameters, _) = case.resolve();
        assert_eq!(
            parameters.secret.charts,
            charts(json!({ "db": { "size": 9 } }))
        );
        let expected = [
            "`old` \"x\"",
            "`cache:password` \"***\"",
            "`cache:x` 1",
            "`old:y` 1",
        ];
        assert_eq!(parameters.notes, expected.map(note));

        // Values that the fleet does not use may be missing.
        let mut case = with_charts();
        case.kept.values.get_mut(&2).unwrap().charts = ChartValues::new();
        assert!(!case.refused().is_empty());
        assert_eq!(of_fleet(case, &json!({})).refused(), [""; 0]);
    }

    #[test]
    fn what_was_chosen_before_a_parameter_was_sensitive_stays() {
        let mut case = Case::whole().current(&json!({ "token": "s3cret" }), &[]);
        case.kept = KeptSecrets::default();
        let case = of_fleet(case, &json!({}));
        assert_eq!(case.found("token"), from(json!("s3cret"), "chosen before"));
        let (parameters, _) = case.resolve();
        assert_eq!(parameters.notes, [""; 0]);
        assert_eq!(
            parameters.secret.parameters[&"token".parse().unwrap()],
            "s3cret"
        );
    }

    #[test]
    fn a_fleet_chooses_no_sensitive_value_whatever_counts() {
        let refused =
            "parameter `token` is sensitive, but other users can read its value: the fleet shops";
        let chosen = json!({ "token": "x" });
        let kept = of_fleet(Case::whole(), &chosen);
        assert_eq!(kept.refused(), [refused]);
        let given = kept.given("token", GivenValue::Filed(json!("y")));
        assert_eq!(given.refused(), [refused]);
    }

    fn ask(case: &mut Case, release: &str, asked: Value) {
        let asked = serde_json::from_value(asked).unwrap();
        case.asked.charts.insert(release.parse().unwrap(), asked);
    }

    #[test]
    fn values_of_charts_stay_until_they_are_chosen_again_or_taken_back() {
        let case = with_charts();
        assert_eq!(secrets(&case), (Some(2), vec![1]));
        let mut case = with_charts();
        ask(
            &mut case,
            "db",
            json!({ "given": { "size": 3, "a.b": null }, "unset": ["tls"] }),
        );
        ask(&mut case, "cache", json!({ "given": { "x": 1 } }));
        assert_eq!(secrets(&case), (Some(3), vec![2]));
        let (parameters, _) = case.resolve();
        let expected = json!({
            "db": { "a.b": null, "auth.password": "hunter2", "size": 3 }, "cache": { "x": 1 },
        });
        assert_eq!(parameters.secret.charts, charts(expected));
        assert_eq!(parameters.secret.key.as_deref(), Some("the key"));
        assert_eq!(parameters.hidden.say("hunter2 3"), "*** 3");
        let sources = parameters.charts[&"db".parse().unwrap()].iter();
        let sources: Vec<String> = sources
            .map(|value| format!("{} {}", value.path, value.source))
            .collect();
        let expected = [
            "a.b given with this command",
            "auth.password chosen before",
            "size given with this command",
        ];
        assert_eq!(sources, expected);

        let mut case = with_charts();
        ask(
            &mut case,
            "db",
            json!({ "unsetAll": true, "given": { "size": 9 } }),
        );
        let chosen = case.resolve().0.secret.charts;
        assert_eq!(chosen, charts(json!({ "db": { "size": 9 } })));
        // They also replace values that are lost.
        case.kept.values.get_mut(&2).unwrap().charts = ChartValues::new();
        assert_eq!(case.refused(), [""; 0]);
        case.asked.charts.clear();
        let lost = "the values of the release `db` are lost: the Secret of the environment that stored them was deleted or recreated";
        assert_eq!(case.refused(), [lost]);
    }

    #[test]
    fn what_is_gone_back_to_has_its_values_of_charts_and_no_others() {
        let back = |secret| {
            let mut case = with_charts();
            case.asked.before = ChosenBefore::As {
                values: ParameterValues::new(),
                secret,
            };
            case.resolve().0.secret.charts
        };
        assert_eq!(back(Some(1)), charts(json!({ "db": { "size": 1 } })));
        assert_eq!(back(None), ChartValues::new());
        assert_eq!(back(Some(9)), with_charts().resolve().0.secret.charts);
    }

    #[test]
    fn an_adopted_release_brings_its_values_once() {
        let adopted = charts(json!({ "cache": { "x": 1, "y": 1 }, "db": { "size": 7 } }));
        let mut case = with_charts();
        case.adopted.clone_from(&adopted);
        ask(&mut case, "cache", json!({ "given": { "x": 2 } }));
        let (parameters, _) = case.resolve();
        let of = |release: &str| json!(parameters.secret.charts[&release.parse().unwrap()]);
        assert_eq!(of("cache"), json!({ "x": 2, "y": 1 }));
        assert_eq!(of("db")["size"], 2, "chosen before");
        let sources = parameters.charts[&"cache".parse().unwrap()].iter();
        let sources: Vec<String> = sources.map(|value| value.source.to_string()).collect();
        assert_eq!(
            sources,
            ["given with this command", "of the release that is adopted"]
        );
        let case = Case {
            adopted,
            ..Case::default()
        };
        assert_eq!(case.resolve().0.secret.key.as_deref(), Some("a new key"));
    }

    #[test]
    fn a_value_that_no_path_leads_to_is_refused() {
        let deep = vec!["a"; 40].join("\":{\"");
        let deep: Value =
            serde_json::from_str(&format!("{{\"{deep}\":1{}", "}".repeat(40))).unwrap();
        for values in [json!({ "": 1 }), json!({ "a": { "": 1 } }), deep] {
            let mut case = with_charts();
            let values = serde_json::from_value(values).unwrap();
            case.adopted = [("cache".parse().unwrap(), schemas::by_path(&values))].into();
            let refused = case.refused();
            assert!(
                refused[0].contains("of the release `cache`: a key is empty"),
                "{refused:?}"
            );
        }
    }

    #[test]
    fn a_release_that_the_version_does_not_have_is_refused_or_noted() {
        let mut case = with_charts();
        ask(&mut case, "dp", json!({ "given": { "x": 1 } }));
        assert_eq!(case.refused(), ["this version has no release `dp`"]);
        let mut case = with_charts();
        let kept = case.kept.values.get_mut(&2).unwrap();
        kept.charts.extend(charts(json!({ "old": { "x": 1 } })));
        let (parameters, blockers) = case.resolve();
        assert_eq!(blockers, [""; 0]);
        let note = "unused values of an earlier deployment: this version has no release `old`";
        assert_eq!(parameters.notes, [note]);
        assert!(
            parameters
                .secret
                .charts
                .contains_key(&"old".parse().unwrap())
        );
    }

    #[test]
    fn chosen_values_are_bounded() {
        let case = |length: usize| {
            let host = "a".repeat(length - "{\"host\":\"\"}".len());
            Case::whole().word("host", &host).refused()
        };
        assert_eq!(case(limits::PARAMETERS_SIZE), [""; 0]);
        let large = "the chosen values of parameters have 65537 bytes in total; the limit is 65536";
        assert_eq!(case(limits::PARAMETERS_SIZE + 1), [large]);
    }
}
