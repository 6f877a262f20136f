//! Deployments with a fleet's values, in an imaginary cluster, planned with the interface that fleets use.

use std::num::NonZero;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use importer::{
    AskedParameters, CreateEnvironment, Exceptions, FleetChoices, GivenValue, Goal, HelmProgram,
    ImaginedSite, LeaseConflictPolicy, ManifestsOrBlockers, PullLogin, RenderedManifests, Request,
    RequestContext, SecretValues, SiteFile, Target, TimeLimits, Verb, Writer,
};
use kubernetes::{HeldLeases, HolderCheck};
use progress::{Cancel, Watch};
use schemas::StatementTime;
use serde_json::{Value, json};
use signing::{PublicKey, Trust};
use tokio::sync::Semaphore;
use validator::{AcceptedArchive, CheckDepth, CheckOptions, SignaturePolicy};

use crate::common::Desk;
use fixtures::example::{Programs, Release};

const PARTS: &str = "  manifests: [{name: web, files: [web.yaml]}]
  parameters:
    all: {type: string, default: archive}
    prod: {type: string, default: archive}
    fleet: {type: string, default: archive}
    flag: {type: string, default: archive}
    password: {type: string, sensitive: true, generate: {length: 20}}
";
const SET: &str =
    "{apiVersion: v1, kind: ConfigMap, metadata: {name: web}, data: {all: '$(param:all)', \
prod: '$(param:prod)', fleet: '$(param:fleet)', flag: '$(param:flag)'}}
";
const HEAD: &str = "apiVersion: solutions.metalk8s.scality.com/v1alpha1\nkind: Site\nspec: ";

/// Returns an accepted archive with a manifest set.
fn accepted_archive() -> AcceptedArchive {
    let desk = Desk::with_key();
    desk.write_example(&Programs::placeholders(), Release::V1_0_0, "source");
    let text = String::from_utf8(desk.read("source/solution.yaml")).unwrap();
    desk.write("source/solution.yaml", format!("{text}{PARTS}"));
    desk.write("source/web.yaml", SET);
    let pack = ["pack", "source", "-o", "a.iso", "--key", "publisher.key"];
    desk.solution(&pack).success();
    let key = String::from_utf8(desk.read("publisher.pub")).unwrap();
    let trust = Trust::new(vec![PublicKey::from_pem(&key).unwrap()], None).unwrap();
    let options = CheckOptions {
        signatures: SignaturePolicy::Check {
            trust: Some(trust.into()),
            allow_unsigned: None,
        },
        detached: Vec::new(),
        depth: CheckDepth::Documents,
        threads: NonZero::<usize>::MIN,
        now: Some(StatementTime::DEFAULT),
    };
    let watch = Watch::silent(Cancel::never());
    let report = validator::check(&desk.path("a.iso"), &options, &watch).unwrap();
    report.accept().unwrap()
}

fn request(fleet: FleetChoices, parameters: AskedParameters) -> Request {
    let writer = Writer {
        name: Arc::new(|_| "test".to_owned()),
        by: "me@here".to_owned(),
        fleet: None,
        clock: Arc::new(|| SystemTime::UNIX_EPOCH),
        gone: HolderCheck::new(|_| false),
        leases: HeldLeases::default(),
        turn: LeaseConflictPolicy::Refuse,
        seal: None,
        cancel: Cancel::never(),
    };
    let context = RequestContext {
        now: StatementTime::DEFAULT,
        writer,
        scratch: PathBuf::new(),
        helm: HelmProgram {
            program: None,
            renderer: (PathBuf::new(), Vec::new()),
            turns: Arc::new(Semaphore::new(1)),
        },
    };
    let goal = Goal::Deployed(Target {
        environment: "prod".parse().unwrap(),
        namespace: None,
        pull_login: PullLogin::Keep,
        parameters: Box::new(parameters),
        fleet: Some(Box::new(fleet)),
    });
    let limits = TimeLimits {
        wait: Duration::from_secs(1),
        total: None,
    };
    Request {
        allowed: Exceptions {
            create: CreateEnvironment::Allow,
            ..Exceptions::default()
        },
        verb: Verb::Deploy,
        ..Request::new("push.test".parse().unwrap(), goal, limits, context)
    }
}

