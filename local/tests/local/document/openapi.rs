//! The OpenAPI document, made from the routes and the story.

use std::collections::BTreeMap;

use indexmap::IndexMap;
use lately_kit::access::Rule;
use lately_kit::code::Code;
use lately_kit::document::{self, Operation, Success};
use lately_kit::op::Price;
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use utoipa::openapi::schema::SchemaType;
use utoipa::openapi::{ObjectBuilder, Ref, RefOr, Schema, Type};

use super::schemas::Types;
use super::story::{Exchange, Story};

const JSON: &str = "application/json";
const PROBLEM: &str = "application/problem+json";
const NDJSON: &str = "application/x-ndjson";

#[derive(Serialize)]
struct Document {
    openapi: &'static str,
    info: Value,
    servers: Value,
    security: Value,
    tags: Vec<Value>,
    paths: IndexMap<&'static str, IndexMap<String, OperationObject>>,
    components: Components,
}

#[derive(Serialize)]
struct Components {
    schemas: IndexMap<String, Schema>,
    headers: Value,
    responses: BTreeMap<String, Response>,
    #[serde(rename = "securitySchemes")]
    security_schemes: Value,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct OperationObject {
    operation_id: String,
    tags: [&'static str; 1],
    summary: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    description: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    security: Option<Value>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    parameters: Vec<Parameter>,
    #[serde(skip_serializing_if = "Option::is_none")]
    request_body: Option<BodyObject>,
    responses: BTreeMap<String, Response>,
}

#[derive(Serialize)]
struct Parameter {
    name: String,
    #[serde(rename = "in")]
    place: &'static str,
    required: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    schema: RefOr<Schema>,
    #[serde(skip_serializing_if = "Option::is_none")]
    example: Option<Value>,
}

impl Parameter {
    /// Parameters with the same name and schema may have the same example.
    fn key(&self) -> (String, String) {
        (self.name.clone(), serde_json::to_string(&self.schema).unwrap())
    }
}

#[derive(Serialize)]
struct BodyObject {
    required: bool,
    content: IndexMap<&'static str, Media>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Response {
    Shared {
        #[serde(rename = "$ref")]
        reference: String,
    },
    Own(ResponseObject),
}

#[derive(Serialize)]
struct ResponseObject {
    description: String,
    #[serde(skip_serializing_if = "IndexMap::is_empty")]
    headers: IndexMap<&'static str, Value>,
    #[serde(skip_serializing_if = "IndexMap::is_empty")]
    content: IndexMap<&'static str, Media>,
}

#[derive(Default, Serialize)]
struct Media {
    schema: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    example: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "IndexMap::is_empty")]
    examples: IndexMap<String, Example>,
}

#[derive(Serialize)]
struct Example {
    value: Box<RawValue>,
}

const ABOUT: &str = "Times are RFC 3339 in UTC. Every response other than 2xx is a problem (RFC 9457) with a stable \
    `code`. A path that is not listed here is 404 `route-not-found`. A method that its path does not have is 405 \
    `method-not-allowed`, and the header `Allow` lists the methods of the path. `HEAD` answers like `GET`, without the \
    body. On AWS the gateway answers every method that is not listed here with 404. On AWS the gateway itself answers \
    some requests, with 401, 403, 404, 413, 429 or 503 and only a message. Every response to a caller with a limit for \
    such requests has the headers `RateLimit` and `RateLimit-Policy`, as 429 shows them. A response body of 1 KiB or \
    more is compressed with gzip if the client accepts it.";

const ABOUT_STREAMS: &str = "Each message has the settled position as its `id`: connect again with the header \
    `Last-Event-ID` to miss nothing. The messages are `event`, `late` (for an event that arrived behind the settled \
    position), `settled` (at least every 15 s) and `problem` (before the stream ends in an error). The stream ends after \
    at most 14 minutes (on AWS after `LiveSeconds`, 90 by default). On AWS the route is at the stack's `LiveUrl`, and the \
    gateway does not know it.";

const STREAM: &str = "event: event\nid: AQHW7UHyGNUTOgEBmqC3ohF6PIAAHJ0Ct-ZP4QR2sw\ndata: \
    {\"id\":\"019aa0b7-9a40-7000-8000-5f3c9e1d2a77\",\"at\":\"2025-11-20T10:02:58.496Z\",\"type\":\"post.created\",\"actor\":\"ada\"}\n\n";

