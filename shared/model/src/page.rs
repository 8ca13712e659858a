//! A page of a timeline, and how much of it is wanted.

use std::str::FromStr;

use serde::Serialize;

use crate::limits::{PAGE_SIZE, PAGE_SIZE_DEFAULT};

/// How many entries a page may have: 1 to 200, 50 unless the client says otherwise.
///
/// ```
/// use lately_model::PageSize;
///
/// assert_eq!(PageSize::default().get(), 50);
/// assert_eq!("200".parse::<PageSize>()?.get(), 200);
/// # Ok::<(), lately_model::PageSizeError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PageSize(u16);

/// What is no size of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("must be a whole number from 1 to {PAGE_SIZE}")]
pub struct PageSizeError;

impl PageSize {
    /// The largest.
    pub const MAX: Self = Self(PAGE_SIZE);

    /// A size.
    ///
    /// # Errors
    /// If the number is not one from 1 to 200.
    pub const fn new(size: u16) -> Result<Self, PageSizeError> {
        if size >= 1 && size <= PAGE_SIZE { Ok(Self(size)) } else { Err(PageSizeError) }
    }

    /// The size as a number.
    #[must_use]
    pub const fn get(self) -> u16 {
        self.0
    }
}

impl Default for PageSize {
    fn default() -> Self {
        Self(PAGE_SIZE_DEFAULT)
    }
}

impl FromStr for PageSize {
    type Err = PageSizeError;

    fn from_str(text: &str) -> Result<Self, PageSizeError> {
        // A number's own parser would take a sign too.
        let digits = text.bytes().all(|byte| byte.is_ascii_digit());
        text.parse().ok().filter(|_| digits).ok_or(PageSizeError).and_then(Self::new)
    }
}

/// A page: `{"events":[…],"next":"…"|null,"newer":"…"|null,"has_more":true|false}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Page<T> {
    /// Its entries, in its order.
    pub events: Vec<T>,
    /// Where it goes on, in its own order.
    pub next: Option<String>,
    /// On newest-first pages: where what comes later is read, oldest first.
    pub newer: Option<String>,
    /// Whether more is there now.
    pub has_more: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_whole_numbers_up_to_200() {
        let size = |text: &str| text.parse().map(PageSize::get);
        assert_eq!((size("1"), size("200"), size("007")), (Ok(1), Ok(200), Ok(7)));
        for text in ["", "0", "201", "+5", "-1", "1.0", "1e1", "65537", "５", " 5"] {
            assert_eq!(size(text), Err(PageSizeError), "{text:?}");
        }
    }

    #[test]
    fn what_is_not_there_is_null() {
        let page = Page::<u8> { events: vec![], next: None, newer: Some("abc".to_owned()), has_more: false };
        let json = r#"{"events":[],"next":null,"newer":"abc","has_more":false}"#;
        assert_eq!(serde_json::to_string(&page).unwrap(), json);
    }
}
