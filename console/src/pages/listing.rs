//! Long tables: a filter and pages of rows, both in the address, so that they can be shared and need no script.

use maud::{Markup, html};

use crate::forms::Form;
use crate::texts;

/// The rows on one page.
const ROWS: usize = 50;
/// The field of the filter.
const FILTER: &str = "filter";
/// The field of the page.
const PAGE: &str = "page";

/// The rows of one page of a table.
#[derive(Debug)]
pub(super) struct Listing<T> {
    pub(super) rows: Vec<T>,
    /// The path of the table.
    path: &'static str,
    filter: String,
    /// The number of the page, from 1.
    page: usize,
    /// The number of rows that match the filter.
    matching: usize,
    /// The number of all rows.
    all: usize,
}

impl<T> Listing<T> {
    /// Selects the rows for a request. A row matches if its text contains the filter.
    pub(super) fn of(
        path: &'static str,
        query: &Form,
        rows: Vec<T>,
        text: impl Fn(&T) -> String,
    ) -> Self {
        let filter = query.text(FILTER).unwrap_or_default().to_owned();
        let all = rows.len();
        let is_match = |row: &T| filter.is_empty() || text(row).contains(&filter);
        let rows: Vec<T> = rows.into_iter().filter(is_match).collect();
        let matching = rows.len();
        let last = matching.div_ceil(ROWS).max(1);
        let page = query.text(PAGE).and_then(|page| page.parse().ok());
        let page = page.unwrap_or(1_usize).clamp(1, last);
        let rows = rows.into_iter().skip((page - 1) * ROWS).take(ROWS);
        Self {
            rows: rows.collect(),
            path,
            filter,
            page,
            matching,
            all,
        }
    }

    /// Returns true if there are no rows, whatever the filter is.
    pub(super) fn is_empty(&self) -> bool {
        self.all == 0
    }

    /// Returns the form of the filter. Short tables have none.
    pub(super) fn filter_form(&self) -> Markup {
        html! {
            @if self.all > ROWS || !self.filter.is_empty() {
                form.inline role="search" action=(self.path) {
                    div.field {
                        label for=(FILTER) { (texts::FILTER) }
                        input id=(FILTER) name=(FILTER) value=(self.filter) type="search";
                    }
                    button { (texts::APPLY_FILTER) }
                }
            }
        }
    }

    /// Returns the position in the table, with links to the pages before and after.
    pub(super) fn pages(&self) -> Markup {
        let first = (self.page - 1) * ROWS;
        let last = first + self.rows.len();
        html! {
            @if self.matching != self.all || self.matching > ROWS {
                nav.pages aria-label=(texts::TABLE_PAGES) {
                    @if self.page > 1 { a rel="prev" href=(self.link(self.page - 1)) { (texts::PREVIOUS_PAGE) } " " }
                    (texts::rows(first + 1, last, self.matching))
                    @if last < self.matching { " " a rel="next" href=(self.link(self.page + 1)) { (texts::NEXT_PAGE) } }
                }
            }
        }
    }

    fn link(&self, page: usize) -> String {
        let mut query = form_urlencoded::Serializer::new(String::new());
        if !self.filter.is_empty() {
            query.append_pair(FILTER, &self.filter);
        }
        query.append_pair(PAGE, &page.to_string());
        format!("{}?{}", self.path, query.finish())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listing(query: &str, rows: &[&'static str]) -> Listing<&'static str> {
        let query = Form::parse(query.as_bytes()).unwrap();
        Listing::of("/rows", &query, rows.to_vec(), |row| (*row).to_owned())
    }

    #[test]
    fn a_short_table_has_no_filter_and_no_pages() {
        let found = listing("", &["a", "b"]);
        assert_eq!(found.rows, ["a", "b"]);
        assert_eq!(
            found.filter_form().into_string() + &found.pages().into_string(),
            ""
        );
        assert!(!found.is_empty() && listing("", &[]).is_empty());
    }

    #[test]
    fn a_long_table_is_filtered_and_shown_in_pages() {
        let rows: Vec<&str> = [["a"; 60], ["b&c"; 60]].concat();
        let found = listing("page=2", &rows);
        assert_eq!(found.rows, [&["a"; 10][..], &["b&c"; 40]].concat());
        let pages = found.pages().into_string();
        for part in [
            "51–100 of 120",
            r#"href="/rows?page=1""#,
            r#"href="/rows?page=3""#,
        ] {
            assert!(pages.contains(part), "`{part}` is not in: {pages}");
        }
        let found = listing("filter=b%26&page=9", &rows);
        assert_eq!(found.rows, ["b&c"; 10], "the last page is shown");
        let pages = found.pages().into_string();
        assert!(pages.contains("51–60 of 60"), "{pages}");
        assert!(
            pages.contains(r#"href="/rows?filter=b%26&amp;page=1""#),
            "{pages}"
        );
        let form = found.filter_form().into_string();
        assert!(form.contains(r#"value="b&amp;""#), "{form}");
        assert_eq!(listing("filter=z", &rows).rows, [""; 0]);
        assert_eq!(listing("page=0", &rows).rows.len(), ROWS);
    }
}