/// Makes the document.
pub(super) fn document(operations: &[Operation], story: &Story) -> String {
    let maker = Maker::new(operations, story);
    let mut paths = IndexMap::<_, IndexMap<_, _>>::new();
    for operation in operations {
        let of_path = paths.entry(operation.path).or_default();
        of_path.insert(operation.method.as_str().to_lowercase(), maker.operation(operation));
    }
    let bodies: Vec<_> = operations.iter().filter_map(|it| it.arguments.body.as_ref()).collect();
    let mut schemas = maker.types.named(&bodies);
    let message = ObjectBuilder::new().property("message", ObjectBuilder::new().schema_type(Type::String));
    let about = "The body of a response that the gateway itself makes on AWS.";
    let gateway = message.required("message").description(Some(about)).build();
    schemas.insert("GatewayMessage".to_owned(), Schema::Object(gateway));
    let tags: IndexMap<_, _> =
        operations.iter().map(|it| (it.text.tag, json!({"name": it.text.tag}))).collect();
    let document = Document {
        openapi: "3.1.0",
        info: info(),
        servers: json!([{"url": "/"}]),
        security: json!([{"token": []}]),
        tags: tags.into_values().collect(),
        paths,
        components: Components {
            schemas,
            headers: headers(),
            responses: maker.shared_responses(),
            security_schemes: json!({"token": {
                "type": "http",
                "scheme": "bearer",
                "description": "A session's token, or a JWT of an issuer that the stack trusts. The local program \
                    accepts dev (an admin), ada, bob and carol (users).",
            }}),
        },
    };
    serde_json::to_string_pretty(&document).unwrap() + "\n"
}

fn info() -> Value {
    json!({
        "title": "Lately",
        "version": env!("CARGO_PKG_VERSION"),
        "summary": "The latest events first, in exact order.",
        "description": ABOUT,
        "license": {"name": "Apache-2.0 OR MIT", "identifier": "Apache-2.0 OR MIT"},
    })
}

/// The headers of costs and limits, which many responses have.
fn headers() -> Value {
    let read = r"read_units=\d+\.[05], calls=\d+, items=\d+, rounds=\d+|items=\d+";
    let write = r"write_units=\d+\.[05], calls=\d+";
    json!({
        "Lately-Cost": {
            "description": "The cost of the read, as DynamoDB reported it. For a session that is limited to topics, the \
                cost of a timeline, a feed or an unread count is only the number of items that the response shows.",
            "required": true,
            "schema": {"type": "string", "pattern": format!("^({read})$")},
        },
        "Lately-Cost-Of-A-Write": {
            "description": "The cost of the write, as DynamoDB reported it.",
            "required": true,
            "schema": {"type": "string", "pattern": format!("^{write}$")},
        },
        "Lately-Cost-Of-A-Failure": {
            "description": "The cost at DynamoDB before the request failed, in the form of the route. A failure that the \
                gateway answers does not have this header.",
            "schema": {"type": "string", "pattern": format!("^({read}|{write})$")},
        },
    })
}

