//! The access rules: one table with a line for each route.
//!
//! A route that is not in the table cannot be served: [`Routes`](crate::route::Routes) reads each route's rule from
//! this table and checks it before the handler runs. A rule sees only the caller and the path. The handlers check the
//! rest, which depends on the body or on stored items: callers post events as themselves ([`Caller::require_actor`]),
//! and only its actor deletes an event.

use std::sync::Arc;

use axum::extract::{FromRequestParts, MatchedPath, Request, State};
use axum::http::Method;
use axum::http::request::Parts;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use lately_keys::{Topic, User};
use lately_model::{ISSUES_TOPIC, Scope};

use crate::caller::Caller;
use crate::code::Code;
use crate::op::{Op, Price};
use crate::path::Part;
use crate::problem::Problem;
use crate::quota::Quota;
use crate::route::Gate;

/// The requirements of a route for its caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// Nothing: not even a token.
    Open,
    /// Any valid token.
    Known,
    /// The scope.
    Holds(Scope),
    /// The scope. A caller limited to topics must be allowed the topic in the path.
    OnTopic(Scope),
    /// The scope. The caller must be the user in the path, or be allowed to act as anyone.
    AsUser(Scope),
    /// The scope. A caller limited to topics must be allowed the topic of issue events, because those events say what
    /// these routes show and change.
    OnIssues(Scope),
    /// The scope. The caller must not be limited to topics, because the route's resources are not.
    Unlimited(Scope),
}

