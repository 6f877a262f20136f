//! `solution registry serve`: serves archives as a read-only registry until a signal ends it. New and changed archives
//! are detected while it runs, and SIGHUP makes it read all archives and its certificate again.

pub(crate) mod log;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, anyhow};
use clap::Args;
use registry::{RepositoryPath, Username};
use rustix::process::{Resource, getrlimit, setrlimit};
use serve::{ReaderLogin, Server, ServerOptions};
use store::{ArchiveValidator, Archives, ContentUpdate, ValidationScope};
use tokio::signal::unix::{SignalKind, signal};
use validator::{AcceptedArchive, CheckDepth, SignaturePolicy};

use self::log::Log;
use crate::args::{Output, SignatureArguments};
use crate::commands::certificate::CertificateArguments;
use crate::commands::validate::{self, check};
use crate::failure::{Failure, Outcome};
use crate::{interrupt, terminal};

/// Serve archives as a read-only registry
#[derive(Args, Debug)]
#[command(after_help = "\
The images have the same names as after `solution import`: `<prefix>/<name>-<version>/<image>`, and \
`<prefix>/mirror/<host>/<path>` for images with a `ref`. Layers are read from the archives and not copied.

The command looks for new and removed archives every 2 seconds and at SIGHUP. It verifies new archives, and \
reports and skips refused ones. SIGHUP also reloads the certificate and its key.

Examples:
  solution registry serve app.iso --key publisher.pub
  solution registry serve /srv/solutions --listen 0.0.0.0:5000 --tls-cert site.pem \\
      --tls-key site.key
  solution registry serve /dev/sr0 --verify-reads --access-log
  solution registry serve /srv/solutions --username nodes --password-file password")]
pub(crate) struct Arguments {
    /// Archives (files or block devices), or directories with `*.iso` files
    #[arg(required = true, value_name = "ARCHIVE")]
    archives: Vec<PathBuf>,

    /// The address to listen on; port 0 selects a free port
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:5000")]
    listen: String,

    /// The prefix of all repository names
    #[arg(long, value_name = "PREFIX")]
    prefix: Option<RepositoryPath>,

    #[command(flatten)]
    certificate: CertificateArguments,

    /// Require a login with this user name
    #[arg(long, value_name = "NAME", requires = "password_file")]
    username: Option<Username>,

    /// The file with the password of the login in its first line
    #[arg(long, value_name = "FILE", requires = "username")]
    password_file: Option<PathBuf>,

    /// Verify each layer before sending it, and again after its file changes
    #[arg(long)]
    verify_reads: bool,

    /// Write a line for each request to standard output
    #[arg(long)]
    access_log: bool,

    #[command(flatten)]
    signatures: SignatureArguments,
}

/// The interval between checks for new archives. An archive is served after two checks found the same state, so that
/// none is read while it is copied.
const LOOK_EVERY: Duration = Duration::from_secs(2);
/// The time for the end of the server, beyond the time for running requests.
const PARTING: Duration = Duration::from_secs(2);

