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
pub(crate) struct Call {
    pub(crate) operation: Operation,
    pub(crate) request: ItemRequest,
    /// The positions in [`Call::touched`] of the items whose changes reads and the stream show only later.
    pub(crate) held_back: Vec<usize>,
}

/// The request of such a call.
#[derive(Debug)]
pub(crate) enum ItemRequest {
    Put(PutItemRequest),
    Update(UpdateItemRequest),
    Delete(DeleteItemRequest),
    BatchWrite(BatchWriteItemRequest),
    TransactWrite(TransactWriteItemsRequest),
    Get(GetItemRequest),
    BatchGet(BatchGetItemRequest),
    TransactGet(TransactGetItemsRequest),
    Query(QueryRequest),
    Scan(ScanRequest),
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
        let request = match operation {
            Operation::PutItem => parse(operation, body).map(ItemRequest::Put),
            Operation::UpdateItem => parse(operation, body).map(ItemRequest::Update),
            Operation::DeleteItem => parse(operation, body).map(ItemRequest::Delete),
            Operation::BatchWriteItem => parse(operation, body).map(ItemRequest::BatchWrite),
            Operation::TransactWriteItems => parse(operation, body).map(ItemRequest::TransactWrite),
            Operation::GetItem => parse(operation, body).map(ItemRequest::Get),
            Operation::BatchGetItem => parse(operation, body).map(ItemRequest::BatchGet),
            Operation::TransactGetItems => parse(operation, body).map(ItemRequest::TransactGet),
            Operation::Query => parse(operation, body).map(ItemRequest::Query),
            Operation::Scan => parse(operation, body).map(ItemRequest::Scan),
            _ => return None,
        };
        Some(request.map(|request| Self { operation, request, held_back: Vec::new() }))
    }

    /// The items that the call names, in the request's order. A query or scan names none.
    pub(crate) fn touched(&self) -> Vec<Touched<'_>> {
        let one = |table, item| vec![Touched { table, item }];
        match &self.request {
            ItemRequest::Put(put) => one(&put.table_name, &put.item),
            ItemRequest::Update(update) => one(&update.table_name, &update.key),
            ItemRequest::Delete(delete) => one(&delete.table_name, &delete.key),
            ItemRequest::Get(get) => one(&get.table_name, &get.key),
            ItemRequest::BatchWrite(batch) => batch
                .request_items
                .iter()
                .flat_map(|(table, writes)| {
                    writes.iter().filter_map(|write| Some(Touched { table, item: written(write)? }))
                })
                .collect(),
            ItemRequest::BatchGet(batch) => batch
                .request_items
                .iter()
                .flat_map(|(table, keys)| keys.keys.iter().map(|item| Touched { table, item }))
                .collect(),
            ItemRequest::TransactWrite(transaction) => {
                transaction.transact_items.iter().filter_map(action).collect()
            }
            ItemRequest::TransactGet(transaction) => transaction
                .transact_items
                .iter()
                .map(|item| Touched { table: &item.get.table_name, item: &item.get.key })
                .collect(),
            ItemRequest::Query(_) | ItemRequest::Scan(_) => Vec::new(),
        }
    }

    /// The replica, of the table or of an index, that may answer the call. `None` for writes and consistent reads.
    pub(crate) fn staleness(&self) -> Option<Staleness> {
        let (consistent, index) = match &self.request {
            ItemRequest::Get(get) => (get.consistent_read, false),
            ItemRequest::Query(query) => (query.consistent_read, query.index_name.is_some()),
            ItemRequest::Scan(scan) => (scan.consistent_read, scan.index_name.is_some()),
            ItemRequest::BatchGet(batch) => {
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
    /// each. A call that is no batch has none.
    pub(crate) fn hold_back(&mut self, held_back: impl FnMut(&str, &Item) -> bool) -> Unprocessed {
        let (member, items) = match &mut self.request {
            ItemRequest::BatchWrite(batch) => ("UnprocessedItems", hold_back_writes(batch, held_back)),
            ItemRequest::BatchGet(batch) => ("UnprocessedKeys", hold_back_keys(batch, held_back)),
            _ => return Unprocessed::default(),
        };
        Unprocessed { member, items }
    }

    /// Runs the call and renders its response.
    pub(crate) fn run(self, db: &Database) -> Result<String, ApiError> {
        match self.request {
            ItemRequest::Put(request) => render(db.put_item(request)),
            ItemRequest::Update(request) => render(db.update_item(request)),
            ItemRequest::Delete(request) => render(db.delete_item(request)),
            ItemRequest::BatchWrite(request) => render(db.batch_write_item(request)),
            ItemRequest::TransactWrite(request) => render(db.transact_write_items(request)),
            ItemRequest::Get(request) => render(db.get_item(request)),
            ItemRequest::BatchGet(request) => render(db.batch_get_item(request)),
            ItemRequest::TransactGet(request) => render(db.transact_get_items(request)),
            ItemRequest::Query(request) => render(db.query(request)),
            ItemRequest::Scan(request) => render(db.scan(request)),
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
#[derive(Default)]
pub(crate) struct Unprocessed {
    member: &'static str,
    items: Map<String, Value>,
}

impl Unprocessed {
    /// Adds the items, if there are any, to the response of the others.
    pub(crate) fn add_to(self, answer: String) -> String {
        if self.items.is_empty() {
            return answer;
        }
        let mut answer: Value = serde_json::from_str(&answer).expect("the answer was rendered as JSON");
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
        let held = [
            ("Keys", Value::from(keys)),
            ("ProjectionExpression", json!(request.projection_expression)),
            ("ExpressionAttributeNames", json!(request.expression_attribute_names)),
            ("ConsistentRead", json!(request.consistent_read)),
            ("AttributesToGet", json!(request.attributes_to_get)),
        ];
        let held = held.into_iter().filter(|(_, value)| !value.is_null());
        unprocessed.insert(table.clone(), held.collect());
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
    let invalid = ["missing field", "unknown variant", "invalid type: null", "AttributeValue"];
    match message.split_once(':') {
        Some(("VALIDATION_REQUEST", message)) if operation.is_single_write() => {
            ApiError::validation(&format!("1 validation error detected: {message}"))
        }
        Some(("VALIDATION_REQUEST" | "VALIDATION" | "VALIDATION_AS_READ", message)) => {
            ApiError::validation(message)
        }
        Some(("SERIALIZATION" | "SERIALIZATION_AS_READ", message)) => ApiError::serialization(message),
        _ if invalid.iter().any(|part| message.contains(part)) => ApiError::validation(message),
        _ => ApiError::serialization(message),
    }
}

/// Renders a response as JSON.
pub(crate) fn render<T: Serialize>(answer: Result<T, DynoxideError>) -> Result<String, ApiError> {
    let answer = answer?;
    Ok(serde_json::to_string(&answer).expect("dynoxide's answers have string keys"))
}
