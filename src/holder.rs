//! Who changes a cluster: the name in which its Lease is held, what that name says to people, and whether the process
//! behind it still runs.
//!
//! The name is `USER@HOST/PROCESS-NONCE`, and after it `;boot=…;pidns=…;start=…`: what tells one process of a machine
//! from all that were and will be. Host names and process numbers alone do not, since containers share them.

use std::fmt;
use std::os::unix::fs::MetadataExt as _;
use std::time::{Duration, SystemTime};

use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};

/// A process that changes a cluster, on whose behalf, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Holder {
    user: String,
    host: String,
    process: i32,
    /// Differs between containers that start the same process at the same place.
    nonce: u32,
    /// Where the machine tells it.
    life: Option<Life>,
}

/// What tells a process from all others of its machine, and the machine from others.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Life {
    /// The kernel's name for its own run.
    boot: String,
    /// The process namespace, by its inode.
    namespace: u64,
    /// When the process started, in the kernel's ticks since it booted.
    start: u64,
}

impl Holder {
    /// This process.
    pub(crate) fn own(user: &str, now: SystemTime) -> Self {
        let since = now
            .duration_since(SystemTime::UNIX_EPOCH)
            .unwrap_or_default();
        // What separates the parts of a name can be in none.
        let user = user.chars().map(|c| if c == ';' { '_' } else { c });
        Self {
            user: user.collect(),
            host: host(),
            process: rustix::process::getpid().as_raw_nonzero().get(),
            nonce: since.subsec_nanos(),
            life: Life::own(),
        }
    }

    /// Reads a name; `None` if it is not of this form.
    fn parse(name: &str) -> Option<Self> {
        let mut parts = name.split(';');
        let (who, process) = parts.next()?.rsplit_once('/')?;
        let (user, host) = who.rsplit_once('@')?;
        let (process, nonce) = process.split_once('-')?;
        Some(Self {
            user: user.to_owned(),
            host: host.to_owned(),
            process: process.parse().ok().filter(|process| *process > 0)?,
            nonce: u32::from_str_radix(nonce, 16).ok()?,
            life: Life::parse(parts),
        })
    }

    /// Whether it is a process of this machine that runs no more. In doubt it is not.
    fn is_gone(&self) -> bool {
        let (Some(life), Some(own)) = (&self.life, Life::own()) else {
            return false;
        };
        // Two machines that were copied while running have the same boot and namespace, and still two names.
        let here = self.host == host() && life.boot == own.boot && life.namespace == own.namespace;
        here && !runs(self.process, life.start)
    }
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (user, host, process) = (&self.user, &self.host, self.process);
        write!(f, "{user}@{host}/{process}-{:x}", self.nonce)?;
        self.life.iter().try_for_each(|life| {
            let (boot, namespace, start) = (&life.boot, life.namespace, life.start);
            write!(f, ";boot={boot};pidns={namespace};start={start}")
        })
    }
}

impl Life {
    fn own() -> Option<Self> {
        let own = rustix::process::getpid().as_raw_nonzero().get();
        // In a container /proc may be another's.
        let shown = std::fs::read_link("/proc/self").ok()?;
        if shown.to_str()? != own.to_string() {
            return None;
        }
        let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
        Some(Self {
            boot: boot.trim().to_owned(),
            namespace: std::fs::metadata("/proc/self/ns/pid").ok()?.ino(),
            start: started(own)?.start,
        })
    }

    fn parse<'a>(parts: impl Iterator<Item = &'a str>) -> Option<Self> {
        let (mut boot, mut namespace, mut start) = (None, None, None);
        for part in parts {
            match part.split_once('=')? {
                ("boot", value) => boot = Some(value.to_owned()),
                ("pidns", value) => namespace = value.parse().ok(),
                ("start", value) => start = value.parse().ok(),
                _ => {}
            }
        }
        Some(Self {
            boot: boot.filter(|boot| !boot.is_empty())?,
            namespace: namespace?,
            start: start?,
        })
    }
}

/// Whether the holder of this name is a process of this machine that runs no more.
pub(crate) fn is_gone(name: &str) -> bool {
    Holder::parse(name).is_some_and(|holder| holder.is_gone())
}

/// Who is at work, and on what, in words: `alice on host bastion (process 1234) has been changing this cluster since
/// 12:03:04 UTC (41 s ago)`.
pub(crate) fn at_work(
    name: &str,
    what: &str,
    since: Option<SystemTime>,
    now: SystemTime,
) -> String {
    let holder = Holder::parse(name);
    let known = |it: Holder| format!("{} on host {} (process {})", it.user, it.host, it.process);
    let who = holder.map_or_else(|| format!("`{name}`"), known);
    let Some(since) = since else {
        return format!("{who} is changing {what}");
    };
    let unix = since
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default()
        .as_secs();
    let (hour, minute, second) = (unix / 3600 % 24, unix / 60 % 60, unix % 60);
    // Another machine's clock may be ahead.
    let ago = now.duration_since(since).map(ago).unwrap_or_default();
    format!("{who} has been changing {what} since {hour:02}:{minute:02}:{second:02} UTC{ago}")
}

