//! Topics, profiles, settings, sessions, issues, erasures, and the routes that need no table.
//!
//! | route | does |
//! | --- | --- |
//! | `PUT /topics/{topic}` | creates or changes a topic |
//! | `GET /topics/{topic}` | returns a topic with its newest buckets |
//! | `DELETE /topics/{topic}` | begins to delete a topic, or says what there is to delete |
//! | `GET /topics/{topic}/deletion` | says how far the deletion of a topic is |
//! | `GET /topics` | lists all topics by name |
//! | `GET /users/{user}/profile` | returns a user's profile |
//! | `PUT /users/{user}/profile` | creates it, or replaces the revision that the client has seen |
//! | `DELETE /users/{user}/profile` | deletes the revision that the client has seen |
//! | `GET /settings/{app}` | returns an application's settings |
//! | `PUT /settings/{app}` | like a profile |
//! | `DELETE /settings/{app}` | like a profile |
//! | `POST /repos/{owner}/{repo}/issues` | opens an issue |
//! | `GET /repos/{owner}/{repo}/issues` | lists a repository's issues: all, by status, or by priority |
//! | `GET /repos/{owner}/{repo}/issues/{number}` | returns an issue |
//! | `PATCH /repos/{owner}/{repo}/issues/{number}` | changes the revision that the client has seen |
//! | `POST /sessions` | creates a session, and returns its token this one time |
//! | `GET /sessions` | lists the sessions of all users, or of one |
//! | `DELETE /sessions` | revokes all sessions of a user |
//! | `GET /sessions/self` | returns the caller's own session |
//! | `GET /sessions/{id}` | returns a session without its token |
//! | `DELETE /sessions/{id}` | revokes a session |
//! | `POST /erasures` | begins to erase an actor or a user |
//! | `GET /erasures` | lists the erasures of the last days |
//! | `GET /erasures/{id}` | says how far an erasure is, and returns its receipt |
//! | `GET /health` | confirms that the function runs |
//! | `GET /openapi.json` | returns the description of all routes |

mod document;
mod erasure;
mod issue;
mod service;
mod session;
mod topic;

use axum::http::Method;
use lately_kit::route::Routes;
use lately_store::Store;

pub use service::openapi;

/// The routes of this function.
pub fn routes(store: Store) -> Routes {
    Routes::new()
        .on(Method::PUT, "/topics/{topic}", topic::put)
        .on(Method::GET, "/topics/{topic}", topic::get)
        .on(Method::DELETE, "/topics/{topic}", topic::delete)
        .on(Method::GET, "/topics/{topic}/deletion", topic::get_deletion)
        .on(Method::GET, "/topics", topic::list)
        .on(Method::GET, "/users/{user}/profile", document::get_profile)
        .on(Method::PUT, "/users/{user}/profile", document::put_profile)
        .on(Method::DELETE, "/users/{user}/profile", document::delete_profile)
        .on(Method::GET, "/settings/{app}", document::get_settings)
        .on(Method::PUT, "/settings/{app}", document::put_settings)
        .on(Method::DELETE, "/settings/{app}", document::delete_settings)
        .on(Method::POST, "/repos/{owner}/{repo}/issues", issue::post)
        .on(Method::GET, "/repos/{owner}/{repo}/issues", issue::list)
        .on(Method::GET, "/repos/{owner}/{repo}/issues/{number}", issue::get)
        .on(Method::PATCH, "/repos/{owner}/{repo}/issues/{number}", issue::patch)
        .on(Method::POST, "/sessions", session::post)
        .on(Method::GET, "/sessions", session::list)
        .on(Method::DELETE, "/sessions", session::delete_of_user)
        .on(Method::GET, "/sessions/self", session::get_own)
        .on(Method::GET, "/sessions/{id}", session::get)
        .on(Method::DELETE, "/sessions/{id}", session::delete)
        .on(Method::POST, "/erasures", erasure::post)
        .on(Method::GET, "/erasures", erasure::list)
        .on(Method::GET, "/erasures/{id}", erasure::get)
        .on(Method::GET, "/health", service::health)
        .on(Method::GET, "/openapi.json", service::openapi_json)
        .with_store(&store)
}
