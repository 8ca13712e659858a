//! The id of the request that something is done for: every line of the log and every problem carries it.

use crate::entropy;

tokio::task_local! {
    static CURRENT: RequestId;
}

/// What the platform calls a request, or an invocation. Put into a request's extensions by who knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestId(pub String);

impl RequestId {
    /// One of our own, where no platform gives any.
    #[must_use]
    pub fn fresh() -> Self {
        Self(format!("{:032x}", entropy::random_u128()))
    }

    /// Of the request that this is done for.
    #[must_use]
    pub fn current() -> Option<Self> {
        CURRENT.try_with(Self::clone).ok()
    }

    /// Does what is to be done for the request: all that it logs, and every problem that it meets, carries this.
    pub async fn during<W: Future>(self, work: W) -> W::Output {
        CURRENT.scope(self, work).await
    }
}

/// What the gateway calls a request, and tells the client in a header of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GatewayRequestId(pub String);

#[cfg(test)]
mod tests {
    use axum::Router;
    use axum::body::Body;
    use axum::extract::Request;
    use serde_json::Value;
    use tower::ServiceExt;

    use crate::edge;

    #[tokio::test]
    async fn a_request_that_nobody_named_has_an_id_of_its_own() {
        let router = edge::around(Router::new());
        let mut ids = Vec::new();
        for _ in 0..2 {
            let request = Request::get("/nowhere").body(Body::empty()).unwrap();
            let response = router.clone().oneshot(request).await.unwrap();
            let body = axum::body::to_bytes(response.into_body(), usize::MAX).await.unwrap();
            let problem: Value = serde_json::from_slice(&body).unwrap();
            ids.push(problem["request_id"].as_str().unwrap().to_owned());
        }
        assert!(ids[0].len() == 32 && ids[0] != ids[1], "{ids:?}");
    }
}
