//! The JSON Schemas of results (`schemas/results`). They follow from the types that the program writes as JSON, and here
//! alone it is said which of these a verb can answer with. `UPDATE=1 cargo test --bin solution results` writes them anew.

mod tidy;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use importer::{Deletion, Description, Receipt, SiteShown, Undone};
use packager::{Added, Packed, Preview};
use registry::Event;
use schemars::generate::{SchemaGenerator, SchemaSettings};
use schemars::{JsonSchema, Schema};
use serde_json::{Map, Value, json};
use shelf::{ImagesToPush, PushReceipt, PushSummary};
use validator::Report;

use self::tidy::tidy;
use super::apply::configuration::show::Overview;
use super::at_registry::{prune, verify};
use super::image_map::{Mapped, ShownMap};
use super::import::show::Planned;
use super::import::then;
use super::refusal::{Kept, Refused};
use super::{
    Files, diff, environment, export, history, init, inspect, keygen, login, logout, mirrors, pack,
    preflight, rbac, serve, sign, site, status, trust, validate,
};
use crate::failure::FailureJson;
use crate::push_events::{self, Line};
use crate::render::SCHEMA_VERSION;

/// Where the names of the schemas begin.
const BASE: &str = "https://solutions.metalk8s.scality.com/v1alpha1/results/";

/// The schema of what several results have in common.
const COMMON: &str = "common";

/// The type of manifests, which have a schema elsewhere.
const MANIFEST: &str = "Solution";

/// Where a schema has what it refers to.
const DEFINITIONS: &str = "#/$defs/";

/// Says of every verb what it can answer, but for a failure.
fn verbs(all: &mut Results) {
    let report = &all.shared::<Report>("report");
    changes(all, report);
    archives(all, report);
    sites(all);
    registries(all, report);
}

/// Those that change what runs in a cluster.
fn changes(all: &mut Results, report: &Value) {
    let receipt = &all.shared::<Mapped<Receipt>>("receipt");
    let dry_run = &all.shared::<Mapped<Planned>>("dryRun");
    let written = &all.shared::<then::Written>("writtenPlan");
    let refused = &all.shared::<Refused<Planned>>("refusedPlan");
    let planned = [receipt, dry_run, written, refused, report];
    all.verb("activate", &planned);
    all.verb("rollback", &planned);

    let undone = &all.shared::<Undone>("undone");
    let hindered = &all.shared::<Kept>("hindered");
    all.verb("deploy", &[&planned[..], &[hindered]].concat());
    all.verb("deactivate", &[undone, hindered]);
    all.verb("undeploy", &[undone, hindered]);
    all.verb("unimport", &[undone, hindered]);
    let deletion = &all.own::<Deletion>();
    let kept = &all.own::<Refused<Deletion>>();
    let deletion = &said("With `--dry-run`: what would go, and what stays.", deletion);
    all.verb("delete", &[undone, deletion, kept]);

    let pushed = &all.shared::<Mapped<PushReceipt, ShownMap>>("pushReceipt");
    let push = &all.shared::<Mapped<PushSummary, ShownMap>>("pushDryRun");
    let refused_push = &all.shared::<Refused<PushSummary>>("refusedPush");
    let push = [pushed, push, refused_push];
    // With `--no-cluster`, the old spelling of `push`.
    all.verb("import", &[&planned[..], &push].concat());
    all.verb("push", &[&push[..], &[report]].concat());

    let steps = &all.own::<Overview>();
    let unconfirmed = &all.own::<Refused<Overview>>();
    let in_place = &all.own::<then::InPlace>();
    all.verb(
        "apply",
        &[
            steps,
            unconfirmed,
            &said("With `--plan`: what was done.", receipt),
            &said(
                "With `--plan` and `--dry-run`: what would be done.",
                dry_run,
            ),
            in_place,
            &said(
                "With `--plan`: what is in the way, or what has changed since the plan was made.",
                refused,
            ),
            &said("With `--plan`: the archive is not accepted.", report),
        ],
    );
}

/// Those about archives, keys and trust, and the program itself.
fn archives(all: &mut Results, report: &Value) {
    let made = &all.own::<keygen::Made>();
    all.verb("keygen", &[made]);
    let files = &all.shared::<Files>("files");
    all.verb("man", &[files]);
    all.verb("cat", &[]);
    all.verb("completion", &[]);
    let chart = &all.own::<init::chart::Made>();
    let helmfile = &all.own::<init::helmfile::Made>();
    let release = &all.own::<init::release::Made>();
    let updated = &all.own::<init::update::Updated>();
    all.verb("init", &[files, chart, helmfile, release, updated]);

    let packed = &all.own::<Packed>();
    let refused = &all.own::<pack::Refused>();
    let preview = &said(
        "With `--check`: what would be packed.",
        &all.own::<Preview>(),
    );
    let added = &said("With `--add-images`: what was added.", &all.own::<Added>());
    all.verb("pack", &[packed, refused, preview, added]);
    let validated = &all.own::<validate::Validated>();
    all.verb("validate", &[validated]);
    let signed = &all.own::<sign::Signed>();
    let to_sign = &all.own::<sign::ToSign>();
    all.verb("sign", &[signed, to_sign]);
    let archive = &all.own::<inspect::archive::Inspected>();
    let plan = &all.own::<inspect::plan::Inspected>();
    all.verb("inspect", &[archive, plan]);
    let differences = &all.own::<diff::show::All>();
    all.verb("diff", &[differences, report]);

    let policy = &all.shared::<trust::Shown>("policy");
    all.verb("trust-add", &[policy]);
    let policies = &all.own::<trust::Policies>();
    all.verb("trust-list", &[policies]);
    let removed = &all.own::<trust::remove::Removed>();
    all.verb("trust-remove", &[removed, policy]);
}

