//! Parts of a request that the OpenAPI document does not declare: each operation refuses them, and does nothing else.

use std::convert::Infallible;

use axum::body::Body;
use axum::http::request::Builder;
use futures_util::future::ready;
use futures_util::stream::once;
use serde_json::Value;

use crate::methods::filled;
use crate::support::{Api, OPENAPI, event, request, resolved};

/// An operation of the document.
struct Operation {
    method: String,
    path: &'static str,
    parameters: Vec<&'static Value>,
    body: Option<&'static Value>,
}

/// All operations of the document.
fn operations() -> Vec<Operation> {
    let mut operations = Vec::new();
    for (path, item) in OPENAPI["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap().iter().filter(|(name, _)| *name != "parameters")
        {
            let parameters = [&item["parameters"], &operation["parameters"]];
            let parameters = parameters.iter().filter_map(|list| list.as_array()).flatten().map(resolved);
            let (method, parameters) = (method.to_uppercase(), parameters.collect());
            operations.push(Operation { method, path, parameters, body: operation.get("requestBody") });
        }
    }
    operations
}

impl Operation {
    /// The operation's call with its required parameters and `more` of them.
    fn line(&self, more: Option<&str>) -> String {
        let is_required = |it: &&&Value| it["in"] == "query" && it["required"] == true;
        let required = self.parameters.iter().filter(is_required);
        let required = required.map(|it| format!("{}=ada", it["name"].as_str().unwrap()));
        let query: Vec<_> = required.chain(more.map(str::to_owned)).collect();
        format!("{} {}?{}", self.method, filled(self.path), query.join("&"))
    }

    fn declares_header(&self, name: &str) -> bool {
        self.parameters.iter().any(|it| it["in"] == "header" && it["name"] == name)
    }

    /// The bodies that the operation shows as examples; none if it declares no body.
    fn bodies(&self) -> Vec<&'static Value> {
        let Some(body) = self.body else { return Vec::new() };
        let content = &body["content"]["application/json"];
        match content["examples"].as_object() {
            Some(examples) => examples.values().map(|example| &example["value"]).collect(),
            None => vec![&content["example"]],
        }
    }

    /// A body that the operation accepts; empty if it declares none.
    fn body(&self) -> String {
        self.bodies().first().map(ToString::to_string).unwrap_or_default()
    }

    /// The examples, each with an unknown field, and the path of this field. None if a body may have any field.
    fn bodies_with_an_unknown_field(&self) -> Vec<(Value, &'static str)> {
        let takes_any_field = self.path == "/users/{user}/profile" || self.path == "/settings/{app}";
        let examples = self.bodies().into_iter().filter(|_| !takes_any_field);
        let changed = examples.map(|example| match example.clone() {
            Value::Array(mut events) => {
                events[0]["bogus"] = Value::Null;
                (Value::Array(events), "/0/bogus")
            }
            mut body => {
                body["bogus"] = Value::Null;
                (body, "/bogus")
            }
        });
        changed.collect()
    }
}

fn as_dev(line: &str) -> Builder {
    request(line).header("authorization", "Bearer dev")
}

#[tokio::test]
async fn every_operation_refuses_what_the_document_does_not_declare() {
    let api = Api::with_posts().await;
    api.call("ada", "POST /topics/posts/events", event().to_string()).await.is_ok(201);
    api.call("ada", "PUT /users/user/profile", "{}").await;
    let before = api.items().await;
    let operations = operations();
    assert!(operations.len() >= 50, "{}", operations.len());
    for operation in &operations {
        let line = operation.line(None);
        for query in ["bogus=1", "dry_run=true&bogus", "%62ogus=1"] {
            let answer = api.send(as_dev(&operation.line(Some(query))), operation.body()).await;
            assert!(answer.is(400, "invalid-query").faults().contains(&"/bogus".to_owned()), "{line}");
        }
        if operation.body.is_none() {
            api.send(as_dev(&line), "{}").await.is(422, "invalid-body");
            let of_unknown_length = Body::from_stream(once(ready(Ok::<_, Infallible>("{}"))));
            api.send(as_dev(&line), of_unknown_length).await.is(422, "invalid-body");
        }
        for (body, path) in operation.bodies_with_an_unknown_field() {
            let answer = api.send(as_dev(&line), body.to_string()).await;
            assert!(answer.status == 422 && answer.faults().contains(&path.to_owned()), "{line}: {body}");
        }
        for encoding in ["gzip", "identity, br", "GZIP"] {
            let encoded = as_dev(&line).header("content-encoding", encoding);
            api.send(encoded, operation.body()).await.is(415, "unsupported-encoding");
        }
        if !operation.declares_header("Idempotency-Key") {
            let keyed = as_dev(&line).header("idempotency-key", "k1");
            api.send(keyed, operation.body()).await.is(400, "invalid-idempotency-key");
        }
        assert_eq!(api.items().await, before, "{line} had an effect");
    }
}

/// A caller who may not use a route learns nothing about it, and pays nothing for a request that is refused.
#[tokio::test]
async fn a_refusal_of_the_caller_comes_first() {
    let api = Api::with_posts().await;
    for (token, status, code) in [("eve", 403, "invalid-token"), ("ada", 403, "forbidden")] {
        api.call(token, "PUT /topics/posts?bogus=1", "{}").await.is(status, code);
    }
}

#[tokio::test]
async fn the_identity_encoding_and_an_empty_body_are_no_reason_to_refuse() {
    let api = Api::with_posts().await;
    for encoding in ["identity", "", "Identity"] {
        let read = as_dev("GET /topics/posts?&").header("content-encoding", encoding);
        api.send(read.header("content-length", "0"), "").await.is_ok(200);
    }
}
