//! Ids as one attribute of an item: 16 bytes each.

use lately_keys::EventId;
use lately_table::{Corrupt, Item, Value};

/// Ids as one attribute.
pub(crate) fn encode_ids(ids: &[EventId]) -> Value {
    let bytes: Vec<u8> = ids.iter().flat_map(|id| id.as_uuid().into_bytes()).collect();
    Value::bytes(bytes)
}

/// Reads the attribute that [`encode_ids`] wrote.
pub(crate) fn decode_ids(item: &Item, name: &'static str) -> Result<Vec<EventId>, Corrupt> {
    let ids = item.bytes(name)?.chunks(16).map(EventId::from_slice).collect::<Option<_>>();
    ids.ok_or_else(|| item.corrupt(name))
}
