//! Waits for a cluster that is starting: for its API server ([`Cluster::connect_when_up`]) and its nodes
//! ([`Cluster::wait_nodes`]). Both use the loop of [`poll`].

use std::time::Duration;

use progress::ProgressSink;
use serde_json::Value;
use tokio::time::{Instant, timeout_at};

use crate::cluster::Cluster;
use crate::cluster::connect::ConnectOptions;
use crate::cluster::request::Call;
use crate::error::{Error, bounded};
use crate::failure::{UnreadyNode, UnreadyNodes};
use crate::limits;
use crate::object::{Gvk, Object, condition};
use crate::poll::{Poll, Schedule, WaitOutcome, poll};

impl Cluster {
    /// Connects like [`Cluster::connect`] to a server that may be starting, and waits until it is ready. Reports the
    /// problem at each attempt.
    ///
    /// Missing answers and server errors are waited for. So are refused credentials and missing permissions, for
    /// [`limits::RETURN`]. Problems that waiting cannot solve, such as an invalid kubeconfig or an untrusted
    /// certificate, end the wait immediately.
    pub async fn connect_when_up(
        connect: &ConnectOptions,
        deadline: Duration,
        tell: ProgressSink<'_, Error>,
    ) -> Result<(Self, WaitOutcome), Error> {
        let connect = async || {
            let cluster = Self::connect(connect).await?;
            cluster.is_up().await?;
            Ok(cluster)
        };
        until_up(deadline, tell, connect).await
    }

    /// Waits like [`Cluster::connect_when_up`], with an existing connection.
    pub async fn wait_up(
        &self,
        deadline: Duration,
        tell: ProgressSink<'_, Error>,
    ) -> Result<WaitOutcome, Error> {
        let ((), waited) = until_up(deadline, tell, async || self.is_up().await).await?;
        Ok(waited)
    }

    async fn is_up(&self) -> Result<(), Error> {
        let up = self.call(&Call::get("/readyz", DOING)).await;
        up.map(drop).map_err(|error| match error {
            // The first lines of the server's answer list the checks that succeeded.
            Error::Server { doing, status, .. } => Error::Server {
                doing,
                status,
                message: "it is not ready yet".to_owned(),
            },
            other => other,
        })
    }

    /// Waits until the cluster has nodes and all of them are ready, except cordoned ones. Reports the nodes that are
    /// not ready at each attempt.
    pub async fn wait_nodes(
        &self,
        deadline: Duration,
        tell: ProgressSink<'_, UnreadyNodes>,
    ) -> Result<WaitOutcome, Error> {
        let ready = async |schedule: &mut Schedule| {
            let Some(nodes) = self.unready_nodes().await? else {
                return Ok(Poll::Met(()));
            };
            if schedule.is_over() {
                let after = deadline;
                return Ok(Poll::Failed(Error::NodesNotReady { nodes, after }));
            }
            tell(nodes);
            Ok(Poll::Pending)
        };
        let ((), waited) = poll(Schedule::new(deadline), ready).await?;
        Ok(waited)
    }

    /// Returns the nodes that are not ready, or `None` if all are.
    async fn unready_nodes(&self) -> Result<Option<UnreadyNodes>, Error> {
        let nodes = self.list(&Gvk::new("v1", "Node"), None, None).await?;
        let takes_pods = |node: &&Object| node.as_value()["spec"]["unschedulable"] != true;
        let nodes: Vec<&Object> = nodes.iter().filter(takes_pods).collect();
        let unready = nodes.iter().filter_map(|node| {
            let why = unready(node.as_value())?;
            let name = node.name().to_owned();
            Some(UnreadyNode { name, why })
        });
        let unready: Vec<UnreadyNode> = unready.collect();
        let all = !nodes.is_empty() && unready.is_empty();
        Ok((!all).then_some(UnreadyNodes::new(unready)))
    }
}

const DOING: &str = "check that the API server is ready";

/// Repeats a request until the server is ready, or until an error that waiting cannot solve.
async fn until_up<T>(
    deadline: Duration,
    tell: ProgressSink<'_, Error>,
    ask: impl AsyncFn() -> Result<T, Error>,
) -> Result<(T, WaitOutcome), Error> {
    let mut refused_since = None;
    let up = async |schedule: &mut Schedule| {
        let error = match timeout_at(schedule.end, ask()).await {
            Ok(Ok(up)) => return Ok(Poll::Met(up)),
            Ok(Err(error)) => error,
            Err(_) => Error::Timeout {
                doing: DOING.to_owned(),
                after: deadline,
            },
        };
        let may_come = match &error {
            Error::Unauthorized { .. } | Error::Forbidden { .. } => {
                // A server that has just started refuses requests until it has loaded all accounts and roles.
                let since = *refused_since.get_or_insert_with(Instant::now);
                since.elapsed() < limits::RETURN
            }
            error => {
                // After another error, the time for refusals starts again.
                refused_since = None;
                error.is_temporary()
            }
        };
        if !may_come || Instant::now() + limits::POLL >= schedule.end {
            return Ok(Poll::Failed(error));
        }
        tell(error);
        Ok(Poll::Pending)
    };
    poll(Schedule::new(deadline), up).await
}

