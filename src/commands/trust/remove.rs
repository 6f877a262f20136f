//! `solution trust remove`: a policy goes, or one of its keys.

use std::path::PathBuf;
use std::slice;

use anyhow::anyhow;
use clap::Args;
use importer::Run;
use schemars::JsonSchema;
use schemas::{KeyId, KubernetesName};
use serde::Serialize;
use signing::PublicKey;

use super::{scope, show, shown};
use crate::args::{DryRunArguments, Output, choose};
use crate::commands::give;
use crate::failure::{self, Failure, Outcome, cannot};
use crate::own::Write;
use crate::render;
use crate::trust::{self, Stored};

/// The shortest beginning of a key id that selects a key: shorter ones are mistakes.
const KEY_PREFIX: usize = 8;

/// Remove a trust policy or one of its keys
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  solution trust remove acme
  solution trust remove 91a7e27ec25e --dry-run")]
pub(crate) struct Remove {
    /// The name of a policy, or the beginning of a key id
    what: String,

    /// Change the policies of all users (/etc/solution/trust.d) instead of yours
    #[arg(long)]
    system: bool,

    #[command(flatten)]
    dry_run: DryRunArguments,
}

/// A policy was removed, or would be.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Removed {
    /// The path of its file.
    removed: PathBuf,
    /// Whether nothing was changed.
    dry_run: bool,
}

pub(super) fn run(arguments: &Remove, output: Output) -> Result<Outcome, Failure> {
    let folder = trust::folder(scope(arguments.system))?;
    // A file that cannot be read can be removed all the same, so that there is a way out.
    let name: Option<KubernetesName> = arguments.what.parse().ok();
    let file = name.map(|name| trust::file(&folder, &name));
    if let Some(path) = file.filter(|path| path.symlink_metadata().is_ok()) {
        return remove_policy(path, arguments.dry_run.run(), output);
    }
    let (mut all, _) = trust::stored()?;
    all.retain(|stored| stored.path.parent() == Some(&folder));
    remove_key(arguments, all, output)
}

fn remove_policy(path: PathBuf, run: Run, output: Output) -> Result<Outcome, Failure> {
    if run == Run::Real {
        std::fs::remove_file(&path).map_err(cannot("remove", &path))?;
    }
    let dry_run = run == Run::Dry;
    let removed = Removed {
        removed: path,
        dry_run,
    };
    Ok(give(output, &removed, |removed| {
        let would = choose(dry_run, "would be ", "");
        render::line!("{would}removed     {}", removed.removed.display());
        render::dry(run);
    }))
}

/// Removes the one key whose id begins so, from the one policy that has it.
fn remove_key(
    arguments: &Remove,
    mut all: Vec<Stored>,
    output: Output,
) -> Result<Outcome, Failure> {
    let what = arguments.what.to_ascii_lowercase();
    let begins = |id: KeyId| what.len() >= KEY_PREFIX && id.to_string().starts_with(&what);
    all.retain(|stored| stored.keys().any(|(id, _)| begins(id)));
    let refused = |message: anyhow::Error| {
        Failure::no(message).hint(format!(
            "list policies and keys with `solution trust list`; name a key by at least {KEY_PREFIX} characters of its id, and use `--system` for policies in /etc"
        ))
    };
    if all.len() > 1 {
        let several = anyhow!("multiple policies have a key whose id begins with `{what}`");
        return Err(refused(several));
    }
    let Some(Stored {
        path, mut document, ..
    }) = all.pop()
    else {
        let what = &arguments.what;
        return Err(refused(anyhow!(
            "no policy has the name `{what}`, and no key id begins with it"
        )));
    };
    let keys = &mut document.spec.keys;
    let before = keys.len();
    keys.retain(|key| !PublicKey::from_pem(&key.pem).is_ok_and(|key| begins(key.id())));
    if keys.len() + 1 != before {
        let several = anyhow!(
            "multiple key ids of `{}` begin with `{what}`",
            path.display()
        );
        return Err(Failure::no(several).hint("use more characters of the id"));
    }
    let stored = Stored::new(path.clone(), document);
    let stored = stored.map_err(|error| failure::without_key(&path, error))?;
    let run = arguments.dry_run.run();
    if run == Run::Real {
        trust::write(&stored.path, &stored.document, Write::Replace)?;
    }
    Ok(give(output, &shown(&stored), |shown| {
        show(slice::from_ref(shown));
        render::dry(run);
    }))
}
