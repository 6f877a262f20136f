//! A web console for the administrators of applications in a cluster.
//!
//! The console decides nothing. It reads a cluster with [`importer`], shows the plans of that crate, and applies a plan
//! that a user has seen. Pages are rendered on the server and are complete without JavaScript. Each page is also the
//! JSON of the command that shows the same, if the client prefers `application/json`.
//!
//! Open `server.rs` for the routes and the checks that precede each request, then the module in `pages` for a page.
//! `plans` keeps the plans that users have seen, and `runs` applies them. This crate knows no commands, no terminal and
//! no files: the caller passes its connections and explanations as a [`Program`].

mod assets;
mod call;
mod connection;
mod cookie;
mod forms;
mod login;
mod oidc;
mod page;
mod pages;
mod plans;
mod problem;
mod program;
mod proposals;
mod public_url;
mod reply;
mod runs;
mod secret;
mod server;
mod session;
mod site;
mod state;
mod texts;
mod user;

pub use connection::Certificate;
pub use oidc::SettingsError;
pub use problem::Problem;
pub use program::{
    ClientFactory, ContextFactory, EventText, Explanations, Program, PullLoginFactory, Results,
};
pub use public_url::{PublicUrl, PublicUrlError};
pub use secret::AccessToken;
pub use server::serve;
pub use state::{Console, Impersonation, ProviderSettings};
