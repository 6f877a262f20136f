//! The configuration files of container runtimes for mirrors ([`Format`]). All texts in them have a checked grammar
//! without quotes or control characters, so no escaping is required.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use registry::{PlainHttp, RegistryAddress};
use schemars::JsonSchema;
use schemas::yaml;
use serde::Serialize;
use serde_json::{Value, json};

use crate::blocker::{MirrorBlocker, RegistryBlocker};

/// The container runtime that nodes run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// containerd 1.5 or newer: `hosts.toml` (containerd's docs/hosts.md).
    Containerd,
    /// k3s and RKE2: `registries.yaml` (docs.k3s.io, "Private Registry Configuration").
    K3s,
    /// CRI-O and podman: a drop-in for `registries.conf` (containers-registries.conf(5)).
    Crio,
    /// `OpenShift` 4.13 or newer: objects of config.openshift.io/v1.
    Openshift,
}

/// A file for nodes or another tool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct NodeFile {
    /// The path of the file on every node; missing if the file has no fixed path.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The content of the file.
    pub text: String,
}

impl NodeFile {
    /// Returns the lines for display: the path as a comment, then the content.
    pub fn lines(&self) -> impl Iterator<Item = String> {
        let path = self.path.iter().map(|path| format!("# {path}"));
        path.chain(self.text.lines().map(str::to_owned))
    }

    /// Returns a file with a fixed path on every node.
    pub fn new(path: impl Into<String>, text: impl Into<String>) -> Self {
        Self {
            path: Some(path.into()),
            text: text.into(),
        }
    }
}

/// The mirror of a registry or of one of its repositories in a site's registry.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct MirrorPlace {
    pub(crate) registry: RegistryAddress,
    /// The path, prefix included; `None` for the root of the registry.
    pub(crate) path: Option<String>,
}

/// The mirrors to be configured on nodes, and the properties of the connection.
pub(crate) struct NodeMirrors<'a> {
    pub(crate) sources: &'a BTreeMap<String, BTreeSet<MirrorPlace>>,
    pub(crate) plain: PlainHttp,
    pub(crate) ca: Option<&'a str>,
}

