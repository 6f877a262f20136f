//! The forms that request a plan.

use axum::response::Response;
use importer::{
    AdoptionPolicy, ChangeFilter, DeployedOperator, Downgrade, Exceptions, Goal, ParameterValues,
    PullLogin, Revision, RollbackTarget, Target, Unproved, Verb,
};
use kubernetes::{Cluster, ConflictPolicy};
use maud::{Markup, html};
use schemas::{
    EnvironmentName, KubernetesName, Namespace, Parameter, ParameterType, SolutionName, Version,
};
use serde_json::{Value, json};
use store::Record;

use super::{links, solutions};
use crate::call::Call;
use crate::forms::{CHART, Form, SET, UNSET, YAML};
use crate::page::{Section, time};
use crate::plans::{DeployedPlace, DeploymentPlan, UndeploymentPlan};
use crate::problem::Problem;
use crate::reply::see_other;
use crate::site::Site;
use crate::texts;

/// The exceptions that a form offers, with the names of their fields.
const EXCEPTIONS: [(&str, &str); 5] = [
    ("downgrade", texts::ALLOW_DOWNGRADE),
    ("adopt-objects", texts::ADOPT_OBJECTS),
    ("adopt-crds", texts::ADOPT_CRDS),
    ("conflicts", texts::TAKE_OVER),
    ("unproved", texts::NO_PULL_TEST),
];

/// The Solution in an environment that a path names.
struct Place {
    environment: EnvironmentName,
    solution: SolutionName,
}

impl Place {
    fn of(call: &Call) -> Result<Self, Problem> {
        Ok(Self {
            environment: call.name("environment", |name| texts::environment(name))?,
            solution: call.name("solution", str::to_owned)?,
        })
    }

    fn form(&self, verb: &str) -> String {
        links::form(&self.environment, &self.solution, verb)
    }

    /// Returns the Solution in the namespaces of the environment.
    async fn deployed(&self, site: &Site, cluster: &Cluster) -> Result<Deployed, Problem> {
        let described = importer::describe_environment(cluster, &self.environment).await;
        let described = described.map_err(|error| site.problem(error))?;
        let namespaces = described
            .namespaces
            .iter()
            .map(|space| space.namespace.clone());
        let namespaces = namespaces.collect();
        let all = described
            .namespaces
            .into_iter()
            .flat_map(|space| space.operators);
        let operators = all.filter(|deployed| deployed.operator.solution == self.solution);
        Ok(Deployed {
            namespaces,
            operators: operators.collect(),
        })
    }
}

/// A Solution in the namespaces of an environment.
struct Deployed {
    namespaces: Vec<Namespace>,
    operators: Vec<DeployedOperator>,
}

/// `GET /environments/{environment}/solutions/{solution}/deploy?version=&namespace=`
pub(crate) async fn deploy_form(call: Call) -> Result<Response, Problem> {
    let site = &call.user.site;
    let place = Place::of(&call)?;
    let cluster = site.cluster().await?;
    let records = importer::records(&cluster).await;
    let mut records = records.map_err(|error| site.problem(error))?;
    records.retain(|record| record.name == place.solution);
    records.sort_by(|one, other| other.version.cmp(&one.version));
    let deployed = place.deployed(site, &cluster).await?;
    let version = call.query.text("version");
    let chosen = records
        .iter()
        .find(|record| version.is_none_or(|version| version == record.version.to_string()));
    let chosen = chosen.ok_or_else(|| {
        let version = version.unwrap_or_default();
        Problem::not_found(texts::imported_version(&place.solution, version))
    })?;
    let namespace = call.query.text("namespace");
    let namespace = deployed
        .namespaces
        .iter()
        .find(|known| namespace.is_some_and(|namespace| namespace == known.as_str()));
    let namespace = namespace.or(deployed.namespaces.first());
    let here = deployed
        .operators
        .iter()
        .find(|operator| Some(&operator.operator.namespace) == namespace);
    let none = ParameterValues::new();
    let current = here.map_or(&none, |here| &here.parameters);
    let title = texts::deploy_to(&place.solution, &place.environment);
    let body = || {
        html! {
            p { (texts::PLAN_FIRST) }
            form method="get" .inline {
                (version_field(&records, chosen))
                (namespace_field(&deployed.namespaces, namespace, false))
                button { (texts::REFRESH) }
            }
            form method="post" {
                input type="hidden" name="version" value=(chosen.version);
                @if let Some(namespace) = namespace {
                    input type="hidden" name="namespace" value=(namespace);
                }
                h2 { (chosen.name) " " (chosen.version) }
                (parameters(chosen, current))
                (chart_values(chosen))
                (pull_secret_field())
                (exceptions())
                button.primary { (texts::SHOW_PLAN) }
            }
        }
    };
    let json = || {
        let versions: Vec<_> = records.iter().map(|record| &record.version).collect();
        json!({
            "versions": versions,
            "namespaces": deployed.namespaces,
            "parameters": chosen.manifest.spec.parameters,
            "current": current,
        })
    };
    Ok(call.visit.reply(Section::Environments, &title, body, json))
}

