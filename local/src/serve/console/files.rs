//! The page's files, as they were when this program was built.
//!
//! The page runs its own scripts and styles and no others, in no frame; it connects to where it came from, and to an API
//! elsewhere whose address is typed in. A browser asks each time whether a file is still the one it has.

use std::sync::LazyLock;

use axum::Router;
use axum::extract::Path;
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, IF_NONE_MATCH, REFERRER_POLICY,
    X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use lately_kit::code::Code;
use lately_kit::problem::Problem;
use sha2::{Digest, Sha256};

/// A file of the page: its name and what it holds.
type File = (&'static str, &'static [u8]);

macro_rules! files {
    ($($name:literal,)*) => {
        &[$(($name, include_bytes!(concat!("../../../../console/", $name)))),*]
    };
}

/// Every file of the folder `console/` that is the page's.
const FILES: &[File] = files![
    "api.js",
    "app.js",
    "banner.js",
    "chart.js",
    "compose.js",
    "connection.js",
    "consumers.js",
    "designs.js",
    "dom.js",
    "event.js",
    "faults.js",
    "feeds.js",
    "format.js",
    "heal.js",
    "icon.svg",
    "index.html",
    "issues.js",
    "key.js",
    "list.js",
    "live.js",
    "storage.js",
    "stream.js",
    "style.css",
    "task.js",
    "theme.js",
    "timeline.js",
    "trace.js",
];

/// The origins that the page may load from and connect to.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; \
    connect-src 'self' https: http://127.0.0.1:* http://localhost:*; base-uri 'none'; form-action 'none'; \
    frame-ancestors 'none'";

pub(super) fn routes() -> Router {
    Router::new().route("/", get(async |headers: HeaderMap| file("index.html", &headers))).route(
        "/console/{file}",
        get(async |Path(name): Path<String>, headers: HeaderMap| file(&name, &headers)),
    )
}

fn file(name: &str, headers: &HeaderMap) -> Result<Response, Problem> {
    let found = FILES.iter().zip(&*TAGS).find(|((file, _), _)| *file == name);
    let ((_, bytes), tag) =
        found.ok_or_else(|| Problem::new(Code::NotFound, "The console has no such file."))?;
    let known = headers.get(IF_NONE_MATCH).is_some_and(|known| known.as_bytes() == tag.as_bytes());
    let headers = [
        (CONTENT_TYPE, content_type(name)),
        (CONTENT_SECURITY_POLICY, POLICY),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (REFERRER_POLICY, "no-referrer"),
        (CACHE_CONTROL, "no-cache"),
        (ETAG, tag),
    ];
    if known {
        return Ok((StatusCode::NOT_MODIFIED, headers).into_response());
    }
    Ok((headers, *bytes).into_response())
}

/// The files' names in caches: of what they hold.
static TAGS: LazyLock<Vec<String>> = LazyLock::new(|| {
    let tag = |bytes: &[u8]| {
        let digest: String =
            Sha256::digest(bytes).iter().take(16).map(|byte| format!("{byte:02x}")).collect();
        format!("\"{digest}\"")
    };
    FILES.iter().map(|(_, bytes)| tag(bytes)).collect()
});

/// By the name's end; a file of another kind is none that the page has a use for.
fn content_type(name: &str) -> &'static str {
    match name.rsplit('.').next() {
        Some("html") => "text/html; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("svg") => "image/svg+xml",
        _ => "application/octet-stream",
    }
}
