//! Scopes: the permissions of a session.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

lately_keys::words! {
    /// A permission of a session.
    pub enum Scope {
        /// Read everything that is not another user's.
        Read = "read",
        /// Post, delete, follow and change records, as the session's own user.
        Write = "write",
        /// Write events with times in the past.
        Import = "import",
        /// Read topics as a consumer.
        Consume = "consume",
        /// Do what any user may do: read as anyone, and write as anyone.
        ActAs = "act-as",
        /// Everything.
        Admin = "admin",
    }
    else ScopeError = "must be read, write, import, consume, act-as or admin"
}

lately_keys::schema!(Scope, "Scope", {
    let about = "`read`; `write` (post, delete, follow, change records, as the session's own user); `import`; \
        `consume`; `act-as` (act as any user); `admin` (all of these, and topics, sessions, settings).";
    words(Scope::ALL.map(Scope::as_str)).description(Some(about))
});

impl Scope {
    const fn bit(self) -> u8 {
        1 << self as u8
    }

    /// The scopes that include this one.
    const fn held_by(self) -> u8 {
        let holders = self.bit() | Self::Admin.bit();
        match self {
            Self::Read | Self::Write => holders | Self::ActAs.bit(),
            Self::Import | Self::Consume | Self::ActAs | Self::Admin => holders,
        }
    }
}

/// A set of scopes, as the session was given it. Its text is their names separated by spaces; its JSON is a list.
///
/// ```
/// use lately_model::{Scope, Scopes};
///
/// let scopes: Scopes = "read act-as".parse()?;
/// assert!(scopes.allow(Scope::Write), "act-as holds it");
/// assert!(!scopes.allow(Scope::Import));
/// assert_eq!(scopes.to_string(), "read act-as");
/// # Ok::<(), lately_model::ScopeError>(())
/// ```
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct Scopes(u8);

impl Scopes {
    /// True if these scopes allow a scope, because they contain it or a scope that includes it.
    pub const fn allow(self, scope: Scope) -> bool {
        self.0 & scope.held_by() != 0
    }

    /// The scopes as they were given.
    pub fn iter(self) -> impl Iterator<Item = Scope> {
        Scope::ALL.into_iter().filter(move |scope| self.0 & scope.bit() != 0)
    }

    /// True if the set is empty.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }
}

impl FromIterator<Scope> for Scopes {
    fn from_iter<I: IntoIterator<Item = Scope>>(scopes: I) -> Self {
        Self(scopes.into_iter().fold(0, |bits, scope| bits | scope.bit()))
    }
}

impl FromStr for Scopes {
    type Err = ScopeError;

    fn from_str(text: &str) -> Result<Self, ScopeError> {
        text.split_ascii_whitespace().map(str::parse).collect()
    }
}

impl fmt::Display for Scopes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, scope) in self.iter().enumerate() {
            let separator = if index == 0 { "" } else { " " };
            write!(f, "{separator}{scope}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Scopes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

impl<'de> Deserialize<'de> for Scopes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Vec::<Scope>::deserialize(deserializer)?.into_iter().collect())
    }
}

impl Serialize for Scopes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter().map(Scope::as_str))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_scope_allows_itself_and_the_scopes_it_includes() {
        let allowed = |scope| -> Vec<Scope> {
            let scopes = Scopes::from_iter([scope]);
            Scope::ALL.iter().copied().filter(|asked| scopes.allow(*asked)).collect()
        };
        for scope in [Scope::Read, Scope::Write, Scope::Import, Scope::Consume] {
            assert_eq!(allowed(scope), [scope]);
        }
        assert_eq!(allowed(Scope::ActAs), [Scope::Read, Scope::Write, Scope::ActAs]);
        assert_eq!(allowed(Scope::Admin), Scope::ALL);
        assert!(!Scope::ALL.iter().any(|scope| Scopes::default().allow(*scope)));
        assert!(Scope::ALL.iter().all(|scope| scope.to_string().parse() == Ok(*scope)));
    }

    #[test]
    fn every_set_of_scopes_parses_from_its_text() {
        for bits in 0..1 << Scope::ALL.len() {
            let scopes: Scopes = Scope::ALL.iter().copied().filter(|scope| bits & scope.bit() != 0).collect();
            assert_eq!(scopes.to_string().parse(), Ok(scopes));
            assert_eq!(scopes.is_empty(), bits == 0);
        }
        assert_eq!("read root".parse::<Scopes>(), Err(ScopeError));
    }
}
