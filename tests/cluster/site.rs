//! A site: the cluster and the registry that the sandbox's variables name, and a desk to work at.

use std::process::Command;
use std::time::{Duration, Instant};

use fixtures::example::{Programs, Release};

use crate::common::{Answer, Desk, programs};

/// How long anything may take that the test waits for.
const DEADLINE: Duration = Duration::from_secs(90);

/// A site, and the archives of the example in both versions.
pub(crate) struct Site {
    pub(crate) desk: Desk,
    /// Keeps the repositories of one test apart from those of others.
    prefix: &'static str,
}

impl Site {
    /// A desk with `1.0.0.iso` and `1.1.0.iso`, signed with `publisher`.
    pub(crate) fn new(prefix: &'static str) -> Self {
        let desk = Desk::with_key();
        let program = |name: &str| {
            let path = programs().join(name);
            assert!(
                path.exists(),
                "{} is missing: `cargo build -p {name}`",
                path.display()
            );
            path
        };
        let programs =
            Programs::read(&program("example-operator"), &program("example-server")).unwrap();
        for release in Release::ALL {
            let version = release.to_string();
            desk.write_example(&programs, release, &version);
            let archive = format!("{version}.iso");
            desk.solution(&["pack", &version, "-o", &archive, "--key", "publisher.key"])
                .success();
        }
        let site = Self { desk, prefix };
        site.forget_signers();
        site
    }

    /// Each test has a publisher of its own, and so is a site that has seen nobody's signature yet.
    pub(crate) fn forget_signers(&self) {
        let memory = [
            "delete",
            "configmap",
            "solution-signers",
            "--ignore-not-found",
        ];
        self.kubectl("metalk8s-solutions", &memory).success();
    }

    /// `HOST/PREFIX` as the importer knows the registry.
    pub(crate) fn registry(&self) -> String {
        format!(
            "{}/{}",
            variable("SOLUTION_TEST_PUSH_REGISTRY"),
            self.prefix
        )
    }

    /// `HOST/PREFIX` as nodes know it.
    pub(crate) fn pull_registry(&self) -> String {
        format!(
            "{}/{}",
            variable("SOLUTION_TEST_PULL_REGISTRY"),
            self.prefix
        )
    }

    /// The program, with the site's cluster and login.
    pub(crate) fn command(&self) -> Command {
        let mut command = self.desk.command();
        for name in ["KUBECONFIG", "REGISTRY_AUTH_FILE", "PATH"] {
            command.env(name, variable(name));
        }
        command
    }

    /// Runs a verb that needs the cluster.
    pub(crate) fn solution(&self, arguments: &[&str]) -> Answer {
        Answer::of(self.command().args(arguments))
    }

    /// Imports an archive, with these further arguments.
    pub(crate) fn import(&self, archive: &str, more: &[&str]) -> Answer {
        Answer::of(&mut self.import_command(archive, more))
    }

    /// The command of [`Self::import`].
    pub(crate) fn import_command(&self, archive: &str, more: &[&str]) -> Command {
        let mut command = self.command();
        command.args(["import", archive, "--key", "publisher.pub"]);
        command.args([
            "--registry",
            &self.registry(),
            "--pull-registry",
            &self.pull_registry(),
        ]);
        command
            .args(["--ca-file", &variable("SOLUTION_TEST_REGISTRY_CA")])
            .args(more);
        command
    }

    /// Makes an environment whose nodes can log in to the registry.
    pub(crate) fn environment(&self, name: &str) {
        self.solution(&["environment", "create", name]).success();
        let login = format!(
            "--from-file=.dockerconfigjson={}",
            variable("SOLUTION_TEST_PULL_SECRET")
        );
        let secret = [
            "create",
            "secret",
            "generic",
            "login",
            "--type=kubernetes.io/dockerconfigjson",
            &login,
        ];
        self.kubectl(name, &secret).success();
    }

    /// Runs kubectl in a namespace.
    pub(crate) fn kubectl(&self, namespace: &str, arguments: &[&str]) -> Answer {
        Answer::of(
            Command::new("kubectl")
                .args(["--namespace", namespace])
                .args(arguments)
                .current_dir(self.desk.path(".")),
        )
    }

    /// A field of an object, by kubectl's JSONPath.
    pub(crate) fn field(&self, namespace: &str, object: &str, path: &str) -> String {
        let output = format!("--output=jsonpath={path}");
        self.kubectl(namespace, &["get", object, &output]).success()
    }

    /// Asks the registry for a tag's digest; none when it has no such tag.
    pub(crate) fn tag(&self, repository: &str, tag: &str) -> Option<String> {
        let certificates = std::path::PathBuf::from(variable("SOLUTION_TEST_REGISTRY_CA"));
        let answer = Answer::of(
            Command::new("skopeo")
                .args(["inspect", "--format", "{{.Digest}}", "--cert-dir"])
                .arg(certificates.parent().unwrap())
                .arg(format!("docker://{}/{repository}:{tag}", self.registry())),
        );
        (answer.code == 0).then(|| answer.stdout.trim().to_owned())
    }

    /// A kubeconfig of a ServiceAccount of the namespace `default`.
    pub(crate) fn account(&self, name: &str) -> String {
        let kubectl = |arguments: &[&str]| self.kubectl("default", arguments).success();
        let token = kubectl(&["create", "token", name]);
        let config = self.desk.path(&format!("{name}.kubeconfig"));
        std::fs::copy(variable("KUBECONFIG"), &config).unwrap();
        let flag = format!("--kubeconfig={}", config.display());
        kubectl(&[
            &flag,
            "config",
            "set-credentials",
            name,
            &format!("--token={}", token.trim()),
        ]);
        kubectl(&[
            &flag,
            "config",
            "set-context",
            "--current",
            &format!("--user={name}"),
        ]);
        config.to_str().unwrap().to_owned()
    }

    /// Every object that the program keeps, and every marked namespace: what must not change when a command says so.
    pub(crate) fn snapshot(&self) -> String {
        let kinds = "configmaps,serviceaccounts,roles,rolebindings,clusterroles,clusterrolebindings,deployments,namespaces,customresourcedefinitions";
        let fields = "--output=custom-columns=K:.kind,NS:.metadata.namespace,N:.metadata.name,V:.metadata.resourceVersion";
        let all = self
            .kubectl(
                "default",
                &["get", kinds, "--all-namespaces", "--no-headers", fields],
            )
            .success();
        // What is Kubernetes' own lives its own life.
        all.lines()
            .filter(|line| !line.contains(" kube-") && !line.contains(" system:"))
            .collect::<Vec<_>>()
            .join("\n")
    }
}

/// A variable of the sandbox.
#[expect(
    clippy::disallowed_methods,
    reason = "the sandbox tells the tests where things are by its environment"
)]
pub(crate) fn variable(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| panic!("{name} is not set: run `make test-cluster`"))
}

/// Waits until something is there.
#[track_caller]
pub(crate) fn eventually<T>(what: &str, mut probe: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + DEADLINE;
    loop {
        if let Some(found) = probe() {
            return found;
        }
        assert!(Instant::now() < end, "not in time: {what}");
        // Between two questions, so that the answer's author gets the processor.
        std::thread::park_timeout(Duration::from_millis(200));
    }
}
