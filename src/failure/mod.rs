//! The end of a command: its exit code and its message. The errors of libraries state the problem. The modules here add
//! the outcome and the hint for each kind of error, in one match without a wildcard, so that a new kind does not
//! compile without them. For archives, the validator has that match, because its findings are refusals; for answers of
//! a cluster, the `kubernetes` crate has it. System errors ([`std::io::ErrorKind`]) that are not listed have an unknown
//! outcome.

mod archive;
mod cluster;
mod fixes;
mod fleets;
mod registry;
mod trust;

use std::fmt;
use std::path::Path;
use std::process::ExitCode;

use importer::Blocker;
use schemars::JsonSchema;
use serde::Serialize;
use store::{NodeFile, PushedBlobs};

pub(crate) use self::archive::{
    beside, extracting, findings_policy, misjudged, mounting, reading, signing, too_much,
};
pub(crate) use self::cluster::{in_words, of_operator, unusable, unusable_member};
pub(crate) use self::fixes::{fix, site_problem};
pub(crate) use self::fleets::{
    approvers, fleet_fix, hub, identity, member, no_plan, not_approved, not_for_others, repin,
    replan, replan_fleet,
};
pub(crate) use self::registry::{pruning, unprunable};
pub(crate) use self::trust::{
    key, logins, no_keys, nobody_trusted, policies, together, without_key,
};
use crate::args::Output;
use crate::{hints, render};

/// The exit codes of every verb.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The command succeeded, or the answer is positive.
    Yes,
    /// The answer is negative; a retry does not help.
    No,
    /// The command line is wrong.
    Usage,
    /// The result is unknown or incomplete, because of a disk, a registry or a cluster. A retry may help.
    Unknown,
    /// A signal with this number ended the program.
    Ended(i32),
}

impl Outcome {
    /// Returns the outcome of a readiness check; none means that the readiness is unknown.
    pub(crate) fn of_ready(is_ready: Option<bool>) -> Self {
        is_ready.map_or(Self::Unknown, Self::from)
    }
}

impl From<bool> for Outcome {
    fn from(is_positive: bool) -> Self {
        if is_positive { Self::Yes } else { Self::No }
    }
}

impl From<Outcome> for ExitCode {
    fn from(outcome: Outcome) -> Self {
        Self::from(match outcome {
            Outcome::Yes => 0,
            Outcome::No => 1,
            Outcome::Usage => 2,
            Outcome::Unknown => 3,
            Outcome::Ended(signal) => u8::try_from(signal_code(signal)).unwrap_or(u8::MAX),
        })
    }
}

/// Returns the exit code that shells give to a process that a signal has killed.
pub(crate) fn signal_code(signal: i32) -> i32 {
    128 + signal
}

/// The failure of a command: its causes, and hints for the user.
#[derive(Debug)]
pub(crate) struct Failure {
    outcome: Outcome,
    error: anyhow::Error,
    reasons: Vec<String>,
    hints: Vec<String>,
    quotes: Vec<Quote>,
    push: Option<Box<PushJson>>,
    attached: Box<Attached>,
}

/// Rare parts of a failure, stored separately so that a failure stays small.
#[derive(Debug, Default)]
struct Attached {
    /// The files to write on nodes.
    files: Vec<NodeFile>,
    /// Further blockers.
    also: Vec<Blocker>,
    /// True if `solution setup` asks for the missing setting.
    is_for_setup: bool,
}

/// The state of an incomplete push.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "FailedPush")]
pub(crate) struct PushJson {
    #[serde(flatten)]
    pub(crate) pushed: PushedBlobs,
    /// The images that are not in place, as `REPOSITORY:TAG`.
    pub(crate) images: Vec<String>,
    /// The content that could not be pushed.
    pub(crate) failed: Vec<UnpushedJson>,
}

/// A blob or manifest that is not in place.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Unpushed")]
pub(crate) struct UnpushedJson {
    /// The digest of a blob, or the tag or digest of a manifest.
    pub(crate) what: String,
    /// The repository that lacks it, with its registry.
    pub(crate) repository: String,
    /// Why it is not in place.
    pub(crate) why: String,
}

