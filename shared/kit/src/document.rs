//! The routes as the OpenAPI document describes them: by the text of a route's line, and by the types of its handler's
//! arguments and answer. From the arguments follow the parameters, the body and most of the problems.
//!
//! Only the test that makes the document uses this module, so the linker leaves it out of the functions.

use axum::extract::Request;
use axum::http::{HeaderMap, Method, StatusCode};
use axum::response::Response;
use lately_model::{
    BodyError, Faults, NewEvent, NewEvents, PageUnread, PartlyAccepted, QueryString, RateLimits,
    TimelineEvent, TopicSettings,
};
use utoipa::ToSchema;
use utoipa::openapi::{Ref, RefOr, Schema};

use crate::access::Rule;
use crate::answer::{EventStream, Json, Location, Replayed};
use crate::body::{Body, JsonBody, Whole};
use crate::caller::Caller;
use crate::code::Code;
use crate::idempotency::Idempotency;
use crate::op::{Op, Price};
use crate::path::{Part, PathPart};
use crate::precondition::{ETag, Under};
use crate::problem::{Problem, ProblemParts};
use crate::query::Query;
use crate::quota::Permission;
use crate::reads::each_arity;

/// The part of a list of routes that is for readers.
pub trait Description: Default {
    /// Adds a route.
    fn add(&mut self, operation: impl FnOnce() -> Operation);
    /// Adds other routes.
    fn append(&mut self, others: Self);
}

/// Nothing: the routes are served.
impl Description for () {
    fn add(&mut self, _: impl FnOnce() -> Operation) {}
    fn append(&mut self, (): Self) {}
}

impl Description for Vec<Operation> {
    fn add(&mut self, operation: impl FnOnce() -> Operation) {
        self.push(operation());
    }

    fn append(&mut self, others: Self) {
        self.extend(others);
    }
}

/// The text of a route's line.
#[derive(Clone, Debug)]
pub struct RouteText {
    /// The heading.
    pub tag: &'static str,
    /// The handler's name.
    pub handler: &'static str,
    /// The lines of the doc comment.
    pub doc: &'static [&'static str],
    /// The successes: their statuses, their texts, and their answers if the handler's type does not say them.
    pub successes: Vec<(u16, &'static str, Option<Success>)>,
    /// The problems that do not follow from the handler's arguments.
    pub codes: &'static [Code],
}

#[doc(hidden)]
#[macro_export]
macro_rules! route_text {
    (@answer) => { None };
    (@answer $answer:ty) => { Some(<$answer as $crate::document::Answers>::answer()) };
    (
        $tag:literal $handler:ident [$($doc:literal)*]
        $($status:literal $(($answer:ty))? $text:literal;)* $(else $($code:ident),+)?
    ) => {
        $crate::document::RouteText {
            tag: $tag,
            handler: stringify!($handler),
            doc: &[$($doc),*],
            successes: vec![$(($status, $text, $crate::route_text!(@answer $($answer)?))),*],
            codes: &[$($($crate::code::Code::$code),+)?],
        }
    };
}

/// A route, as the document describes it.
#[derive(Clone, Debug)]
pub struct Operation {
    /// The method.
    pub method: Method,
    /// The path.
    pub path: &'static str,
    /// The rule.
    pub rule: Rule,
    /// The figures of its cost.
    pub price: Price,
    /// The text of its line.
    pub text: RouteText,
    /// The arguments of its handler.
    pub arguments: Arguments,
    /// The answer of its handler.
    pub answer: Success,
}

/// The parts of a request that a handler reads.
#[derive(Clone, Debug, Default)]
pub struct Arguments {
    /// The parameters: place, name and schema.
    pub parameters: Vec<(&'static str, &'static str, RefOr<Schema>)>,
    /// The schema of the query string: the properties are its parameters.
    pub query: Option<RefOr<Schema>>,
    /// The parameters that the query string must have.
    pub required_query: Vec<String>,
    /// The body.
    pub body: Option<RequestBody>,
    /// The problems that reading these parts may cause.
    pub codes: Vec<Code>,
    /// The schemas of all types, by name.
    pub schemas: Schemas,
}

/// A body that a handler reads.
#[derive(Clone, Debug)]
pub struct RequestBody {
    /// The names of its schemas: one, or an event's and a batch's.
    pub schemas: Vec<String>,
    /// True if the request must have it.
    pub is_required: bool,
    /// The paths of the faults that the parser finds in a body without fields.
    pub faults_of_none: Vec<String>,
    /// True if the parser accepts null in a field.
    pub accepts_null: fn(&str) -> bool,
}

