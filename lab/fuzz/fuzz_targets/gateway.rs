//! Fuzzes events of the gateway. Each is refused, or becomes a request that keeps the method and the query.
#![no_main]

use lately_kit::lambda::HttpEvent;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|event: &[u8]| {
    let Ok(parsed) = serde_json::from_slice::<HttpEvent>(event) else { return };
    let Ok(request) = parsed.into_request() else { return };
    // The function skips members that it does not know, also a number that no type holds. `Value` refuses such a number.
    let Ok(raw) = serde_json::from_slice::<serde_json::Value>(event) else { return };
    let query = request.uri().query().unwrap_or_default();
    let sent = raw["rawQueryString"].as_str().unwrap_or_default();
    // A `#` or `?` in the path never changes the query.
    assert!(!query.is_empty() || sent.is_empty());
    assert!(query.len() >= sent.len());
    assert_eq!(request.method().as_str(), raw["requestContext"]["http"]["method"]);
});
