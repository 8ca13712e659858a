//! Fuzzes headers: tokens and preconditions. It also parses the text as a session's scopes.
#![no_main]

use lately_kit::token::Token;
use lately_model::{Precondition, Scopes};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Some(token) = Token::bearer(text) {
        assert!(!token.reveal().is_empty() && text.contains(token.reveal()));
        assert_eq!(token.reveal(), token.reveal().trim());
        assert_eq!(format!("{token:?}"), "Token(…)");
        assert_eq!(token.hash().to_string().len(), 64);
    }
    let (one, other) = text.split_once('\n').map_or((text, None), |(one, other)| (one, Some(other)));
    let _ = Precondition::parse(Some(one), other);
    let _ = Precondition::parse(None, Some(one));
    let _ = one.parse::<Scopes>();
});
