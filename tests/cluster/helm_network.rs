//! Helm contacts only this program, not even the API server: a site has no other server. The sandbox of these tests has
//! no route to the internet, so every installation works without it. The kernel records Helm's connections.

use std::collections::BTreeSet;
use std::fs;
use std::io::ErrorKind;
use std::net::{SocketAddr, TcpStream};
use std::process::Command;
use std::time::Duration;

use crate::charts::{HELM, VALUES, pack, site, statuses};
use crate::common::Answer;

/// An address for documentation (RFC 5737).
const OUTSIDE: &str = "192.0.2.1:443";
const DEFAULT_ROUTE: &str = "00000000";

#[test]
fn the_sandbox_leads_nowhere() {
    let routes = fs::read_to_string("/proc/net/route").unwrap();
    let mut destinations = routes
        .lines()
        .skip(1)
        .filter_map(|line| line.split_whitespace().nth(1));
    assert!(
        !destinations.any(|destination| destination == DEFAULT_ROUTE),
        "{routes}"
    );
    let address: SocketAddr = OUTSIDE.parse().unwrap();
    let error = TcpStream::connect_timeout(&address, Duration::from_mins(1)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NetworkUnreachable, "{error}");
}

#[test]
fn helm_connects_to_nothing_but_this_program() {
    let site = site("charts-silent");
    let archive = pack(&site, "1.0.0", VALUES);
    let log = site.desk.path("connections");
    let helm = site.desk.path("helm");
    let trace = "connect,sendto,sendmsg,sendmmsg";
    // Every process of every run appends to it. Helm gets no `PATH` for other programs.
    let script = format!(
        "#!/bin/sh\nexec /usr/bin/strace -f -A -e trace={trace} -o {} {} \"$@\"\n",
        log.display(),
        *HELM
    );
    site.desk.write_script("helm", &script);
    let into = ["-e", "prod", "--pull-secret", "login"];
    let mut import = site.import_command(&archive, &into);
    Answer::from_command(import.env("HELM", &helm)).success();
    assert_eq!(statuses(&site), ["deployed"]);

    let log = fs::read_to_string(&log).unwrap();
    let addressed: BTreeSet<&str> = log.lines().filter_map(destination).collect();
    let server = "{.clusters[0].cluster.server}";
    let view = [
        "config",
        "view",
        "--minify",
        &format!("--output=jsonpath={server}"),
    ];
    let server = Answer::from_command(Command::new("kubectl").args(view)).success();
    let server: SocketAddr = server.strip_prefix("https://").unwrap().parse().unwrap();
    let server = format!("sin_port=htons({})", server.port());
    assert!(!addressed.is_empty(), "{log}");
    for address in addressed {
        let is_here = address.starts_with("sa_family=AF_INET, ")
            && address.ends_with("inet_addr(\"127.0.0.1\")");
        assert!(is_here && !address.contains(&server), "{address}: {log}");
    }
}

/// Returns the destination of a connection in a line of strace.
fn destination(line: &str) -> Option<&str> {
    let from = line.find("sa_family=")?;
    let address = &line[from..];
    Some(&address[..address.find('}')?])
}