/// Every route, with its rule and with the figures of the cost that its responses carry. The price also says whether the
/// route counts as a read or as a write of a caller with limits.
pub const RULES: &[(Method, &str, Rule, Price)] = &[
    (Method::PUT, "/topics/{topic}", Rule::OnTopic(Scope::Admin), Price::Write),
    (Method::GET, "/topics/{topic}", Rule::OnTopic(Scope::Read), Price::Read),
    (Method::DELETE, "/topics/{topic}", Rule::OnTopic(Scope::Admin), Price::Write),
    (Method::GET, "/topics/{topic}/deletion", Rule::OnTopic(Scope::Admin), Price::Read),
    // Lists only topics that the caller may see.
    (Method::GET, "/topics", Rule::Holds(Scope::Read), Price::Read),
    (Method::POST, "/topics/{topic}/events", Rule::OnTopic(Scope::Write), Price::Write),
    (Method::GET, "/topics/{topic}/events", Rule::OnTopic(Scope::Read), Price::Read),
    (Method::GET, "/topics/{topic}/events/{id}", Rule::OnTopic(Scope::Read), Price::Read),
    (Method::DELETE, "/topics/{topic}/events/{id}", Rule::OnTopic(Scope::Write), Price::Write),
    // Timelines and feeds show only events of topics that the caller may see.
    (Method::GET, "/actors/{actor}/events", Rule::Holds(Scope::Read), Price::ReadShared),
    (Method::GET, "/subjects/{subject}/events", Rule::Holds(Scope::Read), Price::ReadShared),
    (Method::GET, "/feeds/{user}", Rule::AsUser(Scope::Read), Price::ReadShared),
    (Method::GET, "/feeds/{user}/unread", Rule::AsUser(Scope::Read), Price::ReadShared),
    // A stream shows only events of topics that the caller may see.
    (Method::GET, "/topics/{topic}/live", Rule::OnTopic(Scope::Read), Price::Stream),
    (Method::GET, "/actors/{actor}/live", Rule::Holds(Scope::Read), Price::Stream),
    (Method::GET, "/subjects/{subject}/live", Rule::Holds(Scope::Read), Price::Stream),
    (Method::GET, "/feeds/{user}/live", Rule::AsUser(Scope::Read), Price::Stream),
    (Method::PUT, "/feeds/{user}/seen", Rule::AsUser(Scope::Write), Price::Write),
    (Method::PUT, "/users/{user}/following/{source}", Rule::AsUser(Scope::Write), Price::Write),
    (Method::DELETE, "/users/{user}/following/{source}", Rule::AsUser(Scope::Write), Price::Write),
    (Method::GET, "/users/{user}/following", Rule::AsUser(Scope::Read), Price::Read),
    (Method::GET, "/sources/{source}/followers", Rule::Holds(Scope::Read), Price::Read),
    (Method::GET, "/sources/{source}", Rule::Holds(Scope::Read), Price::Read),
    (Method::GET, "/users/{user}/profile", Rule::AsUser(Scope::Read), Price::Read),
    (Method::PUT, "/users/{user}/profile", Rule::AsUser(Scope::Write), Price::Write),
    (Method::DELETE, "/users/{user}/profile", Rule::AsUser(Scope::Write), Price::Write),
    (Method::GET, "/settings/{app}", Rule::Holds(Scope::Read), Price::Read),
    (Method::PUT, "/settings/{app}", Rule::Holds(Scope::Admin), Price::Write),
    (Method::DELETE, "/settings/{app}", Rule::Holds(Scope::Admin), Price::Write),
    (Method::POST, "/repos/{owner}/{repo}/issues", Rule::OnIssues(Scope::Write), Price::Write),
    (Method::GET, "/repos/{owner}/{repo}/issues", Rule::OnIssues(Scope::Read), Price::Read),
    (Method::GET, "/repos/{owner}/{repo}/issues/{number}", Rule::OnIssues(Scope::Read), Price::Read),
    (Method::PATCH, "/repos/{owner}/{repo}/issues/{number}", Rule::OnIssues(Scope::Write), Price::Write),
    (Method::POST, "/sessions", Rule::Unlimited(Scope::Admin), Price::Write),
    (Method::GET, "/sessions", Rule::Unlimited(Scope::Admin), Price::Read),
    (Method::DELETE, "/sessions", Rule::Unlimited(Scope::Admin), Price::Write),
    (Method::GET, "/sessions/self", Rule::Known, Price::Read),
    (Method::GET, "/sessions/{id}", Rule::Unlimited(Scope::Admin), Price::Read),
    (Method::DELETE, "/sessions/{id}", Rule::Unlimited(Scope::Admin), Price::Write),
    (Method::PUT, "/topics/{topic}/consumers/{name}", Rule::OnTopic(Scope::Consume), Price::Write),
    (Method::GET, "/topics/{topic}/consumers/{name}", Rule::OnTopic(Scope::Consume), Price::Read),
    (Method::POST, "/topics/{topic}/consumers/{name}/poll", Rule::OnTopic(Scope::Consume), Price::Read),
    (Method::POST, "/topics/{topic}/consumers/{name}/commit", Rule::OnTopic(Scope::Consume), Price::Write),
    (Method::POST, "/topics/{topic}/consumers/{name}/seek", Rule::OnTopic(Scope::Consume), Price::Write),
    (Method::GET, "/topics/{topic}/consumers/{name}/runs", Rule::OnTopic(Scope::Consume), Price::Read),
    (Method::DELETE, "/topics/{topic}/consumers/{name}", Rule::OnTopic(Scope::Consume), Price::Write),
    (Method::POST, "/erasures", Rule::Unlimited(Scope::Admin), Price::Write),
    (Method::GET, "/erasures", Rule::Unlimited(Scope::Admin), Price::Read),
    (Method::GET, "/erasures/{id}", Rule::Unlimited(Scope::Admin), Price::Read),
    (Method::GET, "/health", Rule::Open, Price::Free),
    (Method::GET, "/openapi.json", Rule::Open, Price::Free),
];

impl Rule {
    /// The rule of a route and its price, if there is such a route.
    pub fn of(method: &Method, path: &str) -> Option<(Self, Price)> {
        let route = RULES.iter().find(|(ruled, at, ..)| *at == path && ruled == method);
        route.map(|(.., rule, price)| (*rule, *price))
    }

    async fn admits(self, caller: Result<Caller, Problem>, parts: &mut Parts) -> Result<(), Problem> {
        let scope = match self {
            Self::Open => return Ok(()),
            Self::Known => return caller.map(drop),
            Self::Holds(scope)
            | Self::OnTopic(scope)
            | Self::AsUser(scope)
            | Self::OnIssues(scope)
            | Self::Unlimited(scope) => scope,
        };
        let caller = caller?;
        if !caller.scopes.allow(scope) {
            return Err(Problem::new(Code::Forbidden, format!("This request needs the scope {scope}.")));
        }
        match self {
            Self::OnTopic(_) => {
                let Part(topic) = Part::<Topic>::from_request_parts(parts, &()).await?;
                require_topic(&caller, &topic)?;
            }
            Self::OnIssues(_) => {
                let topic = ISSUES_TOPIC.parse().expect("the topic of issues has a topic's name");
                require_topic(&caller, &topic)?;
            }
            Self::AsUser(_) => {
                let Part(user) = Part::<User>::from_request_parts(parts, &()).await?;
                if !caller.may_be(&user) {
                    let problem = Problem::new(
                        Code::Forbidden,
                        "The path names another user. This needs the scope act-as.",
                    );
                    return Err(problem);
                }
            }
            Self::Unlimited(_) if caller.topics.is_some() => {
                return Err(Problem::new(
                    Code::Forbidden,
                    "This request needs a token that is not limited to topics.",
                ));
            }
            _ => {}
        }
        Ok(())
    }
}