/// Returns the reason why a node is not ready, if it is not.
fn unready(node: &Value) -> Option<String> {
    let Some(ready) = condition(node, "Ready") else {
        return Some("it has not reported yet".to_owned());
    };
    if ready["status"] == "True" {
        return None;
    }
    let text = |field: &str| ready[field].as_str().unwrap_or_default().trim();
    let why = match (text("message"), text("reason")) {
        ("", "") => "it does not report a reason".to_owned(),
        ("", why) | (why, _) => bounded(why),
    };
    Some(why)
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use serde_json::json;

    use super::*;
    use crate::mock::{Answer, cluster};

    fn node(name: &str, status: &str, cordoned: bool) -> Value {
        let message = "container runtime network not ready";
        json!({"metadata": {"name": name}, "spec": {"unschedulable": cordoned}, "status": {
            "conditions": [{"type": "Ready", "status": status, "reason": "R", "message": message}]}})
    }

    fn list(nodes: &[Value]) -> Answer {
        Answer::json(200, &json!({ "items": nodes }))
    }

    #[tokio::test(start_paused = true)]
    async fn nodes_are_waited_for_until_all_that_take_pods_are_ready() {
        let answers = Mutex::new(vec![
            list(&[node("a", "True", false), node("c", "False", true)]),
            list(&[node("a", "True", false), json!({"metadata": {"name": "b"}})]),
            list(&[node("a", "False", false)]),
            list(&[node("c", "True", true)]),
            list(&[]),
        ]);
        let (cluster, _) = cluster(move |_| answers.lock().unwrap().pop().unwrap()).await;
        let told = Mutex::new(Vec::new());
        let tell = |nodes: UnreadyNodes| told.lock().unwrap().push(nodes.to_string());
        let hour = Duration::from_hours(1);
        assert_eq!(
            cluster.wait_nodes(hour, &tell).await.unwrap(),
            WaitOutcome::Delayed
        );
        let none = "no schedulable node has joined";
        let [a, b] = [
            "a: container runtime network not ready",
            "b: it has not reported yet",
        ];
        assert_eq!(*told.lock().unwrap(), [none, none, a, b]);
    }

    #[tokio::test(start_paused = true)]
    async fn nodes_that_do_not_come_are_named_with_their_own_words() {
        let (late, _) = cluster(|_| list(&[node("a", "Unknown", false)])).await;
        let late = late.wait_nodes(Duration::from_secs(9), &|_| ()).await;
        assert_eq!(
            late.unwrap_err().to_string(),
            "nodes are not ready after 9 s: a: container runtime network not ready"
        );
        let (up, _) = cluster(|_| list(&[node("a", "True", false)])).await;
        let up = up.wait_nodes(Duration::ZERO, &|_| ()).await.unwrap();
        assert_eq!(up, WaitOutcome::Immediate);
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_that_was_up_is_waited_for_until_it_is_again_or_too_long() {
        // Each request is attempted several times.
        let failures = usize::try_from(limits::ATTEMPTS).unwrap() * 2;
        let answers = Mutex::new([vec![200], vec![500; failures]].concat());
        let answer = move || answers.lock().unwrap().pop().unwrap();
        let (back, _) = cluster(move |_| Answer(answer(), None, Vec::new())).await;
        let told = Mutex::new(0);
        let tell = |_| *told.lock().unwrap() += 1;
        let hour = Duration::from_hours(1);
        assert_eq!(
            back.wait_up(hour, &tell).await.unwrap(),
            WaitOutcome::Delayed
        );
        assert_eq!(*told.lock().unwrap(), 2);
        let (up, _) = cluster(|_| Answer(200, None, Vec::new())).await;
        assert_eq!(
            up.wait_up(hour, &|_| ()).await.unwrap(),
            WaitOutcome::Immediate
        );
        let (away, _) = cluster(|_| Answer(500, None, Vec::new())).await;
        let late = away.wait_up(Duration::from_secs(9), &|_| ()).await;
        assert!(late.unwrap_err().is_temporary());
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_that_is_not_ready_says_so() {
        let (cluster, _) = cluster(|_| Answer(500, None, b"[+]ping ok\n[-]etcd".to_vec())).await;
        assert_eq!(
            cluster.is_up().await.unwrap_err().to_string(),
            "cannot check that the API server is ready: the server returned 500: it is not ready yet"
        );
    }
}
