//! The values of a Solution's parameters in an environment, and where each comes from: the archive's default, then the
//! site's file, what was chosen before, a file of this request, and a word of it, each before the one named here first.
//! Sensitive ones, and all values that were chosen for charts, are kept in Secrets of the environment alone. Resolving is a
//! pure function.

mod charts;
mod generated;
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
pub(crate) use self::generated::{generate, generate_key};
pub(crate) use self::secret::{Kept, kept, number_of, secret};
use crate::limits;
use crate::model::namespace_record::Deployed;
use crate::model::obstacle::{Obstacle, Unfit};
use crate::model::parameters::{
    AskedParameters, ChartValues, ChosenBefore, Given, KeptValues, ParameterValues, SecretNumber,
    ValueSource,
};
use crate::plan::hidden::HiddenTexts;

/// The note on a way back to values that are not there any more.
const GONE: &str =
    "the sensitive values of that revision are no longer stored: the current ones are kept";
/// Changes of a letter between a name and the one that may have been meant.
const NEAR: usize = 3;

/// Everything that decides the values.
#[derive(Debug)]
pub(crate) struct Resolving<'a> {
    pub(crate) declared: &'a BTreeMap<ParameterName, Parameter>,
    pub(crate) asked: &'a AskedParameters,
    /// The record of the Solution that stands.
    pub(crate) standing: Option<&'a Deployed>,
    /// The values of the site's files, the stronger last.
    pub(crate) site: &'a [(String, ParameterValues)],
    /// The values that the Secrets hold.
    pub(crate) kept: &'a Kept,
    /// A value for each parameter that would be generated.
    pub(crate) generated: &'a ParameterValues,
    /// The releases of the version.
    pub(crate) releases: &'a BTreeSet<&'a ReleaseName>,
    /// The values that releases have which are adopted.
    pub(crate) adopted: &'a ChartValues,
    /// The key of the next Secret, where none has one yet.
    pub(crate) key: &'a str,
    /// The fleet that plans. What flags chose before is not used then, but for sensitive parameters.
    pub(crate) fleet: Option<PlanningFleet>,
}

/// A fleet that plans for a Solution in an environment.
#[derive(Clone, Debug)]
pub(crate) struct PlanningFleet {
    /// The name of the fleet in messages.
    pub(crate) name: String,
    /// The values of the Solution's parameters that it chooses, which are recorded.
    pub(crate) parameters: ParameterValues,
    pub(crate) environment: EnvironmentName,
}

/// A value, and where it comes from.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Resolved {
    pub(crate) value: Value,
    pub(crate) source: ValueSource,
    pub(crate) sensitive: bool,
}

/// A value that was chosen for a chart.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ChosenValue {
    pub(crate) path: ValuePath,
    pub(crate) value: Value,
    pub(crate) source: ValueSource,
}

/// The values in an environment.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Parameters {
    pub(crate) all: BTreeMap<ParameterName, Resolved>,
    /// The values that were chosen and may be seen: those that the site records.
    pub(crate) chosen: ParameterValues,
    /// The values that the Secret is to hold; those that this version does not have stay in it for others.
    pub(crate) secret: KeptValues,
    /// The values that were chosen for charts.
    pub(crate) charts: BTreeMap<ReleaseName, Vec<ChosenValue>>,
    /// The number of that Secret.
    pub(crate) number: Option<SecretNumber>,
    /// The number of the running version's Secret: a way back leads to it, or if it stays to the one before it.
    pub(crate) standing: Option<SecretNumber>,
    /// The values that no diff and no message shows.
    pub(crate) hidden: HiddenTexts,
    /// Values of parameters that this version does not have.
    pub(crate) notes: Vec<String>,
}

impl Parameters {
    /// Whether a Secret stays once the deployment is whole: that of what runs then, and that of what a way back leads to.
    pub(crate) fn keeps(&self, number: SecretNumber) -> bool {
        if self.number == self.standing {
            // What a change that did not end has kept goes.
            Some(number) <= self.standing
        } else {
            [self.number, self.standing].contains(&Some(number))
        }
    }