/// The reason why a command failed.
#[derive(Serialize, JsonSchema)]
pub(crate) struct FailureJson<'a> {
    /// The error.
    error: String,
    /// Why, the nearest cause first.
    causes: Vec<String>,
    /// The next steps.
    hints: &'a [String],
    /// The files to write on every node.
    #[serde(skip_serializing_if = "<[NodeFile]>::is_empty")]
    // Each file has a path on the node.
    #[schemars(extend("items" = { "$ref": "#/$defs/NodeFile", "required": ["path"] }))]
    files: &'a [NodeFile],
    /// Quoted text of other programs, such as logs.
    #[serde(skip_serializing_if = "<[Quote]>::is_empty")]
    quotes: &'a [Quote],
    /// The state of an incomplete push.
    #[serde(skip_serializing_if = "Option::is_none")]
    push: Option<&'a PushJson>,
    /// The blocker as data. It is missing if the command failed for another reason.
    #[serde(rename = "obstacle", skip_serializing_if = "Option::is_none")]
    blocker: Option<Blocker>,
    /// Further blockers as data.
    #[serde(skip_serializing_if = "<[Blocker]>::is_empty")]
    also: &'a [Blocker],
    /// The answer that the failure stands for.
    answer: FailureAnswer,
}

/// The answer that a failure stands for.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) enum FailureAnswer {
    /// The answer is no; the exit code is 1.
    No,
    /// The command line is wrong; the exit code is 2.
    Usage,
    /// It was not found out; the exit code is 3, or that of a signal.
    Unknown,
}

/// Quoted text of other programs, such as logs.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Quote {
    /// A description of the text.
    pub(crate) what: &'static str,
    /// Their words, in as many lines as they wrote.
    pub(crate) text: String,
}

impl Quote {
    /// Returns the quoted lines, each with a mark, so that they cannot be confused with lines of this program.
    pub(crate) fn lines(&self) -> impl Iterator<Item = String> {
        let theirs = self.text.lines().map(|line| format!("  | {line}"));
        std::iter::once(format!("{}:", self.what)).chain(theirs)
    }
}

/// The outcome of an error, with a hint if one step is likely to help.
struct Answer(Outcome, Option<&'static str>);

const NO: Answer = Answer(Outcome::No, None);
const UNKNOWN: Answer = Answer(Outcome::Unknown, None);

fn no(hint: &'static str) -> Answer {
    Answer(Outcome::No, Some(hint))
}

fn unknown(hint: &'static str) -> Answer {
    Answer(Outcome::Unknown, Some(hint))
}

/// Errors of libraries that have an outcome and a hint.
trait Judge {
    fn answer(&self) -> Answer;
}

/// Returns the failure for an operation on a file that the system rejects. The outcome is unknown.
pub(crate) fn cannot<E: Into<anyhow::Error>>(what: &str, path: &Path) -> impl FnOnce(E) -> Failure {
    let context = format!("cannot {what} `{}`", path.display());
    move |error| Failure::unknown(error).context(context)
}

impl<E: Judge + std::error::Error + Send + Sync + 'static> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::judged(error.answer(), error)
    }
}

impl Failure {
    /// Returns a failure with a negative answer.
    pub(crate) fn no(error: impl Into<anyhow::Error>) -> Self {
        Self::new(Outcome::No, error)
    }

    /// Returns the failure for a command line that is wrong.
    pub(crate) fn usage(message: impl fmt::Display) -> Self {
        Self::new(Outcome::Usage, anyhow::anyhow!("{message}"))
    }

    /// Returns a failure with an unknown outcome.
    pub(crate) fn unknown(error: impl Into<anyhow::Error>) -> Self {
        Self::new(Outcome::Unknown, error)
    }

    /// Returns the failure with the outcome and hint of an answer.
    fn judged(Answer(outcome, hint): Answer, error: impl Into<anyhow::Error>) -> Self {
        hint.into_iter().fold(Self::new(outcome, error), Self::hint)
    }

    /// Returns a failure with this outcome.
    pub(crate) fn new(outcome: Outcome, error: impl Into<anyhow::Error>) -> Self {
        Self {
            outcome,
            error: error.into(),
            reasons: Vec::new(),
            hints: Vec::new(),
            quotes: Vec::new(),
            push: None,
            attached: Box::default(),
        }
    }

