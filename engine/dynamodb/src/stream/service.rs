//! The DynamoDB Streams API over the captured records, for other clients.
//!
//! Shards neither split nor end. An iterator is `{stream arn}|{shard}|{position}` and never expires.

use serde::Deserialize;
use serde_json::{Value, json};

use crate::api_error::ApiError;
use crate::call::parse;
use crate::capture::{SequenceNumber, lambda};
use crate::core::Core;
use crate::limits;
use crate::operation::Operation;
use crate::table::{StreamView, Table};

#[derive(Deserialize, Default)]
#[serde(rename_all = "PascalCase", default)]
struct Request {
    table_name: Option<String>,
    stream_arn: String,
    shard_id: String,
    shard_iterator: String,
    shard_iterator_type: String,
    sequence_number: Option<String>,
    limit: Option<usize>,
}

/// Answers one of the four operations of the API.
pub(crate) fn answer(core: &Core, operation: Operation, body: &[u8]) -> Result<String, ApiError> {
    let request: Request = parse(operation, body)?;
    match operation {
        Operation::ListStreams => list(core, &request),
        Operation::DescribeStream => describe(core, &request),
        Operation::GetShardIterator => iterator(core, &request),
        _ => records(core, &request),
    }
}

fn list(core: &Core, request: &Request) -> Result<String, ApiError> {
    let names = match &request.table_name {
        Some(name) => vec![name.clone()],
        None => core.db().list_tables(Default::default())?.table_names,
    };
    let mut streams = Vec::new();
    for name in names {
        let table = core.table(&name)?;
        let Some((table, stream)) = table.as_deref().and_then(|t| Some((t, t.stream.as_ref()?))) else {
            continue;
        };
        streams.push(json!({
            "StreamArn": table.stream_arn(),
            "StreamLabel": stream.label,
            "TableName": name,
        }));
    }
    Ok(json!({ "Streams": streams }).to_string())
}

fn describe(core: &Core, request: &Request) -> Result<String, ApiError> {
    let (table, view) = table_of(core, &request.stream_arn)?;
    let mut ledger = core.ledger();
    let log = ledger.open_log(&table.name);
    let shards: Vec<Value> = (0..log.shard_count())
        .map(|shard| {
            let oldest = log.oldest(shard).unwrap_or(log.latest(shard));
            json!({
                "ShardId": shard_id(shard),
                "SequenceNumberRange": {"StartingSequenceNumber": oldest.to_string()},
            })
        })
        .collect();
    let key = &table.key;
    let mut schema = vec![json!({"AttributeName": key.partition, "KeyType": "HASH"})];
    let sort = key.sort.as_ref();
    schema.extend(sort.map(|name| json!({"AttributeName": name, "KeyType": "RANGE"})));
    let description = json!({
        "StreamArn": request.stream_arn,
        "StreamLabel": table.stream.as_ref().map(|stream| &stream.label),
        "StreamStatus": "ENABLED",
        "StreamViewType": view.name(),
        "TableName": table.name,
        "KeySchema": schema,
        "Shards": shards,
    });
    Ok(json!({ "StreamDescription": description }).to_string())
}

fn iterator(core: &Core, request: &Request) -> Result<String, ApiError> {
    let (table, _) = table_of(core, &request.stream_arn)?;
    let shard = read_shard_id(&request.shard_id)?;
    let mut ledger = core.ledger();
    let log = ledger.open_log(&table.name);
    if shard >= log.shard_count() {
        return Err(ApiError::not_found("Requested resource not found: Shard"));
    }
    let after = match request.shard_iterator_type.as_str() {
        "TRIM_HORIZON" => SequenceNumber::START,
        "LATEST" => log.latest(shard),
        "AFTER_SEQUENCE_NUMBER" => named_position(request)?,
        "AT_SEQUENCE_NUMBER" => SequenceNumber(named_position(request)?.0.saturating_sub(1)),
        _ => return Err(ApiError::validation("Invalid ShardIteratorType")),
    };
    let iterator = format_iterator(&request.stream_arn, shard, after);
    Ok(json!({ "ShardIterator": iterator }).to_string())
}

fn records(core: &Core, request: &Request) -> Result<String, ApiError> {
    let invalid = || ApiError::validation("Invalid ShardIterator");
    let mut parts = request.shard_iterator.rsplitn(3, '|');
    let position = parts.next().and_then(|text| text.parse().ok());
    let shard = parts.next().and_then(|text| text.parse().ok());
    let (Some(position), Some(shard), Some(arn)) = (position, shard, parts.next()) else {
        return Err(invalid());
    };
    let (table, view) = table_of(core, arn)?;
    let limit = request.limit.unwrap_or(limits::GET_RECORDS);
    let limit = limit.clamp(1, limits::GET_RECORDS);
    let now = core.clock().now_micros();
    let mut ledger = core.ledger();
    let log = ledger.open_log(&table.name);
    let batch = log.read(shard, position, limit, limits::GET_RECORDS_BYTES, now);
    // A reader that starts at the horizon gets the remaining records. Any other reader that lost records gets an
    // error.
    if batch.trimmed && position != SequenceNumber::START {
        return Err(ApiError::trimmed());
    }
    let next = json!(format_iterator(arn, shard, batch.next));
    let records = lambda::api_records(&batch.records, view);
    Ok(format!(r#"{{"Records":{records},"NextShardIterator":{next}}}"#))
}

/// The table whose current stream has this ARN.
fn table_of(core: &Core, arn: &str) -> Result<(std::sync::Arc<Table>, StreamView), ApiError> {
    let unknown = || ApiError::not_found("Requested resource not found: Stream");
    let name = arn
        .split_once(":table/")
        .and_then(|(_, rest)| rest.split_once("/stream/"))
        .map(|(name, _)| name)
        .ok_or_else(unknown)?;
    let table = core.table(name)?.ok_or_else(unknown)?;
    let view = match &table.stream {
        Some(stream) if table.stream_arn().as_deref() == Some(arn) => stream.view,
        _ => return Err(unknown()),
    };
    Ok((table, view))
}

const SHARD_PREFIX: &str = "shardId-00000000000000000000-";

/// A shard's name.
pub fn shard_id(shard: u16) -> String {
    format!("{SHARD_PREFIX}{shard:08}")
}

fn read_shard_id(id: &str) -> Result<u16, ApiError> {
    let number = id.strip_prefix(SHARD_PREFIX);
    let shard = number.and_then(|number| number.parse().ok());
    shard.ok_or_else(|| ApiError::not_found("Requested resource not found: Shard"))
}

fn named_position(request: &Request) -> Result<SequenceNumber, ApiError> {
    let text = request.sequence_number.as_deref().unwrap_or_default();
    text.parse().map_err(|_| ApiError::validation("Invalid SequenceNumber"))
}

fn format_iterator(arn: &str, shard: u16, after: SequenceNumber) -> String {
    format!("{arn}|{shard}|{after}")
}
