//! curl as a browser: it keeps cookies and follows no redirection by itself.

use std::path::Path;
use std::process::Command;

use crate::common::Answer;

/// A reply to a browser.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: String,
    /// The URL of a redirection, or empty.
    pub(crate) location: String,
    pub(crate) body: String,
}

impl Reply {
    #[track_caller]
    pub(crate) fn contains(&self, texts: &[&str]) {
        for text in texts {
            assert!(
                self.body.contains(text),
                "`{text}` is not in: {}",
                self.body
            );
        }
    }
}

/// Sends a request with the cookies of a file, and stores the new ones in it.
#[track_caller]
pub(crate) fn fetch(url: &str, jar: &Path, arguments: &[&str]) -> Reply {
    let answer = try_fetch(url, jar, arguments);
    answer.unwrap_or_else(|answer| panic!("{answer:?}"))
}

/// Sends a request like [`fetch`]. Without a reply, it returns curl's answer.
pub(crate) fn try_fetch(url: &str, jar: &Path, arguments: &[&str]) -> Result<Reply, Answer> {
    let answer = Answer::from_command(
        Command::new("curl")
            .args(["--silent", "--show-error", "--max-time", "90"])
            .arg("--cookie")
            .arg(jar)
            .arg("--cookie-jar")
            .arg(jar)
            .args(["--write-out", "\n%{http_code} %{redirect_url}"])
            .args(arguments)
            .arg(url),
    );
    if answer.code != 0 {
        return Err(answer);
    }
    let (body, facts) = answer.stdout.rsplit_once('\n').unwrap();
    let (status, location) = facts.split_once(' ').unwrap();
    Ok(Reply {
        status: status.to_owned(),
        location: location.to_owned(),
        body: body.to_owned(),
    })
}
