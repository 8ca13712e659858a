//! The files of the page, built into the program.
//!
//! The page loads only its own scripts and styles and cannot be framed. It connects to its own origin, and to another
//! API whose URL the user enters. A browser revalidates the page each time. The page names its
//! other files with hashes of their bytes, so a browser never asks for them again.

use std::sync::LazyLock;

use axum::Router;
use axum::extract::{Path, RawQuery};
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

/// A file of the page.
struct PageFile {
    name: &'static str,
    content_type: &'static str,
    bytes: Vec<u8>,
    /// The entity tag: a hash of the bytes.
    tag: String,
}

impl PageFile {
    fn new(name: &'static str, content_type: &'static str, bytes: &[u8]) -> Self {
        let tag = Sha256::digest(bytes).iter().take(16).map(|byte| format!("{byte:02x}")).collect();
        Self { name, content_type, bytes: bytes.to_vec(), tag }
    }
}

/// Every file of the page. They are in the folder `console/`; `build.rs` makes one script of its modules. The page names
/// the others with their tags, so its own tag depends on them.
static FILES: LazyLock<Vec<PageFile>> = LazyLock::new(|| {
    let script = include_bytes!(concat!(env!("OUT_DIR"), "/console.js"));
    let mut files = vec![
        PageFile::new("app.js", "text/javascript; charset=utf-8", script),
        PageFile::new("icon.svg", "image/svg+xml", include_bytes!("../../../../console/icon.svg")),
        PageFile::new(
            "style.css",
            "text/css; charset=utf-8",
            include_bytes!("../../../../console/style.css"),
        ),
    ];
    let page = include_str!("../../../../console/index.html").to_owned();
    let page = files.iter().fold(page, |page, PageFile { name, tag, .. }| {
        page.replace(&format!("\"/console/{name}\""), &format!("\"/console/{name}?{tag}\""))
    });
    files.push(PageFile::new(INDEX, "text/html; charset=utf-8", page.as_bytes()));
    files
});

/// The page, which names the other files.
const INDEX: &str = "index.html";

/// The origins that the page may load from and connect to.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; \
    connect-src 'self' https: http://127.0.0.1:* http://localhost:*; base-uri 'none'; form-action 'none'; \
    frame-ancestors 'none'";

pub(super) fn routes() -> Router {
    let page = get(async |headers: HeaderMap| file(INDEX, None, &headers));
    let other = get(async |Path(name): Path<String>, RawQuery(tag): RawQuery, headers: HeaderMap| {
        file(&name, tag.as_deref(), &headers)
    });
    Router::new().route("/", page).route("/console/{file}", other)
}

/// A file. The page names its files with their tags, and a file that is requested with its tag never changes.
fn file(name: &str, asked: Option<&str>, headers: &HeaderMap) -> Result<Response, Problem> {
    let file = FILES.iter().find(|file| file.name == name);
    let PageFile { content_type, bytes, tag, .. } =
        file.ok_or_else(|| Problem::new(Code::NotFound, "The console has no file of this name."))?;
    let quoted = format!("\"{tag}\"");
    let known = headers.get(IF_NONE_MATCH).is_some_and(|known| known.as_bytes() == quoted.as_bytes());
    let caching = if asked == Some(&**tag) { "public, max-age=31536000, immutable" } else { "no-cache" };
    let headers = [
        (CONTENT_TYPE, *content_type),
        (CONTENT_SECURITY_POLICY, POLICY),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (REFERRER_POLICY, "no-referrer"),
        (CACHE_CONTROL, caching),
        (ETAG, &quoted),
    ];
    if known {
        return Ok((StatusCode::NOT_MODIFIED, headers).into_response());
    }
    Ok((headers, &**bytes).into_response())
}