fn version_field(records: &[Record], chosen: &Record) -> Markup {
    html! {
        div.field {
            label for="version" { (texts::VERSION) }
            select id="version" name="version" {
                @for record in records {
                    option value=(record.version) selected[record.version == chosen.version] { (record.version) }
                }
            }
        }
    }
}

/// Returns the choice of a namespace. It is left out if there is none.
fn namespace_field(namespaces: &[Namespace], chosen: Option<&Namespace>, all: bool) -> Markup {
    html! {
        @if namespaces.len() > 1 {
            div.field {
                label for="namespace" { (texts::NAMESPACE) }
                select id="namespace" name="namespace" {
                    @if all { option value="" { (texts::ALL_NAMESPACES) } }
                    @for namespace in namespaces {
                        option value=(namespace) selected[Some(namespace) == chosen] { (namespace) }
                    }
                }
            }
        }
    }
}

/// Returns a field for each parameter, and one for all of them as YAML.
fn parameters(record: &Record, current: &ParameterValues) -> Markup {
    let declared = &record.manifest.spec.parameters;
    html! {
        @if !declared.is_empty() {
            fieldset {
                legend { (texts::PARAMETERS) }
                p.help { (texts::KEEP_VALUE) }
                @for (name, parameter) in declared {
                    (parameter_field(name.as_str(), parameter, current.get(name)))
                }
                details {
                    summary { (texts::YAML_VALUES) }
                    div.field {
                        label for=(YAML) { (texts::YAML_VALUES) }
                        p.help id="yaml-help" { (texts::YAML_HELP) }
                        textarea id=(YAML) name=(YAML) rows="6" spellcheck="false" aria-describedby="yaml-help" {}
                    }
                }
            }
        }
    }
}

fn parameter_field(name: &str, parameter: &Parameter, current: Option<&Value>) -> Markup {
    let (field, unset) = (format!("{SET}{name}"), format!("{UNSET}{name}"));
    let help = format!("{field}-help");
    html! {
        div.field {
            label for=(field) { (name) }
            p.help id=(help) {
                @if let Some(words) = &parameter.description { (words) " " }
                @match current {
                    Some(_) if parameter.sensitive => { (texts::CURRENT) " " (texts::SECRET_VALUE) }
                    Some(value) => { (texts::CURRENT) " " code { (solutions::plain(value)) } }
                    None => { (texts::DEFAULT) ": " (solutions::default(parameter)) }
                }
            }
            (input(&field, &help, parameter))
            @if current.is_some() {
                label.box { input type="checkbox" name=(unset); " " (texts::USE_DEFAULT) }
            }
        }
    }
}