/// Those about a site: its environments, its file, and what runs there.
fn sites(all: &mut Results) {
    let created = &all.own::<environment::Created>();
    all.verb("environment-create", &[created]);
    let hindered = &reference("hindered");
    let deleted = &all.own::<environment::delete::Deleted>();
    all.verb("environment-delete", &[deleted, hindered]);
    let description = &all.own::<Description>();
    all.verb("environment-describe", &[description]);
    let environments = &all.own::<environment::Environments>();
    all.verb("environment-list", &[environments]);

    let begun = &all.own::<site::init::Begun>();
    all.verb("site-init", &[begun]);
    let usable = &all.own::<site::check::Usable>();
    let fulfilled = &all.own::<site::check::Fulfilled>();
    let missing = &all.own::<Refused<site::check::Nothing>>();
    all.verb("site-check", &[usable, fulfilled, missing]);
    let set = &all.own::<site::set::Shown>();
    all.verb("site-set", &[set]);
    let shown = &all.own::<SiteShown>();
    all.verb("site-show", &[shown]);

    let list = &all.own::<rbac::List>();
    all.verb("rbac", &[list, &reference("report")]);
    let status = &all.own::<status::Shown>();
    all.verb("status", &[status]);
    let history = &all.own::<history::shown::Shown>();
    all.verb("history", &[history]);
}

/// Those about registries.
fn registries(all: &mut Results, report: &Value) {
    let logged_in = &all.own::<login::LoggedIn>();
    all.verb("login", &[logged_in]);
    let logged_out = &all.own::<logout::LoggedOut>();
    all.verb("logout", &[logged_out]);
    let alone = &all.own::<preflight::shown::Shown<()>>();
    let archive = &all.own::<preflight::shown::Shown<ImagesToPush>>();
    all.verb("preflight", &[alone, archive, report]);
    let exported = &all.own::<export::Exported>();
    all.verb("export", &[exported, report]);
    let pruned = &all.own::<prune::Pruned>();
    let kept = &all.own::<Refused<prune::Pruned>>();
    all.verb("registry-prune", &[pruned, kept]);
    let found = &all.own::<verify::Found>();
    all.verb("registry-verify", &[found, report]);
    let mirrors = &all.own::<mirrors::Shown>();
    all.verb("mirrors", &[mirrors, report]);
    let event = &all.own::<serve::log::Said>();
    all.verb("serve", &[event]);
    let lines = "One object a line, as long as the server runs.";
    let told = all.files.entry("serve");
    told.and_modify(|it| it["description"] = lines.into());
    let lines = [
        all.own::<Line<push_events::Said>>(),
        all.own::<Line<Event>>(),
    ];
    let progress = json!({
        "title": "--progress",
        "description": "One object a line, while a push runs.",
        "anyOf": lines,
    });
    all.files.insert("push-event", progress);
}

/// The schemas, as far as they are made.
struct Results {
    generator: SchemaGenerator,
    definitions: Map<String, Value>,
    files: BTreeMap<&'static str, Value>,
}

impl Results {
    /// Makes all of them.
    fn all() -> BTreeMap<String, Schema> {
        let settings = SchemaSettings::draft2020_12().for_serialize();
        let mut all = Self {
            generator: settings.into_generator(),
            definitions: Map::new(),
            files: BTreeMap::new(),
        };
        let version = json!({
            "description": "The version of the results' schemas. It rises when a field changes its meaning or goes; \
                fields that are added leave it.",
            "const": SCHEMA_VERSION,
        });
        all.definitions.insert("schemaVersion".to_owned(), version);
        all.shared::<FailureJson>("failure");
        verbs(&mut all);
        all.finish()
    }

    /// Makes an answer that only one verb has.
    fn own<T: JsonSchema>(&mut self) -> Value {
        let mut answer = T::json_schema(&mut self.generator).to_value();
        answer["properties"]["schemaVersion"] = reference("schemaVersion");
        let mut required = vec![json!("schemaVersion")];
        required.extend(answer["required"].as_array().cloned().unwrap_or_default());
        answer["required"] = required.into();
        answer
    }

    /// Makes an answer that several verbs have.
    fn shared<T: JsonSchema>(&mut self, name: &str) -> Value {
        let answer = self.own::<T>();
        self.definitions.insert(name.to_owned(), answer);
        reference(name)
    }