fn ago(time: Duration) -> String {
    match time.as_secs() {
        seconds @ 0..120 => format!(" ({seconds} s ago)"),
        seconds @ 120..7200 => format!(" ({} min ago)", seconds / 60),
        seconds => format!(" ({} h ago)", seconds / 3600),
    }
}

/// The name of this machine.
pub(crate) fn host() -> String {
    let machine = rustix::system::uname();
    machine.nodename().to_string_lossy().into_owned()
}

/// Whether the process that began then runs.
fn runs(process: i32, start: u64) -> bool {
    let Some(pid) = Pid::from_raw(process) else {
        return false;
    };
    // Asked without /proc, which may hide the processes of others.
    if test_kill_process(pid) == Err(Errno::SRCH) {
        return false;
    }
    started(process).is_none_or(|stat| stat.start == start && !stat.ended)
}

struct Stat {
    start: u64,
    /// It waits for its parent to take note of its end.
    ended: bool,
}

/// What `/proc/PID/stat` says; see proc(5).
fn started(process: i32) -> Option<Stat> {
    let text = std::fs::read(format!("/proc/{process}/stat")).ok()?;
    let text = String::from_utf8_lossy(&text);
    // The second field, the program's name in brackets, may hold anything.
    let (_, rest) = text.rsplit_once(") ")?;
    let mut fields = rest.split(' ');
    let state = fields.next()?;
    Some(Stat {
        // Field 22; the state is field 3.
        start: fields.nth(18)?.trim().parse().ok()?,
        ended: ["Z", "X", "x"].contains(&state),
    })
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    fn at(seconds: u64) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)
    }

    #[test]
    fn a_name_comes_back_from_its_text() {
        let own = Holder::own("DOMAIN\\alice@corp;x", at(5));
        assert!(
            own.life.is_some(),
            "{own}: this machine tells its processes apart"
        );
        let read = Holder::parse(&own.to_string()).unwrap();
        assert_eq!(read, own);
        assert_eq!(read.user, "DOMAIN\\alice@corp_x");
        assert!(!own.is_gone());
    }

    #[test]
    fn a_process_of_this_machine_that_runs_no_more_is_gone() {
        let mut child = Command::new("sleep").arg("1000").spawn().unwrap();
        let process = i32::try_from(child.id()).unwrap();
        let of_child = |start| Holder {
            process,
            life: Life::own().map(|life| Life { start, ..life }),
            ..Holder::own("alice", at(5))
        };
        let start = started(process).unwrap().start;
        assert!(!of_child(start).is_gone(), "it runs");
        assert!(
            of_child(start + 1).is_gone(),
            "another process has its number"
        );
        child.kill().unwrap();
        // A zombie first, then nothing.
        while !started(process).unwrap().ended {
            std::thread::yield_now();
        }
        assert!(of_child(start).is_gone(), "nobody has taken note");
        child.wait().unwrap();
        assert!(of_child(start).is_gone());
    }

    #[test]
    fn what_is_not_known_is_not_gone() {
        let dead = Holder {
            process: i32::MAX,
            ..Holder::own("alice", at(5))
        };
        assert!(dead.is_gone());
        let life = dead.life.clone().unwrap();
        let with = |life| Holder {
            life: Some(life),
            ..dead.clone()
        };
        for other in [
            with(Life {
                boot: "another".to_owned(),
                ..life.clone()
            }),
            with(Life {
                namespace: life.namespace + 1,
                ..life.clone()
            }),
            Holder {
                host: "elsewhere".to_owned(),
                ..dead.clone()
            },
            Holder {
                life: None,
                ..dead.clone()
            },
        ] {
            assert!(!is_gone(&other.to_string()), "{other}");
        }
        let text = dead.to_string();
        for odd in [
            "",
            "somebody",
            "alice@host",
            "alice@host/12",
            "alice@host/0-1;boot=x;pidns=1;start=1",
            "alice@host/-5-1",
            &text.replace("start=", "start=-"),
            &text.replace(";pidns=", ";pidns"),
            &text.replace(";boot=", ";root="),
        ] {
            assert!(!is_gone(odd), "{odd}");
        }
    }

    #[test]
    fn who_is_at_work_is_told_in_words() {
        let name = "alice@bastion/1234-1f;boot=b;pidns=1;start=2";
        let (since, now) = (at(43384), at(43425));
        assert_eq!(
            at_work(name, "this cluster", Some(since), now),
            "alice on host bastion (process 1234) has been changing this cluster since 12:03:04 UTC (41 s ago)"
        );
        assert_eq!(
            at_work("x", "this cluster", Some(now), since),
            "`x` has been changing this cluster since 12:03:45 UTC"
        );
        assert_eq!(
            at_work("x", "the environment prod", None, now),
            "`x` is changing the environment prod"
        );
    }
}
