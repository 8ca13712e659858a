//! The access rules. Each line of a function's routes ([`routes!`](crate::routes)) names the rule of its route, so no
//! route is without one.
//!
//! [`Routes`](crate::route::Routes) checks the rule before the handler runs. A rule sees only the caller and the path. The handlers check the
//! rest, which depends on the body or on stored items: callers post events as themselves ([`Caller::require_actor`]),
//! and only its actor deletes an event.

use std::sync::Arc;

use axum::extract::{FromRequestParts, Request, State};
use axum::http::request::Parts;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use lately_keys::{Topic, User};
use lately_model::ISSUES_TOPIC;

use crate::caller::Caller;
use crate::code::Code;
use crate::op::{Op, Price};
use crate::path::Part;
use crate::problem::Problem;
use crate::quota::Quota;
use crate::route::Gate;

pub use lately_model::Scope;

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

impl Rule {
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
    let rule = *parts.extensions.get::<Rule>().expect("the request was admitted by a rule");
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
            if price == Price::Stream {
                parts.extensions.insert(rule);
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
