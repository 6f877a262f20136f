//! The main job on a real Kubernetes with a real registry: pack, validate, import, upgrade, undeploy. Runs inside the
//! sandbox of `tests/cluster/cluster` (`make test-cluster`) and fails when a part is missing.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../common/mod.rs"]
mod common;

mod acceptance;
mod activate;
mod admission;
mod api_lifecycle;
mod approval;
mod behind;
mod book;
mod carried;
mod carried_definitions;
mod carried_faults;
mod carried_many;
mod chart_values;
mod charts;
mod charts_definitions;
mod charts_hostile;
mod charts_interrupted;
mod charts_parameters;
mod choices;
mod cleanup;
mod configuration;
mod conflicts;
mod consent;
mod definitions;
mod delete;
mod diff;
mod door;
mod drift;
mod environments;
mod faults;
mod flags;
mod fleet;
mod fleet_apply;
mod fleet_charts;
mod fleet_example;
mod fleet_export;
mod fleet_faults;
mod fleet_rollback;
mod fleet_waves;
mod freeing;
mod future;
mod gate;
mod handover;
mod history;
mod image_map;
mod inside;
mod inventory;
mod judgement;
mod kept;
mod kubeconfigs;
mod least;
mod lifecycle;
mod metadata;
mod metrics;
mod migration;
mod mirrors;
mod monitoring;
mod mutations;
mod needed;
mod outages;
#[path = "../common/pages.rs"]
mod pages;
mod plugin;
mod prometheus;
mod pulls;
mod reach;
mod refusals;
mod refused_definitions;
mod render;
mod requests;
mod running;
mod served;
#[path = "../../crates/registry/tests/docker_registry/server.rs"]
#[allow(dead_code, reason = "each test crate uses a part")]
mod server;
mod side_by_side;
mod silence;
mod site;
mod sites;
mod spaces;
#[path = "../common/stages.rs"]
mod stages;
mod support;
mod takeover;
mod templates;
mod tenants;
#[path = "../common/terminal.rs"]
mod terminal;
mod told;
mod trust;
mod uses;
mod waits;
