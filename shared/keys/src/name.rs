//! Names: text from users that may become part of a key, parsed into types.
//!
//! A name is parsed once, at the edge, into its own type, so that a topic cannot be passed for an actor. No alphabet
//! contains `#`, which separates the parts of a key, or `/`, which separates the parts of a path. So no name can make a
//! key ambiguous.
//!
//! | type | alphabet | bytes |
//! | --- | --- | --- |
//! | [`Topic`], [`Actor`], [`User`], [`App`], [`Consumer`] | `[A-Za-z0-9][A-Za-z0-9._@-]*` | 1–128 |
//! | [`Owner`], [`Repo`] | the same | 1–60 |
//! | [`Subject`] | the same and `:` after the first | 1–128 |
//! | [`EventType`] | `[a-z0-9][a-z0-9._-]*` | 1–64 |
//!
//! ```
//! use lately_keys::{NameRule, Topic};
//!
//! let topic: Topic = "billing".parse()?;
//! assert_eq!(topic.as_str(), "billing");
//!
//! let refused = "billing#2026".parse::<Topic>().unwrap_err();
//! assert_eq!(refused.rule, NameRule::Character { index: 7 });
//! assert_eq!(refused.to_string(), "topic: character 8 is not one of A-Z a-z 0-9 . _ @ -");
//! # Ok::<(), lately_keys::NameError>(())
//! ```

use crate::limits::{EVENT_TYPE_BYTES, NAME_BYTES, REPO_PART_BYTES, SUBJECT_BYTES};
use crate::text::serde_as_text;

/// A refused name: its kind and the rule that it broke.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{kind}: {}", describe(*.rule, .alphabet))]
pub struct NameError {
    /// The kind of name: `topic`, `event type`, ….
    pub kind: &'static str,
    /// The first broken rule.
    pub rule: NameRule,
    alphabet: &'static Alphabet,
}

/// The rules of a name, in the order of the checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameRule {
    /// A name has at least one character.
    Empty,
    /// A name has at most `max_bytes` bytes.
    TooLong {
        /// The cap.
        max_bytes: usize,
    },
    /// The first character is a letter or a digit.
    First,
    /// Every character belongs to the alphabet.
    Character {
        /// The index of the first character that does not, counted from 0.
        index: usize,
    },
}

/// The characters of one kind of name.
#[derive(Debug, PartialEq, Eq)]
struct Alphabet {
    upper_case: bool,
    /// The characters besides letters and digits. A name does not start with them.
    punctuation: &'static str,
}

static NAME: Alphabet = Alphabet { upper_case: true, punctuation: "._@-" };
static SUBJECT: Alphabet = Alphabet { upper_case: true, punctuation: "._@:-" };
static EVENT_TYPE: Alphabet = Alphabet { upper_case: false, punctuation: "._-" };

impl Alphabet {
    fn may_start(&self, byte: u8) -> bool {
        byte.is_ascii_digit() || byte.is_ascii_lowercase() || (self.upper_case && byte.is_ascii_uppercase())
    }

    /// The same rule as a regular expression, without its ends.
    #[cfg(feature = "document")]
    fn form(&self, max_bytes: usize) -> String {
        let letters = if self.upper_case { "A-Za-z" } else { "a-z" };
        format!("[{letters}0-9][{letters}0-9{}]{{0,{}}}", self.punctuation, max_bytes - 1)
    }

    fn check(&self, text: &str, max_bytes: usize) -> Result<(), NameRule> {
        let Some(&first) = text.as_bytes().first() else {
            return Err(NameRule::Empty);
        };
        if text.len() > max_bytes {
            return Err(NameRule::TooLong { max_bytes });
        }
        if !self.may_start(first) {
            return Err(NameRule::First);
        }
        let is_refused = |byte| !self.may_start(byte) && !self.punctuation.as_bytes().contains(&byte);
        // Every byte before the first refused byte is ASCII, so the index counts characters too.
        match text.bytes().position(is_refused) {
            Some(index) => Err(NameRule::Character { index }),
            None => Ok(()),
        }
    }
}

/// The rule in words. It never repeats the refused text, which may be anything.
fn describe(rule: NameRule, alphabet: &Alphabet) -> String {
    match rule {
        NameRule::Empty => "must not be empty".to_owned(),
        NameRule::TooLong { max_bytes } => format!("must not be longer than {max_bytes} bytes"),
        NameRule::First => {
            let letter = if alphabet.upper_case { "letter" } else { "lower-case letter" };
            format!("must start with a {letter} or a digit")
        }
        NameRule::Character { index } => {
            let letters = if alphabet.upper_case { "A-Z a-z" } else { "a-z" };
            let punctuation: String = alphabet.punctuation.chars().flat_map(|mark| [' ', mark]).collect();
            format!("character {} is not one of {letters} 0-9{punctuation}", index + 1)
        }
    }
}

