//! The objects for collecting an operator's metrics, as MetalK8s creates them since 133.0: a Service, and a
//! `ServiceMonitor` if the cluster serves that kind. With TLS, the operator asks the API server to authenticate and
//! authorize each reader, which requires a right in the whole cluster.

use schemas::{Metrics, MetricsScheme, Operator};
use serde_json::{Value, json};

/// The label that MetalK8s' Prometheus selects by.
const MONITOR: &str = "metalk8s.scality.com/monitor";

/// The token that authenticates Prometheus.
const TOKEN: &str = "/var/run/secrets/kubernetes.io/serviceaccount/token";

/// The flag with an operator's metrics address, by the convention of controller-runtime's scaffolding.
const BIND: &str = "--metrics-bind-address";

/// The metrics of an operator, and the cluster's way to collect them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OperatorMetrics<'a> {
    pub(crate) metrics: &'a Metrics,
    pub(crate) collector: Collector,
}

/// The kind of object that configures metrics collection in a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Collector {
    /// Prometheus with `ServiceMonitor` objects.
    ServiceMonitor,
    /// No known kind.
    Unknown,
}

impl<'a> OperatorMetrics<'a> {
    /// Returns the metrics of an operator, if it serves any.
    pub(crate) fn for_operator(operator: &'a Operator, collector: Collector) -> Option<Self> {
        let metrics = operator.metrics.as_ref();
        let metrics = metrics.filter(|metrics| metrics.enabled)?;
        Some(Self { metrics, collector })
    }

    fn scheme(&self) -> &'static str {
        match self.metrics.scheme {
            MetricsScheme::Https => "https",
            MetricsScheme::Http => "http",
        }
    }

    fn port(&self) -> u16 {
        let usual = match self.metrics.scheme {
            MetricsScheme::Https => 8443,
            MetricsScheme::Http => 8080,
        };
        self.metrics.port.unwrap_or(usual)
    }

    fn path(&self) -> &str {
        self.metrics.path.as_deref().unwrap_or("/metrics")
    }

    /// Returns the port of the operator's container.
    pub(crate) fn container_port(&self) -> Value {
        json!({ "name": self.scheme(), "containerPort": self.port(), "protocol": "TCP" })
    }

    /// Returns the flag with the metrics address, unless the arguments have one.
    pub(crate) fn argument(&self, given: &[String]) -> Option<String> {
        let told = given.iter().any(|argument| argument.starts_with(BIND));
        (!told).then(|| format!("{BIND}=:{}", self.port()))
    }

    /// Returns the role for authenticating and authorizing readers of the metrics; none without TLS.
    pub(crate) fn role(&self) -> Option<Value> {
        let review = |group, resource| json!({ "apiGroups": [group], "resources": [resource], "verbs": ["create"] });
        (self.metrics.scheme == MetricsScheme::Https).then(|| {
            json!({
                "kind": "ClusterRole",
                "metadata": { "name": "metrics-auth" },
                "rules": [
                    review("authentication.k8s.io", "tokenreviews"),
                    review("authorization.k8s.io", "subjectaccessreviews"),
                ],
            })
        })
    }

    /// Returns the Service for the operator's pods, which have the operator's name in the label `app`.
    pub(crate) fn service(&self, operator: &str, metadata: &Value) -> Value {
        let scheme = self.scheme();
        json!({
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": metadata,
            "spec": {
                "type": "ClusterIP",
                "selector": { "app": operator },
                "ports": [{ "name": scheme, "port": self.port(), "targetPort": scheme, "protocol": "TCP" }],
            },
        })
    }

    /// Returns the `ServiceMonitor` for that Service. The operator creates its own certificate, so Prometheus does not
    /// verify it.
    pub(crate) fn monitor(&self, operator: &str, mut metadata: Value) -> Option<Value> {
        if self.collector == Collector::Unknown {
            return None;
        }
        metadata["labels"][MONITOR] = json!("");
        let scheme = self.scheme();
        let mut endpoint = json!({ "port": scheme, "path": self.path(), "scheme": scheme });
        if self.metrics.scheme == MetricsScheme::Https {
            endpoint["tlsConfig"] = json!({ "insecureSkipVerify": true });
            endpoint["bearerTokenFile"] = json!(TOKEN);
        }
        Some(json!({
            "apiVersion": "monitoring.coreos.com/v1",
            "kind": "ServiceMonitor",
            "metadata": metadata,
            "spec": {
                "selector": { "matchLabels": { "app": operator } },
                "endpoints": [endpoint],
            },
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn metrics(text: Value) -> Metrics {
        serde_json::from_value(text).unwrap()
    }

    #[test]
    fn with_tls_the_operator_may_ask_who_reads() {
        let plain = metrics(json!({"enabled": true, "scheme": "http", "port": 9000, "path": "/m"}));
        let tls = metrics(json!({"enabled": true}));
        let of = |metrics| OperatorMetrics {
            metrics,
            collector: Collector::ServiceMonitor,
        };
        assert_eq!(of(&plain).role(), None);
        let role = of(&tls).role().unwrap();
        assert_eq!(role["rules"][0]["resources"], json!(["tokenreviews"]));
        let metadata = json!({"name": "o", "labels": {}});
        let plain = of(&plain).monitor("o", metadata.clone()).unwrap();
        let endpoint = json!({"port": "http", "path": "/m", "scheme": "http"});
        assert_eq!(plain["spec"]["endpoints"], json!([endpoint]));
        let tls = of(&tls).monitor("o", metadata).unwrap();
        let endpoint = &tls["spec"]["endpoints"][0];
        assert_eq!(
            (&endpoint["path"], &endpoint["bearerTokenFile"]),
            (&json!("/metrics"), &json!(TOKEN))
        );
        assert_eq!(tls["metadata"]["labels"], json!({ MONITOR: "" }));
    }

    #[test]
    fn an_operator_that_knows_where_to_serve_is_not_told_twice() {
        let tls = metrics(json!({"enabled": true}));
        let served = OperatorMetrics {
            metrics: &tls,
            collector: Collector::Unknown,
        };
        let told = |given: &str| served.argument(&[given.to_owned()]);
        assert_eq!(
            told("--v=1").as_deref(),
            Some("--metrics-bind-address=:8443")
        );
        assert_eq!(told("--metrics-bind-address=:1"), None);
        assert_eq!(served.monitor("o", json!({})), None);
    }
}
