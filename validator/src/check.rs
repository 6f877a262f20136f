//! The stages of a validation, in the order in which trust grows: open the archive, check signatures, compare the
//! archive with the signed list, read the documents, read all data. If a stage fails, the check ends, because the later
//! stages depend on its result. Within a stage, all findings are collected.
//!
//! The entry points are [`check`] for an archive, [`check_draft`] for an archive before it is signed,
//! [`check_accepted`] for one that was accepted earlier, and [`verify_signatures`] for signatures alone.

use std::path::Path;

use archive::{Feature, ListedArchive, Medium, OpenError, OpenedArchive, TrustedArchive};
use progress::{Cancel, Progress, Watch};
use rules::catalogue::container::DRAFT;
use rules::catalogue::integrity::DAMAGED;
use rules::catalogue::signature::{ALLOWED, DETACHED, EXPIRED, SKIPPED, UNSIGNED, UNTRUSTED};
use schemas::{ArchivePath, KubernetesName, Referrers, SolutionId, StatementTime};
use signing::{Policies, Signers, Trust};

use crate::accepted::AcceptedArchive;
use crate::content::{self, CheckedContent};
use crate::files::{DamagedFiles, ListedFiles, ReadProblem};
use crate::finding::{ErrorChain, Findings};
use crate::images;
use crate::options::{
    AllowUnsigned, CheckDepth, CheckOptions, PriorAcceptance, SignaturePolicy, TrustedKeys,
};
use crate::refusal::{self, names};
use crate::rendered::{self, DraftOrigin, RenderedChart};
use crate::report::{Report, SignatureRule, Summary};

/// Checks an archive and reports progress while it reads all data. An interrupted check is an error.
pub fn check(
    path: &Path,
    options: &CheckOptions,
    watch: &Watch<'_, Progress>,
) -> Result<Report, OpenError> {
    let opened = OpenedArchive::open(path);
    check_opened(path, opened, options, None, watch)
}

/// Checks the documents of an archive before it is signed. Its data is not read again, since it was hashed while it was
/// written. Signatures are not checked, because the publisher signs afterwards.
pub fn check_draft(
    medium: Medium,
    now: StatementTime,
    origin: DraftOrigin,
    cancel: Cancel<'_>,
) -> Result<Report, OpenError> {
    let options = CheckOptions {
        now: Some(now),
        ..CheckOptions::of_documents(SignaturePolicy::Later)
    };
    check_documents(medium, &options, Some(origin), cancel)
}

/// Checks the documents of an archive that was accepted earlier. Its expiry date is not checked, because it applies to
/// imports.
pub fn check_accepted(
    medium: Medium,
    before: PriorAcceptance,
    cancel: Cancel<'_>,
) -> Result<Report, OpenError> {
    let options = CheckOptions::of_documents(SignaturePolicy::Accepted(before));
    check_documents(medium, &options, None, cancel)
}

/// Checks only the signatures of an opened archive. The report explains why they were not accepted.
pub fn verify_signatures(
    opened: &OpenedArchive,
    signatures: SignaturePolicy,
    path: &Path,
) -> Result<Result<TrustedArchive, Box<Report>>, OpenError> {
    let options = CheckOptions::of_documents(signatures);
    let mut checking = Checking {
        options: &options,
        watch: &Watch::silent(Cancel::never()),
        summary: Summary::new(path),
        findings: Findings::default(),
        rendered: Vec::new(),
    };
    checking.summary.archive_id = Some(opened.archive_id());
    match checking.decide(opened) {
        Ok((trusted, SignatureOutcome::Yes)) => Ok(Ok(trusted)),
        Ok((_, SignatureOutcome::No)) | Err(StageStop::Refused) => {
            let findings = checking.findings.into_sorted();
            Ok(Err(Box::new(Report::new(checking.summary, findings, None))))
        }
        Err(StageStop::Failed(error)) => Err(error),
    }
}

