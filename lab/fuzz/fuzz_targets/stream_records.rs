//! Fuzzes batches of the table's stream, with the items in them. Each record is parsed or refused on its own, and keeps
//! its sequence number.
#![no_main]

use lately_store::Record;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|event: &[u8]| {
    let Ok(records) = Record::batch(event) else { return };
    let raw: serde_json::Value = serde_json::from_slice(event).unwrap();
    assert_eq!(raw["Records"].as_array().map(Vec::len), Some(records.len()));
    for (record, raw) in records.iter().zip(raw["Records"].as_array().unwrap()) {
        let sequence = raw["dynamodb"]["SequenceNumber"].as_str().unwrap_or_default();
        assert!(record.sequence().is_empty() || record.sequence() == sequence);
    }
});
