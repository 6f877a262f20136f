//! Referrers of a manifest, as a registry lists them ("Listing Referrers"). A registry without this list is not an
//! error: it keeps the referrers under a tag, which callers read like any other.
//!
//! Known attacks, and the code that stops each of them:
//!
//! - Endless lists and pages: [`limits::REFERRERS`], and [`limits::MANIFEST_BODY`] per page.
//! - A page that repeats: a page without a new digest is the last one.
//! - A next page at a different server: only the query of its address is used.
//! - False entries: only the digests are used, and callers verify each manifest that they read.

use std::collections::BTreeSet;

use bytes::Bytes;
use progress::ProgressSink;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderValue, LINK};
use reqwest::{Method, StatusCode, Url};
use schemas::{Digest, MediaType};
use serde::Deserialize;

use crate::address::RepositoryPath;
use crate::answer::bad;
use crate::auth::{TokenAccess, TokenScope};
use crate::client::Client;
use crate::error::{Error, Operation, RegistryVerb};
use crate::events::Event;
use crate::limits;
use crate::transport::OutgoingRequest;

#[derive(Deserialize)]
struct ReferrerPage {
    manifests: Option<Vec<ReferrerDescriptor>>,
}

#[derive(Deserialize)]
struct ReferrerDescriptor {
    digest: String,
}

impl Client {
    /// Returns the digests of the referrers of a manifest, or `None` if the registry does not have the list. Fails for
    /// digests of algorithms that archives do not use.
    pub async fn referrers(
        &self,
        repository: &RepositoryPath,
        subject: Digest,
        tell: ProgressSink<'_, Event>,
    ) -> Result<Option<BTreeSet<Digest>>, Error> {
        let operation = self.operation(RegistryVerb::ListReferrers(subject), Some(repository));
        let path = format!("{repository}/referrers/{subject}");
        let first = self.url(&operation, &path).await?;
        let scope = TokenScope::new(repository, TokenAccess::Pull);
        let mut all = BTreeSet::new();
        let mut url = first.clone();
        loop {
            let page = || self.referrers_page(&operation, url.clone(), &scope);
            let Some((body, next)) = self.retrying_aloud(page, tell).await? else {
                return Ok((!all.is_empty()).then_some(all));
            };
            let page: ReferrerPage = serde_json::from_slice(&body)
                .map_err(|_| bad(&operation, "its answer is not a list of referrers"))?;
            let known = all.len();
            for listed in page.manifests.unwrap_or_default() {
                let digest = listed.digest.parse();
                let digest = digest.map_err(|_| bad(&operation, "it lists an unknown digest"))?;
                all.insert(digest);
            }
            if all.len() > limits::REFERRERS {
                return Err(bad(&operation, "its list is too long"));
            }
            match next {
                Some(query) if all.len() > known => {
                    url = first.clone();
                    url.set_query(Some(&query));
                }
                _ => return Ok(Some(all)),
            }
        }
    }

    /// Reads one page and the query of the next one. Returns `None` if the registry does not have the list.
    async fn referrers_page(
        &self,
        operation: &Operation,
        url: Url,
        scope: &TokenScope,
    ) -> Result<Option<(Bytes, Option<String>)>, Error> {
        let here = url.clone();
        let mut ask = OutgoingRequest::new(Method::GET, url, scope.clone());
        let index = MediaType::OciIndex.as_str();
        ask.headers.insert(ACCEPT, HeaderValue::from_static(index));
        let answer = self.send(operation, ask).await?;
        if is_unknown(answer.status()) {
            answer.pass_over(operation).await;
            return Ok(None);
        }
        let answer = answer.success(operation).await?;
        let media_type = answer.header(CONTENT_TYPE.as_str()).unwrap_or_default();
        // Some servers answer unknown paths with an HTML page.
        if media_type.split(';').next().unwrap_or_default().trim() != index {
            answer.pass_over(operation).await;
            return Ok(None);
        }
        let next = answer.header(LINK.as_str());
        let next = next.and_then(|link| next_query(&here, link));
        let body = answer.body(operation, limits::MANIFEST_BODY).await?;
        Ok(Some((body, next)))
    }
}