    /// Takes the answers of a verb, which can also fail.
    fn verb(&mut self, verb: &'static str, answers: &[&Value]) {
        let failure = reference("failure");
        let answers = [answers, &[&failure]].concat();
        let title = format!("solution {}", verb.replace('-', " "));
        let schema = json!({ "title": title, "anyOf": answers });
        self.files.insert(verb, schema);
    }

    /// Puts each definition where it is referred to: into the file, or into the common one if there are several.
    fn finish(mut self) -> BTreeMap<String, Schema> {
        self.definitions
            .append(&mut self.generator.take_definitions(false));
        let all = self.definitions.values_mut().chain(self.files.values_mut());
        all.for_each(tidy);

        let mut users: BTreeMap<String, Vec<&str>> = BTreeMap::new();
        for (file, schema) in &self.files {
            for name in self.needed(schema) {
                users.entry(name).or_default().push(file);
            }
        }
        let common = json!({ "title": "What several results have in common" });
        self.files.insert(COMMON, common);
        for (name, users) in &users {
            let file = if let [one] = users[..] { one } else { COMMON };
            let file = self.files.get_mut(file).expect("it was named above");
            file["$defs"][name] = self.definitions[name].clone();
        }
        let files = self.files.into_iter();
        files.map(|(name, schema)| named(name, schema)).collect()
    }

    /// The names of all definitions that a schema needs.
    fn needed(&self, schema: &Value) -> BTreeSet<String> {
        let mut found = BTreeSet::new();
        let mut open = vec![schema];
        while let Some(schema) = open.pop() {
            for name in referenced(schema) {
                if name != MANIFEST && found.insert(name.to_owned()) {
                    open.push(&self.definitions[name]);
                }
            }
        }
        found
    }
}

/// The names that a schema refers to.
fn referenced(schema: &Value) -> Vec<&str> {
    match schema {
        Value::Object(fields) => {
            let here = fields.get("$ref").and_then(Value::as_str);
            let here = here.and_then(|it| it.strip_prefix(DEFINITIONS));
            here.into_iter()
                .chain(fields.values().flat_map(referenced))
                .collect()
        }
        Value::Array(all) => all.iter().flat_map(referenced).collect(),
        _ => Vec::new(),
    }
}

/// Makes references lead to the file that has what they name.
fn redirect(schema: &mut Value, here: &BTreeSet<String>) {
    match schema {
        Value::Object(fields) => {
            if let Some(Value::String(to)) = fields.get_mut("$ref") {
                let name = to.trim_start_matches(DEFINITIONS);
                if name == MANIFEST {
                    "../solution.schema.json".clone_into(to);
                } else if !here.contains(name) {
                    to.insert_str(0, "common.schema.json");
                }
            }
            fields.values_mut().for_each(|it| redirect(it, here));
        }
        Value::Array(all) => all.iter_mut().for_each(|it| redirect(it, here)),
        _ => {}
    }
}

/// An answer, described as what it is of one verb.
fn said(description: &str, answer: &Value) -> Value {
    let mut answer = answer.clone();
    answer["description"] = description.into();
    answer
}

fn reference(name: &str) -> Value {
    json!({ "$ref": format!("{DEFINITIONS}{name}") })
}

/// The schema of a file, complete.
fn named(name: &str, mut schema: Value) -> (String, Schema) {
    let definitions = schema.get("$defs").and_then(Value::as_object);
    let here = definitions.into_iter().flat_map(Map::keys).cloned();
    let here = here.collect();
    redirect(&mut schema, &here);
    let file = format!("{name}.schema.json");
    schema["$id"] = format!("{BASE}{file}").into();
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema".into();
    (file, schema.try_into().expect("an object is a schema"))
}

/// The committed schemas must be what follows from the types; `UPDATE=1` renews them.
#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "who runs the test decides to renew"
)]
fn the_schemas_of_results_follow_from_the_types() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("schemas/results");
    let all = Results::all();
    for (file, schema) in &all {
        let now = serde_json::to_string_pretty(schema).unwrap() + "\n";
        let path = folder.join(file);
        if std::env::var_os("UPDATE").is_some() {
            std::fs::write(&path, &now).unwrap();
        }
        let committed = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(
            committed == now,
            "schemas/results/{file} is stale: UPDATE=1 cargo test --bin solution results"
        );
    }
    let committed = std::fs::read_dir(folder).unwrap();
    let committed = committed.map(|it| it.unwrap().file_name().into_string().unwrap());
    let committed: BTreeSet<String> = committed.collect();
    assert_eq!(committed, all.into_keys().collect());
}

/// Of two types with the same name, one would be called `Name2`.
#[test]
fn no_two_types_of_results_have_the_same_name() {
    for (file, schema) in Results::all() {
        let definitions = schema.get("$defs").and_then(Value::as_object);
        for name in definitions.into_iter().flat_map(Map::keys) {
            let numbered = name.ends_with(|it: char| it.is_ascii_digit());
            assert!(!numbered, "{name} in {file}");
        }
    }
}
