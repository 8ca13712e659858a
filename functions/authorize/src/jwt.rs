//! A JWT (RFC 7519, signed as RFC 7515 says), from its text to its caller.
//!
//! The order matters: size, header, issuer, key, signature, audience, times, user. Nothing in a token is acted on
//! before the signature is proved, except to compare its issuer and its key's id with those that are known.

use jsonwebtoken::errors::ErrorKind;
use jsonwebtoken::{Validation, dangerous, decode, decode_header};
use lately_kit::caller::Caller;
use lately_store::Store;

use crate::claims::Claims;
use crate::issuers::{Issuer, Issuers};
use crate::keys::KeysUnavailable;
use crate::limits::JWT_BYTES;
use crate::signature::{self, ALGORITHMS};

/// Why a JWT was refused. The text is for the log, so it contains nothing of the token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Refusal {
    #[error("it is longer than {JWT_BYTES} bytes")]
    TooLong,
    #[error("its header is ill-formed, or asks for an algorithm or an extension that is not accepted")]
    Header,
    #[error("its claims are ill-formed, or repeat a name")]
    Claims,
    #[error("its issuer is not one of the stack's issuers")]
    Issuer,
    #[error("its issuer has no key for it")]
    Key,
    #[error("its signature is wrong")]
    Signature,
    #[error("its audience is another")]
    Audience,
    #[error("its claim iss, aud or exp is missing or of another type")]
    NoClaim,
    #[error("its claim {0} is missing or not a time")]
    NoTime(&'static str),
    #[error("it has expired")]
    Expired,
    #[error("it is not valid yet")]
    NotYetValid,
    #[error("the claim with its user is missing or not a name")]
    NoUser,
    #[error("the claim with its topics is missing or not a list of topics")]
    NoTopics,
}

impl From<&ErrorKind> for Refusal {
    fn from(kind: &ErrorKind) -> Self {
        match kind {
            ErrorKind::InvalidAudience => Self::Audience,
            ErrorKind::MissingRequiredClaim(_) => Self::NoClaim,
            _ => Self::Signature,
        }
    }
}

/// Why a JWT has no caller.
#[derive(Debug, thiserror::Error)]
pub(crate) enum JwtError {
    /// The token is not valid.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The token cannot be checked now.
    #[error(transparent)]
    Keys(#[from] KeysUnavailable),
}

/// True if a token has the shape of a JWT: three parts of base64url, with dots between them. No session's token has.
pub(crate) fn is_jwt(token: &str) -> bool {
    let is_text = |part: &str| part.bytes().all(|it| it.is_ascii_alphanumeric() || b"-_".contains(&it));
    token.split('.').count() == 3 && token.split('.').all(is_text)
}

impl Issuers {
    /// The caller whom a JWT names.
    pub(crate) async fn caller(&self, token: &str, store: &Store) -> Result<Caller, JwtError> {
        if token.len() > JWT_BYTES {
            return Err(Refusal::TooLong.into());
        }
        let header = decode_header(token).map_err(|_| Refusal::Header)?;
        // An extension that must be understood is one that is not.
        if !ALGORITHMS.contains(&header.alg) || header.crit.is_some() {
            return Err(Refusal::Header.into());
        }
        let claims = dangerous::insecure_decode_claims::<Claims>(token).map_err(|_| Refusal::Claims)?;
        let issuer = claims.issuer().and_then(|name| self.get(name)).ok_or(Refusal::Issuer)?;
        let key = issuer.keys.find(header.kid.as_deref(), header.alg, store).await?.ok_or(Refusal::Key)?;
        signature::install();
        let proved = decode::<Claims>(token, &key, &issuer.validation(header.alg));
        let claims = proved.map_err(|error| Refusal::from(error.kind()))?.claims;
        let end = claims.end(store.now())?;
        Ok(issuer.rules.caller(&claims, &issuer.name, end)?)
    }
}

impl Issuer {
    /// The checks of `jsonwebtoken`. Times are checked by [`Claims::end`], because the crate reads the clock itself.
    fn validation(&self, algorithm: jsonwebtoken::Algorithm) -> Validation {
        let mut validation = Validation::new(algorithm);
        validation.set_required_spec_claims(&["exp", "iss", "aud"]);
        validation.set_issuer(&[&self.name]);
        validation.set_audience(&self.audience);
        validation.validate_exp = false;
        validation
    }
}
