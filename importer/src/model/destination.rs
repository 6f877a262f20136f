//! The destination of images: [`PushDestination`], from the request or from the site configuration.

use std::collections::BTreeSet;

use registry::RegistryAddress;
use shelf::Missing;

use crate::model::request::LeftOpen;
use crate::model::site::{HeldSite, SiteFile};

/// A registry that was given for images.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedRegistry {
    /// The address.
    pub address: RegistryAddress,
    /// The treatment of images that it does not have.
    pub missing: Missing,
}

/// The destination of images, from the request or from the site configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PushDestination {
    /// The registry that images are pushed to.
    pub registry: RegistryAddress,
    /// The treatment of images that the registry does not have.
    pub missing: Missing,
    /// The registry that nodes pull images from, if they use another address.
    pub pull_registry: Option<RegistryAddress>,
    /// The fields that the request leaves open and the site configuration sets.
    pub from_site: BTreeSet<LeftOpen>,
}

impl PushDestination {
    /// Returns the destination with these site files, without a cluster; `None` if no registry is set.
    #[must_use]
    pub fn of_files(registry: Option<RegistryAddress>, files: &[SiteFile]) -> Option<Self> {
        let missing = Missing::Push;
        let named = registry.map(|address| NamedRegistry { address, missing });
        Self::of(named, None, &HeldSite::of(files.to_vec()))
    }

    /// Returns the destination; `None` if neither the request nor the site configuration sets a registry.
    #[must_use]
    pub fn of(
        named: Option<NamedRegistry>,
        pull_registry: Option<RegistryAddress>,
        site: &HeldSite,
    ) -> Option<Self> {
        let mut from_site = BTreeSet::new();
        let registry = named.or_else(|| {
            let address = site.registry()?.clone();
            from_site.insert(LeftOpen::Registry);
            let missing = Missing::Push;
            Some(NamedRegistry { address, missing })
        })?;
        let pull_registry = pull_registry.or_else(|| {
            // The site's pull registry is another address of the site's registry only.
            let is_sites = site.registry() == Some(&registry.address);
            let known_as = site.pull_registry().filter(|_| is_sites)?;
            from_site.insert(LeftOpen::PullRegistry);
            Some(known_as.clone())
        });
        Some(Self {
            registry: registry.address,
            missing: registry.missing,
            pull_registry,
            from_site,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::site::tests::held;

    fn address(text: &str) -> RegistryAddress {
        text.parse().unwrap()
    }

    /// Returns the destination as `REGISTRY PULL-REGISTRY`, with a mark at each that is from the site configuration.
    fn destination(named: Option<&str>, pull: Option<&str>, site: &str) -> Option<String> {
        let named = named.map(|text| NamedRegistry {
            address: address(text),
            missing: Missing::Refuse,
        });
        let is_named = named.is_some();
        let site = held(site, "{}");
        let found = PushDestination::of(named, pull.map(address), &site)?;
        // Only a registry that was given can be one without push access.
        assert_eq!(found.missing == Missing::Refuse, is_named);
        let marked = |what: LeftOpen, address: &RegistryAddress| {
            let mark = if found.from_site.contains(&what) {
                "*"
            } else {
                ""
            };
            format!("{address}{mark}")
        };
        let registry = marked(LeftOpen::Registry, &found.registry);
        let pull = found.pull_registry.as_ref();
        let pull = pull.map(|pull| marked(LeftOpen::PullRegistry, pull));
        Some(
            format!("{registry} {}", pull.unwrap_or_default())
                .trim_end()
                .to_owned(),
        )
    }

    #[test]
    fn what_was_named_counts_and_the_site_names_what_was_left_open_of_its_own_registry() {
        let site = "{registry: site.test/a, pullRegistry: nodes.test/a}";
        for (named, pull, site, expected) in [
            (None, None, "{}", None),
            (None, Some("n.test"), "{}", None),
            (Some("r.test"), None, "{}", Some("r.test")),
            (Some("r.test"), Some("n.test"), "{}", Some("r.test n.test")),
            (None, None, site, Some("site.test/a* nodes.test/a*")),
            (None, Some("n.test"), site, Some("site.test/a* n.test")),
            (None, None, "{registry: site.test/a}", Some("site.test/a*")),
            (Some("r.test"), None, site, Some("r.test")),
            (Some("site.test/b"), None, site, Some("site.test/b")),
            (
                Some("site.test/a"),
                None,
                site,
                Some("site.test/a nodes.test/a*"),
            ),
            (
                Some("r.test"),
                None,
                "{pullRegistry: nodes.test}",
                Some("r.test"),
            ),
        ] {
            let found = destination(named, pull, site);
            assert_eq!(found.as_deref(), expected, "{named:?}, {pull:?}, {site}");
        }
    }
}
