//! The id of the current request: every line of the log and every problem carries it.

use crate::entropy;

tokio::task_local! {
    static CURRENT: RequestId;
}

/// The platform's id of a request or of an invocation. The part of the program that knows the id puts it into the
/// request's extensions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestId(pub String);

impl RequestId {
    /// A random id, for a request to which no platform gave an id.
    pub fn fresh() -> Self {
        Self(format!("{:032x}", entropy::random_u128()))
    }

    /// The id of the request that the current task works for.
    pub fn current() -> Option<Self> {
        CURRENT.try_with(Self::clone).ok()
    }

    /// Runs `work` under this id: all its log lines and problems carry the id.
    pub async fn during<W: Future>(self, work: W) -> W::Output {
        CURRENT.scope(self, work).await
    }
}

/// The gateway's id of a request, which the gateway sends to the client in a header of its own.
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
    async fn a_request_without_an_id_gets_its_own() {
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
