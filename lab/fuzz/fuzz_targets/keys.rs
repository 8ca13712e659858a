//! Fuzzes keys of stored items. A partition key and a sort key that decode to a key are also its encoding.
#![no_main]

use lately_items::AnyKey;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &str| {
    let (pk, sk) = input.split_once('\n').unwrap_or((input, ""));
    let Some(key) = AnyKey::decode(pk, sk) else { return };
    let text = key.encode();
    assert_eq!((&*text.pk, &*text.sk), (pk, sk));
    assert_eq!(AnyKey::decode(&text.pk, &text.sk), Some(key));
});
