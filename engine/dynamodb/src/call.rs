//! A request that reads or writes items, parsed once: its operation, and the items that it touches.

use dynoxide::actions::batch_get_item::BatchGetItemRequest;
use dynoxide::actions::batch_write_item::{BatchWriteItemRequest, WriteRequest};
use dynoxide::actions::delete_item::DeleteItemRequest;
use dynoxide::actions::get_item::GetItemRequest;
use dynoxide::actions::put_item::PutItemRequest;
use dynoxide::actions::query::QueryRequest;
use dynoxide::actions::scan::ScanRequest;
use dynoxide::actions::transact_get_items::TransactGetItemsRequest;
use dynoxide::actions::transact_write_items::{TransactWriteItem, TransactWriteItemsRequest};
use dynoxide::actions::update_item::UpdateItemRequest;
use dynoxide::{Database, DynoxideError, Item};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use crate::api_error::ApiError;
use crate::operation::Operation;

/// A call that reads or writes items.
#[derive(Debug)]
pub(crate) enum Call {
    Put(PutItemRequest),
    Update(UpdateItemRequest),
    Delete(DeleteItemRequest),
    BatchWrite(BatchWriteItemRequest),
    TransactWrite(Transaction),
    Get(GetItemRequest),
    BatchGet(BatchGetItemRequest),
    TransactGet(TransactGetItemsRequest),
    Query(QueryRequest),
    Scan(ScanRequest),
}

/// A transaction that writes.
#[derive(Debug)]
pub(crate) struct Transaction {
    pub(crate) request: TransactWriteItemsRequest,
    /// The positions in [`Call::touched`] of the items whose changes reads and the stream show only later.
    pub(crate) held_back: Vec<usize>,
}

/// One item that a call names. A put names it by the whole item, any other call by its key.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Touched<'a> {
    pub(crate) table: &'a str,
    pub(crate) item: &'a Item,
}

impl Call {
    /// Parses a request's body. `None` if the operation neither reads nor writes items.
    pub(crate) fn parse(operation: Operation, body: &[u8]) -> Option<Result<Self, ApiError>> {
        Some(match operation {
            Operation::PutItem => parse(operation, body).map(Self::Put),
            Operation::UpdateItem => parse(operation, body).map(Self::Update),
            Operation::DeleteItem => parse(operation, body).map(Self::Delete),
            Operation::BatchWriteItem => parse(operation, body).map(Self::BatchWrite),
            Operation::TransactWriteItems => parse(operation, body)
                .map(|request| Self::TransactWrite(Transaction { request, held_back: Vec::new() })),
            Operation::GetItem => parse(operation, body).map(Self::Get),
            Operation::BatchGetItem => parse(operation, body).map(Self::BatchGet),
            Operation::TransactGetItems => parse(operation, body).map(Self::TransactGet),
            Operation::Query => parse(operation, body).map(Self::Query),
            Operation::Scan => parse(operation, body).map(Self::Scan),
            _ => return None,
        })
    }

    /// True if the call may change items.
    pub(crate) fn is_write(&self) -> bool {
        matches!(
            self,
            Self::Put(_) | Self::Update(_) | Self::Delete(_) | Self::BatchWrite(_) | Self::TransactWrite(_)
        )
    }

