//! Routes that can be listed. A router does not say which routes it serves, but a test must compare them with the
//! template.
//!
//! Every start of a function makes the routes, so they must be cheap: the router gets each path once, with one layer, which
//! does everything that happens before a handler.

use std::iter;
use std::sync::Arc;

use axum::Router;
use axum::handler::Handler;
use axum::http::Method;
use axum::middleware::from_fn_with_state;
use axum::routing::{MethodFilter, MethodRouter};

use lately_store::Store;

use crate::access::{self, Rule};
use crate::body::Cap;
use crate::edge::method_not_allowed;
use crate::op::Price;
use crate::reads::{PartsRead, Reads};

/// The routes of one function, and the store that their handlers use.
#[derive(Debug, Default)]
pub struct Routes {
    served: Vec<Served>,
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

impl Routes {
    /// An empty list of routes.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a route with its rule.
    ///
    /// # Panics
    /// If the route has no rule, or is there already: a bug.
    pub fn on<H, T>(mut self, method: Method, path: &'static str, handler: H) -> Self
    where
        H: Handler<T, ()>,
        T: Reads + 'static,
    {
        let route = Rule::of(&method, path);
        let (rule, price) = route.unwrap_or_else(|| panic!("{method} {path} has no rule in access.rs"));
        let filter = MethodFilter::try_from(method.clone()).expect("routes have common methods");
        let served = match self.served.iter().position(|served| served.path == path) {
            Some(index) => &mut self.served[index],
            None => {
                self.served.push_mut(Served { path, methods: MethodRouter::new(), gate: Gate::default() })
            }
        };
        served.methods = std::mem::take(&mut served.methods).on(filter, handler);
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
        self
    }

    /// The method and path of each route.
    pub fn declared(&self) -> Vec<(Method, &'static str)> {
        let of_path = |served: &Served| {
            let methods = served.gate.rules.iter().map(|(method, ..)| method.clone());
            methods.zip(iter::repeat(served.path)).collect::<Vec<_>>()
        };
        self.served.iter().flat_map(of_path).collect()
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
    use super::*;

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
}