impl NodeMirrors<'_> {
    pub(crate) fn files(&self, format: Format) -> Result<Vec<NodeFile>, RegistryBlocker> {
        if self.sources.is_empty() {
            return Ok(Vec::new());
        }
        match format {
            Format::Containerd => self.containerd(),
            Format::K3s => self.k3s(),
            Format::Crio => Ok(self.crio()),
            Format::Openshift => Ok(self.openshift()),
        }
    }

    /// Returns the `hosts.toml` files of containerd. `override_path` makes the path in the URL the prefix of the names,
    /// which are not changed otherwise. Without `server`, the original registry is tried last.
    fn containerd(&self) -> Result<Vec<NodeFile>, RegistryBlocker> {
        let flat = self.sources.keys().filter(|source| source.contains('/'));
        let sources: Vec<String> = flat.cloned().collect();
        if !sources.is_empty() {
            return Err(MirrorBlocker::FlatNames { sources }.into());
        }
        let mut files = Vec::new();
        for (source, places) in self.sources {
            let directory = format!("/etc/containerd/certs.d/{source}");
            let mut text = String::new();
            for place in places {
                let url = self.url(&place.registry);
                let path = place.path.as_ref();
                let path = path.map(|path| format!("/{path}")).unwrap_or_default();
                let _ = write!(
                    text,
                    "[host.\"{url}/v2{path}\"]\n  capabilities = [\"pull\", \"resolve\"]\n  override_path = true\n"
                );
                if self.ca.is_some() {
                    // In the same directory as this file.
                    text.push_str("  ca = \"site-ca.crt\"\n");
                }
            }
            files.push(NodeFile::new(format!("{directory}/hosts.toml"), text));
            let ca = self.ca.iter();
            files.extend(ca.map(|ca| NodeFile::new(format!("{directory}/site-ca.crt"), *ca)));
        }
        Ok(files)
    }

    /// Returns the file of k3s. It supports one rewrite rule per registry, which must be right for all endpoints.
    fn k3s(&self) -> Result<Vec<NodeFile>, RegistryBlocker> {
        const CA: &str = "/etc/rancher/k3s/site-ca.crt";
        let mut mirrors: BTreeMap<&str, Value> = BTreeMap::new();
        for (host, sources) in self.by_host() {
            let is_one = sources.iter().all(|(_, places)| {
                let paths: BTreeSet<_> = places.iter().map(|place| &place.path).collect();
                paths.len() == 1
            });
            let is_whole = |(repository, _): &SourceAt<'_>| repository.is_none();
            let places = || sources.iter().flat_map(|(_, places)| places.iter());
            // A rule for the entire host also matches the names of its repositories, so it excludes further rules.
            if !is_one || sources.len() > 1 && sources.iter().any(is_whole) {
                let all: BTreeSet<String> =
                    places().map(|place| place.registry.to_string()).collect();
                let several = MirrorBlocker::SeveralPrefixes {
                    host: host.to_owned(),
                    places: all.into_iter().collect(),
                };
                return Err(several.into());
            }
            let endpoints: BTreeSet<String> =
                places().map(|place| self.url(&place.registry)).collect();
            let mut mirror = json!({ "endpoint": endpoints });
            for (repository, places) in &sources {
                let path = places.first().and_then(|place| place.path.as_ref());
                match (repository, path) {
                    (None, Some(path)) => {
                        mirror["rewrite"]["^(.*)$"] = json!(format!("{path}/$1"));
                    }
                    (Some(repository), Some(path)) => {
                        let pattern = repository.replace('.', "\\.");
                        mirror["rewrite"][format!("^{pattern}$")] = json!(path);
                    }
                    (_, None) => {}
                }
            }
            mirrors.insert(host, mirror);
        }
        let mut document = json!({ "mirrors": mirrors });
        let mut files = Vec::new();
        if let Some(ca) = self.ca {
            for host in self.hosts() {
                document["configs"][host] = json!({ "tls": { "ca_file": CA } });
            }
            files.push(NodeFile::new(CA, ca));
        }
        let text = yaml::to_string(&document);
        files.insert(0, NodeFile::new("/etc/rancher/k3s/registries.yaml", text));
        Ok(files)
    }

    fn crio(&self) -> Vec<NodeFile> {
        let mut text = String::new();
        for (source, places) in self.sources {
            let _ = write!(
                text,
                "[[registry]]\nprefix = \"{source}\"\nlocation = \"{source}\"\n"
            );
            for place in places {
                let location = place.location();
                let _ = write!(text, "[[registry.mirror]]\nlocation = \"{location}\"\n");
                if self.is_plain(&place.registry) {
                    text.push_str("insecure = true\n");
                }
            }
        }
        let mut files = vec![NodeFile::new(
            "/etc/containers/registries.conf.d/50-solution.conf",
            text,
        )];
        if let Some(ca) = self.ca {
            let path = |host| format!("/etc/containers/certs.d/{host}/ca.crt");
            files.extend(
                self.hosts()
                    .into_iter()
                    .map(|host| NodeFile::new(path(host), ca)),
            );
        }
        files
    }

    /// `OpenShift` has separate kinds of objects for pulls by digest and by tag.
    fn openshift(&self) -> Vec<NodeFile> {
        let mirrors: Vec<Value> = self
            .sources
            .iter()
            .map(|(source, places)| {
                let mirrors = places.iter().map(MirrorPlace::location);
                json!({ "source": source, "mirrors": mirrors.collect::<Vec<_>>() })
            })
            .collect();
        let kinds = [
            ("ImageDigestMirrorSet", "imageDigestMirrors"),
            ("ImageTagMirrorSet", "imageTagMirrors"),
        ];
        let texts = kinds.map(|(kind, field)| {
            yaml::to_string(&json!({
                "apiVersion": "config.openshift.io/v1",
                "kind": kind,
                "metadata": { "name": "solution" },
                "spec": { field: mirrors },
            }))
        });
        vec![NodeFile {
            path: None,
            text: texts.join("---\n"),
        }]
    }

    /// Returns the hosts of the site's registries, each once.
    fn hosts(&self) -> BTreeSet<&str> {
        self.sources
            .values()
            .flatten()
            .map(|place| place.registry.host())
            .collect()
    }

    fn url(&self, registry: &RegistryAddress) -> String {
        let scheme = if self.is_plain(registry) {
            "http"
        } else {
            "https"
        };
        format!("{scheme}://{}", registry.host())
    }

    fn is_plain(&self, registry: &RegistryAddress) -> bool {
        match self.plain {
            PlainHttp::Always => true,
            PlainHttp::Loopback => registry.is_loopback(),
            PlainHttp::Never => false,
        }
    }

    /// Groups the sources by host: entire registries, and single repositories.
    fn by_host(&self) -> BTreeMap<&str, Vec<SourceAt<'_>>> {
        let mut hosts: BTreeMap<&str, Vec<SourceAt<'_>>> = BTreeMap::new();
        for (source, places) in self.sources {
            let (host, repository) = match source.split_once('/') {
                Some((host, repository)) => (host, Some(repository)),
                None => (source.as_str(), None),
            };
            hosts.entry(host).or_default().push((repository, places));
        }
        hosts
    }
}

