//! Routes that can be listed. A router does not tell which routes it serves, but a test must compare them with the
//! template.
//!
//! Every start of a function makes the routes, so they must be cheap: the router gets each path once, and each route
//! one layer, which does everything that happens before a handler.

use axum::Router;
use axum::handler::Handler;
use axum::http::Method;
use axum::middleware::from_fn_with_state;
use axum::routing::{MethodFilter, MethodRouter, on};

use lately_store::Store;

use crate::access::{self, Rule};
use crate::body::Cap;
use crate::op::Price;

/// The routes of one function, and the store that their handlers use.
#[derive(Debug, Default)]
pub struct Routes {
    declared: Vec<(Method, &'static str)>,
    served: Vec<Served>,
}

/// A route's handler and gate.
#[derive(Debug)]
struct Served {
    handler: MethodRouter,
    gate: Gate,
}

/// The checks before a route's handler, and the cost after it.
#[derive(Clone, Debug)]
pub(crate) struct Gate {
    pub(crate) rule: Rule,
    pub(crate) price: Price,
    pub(crate) cap: Option<Cap>,
    /// None if the function does not use the table.
    pub(crate) store: Option<Store>,
}

impl Routes {
    /// An empty list of routes.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a route with its rule.
    ///
    /// # Panics
    /// If the route has no rule: a bug.
    #[must_use]
    pub fn on<H, T>(mut self, method: Method, path: &'static str, handler: H) -> Self
    where
        H: Handler<T, ()>,
        T: 'static,
    {
        let route = Rule::of(&method, path);
        let (rule, price) = route.unwrap_or_else(|| panic!("{method} {path} has no rule in access.rs"));
        let filter = MethodFilter::try_from(method.clone()).expect("routes have common methods");
        let gate = Gate { rule, price, cap: None, store: None };
        self.served.push(Served { handler: on(filter, handler), gate });
        self.declared.push((method, path));
        self
    }

    /// Sets a cap on the bodies of these routes, below the general cap.
    #[must_use]
    pub fn with_bodies_of(mut self, bytes: usize) -> Self {
        for served in &mut self.served {
            served.gate.cap = Some(Cap(bytes));
        }
        self
    }

    /// Sets the store that gives each request its handle.
    #[must_use]
    pub fn with_store(mut self, store: &Store) -> Self {
        for served in &mut self.served {
            served.gate.store = Some(store.clone());
        }
        self
    }

    /// Adds other routes.
    #[must_use]
    pub fn and(mut self, others: Self) -> Self {
        self.declared.extend(others.declared);
        self.served.extend(others.served);
        self
    }

    /// The method and path of each route.
    #[must_use]
    pub fn declared(&self) -> &[(Method, &'static str)] {
        &self.declared
    }

    /// The router that serves the routes.
    ///
    /// # Panics
    /// If a route is there twice: a bug.
    pub fn into_router(self) -> Router {
        let mut paths = Vec::<(&str, MethodRouter)>::new();
        for ((_, path), Served { handler, gate }) in self.declared.iter().zip(self.served) {
            let served = handler.layer(from_fn_with_state(gate, access::admit));
            match paths.iter_mut().find(|(at, _)| at == path) {
                Some((_, methods)) => *methods = std::mem::take(methods).merge(served),
                None => paths.push((path, served)),
            }
        }
        paths.into_iter().fold(Router::new(), |router, (path, methods)| router.route(path, methods))
    }
}

#[cfg(test)]
mod tests {
    use axum::body::Body;
    use axum::extract::Request;
    use tower::ServiceExt;

    use super::*;
    use crate::edge;

    #[test]
    #[should_panic(expected = "GET /nowhere has no rule")]
    fn a_route_without_a_rule_cannot_be_served() {
        drop(Routes::new().on(Method::GET, "/nowhere", async || "here"));
    }

    #[test]
    #[should_panic(expected = "Overlapping method route")]
    fn a_route_cannot_be_served_twice() {
        let health = || Routes::new().on(Method::GET, "/health", async || "well");
        drop(health().and(health()).into_router());
    }

    #[tokio::test]
    async fn a_route_is_one_method_and_one_path() {
        let routes = Routes::new().on(Method::GET, "/health", async || "well").on(
            Method::POST,
            "/sessions",
            async || "made",
        );
        assert_eq!(routes.declared(), [(Method::GET, "/health"), (Method::POST, "/sessions")]);
        let router = edge::around(routes.into_router());
        for (method, status) in [("GET", 200), ("HEAD", 200), ("PUT", 405), ("OPTIONS", 405), ("DELETE", 405)]
        {
            let request = Request::builder().method(method).uri("/health").body(Body::empty()).unwrap();
            let response = router.clone().oneshot(request).await.unwrap();
            assert_eq!(response.status(), status, "{method}");
            let allowed = response.headers().get("allow").map(|methods| methods.to_str().unwrap());
            assert_eq!(allowed, (status == 405).then_some("GET,HEAD"), "{method}");
        }
    }
}
