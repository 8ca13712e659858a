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
use crate::op::Price;
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
            return Err(Problem::forbidden(format!("This request needs the scope {scope}.")));
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
                    let detail = "The path names another user. This needs the scope act-as.";
                    return Err(Problem::forbidden(detail));
                }
            }
            Self::Unlimited(_) if caller.topics.is_some() => {
                let detail = "This request needs a token that is not limited to topics.";
                return Err(Problem::forbidden(detail));
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
    Err(Problem::forbidden("The token is limited to other topics. Use a token for this topic."))
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
    let known = caller.as_ref().ok();
    let topics = known.and_then(|caller| caller.topics.clone());
    let op = store.as_ref().filter(|_| price != Price::Free).map(|store| {
        let op = store.op().limited_to(topics.as_deref());
        match known {
            Some(caller) => op.waiting_as(caller.waiter()),
            None => op,
        }
    });
    // A caller without limits has no quota, and pays nothing for those that have.
    let quota = known.zip(op.as_ref()).and_then(|(caller, op)| Quota::of(caller, price, op));
    let admitted = async {
        rule.admits(caller, &mut parts).await?;
        let body = read.check(&parts, body).await?;
        if let Some(quota) = &quota {
            quota.acquire(1).await?;
        }
        Ok::<_, Problem>(body)
    };
    let mut response = match admitted.await {
        Err(refused) => refused.into_response(),
        Ok(body) => {
            if let Some(op) = &op {
                parts.extensions.insert(op.clone());
            }
            if let Some(quota) = &quota {
                parts.extensions.insert(quota.clone());
            }
            if price == Price::Stream {
                parts.extensions.insert(rule);
            }
            let response = next.run(Request::from_parts(parts, body)).await;
            // A failed request has read as well.
            if let Some(quota) = &quota {
                quota.count_request().await;
            }
            response
        }
    };
    if let Some(quota) = quota {
        quota.add_headers(&mut response).await;
    }
    if let Some(op) = op {
        price.add_header(&mut response, &op, topics.is_some());
    }
    response
}
