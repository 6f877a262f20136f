//! Tests of the program's output and exit codes, command by command. They need no root, network or servers.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod budgets;
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
mod finding_levels;
mod fleet;
mod fleet_choices;
mod future;
mod helmfiles;
mod help;
mod image_map;
mod init_releases;
mod input;
mod installed;
mod keys;
mod logins;
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
mod signed_nonsense;
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
