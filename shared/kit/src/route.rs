//! Routes that can be counted: a router does not tell what it serves, and the template must say the same.

use axum::Router;
use axum::handler::Handler;
use axum::http::Method;
use axum::middleware::from_fn_with_state;
use axum::routing::{MethodFilter, on};

use crate::access::{self, Rule};
use crate::{body, edge};

/// Some routes, and what they are.
#[derive(Debug)]
pub struct Routes<S = ()> {
    router: Router<S>,
    declared: Vec<(Method, &'static str)>,
}

impl<S: Clone + Send + Sync + 'static> Routes<S> {
    /// No routes yet.
    #[must_use]
    pub fn new() -> Self {
        Self { router: Router::new(), declared: Vec::new() }
    }

    /// Adds a route, under its rule.
    ///
    /// # Panics
    /// If the route has no rule, or is there already: a fault of the program.
    #[must_use]
    pub fn on<H, T>(mut self, method: Method, path: &'static str, handler: H) -> Self
    where
        H: Handler<T, S>,
        T: 'static,
    {
        let rule = Rule::of(&method, path);
        let rule = rule.unwrap_or_else(|| panic!("{method} {path} has no rule in access.rs"));
        let filter = MethodFilter::try_from(method.clone()).expect("routes have common methods");
        let mut served = on(filter, handler).layer(from_fn_with_state(rule, access::admit));
        if method == Method::GET {
            // Else a GET would answer HEAD too, which the gateway does not know a route for.
            served = served.head(edge::route_not_found);
        }
        self.router = self.router.route(path, served);
        self.declared.push((method, path));
        self
    }

    /// The routes with a cap on their bodies, below the one that all have.
    #[must_use]
    pub fn with_bodies_of(self, bytes: usize) -> Self {
        Self { router: self.router.layer(axum::Extension(body::Cap(bytes))), ..self }
    }

    /// The routes with what their handlers share.
    #[must_use]
    pub fn with_state(self, state: S) -> Routes {
        Routes { router: self.router.with_state(state), declared: self.declared }
    }
}

impl<S: Clone + Send + Sync + 'static> Default for Routes<S> {
    fn default() -> Self {
        Self::new()
    }
}

impl Routes {
    /// These and others.
    #[must_use]
    pub fn and(self, others: Self) -> Self {
        let declared = self.declared.into_iter().chain(others.declared).collect();
        Self { router: self.router.merge(others.router), declared }
    }

    /// Method and path of each.
    #[must_use]
    pub fn declared(&self) -> &[(Method, &'static str)] {
        &self.declared
    }

    /// The router that serves them.
    pub fn into_router(self) -> Router {
        self.router
    }
}

#[cfg(test)]
mod tests {
    use axum::body::Body;
    use axum::extract::Request;
    use tower::ServiceExt;

    use super::*;

    #[test]
    #[should_panic(expected = "GET /nowhere has no rule")]
    fn a_route_without_a_rule_cannot_be_served() {
        drop(Routes::<()>::new().on(Method::GET, "/nowhere", async || "here"));
    }

    #[tokio::test]
    async fn a_route_is_one_method_and_one_path() {
        let routes = Routes::new()
            .on(Method::GET, "/health", async || "well")
            .on(Method::POST, "/sessions", async || "made")
            .with_state(());
        assert_eq!(routes.declared(), [(Method::GET, "/health"), (Method::POST, "/sessions")]);
        let router = edge::around(routes.into_router());
        for (method, status) in [("GET", 200), ("PUT", 404), ("HEAD", 404), ("OPTIONS", 404), ("DELETE", 404)]
        {
            let request = Request::builder().method(method).uri("/health").body(Body::empty()).unwrap();
            assert_eq!(router.clone().oneshot(request).await.unwrap().status(), status, "{method}");
        }
    }
}
