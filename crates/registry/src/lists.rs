//! Lists of a registry: the tags of a repository and the repositories. Both are paged. The next page is requested by
//! the last name of the previous one, so no address from an answer is followed.
//!
//! Known attacks, and the code that stops each of them:
//!
//! - Endless pages: [`limits::LISTED`].
//! - A page that repeats: a page without a new name is the last one. In the list of repositories it is an error,
//!   because callers that delete content need the complete list.
//! - Names outside the grammar: they are skipped, because this program never creates such names.

use std::collections::BTreeSet;

use reqwest::Method;
use reqwest::header::LINK;
use schemas::Tag;
use serde::Deserialize;

use crate::address::RepositoryPath;
use crate::answer::bad;
use crate::auth::{TokenAccess, TokenScope};
use crate::client::Client;
use crate::error::{Error, Operation, RegistryVerb};
use crate::limits;
use crate::transport::OutgoingRequest;

/// One page of either list; the field of the other list is missing.
#[derive(Deserialize)]
struct NamePage {
    tags: Option<Vec<String>>,
    repositories: Option<Vec<String>>,
}

/// The reason why the list ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// The last page was reached.
    Reached,
    /// A page had no new name, although the registry announced more.
    Again,
}

impl Client {
    /// Returns the tags of a repository ("Listing Tags"), sorted. The list is empty if the repository does not exist.
    pub async fn tags(&self, repository: &RepositoryPath) -> Result<Vec<Tag>, Error> {
        let operation = self.operation(RegistryVerb::ListTags, Some(repository));
        let path = format!("{repository}/tags/list");
        let scope = TokenScope::new(repository, TokenAccess::Pull);
        let listed = self.pages(&operation, &path, &scope).await?;
        let names = listed.map(|(names, _)| names).unwrap_or_default();
        Ok(names.iter().filter_map(|name| name.parse().ok()).collect())
    }

    /// Returns the repositories of the registry that the login may see, sorted (distribution, "Catalog"; the OCI
    /// specification has no such list). Fails with [`Error::NoCatalog`] if the registry does not provide the list.
    pub async fn repositories(&self) -> Result<Vec<RepositoryPath>, Error> {
        let operation = self.operation(RegistryVerb::ListRepositories, None);
        let no_catalog = |source: Option<Error>| {
            Error::NoCatalog(Box::new(operation.clone()), source.map(Box::new))
        };
        let listed = self
            .pages(&operation, "_catalog", &TokenScope::catalog())
            .await;
        let listed = listed.map_err(|error| match error {
            Error::Denied(..) | Error::LoginRefused(..) | Error::Refused { .. } => {
                no_catalog(Some(error))
            }
            other => other,
        })?;
        let (names, end) = listed.ok_or_else(|| no_catalog(None))?;
        if end == End::Again {
            return Err(bad(&operation, "its list does not continue"));
        }
        Ok(names.iter().filter_map(|name| name.parse().ok()).collect())
    }

    /// Returns all names, or `None` if the list does not exist.
    async fn pages(
        &self,
        operation: &Operation,
        path: &str,
        scope: &TokenScope,
    ) -> Result<Option<(BTreeSet<String>, End)>, Error> {
        let mut all = BTreeSet::new();
        let mut last: Option<String> = None;
        loop {
            let page = || self.page(operation, path, scope, last.as_deref());
            let Some((names, more)) = self.retrying(page).await? else {
                return Ok(None);
            };
            let known = all.len();
            last = names.last().cloned();
            all.extend(names);
            if all.len() > limits::LISTED {
                return Err(bad(operation, "its list is too long"));
            }
            if !more || last.is_none() {
                return Ok(Some((all, End::Reached)));
            }
            if all.len() == known {
                return Ok(Some((all, End::Again)));
            }
        }
    }

    /// Returns the names after `last` and whether there are more, or `None` if the list does not exist.
    async fn page(
        &self,
        operation: &Operation,
        path: &str,
        scope: &TokenScope,
        last: Option<&str>,
    ) -> Result<Option<(Vec<String>, bool)>, Error> {
        let mut url = self.url(operation, path).await?;
        let mut query = url.query_pairs_mut();
        query.append_pair("n", &limits::PAGE.to_string());
        if let Some(last) = last {
            query.append_pair("last", last);
        }
        drop(query);
        let ask = OutgoingRequest::new(Method::GET, url, scope.clone());
        let answer = self.send(operation, ask).await?;
        let Some(answer) = answer.found(operation).await? else {
            return Ok(None);
        };
        let more = answer.header(LINK.as_str()).is_some();
        let body = answer.body(operation, limits::PAGE_BODY).await?;
        let page: NamePage = serde_json::from_slice(&body)
            .map_err(|_| bad(operation, "its answer is not a list of names"))?;
        // Registries answer `null` for a repository whose last tag was deleted.
        let names = page.tags.or(page.repositories).unwrap_or_default();
        Ok(Some((names, more)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scripted;

    /// Returns the head and body of a page; the head has a `Link` if another page follows.
    fn page((body, more): &(&str, bool)) -> (String, String) {
        let link = "\r\nLink: <http://elsewhere.example/>; rel=\"next\"";
        let head = format!("200 OK{}", if *more { link } else { "" });
        (head, (*body).to_owned())
    }

    async fn asked<T>(
        pages: &[(&str, bool)],
        ask: impl AsyncFnOnce(Client) -> T,
    ) -> (T, Vec<String>) {
        scripted::asked(pages.iter().map(page).collect(), ask).await
    }

    async fn tags(
        pages: &'static [(&'static str, bool)],
    ) -> (Result<Vec<Tag>, Error>, Vec<String>) {
        let app = "app".parse().unwrap();
        asked(pages, async |client| client.tags(&app).await).await
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn the_next_page_is_asked_for_by_the_last_name() {
        let pages: &[_] = &[
            (r#"{"name":"app","tags":["b","a"]}"#, true),
            (r#"{"name":"app","tags":["c","not a tag"]}"#, false),
        ];
        let (found, paths) = tags(pages).await;
        let found: Vec<String> = found.unwrap().iter().map(ToString::to_string).collect();
        assert_eq!(found, ["a", "b", "c"]);
        let expected = [
            "/v2/app/tags/list?n=1000",
            "/v2/app/tags/list?n=1000&last=a",
        ];
        assert_eq!(paths, expected);
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_list_of_repositories_is_whole_or_an_error() {
        let list = async |client: Client| client.repositories().await;
        let whole: &[_] = &[
            (r#"{"repositories":["b/a","a"]}"#, true),
            (r#"{"repositories":["c","Not one"]}"#, true),
            (r#"{"repositories":[]}"#, true),
        ];
        let (found, paths) = asked(whole, list).await;
        let found: Vec<String> = found.unwrap().iter().map(ToString::to_string).collect();
        assert_eq!(
            (found, paths.len()),
            (["a", "b/a", "c"].map(String::from).into(), 3)
        );
        let (found, _) = asked(&[(r#"{"repositories":["a"]}"#, true)], list).await;
        assert!(matches!(found, Err(Error::BadAnswer(..))), "{found:?}");
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_page_that_comes_again_is_the_last() {
        let (found, paths) = tags(&[(r#"{"tags":["a"]}"#, true)]).await;
        assert_eq!((found.unwrap().len(), paths.len()), (1, 2));
        let (found, _) = tags(&[(r#"{"tags":null}"#, false)]).await;
        assert_eq!(found.unwrap(), []);
        let (found, _) = tags(&[("<html>", false)]).await;
        assert!(matches!(found, Err(Error::BadAnswer(..))));
    }
}