/// Checks again whether the rule of a request's route admits its caller, for a response that takes long.
///
/// # Errors
/// The refusal.
pub async fn admits_again(parts: &mut Parts) -> Result<(), Problem> {
    let caller = Caller::from_request_parts(parts, &()).await;
    let path = parts.extensions.get::<MatchedPath>().map_or("", MatchedPath::as_str);
    let (rule, _) = Rule::of(&Method::GET, path).expect("a route that is served has a rule");
    rule.admits(caller, parts).await
}

fn require_topic(caller: &Caller, topic: &Topic) -> Result<(), Problem> {
    if caller.may_see(topic) {
        return Ok(());
    }
    Err(Problem::new(Code::Forbidden, "The token is limited to other topics. Use a token for this topic."))
}

/// Passes a request to its handler if the route's rule admits the caller, the handler reads every part of the request,
/// and the caller is not over its limit. Gives the handler the store's handle of the request, and adds the cost to the
/// response.
pub(crate) async fn admit(State(gate): State<Arc<Gate>>, mut request: Request, next: Next) -> Response {
    let Some((rule, price, read)) = gate.of(request.method()) else { return next.run(request).await };
    let Gate { cap, store, .. } = &*gate;
    if let Some(cap) = *cap {
        request.extensions_mut().insert(cap);
    }
    let (mut parts, body) = request.into_parts();
    let caller = Caller::from_request_parts(&mut parts, &()).await;
    let topics = caller.as_ref().ok().and_then(|caller| caller.topics.clone());
    let op = store.as_ref().filter(|_| price != Price::Free).map(|store| {
        let op = store.op().limited_to(topics.as_deref());
        Op(match &caller {
            Ok(caller) => op.waiting_as(caller.waiter()),
            Err(_) => op,
        })
    });
    // A caller without limits has no quota, and pays nothing for those that have.
    let quota = caller.as_ref().ok().and_then(|caller| Quota::of(caller, price));
    let quota = quota.as_ref().zip(op.as_ref());
    let admitted = async {
        rule.admits(caller, &mut parts).await?;
        let body = read.check(&parts, body).await?;
        if let Some((quota, op)) = quota {
            quota.acquire(op, 1).await?;
        }
        Ok::<_, Problem>(body)
    };
    let response = match admitted.await {
        Err(refused) => refused.into_response(),
        Ok(body) => {
            if let Some(op) = &op {
                parts.extensions.insert(op.clone());
            }
            if let Some((quota, _)) = quota {
                parts.extensions.insert(quota.clone());
            }
            next.run(Request::from_parts(parts, body)).await
        }
    };
    let response = match quota {
        Some((quota, op)) => quota.add_headers(response, op).await,
        None => response,
    };
    match op {
        Some(op) => price.add_header(response, &op, topics.is_some()),
        None => response,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn no_route_has_two_rules() {
        let routes: BTreeSet<_> = RULES.iter().map(|(method, path, ..)| (method.as_str(), *path)).collect();
        assert_eq!(routes.len(), RULES.len());
    }

    #[test]
    fn every_route_of_a_topic_checks_the_limit_to_topics() {
        for (method, path, rule, _) in RULES {
            let on_topic = matches!(rule, Rule::OnTopic(_));
            assert_eq!(on_topic, path.starts_with("/topics/{topic}"), "{method} {path}");
        }
    }

    #[test]
    fn every_route_of_issues_checks_the_limit_to_topics() {
        for (method, path, rule, _) in RULES {
            let on_issues = matches!(rule, Rule::OnIssues(_));
            assert_eq!(on_issues, path.starts_with("/repos/{owner}/{repo}/issues"), "{method} {path}");
        }
    }

    #[test]
    fn every_route_of_a_user_checks_the_user() {
        for (method, path, rule, _) in RULES {
            assert_eq!(matches!(rule, Rule::AsUser(_)), path.contains("{user}"), "{method} {path}");
        }
    }
}
