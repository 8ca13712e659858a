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

/// A file of the page: its name and its bytes.
type File = (&'static str, &'static [u8]);

/// Every file of the page. They are in the folder `console/`; `build.rs` makes one script of its modules.
const FILES: &[File] = &[
    (INDEX, include_bytes!("../../../../console/index.html")),
    ("app.js", include_bytes!(concat!(env!("OUT_DIR"), "/console.js"))),
    ("icon.svg", include_bytes!("../../../../console/icon.svg")),
    ("style.css", include_bytes!("../../../../console/style.css")),
];

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
    let found = FILES.iter().zip(&*TAGS).find(|((file, _), _)| *file == name);
    let ((_, bytes), tag) =
        found.ok_or_else(|| Problem::new(Code::NotFound, "The console has no file of this name."))?;
    let quoted = format!("\"{tag}\"");
    let known = headers.get(IF_NONE_MATCH).is_some_and(|known| known.as_bytes() == quoted.as_bytes());
    let caching = if asked == Some(tag) { "public, max-age=31536000, immutable" } else { "no-cache" };
    let headers = [
        (CONTENT_TYPE, content_type(name)),
        (CONTENT_SECURITY_POLICY, POLICY),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (REFERRER_POLICY, "no-referrer"),
        (CACHE_CONTROL, caching),
        (ETAG, &quoted),
    ];
    if known {
        return Ok((StatusCode::NOT_MODIFIED, headers).into_response());
    }
    if name == INDEX {
        return Ok((headers, PAGE.as_str()).into_response());
    }
    Ok((headers, *bytes).into_response())
}

/// The page, with the tags of its files.
static PAGE: LazyLock<String> = LazyLock::new(|| {
    let page = include_str!("../../../../console/index.html").to_owned();
    FILES.iter().zip(&*TAGS).fold(page, |page, ((name, _), tag)| {
        page.replace(&format!("\"/console/{name}\""), &format!("\"/console/{name}?{tag}\""))
    })
});

/// The files' entity tags: hashes of their bytes. The page's tag depends on its files too.
static TAGS: LazyLock<Vec<String>> = LazyLock::new(|| {
    let hash = |parts: &[&[u8]]| {
        let digest = parts.iter().fold(Sha256::new(), |digest, part| digest.chain_update(part)).finalize();
        digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect()
    };
    let all: Vec<&[u8]> = FILES.iter().map(|(_, bytes)| *bytes).collect();
    FILES.iter().map(|(name, bytes)| if *name == INDEX { hash(&all) } else { hash(&[bytes]) }).collect()
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
