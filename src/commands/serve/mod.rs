//! `solution serve`: a registry over archives, until it is asked to end.

mod archives;
pub(super) mod log;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use clap::Args;
use registry::{RepositoryPath, Username};
use rustix::process::{Resource, getrlimit, setrlimit};
use schemas::SolutionId;
use serve::{ReadMode, ReaderLogin, Server, Tls};
use shelf::{Archives, Serving, Whole};
use tokio::signal::unix::{SignalKind, signal};

use self::archives::Trusting;
use self::log::Log;
use crate::args::{Output, TrustArguments, choose};
use crate::failure::{Failure, Outcome};
use crate::{disk, interrupt, terminal};

/// How often archives are looked at. One is taken when two looks found the same, so that none is read while it is copied.
const LOOK_EVERY: Duration = Duration::from_secs(2);
/// What the end takes beyond what is left to requests under way.
const PARTING: Duration = Duration::from_secs(2);

/// Serve the images of archives as a read-only registry, straight from the files
#[derive(Args, Debug)]
#[command(after_help = "\
The images have the same names as in a registry that `solution import` has pushed to: `<prefix>/<name>-<version>/<image>`, \
and `<prefix>/mirror/<host>/<path>` for those with a `ref`. Nothing is copied: layers are read from the archives while they \
are sent.

Archives are looked at every 2 seconds, and at SIGHUP: what is new is verified and served, what is gone is not served any \
more. One that is refused is named and left out; what was served goes on. SIGHUP also reads the certificate and its key anew.

Examples:
  solution serve app.iso --key publisher.pub
  solution serve /srv/solutions --listen 0.0.0.0:5000 --tls-cert site.pem --tls-key site.key
  solution serve /dev/sr0 --verify-reads --access-log
  solution serve /srv/solutions --username nodes --password-file password")]
pub(crate) struct Arguments {
    /// Archives: files, devices of discs, or directories, of which all `*.iso` are served
    #[arg(required = true, value_name = "ARCHIVE")]
    archives: Vec<PathBuf>,

    /// Where to listen; port 0 takes one that is free, and says which
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:5000")]
    listen: String,

    /// What stands before all names
    #[arg(long, value_name = "PREFIX")]
    prefix: Option<RepositoryPath>,

    /// Speak TLS: the server's certificate (PEM), and behind it those between it and the authority
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,

    /// The key of the certificate (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,

    /// Ask for a login, with this user name
    #[arg(long, value_name = "NAME", requires = "password_file")]
    username: Option<Username>,

    /// The file whose first line is the password of the login
    #[arg(long, value_name = "FILE", requires = "username")]
    password_file: Option<PathBuf>,

    /// Hash each layer before its first byte is sent, again whenever its file has changed
    #[arg(long)]
    verify_reads: bool,

    /// Write a line for each request to standard output
    #[arg(long)]
    access_log: bool,

    #[command(flatten)]
    trust: TrustArguments,

    /// Accept this Solution without any signature, by its id (`<name>-<version>`)
    #[arg(long, value_name = "ID", help_heading = "Trust")]
    allow_unsigned: Option<SolutionId>,
}

pub(crate) fn run(arguments: Arguments, output: Output) -> Result<Outcome, Failure> {
    interrupt::take_time(serve::limits::ENDING + PARTING);
    let log = Arc::new(Log::new(output, arguments.access_log));
    let pair = Pair::of(&arguments);
    let options = options(&arguments, pair.as_ref())?;
    let (listen, scheme) = (
        arguments.listen.clone(),
        choose(options.tls.is_some(), "https", "http"),
    );
    let judged = Judged::of(arguments, output, Arc::clone(&log))?;
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
        serve(server, judged, pair, &log, &url).await
    });
    // Of what was not done in time nothing is waited for.
    runtime.shutdown_background();
    ended.map(|()| Outcome::Yes)
}

