// The reader of YAML that Helm and kubectl use, as a program that is asked about texts, and a module whose test data are such
// texts, every byte pinned by go.sum: tests/interop/program builds the one and unpacks the other.
module solution.invalid/tests/interop/tools/yaml

go 1.25

require (
	github.com/goccy/go-yaml v1.19.2
	helm.sh/helm/v4 v4.3.1
	sigs.k8s.io/yaml v1.6.0
)

require go.yaml.in/yaml/v2 v2.4.4