    /// Returns the failure with an unknown outcome, for commands whose negative answer has another meaning.
    pub(crate) fn untold(mut self) -> Self {
        if self.outcome == Outcome::No {
            self.outcome = Outcome::Unknown;
        }
        self
    }

    /// Returns the failure as a refusal: trying again does not help, because something is missing on this machine.
    pub(crate) fn settled(mut self) -> Self {
        self.outcome = Outcome::No;
        self
    }

    /// Adds the operation that failed.
    pub(crate) fn context(mut self, context: impl fmt::Display + Send + Sync + 'static) -> Self {
        self.error = self.error.context(context);
        self
    }

    /// Adds one of multiple independent reasons.
    pub(crate) fn because(mut self, reason: impl Into<String>) -> Self {
        self.reasons.push(reason.into());
        self
    }

    /// Adds a hint, unless the failure already has it.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        let hint = hints::fit(hint);
        if !self.hints.contains(&hint) {
            self.hints.push(hint);
        }
        self
    }

    /// Adds further blockers, each with its fix.
    pub(crate) fn also(mut self, blockers: Vec<Blocker>) -> Self {
        let fixes: Vec<String> = blockers.iter().map(fix).collect();
        self.attached.also = blockers;
        fixes.into_iter().fold(self, Self::hint)
    }

    /// Adds files for nodes.
    pub(crate) fn files(mut self, files: Vec<NodeFile>) -> Self {
        self.attached.files = files;
        self
    }

    /// Marks the failure as one that `solution setup` can solve.
    pub(crate) fn for_setup(mut self) -> Self {
        self.attached.is_for_setup = true;
        self
    }

    /// Returns whether `solution setup` asks for the missing part: a setting, a login, or the registry's authority.
    pub(crate) fn is_for_setup(&self) -> bool {
        self.attached.is_for_setup || self.is_login() || self.is_untrusted()
    }

    /// Returns whether a registry requires a login, or refused it.
    pub(crate) fn is_login(&self) -> bool {
        let mut causes = self.error.chain().filter_map(registry_error);
        causes.any(::registry::Error::is_login)
    }

    /// Returns whether the certificate of a registry is not trusted.
    pub(crate) fn is_untrusted(&self) -> bool {
        let mut causes = self.error.chain().filter_map(registry_error);
        causes.any(|error| matches!(error, ::registry::Error::Untrusted(..)))
    }

    /// Adds a quotation of multiple lines from another source.
    pub(crate) fn quote(mut self, what: &'static str, text: impl Into<String>) -> Self {
        let text = text.into();
        self.quotes.push(Quote { what, text });
        self
    }

    /// Adds the result of a push.
    pub(crate) fn push(mut self, push: PushJson) -> Self {
        self.push = Some(Box::new(push));
        self
    }

    /// Adds the result of a push from another failure.
    pub(crate) fn with_push_of(mut self, other: Self) -> Self {
        self.push = other.push;
        self
    }

    /// Shows the failure, on the stream of its format.
    pub(crate) fn show(&self, output: Output) {
        match output {
            Output::Human => self.lines().for_each(render::note),
            Output::Json => render::json(&FailureJson {
                error: self.error.to_string(),
                causes: self.causes(),
                hints: &self.hints,
                files: &self.attached.files,
                quotes: &self.quotes,
                push: self.push.as_deref(),
                blocker: self.blocker(),
                also: &self.attached.also,
                answer: match self.outcome {
                    Outcome::No => FailureAnswer::No,
                    Outcome::Usage => FailureAnswer::Usage,
                    // A failure never has the outcome `Yes`.
                    Outcome::Yes | Outcome::Unknown | Outcome::Ended(_) => FailureAnswer::Unknown,
                },
            }),
        }
    }

    /// Returns the blocker that caused the failure, if there is one.
    pub(crate) fn blocker(&self) -> Option<Blocker> {
        self.error.chain().find_map(refusal)
    }

    /// Returns the causes, the nearest first.
    fn causes(&self) -> Vec<String> {
        let chain = self.error.chain().skip(1).map(ToString::to_string);
        chain.chain(self.reasons.iter().cloned()).collect()
    }

    /// Returns the error, its causes and the next steps.
    pub(crate) fn parts(&self) -> (String, Vec<String>, Vec<String>) {
        (self.error.to_string(), self.causes(), self.hints.clone())
    }

    /// Returns the failure of one item with its causes, in one line.
    pub(crate) fn in_one_line(&self) -> String {
        let error = std::iter::once(self.error.to_string());
        error.chain(self.causes()).collect::<Vec<_>>().join(": ")
    }

    /// Returns the next step for the user.
    pub(crate) fn next_step(&self) -> String {
        if self.hints.is_empty() {
            return "fix this, then run the same command again".to_owned();
        }
        self.hints.join("; ")
    }

    /// Returns the lines for people. Text from other sources in them is not sanitized yet.
    pub(crate) fn lines(&self) -> impl Iterator<Item = String> {
        let error = std::iter::once(format!("error: {}", self.error));
        let causes = self.causes().into_iter();
        let causes = causes.map(|cause| format!("  caused by: {cause}"));
        let also = self
            .attached
            .also
            .iter()
            .map(|blocker| format!("also: {blocker}"));
        let hints = self.hints.iter().map(|hint| format!("hint: {hint}"));
        let quotes = self.quotes.iter().flat_map(Quote::lines);
        let files = self.attached.files.iter().flat_map(NodeFile::lines);
        let why = error.chain(causes).chain(also);
        why.chain(hints).chain(files).chain(quotes)
    }

    /// Returns the outcome.
    pub(crate) fn outcome(&self) -> Outcome {
        self.outcome
    }
}