/// Returns the input of a parameter. Without a choice, the current value is kept.
fn input(field: &str, help: &str, parameter: &Parameter) -> Markup {
    let booleans = [Value::Bool(true), Value::Bool(false)];
    let values = match parameter.kind {
        ParameterType::Boolean => &booleans[..],
        _ => &parameter.values,
    };
    html! {
        @if !values.is_empty() {
            select id=(field) name=(field) aria-describedby=(help) {
                option value="" { (texts::UNCHANGED) }
                @for value in values { option { (solutions::plain(value)) } }
            }
        } @else {
            @match parameter.kind {
                ParameterType::Array | ParameterType::Object => {
                    textarea id=(field) name=(field) rows="3" spellcheck="false" aria-describedby=(help) {}
                }
                ParameterType::Integer | ParameterType::Number => {
                    input id=(field) name=(field) inputmode="decimal" autocomplete="off" aria-describedby=(help);
                }
                ParameterType::String | ParameterType::Boolean => {
                    input id=(field) name=(field) autocomplete="off" aria-describedby=(help)
                        type=[parameter.sensitive.then_some("password")];
                }
            }
        }
    }
}

fn chart_values(record: &Record) -> Markup {
    html! {
        @for chart in &record.manifest.spec.charts {
            @let field = format!("{CHART}{}", chart.name);
            details {
                summary { (texts::chart_values(&chart.name)) }
                div.field {
                    label for=(field) { (texts::chart_values(&chart.name)) }
                    p.help { (texts::CHART_VALUES_HELP) }
                    textarea id=(field) name=(field) rows="8" spellcheck="false" {}
                }
            }
        }
    }
}

fn pull_secret_field() -> Markup {
    html! {
        details {
            summary { (texts::PULL_SECRET) }
            div.field {
                label for="pull-secret" { (texts::PULL_SECRET) " (" (texts::OPTIONAL) ")" }
                p.help id="pull-secret-help" { (texts::PULL_SECRET_HELP) }
                input id="pull-secret" name="pull-secret" autocomplete="off" aria-describedby="pull-secret-help";
            }
        }
    }
}

fn exceptions() -> Markup {
    html! {
        details {
            summary { (texts::OPTIONS) }
            p.help { (texts::OPTIONS_HELP) }
            @for (name, words) in EXCEPTIONS {
                label.box { input type="checkbox" name=(name); " " (words) }
            }
        }
    }
}

/// Returns the exceptions that a form allows.
fn allowed(form: &Form) -> Exceptions {
    let adopt = |name| {
        if form.is_checked(name) {
            AdoptionPolicy::Allow
        } else {
            AdoptionPolicy::Refuse
        }
    };
    let mut allowed = Exceptions::default();
    allowed.adopt.objects = adopt("adopt-objects");
    allowed.adopt.crds = adopt("adopt-crds");
    if form.is_checked("downgrade") {
        allowed.downgrade = Downgrade::Allow;
    }
    if form.is_checked("conflicts") {
        allowed.conflicts = ConflictPolicy::Force;
    }
    if form.is_checked("unproved") {
        allowed.unproved = Unproved::Allow;
    }
    allowed
}

/// `POST /environments/{environment}/solutions/{solution}/deploy`
pub(crate) async fn plan_deployment(call: Call) -> Result<Response, Problem> {
    let site = &call.user.site;
    let place = Place::of(&call)?;
    let form = call.form()?;
    let version: Version = form.required("version")?;
    let namespace: Option<Namespace> = form.parsed("namespace")?;
    let cluster = site.cluster().await?;
    let imported = site
        .imported(&cluster, &place.solution, Some(&version))
        .await?;
    let parameters = form.parameters(imported.archive.accepted.manifest())?;
    let pull_secret: Option<KubernetesName> = form.parsed("pull-secret")?;
    let pull_login = match pull_secret {
        Some(name) => PullLogin::Secret(name),
        None => (site.program.pull_login)(&imported.registry, &imported.pull_registry)?,
    };
    let goal = Goal::Deployed(Target {
        environment: place.environment,
        namespace,
        pull_login,
        parameters: Box::new(parameters),
        fleet: None,
    });
    let mut request = site.request(&imported, goal)?;
    (request.verb, request.allowed) = (Verb::Deploy, allowed(&form));
    let plan = Box::pin(DeploymentPlan::make(site, &cluster, imported, request)).await?;
    let id = call.user.plans.add(plan, None)?;
    Ok(see_other(&links::plan(&id)))
}

