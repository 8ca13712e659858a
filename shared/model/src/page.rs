//! A page of a timeline, and its size.

use serde::{Deserialize, Serialize};

use crate::bounded::bounded;
use crate::limits::{PAGE_SIZE, PAGE_SIZE_DEFAULT, WAIT_SECONDS};

bounded! {
    /// The most entries on a page: 1 to 200, default 50.
    ///
    /// ```
    /// use lately_model::PageSize;
    ///
    /// assert_eq!(PageSize::default().get(), 50);
    /// assert_eq!("200".parse::<PageSize>()?.get(), 200);
    /// # Ok::<(), lately_model::PageSizeError>(())
    /// ```
    PageSize(u16): 1..=PAGE_SIZE, default PAGE_SIZE_DEFAULT;
    /// The text is not a valid page size.
    PageSizeError = "must be a whole number from {} to {}";
}

impl PageSize {
    /// The largest size.
    pub const MAX: Self = Self(PAGE_SIZE);
}

bounded! {
    /// The seconds for which an empty page waits for an event: 0 to 25, default 0.
    WaitSeconds(u8): 0..=WAIT_SECONDS, default 0;
    /// The text is not a valid number of seconds.
    WaitSecondsError = "must be a whole number from {} to {}";
}

/// A page: `{"events":[…],"next":"…"|null,"newer":"…"|null,"has_more":true|false}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Page<T> {
    /// The entries, in the page's order.
    pub events: Vec<T>,
    /// The cursor of the next page in the same order.
    pub next: Option<String>,
    /// On newest-first pages: the cursor for later events, which reads them oldest first.
    pub newer: Option<String>,
    /// True if there are more entries now.
    pub has_more: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_whole_numbers_up_to_200() {
        let size = |text: &str| text.parse().map(PageSize::get);
        assert_eq!((size("1"), size("200")), (Ok(1), Ok(200)));
        for text in ["", "007", "0", "201", "+5", "-1", "1.0", "1e1", "65537", "５", " 5"] {
            assert_eq!(size(text), Err(PageSizeError), "{text:?}");
        }
    }

    #[test]
    fn absent_cursors_are_null() {
        let page = Page::<u8> { events: vec![], next: None, newer: Some("abc".to_owned()), has_more: false };
        let json = r#"{"events":[],"next":null,"newer":"abc","has_more":false}"#;
        assert_eq!(serde_json::to_string(&page).unwrap(), json);
    }
}