/// Writes the error with its causes in one line.
impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.in_one_line())
    }
}

/// Returns the error of a registry in an error of any library.
fn registry_error<'a>(
    error: &'a (dyn std::error::Error + 'static),
) -> Option<&'a ::registry::Error> {
    let of_store = |error: &'a store::Error| match error {
        store::Error::Registry(error) => Some(error),
        _ => None,
    };
    match error.downcast_ref() {
        Some(importer::Error::Registry(error)) => Some(error),
        Some(importer::Error::Store(error)) => of_store(error),
        _ => {
            let of_store = error.downcast_ref().and_then(of_store);
            of_store.or_else(|| error.downcast_ref())
        }
    }
}

/// Returns the blocker in an error of any library.
fn refusal(error: &(dyn std::error::Error + 'static)) -> Option<Blocker> {
    if let Some(importer::Error::Refused(blocker)) = error.downcast_ref() {
        return Some(blocker.clone());
    }
    if let Some(store::Error::Refused(blocker)) = error.downcast_ref() {
        return Some(blocker.clone().into());
    }
    error.downcast_ref::<Blocker>().cloned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_over_a_blocker_has_it_as_data() {
        let changed = || Blocker::Changed {
            differences: vec!["Role prod/a".to_owned()],
        };
        let refused = Failure::from(importer::Error::from(changed()));
        assert_eq!(refused.blocker(), Some(changed()));
        let context = refused.context("cannot read `a.iso`");
        assert_eq!(context.blocker(), Some(changed()));
        assert_eq!(Failure::unknown(changed()).blocker(), Some(changed()));
        let gone = store::RegistryBlocker::ImagesGone {
            host: "registry.test".to_owned(),
            what: "shop-1.0.0".to_owned(),
        };
        for error in [
            store::Error::from(gone.clone()).into(),
            importer::Error::from(store::Error::from(gone.clone())).into(),
        ] {
            let failure: Failure = error;
            assert_eq!(failure.blocker(), Some(gone.clone().into()));
        }
        let other = Failure::unknown(std::io::Error::other("no space left"));
        assert_eq!(other.blocker(), None);
    }

    #[test]
    fn a_failure_names_its_causes_and_the_next_step() {
        let cause = std::io::Error::other("no space left");
        let failure = Failure::unknown(cause)
            .context("cannot write `a.iso`")
            .because("the disk is small")
            .quote("the disk's log", "full\nerror: forged\n")
            .hint("free some space and try again");
        let lines: Vec<String> = failure.lines().collect();
        let expected = [
            "error: cannot write `a.iso`",
            "  caused by: no space left",
            "  caused by: the disk is small",
            "hint: free some space and try again",
            "the disk's log:",
            "  | full",
            "  | error: forged",
        ];
        assert_eq!(lines, expected);
        assert_eq!(failure.outcome(), Outcome::Unknown);
    }
}