/// A successful response, as a type describes it.
#[derive(Clone, Debug, Default)]
pub struct Success {
    /// The names of the body's schemas: none without a body, two if it is one of two.
    pub schemas: Vec<String>,
    /// True if the body is a stream of events.
    pub is_stream: bool,
    /// The headers, and true if the response always has them.
    pub headers: Vec<(&'static str, bool)>,
    /// The schemas of all types, by name.
    pub types: Schemas,
}

/// Schemas by name.
pub type Schemas = Vec<(String, RefOr<Schema>)>;

/// The schema of problems, and those of types whose fields are a part of others.
pub fn shared_schemas() -> Schemas {
    let mut schemas = Schemas::new();
    named::<ProblemParts>(&mut schemas);
    named::<PartlyAccepted>(&mut schemas);
    named::<TopicSettings>(&mut schemas);
    named::<RateLimits>(&mut schemas);
    named::<PageUnread>(&mut schemas);
    named::<TimelineEvent>(&mut schemas);
    schemas
}

impl Operation {
    /// The operation's name: the handler's, as clients spell it.
    pub fn name(&self) -> String {
        let mut words = self.text.handler.split('_');
        let first = words.next().unwrap_or_default().to_owned();
        words.fold(first, |name, word| name + &word[..1].to_ascii_uppercase() + &word[1..])
    }

    pub(crate) fn new<H: Describes<T>, T>(
        method: &Method,
        path: &'static str,
        rule: Rule,
        price: Price,
        text: RouteText,
    ) -> Self {
        let mut arguments = Arguments::default();
        H::arguments(&mut arguments);
        Self { method: method.clone(), path, rule, price, text, arguments, answer: H::answer() }
    }

