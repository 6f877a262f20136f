// The custom resource definitions of the Prometheus operator, out of the Go module proxy, every byte pinned by go.sum.
module solution.invalid/tests/cluster/tools/monitoring

go 1.26.0

require github.com/prometheus-operator/prometheus-operator v0.85.0