/// The description of a schema of names.
#[cfg(feature = "document")]
fn about(schema: &str) -> &'static str {
    match schema {
        "Subject" => "The subject of an event.",
        "EventType" => "The type of an event.",
        "RepositoryPart" => "The owner of a repository, or its name.",
        _ => "The name of a topic, an actor, a user, an application or a consumer.",
    }
}

macro_rules! names {
    ($(
        $(#[$doc:meta])* $name:ident = $kind:literal, $alphabet:ident, $max:ident, $schema:literal;
    )*) => {$(
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Box<str>);

        impl $name {
            /// The name as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl std::str::FromStr for $name {
            type Err = NameError;

            fn from_str(text: &str) -> Result<Self, NameError> {
                match $alphabet.check(text, $max) {
                    Ok(()) => Ok(Self(text.into())),
                    Err(rule) => Err(NameError { kind: $kind, rule, alphabet: &$alphabet }),
                }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(&self.0)
            }
        }

        serde_as_text!($name);
        crate::schema!($name, $schema, text(format!("^{}$", $name::form())).description(Some(about($schema))));

        #[cfg(feature = "document")]
        impl $name {
            /// The rule as a regular expression, without its ends.
            pub(crate) fn form() -> String {
                $alphabet.form($max)
            }
        }
    )*};
}

names! {
    /// A named, append-only log of events.
    ///
    /// ```
    /// assert!("posts".parse::<lately_keys::Topic>().is_ok());
    /// ```
    Topic = "topic", NAME, NAME_BYTES, "Name";

    /// The person or program that did what an event reports.
    ///
    /// ```
    /// assert!("ada@example.org".parse::<lately_keys::Actor>().is_ok());
    /// ```
    Actor = "actor", NAME, NAME_BYTES, "Name";

    /// A person with a feed and a profile.
    ///
    /// ```
    /// assert!("ada".parse::<lately_keys::User>().is_ok());
    /// ```
    User = "user", NAME, NAME_BYTES, "Name";

    /// An application with settings.
    ///
    /// ```
    /// assert!("web-console".parse::<lately_keys::App>().is_ok());
    /// ```
    App = "app", NAME, NAME_BYTES, "Name";

    /// A named reader of a topic.
    ///
    /// ```
    /// assert!("nightly-report".parse::<lately_keys::Consumer>().is_ok());
    /// ```
    Consumer = "consumer", NAME, NAME_BYTES, "Name";

    /// The owner of a repository.
    ///
    /// ```
    /// assert!("octo".parse::<lately_keys::Owner>().is_ok());
    /// ```
    Owner = "owner", NAME, REPO_PART_BYTES, "RepositoryPart";

    /// A repository's name, without its owner.
    ///
    /// ```
    /// assert!("hello.rs".parse::<lately_keys::Repo>().is_ok());
    /// ```
    Repo = "repository", NAME, REPO_PART_BYTES, "RepositoryPart";

    /// The thing that an event is about.
    ///
    /// ```
    /// assert!("repo:octo:hello".parse::<lately_keys::Subject>().is_ok());
    /// ```
    Subject = "subject", SUBJECT, SUBJECT_BYTES, "Subject";

    /// The kind of an event.
    ///
    /// ```
    /// assert!("issue.opened".parse::<lately_keys::EventType>().is_ok());
    /// assert!("Issue".parse::<lately_keys::EventType>().is_err());
    /// ```
    EventType = "event type", EVENT_TYPE, EVENT_TYPE_BYTES, "EventType";
}

impl From<&User> for Actor {
    /// A user acts under the user's own name: both alphabets are the same.
    fn from(user: &User) -> Self {
        Self(user.0.clone())
    }
}

impl From<&Actor> for User {
    /// An actor's feed is the feed of the user with the same name.
    fn from(actor: &Actor) -> Self {
        Self(actor.0.clone())
    }
}

