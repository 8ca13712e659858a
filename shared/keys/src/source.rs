//! Sources: the actors and subjects that users can follow.

use crate::name::{Actor, NameError, Subject};
use crate::tagged;
use crate::text::serde_as_text;

tagged! {
    /// An actor or a subject that users can follow: `actor:ada`, `subject:repo:octo:hello`.
    ///
    /// ```
    /// use lately_keys::Source;
    ///
    /// let source: Source = "subject:repo:octo:hello".parse()?;
    /// assert_eq!(source, Source::Subject("repo:octo:hello".parse()?));
    /// assert_eq!(source.to_string(), "subject:repo:octo:hello");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub enum Source {
        /// Everything an actor does.
        Actor(Actor) = "actor:",
        /// Everything that happens to a subject.
        Subject(Subject) = "subject:",
    }
    else SourceError: SourceError::Tag, SourceError::Name
}

/// The text is not a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SourceError {
    /// The text starts with neither tag.
    #[error("source: must start with actor: or subject:")]
    Tag,
    /// The text after the tag is not a name.
    #[error("source: {0}")]
    Name(#[from] NameError),
}

serde_as_text!(Source);
crate::schema!(Source, "Source", {
    let pattern = format!("^(actor:{}|subject:{})$", Actor::form(), Subject::form());
    text(pattern).description(Some(
        "An actor or a subject, which users can follow: `actor:<name>` or `subject:<name>`.",
    ))
});

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arbitrary;
    use proptest::prelude::*;

    #[test]
    fn only_the_two_tags_make_a_source() {
        for text in ["", "actor", "ada", "user:ada", "Actor:ada", "subject"] {
            assert_eq!(text.parse::<Source>(), Err(SourceError::Tag), "{text:?}");
        }
        assert!(matches!("actor:".parse::<Source>(), Err(SourceError::Name(_))));
        assert!(matches!("actor:a:b".parse::<Source>(), Err(SourceError::Name(_))));
        assert!("subject:a:b".parse::<Source>().is_ok());
    }

    proptest! {
        #[test]
        fn text_round_trips(source in arbitrary::source()) {
            prop_assert_eq!(source.to_string().parse::<Source>(), Ok(source));
        }
    }
}