/// A header of a response: its description, and its schema.
fn header(name: &str) -> (&'static str, Value) {
    let etag = json!({"type": "string", "pattern": "^\"[0-9]{1,20}\"$"});
    match name {
        "ETag" => ("The revision of the document.", etag),
        "Location" => (
            "The path of the thing that the request made.",
            json!({"type": "string", "pattern": "^(/[^/]+)+$"}),
        ),
        "Idempotent-Replayed" => {
            ("Present if this response was returned before.", json!({"type": "string", "const": "true"}))
        }
        "Cache-Control" => ("`no-store`: a stream is not cached.", json!({"type": "string"})),
        "X-Accel-Buffering" => {
            ("`no`: asks proxies to pass on each message at once.", json!({"type": "string"}))
        }
        "WWW-Authenticate" => ("The method of authentication.", json!({"type": "string", "const": "Bearer"})),
        "Retry-After" => ("The seconds to wait before a retry.", json!({"type": "integer", "minimum": 1})),
        "RateLimit" => (
            "The writes or reads that the caller may make now, as far as the process knows (`r`), and with 429 the \
             seconds after which the same request may be made (`t`), in the form of the IETF's draft. The gateway's own \
             429 does not have it.",
            json!({"type": "string", "pattern": r#"^"(writes|reads)";r=\d+(;t=\d+)?$"#}),
        ),
        "RateLimit-Policy" => (
            "The caller's limit: the number of writes or reads (`q`) in a number of seconds (`w`).",
            json!({"type": "string", "pattern": r#"^"(writes|reads)";q=\d+;w=60$"#}),
        ),
        name => panic!("{name} has no description"),
    }
}

/// A header with a value as its example.
fn shown_header(name: &'static str, is_required: bool, value: Option<&str>) -> (&'static str, Value) {
    let (description, schema) = header(name);
    let mut header = json!({"description": description, "schema": schema});
    if is_required {
        header["required"] = true.into();
    }
    if let Some(value) = value {
        header["example"] = value.into();
    }
    (name, header)
}

fn refer(kind: &str, name: &str) -> Value {
    json!({"$ref": format!("#/components/{kind}/{name}")})
}

fn raw(text: &str) -> Box<RawValue> {
    RawValue::from_string(text.to_owned()).unwrap()
}

struct Maker<'a> {
    types: Types,
    story: &'a Story,
    /// The values of parameters in all requests of the story, by name and schema.
    values: BTreeMap<(String, String), Value>,
    /// The problems of more than one operation under one status, by the name of the shared response.
    shared: BTreeMap<String, Vec<Code>>,
}

impl<'a> Maker<'a> {
    fn new(operations: &[Operation], story: &'a Story) -> Self {
        let of = |it: &Operation| {
            let overrides = it.text.successes.iter().filter_map(|(.., answer)| answer.as_ref());
            let answers = overrides.chain([&it.answer]).map(|answer| answer.types.clone());
            answers.chain([it.arguments.schemas.clone()]).collect::<Vec<_>>()
        };
        let types = Types::new(operations.iter().flat_map(of).chain([document::shared_schemas()]));
        let mut counts = BTreeMap::<_, (Vec<Code>, usize)>::new();
        for codes in
            operations.iter().flat_map(by_status).map(|(_, codes)| codes).filter(|codes| codes.len() < 3)
        {
            counts.entry(name_of(&codes)).or_insert((codes, 0)).1 += 1;
        }
        let shared = counts.into_iter().filter(|(_, (_, count))| *count > 1);
        let shared = shared.map(|(name, (codes, _))| (name, codes)).collect();
        let maker = Self { types, story, values: BTreeMap::new(), shared };
        let parameters = operations.iter().flat_map(|it| maker.parameters(it));
        let values =
            parameters.filter_map(|it| it.example.clone().map(|example| (it.key(), example))).collect();
        Self { values, ..maker }
    }

    fn shared_responses(&self) -> BTreeMap<String, Response> {
        let of =
            |(name, codes): (&String, &Vec<Code>)| (name.clone(), Response::Own(self.problem("", codes)));
        self.shared.iter().map(of).collect()
    }

    fn operation(&self, it: &Operation) -> OperationObject {
        let name = it.name();
        let mut paragraphs = paragraphs(it.text.doc);
        let summary = paragraphs.remove(0);
        paragraphs.extend((it.price == Price::Stream).then(|| ABOUT_STREAMS.to_owned()));
        let access = access(it.rule).into_iter().chain(self.price(&name, it.price)).collect::<Vec<_>>();
        paragraphs.extend(Some(access.join(" ")).filter(|text| !text.is_empty()));
        let successes = it.text.successes.iter().map(|(status, text, answer)| {
            let answer = answer.as_ref().unwrap_or(&it.answer);
            (status.to_string(), Response::Own(self.success(it, *status, text, answer)))
        });
        let problems = by_status(it).into_iter().map(|(status, codes)| {
            let response_name = name_of(&codes);
            let response = match self.shared.contains_key(&response_name) {
                true => Response::Shared { reference: format!("#/components/responses/{response_name}") },
                false => Response::Own(self.problem(&name, &codes)),
            };
            (status.to_string(), response)
        });
        let gateway = (it.price == Price::Free).then(|| ("503".to_owned(), Response::Own(gateway())));
        OperationObject {
            tags: [it.text.tag],
            summary,
            description: paragraphs.join("\n\n"),
            security: (it.rule == Rule::Open).then(|| json!([])),
            parameters: self.parameters(it),
            request_body: self.body(it, &name),
            responses: successes.chain(problems).chain(gateway).collect(),
            operation_id: name,
        }
    }

    /// The price of the example, and how the request counts.
    fn price(&self, name: &str, price: Price) -> Option<String> {
        let kind = match price {
            Price::Free => return None,
            Price::Write => "write",
            Price::Stream | Price::Read | Price::ReadShared => "read",
        };
        let cost = self.story.all_successes(name).find_map(|it| it.headers.get("lately-cost"));
        let example = cost.map(|cost| format!("; the example costs `{}`", cost.to_str().unwrap()));
        Some(format!("Counts as a {kind}{}.", example.unwrap_or_default()))
    }

    fn parameters(&self, it: &Operation) -> Vec<Parameter> {
        let examples = examples(self.story, it);
        let own = it.arguments.parameters.iter().flat_map(|(place, name, schema)| match *place {
            "header" => headers_of(name, it.method == "PATCH"),
            place => vec![(place, (*name).to_owned(), true, self.types.clean(schema.clone()))],
        });
        let query = it.arguments.query.iter().flat_map(|query| self.types.properties(query.clone()));
        let query = query.map(|(name, schema)| {
            let is_required = it.arguments.required_query.contains(&name);
            ("query", name, is_required, schema)
        });
        let mut all: Vec<_> = own.chain(query).collect();
        all.sort_by_key(|(place, ..)| ["path", "query", "header"].iter().position(|known| known == place));
        let parameters = all.into_iter().map(|(place, name, required, schema)| {
            let (schema, description) = without_description(schema);
            let example = examples.get(&name).and_then(|text| typed(text, &schema));
            let parameter = Parameter { name, place, required, description, schema, example };
            let other = self.values.get(&parameter.key()).filter(|_| place != "header").cloned();
            Parameter { example: parameter.example.clone().or(other), ..parameter }
        });
        parameters.collect()
    }

    fn body(&self, it: &Operation, name: &str) -> Option<BodyObject> {
        let body = it.arguments.body.as_ref()?;
        let sent = self.story.all_successes(name).filter(|it| !it.sent.is_empty());
        let (lines, json): (Vec<_>, Vec<_>) =
            sent.partition(|it| it.header.as_ref().is_some_and(|(_, value)| value == NDJSON));
        let of = |it: &&Exchange| it.sent.clone();
        let media = Media { schema: self.schema(&body.schemas), ..Media::default() };
        let mut content = IndexMap::from([(JSON, with_examples(media, json.iter().map(of)))]);
        if !lines.is_empty() {
            let schema =
                json!({"type": "string", "description": "One event a line; blank lines are ignored."});
            let quoted = lines.iter().map(|it| Value::from(it.sent.clone()).to_string());
            content.insert(NDJSON, with_examples(Media { schema, ..Media::default() }, quoted));
        }
        Some(BodyObject { required: body.is_required, content })
    }

    /// The schema with this name, or one of those with these names.
    fn schema(&self, names: &[String]) -> Value {
        let mut schemas = names.iter().map(|name| self.types.clean(Ref::from_schema_name(name).into()));
        match names.len() {
            1 => serde_json::to_value(schemas.next()).unwrap(),
            _ => json!({"anyOf": schemas.collect::<Vec<_>>()}),
        }
    }

    fn success(&self, it: &Operation, status: u16, text: &str, answer: &Success) -> ResponseObject {
        let name = it.name();
        let exchanges: Vec<_> = self.story.successes(&name, status).collect();
        let cost = match it.price {
            Price::Free | Price::Stream => None,
            Price::Read | Price::ReadShared => Some("Lately-Cost"),
            Price::Write => Some("Lately-Cost-Of-A-Write"),
        };
        let cost = cost.map(|name| ("Lately-Cost", refer("headers", name)));
        let others = answer.headers.iter().map(|(header, is_required)| {
            let shown = exchanges.iter().find_map(|it| it.headers.get(*header)?.to_str().ok());
            shown_header(header, *is_required, shown)
        });
        let headers = cost.into_iter().chain(others).collect();
        let mut content = IndexMap::new();
        if answer.is_stream {
            let example = Some(raw(&Value::from(STREAM).to_string()));
            let schema = json!({"type": "string"});
            content.insert("text/event-stream", Media { schema, example, ..Media::default() });
        } else if !answer.schemas.is_empty() {
            let media = Media { schema: self.schema(&answer.schemas), ..Media::default() };
            let shown = exchanges.iter().map(|it| it.shown());
            // The document cannot contain itself.
            let itself =
                (name == "getOpenApi").then(|| r#"{"openapi":"3.1.0","info":{},"paths":{}}"#.to_owned());
            content.insert(JSON, with_examples(media, shown.chain(itself)));
        }
        ResponseObject { description: text.to_owned(), headers, content }
    }

    /// The response with one of these problems, which have one status.
    fn problem(&self, name: &str, codes: &[Code]) -> ResponseObject {
        let mut found: Vec<&Exchange> = Vec::new();
        let mut headers = IndexMap::from([("Lately-Cost", refer("headers", "Lately-Cost-Of-A-Failure"))]);
        for code in codes {
            let exchange = self.story.problem(name, *code);
            let shown = |header: &'static str| {
                let value = exchange.and_then(|it| it.headers.get(header)?.to_str().ok());
                shown_header(header, false, value)
            };
            headers.extend(headers_of_problem(*code).iter().map(|header| shown(header)));
            found.extend(exchange);
        }
        // An operation shows its own problems, or else one of another.
        found.sort_by_key(|it| it.operation != name);
        let own = found.iter().filter(|it| it.operation == name).count();
        found.truncate(if name.is_empty() { found.len() } else { own.max(1) });
        let examples = found
            .into_iter()
            .filter_map(|it| Some((it.code?.as_str().to_owned(), Example { value: raw(&it.shown()) })));
        let listed: Vec<_> = codes.iter().map(|code| format!("`{}`", code.as_str())).collect();
        let mut description = match listed.split_last() {
            Some((last, [_, ..])) => format!("{} or {last}.", listed[..listed.len() - 1].join(", ")),
            _ => format!("{}.", listed.concat()),
        };
        if codes.contains(&Code::RateLimited) {
            description = "`rate-limited`: the caller has made the writes or reads that its session, or the rule of its \
                issuer, permits in a minute; a read counts once for each started 16 read units that it used. On AWS also without a code: the route's request limit is reached."
                .to_owned();
        }
        let known: Vec<_> = codes.iter().map(|code| code.as_str()).collect();
        let schema =
            json!({"allOf": [refer("schemas", "Problem"), {"properties": {"code": {"enum": known}}}]});
        let media = Media { schema, examples: examples.collect(), example: None };
        let mut content = IndexMap::from([(PROBLEM, media)]);
        if matches!(codes[0].status().as_u16(), 401 | 403 | 404 | 413 | 429 | 503) {
            content.extend(gateway().content);
        }
        ResponseObject { description, headers, content }
    }
}

/// The values of an operation's parameters in the story, by name.
fn examples(story: &Story, it: &Operation) -> BTreeMap<String, String> {
    let mut examples = BTreeMap::new();
    for exchange in story.all_successes(&it.name()) {
        let (path, query) = exchange.target.split_once('?').unwrap_or((&exchange.target, ""));
        let parts = it.path.split('/').zip(path.split('/'));
        let named = parts.filter_map(|(part, value)| {
            Some((part.strip_prefix('{')?.strip_suffix('}')?.to_owned(), value.to_owned()))
        });
        let asked = query.split('&').filter_map(|pair| pair.split_once('='));
        let asked = asked.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let sent = exchange.header.iter().map(|(name, value)| (header_name(name), value.clone()));
        for (name, value) in named.chain(asked).chain(sent) {
            examples.entry(name).or_insert(value);
        }
    }
    examples
}

/// The response of the gateway itself.
fn gateway() -> ResponseObject {
    let media = Media { schema: refer("schemas", "GatewayMessage"), ..Media::default() };
    ResponseObject {
        description: "On AWS: the gateway could not reach the function.".to_owned(),
        headers: IndexMap::new(),
        content: IndexMap::from([(JSON, media)]),
    }
}

/// The problems of an operation by status.
fn by_status(it: &Operation) -> BTreeMap<u16, Vec<Code>> {
    let mut by_status = BTreeMap::<_, Vec<_>>::new();
    for code in it.codes() {
        by_status.entry(code.status().as_u16()).or_default().push(code);
    }
    by_status
}

/// The name of a shared response.
fn name_of(codes: &[Code]) -> String {
    let names: Vec<_> = codes.iter().map(|code| format!("{code:?}")).collect();
    names.join("Or")
}

fn headers_of_problem(code: Code) -> &'static [&'static str] {
    match code {
        Code::RevisionMismatch | Code::RevisionRequired => &["ETag"],
        Code::MissingToken => &["WWW-Authenticate"],
        Code::RateLimited => &["Retry-After", "RateLimit", "RateLimit-Policy"],
        Code::Unavailable | Code::PartiallyAccepted | Code::NotYetVisible => &["Retry-After"],
        _ => &[],
    }
}

/// The paragraphs of a doc comment, each on one line.
fn paragraphs(lines: &[&str]) -> Vec<String> {
    let text = lines.iter().map(|line| line.trim()).collect::<Vec<_>>().join("\n");
    text.split("\n\n").map(|paragraph| paragraph.replace('\n', " ")).collect()
}

/// The needs of a rule, for readers.
fn access(rule: Rule) -> Option<String> {
    match rule {
        Rule::Open => None,
        Rule::Known => Some("Needs a valid token with any scopes.".to_owned()),
        Rule::Holds(scope) | Rule::OnTopic(scope) => Some(format!("Needs the scope `{scope}`.")),
        Rule::AsUser(scope) => {
            Some(format!("For the caller's own user, or with the scope `act-as`. Needs the scope `{scope}`."))
        }
        Rule::OnIssues(scope) => Some(format!(
            "Needs the scope `{scope}`, and a token that is not limited to topics other than `issues`."
        )),
        Rule::Unlimited(scope) => {
            Some(format!("Needs the scope `{scope}`, and a token that is not limited to topics."))
        }
    }
}

/// The header as the document spells it.
fn header_name(name: &str) -> String {
    ["If-Match", "Idempotency-Key"]
        .into_iter()
        .find(|known| known.eq_ignore_ascii_case(name))
        .unwrap_or(name)
        .to_owned()
}

/// The headers that an argument reads.
fn headers_of(name: &str, is_change: bool) -> Vec<(&'static str, String, bool, RefOr<Schema>)> {
    let text = |pattern: &str, about: &str| {
        let text =
            ObjectBuilder::new().schema_type(Type::String).pattern(Some(pattern)).description(Some(about));
        RefOr::T(Schema::Object(text.build()))
    };
    let headers = match name {
        "If-Match" => vec![
            (
                "If-Match",
                text(
                    r#"^"(0|[1-9][0-9]{0,19})"$"#,
                    "The `ETag` of the document to change or delete: exactly one, as a response returned it. Without \
                     it, an existing document is not changed, and the response has the current `ETag`. Not with \
                     `If-None-Match`.",
                ),
            ),
            ("If-None-Match", {
                let about = "`*`: write only if the document does not exist yet.";
                let star = ObjectBuilder::new().schema_type(Type::String).enum_values(Some(["*"]));
                Schema::Object(star.description(Some(about)).build()).into()
            }),
        ],
        "Idempotency-Key" => vec![(
            "Idempotency-Key",
            text(
                "^[!-~]([ -~]{0,126}[!-~])?$",
                "The name of the request, for 24 hours: the same key and body return the first response again, and \
                 another body is refused. 1 to 128 printable ASCII characters.",
            ),
        )],
        "Last-Event-ID" => vec![("Last-Event-ID", {
            let mut cursor = Ref::from_schema_name("Cursor");
            cursor.description = "The id of the last message. It wins over `cursor`.".to_owned();
            cursor.into()
        })],
        name => panic!("{name} has no description"),
    };
    // A change needs a document that exists.
    let headers = headers.into_iter().filter(|(name, _)| !is_change || *name != "If-None-Match");
    headers.map(|(name, schema)| ("header", name.to_owned(), false, schema)).collect()
}

/// A parameter's schema, and its description, which stands beside it.
fn without_description(schema: RefOr<Schema>) -> (RefOr<Schema>, Option<String>) {
    match schema {
        RefOr::Ref(mut reference) => {
            let description = std::mem::take(&mut reference.description);
            (reference.into(), Some(description).filter(|text| !text.is_empty()))
        }
        RefOr::T(Schema::Object(mut object)) => {
            let description = object.description.take();
            (Schema::Object(object).into(), description)
        }
        other => (other, None),
    }
}

/// A value of a parameter, in its type; none if it is a value of another parameter with this name.
fn typed(text: &str, schema: &RefOr<Schema>) -> Option<Value> {
    let is_text = match schema {
        RefOr::T(Schema::Object(object)) => object.schema_type == SchemaType::from(Type::String),
        RefOr::Ref(reference) => !reference.ref_location.ends_with("/IssueNumber"),
        RefOr::T(_) => true,
    };
    if is_text { Some(text.into()) } else { serde_json::from_str(text).ok() }
}

/// The media type with examples, each once.
fn with_examples(media: Media, texts: impl Iterator<Item = String>) -> Media {
    let mut unique: Vec<String> = Vec::new();
    for text in texts {
        if !unique.contains(&text) {
            unique.push(text);
        }
    }
    match &unique[..] {
        [only] => Media { example: Some(raw(only)), ..media },
        _ => {
            let named = unique.iter().enumerate();
            let named =
                named.map(|(index, text)| (format!("example-{}", index + 1), Example { value: raw(text) }));
            Media { examples: named.collect(), ..media }
        }
    }
}
