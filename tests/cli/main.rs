//! The program at a terminal: what each verb prints, and how it ends. No root, no network, no servers.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod budgets;
mod carried;
mod cat;
mod charts;
mod charts_init;
mod checksums;
mod ci;
#[path = "../common/mod.rs"]
mod common;
mod compare;
mod config;
mod damage;
mod developers;
mod earlier;
mod extract;
mod fleet;
mod fleet_choices;
mod future;
mod helmfiles;
mod help;
mod image_map;
mod input;
mod installed;
mod judging;
mod keys;
mod logins;
mod nonsense;
mod output;
mod packed_sources;
mod packing;
#[path = "../common/pages.rs"]
mod pages;
mod plans;
mod programs;
mod releases;
mod render;
mod review;
mod rights;
mod schemas;
mod signals;
mod signing;
mod site;
mod site_archives;
mod sources;
#[path = "../common/stages.rs"]
mod stages;
mod templates;
mod trust;
mod unpacking;
mod usage;
mod verbs;
