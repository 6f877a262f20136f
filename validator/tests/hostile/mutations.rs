//! Random variants of a small signed archive, checked like `validate` does. They run in separate processes, so that the
//! measured memory only includes the checks, and an abort can be distinguished from a failure.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::fs::FileExt as _;
use std::path::PathBuf;
use std::process::{Command, Output};
use std::thread;
use std::time::{Duration, Instant};

use rules::catalogue::FINDINGS;
use tempfile::TempDir;
use validator::ArchiveVerdict;

use crate::subject::{good, options, report, same_but_for_signatures, sibling};
use crate::variants::{SEED, Variants};

/// The environment variable with the number of variants to check.
const VARIANTS: &str = "SOLUTION_TEST_VARIANTS";
/// The default number of variants. Variants that equal a signed archive are generated but do not count.
const USUAL: u64 = 2_200;
/// The environment variable that assigns a part of the variants to a process.
const PART: &str = "SOLUTION_TEST_PART";
/// The number of processes that share the work.
const PROCESSES: u64 = 2;
/// The time limit of one check.
const TIME: Duration = Duration::from_secs(1);
/// The memory limit of a process.
const MEMORY_KIB: u64 = 64 * 1024;

#[test]
fn no_variant_is_accepted_panics_or_takes_much() {
    if let Some(part) = variable(PART) {
        return check_part(&part);
    }
    let variants = variable(VARIANTS).map_or(USUAL, |number| number.parse().unwrap());
    let share = variants / PROCESSES;
    // Each process has a thread, because it blocks if its output is not read.
    let start = |number| thread::spawn(move || check_apart(number * share, share));
    let processes: Vec<_> = (0..PROCESSES).map(start).collect();
    let mut total = BTreeMap::new();
    for process in processes {
        let output = process.join().unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        let last = text.lines().rfind(|line| line.starts_with("variant "));
        assert!(
            output.status.success(),
            "seed {SEED:#x}, {}, {}:\n{}",
            last.unwrap_or("no variant"),
            output.status,
            String::from_utf8_lossy(&output.stderr),
        );
        for line in text.lines().filter(|line| line.starts_with("tally ")) {
            let mut words = line["tally ".len()..].rsplitn(2, ' ');
            let count: u64 = words.next().unwrap().parse().unwrap();
            let most = line.contains("most ");
            let sum = total.entry(words.next().unwrap().to_owned()).or_insert(0);
            *sum = if most { count.max(*sum) } else { *sum + count };
        }
    }
    println!("{total:#?}");
    let count = |name: &str| total.get(name).copied().unwrap_or_default();
    assert!(count("variants") >= variants / 11 * 10, "{total:#?}");
    // The variants must reach every decision: container, signature, list, data and acceptance.
    for reached in [
        "refused by container.metadata",
        "refused by container.not-iso",
        "refused by container.too-large",
        "refused by container.truncated",
        "refused by integrity.damaged",
        "refused by integrity.list",
        "refused by signature.envelope",
        "refused by signature.invalid",
        "refused by signature.unsigned",
        "refused by signature.untrusted",
        "accepted, with other signatures",
    ] {
        assert!(count(reached) > 0, "{reached}: {total:#?}");
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "whoever starts the tests says how many by the environment, and so does a test that starts itself"
)]
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// Runs this test in a separate process for one part of the variants, so that its memory can be measured.
fn check_apart(first: u64, count: u64) -> Output {
    let itself = "mutations::no_variant_is_accepted_panics_or_takes_much";
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", itself, "--nocapture"])
        .env(PART, format!("{first} {count}"))
        .output()
        .unwrap()
}

/// Checks a part given as `FIRST COUNT`, and prints the results.
fn check_part(part: &str) {
    let numbers: Vec<u64> = part
        .split(' ')
        .map(|number| number.parse().unwrap())
        .collect();
    let mut checking = Checking::start();
    for number in numbers[0]..numbers[0] + numbers[1] {
        checking.check(number);
    }
    for (what, count) in &checking.tally {
        say(&format!("tally {what} {count}"));
    }
}