fn check_documents(
    medium: Medium,
    options: &CheckOptions,
    origin: Option<DraftOrigin>,
    cancel: Cancel<'_>,
) -> Result<Report, OpenError> {
    let path = medium.path().to_owned();
    let watch = Watch::silent(cancel);
    check_opened(&path, OpenedArchive::read(medium), options, origin, &watch)
}

fn check_opened(
    path: &Path,
    opened: Result<OpenedArchive, OpenError>,
    options: &CheckOptions,
    origin: Option<DraftOrigin>,
    watch: &Watch<'_, Progress>,
) -> Result<Report, OpenError> {
    let (findings, rendered) = match origin {
        Some(origin) => (Findings::from_source(origin.tree), origin.rendered),
        None => (Findings::default(), Vec::new()),
    };
    let mut checking = Checking {
        options,
        watch,
        summary: Summary::new(path),
        findings,
        rendered,
    };
    let accepted = match checking.run(path, opened) {
        Ok(accepted) => accepted,
        Err(StageStop::Refused) => None,
        Err(StageStop::Failed(error)) => return Err(error),
    };
    let findings = checking.findings.into_sorted();
    Ok(Report::new(checking.summary, findings, accepted))
}

/// The reason for an early end of the stages.
enum StageStop {
    /// The archive was refused; the findings contain the reason.
    Refused,
    Failed(OpenError),
}

impl From<OpenError> for StageStop {
    fn from(error: OpenError) -> Self {
        Self::Failed(error)
    }
}

/// The result of the signature stage: `Yes` if trusted keys signed the archive, the user allowed it to be unsigned, or
/// it was accepted earlier; `No` if signatures were not checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SignatureOutcome {
    Yes,
    No,
}

struct Checking<'a> {
    options: &'a CheckOptions,
    watch: &'a Watch<'a, Progress>,
    summary: Summary,
    findings: Findings,
    rendered: Vec<RenderedChart>,
}

