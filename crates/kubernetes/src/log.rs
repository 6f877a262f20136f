//! The logs of containers ([`Cluster::log`]). Only the end of a log is read, because it usually has the cause of a
//! failure and logs can be very large.

use crate::cluster::Cluster;
use crate::cluster::request::{Call, escape};
use crate::error::Error;

/// The beginning of the message that a kubelet sends in place of the log if the container was removed.
const NO_LOG: &[u8] = b"unable to retrieve container logs for ";

/// The request for the end of a container's log.
#[derive(Clone, Copy, Debug)]
pub struct LogTail<'a> {
    /// The namespace of the pod.
    pub namespace: &'a str,
    /// The pod.
    pub pod: &'a str,
    /// The container.
    pub container: &'a str,
    /// Indicates whether to read the log of the previous run.
    pub previous: bool,
    /// The maximum number of lines.
    pub lines: u32,
    /// The maximum number of bytes.
    pub bytes: usize,
}

impl Cluster {
    /// Reads the end of a log. Returns an empty log if nothing was logged, and `None` if the log was removed.
    pub async fn log(&self, end: &LogTail<'_>) -> Result<Option<Vec<u8>>, Error> {
        // A kubelet starts the given number of lines before the end and stops after the given number of bytes, so long
        // lines are cut at the wrong end. The number of lines is reduced until all of them fit.
        let mut end = *end;
        loop {
            let bytes = self.tail(&end).await?;
            if bytes.len() < end.bytes || end.lines <= 1 {
                return Ok(Some(bytes).filter(|log| !log.starts_with(NO_LOG)));
            }
            end.lines = (end.lines / 4).max(1);
        }
    }

    async fn tail(&self, end: &LogTail<'_>) -> Result<Vec<u8>, Error> {
        let path = format!(
            "/api/v1/namespaces/{}/pods/{}/log?container={}&previous={}&tailLines={}&limitBytes={}",
            escape(end.namespace),
            escape(end.pod),
            escape(end.container),
            end.previous,
            end.lines,
            end.bytes,
        );
        let reply = self
            .call(&Call::get(path, "read a container's log"))
            .await?;
        let mut bytes = reply.bytes;
        bytes.truncate(end.bytes);
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mock::{Answer, RecordedRequest, cluster};

    /// Answers like a kubelet with lines of ten bytes: the requested number of lines from the end, cut to the requested
    /// bytes.
    fn kubelet(seen: &RecordedRequest) -> Answer {
        let number = |name: &str| {
            let query = seen.path.split_once(&format!("{name}=")).unwrap().1;
            let digits = query.split('&').next().unwrap();
            digits.parse::<usize>().unwrap()
        };
        let log: Vec<String> = (0..100).map(|line| format!("line {line:04}\n")).collect();
        let tail = log[log.len() - number("tailLines")..].concat();
        let bytes = &tail.as_bytes()[..tail.len().min(number("limitBytes"))];
        Answer(200, None, bytes.to_vec())
    }

    const END: LogTail<'_> = LogTail {
        namespace: "n",
        pod: "p",
        container: "c",
        previous: false,
        lines: 80,
        bytes: 100,
    };

    #[tokio::test]
    async fn a_log_that_is_cleaned_away_is_none_and_not_an_empty_one() {
        for (said, log) in [
            ("", Some(Vec::new())),
            ("unable to retrieve container logs for containerd://1", None),
        ] {
            let kubelet = move |_: &RecordedRequest| Answer(200, None, said.as_bytes().to_vec());
            let (cluster, _) = cluster(kubelet).await;
            assert_eq!(cluster.log(&END).await.unwrap(), log, "{said}");
        }
    }

    #[tokio::test]
    async fn the_end_of_a_log_of_long_lines_is_its_end() {
        let (cluster, seen) = cluster(kubelet).await;
        let log = cluster.log(&END).await.unwrap().unwrap();
        let log = String::from_utf8(log).unwrap();
        assert!(log.ends_with("line 0099\n"), "{log}");
        assert_eq!(log.lines().count(), 5);
        assert_eq!(seen.lock().unwrap().len(), 3);
    }
}