/// Checks whether a registry without this list answered. The specification requires 404; other registries report an
/// error in the path or the type.
fn is_unknown(status: StatusCode) -> bool {
    [
        StatusCode::NOT_FOUND,
        StatusCode::BAD_REQUEST,
        StatusCode::METHOD_NOT_ALLOWED,
        StatusCode::NOT_ACCEPTABLE,
    ]
    .contains(&status)
}

/// Returns the query of `<ADDRESS>; rel="next"`.
fn next_query(here: &Url, link: &str) -> Option<String> {
    let (address, relation) = link.trim().strip_prefix('<')?.split_once('>')?;
    if address.len() > limits::LOCATION || !relation.contains("next") {
        return None;
    }
    let next = here.join(address).ok()?;
    next.query().map(ToOwned::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scripted;

    const INDEX: &str = "application/vnd.oci.image.index.v1+json";

    fn digest(number: usize) -> Digest {
        Digest::new(std::array::from_fn(|at| number.to_le_bytes()[at % 8]))
    }

    fn page(numbers: std::ops::Range<usize>) -> String {
        let entries = numbers.map(|number| format!(r#"{{"digest":"{}"}}"#, digest(number)));
        let entries: Vec<String> = entries.collect();
        format!(r#"{{"manifests":[{}]}}"#, entries.join(","))
    }

    async fn referrers(
        pages: Vec<(&str, String)>,
    ) -> (Result<Option<BTreeSet<Digest>>, Error>, Vec<String>) {
        let repository = "app".parse().unwrap();
        let pages = pages.into_iter();
        let pages = pages.map(|(head, body)| (head.to_owned(), body));
        let ask = async |client: Client| client.referrers(&repository, digest(0), &|_| ()).await;
        scripted::asked(pages.collect(), ask).await
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn the_next_page_is_never_asked_for_elsewhere() {
        let first = "200 OK\r\nContent-Type: application/vnd.oci.image.index.v1+json\r\nLink: <http://elsewhere.example/x?last=2&n=2>; rel=\"next\"";
        let last = "200 OK\r\nContent-Type: application/vnd.oci.image.index.v1+json; charset=utf-8";
        let (found, paths) = referrers(vec![(first, page(1..3)), (last, page(2..4))]).await;
        assert_eq!(found.unwrap().unwrap().len(), 3);
        let own = format!("/v2/app/referrers/{}", digest(0));
        assert_eq!(paths, [own.clone(), format!("{own}?last=2&n=2")]);
        // A page that repeats.
        let (found, paths) = referrers(vec![(first, page(1..3))]).await;
        assert_eq!((found.unwrap().unwrap().len(), paths.len()), (2, 2));
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_registry_without_the_list_has_none() {
        for head in [
            "404 Not Found",
            "400 Bad Request",
            "405 Method Not Allowed",
            "200 OK\r\nContent-Type: text/html",
        ] {
            let (found, _) = referrers(vec![(head, "{}".to_owned())]).await;
            assert!(found.unwrap().is_none(), "{head}");
        }
        let (found, _) = referrers(vec![("403 Forbidden", String::new())]).await;
        assert!(found.is_err());
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn hostile_lists_are_refused() {
        let head = &format!("200 OK\r\nContent-Type: {INDEX}");
        let empty = format!(r#"{{"schemaVersion":2,"mediaType":"{INDEX}","manifests":[]}}"#);
        let (found, _) = referrers(vec![(head, empty)]).await;
        assert_eq!(found.unwrap(), Some(BTreeSet::new()));
        let odd = r#"{"manifests":[{"digest":"sha512:00"}]}"#.to_owned();
        for body in [page(0..limits::REFERRERS + 1), odd, "<html>".to_owned()] {
            let (found, _) = referrers(vec![(head, body)]).await;
            assert!(matches!(found, Err(Error::BadAnswer(..))));
        }
    }
}