/// Serves what is there, and what comes, until the end is asked for.
async fn serve(
    server: Server,
    judged: Judged,
    pair: Option<Pair>,
    log: &Log,
    url: &str,
) -> Result<(), Failure> {
    let mut hangup = signal(SignalKind::hangup()).map_err(Failure::unknown)?;
    let (mut judged, first) = look(judged, Whole::First).await?;
    let first = first?.ok_or_else(|| Failure::usage("no archive is named"))?;
    let shown = server.shelf();
    shown.put(first.content, first.left_out);
    log.listening(url);
    let looking = async {
        let mut failed = Vec::new();
        loop {
            let whole = tokio::select! {
                () = tokio::time::sleep(LOOK_EVERY) => Whole::Changed,
                _ = hangup.recv() => Whole::All,
            };
            if let (Whole::All, Some(pair)) = (whole, &pair) {
                match pair.read() {
                    Ok(tls) => shown.speak(tls),
                    // The one that is shown goes on.
                    Err(failure) => log.failed(&failure),
                }
            }
            let (back, found) = look(judged, whole).await?;
            judged = back;
            match found {
                Ok(serving) => {
                    failed.clear();
                    if let Some(Serving { content, left_out }) = serving {
                        shown.put(content, left_out);
                    }
                }
                Err(failure) => {
                    // What stays as it is is said once.
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
        () = server.run(interrupt::asked()) => Ok(()),
    }
}

/// The archives that are served, and by what they are judged.
struct Judged {
    archives: Archives,
    judge: Trusting,
}

impl Judged {
    fn of(arguments: Arguments, output: Output, log: Arc<Log>) -> Result<Self, Failure> {
        let prefix = arguments.prefix.as_ref();
        let prefix = prefix.map_or_else(String::new, |prefix| format!("/{prefix}"));
        let registry = format!("localhost{prefix}").parse();
        Ok(Self {
            archives: Archives::new(arguments.archives, registry.map_err(Failure::usage)?),
            judge: Trusting {
                trust: arguments.trust,
                allow_unsigned: arguments.allow_unsigned,
                output,
                log,
            },
        })
    }
}

type Changes = Result<Option<Serving>, Failure>;

/// Looks at the archives, which may read a slow disc, beside what is served.
async fn look(mut judged: Judged, whole: Whole) -> Result<(Judged, Changes), Failure> {
    let looked = tokio::task::spawn_blocking(move || {
        let changes = judged.archives.look(whole, &mut judged.judge);
        (judged, changes)
    });
    looked.await.map_err(Failure::unknown)
}

/// Where the certificate lies that the server shows, and its key.
#[derive(Debug)]
struct Pair {
    certificate: PathBuf,
    key: PathBuf,
}

impl Pair {
    fn of(arguments: &Arguments) -> Option<Self> {
        let (certificate, key) = arguments.tls_cert.clone().zip(arguments.tls_key.clone())?;
        Some(Self { certificate, key })
    }

    /// What is there now.
    fn read(&self) -> Result<Tls, Failure> {
        let Self { certificate, key } = self;
        let tls = serve::tls(&disk::read(certificate)?, &disk::read(key)?);
        tls.map_err(|error| {
            let (certificate, key) = (certificate.display(), key.display());
            Failure::no(error)
                .context(format!("cannot speak TLS by `{certificate}` and `{key}`"))
                .hint("give PEM files: the certificate, then those between it and the authority; and its key without a passphrase")
        })
    }
}

fn options(arguments: &Arguments, pair: Option<&Pair>) -> Result<serve::ServerOptions, Failure> {
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
    Ok(serve::ServerOptions {
        tls: pair.map(Pair::read).transpose()?,
        login,
        reads: choose(
            arguments.verify_reads,
            ReadMode::Compared,
            ReadMode::AsTheyAre,
        ),
    })
}

/// Takes as many open files as the system allows: each connection is one. Where that is not allowed, fewer connect.
fn raise_files() {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    let _ = setrlimit(Resource::Nofile, limit);
}
