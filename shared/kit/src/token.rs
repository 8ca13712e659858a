//! Tokens: `Authorization: Bearer <token>`.
//!
//! What is here knows four literal tokens, for use on one's own machine: `dev` is an admin, `ada`, `bob` and
//! `carol` are users. Anyone can know them, so a function takes them only where its settings say so;
//! otherwise it takes none.

use axum::extract::Request;
use axum::http::HeaderMap;
use axum::http::header::AUTHORIZATION;

use crate::caller::{Caller, Identity, Scope, Scopes};

/// Which tokens are good.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tokens {
    /// None.
    #[default]
    None,
    /// The four literal ones.
    Literal,
}

impl Tokens {
    /// The literal tokens: what is printed for who starts the system on their own machine.
    pub const LITERAL: [&str; 4] = ["dev", "ada", "bob", "carol"];

    /// Says of a request who makes it.
    #[must_use]
    pub fn identify(self, mut request: Request) -> Request {
        let identity = match bearer(request.headers()) {
            None => Identity::Missing,
            // Joined into one by the gateway, they would be no token.
            Some(_) if request.headers().get_all(AUTHORIZATION).iter().count() > 1 => Identity::Refused,
            Some(token) => self.caller(token).map_or(Identity::Refused, Identity::Known),
        };
        request.extensions_mut().insert(identity);
        request
    }

    fn caller(self, token: &str) -> Option<Caller> {
        let number = match self {
            Self::None => None,
            Self::Literal => Self::LITERAL.iter().position(|literal| *literal == token),
        }?;
        // Sessions that nobody opened, and that differ.
        let session = format!("00000000-0000-4000-8000-00000000000{number}");
        let (user, scopes) = match token {
            "dev" => (None, Scopes::from_iter([Scope::Admin])),
            user => (user.parse().ok(), Scopes::from_iter([Scope::Read, Scope::Write])),
        };
        Some(Caller { session: session.parse().ok()?, user, scopes, topics: None })
    }
}

/// The token that a request carries, if it carries one. The scheme's name is read in either case.
fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = headers.get(AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    let token = token.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::body::Body;

    fn identity(tokens: Tokens, authorization: &str) -> Identity {
        let request = Request::builder().header("authorization", authorization).body(Body::empty()).unwrap();
        tokens.identify(request).extensions().get::<Identity>().unwrap().clone()
    }

    #[test]
    fn the_literal_tokens_are_an_admin_and_three_users() {
        let known = |token: &str| match identity(Tokens::Literal, &format!("Bearer {token}")) {
            Identity::Known(caller) => caller,
            other => panic!("{token}: {other:?}"),
        };
        assert_eq!((known("dev").user, known("dev").scopes), (None, Scopes::from_iter([Scope::Admin])));
        for user in ["ada", "bob", "carol"] {
            assert_eq!(known(user).user.unwrap().as_str(), user);
            assert_eq!(known(user).scopes, Scopes::from_iter([Scope::Read, Scope::Write]));
        }
        assert_ne!(known("ada").session, known("bob").session);
    }

    #[test]
    fn any_other_token_is_refused_and_anything_else_is_none() {
        for authorization in ["Bearer eve", "Bearer DEV", "bearer dev x", "Bearer dev,Bearer ada"] {
            assert_eq!(identity(Tokens::Literal, authorization), Identity::Refused, "{authorization}");
        }
        for authorization in ["", "Bearer", "Bearer ", "dev", "Basic ZGV2", "Bearer\u{e9}"] {
            assert_eq!(identity(Tokens::Literal, authorization), Identity::Missing, "{authorization}");
        }
        assert!(matches!(identity(Tokens::Literal, "bEARER  ada "), Identity::Known(_)));
    }

    #[test]
    fn two_tokens_are_refused_even_if_both_are_good() {
        let request =
            Request::get("/").header("authorization", "Bearer dev").header("authorization", "Bearer dev");
        let request = Tokens::Literal.identify(request.body(Body::empty()).unwrap());
        assert_eq!(request.extensions().get(), Some(&Identity::Refused));
    }

    #[test]
    fn unless_told_otherwise_no_token_is_good() {
        assert_eq!(identity(Tokens::default(), "Bearer dev"), Identity::Refused);
    }
}