/// Prints a line for the parent process.
fn say(line: &str) {
    let mut output = std::io::stdout().lock();
    writeln!(output, "{line}").unwrap();
}

struct Checking {
    variants: Variants,
    medium: Medium,
    /// The memory of the process before the first check.
    memory: u64,
    tally: BTreeMap<String, u64>,
}

impl Checking {
    fn start() -> Self {
        let variants = Variants::of(good(), sibling());
        let medium = Medium::new(variants.good().to_vec());
        let memory = peak_kib();
        assert_eq!(medium.verdict().0, ArchiveVerdict::Accepted);
        Self {
            memory,
            variants,
            medium,
            tally: BTreeMap::new(),
        }
    }

    fn check(&mut self, number: u64) {
        let (bytes, kind) = self.variants.make(number);
        say(&format!("variant {number}: {kind}"));
        if self.variants.is_signed_as_it_is(&bytes) {
            self.count("not changed");
            return;
        }
        self.medium.put(bytes);
        let (verdict, by) = self.in_time(kind);
        let same = same_but_for_signatures(self.medium.bytes(), self.variants.good());
        if verdict == ArchiveVerdict::Accepted {
            assert!(same, "variant {number} is accepted: {kind}");
            self.count("accepted, with other signatures");
        } else {
            assert_eq!(verdict, ArchiveVerdict::Refused);
            self.count(&format!("refused by {by}"));
        }
        self.count("variants");
        self.most("most KiB", peak_kib() - self.memory);
        assert!(
            peak_kib() - self.memory <= MEMORY_KIB,
            "variant {number} takes {} KiB: {kind}",
            peak_kib() - self.memory
        );
    }

    /// Returns the verdict, if one of three attempts is fast enough: a busy machine may delay one of them.
    fn in_time(&mut self, kind: &str) -> (ArchiveVerdict, String) {
        let mut fastest = Duration::MAX;
        for _ in 0..3 {
            let start = Instant::now();
            let verdict = self.medium.verdict();
            fastest = fastest.min(start.elapsed());
            if fastest <= TIME {
                let micros = u64::try_from(fastest.as_micros()).unwrap();
                self.most("most microseconds", micros);
                return verdict;
            }
        }
        panic!("a check takes {fastest:?}: {kind}");
    }

    fn count(&mut self, what: &str) {
        *self.tally.entry(what.to_owned()).or_default() += 1;
    }

    fn most(&mut self, what: &str, value: u64) {
        let most = self.tally.entry(what.to_owned()).or_default();
        *most = value.max(*most);
    }
}

/// Returns the peak memory of this process.
fn peak_kib() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let digits = line.unwrap().trim().trim_end_matches(" kB");
    digits.parse().unwrap()
}

/// The file for all variants; only the differences are written.
struct Medium {
    _directory: TempDir,
    path: PathBuf,
    file: File,
    bytes: Vec<u8>,
}

impl Medium {
    fn new(bytes: Vec<u8>) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("example.iso");
        fs::write(&path, &bytes).unwrap();
        let file = File::options().write(true).open(&path).unwrap();
        Self {
            _directory: directory,
            path,
            file,
            bytes,
        }
    }

    fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    fn put(&mut self, bytes: Vec<u8>) {
        const PIECE: usize = 4096;
        let pieces = bytes.chunks(PIECE).enumerate();
        for (number, piece) in pieces {
            let at = number * PIECE;
            let before = self.bytes.get(at..at + piece.len());
            if before != Some(piece) {
                self.file.write_all_at(piece, at as u64).unwrap();
            }
        }
        self.file.set_len(bytes.len() as u64).unwrap();
        self.bytes = bytes;
    }

    /// Returns the verdict and the first error. Checks that findings are known and have a fix.
    fn verdict(&self) -> (ArchiveVerdict, String) {
        let report = report(&self.path, &options());
        for finding in report.findings() {
            assert!(FINDINGS.iter().any(|info| info.id == finding.id));
            assert!(!finding.message.is_empty() && !finding.fix.is_empty());
        }
        let by = report
            .findings()
            .first()
            .map_or("nothing", |finding| finding.id);
        (report.verdict(), by.to_owned())
    }
}