impl Subject {
    /// The subject of a repository: `repo:{owner}:{repo}`.
    ///
    /// ```
    /// use lately_keys::Subject;
    ///
    /// let subject = Subject::repository(&"octo".parse()?, &"hello".parse()?);
    /// assert_eq!(subject.as_str(), "repo:octo:hello");
    /// # Ok::<(), lately_keys::NameError>(())
    /// ```
    pub fn repository(owner: &Owner, repo: &Repo) -> Self {
        Self(format!("repo:{owner}:{repo}").into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn rule<T: std::str::FromStr<Err = NameError>>(text: &str) -> Option<NameRule> {
        text.parse::<T>().err().map(|error| error.rule)
    }

    #[test]
    fn an_error_names_the_broken_rule() {
        assert_eq!(rule::<Topic>(""), Some(NameRule::Empty));
        assert_eq!(rule::<Topic>(&"a".repeat(128)), None);
        assert_eq!(rule::<Topic>(&"a".repeat(129)), Some(NameRule::TooLong { max_bytes: 128 }));
        assert_eq!(rule::<Owner>(&"a".repeat(61)), Some(NameRule::TooLong { max_bytes: 60 }));
        assert_eq!(rule::<EventType>(&"a".repeat(65)), Some(NameRule::TooLong { max_bytes: 64 }));
        assert_eq!(rule::<User>(".ada"), Some(NameRule::First));
        assert_eq!(rule::<User>("émile"), Some(NameRule::First));
        assert_eq!(rule::<User>("ada:b"), Some(NameRule::Character { index: 3 }));
        assert_eq!(rule::<Subject>("ada:b"), None);
        assert_eq!(rule::<Subject>(":ada"), Some(NameRule::First));
        assert_eq!(rule::<EventType>("issue.Opened"), Some(NameRule::Character { index: 6 }));
        assert_eq!(rule::<EventType>("a@b"), Some(NameRule::Character { index: 1 }));
    }

    #[test]
    fn separators_controls_and_unicode_are_refused_everywhere() {
        for text in ["a#b", "a/b", "a b", "a\0b", "a\nb", "a%2Fb", "aé", "a\u{202e}b", "a\u{ff03}b"] {
            assert_eq!(rule::<Topic>(text), Some(NameRule::Character { index: 1 }), "{text:?}");
            assert_eq!(rule::<Subject>(text), Some(NameRule::Character { index: 1 }), "{text:?}");
            assert_eq!(rule::<EventType>(text), Some(NameRule::Character { index: 1 }), "{text:?}");
        }
    }

    #[test]
    fn messages_never_repeat_the_refused_text() {
        let topic = "".parse::<Topic>().unwrap_err().to_string();
        assert_eq!(topic, "topic: must not be empty");
        let user = "-".parse::<User>().unwrap_err().to_string();
        assert_eq!(user, "user: must start with a letter or a digit");
        let event_type = "X".parse::<EventType>().unwrap_err().to_string();
        assert_eq!(event_type, "event type: must start with a lower-case letter or a digit");
        let repo = "s".repeat(99).parse::<Repo>().unwrap_err().to_string();
        assert_eq!(repo, "repository: must not be longer than 60 bytes");
    }

    #[test]
    fn json_goes_through_the_same_parser() {
        assert_eq!(serde_json::to_string(&"ada".parse::<User>().unwrap()).unwrap(), r#""ada""#);
        assert_eq!(serde_json::from_str::<User>(r#""\u0061da""#).unwrap().as_str(), "ada");
        let refused = serde_json::from_str::<User>(r#""a#b""#).unwrap_err().to_string();
        assert!(refused.starts_with("user: character 2 is not one of"), "{refused}");
    }

    proptest! {
        #[test]
        fn exactly_the_documented_alphabet_is_accepted(text in "[A-Za-z0-9._@:#/ é-]{0,70}") {
            let name = regex_lite(&text, true, "._@-");
            prop_assert_eq!(text.parse::<Actor>().is_ok(), name && text.len() <= 128);
            prop_assert_eq!(text.parse::<Repo>().is_ok(), name && text.len() <= 60);
            prop_assert_eq!(text.parse::<Subject>().is_ok(), regex_lite(&text, true, "._@:-"));
            prop_assert_eq!(
                text.parse::<EventType>().is_ok(),
                regex_lite(&text, false, "._-") && text.len() <= 64
            );
        }
    }

    /// A second implementation of the documented alphabets.
    fn regex_lite(text: &str, upper: bool, punctuation: &str) -> bool {
        let alphanumeric = |c: char| c.is_ascii_alphanumeric() && (upper || !c.is_ascii_uppercase());
        text.chars().next().is_some_and(alphanumeric)
            && text.chars().all(|c| alphanumeric(c) || punctuation.contains(c))
    }
}
