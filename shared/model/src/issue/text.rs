//! An issue's title and body: text for people, stored exactly as sent.

use crate::limits::{ISSUE_BODY_BYTES, ISSUE_TITLE_CHARACTERS};
use crate::text::ruled_text;

ruled_text! {
    /// An issue's title: 1 to 256 characters, without control characters, and not only white space.
    ///
    /// ```
    /// use lately_model::IssueTitle;
    ///
    /// let title: IssueTitle = "Der Zähler läuft rückwärts".parse()?;
    /// assert_eq!(title.as_str(), "Der Zähler läuft rückwärts");
    /// assert!(" \u{3000}".parse::<IssueTitle>().is_err());
    /// # Ok::<(), lately_model::IssueTitleError>(())
    /// ```
    IssueTitle if |text| {
        // Only one character beyond the limit is looked for, so that a very long text is not counted to its end.
        let fits = text.chars().nth(ISSUE_TITLE_CHARACTERS).is_none();
        fits && !text.trim().is_empty() && !text.chars().any(char::is_control)
    };
    /// The text is not a valid title.
    IssueTitleError =
        "must have 1 to {ISSUE_TITLE_CHARACTERS} characters, none of them control characters, and not be blank";
}

lately_keys::schema!(IssueTitle, "IssueTitle", {
    let title = text(r"^[^\u0000-\u001f\u007f-\u009f]*$").min_length(Some(1));
    let title = title.max_length(Some(ISSUE_TITLE_CHARACTERS));
    title.description(Some("One line: no control characters, and not only white space."))
});

ruled_text! {
    /// An issue's body: up to 64 KiB of text in lines. Tabs and line ends are the only control characters that it may
    /// contain: others are not text, and a terminal may execute them.
    IssueBody if |text| {
        let is_shown = |c: char| !c.is_control() || matches!(c, '\n' | '\r' | '\t');
        text.len() <= ISSUE_BODY_BYTES && text.chars().all(is_shown)
    };
    /// The text is not a valid body.
    IssueBodyError = "must have at most {ISSUE_BODY_BYTES} bytes, and no control characters but tabs and line ends";
}

lately_keys::schema!(IssueBody, "IssueBody", {
    let about = format!(
        "At most {ISSUE_BODY_BYTES} bytes of text; the only control characters are tabs and line ends."
    );
    ObjectBuilder::new().schema_type(Type::String).description(Some(about))
});

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_title_is_a_line_of_up_to_256_characters() {
        let title = |text: &str| text.parse::<IssueTitle>().is_ok();
        assert!(title("x") && title(&"ß".repeat(256)) && title(" indented "));
        for text in ["", " ", "\u{3000}\u{a0}", "a\nb", "a\u{0}", "a\u{7f}b", "\u{85}x", &"x".repeat(257)] {
            assert!(!title(text), "{text:?}");
        }
    }

    #[test]
    fn a_body_is_text_of_up_to_64_kib() {
        let body = |text: &str| text.parse::<IssueBody>().is_ok();
        assert!(body("") && body("a\r\n\tb\u{1f600}") && body(&"x".repeat(65_536)));
        for text in ["\u{0}", "a\u{1b}[2J", "\u{8}", "\u{9b}", &"ß".repeat(32_769)] {
            assert!(!body(text), "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn accepted_text_stays_exactly_as_sent(text in "\\PC{0,300}|[\\x00-\\x20a]{0,10}") {
            if let Ok(title) = text.parse::<IssueTitle>() {
                prop_assert_eq!(title.as_str(), &text);
                prop_assert!(text.parse::<IssueBody>().is_ok(), "a title would be a body");
            }
            if let Ok(body) = text.parse::<IssueBody>() {
                prop_assert_eq!(body.as_str(), text);
            }
        }
    }
}