    /// The items that the call names, in the request's order. A query or scan names none.
    pub(crate) fn touched(&self) -> Vec<Touched<'_>> {
        let one = |table, item| vec![Touched { table, item }];
        match self {
            Self::Put(put) => one(&put.table_name, &put.item),
            Self::Update(update) => one(&update.table_name, &update.key),
            Self::Delete(delete) => one(&delete.table_name, &delete.key),
            Self::Get(get) => one(&get.table_name, &get.key),
            Self::BatchWrite(batch) => batch
                .request_items
                .iter()
                .flat_map(|(table, writes)| {
                    writes.iter().filter_map(|write| Some(Touched { table, item: written(write)? }))
                })
                .collect(),
            Self::BatchGet(batch) => batch
                .request_items
                .iter()
                .flat_map(|(table, keys)| keys.keys.iter().map(|item| Touched { table, item }))
                .collect(),
            Self::TransactWrite(transaction) => {
                transaction.request.transact_items.iter().filter_map(action).collect()
            }
            Self::TransactGet(transaction) => transaction
                .transact_items
                .iter()
                .map(|item| Touched { table: &item.get.table_name, item: &item.get.key })
                .collect(),
            Self::Query(_) | Self::Scan(_) => Vec::new(),
        }
    }

    /// The positions in [`Call::touched`] of the items whose changes are shown only later.
    pub(crate) fn held_back(&self) -> &[usize] {
        match self {
            Self::TransactWrite(transaction) => &transaction.held_back,
            _ => &[],
        }
    }

    /// The replica, of the table or of an index, that may answer the call. `None` for writes and consistent reads.
    pub(crate) fn staleness(&self) -> Option<Staleness> {
        let (consistent, index) = match self {
            Self::Get(get) => (get.consistent_read, false),
            Self::Query(query) => (query.consistent_read, query.index_name.is_some()),
            Self::Scan(scan) => (scan.consistent_read, scan.index_name.is_some()),
            Self::BatchGet(batch) => {
                let all = batch.request_items.values();
                let consistent = all.into_iter().any(|k| k.consistent_read == Some(true));
                (Some(consistent), false)
            }
            _ => return None,
        };
        match (consistent, index) {
            (Some(true), _) => None,
            (_, true) => Some(Staleness::Index),
            (_, false) => Some(Staleness::Table),
        }
    }

    /// Removes the items that `held_back` selects from a batch. The closure is called with the table and the item or key of
    /// each. `None` if it selects none, or the call is no batch.
    pub(crate) fn hold_back(&mut self, held_back: impl FnMut(&str, &Item) -> bool) -> Option<Unprocessed> {
        let (member, items) = match self {
            Self::BatchWrite(batch) => ("UnprocessedItems", hold_back_writes(batch, held_back)),
            Self::BatchGet(batch) => ("UnprocessedKeys", hold_back_keys(batch, held_back)),
            _ => return None,
        };
        (!items.is_empty()).then_some(Unprocessed { member, items })
    }

    /// Runs the call and renders its response.
    pub(crate) fn run(self, db: &Database) -> Result<String, ApiError> {
        match self {
            Self::Put(request) => render(db.put_item(request)),
            Self::Update(request) => render(db.update_item(request)),
            Self::Delete(request) => render(db.delete_item(request)),
            Self::BatchWrite(request) => render(db.batch_write_item(request)),
            Self::TransactWrite(transaction) => render(db.transact_write_items(transaction.request)),
            Self::Get(request) => render(db.get_item(request)),
            Self::BatchGet(request) => render(db.batch_get_item(request)),
            Self::TransactGet(request) => render(db.transact_get_items(request)),
            Self::Query(request) => render(db.query(request)),
            Self::Scan(request) => render(db.scan(request)),
        }
    }
}

/// The replica that may answer an eventually consistent read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Staleness {
    Table,
    Index,
}

/// The item that a write of a batch puts, or the key that it deletes.
fn written(write: &WriteRequest) -> Option<&Item> {
    match (&write.put_request, &write.delete_request) {
        (Some(put), _) => Some(&put.item),
        (None, Some(delete)) => Some(&delete.key),
        (None, None) => None,
    }
}

fn action(action: &TransactWriteItem) -> Option<Touched<'_>> {
    let (table, item) = if let Some(put) = &action.put {
        (&put.table_name, &put.item)
    } else if let Some(update) = &action.update {
        (&update.table_name, &update.key)
    } else if let Some(delete) = &action.delete {
        (&delete.table_name, &delete.key)
    } else {
        let check = action.condition_check.as_ref()?;
        (&check.table_name, &check.key)
    };
    Some(Touched { table, item })
}

/// The items of a batch that are not processed, and the member of the response that lists them.
pub(crate) struct Unprocessed {
    member: &'static str,
    items: Map<String, Value>,
}