/// `GET /environments/{environment}/solutions/{solution}/rollback?namespace=`
pub(crate) async fn rollback_form(call: Call) -> Result<Response, Problem> {
    let site = &call.user.site;
    let place = Place::of(&call)?;
    let filter = ChangeFilter {
        solution: Some(place.solution.clone()),
        environment: Some(place.environment.clone()),
        ..ChangeFilter::default()
    };
    let cluster = site.cluster().await?;
    let history = importer::history(&cluster, &filter).await;
    let history = history.map_err(|error| site.problem(error))?;
    let receipts = history.revisions.iter().map(|change| &change.receipt);
    let deployments = receipts.filter_map(|receipt| {
        let ran = receipt
            .subject
            .places
            .iter()
            .find_map(|place| place.to.as_ref())?;
        Some((receipt.revision, receipt.at, &ran.version))
    });
    let deployments: Vec<_> = deployments.collect();
    let title = texts::roll_back_in(&place.solution, &place.environment);
    let body = || {
        html! {
            p { (texts::PLAN_FIRST) }
            form method="post" {
                @if let Some(namespace) = call.query.text("namespace") {
                    input type="hidden" name="namespace" value=(namespace);
                }
                fieldset {
                    legend { (texts::TARGET) }
                    label.box { input type="radio" name="revision" value="" checked; " " (texts::BEFORE) }
                    @for (revision, at, version) in &deployments {
                        label.box {
                            input type="radio" name="revision" value=(revision);
                            " " (texts::REVISION) " " (revision) ": " (version) ", " (time(*at))
                        }
                    }
                }
                button.primary { (texts::SHOW_PLAN) }
            }
        }
    };
    let json = || json!({ "revisions": deployments.iter().map(|(revision, ..)| revision).collect::<Vec<_>>() });
    Ok(call.visit.reply(Section::Environments, &title, body, json))
}

/// `POST /environments/{environment}/solutions/{solution}/rollback`
pub(crate) async fn plan_rollback(call: Call) -> Result<Response, Problem> {
    let site = &call.user.site;
    let Place {
        environment,
        solution,
    } = Place::of(&call)?;
    let form = call.form()?;
    let namespace: Option<Namespace> = form.parsed("namespace")?;
    let to: Option<Revision> = form.parsed("revision")?;
    let to = to.map_or(RollbackTarget::Before, RollbackTarget::Revision);
    let cluster = site.cluster().await?;
    let back = importer::way_back(&cluster, &solution, &environment, namespace.as_ref(), &to).await;
    let back = back.map_err(|error| site.problem(error))?;
    let imported = site
        .imported(&cluster, &solution, Some(&back.version))
        .await?;
    let mut request = site.request(&imported, back.goal(&environment))?;
    request.verb = Verb::Rollback;
    request.allowed.downgrade = Downgrade::Allow;
    let plan = Box::pin(DeploymentPlan::make(site, &cluster, imported, request)).await?;
    let id = call.user.plans.add(plan, None)?;
    Ok(see_other(&links::plan(&id)))
}

