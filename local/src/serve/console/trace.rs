//! The trace of a read: the DynamoDB calls of one GET, which runs inside the process.
//!
//! The routes are the API's and the caller is the request's, but the store is new and has empty caches. So the price is
//! that of a process's first read, the directory included. Injected faults apply to these calls too.

use std::sync::{Arc, Mutex, PoisonError};

use aws_smithy_runtime_api::client::http::{
    HttpClient, HttpConnector, HttpConnectorFuture, SharedHttpConnector, http_client_fn,
};
use aws_smithy_runtime_api::client::orchestrator::HttpRequest;
use axum::Extension;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::StatusCode;
use lately_kit::answer::Json;
use lately_kit::body::Whole;
use lately_kit::caller::{Caller, Identity};
use lately_kit::log::COST_HEADER;
use lately_kit::problem::Problem;
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use tower::ServiceExt;

use crate::serve::console::ConsoleState;
use crate::serve::console::limits::TRACED_BYTES;
use crate::serve::console::refusal::{self, child, refused};

#[derive(Serialize)]
pub(super) struct Trace {
    status: u16,
    cost: Option<String>,
    calls: Vec<Value>,
    body: Option<Box<RawValue>>,
}

/// Calls, as the page shows them. Clones share the record.
type CallRecord = Arc<Mutex<Vec<Value>>>;

/// Passes requests on to the engine, and records the calls that get a response.
#[derive(Debug)]
struct Witness {
    engine: SharedHttpConnector,
    calls: CallRecord,
}

fn parsed(bytes: Option<&[u8]>) -> Value {
    serde_json::from_slice(bytes.unwrap_or_default()).unwrap_or_default()
}

impl HttpConnector for Witness {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let target = request.headers().get("x-amz-target").unwrap_or_default();
        let operation = target.rsplit('.').next().unwrap_or_default().to_owned();
        let sent = parsed(request.body().bytes());
        let (calls, answered) = (Arc::clone(&self.calls), self.engine.call(request));
        HttpConnectorFuture::new(async move {
            let response = answered.await?;
            let call = view_call(&operation, &sent, &parsed(response.body().bytes()));
            calls.lock().unwrap_or_else(PoisonError::into_inner).push(call);
            Ok(response)
        })
    }
}

/// A call to DynamoDB, as the page shows it.
fn view_call(operation: &str, request: &Value, response: &Value) -> Value {
    // The tables of a batch; none of another call.
    let tables = || request["RequestItems"].as_object().into_iter().flat_map(Map::values);
    let keys = tables().filter_map(|table| table["Keys"].as_array()).flatten();
    let mut keys = keys.map(|key| key["pk"]["S"].clone());
    let own = ["Key", "Item"].map(|name| request[name]["pk"]["S"].clone());
    let own = own.into_iter().chain([queried(request)]).find(Value::is_string);
    let partition = own.or_else(|| keys.next());
    let capacity = &response["ConsumedCapacity"];
    let capacities = capacity.as_array().map_or(std::slice::from_ref(capacity), Vec::as_slice);
    let is_read = ["Query", "GetItem", "BatchGetItem"].contains(&operation);
    let units = capacities.iter().filter(|_| is_read).filter_map(|it| it["CapacityUnits"].as_f64());
    json!({
        "operation": operation,
        "index": request["IndexName"],
        // The queried partition, or the partition of the first item in the request, and the number of further items.
        "partition": partition,
        "others": keys.count(),
        "items": items(response),
        "read_units": units.sum::<f64>(),
        "consistent": tables().next().unwrap_or(request)["ConsistentRead"] == true,
    })
}

/// The partition of a query, which is the first part of its key condition.
fn queried(request: &Value) -> Value {
    let condition = request["KeyConditionExpression"].as_str().unwrap_or_default();
    let first = condition.split(" AND ").next().unwrap_or_default();
    let name = first.split_once(" = ").map_or("", |(_, name)| name);
    request["ExpressionAttributeValues"][name]["S"].clone()
}

/// The number of items in a response.
fn items(response: &Value) -> usize {
    let found = response["Responses"].as_object().into_iter().flat_map(Map::values);
    let found: usize = found.filter_map(Value::as_array).map(Vec::len).sum();
    let counted = response["Count"].as_u64().and_then(|count| usize::try_from(count).ok());
    counted.unwrap_or_default() + found + usize::from(response["Item"].is_object())
}

/// Marks the response to a request that matches no route.
#[derive(Clone, Copy)]
struct Unrouted;

pub(super) async fn trace(
    State(shared): State<ConsoleState>,
    caller: Caller,
    Whole(body): Whole,
) -> Result<Json<Trace>, Problem> {
    let request = Request::get(target(&body)?).extension(Identity::Known(caller)).body(Body::empty());
    let request = request.map_err(|_| not_a_route())?;
    let (calls, client) = (CallRecord::default(), shared.parts.system.faults.client());
    let engine = client.config().http_client().expect("the engine is the client's HTTP client");
    let record = Arc::clone(&calls);
    let http = http_client_fn(move |settings, components| {
        let engine = engine.http_connector(settings, components);
        SharedHttpConnector::new(Witness { engine, calls: Arc::clone(&record) })
    });
    let config = client.config().to_builder().http_client(http).build();
    let system = shared.parts.system.through(aws_sdk_dynamodb::Client::from_conf(config));
    let router = system.routes().into_router().fallback(async || Extension(Unrouted));
    let answered = router.oneshot(request).await.unwrap_or_else(|never| match never {});
    let is_unrouted = answered.extensions().get::<Unrouted>().is_some();
    if is_unrouted || answered.status() == StatusCode::METHOD_NOT_ALLOWED {
        return Err(not_a_route());
    }
    let (parts, body) = answered.into_parts();
    let body = to_bytes(body, TRACED_BYTES).await.map_err(|error| Problem::unavailable(&error))?;
    let calls = std::mem::take(&mut *calls.lock().unwrap_or_else(PoisonError::into_inner));
    let cost = parts.headers.get(COST_HEADER).and_then(|cost| cost.to_str().ok()).map(str::to_owned);
    let body = serde_json::from_slice(&body).ok();
    Ok(Json(Trace { status: parts.status.as_u16(), cost, calls, body }))
}

/// Parses the body `{"target"}` of a trace.
fn target(body: &[u8]) -> Result<String, Problem> {
    let body = refusal::json(body)?;
    let Some(fields) = body.as_object() else { return Err(refused("", "must be a JSON object")) };
    if let Some(name) = fields.keys().find(|name| *name != "target") {
        return Err(refused(&child("", name), "is unknown"));
    }
    let target = body["target"].as_str().filter(|target| target.starts_with('/'));
    target.map(str::to_owned).ok_or_else(not_a_route)
}

fn not_a_route() -> Problem {
    refused("/target", "must be the path and the query of a GET route of the API")
}