impl Checking<'_> {
    fn run(
        &mut self,
        path: &Path,
        opened: Result<OpenedArchive, OpenError>,
    ) -> Result<Option<AcceptedArchive>, StageStop> {
        let mut opened = opened.map_err(|error| self.refuse(error))?;
        self.summary.archive_id = Some(opened.archive_id());
        // Detached signatures count too, so they are attached before the decision about signatures.
        self.attach(&mut opened, path)?;
        let (trusted, vouched) = self.decide(&opened)?;
        self.describe(&trusted);
        self.refuse_drafts(&trusted)?;
        let listed = trusted
            .list_unless(self.watch.cancel)
            .map_err(|error| self.refuse(error))?;
        self.summary.size = Some(listed.image_size());
        self.summary.bytes_behind = listed.bytes_behind();
        self.summary.files = Some(listed.contents().entries().len());
        let (content, damaged) = self.documents(&listed)?;
        let (places, list) = (&content.images.places, &content.images.list);
        let all = Referrers::from_images(list);
        let own = list.iter().filter(|image| all.has(image)).count();
        self.summary.images = Some(places.len() - own);
        self.summary.referrers = Some(Referrers::count(list).1).filter(|count| *count > 0);
        let spec = content.solution.as_ref().map(|solution| &solution.spec);
        self.summary.helm_included = spec
            .filter(|spec| !spec.charts.is_empty())
            .map(|spec| archive::includes_helm(listed.statement(), &spec.images));
        self.data(&listed, damaged)?;
        Ok(match (vouched, content.solution) {
            (SignatureOutcome::Yes, Some(solution)) => Some(AcceptedArchive {
                listed,
                solution,
                images: content.images.list,
                definitions: content.definitions,
                roles: content.roles,
                sets: content.sets,
                charts: content.charts,
                programs: content.programs,
            }),
            _ => None,
        })
    }

    /// Turns an error of the archive's stages into findings if it refuses the archive. Other errors are returned.
    fn refuse(&mut self, error: OpenError) -> StageStop {
        match refusal::add(error, &mut self.findings) {
            Ok(()) => StageStop::Refused,
            Err(error) => StageStop::Failed(error),
        }
    }

    fn attach(&mut self, opened: &mut OpenedArchive, path: &Path) -> Result<(), StageStop> {
        for envelope in &self.options.detached {
            if let Err(error) = opened.attach(envelope) {
                let place = archive::detached_path(path);
                let place = place.file_name().unwrap_or_default().to_string_lossy();
                self.findings.add(&DETACHED, place, ErrorChain(&error));
                return Err(StageStop::Refused);
            }
        }
        Ok(())
    }

    fn decide(
        &mut self,
        opened: &OpenedArchive,
    ) -> Result<(TrustedArchive, SignatureOutcome), StageStop> {
        match &self.options.signatures {
            SignaturePolicy::Skip => {
                self.findings
                    .add(&SKIPPED, "", "signatures were not checked");
                Ok((self.skip(opened)?, SignatureOutcome::No))
            }
            SignaturePolicy::Later => Ok((self.skip(opened)?, SignatureOutcome::No)),
            SignaturePolicy::Accepted(before) => {
                let signers = (!before.signers.is_empty()).then(|| Signers {
                    trusted: before.signers.clone(),
                    unknown: Vec::new(),
                });
                let trusted = opened.recognise(before.archive_id, signers);
                Ok((
                    trusted.map_err(|error| self.refuse(error))?,
                    SignatureOutcome::Yes,
                ))
            }
            SignaturePolicy::Check {
                trust,
                allow_unsigned,
            } => match (opened.envelope().signatures().len(), trust) {
                (0, _) => self.unsigned(opened, allow_unsigned.as_ref()),
                (_, Some(TrustedKeys::Keys(trust))) => self.verify(opened, trust, None),
                (_, Some(TrustedKeys::Policies(policies))) => self.verify_by(opened, policies),
                (_, None) => {
                    let keys = opened
                        .envelope()
                        .signatures()
                        .map(|signature| signature.key_id);
                    let keys = names(keys);
                    let message = format_args!("signed by {keys}, but no key is trusted");
                    self.findings.add(&UNTRUSTED, "", message);
                    Err(StageStop::Refused)
                }
            },
        }
    }

    fn skip(&mut self, opened: &OpenedArchive) -> Result<TrustedArchive, StageStop> {
        opened.skip_signature().map_err(|error| self.refuse(error))
    }

    /// Verifies the signatures by the policy for the Solution that the statement names. The name is not trusted yet: it
    /// only selects the policy, and the signature covers it.
    fn verify_by(
        &mut self,
        opened: &OpenedArchive,
        policies: &Policies,
    ) -> Result<(TrustedArchive, SignatureOutcome), StageStop> {
        let claimed = opened.claimed_id().map_err(|error| self.refuse(error))?;
        let Some(policy) = policies.for_solution(claimed.name()) else {
            let signatures = opened.envelope().signatures();
            let message = format_args!(
                "no policy of this site covers `{}`; it is signed by {}",
                claimed.name(),
                names(signatures.map(|signature| signature.key_id))
            );
            self.findings.add(&UNTRUSTED, "", message);
            return Err(StageStop::Refused);
        };
        self.verify(opened, policy.trust(), Some(policy.name()))
    }

    fn verify(
        &mut self,
        opened: &OpenedArchive,
        trust: &Trust,
        policy: Option<&KubernetesName>,
    ) -> Result<(TrustedArchive, SignatureOutcome), StageStop> {
        self.summary.judged = Some(SignatureRule {
            policy: policy.cloned(),
            keys: trust.key_ids().len(),
            threshold: trust.threshold(),
        });
        let trusted = opened.verify(trust).map_err(|error| self.refuse(error))?;
        Ok((trusted, SignatureOutcome::Yes))
    }

    fn unsigned(
        &mut self,
        opened: &OpenedArchive,
        allowed: Option<&AllowUnsigned>,
    ) -> Result<(TrustedArchive, SignatureOutcome), StageStop> {
        let Some(AllowUnsigned(allowed)) = allowed else {
            self.findings
                .add(&UNSIGNED, "", "the archive has no signature");
            return Err(StageStop::Refused);
        };
        let trusted = self.skip(opened)?;
        let id: &SolutionId = &trusted.statement().predicate.id;
        if id != allowed {
            let message = format_args!("{id} has no signature; only {allowed} may be unsigned");
            self.findings.add(&UNSIGNED, "", message);
            return Err(StageStop::Refused);
        }
        self.findings
            .add(&ALLOWED, "", format_args!("{id} has no signature"));
        Ok((trusted, SignatureOutcome::Yes))
    }

    fn describe(&mut self, trusted: &TrustedArchive) {
        let predicate = &trusted.statement().predicate;
        self.summary.solution = Some(predicate.id.name().clone());
        self.summary.version = Some(predicate.id.version().clone());
        if let Some(signers) = trusted.signers() {
            self.summary.signers.clone_from(&signers.trusted);
        }
        if let (Some(now), Some(expires)) = (self.options.now, predicate.expires)
            && now > expires
        {
            self.findings
                .add(&EXPIRED, "", format_args!("it expired at {expires}"));
        }
    }

    /// Refuses incoming archives that require the draft of a capability. Archives that were accepted earlier remain
    /// readable.
    fn refuse_drafts(&mut self, trusted: &TrustedArchive) -> Result<(), StageStop> {
        if matches!(self.options.signatures, SignaturePolicy::Accepted(_)) {
            return Ok(());
        }
        let requires = trusted.statement().predicate.requires.iter();
        let mut drafts = requires
            .filter(|capability| Feature::is_draft(capability))
            .peekable();
        if drafts.peek().is_none() {
            return Ok(());
        }
        for draft in drafts {
            let message = format_args!("the archive requires `{draft}`, a draft");
            self.findings.add(&DRAFT, "", message);
        }
        Err(StageStop::Refused)
    }

    fn documents(
        &mut self,
        listed: &ListedArchive,
    ) -> Result<(CheckedContent, DamagedFiles), StageStop> {
        let read = |path: &str, limit| {
            listed.read(path, limit).map_err(|error| match error {
                OpenError::FileDigest { .. } => ReadProblem::Damaged,
                other => ReadProblem::Failed(other),
            })
        };
        let files = ListedFiles::new(listed.contents(), &read, self.watch.cancel);
        let signed = &listed.statement().predicate;
        let content = content::check(&files, signed, &mut self.findings)?;
        // An import does not read layers before it pushes them, so it skips this check.
        if self.options.depth == CheckDepth::Everything
            || matches!(self.options.signatures, SignaturePolicy::Later)
        {
            let start = |path: &ArchivePath, limit| listed.read_start(path.as_str(), limit);
            images::check_layers(&files, &content.images.list, start, &mut self.findings)?;
        }
        rendered::report(&self.rendered, &content.images.users, &mut self.findings);
        files.go_on()?;
        Ok((content, files.into_damaged()))
    }

    /// Reads all data, if requested, and reports each damaged blob once, including those found while documents were
    /// read.
    fn data(&mut self, listed: &ListedArchive, mut damaged: DamagedFiles) -> Result<(), StageStop> {
        let signed = match listed.signers() {
            Some(signers) => format!("{} signed", names(signers.trusted.iter().copied())),
            None => "the statement lists".to_owned(),
        };
        let message = format!("is not what {signed}: damaged or altered");
        if self.options.depth == CheckDepth::Everything {
            let found = listed.verify_data(self.options.threads, self.watch);
            for content in found.map_err(|error| self.refuse(error))? {
                // The pass over the data reports this blob, so it is not reported a second time below.
                damaged.remove(&content.expected);
                self.findings.add(&DAMAGED, content.path, &message);
            }
        }
        for path in damaged.into_values() {
            self.findings.add(&DAMAGED, path, &message);
        }
        Ok(())
    }
}
