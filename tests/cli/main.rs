//! The program at a terminal: what each verb prints, and how it ends. No root, no network, no servers.

#[path = "../common/mod.rs"]
mod common;
mod damage;
mod help;
mod input;
mod nonsense;
mod packing;
mod verbs;