impl Unprocessed {
    /// Adds the items to the response of the others.
    pub(crate) fn add_to(self, answer: &str) -> String {
        let mut answer: Value = serde_json::from_str(answer).expect("the answer was rendered as JSON");
        answer[self.member] = Value::Object(self.items);
        answer.to_string()
    }
}

fn hold_back_writes(
    batch: &mut BatchWriteItemRequest,
    mut held_back: impl FnMut(&str, &Item) -> bool,
) -> Map<String, Value> {
    let mut unprocessed = Map::new();
    for (table, writes) in &mut batch.request_items {
        let held = writes.extract_if(.., |write| written(write).is_some_and(|item| held_back(table, item)));
        let held: Vec<_> = held.map(|write| write_json(&write)).collect();
        if !held.is_empty() {
            unprocessed.insert(table.clone(), Value::from(held));
        }
    }
    batch.request_items.retain(|_, writes| !writes.is_empty());
    unprocessed
}

fn write_json(write: &WriteRequest) -> Value {
    match (&write.put_request, &write.delete_request) {
        (Some(put), _) => json!({"PutRequest": {"Item": put.item}}),
        (None, Some(delete)) => json!({"DeleteRequest": {"Key": delete.key}}),
        (None, None) => json!({}),
    }
}

fn hold_back_keys(
    batch: &mut BatchGetItemRequest,
    mut held_back: impl FnMut(&str, &Item) -> bool,
) -> Map<String, Value> {
    let mut unprocessed = Map::new();
    for (table, request) in &mut batch.request_items {
        let keys = request.keys.extract_if(.., |key| held_back(table, key));
        let keys: Vec<_> = keys.map(|key| json!(key)).collect();
        if keys.is_empty() {
            continue;
        }
        let mut held = Map::from_iter([("Keys".to_owned(), Value::from(keys))]);
        let options = [
            ("ProjectionExpression", json!(request.projection_expression)),
            ("ExpressionAttributeNames", json!(request.expression_attribute_names)),
            ("ConsistentRead", json!(request.consistent_read)),
            ("AttributesToGet", json!(request.attributes_to_get)),
        ];
        for (name, value) in options {
            if !value.is_null() {
                held.insert(name.to_owned(), value);
            }
        }
        unprocessed.insert(table.clone(), Value::Object(held));
    }
    batch.request_items.retain(|_, request| !request.keys.is_empty());
    unprocessed
}

/// Parses a body. dynoxide's parsers put the type of the error at the head of their messages, and DynamoDB's response
/// depends on that type.
pub(crate) fn parse<T: DeserializeOwned>(operation: Operation, body: &[u8]) -> Result<T, ApiError> {
    serde_json::from_slice(body).map_err(|error| parse_error(operation, &error.to_string()))
}

fn parse_error(operation: Operation, message: &str) -> ApiError {
    let message = message.rfind(" at line ").map_or(message, |end| &message[..end]);
    let single_write =
        matches!(operation, Operation::PutItem | Operation::UpdateItem | Operation::DeleteItem);
    if let Some(message) = message.strip_prefix("VALIDATION_REQUEST:") {
        return if single_write {
            ApiError::validation(&format!("1 validation error detected: {message}"))
        } else {
            ApiError::validation(message)
        };
    }
    for marker in ["VALIDATION:", "VALIDATION_AS_READ:"] {
        if let Some(message) = message.strip_prefix(marker) {
            return ApiError::validation(message);
        }
    }
    for marker in ["SERIALIZATION:", "SERIALIZATION_AS_READ:"] {
        if let Some(message) = message.strip_prefix(marker) {
            return ApiError::serialization(message);
        }
    }
    let invalid = ["missing field", "unknown variant", "invalid type: null"];
    if invalid.iter().any(|start| message.contains(start)) || message.contains("AttributeValue") {
        return ApiError::validation(message);
    }
    ApiError::serialization(message)
}

/// Renders a response as JSON.
pub(crate) fn render<T: Serialize>(answer: Result<T, DynoxideError>) -> Result<String, ApiError> {
    let answer = answer?;
    Ok(serde_json::to_string(&answer).expect("dynoxide's answers have string keys"))
}
