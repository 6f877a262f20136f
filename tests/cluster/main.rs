//! The main workflow on a real Kubernetes with a real registry: pack, validate, import, upgrade, undeploy. It runs
//! inside the sandbox of `tests/cluster/cluster` (`make test-cluster`) and fails if a component is missing.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../common/mod.rs"]
mod common;

mod acceptance;
mod activate;
mod admission;
mod api;
mod api_lifecycle;
mod approval;
mod book;
mod chart_values;
mod charts;
mod charts_definitions;
mod charts_hostile;
mod charts_interrupted;
mod charts_parameters;
mod choices;
mod cleanup;
mod cluster_job;
mod configuration;
mod conflicts;
mod consent;
mod console;
mod console_login;
mod console_solution;
mod curl;
mod definitions;
mod delete;
mod dex;
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
mod gate;
mod handover;
mod helm_network;
mod history;
mod image_map;
mod imported_versions;
mod inventory;
mod json_path;
mod kubeconfigs;
mod later_archives;
mod least_privilege;
mod lifecycle;
mod metadata;
mod metrics;
mod migration;
mod mirrors;
mod monitoring;
mod mutations;
mod node_registry;
mod outages;
#[path = "../common/pages.rs"]
mod pages;
mod plugin;
mod pod_security;
mod prerequisites;
mod prometheus;
mod pulls;
mod refusals;
mod refused_definitions;
mod registry_cleanup;
mod release_definitions;
mod release_faults;
mod release_requests;
mod releases;
mod render;
mod requests;
mod running;
#[path = "../../crates/registry/tests/docker_registry/server.rs"]
#[allow(dead_code, reason = "each test crate uses a part")]
mod server;
mod serving;
mod side_by_side;
mod site;
mod sites;
#[path = "../common/stages.rs"]
mod stages;
mod startup;
mod stuck_pods;
mod support;
mod takeover;
mod templates;
mod tenants;
#[path = "../common/terminal.rs"]
mod terminal;
mod trust;
mod uses;
mod waiting;
mod workload_settings;
