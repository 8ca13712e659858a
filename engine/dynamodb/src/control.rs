//! The operations on tables. dynoxide answers them, except for the stream, which is the engine's own.
//!
//! `StreamSpecification` never reaches dynoxide, because dynoxide's stream reads all earlier records on every write.
//! The engine stores the stream's settings in a tag, and adds them to each description of the table.

use dynoxide::actions::list_tags_of_resource::ListTagsOfResourceRequest;
use dynoxide::actions::tag_resource::TagResourceRequest;
use dynoxide::actions::untag_resource::UntagResourceRequest;
use dynoxide::actions::update_time_to_live::UpdateTimeToLiveRequest;
use dynoxide::streams;
use dynoxide::types::Tag;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::api_error::ApiError;
use crate::call::{parse, render};
use crate::core::Core;
use crate::ledger::Ledger;
use crate::operation::Operation;
use crate::table::{STREAM_TAG, StreamSettings, StreamView};

/// Answers an operation on tables.
pub(crate) fn answer(core: &Core, operation: Operation, body: &[u8]) -> Result<String, ApiError> {
    let db = &core.db;
    match operation {
        Operation::CreateTable | Operation::UpdateTable => define(core, operation, body),
        Operation::DeleteTable => delete(core, body),
        Operation::DescribeTable => {
            let answer = render(db.describe_table(parse(operation, body)?))?;
            describe(core, answer, "Table")
        }
        Operation::UpdateTimeToLive => update_ttl(core, body),
        Operation::ListTables => render(db.list_tables(parse(operation, body)?)),
        Operation::DescribeTimeToLive => render(db.describe_time_to_live(parse(operation, body)?)),
        Operation::TagResource => render(db.tag_resource(parse(operation, body)?)),
        Operation::UntagResource => render(db.untag_resource(parse(operation, body)?)),
        Operation::ListTagsOfResource => {
            let request: ListTagsOfResourceRequest = parse(operation, body)?;
            let mut answer = db.list_tags_of_resource(request)?;
            answer.tags.retain(|tag| tag.key != STREAM_TAG);
            render(Ok(answer))
        }
        _ => Err(ApiError::unknown_operation()),
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct StreamSpecification {
    stream_enabled: bool,
    stream_view_type: Option<String>,
}

/// Creates or changes a table and its stream.
fn define(core: &Core, operation: Operation, body: &[u8]) -> Result<String, ApiError> {
    let mut request: Map<String, Value> = parse(operation, body)?;
    let stream = match request.remove("StreamSpecification") {
        Some(stream) => Some(stream_change(stream)?),
        None => None,
    };
    let name = request.get("TableName").and_then(Value::as_str);
    let name = name.unwrap_or_default().to_owned();
    let only_stream = stream.is_some() && request.len() == 1;
    let body = Value::Object(request).to_string();
    let body = body.as_bytes();

    let mut ledger = core.ledger();
    let answer = match operation {
        Operation::CreateTable => render(core.db.create_table(parse(operation, body)?))?,
        _ if only_stream => {
            let described = render(core.db.describe_table(parse(operation, body)?))?;
            described.replacen("\"Table\":", "\"TableDescription\":", 1)
        }
        _ => render(core.db.update_table(parse(operation, body)?))?,
    };
    if let Some(replicas) = &mut ledger.replicas
        && !only_stream
    {
        replicas.control(operation, body)?;
    }
    if let Some(change) = stream {
        set_stream(core, &mut ledger, &name, change)?;
    }
    ledger.forget(&name);
    drop(ledger);
    describe(core, answer, "TableDescription")
}

/// The view of a stream to switch on, or `None` to switch it off.
fn stream_change(specification: Value) -> Result<Option<StreamView>, ApiError> {
    let specification: StreamSpecification =
        serde_json::from_value(specification).map_err(|error| ApiError::serialization(&error.to_string()))?;
    if !specification.stream_enabled {
        return Ok(None);
    }
    let view = specification.stream_view_type.as_deref();
    let view = view.and_then(StreamView::from_name).ok_or_else(|| {
        ApiError::validation("One or more parameter values were invalid: StreamViewType is required when StreamEnabled is true")
    })?;
    Ok(Some(view))
}

fn set_stream(
    core: &Core,
    ledger: &mut Ledger,
    name: &str,
    view: Option<StreamView>,
) -> Result<(), ApiError> {
    let resource_arn = Some(streams::table_arn(name));
    let Some(view) = view else {
        core.db
            .untag_resource(UntagResourceRequest { resource_arn, tag_keys: vec![STREAM_TAG.to_owned()] })?;
        ledger.close_log(name);
        return Ok(());
    };
    let label = core.clock.now_micros().to_string();
    let settings = StreamSettings { view, label };
    core.db.tag_resource(TagResourceRequest {
        resource_arn,
        tags: vec![Tag { key: STREAM_TAG.to_owned(), value: settings.encode() }],
    })?;
    ledger.open_log(name);
    Ok(())
}

fn delete(core: &Core, body: &[u8]) -> Result<String, ApiError> {
    let operation = Operation::DeleteTable;
    let mut ledger = core.ledger();
    let answer = core.db.delete_table(parse(operation, body)?);
    let name = answer.as_ref().ok().map(|answer| answer.table_description.table_name.clone());
    let answer = render(answer)?;
    if let Some(replicas) = &mut ledger.replicas {
        replicas.control(operation, body)?;
    }
    ledger.drop_table(&name.unwrap_or_default());
    Ok(answer)
}

fn update_ttl(core: &Core, body: &[u8]) -> Result<String, ApiError> {
    let request: UpdateTimeToLiveRequest = parse(Operation::UpdateTimeToLive, body)?;
    let table_name = request.table_name.clone();
    let mut ledger = core.ledger();
    let answer = render(core.db.update_time_to_live(request))?;
    ledger.forget(&table_name);
    ledger.expiry.drop_table(&table_name);
    ledger.expiry.index(&table_name);
    Ok(answer)
}

/// Adds the stream to a response that describes a table.
fn describe(core: &Core, answer: String, member: &str) -> Result<String, ApiError> {
    let mut answer: Value = serde_json::from_str(&answer).expect("the answer was rendered as JSON");
    let description = &mut answer[member];
    let name = description["TableName"].as_str().unwrap_or_default();
    if let Some(table) = core.table(name)?
        && let Some(stream) = &table.stream
    {
        description["StreamSpecification"] = json!({"StreamEnabled": true, "StreamViewType": stream.view});
        description["LatestStreamLabel"] = json!(stream.label);
        description["LatestStreamArn"] = json!(table.stream_arn());
    }
    Ok(answer.to_string())
}
