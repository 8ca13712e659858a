//! The list of routes. Each function lists its own with [`routes!`](crate::routes): a line has a route's method, path,
//! rule, price and handler. The template's routes and the OpenAPI document follow from the lists of all functions: a
//! test makes both, and fails if the files differ.
//!
//! Every start of a function makes the routes, so they must be cheap: the router gets each path once, with one layer, which
//! does everything that happens before a handler.

use std::sync::Arc;

use axum::Router;
use axum::handler::Handler;
use axum::middleware::from_fn_with_state;
use axum::routing::{MethodFilter, MethodRouter};

use lately_store::Store;

use crate::access::{self, Rule};
use crate::body::Cap;
use crate::document::{Describes, Description, Operation, RouteText};
use crate::edge::method_not_allowed;
use crate::handler::{Answering, AnyHandler};
use crate::op::Price;
use crate::reads::{PartsRead, Reads};

pub use axum::http::Method;

/// Lists routes under a heading of the OpenAPI document. The handler's name becomes the name of the operation.
///
/// ```
/// use lately_keys::Topic;
/// use lately_kit::{answer::Json, path::Part, route::Routes, routes};
///
/// async fn get_topic(Part(topic): Part<Topic>) -> Json<Topic> {
///     Json(topic)
/// }
///
/// let routes: Routes = routes! { "Topics"
///     /// Get a topic
///     ///
///     /// The response is its name.
///     GET "/topics/{topic}" OnTopic(Read) Read get_topic { 200 "The topic."; else TopicNotFound }
/// };
/// let router = routes.into_router();
/// ```
#[macro_export]
macro_rules! routes {
    ($tag:literal $(
        $(#[doc = $doc:literal])*
        $method:ident $path:literal $rule:ident $(($scope:ident))? $price:ident $handler:ident { $($answers:tt)* }
    )*) => {
        $crate::route::Routes::new()$(.on(
            $crate::route::Method::$method,
            $path,
            $crate::access::Rule::$rule$(($crate::access::Scope::$scope))?,
            $crate::op::Price::$price,
            $handler,
            || $crate::route_text!($tag $handler [$($doc)*] $($answers)*),
        ))*
    };
}

/// The routes of one function, and the store that their handlers use. Routes that are served have no description.
#[derive(Debug, Default)]
pub struct Routes<D = ()> {
    served: Vec<Served>,
    /// The routes for readers.
    pub description: D,
}

/// The handlers of a path, and the gate before them.
#[derive(Debug)]
struct Served {
    path: &'static str,
    methods: MethodRouter,
    gate: Gate,
}

/// The checks before the handlers of a path, and the cost after them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Gate {
    pub(crate) rules: Vec<(Method, Rule, Price, PartsRead)>,
    pub(crate) cap: Option<Cap>,
    /// None if the function does not use the table.
    pub(crate) store: Option<Store>,
}

impl Gate {
    /// The rule of a method, its price, and the parts of a request that its handler reads. axum serves HEAD as GET.
    pub(crate) fn of(&self, method: &Method) -> Option<(Rule, Price, PartsRead)> {
        let method = if method == Method::HEAD { &Method::GET } else { method };
        let found = self.rules.iter().find(|(ruled, ..)| ruled == method);
        found.map(|(_, rule, price, read)| (*rule, *price, *read))
    }
}

impl<D: Description> Routes<D> {
    /// An empty list of routes.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a route: a line of [`routes!`](crate::routes).
    ///
    /// # Panics
    /// If the route is there already: a bug.
    pub fn on<H, T>(
        mut self,
        method: Method,
        path: &'static str,
        rule: Rule,
        price: Price,
        handler: H,
        text: impl FnOnce() -> RouteText,
    ) -> Self
    where
        H: Handler<T, (), Future = Answering> + Describes<T>,
        T: Reads + 'static,
    {
        self.description.add(|| Operation::new::<H, T>(&method, path, rule, price, text()));
        let filter = MethodFilter::try_from(method.clone()).expect("routes have common methods");
        let served = match self.served.iter().position(|served| served.path == path) {
            Some(index) => &mut self.served[index],
            None => {
                self.served.push_mut(Served { path, methods: MethodRouter::new(), gate: Gate::default() })
            }
        };
        served.methods = std::mem::take(&mut served.methods).on(filter, AnyHandler::new(handler));
        served.gate.rules.push((method, rule, price, T::PARTS));
        self
    }

    /// Sets a cap on the bodies of these routes, below the general cap.
    pub fn with_bodies_of(mut self, bytes: usize) -> Self {
        for served in &mut self.served {
            served.gate.cap = Some(Cap(bytes));
        }
        self
    }

    /// Sets the store that gives each request its handle.
    pub fn with_store(mut self, store: &Store) -> Self {
        for served in &mut self.served {
            served.gate.store = Some(store.clone());
        }
        self
    }

    /// Adds other routes.
    pub fn and(mut self, others: Self) -> Self {
        self.served.extend(others.served);
        self.description.append(others.description);
        self
    }

    /// The method, the path and the rule of each route.
    pub fn declared(&self) -> impl Iterator<Item = (&Method, &'static str, Rule)> {
        self.served.iter().flat_map(|served| {
            served.gate.rules.iter().map(|(method, rule, ..)| (method, served.path, *rule))
        })
    }

    /// The router that serves the routes.
    ///
    /// # Panics
    /// If a route is there twice: a bug.
    pub fn into_router(self) -> Router {
        let mut paths = Vec::<(&str, MethodRouter)>::new();
        for Served { path, methods, gate } in self.served {
            let gated = methods.layer(from_fn_with_state(Arc::new(gate), access::admit));
            match paths.iter_mut().find(|(at, _)| *at == path) {
                Some((_, others)) => *others = std::mem::take(others).merge(gated),
                None => paths.push((path, gated)),
            }
        }
        paths.into_iter().fold(Router::new(), |router, (path, methods)| {
            router.route(path, methods.fallback(method_not_allowed))
        })
    }
}

#[cfg(test)]
mod tests {
    use axum::http::StatusCode;

    use super::Routes;

    #[test]
    #[should_panic(expected = "Overlapping method route")]
    fn a_route_cannot_be_served_twice() {
        async fn health() -> StatusCode {
            StatusCode::NO_CONTENT
        }
        let health = || -> Routes {
            routes! { "Other" GET "/health" Open Free health {} }
        };
        drop(health().and(health()).into_router());
    }
}
