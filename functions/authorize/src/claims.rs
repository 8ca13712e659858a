//! The claims of a JWT, and how they become a caller.
//!
//! JSON lets an object name a member twice, and readers differ in which of the two they use. So a token whose claims
//! repeat a name, at any depth, is refused. A claim is named by its own name (`sub`, `https://example.org/roles`), or by
//! a JSON Pointer if it lies within another claim (`/realm_access/roles`).

use std::collections::BTreeMap;
use std::fmt;

use lately_keys::{Topic, UnixMillis};
use lately_kit::caller::Caller;
use lately_kit::limits::TOKEN_LEEWAY;
use lately_model::limits::SESSION_TOPICS;
use lately_model::{RateLimits, Scope, Scopes};
use serde::Deserialize;
use serde::de::{Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

use crate::jwt::Refusal;

/// The claims of a token.
#[derive(Clone, Debug)]
pub(crate) struct Claims(Value);

impl<'de> Deserialize<'de> for Claims {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match deserializer.deserialize_any(UniqueNames)? {
            object @ Value::Object(_) => Ok(Self(object)),
            _ => Err(D::Error::custom("claims are an object")),
        }
    }
}

/// Reads any JSON, and refuses an object that repeats a name.
struct UniqueNames;

/// A value within the claims.
struct Unique(Value);

impl<'de> Deserialize<'de> for Unique {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(UniqueNames).map(Self)
    }
}

impl<'de> Visitor<'de> for UniqueNames {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Value, A::Error> {
        let mut array = Vec::new();
        while let Some(Unique(element)) = elements.next_element()? {
            array.push(element);
        }
        Ok(Value::Array(array))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some((name, Unique(value))) = members.next_entry::<String, _>()? {
            if object.insert(name, value).is_some() {
                return Err(A::Error::custom("a name is repeated"));
            }
        }
        Ok(Value::Object(object))
    }
}

impl Claims {
    /// The issuer that the token names, which is not proved yet.
    pub(crate) fn issuer(&self) -> Option<&str> {
        self.text("iss")
    }

    /// Checks the token's times, and returns its end.
    pub(crate) fn end(&self, now: UnixMillis) -> Result<UnixMillis, Refusal> {
        let now = now.get() / 1000;
        let leeway = TOKEN_LEEWAY.as_secs();
        let expires_at = self.seconds("exp").ok_or(Refusal::NoTime("exp"))?;
        if now >= expires_at.saturating_add(leeway) {
            return Err(Refusal::Expired);
        }
        if self.get("nbf").is_some() {
            let not_before = self.seconds("nbf").ok_or(Refusal::NoTime("nbf"))?;
            if now.saturating_add(leeway) < not_before {
                return Err(Refusal::NotYetValid);
            }
        }
        Ok(UnixMillis::new(expires_at.saturating_mul(1000)).unwrap_or(UnixMillis::MAX))
    }

    /// A claim by its name or its JSON Pointer.
    fn get(&self, name: &str) -> Option<&Value> {
        if name.starts_with('/') { self.0.pointer(name) } else { self.0.get(name) }
    }

    fn text(&self, name: &str) -> Option<&str> {
        self.get(name)?.as_str()
    }

    /// A time, in whole seconds since 1970.
    fn seconds(&self, name: &str) -> Option<u64> {
        let number = self.get(name)?.as_number()?;
        let with_fraction = || std::time::Duration::try_from_secs_f64(number.as_f64()?).ok();
        number.as_u64().or_else(|| with_fraction().map(|time| time.as_secs()))
    }

    /// The values of a claim: the strings of a list, or the words of a string. A claim of another kind has none.
    fn values(&self, name: &str) -> Vec<&str> {
        match self.get(name) {
            Some(Value::String(words)) => words.split_ascii_whitespace().collect(),
            Some(Value::Array(values)) => values.iter().filter_map(Value::as_str).collect(),
            _ => Vec::new(),
        }
    }
}

/// The value of a claim with topics that stands for all topics. It is no topic's name.
const ALL_TOPICS: &str = "*";

/// The rules by which the claims of an issuer's tokens become a caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ClaimRules {
    /// The claim with the user.
    pub(crate) user: String,
    /// The claim that decides the scopes; without it, every token has the scope `read` alone.
    pub(crate) scopes: Option<ScopeRule>,
    /// The claim with the only topics that a token may use, or `*` for all; without this rule, tokens are not limited to
    /// topics.
    pub(crate) topics: Option<String>,
    /// The limits of each user.
    pub(crate) limits: RateLimits,
}

/// The rule by which the values of a claim become scopes.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ScopeRule {
    /// The claim.
    pub(crate) claim: String,
    /// The scopes for each value of the claim. Other values give no scope.
    pub(crate) map: BTreeMap<String, Scopes>,
}

impl ClaimRules {
    /// The caller whom a proved token names.
    ///
    /// # Errors
    /// If the token has no valid user, or no valid topics although it must have some.
    pub(crate) fn caller(
        &self,
        claims: &Claims,
        issuer: &str,
        expires_at: UnixMillis,
    ) -> Result<Caller, Refusal> {
        let user = claims.text(&self.user).and_then(|user| user.parse().ok()).ok_or(Refusal::NoUser)?;
        let topics = match &self.topics {
            Some(claim) => topics(&claims.values(claim))?,
            None => None,
        };
        Ok(Caller {
            session: None,
            user: Some(user),
            scopes: self.scopes(claims),
            topics,
            expires_at,
            issuer: Some(issuer.to_owned()),
            limits: self.limits,
        })
    }

    fn scopes(&self, claims: &Claims) -> Scopes {
        let Some(ScopeRule { claim, map }) = &self.scopes else { return Scopes::from_iter([Scope::Read]) };
        let values = claims.values(claim);
        values.iter().filter_map(|value| map.get(*value)).flat_map(|scopes| scopes.iter()).collect()
    }
}

/// The topics that a token is limited to; `None` for all topics. A token that names none is refused: it must not pass as
/// unlimited.
fn topics(names: &[&str]) -> Result<Option<Vec<Topic>>, Refusal> {
    if names == [ALL_TOPICS] {
        return Ok(None);
    }
    if !(1..=SESSION_TOPICS).contains(&names.len()) {
        return Err(Refusal::NoTopics);
    }
    names.iter().map(|name| name.parse().map(Some).map_err(|_| Refusal::NoTopics)).collect()
}
