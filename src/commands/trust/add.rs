//! `solution trust add`: a policy is made, or gets more keys.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::slice;

use anyhow::anyhow;
use clap::Args;
use schemas::{KubernetesName, SolutionPattern, TrustPolicy, TrustSpec, TrustedKey};

use super::{scope, show, shown};
use crate::args::Output;
use crate::commands::give;
use crate::failure::{Failure, Outcome};
use crate::own::Write;
use crate::trust::{self, Stored};
use crate::{keys, render};

/// Trust the keys of a publisher
#[derive(Args, Debug)]
#[command(after_help = "\
Compare the key ids with those that the publisher gives you through another channel than the archives.

Examples:
  solution trust add acme --key acme.pub --solutions shop --solutions 'acme-*'
  solution trust add board --key a.pub --key b.pub --key c.pub --threshold 2 --solutions '*' \\
      --system
  solution trust add acme --key acme-next.pub --threshold 1 --extend")]
pub(crate) struct Add {
    /// The name of the policy
    pub(crate) name: KubernetesName,

    /// A public key (PEM) to trust; may be repeated with --threshold
    #[arg(long = "key", value_name = "PUB", required = true)]
    pub(crate) keys: Vec<PathBuf>,

    /// The number of keys that must have signed
    #[arg(long, value_name = "N")]
    pub(crate) threshold: Option<NonZeroUsize>,

    /// The Solutions of the policy (a name, `PREFIX-*` or `*`); may be repeated
    #[arg(long, value_name = "PATTERN", required_unless_present = "extend")]
    pub(crate) solutions: Vec<SolutionPattern>,

    /// A comment, such as the owner of the keys
    #[arg(long, value_name = "TEXT")]
    pub(crate) comment: Option<String>,

    /// Add the keys and Solutions to an existing policy
    #[arg(long)]
    pub(crate) extend: bool,

    /// Change the policies of all users (/etc/solution/trust.d) instead of yours
    #[arg(long)]
    pub(crate) system: bool,
}

pub(super) fn run(arguments: &Add, output: Output) -> Result<Outcome, Failure> {
    let (stored, write) = arguments.policy(&[])?;
    trust::write(&stored.path, &stored.document, write)?;
    Ok(give(output, &shown(&stored), |shown| {
        show(slice::from_ref(shown));
        render::note(
            "compare each key id with the id that its owner gives you through another channel than the archives",
        );
    }))
}

impl Add {
    /// Returns the policy that is stored, next to those that are stored with it.
    pub(crate) fn policy(&self, pending: &[Stored]) -> Result<(Stored, Write), Failure> {
        let folder = trust::folder(scope(self.system))?;
        let path = trust::file(&folder, &self.name);
        let (mut all, _) = trust::stored()?;
        let known = all.iter().position(|stored| stored.path == path);
        let (mut document, write) = match (known, self.extend) {
            (None, false) => {
                let name = self.name.clone();
                (TrustPolicy::new(name, TrustSpec::default()), Write::New)
            }
            (Some(known), true) => (all.remove(known).document, Write::Replace),
            (Some(_), false) => {
                return Err(Failure::no(anyhow!("`{}` exists", path.display())).hint(
                    "add keys to it with `--extend`, or remove it with `solution trust remove`",
                ));
            }
            (None, true) => {
                let missing = anyhow!("there is no policy `{}` to extend", path.display());
                return Err(
                    Failure::no(missing).hint("list the policies with `solution trust list`")
                );
            }
        };
        let spec = &mut document.spec;
        for path in &self.keys {
            spec.keys.push(TrustedKey {
                comment: self.comment.clone(),
                pem: keys::public(path)?.to_pem(),
            });
        }
        spec.solutions.extend_from_slice(&self.solutions);
        spec.threshold = self.threshold.or(spec.threshold);
        all.extend_from_slice(pending);
        all.push(Stored::new(path, document)?);
        trust::together(&all)?;
        let stored = all.pop().expect("it was pushed above");
        Ok((stored, write))
    }
}