pub(super) fn run(arguments: Arguments, output: Output) -> Result<Outcome, Failure> {
    interrupt::take_time(serve::limits::ENDING + PARTING);
    let log = Arc::new(Log::new(output, arguments.access_log));
    let certificate = arguments.certificate.clone();
    let options = options(&arguments)?;
    let listen = arguments.listen.clone();
    let has_tls = options.tls.is_some();
    let scheme = if has_tls { "https" } else { "http" };
    let judged = JudgedArchives::of(arguments, output, Arc::clone(&log))?;
    raise_files();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(Failure::unknown)?;
    let ended = runtime.block_on(async {
        let told = Arc::clone(&log);
        let tell = Box::new(move |event: serve::Event<'_>| told.tell(&event));
        let server = Server::listen(&listen, options, tell).await;
        let server = server
            .with_context(|| format!("cannot listen at `{listen}`"))
            .map_err(Failure::unknown)?;
        let address = server.address().map_err(Failure::unknown)?;
        let url = format!("{scheme}://{address}");
        serve(server, judged, &certificate, &log, &url).await
    });
    // Do not wait for tasks that have exceeded their time limit.
    runtime.shutdown_background();
    ended.map(|()| Outcome::Yes)
}

/// Serves the archives, and later changes to them, until the program is asked to end.
async fn serve(
    server: Server,
    judged: JudgedArchives,
    certificate: &CertificateArguments,
    log: &Log,
    url: &str,
) -> Result<(), Failure> {
    let mut hangup = signal(SignalKind::hangup()).map_err(Failure::unknown)?;
    let (mut judged, first) = look(judged, ValidationScope::First).await?;
    let first = first?.ok_or_else(|| Failure::usage("no archive is named"))?;
    let shown = server.handle();
    shown.put(first.content, first.left_out);
    log.listening(url);
    let looking = async {
        let mut failed = Vec::new();
        loop {
            let whole = tokio::select! {
                () = tokio::time::sleep(LOOK_EVERY) => ValidationScope::Changed,
                _ = hangup.recv() => ValidationScope::All,
            };
            if whole == ValidationScope::All {
                match certificate.read() {
                    Ok(tls) => tls.into_iter().for_each(|tls| shown.speak(tls)),
                    // The server keeps its previous certificate.
                    Err(failure) => log.failed(&failure),
                }
            }
            let (back, found) = look(judged, whole).await?;
            judged = back;
            match found {
                Ok(serving) => {
                    failed.clear();
                    if let Some(ContentUpdate { content, left_out }) = serving {
                        shown.put(content, left_out);
                    }
                }
                Err(failure) => {
                    // An unchanged problem is logged once.
                    let lines: Vec<String> = failure.lines().collect();
                    if failed != lines {
                        log.failed(&failure);
                        failed = lines;
                    }
                }
            }
        }
    };
    let looking: std::pin::Pin<Box<dyn Future<Output = Result<(), Failure>> + Send + '_>> =
        Box::pin(looking);
    tokio::select! {
        ended = looking => ended,
        () = server.run(interrupt::is_cancelled()) => Ok(()),
    }
}

/// Raises the limit of open files to the maximum, because each connection needs one. If the system does not allow this,
/// fewer clients can connect.
fn raise_files() {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    let _ = setrlimit(Resource::Nofile, limit);
}

/// Returns the options of the server.
fn options(arguments: &Arguments) -> Result<ServerOptions, Failure> {
    let login = match (&arguments.username, &arguments.password_file) {
        (Some(name), Some(file)) => {
            let cannot = || format!("cannot read the password in `{}`", file.display());
            let opened = std::fs::File::open(file);
            let line = opened.and_then(|file| terminal::first_line(file, serve::limits::LOGIN));
            let line = line.with_context(cannot).map_err(Failure::unknown)?;
            let login = ReaderLogin::new(name.as_str(), &line);
            Some(login.with_context(cannot).map_err(Failure::no)?)
        }
        _ => None,
    };
    Ok(ServerOptions {
        tls: arguments.certificate.read()?,
        login,
        verify_reads: arguments.verify_reads,
    })
}

/// The served archives, with the keys and policies that they must satisfy.
struct JudgedArchives {
    archives: Archives,
    judge: ArchivePolicy,
}

impl JudgedArchives {
    fn of(arguments: Arguments, output: Output, log: Arc<Log>) -> Result<Self, Failure> {
        let prefix = arguments.prefix.as_ref();
        let prefix = prefix.map_or_else(String::new, |prefix| format!("/{prefix}"));
        let registry = format!("localhost{prefix}").parse();
        Ok(Self {
            archives: Archives::new(arguments.archives, registry.map_err(Failure::usage)?),
            judge: ArchivePolicy {
                signatures: arguments.signatures,
                output,
                log,
            },
        })
    }
}

/// The new content to serve, if it has changed.
type ServingChange = Result<Option<ContentUpdate>, Failure>;

/// Checks the archives for changes on a separate thread, because a slow disk must not delay responses.
async fn look(
    mut judged: JudgedArchives,
    whole: ValidationScope,
) -> Result<(JudgedArchives, ServingChange), Failure> {
    let looked = tokio::task::spawn_blocking(move || {
        let changes = judged.archives.scan(whole, &mut judged.judge);
        (judged, changes)
    });
    looked.await.map_err(Failure::unknown)
}

/// The keys and policies with which archives are verified.
#[derive(Debug)]
struct ArchivePolicy {
    signatures: SignatureArguments,
    output: Output,
    log: Arc<Log>,
}

impl ArchiveValidator for ArchivePolicy {
    type Error = Failure;
    type Trust = SignaturePolicy;

    fn trust(&mut self, whole: ValidationScope) -> Result<SignaturePolicy, Failure> {
        // The searched policy directories are reported once.
        let output = match whole {
            ValidationScope::First => self.output,
            ValidationScope::Changed | ValidationScope::All => Output::Json,
        };
        let (trust, allow) = self.signatures.judging();
        Ok(check::effective_trust(trust, allow, output)?.0)
    }

    fn accept(&mut self, path: &Path, trust: &SignaturePolicy) -> Result<AcceptedArchive, Failure> {
        let report = check::check(path, trust.clone(), CheckDepth::Documents, self.output)?;
        validate::print_findings(report.findings(), self.output);
        report.accept().map_err(|report| {
            let findings = report.findings().iter();
            let refused = anyhow!("`{}` is not accepted", path.display());
            let reasons = findings.map(|finding| format!("{}: {}", finding.id, finding.message));
            reasons.fold(Failure::no(refused), Failure::because)
        })
    }

    fn serving(&mut self, path: &Path, accepted: &AcceptedArchive) {
        self.log.serving(path, accepted);
    }

    fn left_out(&mut self, path: &Path, why: &Failure) {
        self.log.left_out(path, why);
    }
}
