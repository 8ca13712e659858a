//! The files of the page, built into the program.
//!
//! The page loads only its own scripts and styles and cannot be framed. It connects to its own origin, and to another
//! API whose URL the user enters. A browser revalidates its cached files each time.

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

/// A file of the page: its name and its bytes.
type File = (&'static str, &'static [u8]);

macro_rules! files {
    ($($name:literal,)*) => {
        &[$(($name, include_bytes!(concat!("../../../../console/", $name)))),*]
    };
}

/// Every file of the page. They are in the folder `console/`.
const FILES: &[File] = files![
    "address.js",
    "api.js",
    "app.js",
    "arrivals.js",
    "banner.js",
    "chart.js",
    "columns.js",
    "compose.js",
    "connection.js",
    "consumers.js",
    "copy.js",
    "deletion.js",
    "designs.js",
    "dom.js",
    "erasure.js",
    "event.js",
    "faults.js",
    "feeds.js",
    "filter.js",
    "format.js",
    "heal.js",
    "histogram.js",
    "hues.js",
    "icon.svg",
    "index.html",
    "issues.js",
    "key.js",
    "lanes.js",
    "list.js",
    "live.js",
    "meter.js",
    "ordered.js",
    "partition.js",
    "progress.js",
    "range.js",
    "records.js",
    "requests.js",
    "sessions.js",
    "sources.js",
    "spreads.js",
    "storage.js",
    "stream.js",
    "style.css",
    "tabs.js",
    "task.js",
    "theme.js",
    "timeline.js",
    "topics.js",
    "trace.js",
    "views.js",
    "zone.js",
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
        found.ok_or_else(|| Problem::new(Code::NotFound, "The console has no file of this name."))?;
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

/// The files' entity tags: hashes of their bytes.
static TAGS: LazyLock<Vec<String>> = LazyLock::new(|| {
    let tag = |bytes: &[u8]| {
        let digest: String =
            Sha256::digest(bytes).iter().take(16).map(|byte| format!("{byte:02x}")).collect();
        format!("\"{digest}\"")
    };
    FILES.iter().map(|(_, bytes)| tag(bytes)).collect()
});

/// The content type, by the extension of the name. The page uses no other kinds of files.
fn content_type(name: &str) -> &'static str {
    match name.rsplit('.').next() {
        Some("html") => "text/html; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("svg") => "image/svg+xml",
        _ => "application/octet-stream",
    }
}