/// A repository of a source, or `None` for the entire registry, with its mirrors.
type SourceAt<'a> = (Option<&'a str>, &'a BTreeSet<MirrorPlace>);

impl MirrorPlace {
    fn location(&self) -> String {
        let host = self.registry.host();
        let path = self.path.as_ref();
        path.map_or_else(|| host.to_owned(), |path| format!("{host}/{path}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns mirrors of these sources below the prefixes of registries.
    fn sources(all: &[(&str, &[&str])]) -> BTreeMap<String, BTreeSet<MirrorPlace>> {
        let place = |source: &str, at: &str| {
            let registry: RegistryAddress = at.parse().unwrap();
            let path = registry.repository(&format!("mirror/{source}")).unwrap();
            let path = Some(path.to_string());
            MirrorPlace { registry, path }
        };
        all.iter()
            .map(|(source, of)| {
                let places = of.iter().map(|at| place(source, at)).collect();
                ((*source).to_owned(), places)
            })
            .collect()
    }

    fn files(format: Format, ca: Option<&str>) -> Vec<NodeFile> {
        let nodes = NodeMirrors {
            sources: &sources(&[("quay.io", &["r.test:5000/apps"])]),
            plain: PlainHttp::Never,
            ca,
        };
        nodes.files(format).unwrap()
    }

    #[test]
    fn containerd_keeps_the_path_of_a_name_below_that_of_the_host() {
        let text = "[host.\"https://r.test:5000/v2/apps/mirror/quay.io\"]\n  capabilities = [\"pull\", \"resolve\"]\n  override_path = true\n";
        let hosts = "/etc/containerd/certs.d/quay.io/hosts.toml";
        assert_eq!(
            files(Format::Containerd, None),
            [NodeFile::new(hosts, text)]
        );
        let with_ca = format!("{text}  ca = \"site-ca.crt\"\n");
        let ca = "/etc/containerd/certs.d/quay.io/site-ca.crt";
        assert_eq!(
            files(Format::Containerd, Some("PEM\n")),
            [NodeFile::new(hosts, with_ca), NodeFile::new(ca, "PEM\n")]
        );
    }

    #[test]
    fn k3s_rewrites_names() {
        let text = &files(Format::K3s, Some("PEM\n"))[0].text;
        let read: Value = yaml::from_slice(text.as_bytes()).unwrap();
        let expected = json!({
            "mirrors": { "quay.io": {
                "endpoint": ["https://r.test:5000"],
                "rewrite": { "^(.*)$": "apps/mirror/quay.io/$1" },
            } },
            "configs": { "r.test:5000": { "tls": { "ca_file": "/etc/rancher/k3s/site-ca.crt" } } },
        });
        assert_eq!(read, expected);
    }

    #[test]
    fn k3s_cannot_rewrite_one_name_in_two_ways() {
        let nodes = |registries| NodeMirrors {
            sources: registries,
            plain: PlainHttp::Never,
            ca: None,
        };
        let same = sources(&[("quay.io", &["a.test/apps", "b.test/apps"])]);
        assert!(nodes(&same).files(Format::K3s).is_ok());
        let other = sources(&[("quay.io", &["a.test/apps", "a.test/more"])]);
        let refused = nodes(&other).files(Format::K3s).unwrap_err();
        let several = MirrorBlocker::SeveralPrefixes {
            host: "quay.io".to_owned(),
            places: ["a.test/apps", "a.test/more"].map(str::to_owned).into(),
        };
        assert_eq!(refused, several.into());
        for format in [Format::Containerd, Format::Crio, Format::Openshift] {
            assert!(nodes(&other).files(format).is_ok(), "{format:?}");
        }
    }

    #[test]
    fn images_of_a_flat_layout_are_told_one_by_one_but_to_containerd() {
        let place = |path: &str| MirrorPlace {
            registry: "r.test".parse().unwrap(),
            path: Some(path.to_owned()),
        };
        let flat = |all: &[(&str, &str)]| -> BTreeMap<String, BTreeSet<MirrorPlace>> {
            let sources = all.iter();
            let sources =
                sources.map(|(source, path)| ((*source).to_owned(), [place(path)].into()));
            sources.collect()
        };
        let two = [
            ("quay.io/org/app.x", "apps/a-1"),
            ("quay.io/org/db", "apps/b-2"),
        ];
        let two = flat(&two);
        let files = |sources, format| {
            let nodes = NodeMirrors {
                sources,
                plain: PlainHttp::Never,
                ca: None,
            };
            nodes.files(format)
        };
        let text = |format| files(&two, format).unwrap().remove(0).text;
        let k3s: Value = yaml::from_slice(text(Format::K3s).as_bytes()).unwrap();
        let expected = json!({
            "endpoint": ["https://r.test"],
            "rewrite": { "^org/app\\.x$": "apps/a-1", "^org/db$": "apps/b-2" },
        });
        assert_eq!(k3s["mirrors"]["quay.io"], expected);
        let entry = "prefix = \"quay.io/org/db\"\nlocation = \"quay.io/org/db\"\n[[registry.mirror]]\nlocation = \"r.test/apps/b-2\"\n";
        assert!(text(Format::Crio).contains(entry));
        let entry = json!({ "source": "quay.io/org/db", "mirrors": ["r.test/apps/b-2"] });
        let openshift = yaml::documents(text(Format::Openshift).as_bytes()).unwrap();
        assert_eq!(openshift[1]["spec"]["imageTagMirrors"][1], entry);
        let refused = files(&two, Format::Containerd).unwrap_err();
        assert!(refused.to_string().contains("quay.io/org/db"), "{refused}");

        // If an entire registry is rewritten, its repositories cannot be.
        let both = flat(&[
            ("quay.io", "apps/mirror/quay.io"),
            ("quay.io/org/db", "apps/b-2"),
        ]);
        assert!(files(&both, Format::K3s).is_err());
        assert!(files(&both, Format::Crio).is_ok());
    }

    #[test]
    fn crio_replaces_the_prefix_of_a_name() {
        let expected = "[[registry]]\nprefix = \"quay.io\"\nlocation = \"quay.io\"\n[[registry.mirror]]\nlocation = \"r.test:5000/apps/mirror/quay.io\"\n";
        let found = files(Format::Crio, Some("PEM\n"));
        assert_eq!(found[0].text, expected);
        let ca = "/etc/containers/certs.d/r.test:5000/ca.crt";
        assert_eq!(found[1], NodeFile::new(ca, "PEM\n"));
    }

    #[test]
    fn openshift_has_one_object_for_digests_and_one_for_tags() {
        let found = files(Format::Openshift, None);
        let documents = yaml::documents(found[0].text.as_bytes()).unwrap();
        let mirrors =
            json!([{ "source": "quay.io", "mirrors": ["r.test:5000/apps/mirror/quay.io"] }]);
        assert_eq!(documents.len(), 2);
        assert_eq!(documents[0]["spec"]["imageDigestMirrors"], mirrors);
        assert_eq!(documents[1]["spec"]["imageTagMirrors"], mirrors);
        assert_eq!(documents[1]["kind"], "ImageTagMirrorSet");
    }

    #[test]
    fn a_registry_without_tls_is_asked_without() {
        let sources = sources(&[("quay.io", &["localhost:5000", "r.test"])]);
        let of = |plain| {
            let nodes = NodeMirrors {
                sources: &sources,
                plain,
                ca: None,
            };
            let files = nodes.files(Format::Containerd).unwrap();
            let schemes = ["http://", "https://"];
            schemes.map(|scheme| files[0].text.matches(scheme).count())
        };
        assert_eq!(of(PlainHttp::Never), [0, 2]);
        assert_eq!(of(PlainHttp::Loopback), [1, 1]);
        assert_eq!(of(PlainHttp::Always), [2, 0]);
    }
}