/// `GET /environments/{environment}/solutions/{solution}/undeploy`
pub(crate) async fn undeploy_form(call: Call) -> Result<Response, Problem> {
    let site = &call.user.site;
    let place = Place::of(&call)?;
    let cluster = site.cluster().await?;
    let deployed = place.deployed(site, &cluster).await?;
    let namespaces = deployed
        .operators
        .iter()
        .map(|deployed| deployed.operator.namespace.clone());
    let namespaces: Vec<_> = namespaces.collect();
    let chosen = call.query.text("namespace");
    let chosen = namespaces
        .iter()
        .find(|namespace| chosen.is_some_and(|chosen| chosen == namespace.as_str()));
    let title = texts::undeploy_from(&place.solution, &place.environment);
    let body = || {
        html! {
            p { (texts::UNDEPLOY_HELP) " " (texts::PLAN_FIRST) }
            form method="post" action=(place.form("undeploy")) {
                (namespace_field(&namespaces, chosen, true))
                button.primary { (texts::SHOW_PLAN) }
            }
        }
    };
    Ok(call.visit.reply(
        Section::Environments,
        &title,
        body,
        || json!({ "namespaces": namespaces }),
    ))
}

/// `POST /environments/{environment}/solutions/{solution}/undeploy`
pub(crate) async fn plan_undeployment(call: Call) -> Result<Response, Problem> {
    let site = &call.user.site;
    let Place {
        environment,
        solution,
    } = Place::of(&call)?;
    let namespace: Option<Namespace> = call.form()?.parsed("namespace")?;
    let deployed = DeployedPlace {
        solution,
        environment,
        namespace,
    };
    let cluster = site.cluster().await?;
    let plan = UndeploymentPlan::make(site, &cluster, deployed).await?;
    let id = call.user.plans.add(plan, None)?;
    Ok(see_other(&links::plan(&id)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(declared: &Value, current: Option<&Value>) -> String {
        let parameter = serde_json::from_value(declared.clone()).unwrap();
        parameter_field("size", &parameter, current).into_string()
    }

    #[test]
    fn a_parameter_has_a_field_of_its_type_with_a_label_and_its_current_value() {
        let text = field(
            &json!({"type": "integer", "default": 3, "description": "The <number>."}),
            Some(&json!(5)),
        );
        assert!(
            text.contains(r#"<label for="set.size">size</label>"#),
            "{text}"
        );
        assert!(
            text.contains("The &lt;number&gt;. Current value: <code>5</code>"),
            "{text}"
        );
        assert!(text.contains(r#"inputmode="decimal""#), "{text}");
        assert!(text.contains(r#"name="unset.size""#), "{text}");
        let text = field(&json!({"type": "integer", "default": 3}), None);
        assert!(text.contains("Default: <code>3</code>"), "{text}");
        assert!(
            !text.contains("unset."),
            "there is no choice to discard: {text}"
        );
        let text = field(&json!({"type": "boolean", "default": true}), None);
        let options = [
            r#"<option value="">"#,
            "<option>true</option><option>false</option>",
        ];
        assert!(options.iter().all(|option| text.contains(option)), "{text}");
        let text = field(
            &json!({"type": "string", "enum": ["a", "b"], "default": "a"}),
            None,
        );
        assert!(
            text.contains("<option>a</option><option>b</option>"),
            "{text}"
        );
        let text = field(&json!({"type": "array", "default": []}), None);
        assert!(text.contains("<textarea"), "{text}");
    }

    #[test]
    fn no_sensitive_value_is_shown() {
        let declared = json!({"type": "string", "sensitive": true, "default": "s3cret"});
        for current in [None, Some(&json!("s3cret"))] {
            let text = field(&declared, current);
            assert!(!text.contains("s3cret"), "{text}");
            assert!(text.contains(r#"type="password""#), "{text}");
        }
    }

    #[test]
    fn exceptions_are_allowed_only_if_their_box_is_checked() {
        let of = |body: &str| allowed(&Form::parse(body.as_bytes()).unwrap());
        assert_eq!(of(""), Exceptions::default());
        let all = EXCEPTIONS.map(|(name, _)| format!("{name}=on")).join("&");
        let mut expected = Exceptions::default();
        expected.adopt.objects = AdoptionPolicy::Allow;
        expected.adopt.crds = AdoptionPolicy::Allow;
        expected.downgrade = Downgrade::Allow;
        expected.conflicts = ConflictPolicy::Force;
        expected.unproved = Unproved::Allow;
        assert_eq!(of(&all), expected);
    }
}