/// Returns the planned objects for a default file and for an environment's file.
fn render_choices(
    accepted: &AcceptedArchive,
    fleet: FleetChoices,
    parameters: AskedParameters,
) -> Result<ManifestsOrBlockers, importer::Error> {
    let file = |spec: &str, environment: Option<&str>| {
        let environment = environment.map(|name| name.parse().unwrap());
        SiteFile::read(format!("{HEAD}{spec}"), environment).unwrap()
    };
    let site = ImaginedSite {
        kubernetes: "1.34".parse().unwrap(),
        api_versions: Vec::new(),
        files: vec![
            file(
                "{pullSecret: all, parameters: {example: {all: all, prod: all, fleet: all, flag: all}}}",
                None,
            ),
            file(
                "{pullSecret: prod, parameters: {example: {prod: prod, fleet: prod, flag: prod}}}",
                Some("prod"),
            ),
        ],
    };
    let request = request(fleet, parameters);
    let planned = RenderedManifests::imagined(&site, accepted, request, SecretValues::Masked);
    let runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = { runtime }.enable_all().build().unwrap();
    runtime.block_on(planned)
}

/// Returns the values that the fleet `shops` sets, unchecked as in a plan's file.
fn choices(site: &Value) -> FleetChoices {
    serde_json::from_value(json!({ "fleet": "shops", "site": site })).unwrap()
}

fn blockers(accepted: &AcceptedArchive, site: &Value, parameters: AskedParameters) -> Vec<String> {
    let blockers = render_choices(accepted, choices(site), parameters).unwrap();
    let blockers = blockers.unwrap_err().into_iter();
    blockers.map(|blocker| blocker.to_string()).collect()
}

#[test]
fn a_fleet_counts_above_the_sites_files_and_below_the_request() {
    let accepted = accepted_archive();
    let fleet = choices(&json!({
        "pullSecret": "fleet",
        "parameters": { "example": { "fleet": "fleet", "flag": "fleet" } },
        "patches": { "example": [
            { "target": { "kind": "ConfigMap" }, "patch": { "data": { "patched": "yes" } } },
        ] },
        "workloads": [{ "set": { "replicas": 3 } }],
    }));
    let parameters = AskedParameters {
        given: [("flag".parse().unwrap(), GivenValue::Word("flag".to_owned()))].into(),
        ..AskedParameters::default()
    };
    let rendered = render_choices(&accepted, fleet, parameters)
        .unwrap()
        .unwrap();
    let object = |kind: &str| {
        let mut all = rendered.manifests.iter().map(|manifest| &manifest.object);
        all.find(|object| object["kind"] == kind).unwrap()
    };
    let expected = json!({
        "all": "all", "prod": "prod", "fleet": "fleet", "flag": "flag", "patched": "yes",
    });
    let config = rendered.manifests.iter().map(|manifest| &manifest.object);
    let mut config = config
        .filter(|object| object["kind"] == "ConfigMap" && object["metadata"]["name"] == "web");
    assert_eq!(config.next().unwrap()["data"], expected);
    let operator = &object("Deployment")["spec"];
    assert_eq!(operator["replicas"], 3);
    let account = object("ServiceAccount");
    assert_eq!(account["imagePullSecrets"], json!([{ "name": "fleet" }]));
}

#[test]
fn what_a_fleet_may_not_choose_is_in_the_way() {
    let accepted = accepted_archive();
    let refused = |site: &Value, asked| blockers(&accepted, site, asked);
    let seen =
        "parameter `password` is sensitive, but other users can read its value: the fleet shops";
    let password = json!({ "parameters": { "example": { "password": "x" } } });
    assert_eq!(refused(&password, AskedParameters::default()), [seen]);
    let given = AskedParameters {
        given: [("password".parse().unwrap(), GivenValue::Filed(json!("y")))].into(),
        ..AskedParameters::default()
    };
    assert_eq!(refused(&password, given), [seen]);
    let large = json!({ "parameters": { "other": { "text": "x".repeat(64 * 1024) } } });
    let large = refused(&large, AskedParameters::default());
    assert_eq!(large.len(), 1, "{large:?}");
    assert!(
        large[0].starts_with("the choices of the fleet have 65"),
        "{large:?}"
    );
    for site in [
        json!({ "registry": "r.test" }),
        json!({ "patches": { "example": [{ "target": { "name": "(" }, "patch": {} }] } }),
    ] {
        let error =
            render_choices(&accepted, choices(&site), AskedParameters::default()).unwrap_err();
        assert_eq!(error.to_string(), "cannot use the fleet shops", "{site}");
    }
}