    pub(crate) fn values(&self) -> ParameterValues {
        let all = self.all.iter();
        all.map(|(name, resolved)| (name.clone(), resolved.value.clone()))
            .collect()
    }

    /// Returns the values for a digest that others may read: in the place of what is secret stands the number of its
    /// Secret, which is another one where a value is. Whoever knows all else would find a short password out.
    pub(crate) fn told(&self) -> ParameterValues {
        let mut values = self.values();
        let secret = values
            .iter_mut()
            .filter(|(name, _)| self.secret.parameters.contains_key(*name));
        secret.for_each(|(_, value)| *value = json!({ "secret": self.number }));
        values
    }

    /// Whether every parameter of a version has a value: without one nothing can be expanded, and that it is missing is in
    /// the way already.
    pub(crate) fn are_all_of(&self, manifest: &Solution) -> bool {
        let mut declared = manifest.spec.parameters.keys();
        declared.all(|name| self.all.contains_key(name))
    }
}

impl Resolving<'_> {
    /// The values, and whatever is wrong with them.
    pub(crate) fn resolve(&self, obstacles: &mut Vec<Obstacle>) -> Parameters {
        self.check_names(obstacles);
        let held = self.held();
        let mut parameters = Parameters {
            secret: held.clone().unwrap_or_default(),
            notes: self.notes(),
            ..Parameters::default()
        };
        for (name, parameter) in self.declared {
            match self.value(name, parameter, held.as_ref().map(|it| &it.parameters)) {
                Ok(resolved) => parameters.add(name, resolved),
                Err(unfit) => obstacles.push(unfit.into()),
            }
        }
        self.choose_values(&mut parameters, obstacles);
        parameters.number = self.number(&parameters.secret);
        parameters.standing = self.standing.and_then(|standing| standing.secret);
        let kept = self.kept.values.values();
        let all = kept.chain([&parameters.secret]);
        parameters.hidden = HiddenTexts::of(all.flat_map(KeptValues::hidden));
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
                let large = Unfit::ValuesTooLarge {
                    values: named,
                    size,
                };
                obstacles.push(large.into());
            }
        }
        parameters
    }

    fn check_names(&self, obstacles: &mut Vec<Obstacle>) {
        let named = self.asked.given.keys().chain(&self.asked.unset);
        let unknown = named.filter(|name| !self.declared.contains_key(*name));
        let unknown: BTreeSet<&ParameterName> = unknown.collect();
        obstacles.extend(unknown.into_iter().map(|name| {
            Unfit::NoParameter {
                parameter: name.clone(),
                near: nearest(name.as_str(), self.declared.keys(), NEAR).cloned(),
                releases: self.releases.iter().copied().cloned().collect(),
            }
            .into()
        }));
    }

    /// Returns the values that are kept of the running version; none if it was never applied.
    fn now(&self) -> Option<KeptValues> {
        let standing = self.standing?;
        match standing.secret {
            Some(number) => self.kept.values.get(&number).cloned(),
            // As a build before this one kept them.
            None => (!standing.sensitive.is_empty()).then(KeptValues::default),
        }
    }

    /// Returns the values that are kept of the version to go back to.
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

    /// Returns the values that hold unless others are given: those that only the newer version has stay for it.
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

    /// Returns the values that a change that did not end has kept, with their number.
    fn begun(&self) -> Option<(SecretNumber, &KeptValues)> {
        let now = self.standing.and_then(|standing| standing.secret);
        let (number, values) = self.kept.values.last_key_value()?;
        (Some(*number) > now).then_some((*number, values))
    }

    /// The Secret of these values: one that has them already, else the next one.
    fn number(&self, values: &KeptValues) -> Option<SecretNumber> {
        let standing = self.standing.and_then(|standing| standing.secret);
        let begun = self.begun().filter(|(_, begun)| *begun == values);
        if *values == self.now().unwrap_or_default() {
            standing
        } else if let Some((number, _)) = begun {
            Some(number)
        } else {
            let last = self.kept.last.max(standing.unwrap_or_default());
            Some(last.saturating_add(1))
        }
    }

    /// Values that were given for other versions, and those that are not kept any more.
    fn notes(&self) -> Vec<String> {
        // Of what a fleet does not use, something else is said.
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

    /// Says of each value that was chosen before, and may be seen, that the fleet which plans does not use it.
    fn unused_parameters(&self, fleet: &PlanningFleet) -> impl Iterator<Item = String> {
        let before = self.before().into_iter().flatten();
        let is_sensitive =
            |name: &ParameterName| self.declared.get(name).is_some_and(|it| it.sensitive);
        let is_asked = |name: &ParameterName| {
            self.asked.given.contains_key(name) || self.asked.unset.contains(name)
        };
        let unused = before.filter(move |(name, _)| !is_sensitive(name) && !is_asked(name));
        unused.map(|(name, value)| fleet.unused(name, value))
    }

    /// Returns the values that were chosen before and may be seen.
    fn before(&self) -> Option<&ParameterValues> {
        match &self.asked.before {
            ChosenBefore::Keep => self.standing.map(|standing| &standing.parameters),
            ChosenBefore::As { values, .. } => Some(values),
        }
    }

    fn value(
        &self,
        name: &ParameterName,
        parameter: &Parameter,
        held: Option<&ParameterValues>,
    ) -> Result<Resolved, Unfit> {
        let chooses = |it: &&PlanningFleet| it.parameters.contains_key(name);
        let fleet = self.fleet.as_ref().filter(|_| parameter.sensitive);
        // Also where something stronger counts: it would be recorded.
        if let Some(fleet) = fleet.filter(chooses) {
            return Err(Unfit::ValueSeen {
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

    fn found(
        &self,
        name: &ParameterName,
        parameter: &Parameter,
        held: Option<&ParameterValues>,
    ) -> Result<(Value, ValueSource), Unfit> {
        match self.asked.given.get(name) {
            Some(Given::Word(word)) => return Ok((read(word, parameter.kind), ValueSource::Word)),
            Some(Given::Filed(value)) => return Ok((value.clone(), ValueSource::Filed)),
            None => {}
        }
        if !self.asked.unset.contains(name) {
            if let Some(held) = held.filter(|_| parameter.sensitive) {
                if let Some(value) = held.get(name) {
                    return Ok((value.clone(), ValueSource::Kept));
                }
                let mut standing = self.standing.iter();
                if standing.any(|standing| standing.sensitive.contains(name)) {
                    return Err(Unfit::ValueLost {
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
        let generated = generated.ok_or_else(|| Unfit::NoValue {
            parameter: name.clone(),
        })?;
        // What was made with it may be there.
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
    /// Says that the fleet does not use a value that was chosen before.
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
            // Whoever has the archive can see it.
            ValueSource::Default | ValueSource::Site(_) => None,
            ValueSource::Before
            | ValueSource::Kept
            | ValueSource::Filed
            | ValueSource::Word
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

/// Refuses a value that the parameter does not take, or not from there.
pub(crate) fn check(
    name: &ParameterName,
    parameter: &Parameter,
    value: &Value,
    source: &ValueSource,
) -> Result<(), Unfit> {
    if parameter.sensitive && matches!(source, ValueSource::Word | ValueSource::Site(_)) {
        return Err(Unfit::ValueSeen {
            parameter: name.clone(),
            from: source.to_string(),
        });
    }
    check_value(parameter, value).map_err(|why| Unfit::ValueRefused {
        parameter: name.clone(),
        from: source.to_string(),
        why,
    })
}

/// A word as a value of a type; one that is not of the type stays a text.
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
    use crate::model::namespace_record::tests::deployed;

    const DECLARED: &str = "
size: {type: integer, default: 1, minimum: 1}
host: {type: string, pattern: '^[a-z.]+$'}
debug: {type: boolean, default: false}
password: {type: string, sensitive: true, generate: {length: 24}}
token: {type: string, sensitive: true}
";

    /// The possible sources of values; none of them by default.
    #[derive(Default)]
    struct Case {
        asked: AskedParameters,
        standing: Option<Deployed>,
        site: Vec<(String, ParameterValues)>,
        kept: Kept,
        adopted: ChartValues,
        fleet: Option<PlanningFleet>,
    }

    impl Case {
        /// Returns the case with all that is needed, each from a place of its own.
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
            .standing(&json!({}), &["token"])
        }

        /// Adds the values that a Secret holds.
        fn kept(mut self, number: SecretNumber, held: &Value) -> Self {
            self.kept.values.insert(number, kept(held));
            self.kept.last = self.kept.last.max(number);
            self
        }

        fn given(mut self, name: &str, given: Given) -> Self {
            self.asked.given.insert(name.parse().unwrap(), given);
            self
        }

        fn word(self, name: &str, word: &str) -> Self {
            self.given(name, Given::Word(word.to_owned()))
        }

        /// Adds the values that were chosen for the version that runs.
        fn standing(mut self, chosen: &Value, sensitive: &[&str]) -> Self {
            let sensitive = sensitive.iter().map(|name| name.parse().unwrap());
            self.standing = Some(Deployed {
                parameters: values(chosen),
                sensitive: sensitive.collect(),
                secret: Some(1),
                ..deployed("1.0.0")
            });
            self
        }

        fn resolve(&self) -> (Parameters, Vec<String>) {
            let declared = yaml::from_slice(DECLARED.as_bytes()).unwrap();
            let mut obstacles = Vec::new();
            let releases: Vec<ReleaseName> = ["cache", "db"].map(|it| it.parse().unwrap()).into();
            let resolving = Resolving {
                declared: &declared,
                asked: &self.asked,
                standing: self.standing.as_ref(),
                site: &self.site,
                kept: &self.kept,
                generated: &values(&json!({ "password": "chance" })),
                releases: &releases.iter().collect(),
                adopted: &self.adopted,
                key: "a new key",
                fleet: self.fleet.clone(),
            };
            let parameters = resolving.resolve(&mut obstacles);
            let obstacles = obstacles.iter().map(ToString::to_string).collect();
            (parameters, obstacles)
        }

        /// A value with where it comes from; nothing is in the way.
        fn found(&self, name: &str) -> (Value, String) {
            let (parameters, obstacles) = self.resolve();
            assert_eq!(obstacles, [""; 0]);
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

    /// Values of parameters, as a Secret keeps them.
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
        let case = case.standing(&json!({ "size": 3, "host": "now.test" }), &["token"]);
        assert_eq!(case.found("size"), from(json!(3), "chosen before"));
        let case = case.given("size", Given::Filed(json!(4)));
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
        let mut case = Case::whole().standing(&json!({ "size": 3 }), &["token"]);
        case.asked.unset.insert("size".parse().unwrap());
        assert_eq!(case.found("size"), from(json!(2), "all"));
        assert_eq!(case.resolve().0.chosen, ParameterValues::new());
    }

    #[test]
    fn what_ran_before_brings_its_choices_with_it() {
        let mut case = Case::whole().standing(&json!({ "size": 3, "debug": true }), &["token"]);
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
        // A value that was made once stays.
        let both = json!({ "password": "first", "token": "t0ken" });
        let mut again = Case::whole().kept(1, &both);
        assert_eq!(again.found("password").0, json!("first"));
        again.asked.unset.insert("password".parse().unwrap());
        assert_eq!(again.found("password").0, json!("chance"));
        // The old one may stand in what is there.
        assert_eq!(again.resolve().0.hidden.say("first chance"), "*** ***");
    }

    #[test]
    fn what_a_digest_is_of_has_the_number_of_the_secret_in_the_place_of_its_values() {
        let case = Case::whole().given("token", Given::Filed(json!("other")));
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
            .given("debug", Given::Filed(json!("no")));
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
        case.kept = Kept::default();
        let expected = "parameter `token` is sensitive, but other users can read its value: all";
        assert_eq!(case.refused(), [expected]);
    }

    #[test]
    fn a_value_that_only_the_secret_had_is_missed() {
        let names = ["password", "token"];
        let mut case = Case::whole().standing(&json!({}), &names);
        let lost = "the value of parameter `password` is lost: the Secret of the environment that stored it was deleted or recreated";
        assert_eq!(case.refused(), [lost]);
        case.asked.unset.insert("password".parse().unwrap());
        assert_eq!(case.found("password").0, json!("chance"));
        // Never applied: the first deployment did not come so far.
        let mut early = Case::whole().standing(&json!({}), &["password"]);
        early.kept = Kept::default();
        early = early.given("token", Given::Filed(json!("t0ken")));
        assert_eq!(early.found("password").0, json!("chance"));
        // By a build that did not number them.
        let mut old = Case::whole().standing(&json!({}), &["password"]);
        old.standing.as_mut().unwrap().secret = None;
        old = old.given("token", Given::Filed(json!("t0ken")));
        assert_eq!(old.refused(), [lost]);
    }

    /// Returns the number of the Secret with the values, and those of the others that stay.
    fn secrets(case: &Case) -> (Option<SecretNumber>, Vec<SecretNumber>) {
        let (parameters, obstacles) = case.resolve();
        assert_eq!(obstacles, [""; 0]);
        let others = (1..=9).filter(|it| parameters.number != Some(*it));
        let stay = others.filter(|it| parameters.keeps(*it));
        (parameters.number, stay.collect())
    }

    #[test]
    fn other_values_are_in_another_secret_and_those_of_before_stay() {
        let both = |token: &str| json!({ "password": "made", "token": token });
        let at = |number| {
            let mut case = Case::whole().standing(&json!({}), &["password", "token"]);
            case.standing.as_mut().unwrap().secret = Some(number);
            case.kept = Kept::default();
            case
        };
        let case = at(2).kept(1, &both("one")).kept(2, &both("two"));
        assert_eq!(secrets(&case), (Some(2), vec![1]));
        let given = |case: Case, token: &str| case.given("token", Given::Filed(json!(token)));
        let other = given(at(2).kept(1, &both("one")).kept(2, &both("two")), "three");
        assert_eq!(secrets(&other), (Some(3), vec![2]));
        // A number is never used again, also if nobody knows what became of its Secret.
        let mut unknown = given(at(2).kept(2, &both("two")), "three");
        unknown.kept.last = 5;
        assert_eq!(secrets(&unknown), (Some(6), vec![2]));

        // The first ones of all.
        let mut first = given(Case::whole(), "one");
        (first.standing, first.kept) = (None, Kept::default());
        assert_eq!(secrets(&first), (Some(1), vec![]));
    }

    #[test]
    fn what_is_gone_back_to_has_its_values_again() {
        let back = |secret| {
            let both = |token: &str| json!({ "password": "made", "token": token });
            let mut case = Case::whole().standing(&json!({}), &["password", "token"]);
            case.standing.as_mut().unwrap().secret = Some(2);
            let more = json!({ "password": "made", "token": "two", "newer": "x" });
            case.kept = Kept::default();
            case = case.kept(1, &both("one")).kept(2, &more);
            case.asked.before = ChosenBefore::As {
                values: ParameterValues::new(),
                secret,
            };
            case
        };
        assert_eq!(back(Some(1)).found("token").0, json!("one"));
        assert_eq!(secrets(&back(Some(1))), (Some(3), vec![2]));
        // What only the newer version has stays for it.
        let (parameters, _) = back(Some(1)).resolve();
        let expected = json!({ "password": "made", "token": "one", "newer": "x" });
        assert_eq!(parameters.secret, kept(&expected));
        assert_eq!(parameters.notes, [""; 0]);
        assert_eq!(parameters.hidden.say("it was made"), "it was ***");

        // Not kept any more.
        assert_eq!(secrets(&back(Some(7))), (Some(2), vec![1]));
        assert_eq!(back(Some(7)).resolve().0.notes, [GONE]);
        assert_eq!(back(None).resolve().0.notes, [""; 0]);
    }

    #[test]
    fn what_was_made_for_a_change_that_did_not_end_is_used_by_the_next_one() {
        let begun = json!({ "password": "begun", "token": "new" });
        let case = || Case::whole().kept(2, &begun);
        // What a person has given is to be given again.
        assert_eq!(case().found("token").0, json!("t0ken"));
        assert_eq!(case().found("password").0, json!("begun"));
        assert_eq!(secrets(&case()), (Some(3), vec![1]));
        let again = case().given("token", Given::Filed(json!("new")));
        assert_eq!(secrets(&again), (Some(2), vec![1]));
        // The version that runs is deployed again: nothing of it stays.
        let mut back = case().kept(1, &json!({ "password": "first", "token": "t0ken" }));
        assert_eq!(secrets(&back), (Some(1), vec![]));
        back.asked.unset.insert("password".parse().unwrap());
        assert_eq!(back.found("password").0, json!("begun"));
    }

    #[test]
    fn values_for_other_versions_are_noted() {
        let mut case = Case::whole().standing(&json!({ "old": 1 }), &[]);
        case = case.kept(1, &json!({ "token": "t0ken", "old-secret": "x" }));
        case.site[0].1.extend(values(&json!({ "new": 1 })));
        let (parameters, obstacles) = case.resolve();
        assert_eq!(obstacles, [""; 0]);
        // The version that has it may come back.
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

    /// A Solution for whose chart values were chosen, kept in its second Secret.
    fn with_charts() -> Case {
        let mut case = Case::whole().standing(&json!({}), &["password", "token"]);
        case.standing.as_mut().unwrap().secret = Some(2);
        case.standing.as_mut().unwrap().charts = ["db".parse().unwrap()].into();
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

    /// Returns the case as a fleet plans it that chooses these values of parameters.
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
        case.standing.as_mut().unwrap().parameters = values(&chosen);
        case.adopted = charts(json!({ "cache": { "x": 1, "password": "adopted" } }));
        let kept = case.kept.values.get_mut(&2).unwrap();
        kept.charts.extend(charts(json!({ "old": { "y": 1 } })));
        let mut case = of_fleet(case, &json!({ "size": 5 }));
        assert_eq!(case.found("size"), from(json!(5), "the fleet shops"));
        assert_eq!(case.found("host"), from(json!("prod.test"), "prod"));
        let default = from(json!(false), "the archive's default");
        assert_eq!(case.found("debug"), default);
        // A Secret's values stay, those that were generated among them.
        let of_secret = |value: &str| from(json!(value), "kept in the environment's Secret");
        assert_eq!(case.found("token"), of_secret("one"));
        assert_eq!(case.found("password"), of_secret("made"));
        let (parameters, _) = case.resolve();
        assert_eq!(parameters.chosen, ParameterValues::new());
        assert_eq!(parameters.secret.charts, ChartValues::new());
        assert_eq!(parameters.charts.len(), 0);
        let note =
            |it: &str| format!("{it} was chosen earlier for prod; the fleet shops does not use it");
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

        // What this request chooses is used.
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

        // What is gone is not missed.
        let mut case = with_charts();
        case.kept.values.get_mut(&2).unwrap().charts = ChartValues::new();
        assert!(!case.refused().is_empty());
        assert_eq!(of_fleet(case, &json!({})).refused(), [""; 0]);
    }

    #[test]
    fn what_was_chosen_before_a_parameter_was_sensitive_stays() {
        let mut case = Case::whole().standing(&json!({ "token": "s3cret" }), &[]);
        case.kept = Kept::default();
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
        let given = kept.given("token", Given::Filed(json!("y")));
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
            .map(|it| format!("{} {}", it.path, it.source))
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
        // Also where they are gone.
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
        let sources: Vec<String> = sources.map(|it| it.source.to_string()).collect();
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
        let (parameters, obstacles) = case.resolve();
        assert_eq!(obstacles, [""; 0]);
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