    /// Every problem that the route may answer, without repetition.
    pub fn codes(&self) -> Vec<Code> {
        let of_body: &[Code] = match self.arguments.body {
            Some(_) => &[Code::MalformedJson, Code::TooLarge],
            None => &[Code::InvalidBody],
        };
        let of_token: &[Code] = match self.rule {
            Rule::Open => &[],
            _ => &[Code::MissingToken, Code::InvalidToken, Code::Forbidden],
        };
        let of_table: &[Code] = match self.price {
            Price::Free => &[],
            _ => &[Code::Unavailable],
        };
        let of_all =
            [Code::InvalidQuery, Code::InvalidIdempotencyKey, Code::UnsupportedEncoding, Code::RateLimited];
        let all = [&self.arguments.codes, &of_all[..], of_body, of_token, of_table, self.text.codes].concat();
        Code::ALL.iter().copied().filter(|code| all.contains(code)).collect()
    }
}

/// An argument of a handler.
pub trait Argument {
    /// Adds the parts of the request that become the argument.
    fn add_to(_: &mut Arguments) {}
}

impl<T: PathPart + ToSchema> Argument for Part<T> {
    fn add_to(arguments: &mut Arguments) {
        arguments.parameters.push(("path", T::NAME, named::<T>(&mut arguments.schemas)));
        // No name, number or id is empty.
        arguments.codes.extend("".parse::<T>().err().map(|refused| refused.into().code()));
    }
}

impl<T: QueryString + ToSchema> Argument for Query<T> {
    fn add_to(arguments: &mut Arguments) {
        arguments.query = Some(T::schema());
        T::schemas(&mut arguments.schemas);
        let faults = T::parse("").err();
        let faults = faults.iter().flat_map(Faults::iter);
        let paths = faults.filter_map(|fault| fault.path.strip_prefix('/'));
        arguments.required_query.extend(paths.map(str::to_owned));
        if T::parse("cursor=AQ").is_ok() {
            arguments.codes.push(Code::InvalidCursor);
        }
    }
}

impl<T: JsonBody + ToSchema> Argument for Body<T> {
    fn add_to(arguments: &mut Arguments) {
        named::<T>(&mut arguments.schemas);
        arguments.body = Some(RequestBody {
            schemas: vec![T::name().into()],
            is_required: T::parse(b"").is_err(),
            faults_of_none: faults::<T>("{}"),
            accepts_null: |field| {
                !faults::<T>(&format!("{{\"{field}\":null}}")).contains(&format!("/{field}"))
            },
        });
        arguments.codes.push(T::INVALID);
    }
}

/// The paths of the faults that the parser finds in a body.
fn faults<T: JsonBody>(body: &str) -> Vec<String> {
    match T::parse(body.as_bytes()) {
        Err(BodyError::Invalid(faults)) => faults.iter().map(|fault| fault.path.clone()).collect(),
        _ => Vec::new(),
    }
}

/// Only events are read as a whole.
impl Argument for Whole {
    fn add_to(arguments: &mut Arguments) {
        named::<NewEvent>(&mut arguments.schemas);
        named::<NewEvents>(&mut arguments.schemas);
        let schemas = vec![NewEvent::name().into(), NewEvents::name().into()];
        // Required is what is no `Option`.
        let faults_of_none = vec!["/type".to_owned(), "/actor".to_owned()];
        arguments.body =
            Some(RequestBody { schemas, is_required: true, faults_of_none, accepts_null: |_| false });
    }
}

impl Argument for Idempotency {
    fn add_to(arguments: &mut Arguments) {
        arguments.parameters.push(("header", "Idempotency-Key", Ref::new("").into()));
    }
}

impl Argument for Under {
    fn add_to(arguments: &mut Arguments) {
        arguments.parameters.push(("header", "If-Match", Ref::new("").into()));
        arguments.codes.extend([Code::InvalidPrecondition, Code::RevisionMismatch, Code::RevisionRequired]);
    }
}

/// Only live streams read the whole request, for the header of a stream that continues.
impl Argument for Request {
    fn add_to(arguments: &mut Arguments) {
        arguments.parameters.push(("header", "Last-Event-ID", Ref::new("").into()));
    }
}

impl Argument for Op {}
impl Argument for Caller {}
impl Argument for Permission {}
impl Argument for HeaderMap {}

/// Adds a type's schema to the others, and refers to it.
fn named<T: ToSchema>(schemas: &mut Schemas) -> RefOr<Schema> {
    schemas.push((T::name().into(), T::schema()));
    T::schemas(schemas);
    Ref::from_schema_name(T::name()).into()
}

/// The answer of a handler, or a part of it.
pub trait Answers {
    /// The body and the headers.
    fn answer() -> Success {
        Success::default()
    }
}

impl<T: ToSchema> Answers for Json<T> {
    fn answer() -> Success {
        let mut types = Schemas::new();
        named::<T>(&mut types);
        Success { schemas: vec![T::name().into()], types, ..Success::default() }
    }
}

impl<T: Answers> Answers for Result<T, Problem> {
    fn answer() -> Success {
        T::answer()
    }
}

impl<T: Answers> Answers for Option<T> {
    fn answer() -> Success {
        let answer = T::answer();
        let headers = answer.headers.iter().map(|(name, _)| (*name, false)).collect();
        Success { headers, ..answer }
    }
}

impl Answers for EventStream {
    fn answer() -> Success {
        let headers = vec![("Cache-Control", true), ("X-Accel-Buffering", true)];
        Success { is_stream: true, headers, ..Success::default() }
    }
}

macro_rules! headers {
    ($($type:ty = $name:literal),*) => {$(
        impl Answers for $type {
            fn answer() -> Success {
                Success { headers: vec![($name, true)], ..Success::default() }
            }
        }
    )*};
}

headers!(ETag = "ETag", Location = "Location", Replayed = "Idempotent-Replayed");

impl Answers for StatusCode {}
/// The route's line has the answer.
impl Answers for Response {}

macro_rules! tuples {
    ($($part:ident)+) => {
        impl<$($part: Answers),+> Answers for ($($part,)+) {
            fn answer() -> Success {
                let parts = [$($part::answer()),+];
                parts.into_iter().fold(Success::default(), |mut all, part| {
                    all.schemas.extend(part.schemas);
                    all.headers.extend(part.headers);
                    all.types.extend(part.types);
                    all
                })
            }
        }
    };
}

tuples!(A B);
tuples!(A B C);
tuples!(A B C D);

/// A handler whose types describe its route in the OpenAPI document.
pub trait Describes<T> {
    /// Adds the parts of the request that the handler reads.
    fn arguments(arguments: &mut Arguments);
    /// The handler's answer.
    fn answer() -> Success;
}

/// axum describes a handler's arguments by a tuple that begins with a marker.
macro_rules! handlers {
    ($($argument:ident)*) => {
        impl<Handler, Answering, Returned, Marker, $($argument: Argument),*> Describes<(Marker, $($argument,)*)> for Handler
        where
            Handler: FnOnce($($argument),*) -> Answering,
            Answering: Future<Output = Returned>,
            Returned: Answers,
        {
            fn arguments(arguments: &mut Arguments) {
                let parts: &[fn(&mut Arguments)] = &[$($argument::add_to),*];
                parts.iter().for_each(|add_to| add_to(arguments));
            }

            fn answer() -> Success {
                Returned::answer()
            }
        }
    };
}

each_arity!(handlers);
