//! The holder of a cluster's Lease: its name, a description for people, and a check whether its process still runs.
//!
//! The name is `USER@HOST/PROCESS-NONCE`, followed by `;boot=…;pidns=…;start=…`, which identifies a process among all
//! past and future processes of a machine. Host names and process numbers alone do not, because containers share them.

use std::fmt;
use std::os::unix::fs::MetadataExt as _;
use std::time::{Duration, SystemTime};

use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};

/// A process that changes a cluster, with its user and host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Holder {
    user: String,
    host: String,
    process: i32,
    /// A random number that distinguishes containers that start the same process at the same place.
    nonce: u32,
    /// The process identity, if the machine reports it.
    life: Option<Life>,
}

/// The identity of a process on its machine, and of the machine.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Life {
    /// The kernel's name for its own run.
    boot: String,
    /// The process namespace, by its inode.
    namespace: u64,
    /// The start time of the process, in kernel ticks since boot.
    start: u64,
}

impl Holder {
    /// Returns the identity of this process.
    pub(crate) fn own(user: &str, now: SystemTime) -> Self {
        let since = now
            .duration_since(SystemTime::UNIX_EPOCH)
            .unwrap_or_default();
        // The separator of parts must not occur in a part.
        let user = user.chars().map(|c| if c == ';' { '_' } else { c });
        Self {
            user: user.collect(),
            host: host(),
            process: rustix::process::getpid().as_raw_nonzero().get(),
            nonce: since.subsec_nanos(),
            life: Life::own(),
        }
    }

    /// Parses a name. `None` if it has another form.
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

    /// Returns true if this is a process of this machine that has ended. In doubt, it returns false, because the Lease
    /// then expires anyway.
    fn is_gone(&self) -> bool {
        let (Some(life), Some(own)) = (&self.life, Life::own()) else {
            return false;
        };
        // Machines that were cloned while running have the same boot id and namespace, but different names.
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
        // A container may have mounted the /proc of another process namespace.
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

/// Returns true if the holder with this name is a process of this machine that has ended.
pub(crate) fn is_gone(name: &str) -> bool {
    Holder::parse(name).is_some_and(|holder| holder.is_gone())
}

/// Describes the holder of a Lease: `alice on host bastion (process 1234) has been changing this cluster since 12:03:04
/// UTC (41 s ago)`.
pub(crate) fn at_work(
    name: &str,
    what: &str,
    since: Option<SystemTime>,
    now: SystemTime,
) -> String {
    let holder = Holder::parse(name);
    let known = |process: Holder| {
        format!(
            "{} on host {} (process {})",
            process.user, process.host, process.process
        )
    };
    let who = holder.map_or_else(|| format!("`{name}`"), known);
    let Some(since) = since else {
        return format!("{who} is changing {what}");
    };
    let unix = since
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default()
        .as_secs();
    let (hour, minute, second) = (unix / 3600 % 24, unix / 60 % 60, unix % 60);
    // The clock of another machine may be ahead.
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

/// Returns the name of this machine.
pub(crate) fn host() -> String {
    let machine = rustix::system::uname();
    machine.nodename().to_string_lossy().into_owned()
}

/// Returns true if the process with this start time is still running.
fn runs(process: i32, start: u64) -> bool {
    let Some(pid) = Pid::from_raw(process) else {
        return false;
    };
    // This check does not use /proc, which may hide the processes of other users.
    if test_kill_process(pid) == Err(Errno::SRCH) {
        return false;
    }
    started(process).is_none_or(|stat| stat.start == start && !stat.ended)
}

struct Stat {
    start: u64,
    /// True if the process has ended, and its parent has not yet noticed it.
    ended: bool,
}

/// Reads `/proc/PID/stat`; see proc(5).
fn started(process: i32) -> Option<Stat> {
    let text = std::fs::read(format!("/proc/{process}/stat")).ok()?;
    let text = String::from_utf8_lossy(&text);
    // The second field is the program's name in parentheses, and may contain any characters.
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
        // The process is a zombie first, and then disappears.
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
